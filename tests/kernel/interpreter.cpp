#include "kernel/interpreter.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include "kernel/element.hpp"

namespace strata::kernel::test {
namespace {

class Machine {
 public:
  Machine(const Kernel& k, const Launch& l) : kernel_(k), launch_(l), units_(k.units()) {
    offsets_.reserve(k.types.size());
    std::size_t total = 0;
    for (const auto& t : k.types) {
      offsets_.push_back(total);
      total += std::size_t{t.lanes} * units_;
    }
    values_.resize(total);
    if (l.buffers.size() != k.buffer_count() || l.lengths.size() != k.buffer_count() ||
        l.scalars.size() != k.scalars.size())
      throw std::invalid_argument("interpreter: launch arguments do not fit the kernel");
  }

  void cube(std::array<std::uint32_t, 3> position) {
    position_ = position;
    arrays_.assign(kernel_.memories.size(), {});
    for (std::size_t n = 0; n < kernel_.memories.size(); ++n) {
      const auto& m = kernel_.memories[n];
      if (m.space == Space::global) continue;
      const auto elements = static_cast<std::size_t>(m.length) * (m.space == Space::local ? units_ : 1);
      arrays_[n].assign(elements * size_of(m.scalar), static_cast<unsigned char>(0xa5));
    }
    alive_.assign(units_, true);
    block(kernel_.body, std::vector<bool>(units_, true));
  }

 private:
  using Mask = std::vector<bool>;

  Bits& slot(ValueId v, std::uint32_t unit, std::uint32_t lane = 0) {
    return values_[offsets_[v] + std::size_t{unit} * kernel_.types[v].lanes + lane];
  }
  Type type(ValueId v) const { return kernel_.types[v]; }

  template <class F>
  void each(const Mask& active, F&& f) {
    for (std::uint32_t u = 0; u < units_; ++u)
      if (active[u] && alive_[u]) f(u);
  }
  bool any(const Mask& active) {
    bool found = false;
    each(active, [&](std::uint32_t) { found = true; });
    return found;
  }

  void block(const Block& b, const Mask& active) {
    for (const auto& i : b.instructions) instruction(i, active);
  }

  void instruction(const Instruction& i, const Mask& active) {
    if (is_elementwise(i.opcode)) return elementwise(i, active);
    if (i.opcode >= Opcode::load && i.opcode <= Opcode::atomic_max) return access(i, active);
    if (i.opcode >= Opcode::plane_shuffle && i.opcode <= Opcode::plane_reduce_max) return plane(i, active);
    if (i.opcode >= Opcode::if_) return control(i, active);
    if (i.opcode == Opcode::matrix_multiply) return matrix_multiply(i, active);
    if (i.opcode == Opcode::load_matrix) return load_matrix(i, active);
    if (i.opcode == Opcode::copy_async) return copy_async(i, active);
    if (i.opcode == Opcode::copy_commit || i.opcode == Opcode::copy_wait) return;  // copies are done at once
    if (i.opcode == Opcode::barrier) {
      if (!any(active)) return;  // all have returned
      for (std::uint32_t u = 0; u < units_; ++u)
        if (!active[u] || !alive_[u])
          throw std::domain_error("interpreter: a barrier that not all units reach");
      return;
    }
    each(active, [&](std::uint32_t u) { leaf_or_vector(i, u); });
  }

  // --- element-wise

  void elementwise(const Instruction& i, const Mask& active) {
    const Type a = type(i.operands[0]), r = type(i.result);
    const auto lanes = [&](auto&& f) {
      each(active, [&](std::uint32_t u) {
        for (std::uint32_t l = 0; l < r.lanes; ++l) slot(i.result, u, l) = f(u, l);
      });
    };
    const auto in = [&](std::size_t n, std::uint32_t u, std::uint32_t l) {
      return slot(i.operands[n], u, l);
    };
    switch (i.opcode) {
      case Opcode::bitcast:
        return visit(r.scalar, [&]<class T>() {
          lanes([&](auto u, auto l) { return to_bits(from_bits<T>(in(0, u, l))); });
        });
      case Opcode::convert:
        return visit(a.scalar, [&]<class From>() {
          visit(r.scalar, [&]<class To>() {
            lanes([&](auto u, auto l) { return to_bits(convert_element<To>(from_bits<From>(in(0, u, l)))); });
          });
        });
      case Opcode::select:
        return lanes([&](auto u, auto l) { return in(0, u, l) != 0 ? in(1, u, l) : in(2, u, l); });
      case Opcode::is_nan:
        return visit(a.scalar, [&]<class T>() {
          if constexpr (real<T>)
            lanes([&](auto u, auto l) {
              return Bits{std::isnan(static_cast<Compute<T>>(from_bits<T>(in(0, u, l))))};
            });
        });
      case Opcode::scale_exponent:
        return visit(a.scalar, [&]<class T>() {
          if constexpr (std::is_floating_point_v<T>)
            lanes([&](auto u, auto l) {
              return to_bits(scale(from_bits<T>(in(0, u, l)), static_cast<std::int64_t>(in(1, u, l))));
            });
        });
      default:
        break;
    }
    const auto n = i.operands.size();
    if (i.opcode >= Opcode::eq && i.opcode <= Opcode::ge)
      return visit(a.scalar, [&]<class T>() {
        lanes([&](auto u, auto l) {
          return Bits{compare<T>(i.opcode, from_bits<T>(in(0, u, l)), from_bits<T>(in(1, u, l)))};
        });
      });
    visit(r.scalar, [&]<class T>() {
      lanes([&](auto u, auto l) {
        return to_bits(operate<T>(i.opcode, from_bits<T>(in(0, u, l)), from_bits<T>(n > 1 ? in(1, u, l) : 0),
                                  from_bits<T>(n > 2 ? in(2, u, l) : 0)));
      });
    });
  }

  // --- leaves and vectors

  std::int64_t builtin(Builtin b, std::uint32_t u) const {
    const auto& d = kernel_.cube_dim;
    switch (b) {
      case Builtin::unit_x:
        return u % d[0];
      case Builtin::unit_y:
        return u / d[0] % d[1];
      case Builtin::unit_z:
        return u / d[0] / d[1];
      case Builtin::cube_x:
        return position_[0];
      case Builtin::cube_y:
        return position_[1];
      case Builtin::cube_z:
        return position_[2];
      case Builtin::cube_count_x:
        return launch_.cube_count[0];
      case Builtin::cube_count_y:
        return launch_.cube_count[1];
      case Builtin::cube_count_z:
        return launch_.cube_count[2];
      case Builtin::plane_lane:
        return u % launch_.plane_size;
    }
    return 0;
  }

  void leaf_or_vector(const Instruction& i, std::uint32_t u) {
    if (i.result == no_value) return;
    const Type r = type(i.result);
    const auto set = [&](auto&& f) {
      for (std::uint32_t l = 0; l < r.lanes; ++l) slot(i.result, u, l) = f(l);
    };
    switch (i.opcode) {
      case Opcode::constant:
        return set([&](auto) { return static_cast<Bits>(i.immediate); });
      case Opcode::builtin:
        return set([&](auto) { return static_cast<Bits>(builtin(static_cast<Builtin>(i.immediate), u)); });
      case Opcode::parameter: {
        const auto bits = static_cast<Bits>(launch_.scalars[static_cast<std::size_t>(i.immediate)]);
        return set(
            [&](auto) { return visit(r.scalar, [&]<class T>() { return to_bits(from_bits<T>(bits)); }); });
      }
      case Opcode::length:
        return set([&](auto) { return static_cast<Bits>(launch_.lengths[i.memory]); });
      case Opcode::lane_index:
        return visit(r.scalar, [&]<class T>() {
          set([&](auto l) { return to_bits(convert_element<T>(static_cast<std::int32_t>(l))); });
        });
      case Opcode::splat:
        return set([&](auto) { return slot(i.operands[0], u); });
      case Opcode::extract:
        return set([&](auto) { return slot(i.operands[0], u, static_cast<std::uint32_t>(i.immediate)); });
      case Opcode::insert:
        return set(
            [&](auto l) { return l == i.immediate ? slot(i.operands[1], u) : slot(i.operands[0], u, l); });
      case Opcode::shuffle:
        return set([&](auto l) {
          const auto from = static_cast<std::uint32_t>(i.indices[l]);
          const std::uint32_t n = type(i.operands[0]).lanes;
          return from < n ? slot(i.operands[0], u, from) : slot(i.operands[1], u, from - n);
        });
      default:
        return reduce(i, u);
    }
  }

  /// Halves: lane l with lane l + (n + 1) / 2, until one is left. Half types sum in f32 and round once.
  void reduce(const Instruction& i, std::uint32_t u) {
    const Type a = type(i.operands[0]);
    visit(a.scalar, [&]<class T>() {
      using C = Compute<T>;
      std::vector<C> v;
      for (std::uint32_t l = 0; l < a.lanes; ++l)
        v.push_back(static_cast<C>(from_bits<T>(slot(i.operands[0], u, l))));
      while (v.size() > 1) {
        const std::size_t h = (v.size() + 1) / 2;
        for (std::size_t l = 0; l + h < v.size(); ++l) v[l] = operate<C>(i.opcode, v[l], v[l + h], C{});
        v.resize(h);
      }
      slot(i.result, u) = to_bits(static_cast<T>(static_cast<C>(v[0])));
    });
  }

  // --- memory

  unsigned char* element(const Instruction& i, std::uint32_t u, std::int64_t index) {
    const auto& m = kernel_.memories[i.memory];
    const bool global = m.space == Space::global;
    const std::int64_t length = global ? launch_.lengths[i.memory] : m.length;
    if (index < 0 || index >= length)
      throw std::out_of_range("interpreter: " + std::string(name_of(i.opcode)) + " of element " +
                              std::to_string(index) + " of '" + m.name + "' with " + std::to_string(length));
    if (m.space == Space::local) index += static_cast<std::int64_t>(u) * m.length;
    auto* base = global ? static_cast<unsigned char*>(launch_.buffers[i.memory]) : arrays_[i.memory].data();
    return base + static_cast<std::size_t>(index) * size_of(m.scalar);
  }

  Bits read(Scalar s, const unsigned char* p) const {
    return visit(s, [&]<class T>() {
      T v;
      std::memcpy(&v, p, sizeof v);
      return to_bits(v);
    });
  }
  void write(Scalar s, unsigned char* p, Bits b) const {
    visit(s, [&]<class T>() {
      const T v = from_bits<T>(b);
      std::memcpy(p, &v, sizeof v);
    });
  }

  void access(const Instruction& i, const Mask& active) {
    if (i.opcode == Opcode::prefetch) return;
    const Scalar s = kernel_.memories[i.memory].scalar;
    const bool reads = i.opcode == Opcode::load || i.opcode == Opcode::gather;
    const bool vector_index = i.opcode == Opcode::gather || i.opcode == Opcode::scatter;
    const std::size_t mask = reads ? 1 : 2;
    each(active, [&](std::uint32_t u) {
      if (is_atomic(i.opcode)) return atomic(i, s, u);
      const std::uint32_t lanes = type(reads ? i.result : i.operands[1]).lanes;
      for (std::uint32_t l = 0; l < lanes; ++l) {
        if (i.operands.size() > mask && slot(i.operands[mask], u, l) == 0) {
          if (reads) slot(i.result, u, l) = i.operands.size() > 2 ? slot(i.operands[2], u, l) : 0;
          continue;
        }
        auto* p = element(
            i, u,
            static_cast<std::int64_t>(slot(i.operands[0], u, vector_index ? l : 0)) + (vector_index ? 0 : l));
        if (reads)
          slot(i.result, u, l) = read(s, p);
        else
          write(s, p, slot(i.operands[1], u, l));
      }
    });
  }

  void atomic(const Instruction& i, Scalar s, std::uint32_t u) {
    auto* p = element(i, u, static_cast<std::int64_t>(slot(i.operands[0], u)));
    const Bits old = read(s, p), operand = slot(i.operands[1], u);
    const Opcode op = i.opcode == Opcode::atomic_add   ? Opcode::add
                      : i.opcode == Opcode::atomic_min ? Opcode::min
                                                       : Opcode::max;
    slot(i.result, u) = old;
    write(s, p, visit(s, [&]<class T>() {
            return to_bits(operate<T>(op, from_bits<T>(old), from_bits<T>(operand), T{}));
          }));
  }

  // --- matrices of a plane of 32: fragments as the PTX ISA lays them out

  void copy_async(const Instruction& i, const Mask& active) {
    const Scalar s = kernel_.memories[i.memory].scalar;
    const auto count = static_cast<std::int64_t>(16 / size_of(s));
    Instruction source = i;
    source.memory = static_cast<MemoryId>(i.immediate);
    each(active, [&](std::uint32_t u) {
      const bool real = i.operands.size() == 2 || slot(i.operands[2], u) != 0;
      const auto at = [&](std::size_t n) { return static_cast<std::int64_t>(slot(i.operands[n], u)); };
      if (at(0) % count != 0 || (real && at(1) % count != 0))
        throw std::out_of_range("interpreter: copy_async of a part that is not 16 bytes aligned");
      for (std::int64_t l = 0; l < count; ++l)
        write(s, element(i, u, at(0) + l), real ? read(s, element(source, u, at(1) + l)) : 0);
    });
  }

  void load_matrix(const Instruction& i, const Mask& active) {
    const Scalar s = kernel_.memories[i.memory].scalar;
    const std::uint32_t neighbours = is_half(s) ? 2 : 1;
    each(active, [&](std::uint32_t u) {
      const std::uint32_t first = u / 32 * 32, lane = u % 32;
      for (std::uint32_t n = 0; n < 4; ++n) {
        for (std::uint32_t e = 0; e < neighbours; ++e) {
          const std::uint32_t row = lane / 4, column = neighbours * (lane % 4) + e;
          const std::uint32_t stored_row = i.immediate ? column : row,
                              stored_column = i.immediate ? row : column;
          const auto at = static_cast<std::int64_t>(slot(i.operands[0], first + 8 * n + stored_row));
          if (at % (4 * neighbours) != 0)
            throw std::out_of_range("interpreter: load_matrix of a row that is not aligned");
          slot(i.result, u, neighbours * n + e) = read(s, element(i, u, at + stored_column));
        }
      }
    });
  }

  void matrix_multiply(const Instruction& i, const Mask& active) {
    const auto& shape = kernel_.matrix_shapes[static_cast<std::size_t>(i.immediate)];
    if (shape.a == Scalar::f32) return multiply_tf32(i, active);
    if (shape.m != 16 || shape.n != 8 || shape.k != 16 || !is_half(shape.a)) undefined(i.opcode);
    visit(shape.a, [&]<class T>() {
      if constexpr (half<T>) {
        const auto value = [&](std::size_t n, std::uint32_t u, std::uint32_t l) {
          return static_cast<float>(from_bits<T>(slot(i.operands[n], u, l)));
        };
        each(active, [&](std::uint32_t u) {
          const std::uint32_t first = u / 32 * 32, lane = u % 32;
          for (std::uint32_t l = 0; l < 4; ++l) {
            const std::uint32_t row = lane / 4 + l / 2 * 8, column = 2 * (lane % 4) + l % 2;
            float sum = from_bits<float>(slot(i.operands[2], u, l));
            for (std::uint32_t k = 0; k < 16; ++k) {
              const float a = value(0, first + row % 8 * 4 + k % 8 / 2, k % 2 + row / 8 * 2 + k / 8 * 4);
              const float b = value(1, first + column * 4 + k % 8 / 2, k % 2 + k / 8 * 2);
              sum += a * b;
            }
            slot(i.result, u, l) = to_bits(sum);
          }
        });
      }
    });
  }

  void multiply_tf32(const Instruction& i, const Mask& active) {
    const auto& shape = kernel_.matrix_shapes[static_cast<std::size_t>(i.immediate)];
    if (shape.m != 16 || shape.n != 8 || shape.k != 8 || shape.b != Scalar::f32) undefined(i.opcode);
    const auto value = [&](std::size_t n, std::uint32_t u, std::uint32_t l) {
      auto bits = static_cast<std::uint32_t>(slot(i.operands[n], u, l));
      if ((bits & 0x7fffffff) <= 0x7f800000) bits = (bits + 0x1000) & ~std::uint32_t{0x1fff};
      return std::bit_cast<float>(bits);
    };
    each(active, [&](std::uint32_t u) {
      const std::uint32_t first = u / 32 * 32, lane = u % 32;
      for (std::uint32_t l = 0; l < 4; ++l) {
        const std::uint32_t row = lane / 4 + l / 2 * 8, column = 2 * (lane % 4) + l % 2;
        float sum = from_bits<float>(slot(i.operands[2], u, l));
        for (std::uint32_t k = 0; k < 8; ++k) {
          sum += value(0, first + row % 8 * 4 + k % 4, row / 8 + k / 4 * 2) *
                 value(1, first + column * 4 + k % 4, k / 4);
        }
        slot(i.result, u, l) = to_bits(sum);
      }
    });
  }

  // --- planes

  /// Sources outside the plane, or not taking part, leave the unit its own value.
  void plane(const Instruction& i, const Mask& active) {
    const Type r = type(i.result);
    const auto size = launch_.plane_size;
    std::vector<Bits> before(values_.begin() + static_cast<std::ptrdiff_t>(offsets_[i.operands[0]]),
                             values_.begin() + static_cast<std::ptrdiff_t>(offsets_[i.operands[0]] +
                                                                           std::size_t{r.lanes} * units_));
    const auto taking_part = [&](std::uint32_t u) { return u < units_ && active[u] && alive_[u]; };
    each(active, [&](std::uint32_t u) {
      const std::uint32_t first = u / size * size;
      for (std::uint32_t l = 0; l < r.lanes; ++l) {
        const auto value = [&](std::uint32_t from) { return before[std::size_t{from} * r.lanes + l]; };
        if (i.operands.size() == 2) {
          const auto lane = static_cast<std::int64_t>(slot(i.operands[1], u));
          const auto from =
              i.opcode == Opcode::plane_shuffle ? lane : static_cast<std::int64_t>(u - first) ^ lane;
          const bool inside =
              from >= 0 && from < size && taking_part(first + static_cast<std::uint32_t>(from));
          slot(i.result, u, l) = value(inside ? first + static_cast<std::uint32_t>(from) : u);
          continue;
        }
        const Opcode op = i.opcode == Opcode::plane_reduce_add   ? Opcode::add
                          : i.opcode == Opcode::plane_reduce_min ? Opcode::min
                                                                 : Opcode::max;
        visit(r.scalar, [&]<class T>() {
          using C = Compute<T>;
          bool started = false;
          C sum{};
          for (std::uint32_t v = first; v < first + size; ++v) {
            if (!taking_part(v)) continue;
            const auto x = static_cast<C>(from_bits<T>(value(v)));
            sum = started ? operate<C>(op, sum, x, C{}) : x;
            started = true;
          }
          slot(i.result, u, l) = to_bits(static_cast<T>(sum));
        });
      }
    });
  }

  // --- control flow

  Mask where(const Mask& active, ValueId condition, bool wanted) {
    Mask m(units_, false);
    each(active, [&](std::uint32_t u) { m[u] = (slot(condition, u) != 0) == wanted; });
    return m;
  }

  void control(const Instruction& i, const Mask& active) {
    switch (i.opcode) {
      case Opcode::if_: {
        const Mask then = where(active, i.operands[0], true), otherwise = where(active, i.operands[0], false);
        if (any(then)) block(i.regions[0], then);
        if (i.regions.size() > 1 && any(otherwise)) block(i.regions[1], otherwise);
        return;
      }
      case Opcode::for_:
        return loop(i, active);
      case Opcode::while_: {
        Mask running = active;
        while (any(running)) {
          block(i.regions[0], running);
          running = where(running, i.regions[0].instructions.back().operands[0], true);
          if (any(running)) block(i.regions[1], running);
        }
        return;
      }
      case Opcode::return_:
        each(active, [&](std::uint32_t u) { alive_[u] = false; });
        return;
      default:
        return;
    }
  }

  void loop(const Instruction& i, const Mask& active) {
    const Block& body = i.regions[0];
    std::vector<std::int64_t> next(units_);
    const auto at = [&](std::size_t n, std::uint32_t u) {
      return static_cast<std::int64_t>(slot(i.operands[n], u));
    };
    each(active, [&](std::uint32_t u) { next[u] = at(0, u); });
    while (true) {
      Mask running(units_, false);
      each(active, [&](std::uint32_t u) { running[u] = next[u] < at(1, u); });
      if (!any(running)) return;
      each(running, [&](std::uint32_t u) { slot(body.argument, u) = static_cast<Bits>(next[u]); });
      block(body, running);
      each(running, [&](std::uint32_t u) { next[u] += at(2, u); });
    }
  }

  const Kernel& kernel_;
  const Launch& launch_;
  std::uint32_t units_;
  std::vector<std::size_t> offsets_;
  std::vector<Bits> values_;
  std::vector<std::vector<unsigned char>> arrays_;
  std::array<std::uint32_t, 3> position_{};
  Mask alive_;
};

}  // namespace

void interpret(const Kernel& kernel, const Launch& launch) {
  Machine machine(kernel, launch);
  for (std::uint32_t z = 0; z < launch.cube_count[2]; ++z)
    for (std::uint32_t y = 0; y < launch.cube_count[1]; ++y)
      for (std::uint32_t x = 0; x < launch.cube_count[0]; ++x) machine.cube({x, y, z});
}

}  // namespace strata::kernel::test

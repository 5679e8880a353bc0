#include "kernel/random_kernel.hpp"

#include <deque>
#include <random>
#include <vector>

#include "kernel/builder.hpp"

namespace strata::kernel::test {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomKernelOptions& options)
      : random_(seed), options_(options), builder_("random", options.cube_dim) {
    units_ = static_cast<std::int32_t>(options.cube_dim[0] * options.cube_dim[1] * options.cube_dim[2]);
    x_ = builder_.read("x", Scalar::f32);
    y_ = builder_.write("y", Scalar::i32);
    z_ = builder_.write("z", Scalar::f32);
    n_ = builder_.scalar("n", Scalar::i32);
    shared_ = shared_array(Scalar::i32, units_);
    table_ = local_array(Scalar::i32, 8);
  }

  Kernel run() {
    const auto& d = options_.cube_dim;
    unit_ = (unit_z() * d[1] + unit_y()) * d[0] + unit_x();
    place_ = convert(cube_x(), Scalar::i64) * units_ + convert(unit_, Scalar::i64);
    uniform_ = {n_, constant(make_type(Scalar::i32), 3), cube_x()};
    varying_ = {unit_, n_ * unit_};
    for (int v = 0; v < 3; ++v) variables_.emplace_back(pick(varying_));
    for (int v = 0; v < 2; ++v) uniform_variables_.emplace_back(pick(uniform_));
    vectors_.emplace_back(lane_index(make_type(Scalar::i32, 4)) + unit_);
    for (int k = 0; k < 8; ++k) table_[k] = unit_ * k;
    sum_.emplace_back(x_.load(place_));
    statements(8, 3, true);
    if (options_.returns && chance(3)) if_(pick(varying_) % 3 == 1, [] { return_(); });
    Val total = table_.load(unit_ & 7);
    for (const auto& v : variables_) total = total * 31 + v.get();
    for (const auto& v : uniform_variables_) total = total * 31 + v.get();
    y_[place_] = total + reduce_add(vectors_.front().get());
    z_[place_] = sum_.front().get();
    return builder_.finish();
  }

 private:
  bool chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  std::int32_t number(int below) {
    return static_cast<std::int32_t>(random_() % static_cast<unsigned>(below));
  }
  Val pick(const std::vector<Val>& from) { return from[random_() % from.size()]; }
  template <class T>
  const T& pick(const std::deque<T>& from) {
    return from[random_() % from.size()];
  }

  Val combine(Val a, Val b) {
    switch (number(6)) {
      case 0:
        return a + b;
      case 1:
        return a * b - 7;
      case 2:
        return a ^ (b >> 1);
      case 3:
        return select(a < b, a, b + 1);
      case 4:
        return max(a, b) - min(a, 5);
      default:
        return (a & 0xff) % ((b & 15) + 1);
    }
  }
  Val any_value() {
    switch (number(4)) {
      case 0:
        return pick(uniform_);
      case 1:
        return pick(variables_).get();
      case 2:
        return table_.load(pick(varying_) & 7);
      default:
        return pick(varying_);
    }
  }
  Val uniform_value() { return chance(2) ? pick(uniform_) : pick(uniform_variables_).get(); }

  /// Values defined inside go out of scope behind it.
  template <class F>
  void scope(F&& f) {
    const auto uniform = uniform_, varying = varying_;
    f();
    uniform_ = uniform;
    varying_ = varying;
  }

  /// `together`: all units of the cube are here.
  void statements(int count, int depth, bool together) {
    for (int k = 0; k < count; ++k) statement(depth, together);
  }

  void statement(int depth, bool together) {
    switch (number(depth > 0 ? 16 : 8)) {
      case 0:
        varying_.push_back(combine(any_value(), any_value()));
        return;
      case 1:
        if (together) uniform_.push_back(combine(uniform_value(), uniform_value()));
        return;
      case 2:
        pick(variables_) = combine(any_value(), any_value());
        return;
      case 3:
        if (together) pick(uniform_variables_) = combine(uniform_value(), uniform_value());
        return;
      case 4:
        table_[any_value() & 7] = any_value();
        return;
      case 5: {
        const Val v = vectors_.front().get();
        vectors_.front() = v * 3 + splat(any_value(), 4) + shuffle(v, v, {3, 2, 1, 0});
        return;
      }
      case 6:
        sum_.front() = fma(sum_.front().get(), constant(make_type(Scalar::f32), 0.5),
                           convert(any_value() & 63, Scalar::f32));
        return;
      case 7:
        if (together && options_.barriers) exchange();
        return;
      case 8:
        return scope([&] {
          for_(0, (uniform_value() & 3) + 1, 1 + number(2), [&](Val i) {
            if (together) uniform_.push_back(i);
            statements(3, depth - 1, together);
          });
        });
      case 9:
        return scope([&] { if_((uniform_value() & 1) == 0, [&] { statements(3, depth - 1, together); }); });
      case 10:
        return scope([&] {
          if_((any_value() & 1) == 0, [&] { scope([&] { statements(3, depth - 1, false); }); },
              [&] { statements(2, depth - 1, false); });
        });
      case 11:
        return scope([&] {
          for_(0, any_value() & 3, 1, [&](Val i) {
            varying_.push_back(i);
            statements(2, depth - 1, false);
          });
        });
      case 12:
        return counted_while(depth, together);
      default:
        if (together && options_.returns) if_(uniform_value() % 5 == 4, [] { return_(); });
    }
  }

  /// A loop whose counter is a variable, uniform where the loop is.
  void counted_while(int depth, bool together) {
    const Var left((together ? uniform_value() : any_value()) & 3);
    scope([&] {
      while_([&] { return left.get() > 0; },
             [&] {
               left -= 1;
               statements(3, depth - 1, together);
             });
    });
  }

  void exchange() {
    shared_[unit_] = any_value();
    barrier();
    varying_.push_back(shared_.load((unit_ + number(units_)) % units_));
    if (chance(2)) uniform_.push_back(shared_.load(number(units_)));
    barrier();
  }

  std::mt19937_64 random_;
  RandomKernelOptions options_;
  Builder builder_;
  std::int32_t units_;
  Buffer x_, y_, z_, shared_, table_;
  Val n_, unit_, place_;
  std::vector<Val> uniform_, varying_;
  std::deque<Var> variables_, uniform_variables_, vectors_, sum_;
};

}  // namespace

Kernel random_kernel(std::uint64_t seed, const RandomKernelOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace strata::kernel::test

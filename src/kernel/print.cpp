#include "kernel/print.hpp"

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "kernel/traits.hpp"
#include "strata/dtype.hpp"

namespace strata::kernel {
namespace {

class Printer {
 public:
  explicit Printer(const Kernel& k) : kernel_(k), constants_(k.types.size()) { name_memories(); }

  std::string run() {
    header();
    indent_ = 1;
    block(kernel_.body);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  /// Names where they are unique, else the number behind.
  void name_memories() {
    std::unordered_map<std::string, int> uses;
    for (const auto& m : kernel_.memories) ++uses[m.name];
    for (std::size_t n = 0; n < kernel_.memories.size(); ++n) {
      const auto& name = kernel_.memories[n].name;
      memories_.push_back(name.empty()     ? std::to_string(n)
                          : uses[name] > 1 ? name + "." + std::to_string(n)
                                           : name);
    }
  }

  void header() {
    add("kernel {}(", kernel_.name);
    const char* separator = "";
    for (std::size_t n = 0; n < kernel_.buffer_count(); ++n) {
      const auto& m = kernel_.memories[n];
      add("{}@{}: {} {}", separator, memories_[n], name_of(m.scalar), m.written ? "write" : "read");
      separator = ", ";
    }
    for (const auto& s : kernel_.scalars) {
      add("{}{}: {}", separator, s.name, name_of(s.scalar));
      separator = ", ";
    }
    add(") units {}x{}x{}", kernel_.cube_dim[0], kernel_.cube_dim[1], kernel_.cube_dim[2]);
    if (kernel_.resident_cubes > 0) add(", {} cubes resident", kernel_.resident_cubes);
    add(" {{\n");
    for (std::size_t n = kernel_.buffer_count(); n < kernel_.memories.size(); ++n) {
      const auto& m = kernel_.memories[n];
      add("  {} @{}: {}[{}]\n", m.space == Space::shared ? "shared" : "local", memories_[n],
          name_of(m.scalar), m.length);
    }
  }

  static std::string constant(Scalar s, std::int64_t bits) {
    switch (s) {
      case Scalar::f64:
        return fmt::format("{}", std::bit_cast<double>(bits));
      case Scalar::f32:
        return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      case Scalar::f16: {
        Float16 h;
        h.bits = static_cast<std::uint16_t>(bits);
        return fmt::format("{}", static_cast<float>(h));
      }
      case Scalar::bf16: {
        BFloat16 h;
        h.bits = static_cast<std::uint16_t>(bits);
        return fmt::format("{}", static_cast<float>(h));
      }
      case Scalar::boolean:
        return bits != 0 ? "true" : "false";
      case Scalar::u64:
        return fmt::format("{}", static_cast<std::uint64_t>(bits));
      default:
        return fmt::format("{}", bits);
    }
  }

  std::string value(ValueId v) const {
    if (v < constants_.size() && !constants_[v].empty()) return constants_[v];
    return fmt::format("%{}", v);
  }
  std::string values(const Instruction& i, std::size_t from = 0) const {
    std::string s;
    for (std::size_t n = from; n < i.operands.size(); ++n)
      s += (n == from ? "" : ", ") + value(i.operands[n]);
    return s;
  }
  Type type(ValueId v) const { return kernel_.types[v]; }

  void block(const Block& b) {
    for (const auto& i : b.instructions) {
      if (i.opcode == Opcode::constant) {
        constants_[i.result] = constant(type(i.result).scalar, i.immediate);
        continue;
      }
      out_.append(static_cast<std::size_t>(2 * indent_), ' ');
      if (i.result != no_value) add("%{} = ", i.result);
      instruction(i);
      out_ += '\n';
    }
  }
  void body(const Block& b) {
    ++indent_;
    block(b);
    --indent_;
    out_.append(static_cast<std::size_t>(2 * indent_), ' ');
    out_ += '}';
  }

  void flags(const Instruction& i) {
    if (i.flags & aligned) out_ += ", aligned";
    if (i.flags & non_temporal) out_ += ", non_temporal";
  }

  void instruction(const Instruction& i) {
    const auto op = name_of(i.opcode);
    switch (i.opcode) {
      case Opcode::builtin:
        add("{}", name_of(static_cast<Builtin>(i.immediate)));
        return;
      case Opcode::parameter:
        add("parameter {}", kernel_.scalars[static_cast<std::size_t>(i.immediate)].name);
        return;
      case Opcode::length:
        add("length @{}", memories_[i.memory]);
        return;
      case Opcode::lane_index:
        add("lane_index {}", to_string(type(i.result)));
        return;
      case Opcode::convert:
      case Opcode::bitcast:
        add("{} {} {} to {}", op, to_string(type(i.operands[0])), value(i.operands[0]),
            name_of(type(i.result).scalar));
        return;
      case Opcode::extract:
        add("extract {} {}, lane {}", to_string(type(i.operands[0])), values(i), i.immediate);
        return;
      case Opcode::insert:
        add("insert {} {}, lane {}", to_string(type(i.result)), values(i), i.immediate);
        return;
      case Opcode::splat:
        add("splat {} {}", to_string(type(i.result)), values(i));
        return;
      case Opcode::shuffle:
        add("shuffle {} {}, [{}]", to_string(type(i.operands[0])), values(i), fmt::join(i.indices, ", "));
        return;
      case Opcode::matrix_multiply: {
        const auto& s = kernel_.matrix_shapes[static_cast<std::size_t>(i.immediate)];
        add("matrix_multiply m{}n{}k{} {} {} {}, {}", s.m, s.n, s.k, name_of(s.a), name_of(s.b), name_of(s.c),
            values(i));
        return;
      }
      case Opcode::comment:
        add("; {}", i.text);
        return;
      case Opcode::if_:
      case Opcode::for_:
      case Opcode::while_:
        control(i);
        return;
      default:
        break;
    }
    if (i.opcode >= Opcode::load && i.opcode <= Opcode::atomic_max) return access(i);
    if (i.opcode == Opcode::load_matrix || i.opcode == Opcode::copy_async) {
      add("{} @{}, {}", op, memories_[i.memory], values(i));
      if (i.opcode == Opcode::copy_async)
        out_ += " from @" + memories_[static_cast<std::size_t>(i.immediate)];
      if (i.opcode == Opcode::load_matrix && i.immediate) out_ += ", transposed";
      return;
    }
    if (i.opcode == Opcode::copy_wait) return add("copy_wait {}", i.immediate);
    if (i.operands.empty())
      add("{}", op);
    else if (i.opcode == Opcode::yield)
      add("yield {}", values(i));
    else
      add("{} {} {}", op, to_string(type(i.operands[i.opcode == Opcode::select ? 1 : 0])), values(i));
  }

  void access(const Instruction& i) {
    const bool reads = i.opcode == Opcode::load || i.opcode == Opcode::gather;
    add("{} ", name_of(i.opcode));
    if (reads) add("{} ", to_string(type(i.result)));
    if (!reads && i.operands.size() > 1) add("{} ", to_string(type(i.operands[1])));
    add("@{}[{}]", memories_[i.memory], value(i.operands[0]));
    const std::size_t mask = reads ? 1 : 2;
    if (!reads && i.operands.size() > 1) add(", {}", value(i.operands[1]));
    if (i.operands.size() > mask) add(", mask {}", value(i.operands[mask]));
    if (i.operands.size() > mask + 1) add(", other {}", value(i.operands[mask + 1]));
    if (i.opcode == Opcode::prefetch) add(", {}", i.immediate != 0 ? "write" : "read");
    flags(i);
  }

  void control(const Instruction& i) {
    if (i.opcode == Opcode::if_) {
      add("if {} {{\n", value(i.operands[0]));
      body(i.regions[0]);
      if (i.regions.size() > 1) {
        out_ += " else {\n";
        body(i.regions[1]);
      }
    } else if (i.opcode == Opcode::for_) {
      add("for %{} = {} to {} step {}{} {{\n", i.regions[0].argument, value(i.operands[0]),
          value(i.operands[1]), value(i.operands[2]), i.flags & unroll ? " unroll" : "");
      body(i.regions[0]);
    } else {
      out_ += "while {\n";
      body(i.regions[0]);
      out_ += " do {\n";
      body(i.regions[1]);
    }
  }

  const Kernel& kernel_;
  std::vector<std::string> constants_;  // text of constant values
  std::vector<std::string> memories_;
  std::string out_;
  int indent_ = 0;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace strata::kernel

/// A random program: operations over inputs, with the moments at which handles are dropped and values read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "op/operation.hpp"
#include "strata/device.hpp"
#include "strata/tensor_data.hpp"

namespace strata::fuzz {

/// Names a value of one body: results of its operations are 0, 1, ... in order, program input i is ~i.
using ValueId = int;
constexpr bool is_input(ValueId id) { return id < 0; }
constexpr std::size_t input_index(ValueId id) { return static_cast<std::size_t>(~id); }

struct Action {
  enum class Kind : std::uint8_t {
    execute,  ///< makes the body's next value
    drop,     ///< releases the handle of `value`
    read,     ///< one output of the program
  };
  Kind kind{};
  op::Operation op;               ///< of execute
  std::vector<ValueId> operands;  ///< of execute
  ValueId value = 0;              ///< of drop and read

  static Action execute(op::Operation op, std::vector<ValueId> operands) {
    return {Kind::execute, std::move(op), std::move(operands), 0};
  }
  static Action drop(ValueId v) { return {Kind::drop, op::Fill{}, {}, v}; }
  static Action read(ValueId v) { return {Kind::read, op::Fill{}, {}, v}; }
};

/// What one thread does.
struct Body {
  std::vector<Action> actions;
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<TensorData> inputs;  ///< shared by all bodies
  std::vector<Body> bodies;        ///< more than one: each on a thread of its own, at once
  /// Of autodiff stacks: gradients of the float inputs are outputs too.
  Checkpointing checkpointing = Checkpointing::disabled;

  std::size_t operation_count() const;
};

/// The type of each value of a body; nothing where its operation is refused, or an operand is missing.
class Types {
 public:
  Types(const Program& program, const Body& body);
  const std::optional<op::TensorType>& of(ValueId id) const {
    return is_input(id) ? inputs_[input_index(id)] : results_[static_cast<std::size_t>(id)];
  }
  std::size_t size() const { return results_.size(); }

 private:
  std::vector<std::optional<op::TensorType>> inputs_, results_;
};

/// The result's type; nothing when `op` refuses these operands.
std::optional<op::TensorType> type_of_result(const op::Operation& op, const std::vector<op::TensorType>& in);

}  // namespace strata::fuzz

/// Edits of programs, for shrinking. Each returns a new program, or nothing where it does not apply.
#pragma once

#include "fuzz/fuzzer/program.hpp"
#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {

using Edited = std::optional<Program>;
enum class End { first, last };

/// The place of value `id`'s operation among the body's actions.
std::size_t action_of(const Body& body, ValueId id);
/// How often a value is an operand, read or dropped.
std::size_t uses(const Body& body, ValueId id);

Edited without_body(const Program& program, std::size_t body);
/// A read or a drop.
Edited without_action(const Program& program, std::size_t body, std::size_t action);
/// An operation whose result nobody uses.
Edited without_operation(const Program& program, std::size_t body, ValueId id);
/// Everything that uses `id` uses `instead`, made earlier. `id` is not dropped any more.
Edited with_replaced(const Program& program, std::size_t body, ValueId id, ValueId instead);
/// The value becomes a new input with these elements.
Edited with_constant(const Program& program, std::size_t body, ValueId id, const TensorData& data);
Edited without_unused_inputs(const Program& program);
/// Inputs keep their first or their last elements. Nothing when an operation would be refused that was not,
/// or the other way round.
Edited with_extents(const Program& program, Resize resize, End kept);
Edited with_input(const Program& program, std::size_t input, const TensorData& data);

/// The first, or last, elements of each axis.
TensorData cut(const TensorData& data, const Shape& shape, End kept);
/// 0, 1, or 1, 2, 3, ...; `from` says which.
enum class Plain { zeros, ones, counting };
TensorData plain(const TensorData& like, Plain from);
/// `data` with element i replaced by 1.
TensorData with_one(const TensorData& data, std::size_t i);

}  // namespace strata::fuzz

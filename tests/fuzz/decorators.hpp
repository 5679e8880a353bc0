/// Decorators over flex for the fuzzer's own tests: one with a fault planted in it, one that rounds as freely
/// as a correct device may.
#pragma once

#include <memory>
#include <thread>

#include "backend/backend.hpp"
#include "fuzz/fuzzer/choices.hpp"

namespace strata::fuzz {

using backend::ValueRef;

enum class Fault {
  flip_ignored_on_odd_extents,
  reduce_of_a_slice_reads_the_base,
  sub_swaps_broadcast_operands,
  write_through_an_expanded_value,
  view_dies_with_its_base,
  operands_of_other_threads_are_swapped,
  errors_change_their_type,
  factor_one_half_is_forgotten,  ///< shows in gradients of sqrt
};

/// Flex, wrong in one respect.
class FaultyBackend final : public backend::Backend {
 public:
  FaultyBackend(backend::Backend& flex, Fault fault) : flex_(flex), fault_(fault) {}
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  ValueRef from_data(const TensorData& data) override;
  Future<TensorData> into_data(const ValueRef& value) override;
  void sync() override {}
  std::string_view name() const override { return "faulty"; }

 private:
  ValueRef corrupted(const op::Operation& op, backend::Inputs inputs, const std::vector<ValueRef>& on_flex);
  ValueRef run(const op::Operation& op, const std::vector<ValueRef>& inputs) {
    return flex_.execute(op, inputs)[0];
  }
  ValueRef resolve(const ValueRef& value);

  backend::Backend& flex_;
  const Fault fault_;
};

/// Flex with the results of functions, sums and products moved by up to `ulps` of what they round by.
class NoisyBackend final : public backend::Backend {
 public:
  NoisyBackend(backend::Backend& flex, double ulps) : flex_(flex), ulps_(ulps) {}
  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  ValueRef from_data(const TensorData& data) override { return flex_.from_data(data); }
  Future<TensorData> into_data(const ValueRef& value) override { return flex_.into_data(value); }
  void sync() override {}
  std::string_view name() const override { return "noisy"; }

 private:
  backend::Backend& flex_;
  const double ulps_;
  Choices choices_{7};
};

}  // namespace strata::fuzz

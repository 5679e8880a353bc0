/// Compiling, checking and measuring the candidates of one product on its real inputs.
#pragma once

#include <functional>
#include <optional>

#include "cube/matmul/engine.hpp"

namespace strata::cube::matmul {

/// Some rows of the last matrix of the result: evenly spread, the last one among them.
struct RowSample {
  std::int64_t first = 0, step = 1, count = 0;
};
RowSample sample_of(const Problem& problem);
/// The product of those rows alone.
Problem sampled(const Problem& problem, const RowSample& rows);

/// Copies sampled rows of a row-major matrix [.., n] to a buffer and overwrites them, so that a kernel that
/// does not write them cannot pass for one that does.
kernel::Kernel build_row_sampler(DType dtype);

class MatmulTrial final : public tune::Trial {
 public:
  /// `plan(i)` records the kernel of candidate `i`; asked for when it is first needed.
  MatmulTrial(CubeBackend& backend, const Problem& problem, const Operands& operands, const Machine& machine,
              std::span<const Schedule> schedules, std::function<Plan(std::size_t)> plan,
              tune::Roofline& roofline);

  void prepare(std::span<const std::size_t> group) override;
  void check(std::size_t i) override;
  double measure(std::size_t i, int launches) override;
  double bound() override;
  void achieved(double seconds) override;

 private:
  using Bytes = std::shared_ptr<const std::byte>;
  const Plan& plan_of(std::size_t i);
  /// One launch, or two where k is split.
  std::vector<runtime::Launch> launches_of(std::size_t i);
  void make_reference();
  /// Sampled rows of output `o`, which are then overwritten.
  Bytes take_rows(std::size_t o);

  CubeBackend& backend_;
  runtime::Client& client_;
  const Problem& problem_;
  const Operands& operands_;
  const Machine& machine_;
  const std::function<Plan(std::size_t)> plan_;
  std::vector<std::optional<Plan>> plans_;  ///< of the candidates asked for
  tune::Roofline& roofline_;
  const RowSample rows_;
  runtime::BufferRef workspace_;
  bool have_reference_ = false;
  std::vector<Bytes> reference_;  ///< one an output
  Bytes scale_;                   ///< sums of |a| |b|, in the accumulator's type
};

/// What decides how far a result may be off.
struct Comparison {
  DType product{};     ///< dtype of the product
  std::int64_t k = 0;  ///< terms of a sum
  Precision precision = Precision::exact;
  bool epilogue = false;  ///< something like exp may have magnified the product's error
  bool smooth =
      true;  ///< false: a few elements may differ, since a comparison or a rounding may fall either way
};
/// Throws RuntimeError naming the first element that is off by more than rounding explains. `reference` and
/// `result` hold `count` elements of `dtype`, `scale` as many of the product's accumulator: sums of |a| |b|.
void compare(const Comparison& how, DType dtype, std::int64_t count, const std::byte* reference,
             const std::byte* result, const std::byte* scale);

}  // namespace strata::cube::matmul

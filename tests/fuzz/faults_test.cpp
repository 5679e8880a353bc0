// The fuzzer's own test: faults planted on purpose are found and made small.
#include <gtest/gtest.h>

#include "flex/flex.hpp"
#include "fuzz/decorators.hpp"
#include "fuzz/fuzzer/session.hpp"

namespace strata::fuzz {
namespace {

/// What the fuzzer must come to.
struct Planted {
  std::string name;
  Fault fault;
  std::size_t programs;            ///< within which it is found
  std::size_t operations;          ///< at most these are left
  std::vector<std::string> shown;  ///< in the printed program
};
void PrintTo(const Planted& p, std::ostream* out) { *out << p.name; }

class PlantedFault : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsFoundAndShrunk) {
  const auto& planted = GetParam();
  FaultyBackend faulty(flex::instance(), planted.fault);
  Rig rig(flex::instance());
  rig.add("faulty", faulty);
  SessionSettings settings;
  settings.programs = planted.programs;
  settings.mismatches = 1;
  const auto report = fuzz(rig, settings);
  ASSERT_EQ(report.found.size(), 1u);
  const auto& found = report.found[0];
  EXPECT_LE(found.small.operation_count(), planted.operations) << found.cpp;
  for (const auto& text : planted.shown)
    EXPECT_NE(found.cpp.find(text), std::string::npos) << text << "\n" << found.cpp;
  for (const auto& input : found.small.inputs) EXPECT_LE(input.size(), 64) << found.cpp;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, PlantedFault,
    ::testing::Values(
        Planted{"Flip", Fault::flip_ignored_on_odd_extents, 3000, 1, {"op::Flip{{", "TensorData::from<"}},
        Planted{"Reduce", Fault::reduce_of_a_slice_reads_the_base, 10000, 2, {"op::Slice", "op::Reduce"}},
        Planted{"Sub", Fault::sub_swaps_broadcast_operands, 3000, 1, {"op::BinaryKind::sub"}},
        Planted{"Expanded", Fault::write_through_an_expanded_value, 20000, 3, {"op::Expand", "op::Binary{"}},
        Planted{"Lifetime", Fault::view_dies_with_its_base, 3000, 3, {"op::Slice", " = {};"}},
        Planted{"Threads", Fault::operands_of_other_threads_are_swapped, 5000, 1, {"std::jthread"}},
        Planted{"Errors", Fault::errors_change_their_type, 3000, 1, {"ArgumentError", "ShapeError"}}),
    [](const auto& parameters) { return parameters.param.name; });

TEST(PlantedFaults, InABackwardPassAreSeenInTheGradient) {
  FaultyBackend faulty(flex::instance(), Fault::factor_one_half_is_forgotten);
  Rig rig(flex::instance());
  rig.add("faulty", faulty);
  rig.add("autodiff over faulty", faulty, true);
  Program root;
  root.inputs = {TensorData::from<float>({4, 9}, {2})};
  root.bodies = {{{Action::execute(op::Unary{op::UnaryKind::sqrt}, {~0}), Action::read(0)}}};
  const auto verdict = rig.check(root);
  ASSERT_TRUE(verdict.mismatch);
  EXPECT_EQ(verdict.mismatch->stack, "autodiff over faulty");
  EXPECT_NE(verdict.mismatch->text.find("gradient of in0"), std::string::npos) << verdict.mismatch->text;
}

TEST(PlantedFaults, NothingIsFoundWhereNothingIsWrong) {
  Rig rig(flex::instance());
  rig.add("flex", flex::instance());
  rig.add("autodiff over flex", flex::instance(), true);
  SessionSettings settings;
  settings.programs = 200;
  const auto report = fuzz(rig, settings);
  EXPECT_TRUE(report.good()) << report.to_string();
  EXPECT_EQ(report.programs, 200u);
}

}  // namespace
}  // namespace strata::fuzz

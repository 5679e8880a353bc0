#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "fuzz/fuzzer/generator.hpp"
#include "fuzz/fuzzer/print.hpp"
#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {
namespace {

TEST(Generator, GivesTheSameProgramForASeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto a = generate(seed), b = generate(seed);
    EXPECT_EQ(listing(a), listing(b));
    ASSERT_EQ(a.inputs.size(), b.inputs.size());
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      EXPECT_EQ(std::memcmp(a.inputs[i].bytes(), b.inputs[i].bytes(), a.inputs[i].byte_size()), 0);
  }
  EXPECT_NE(listing(generate(1)), listing(generate(2)));
}

/// What a thousand programs contain.
struct Census {
  std::map<std::string, int> families;
  std::set<std::string> operations;
  std::set<DType> dtypes;
  std::set<int> ranks;
  int empty = 0, large = 0, refused = 0, early_drops = 0, early_reads = 0, threaded = 0, reused = 0;

  Census() {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) add(generate(seed));
  }
  void add(const Program& program) {
    threaded += program.bodies.size() > 1;
    for (const auto& body : program.bodies) add(program, body);
  }
  void add(const Program& program, const Body& body) {
    const Types types(program, body);
    ValueId made = 0;
    bool dropped = false, read = false;
    std::map<ValueId, int> uses;
    for (const auto& action : body.actions) {
      dropped |= action.kind == Action::Kind::drop;
      read |= action.kind == Action::Kind::read;
      if (action.kind != Action::Kind::execute) continue;
      early_drops += dropped;
      early_reads += read;
      ++families[family_of(action.op).name];
      operations.insert(std::string(op::name_of(action.op)));
      for (auto id : action.operands) reused += ++uses[id] == 3;
      const auto& type = types.of(made++);
      refused += !type;
      if (!type) continue;
      dtypes.insert(type->dtype);
      ranks.insert(type->shape.rank());
      empty += type->shape.product() == 0;
      large += type->shape.product() > 10'000;
    }
  }
};

TEST(Generator, UsesEveryFamilyKindDTypeAndRank) {
  const Census census;
  for (const auto& family : families()) EXPECT_GT(census.families.at(family.name), 100) << family.name;
  for (int k = 0; k < op::unary_count; ++k)
    EXPECT_TRUE(census.operations.contains(std::string(op::name_of(static_cast<op::UnaryKind>(k))))) << k;
  for (int k = 0; k < op::binary_count; ++k)
    EXPECT_TRUE(census.operations.contains(std::string(op::name_of(static_cast<op::BinaryKind>(k))))) << k;
  for (int k = 0; k < op::compare_count; ++k)
    EXPECT_TRUE(census.operations.contains(std::string(op::name_of(static_cast<op::CompareKind>(k))))) << k;
  EXPECT_EQ(census.dtypes.size(), static_cast<std::size_t>(dtype_count));
  for (int rank = 0; rank <= 5; ++rank) EXPECT_TRUE(census.ranks.contains(rank)) << rank;
  EXPECT_GT(census.empty, 100);
  EXPECT_GT(census.large, 50);
  EXPECT_GT(census.refused, 20);
  EXPECT_GT(census.early_drops, 1000);
  EXPECT_GT(census.early_reads, 500);
  EXPECT_GT(census.threaded, 50);
  EXPECT_GT(census.reused, 500);
}

TEST(Generator, NamesFamiliesInTheOrderOfTheVariant) {
  EXPECT_EQ(families().size(), std::variant_size_v<op::Operation>);
  EXPECT_EQ(family_of(op::Fill{}).name, "fill");
  EXPECT_EQ(family_of(op::Reduce{}).name, "reduce");
  EXPECT_EQ(family_of(op::Cat{}).name, "cat");
}

TEST(Print, GivesProgramsAsTests) {
  Program program;
  program.seed = 42;
  program.inputs = {TensorData::from<float>({1, -0.5f, NAN}, {3}),
                    TensorData::from<Float16>({Float16(1.5f)}, {}), TensorData::from<std::int64_t>({7}, {1})};
  program.bodies = {{{Action::execute(op::Slice{{0}, {2}, {1}}, {~0}), Action::drop(~0),
                      Action::execute(op::Reduce{op::ReduceKind::max, {0}, true}, {0}), Action::read(1)}}};
  const auto text = to_cpp(program, "why\nand how");
  for (const auto* line :
       {"// why\n// and how\nTEST(Fuzz, Seed42) {",
        "const auto in0 = TensorData::from<float>({1.0f, -0.5f, NAN}, {3});",
        "TensorData::from<Float16>({Float16(1.5f)}, {});",
        "TensorData::from<std::int64_t>({std::int64_t{7}}, {1});",
        "auto v0 = run(op::Slice{{0}, {2}, {1}}, {in0});\n    in0 = {};\n",
        "auto v1 = run(op::Reduce{op::ReduceKind::max, {0}, true}, {v0});\n    out.push_back(b.read(v1));"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace strata::fuzz

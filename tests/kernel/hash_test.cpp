#include "kernel/hash.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel/builder.hpp"
#include "kernel/random_kernel.hpp"

namespace strata::kernel {
namespace {

Kernel sample() {
  Builder b("sample", {4, 1, 1});
  auto x = b.read("x", Scalar::f32);
  auto y = b.write("y", Scalar::f32);
  const Val a = b.scalar("a", Scalar::f32);
  auto s = shared_array(Scalar::f32, 16, "s");
  comment("text");
  const Val v = x.load(0, 4, {.flags = aligned});
  const Val w = shuffle(v, v, {3, 2, 1, 0});
  s[unit_x()] = a;
  barrier();
  for_(
      0, x.length(), 4, [&](Val i) { if_(i > 8, [&] { y.store(i, v + w + s.load(0)); }); }, unroll);
  return b.finish();
}

TEST(Hash, IsTheSameInEveryProcess) {
  // a constant of this format: change it together with `format_version`
  Kernel k;
  k.name = "empty";
  EXPECT_EQ(hash(k).to_string(), "1b96a9559016724a065b2b50b457760a");
  EXPECT_EQ(serialize(k).size(), 8u * 12);
}

TEST(Hash, EqualKernelsHashEqual) {
  EXPECT_EQ(hash(sample()), hash(sample()));
  EXPECT_EQ(serialize(sample()), serialize(sample()));
}

/// The first instruction with the opcode, bodies included.
Instruction& find(Block& b, Opcode op) {
  std::vector<Block*> todo{&b};
  while (!todo.empty()) {
    Block* block = todo.back();
    todo.pop_back();
    for (auto& i : block->instructions) {
      if (i.opcode == op) return i;
      for (auto& r : i.regions) todo.push_back(&r);
    }
  }
  throw std::logic_error("no such instruction");
}

TEST(Hash, EveryFieldCounts) {
  const std::function<void(Kernel&)> changes[] = {
      [](Kernel& k) { k.name = "Sample"; },
      [](Kernel& k) { k.name += '\0'; },
      [](Kernel& k) { k.cube_dim[0] = 5; },
      [](Kernel& k) { k.cube_dim[1] = 2; },
      [](Kernel& k) { k.cube_dim[2] = 2; },
      [](Kernel& k) { k.resident_cubes = 2; },
      [](Kernel& k) { k.memories[0].space = Space::local; },
      [](Kernel& k) { k.memories[0].scalar = Scalar::f64; },
      [](Kernel& k) { k.memories[0].written = true; },
      [](Kernel& k) { k.memories[2].length = 17; },
      [](Kernel& k) { k.memories[2].alignment = 128; },
      [](Kernel& k) { k.memories[1].name = "z"; },
      [](Kernel& k) { k.memories.pop_back(); },
      [](Kernel& k) { k.scalars[0].scalar = Scalar::i32; },
      [](Kernel& k) { k.scalars[0].name = "b"; },
      [](Kernel& k) { k.scalars.push_back(k.scalars[0]); },
      [](Kernel& k) {
        k.matrix_shapes.push_back({16, 8, 16, Scalar::bf16, Scalar::bf16, Scalar::f32});
      },
      [](Kernel& k) {
        k.matrix_shapes.push_back({8, 16, 16, Scalar::bf16, Scalar::bf16, Scalar::f32});
      },
      [](Kernel& k) {
        k.matrix_shapes.push_back({16, 8, 32, Scalar::bf16, Scalar::bf16, Scalar::f32});
      },
      [](Kernel& k) {
        k.matrix_shapes.push_back({16, 8, 16, Scalar::f16, Scalar::bf16, Scalar::f32});
      },
      [](Kernel& k) {
        k.matrix_shapes.push_back({16, 8, 16, Scalar::bf16, Scalar::f16, Scalar::f32});
      },
      [](Kernel& k) {
        k.matrix_shapes.push_back({16, 8, 16, Scalar::bf16, Scalar::bf16, Scalar::f16});
      },
      [](Kernel& k) { k.types[3].scalar = Scalar::u64; },
      [](Kernel& k) { k.types[3].lanes = 9; },
      [](Kernel& k) { k.types.push_back({}); },
      [](Kernel& k) { k.body.argument = 0; },
      [](Kernel& k) { k.body.instructions.pop_back(); },
      [](Kernel& k) { find(k.body, Opcode::add).opcode = Opcode::sub; },
      [](Kernel& k) { find(k.body, Opcode::load).flags = no_flags; },
      [](Kernel& k) { find(k.body, Opcode::for_).flags = no_flags; },
      [](Kernel& k) { find(k.body, Opcode::add).result += 1; },
      [](Kernel& k) { find(k.body, Opcode::load).memory = 1; },
      [](Kernel& k) { find(k.body, Opcode::constant).immediate ^= 1; },
      [](Kernel& k) { find(k.body, Opcode::constant).immediate ^= std::int64_t{1} << 63; },
      [](Kernel& k) { find(k.body, Opcode::add).operands[0] += 1; },
      [](Kernel& k) { find(k.body, Opcode::add).operands[1] += 1; },
      [](Kernel& k) { find(k.body, Opcode::add).operands.push_back(0); },
      [](Kernel& k) { find(k.body, Opcode::add).operands.pop_back(); },
      [](Kernel& k) { find(k.body, Opcode::shuffle).indices[2] = 0; },
      [](Kernel& k) { find(k.body, Opcode::shuffle).indices.push_back(0); },
      [](Kernel& k) { find(k.body, Opcode::for_).regions[0].argument += 1; },
      [](Kernel& k) { find(k.body, Opcode::if_).regions.emplace_back(); },
      [](Kernel& k) { find(k.body, Opcode::if_).regions[0].instructions.pop_back(); },
      [](Kernel& k) { find(k.body, Opcode::comment).text = "Text"; },
  };
  std::set<std::string> hashes{hash(sample()).to_string()}, bytes{serialize(sample())};
  std::size_t n = 1;
  for (const auto& change : changes) {
    Kernel k = sample();
    change(k);
    EXPECT_TRUE(hashes.insert(hash(k).to_string()).second) << "change " << n;
    EXPECT_TRUE(bytes.insert(serialize(k)).second) << "change " << n;
    ++n;
  }
}

TEST(Hash, ManyKernelsManyHashes) {
  std::set<std::string> high, low, bytes;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Kernel k = test::random_kernel(seed);
    const auto text = hash(k).to_string();
    high.insert(text.substr(0, 16));
    low.insert(text.substr(16));
    bytes.insert(serialize(k));
  }
  EXPECT_EQ(high.size(), bytes.size());
  EXPECT_EQ(low.size(), bytes.size());
}

}  // namespace
}  // namespace strata::kernel

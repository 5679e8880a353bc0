#include "kernel/hash.hpp"

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace strata::kernel {
namespace {

/// Walks all fields of a kernel in one fixed order; `sink.word(u64)` and `sink.text(string_view)` take them.
template <class Sink>
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}

  void kernel(const Kernel& k) {
    sink_.word(format_version);
    sink_.text(k.name);
    for (const auto n : k.cube_dim) sink_.word(n);
    sink_.word(k.resident_cubes);
    sink_.word(k.memories.size());
    for (const auto& m : k.memories) {
      sink_.word(pack(static_cast<std::uint64_t>(m.space), static_cast<std::uint64_t>(m.scalar), m.written,
                      m.alignment));
      sink_.word(static_cast<std::uint64_t>(m.length));
      sink_.text(m.name);
    }
    sink_.word(k.scalars.size());
    for (const auto& s : k.scalars) {
      sink_.word(static_cast<std::uint64_t>(s.scalar));
      sink_.text(s.name);
    }
    sink_.word(k.matrix_shapes.size());
    for (const auto& m : k.matrix_shapes) {
      sink_.word(pack(m.m, m.n, 0, m.k));
      sink_.word(pack(static_cast<std::uint64_t>(m.a), static_cast<std::uint64_t>(m.b), 0,
                      static_cast<std::uint64_t>(m.c)));
    }
    sink_.word(k.types.size());
    for (const auto& t : k.types) sink_.word(static_cast<std::uint64_t>(t.scalar) << 16 | t.lanes);
    block(k.body);
  }

 private:
  /// Changes with the meaning or order of the fields.
  static constexpr std::uint64_t format_version = 2;

  static std::uint64_t pack(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return a | b << 16 | c << 31 | d << 32;
  }

  void block(const Block& b) {
    sink_.word(static_cast<std::uint64_t>(b.argument) << 32 |
               static_cast<std::uint32_t>(b.instructions.size()));
    for (const auto& i : b.instructions) instruction(i);
  }

  void instruction(const Instruction& i) {
    sink_.word(static_cast<std::uint64_t>(i.opcode) | std::uint64_t{i.flags} << 8 |
               std::uint64_t{i.result} << 32);
    sink_.word(static_cast<std::uint64_t>(i.memory) << 32 | static_cast<std::uint32_t>(i.operands.size()));
    sink_.word(static_cast<std::uint64_t>(i.immediate));
    sink_.word(static_cast<std::uint64_t>(i.indices.size()) << 32 |
               static_cast<std::uint32_t>(i.regions.size()));
    for (std::size_t n = 0; n < i.operands.size(); n += 2)
      sink_.word(std::uint64_t{i.operands[n]} << 32 | (n + 1 < i.operands.size() ? i.operands[n + 1] : 0));
    for (const auto lane : i.indices) sink_.word(static_cast<std::uint32_t>(lane));
    sink_.text(i.text);
    for (const auto& r : i.regions) block(r);
  }

  Sink& sink_;
};

/// `text` of a sink that has `word`: length, then the bytes in words.
template <class Sink>
void text_words(Sink& sink, std::string_view s) {
  sink.word(s.size());
  while (!s.empty()) {
    std::uint64_t w = 0;
    const auto n = s.size() < 8 ? s.size() : 8;
    std::memcpy(&w, s.data(), n);
    sink.word(w);
    s.remove_prefix(n);
  }
}

struct Bytes {
  std::string out;
  void word(std::uint64_t w) { out.append(reinterpret_cast<const char*>(&w), sizeof w); }
  void text(std::string_view s) { text_words(*this, s); }
};

struct Digest {
  std::uint64_t a = 0x243f6a8885a308d3u, b = 0x13198a2e03707344u;
  static std::uint64_t fold(std::uint64_t x, std::uint64_t y) {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(x) * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  void word(std::uint64_t w) {
    a = fold(a ^ w, 0x9e3779b97f4a7c15u) ^ 0xd6e8feb86659fd93u;
    b = fold(b + std::rotl(w, 29), 0xe7037ed1a0b428dbu) ^ 0x8ebc6af09c88c6e3u;
  }
  void text(std::string_view s) { text_words(*this, s); }
};

}  // namespace

std::string Hash128::to_string() const {
  std::string s(32, '0');
  for (std::size_t i = 0; i < 32; ++i) {
    const std::uint64_t half = i < 16 ? high : low;
    s[i] = "0123456789abcdef"[(half >> (60 - 4 * (i % 16))) & 15];
  }
  return s;
}

std::string serialize(const Kernel& kernel) {
  Bytes bytes;
  Walk(bytes).kernel(kernel);
  return std::move(bytes.out);
}

Hash128 hash(const Kernel& kernel) {
  Digest d;
  Walk(d).kernel(kernel);
  return {Digest::fold(d.a ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu ^ d.b),
          Digest::fold(d.b ^ d.a, 0x589965cc75374cc3u)};
}

}  // namespace strata::kernel

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "codegen/compiler.hpp"
#include "codegen_revision.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace strata::codegen {
namespace {

#if defined(__x86_64__)
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Leaf cpuid(unsigned leaf, unsigned part = 0) {
  Leaf l;
  if (__get_cpuid_max(leaf & 0x80000000u, nullptr) >= leaf) __cpuid_count(leaf, part, l.a, l.b, l.c, l.d);
  return l;
}
/// Register state the operating system saves; 0 without XSAVE.
std::uint64_t saved_state() {
  if ((cpuid(1).c & bit_OSXSAVE) == 0) return 0;
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

std::string brand() {
  char text[49] = {};
  for (unsigned n = 0; n < 3; ++n) {
    const auto l = cpuid(0x80000002u + n);
    std::memcpy(text + 16 * n, &l, 16);
  }
  std::string s = text;
  s.erase(0, s.find_first_not_of(' ') == std::string::npos ? s.size() : s.find_first_not_of(' '));
  while (!s.empty() && s.back() == ' ') s.pop_back();
  return s;
}

std::string describe_cpu() {
  // Leaf 1 b holds the number of the core that was asked: left out.
  const Leaf one = cpuid(1), seven = cpuid(7), more = cpuid(7, 1), extended = cpuid(0x80000001u),
             state = cpuid(0xd, 1);
  char text[256];
  std::snprintf(text, sizeof text, " cpu %08x %08x %08x %08x %08x %08x %08x %08x %08x %08x %08x state %llx",
                one.a, one.c, one.d, seven.b, seven.c, seven.d, more.a, more.d, extended.c, extended.d,
                state.a & 0x1fu, static_cast<unsigned long long>(saved_state()));
  return text + (" " + brand());
}
#else
std::string describe_cpu() { return " cpu of another architecture"; }
#endif

}  // namespace

std::string_view generator_identity() { return STRATA_CODEGEN_REVISION; }

std::string_view host_identity() {
  static const std::string identity = STRATA_CODEGEN_REVISION + describe_cpu();
  return identity;
}

int host_vector_bytes() {
#if defined(__x86_64__)
  constexpr std::uint64_t ymm = 0x6, zmm = 0xe6;
  const auto state = saved_state();
  const auto seven = cpuid(7);
  if ((state & zmm) == zmm && (seven.b & bit_AVX512F) != 0) return 64;
  if ((state & ymm) == ymm && (seven.b & bit_AVX2) != 0) return 32;
#endif
  return 16;
}

}  // namespace strata::codegen

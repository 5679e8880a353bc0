/// Runs kernels as generated host code and in the interpreter, and assembles their PTX.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/compiler.hpp"
#include "kernel/builder.hpp"
#include "kernel/interpreter.hpp"

namespace strata::codegen::test {

/// The arguments of one launch, owned: buffers are bytes.
struct Arguments {
  std::vector<std::vector<unsigned char>> buffers;
  std::vector<std::int64_t> scalars;
  std::array<std::uint32_t, 3> cubes{1, 1, 1};

  template <class T>
  Arguments& add(const std::vector<T>& values) {
    const auto* p = reinterpret_cast<const unsigned char*>(values.data());
    buffers.emplace_back(p, p + values.size() * sizeof(T));
    return *this;
  }
  Arguments& add_bytes(std::size_t bytes) {
    buffers.emplace_back(bytes, 0xcd);
    return *this;
  }
  template <class T>
  std::vector<T> get(std::size_t buffer) const {
    std::vector<T> v(buffers[buffer].size() / sizeof(T));
    std::memcpy(v.data(), buffers[buffer].data(), v.size() * sizeof(T));
    return v;
  }
};

/// Copies of `arguments` after the kernel ran over all cubes.
Arguments run_generated(const kernel::Kernel& kernel, Arguments arguments, const Target& target = {});
Arguments run_interpreted(const kernel::Kernel& kernel, Arguments arguments);

/// Generated code and interpreter leave the same elements in every buffer; two NaNs are the same.
void expect_like_interpreter(const kernel::Kernel& kernel, const Arguments& arguments,
                             const Target& target = {});

/// The same for PTX, run by the CUDA driver; without a GPU a line says so.
void expect_like_interpreter_on_gpu(const kernel::Kernel& kernel, const Arguments& arguments);

/// Path of ptxas, empty when there is none.
const std::string& ptxas();
/// Lowers to PTX for sm_80 and sm_90a; both are assembled where ptxas is present (a line says when it is
/// not).
void expect_assembles(const kernel::Kernel& kernel);

}  // namespace strata::codegen::test

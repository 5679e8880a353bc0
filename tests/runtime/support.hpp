/// A client of the CPU for tests, and small kernels with known answers.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "kernel/builder.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::runtime::test {

/// out[i] = in[i] * scale + offset, one cube per element.
inline std::shared_ptr<const kernel::Kernel> affine(const std::string& name, double offset = 1) {
  kernel::Builder b(name);
  const auto in = b.read("in", kernel::Scalar::f32);
  const auto out = b.write("out", kernel::Scalar::f32);
  const auto scale = b.scalar("scale", kernel::Scalar::f32);
  const auto i = kernel::cube_x();
  out[i] = in[i] * scale + offset;
  return std::make_shared<const kernel::Kernel>(b.finish());
}

/// x[i] = x[i] + 1, one cube per element.
inline std::shared_ptr<const kernel::Kernel> increment(const std::string& name) {
  kernel::Builder b(name);
  const auto x = b.read_write("x", kernel::Scalar::f32);
  const auto i = kernel::cube_x();
  x[i] = x[i] + 1.0;
  return std::make_shared<const kernel::Kernel>(b.finish());
}

inline std::int64_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }

inline std::shared_ptr<const std::byte> bytes_of(const std::vector<float>& v) {
  const auto copy = std::make_shared<std::vector<float>>(v);
  return {copy, reinterpret_cast<const std::byte*>(copy->data())};
}

/// A client that lives as long as the process, and that a leak checker can reach even if its thread never
/// ran.
inline cpu::CpuClient& lasting_client(const cpu::Options& options) {
  static auto& clients = *new std::vector<cpu::CpuClient*>;
  return *clients.emplace_back(new cpu::CpuClient(options));
}

struct Device {
  cpu::CpuClient& client;

  explicit Device(const cpu::Options& options = {.threads = 2}) : client(lasting_client(options)) {}

  BufferRef upload(const std::vector<float>& v) {
    auto b = client.allocate(v.size() * 4);
    client.write(b, bytes_of(v), v.size() * 4);
    return b;
  }
  std::vector<float> download(const BufferRef& b) {
    const auto data = client.read(b).get();
    const auto* p = reinterpret_cast<const float*>(data.get());
    return {p, p + b->bytes() / 4};
  }
  /// One launch of an `affine` program into a new buffer.
  BufferRef run(const ProgramRef& p, const BufferRef& in, float scale = 1) {
    auto out = client.allocate(in->bytes());
    client.launch({p, {static_cast<std::uint32_t>(in->bytes() / 4), 1, 1}, {in, out}, {bits(scale)}});
    return out;
  }
  /// What reading the buffer throws; empty when it throws no E.
  template <class E>
  std::string error_of(const BufferRef& b) {
    try {
      download(b);
    } catch (const E& e) {
      return e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "another error: " << e.what();
    }
    return {};
  }
};

}  // namespace strata::runtime::test

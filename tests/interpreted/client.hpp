/// A device without hardware: launches are interpreted at once on the calling thread, of which there is one
/// at a time. With the properties of a GPU it runs what the layers above lower for one, on any machine.
#pragma once

#include <cstdlib>
#include <cstring>

#include "kernel/interpreter.hpp"
#include "runtime/client.hpp"
#include "strata/tensor_data.hpp"

namespace strata::interpreted {

inline runtime::DeviceProperties gpu_properties() {
  runtime::DeviceProperties p;
  p.device = "gpu";
  p.runtime = "interpreted";
  p.compiler = "none";
  p.threads = 4;
  p.vector_bytes = 16;
  p.l2_bytes = 1 << 20;
  p.plane_size = 32;
  p.max_units = 64;
  p.max_shared_bytes = 48 << 10;
  return p;
}

class Client final : public runtime::Client {
 public:
  explicit Client(runtime::DeviceProperties properties) : properties_(std::move(properties)) {}

  const runtime::DeviceProperties& properties() const override { return properties_; }
  /// What was made into programs so far.
  const std::vector<std::shared_ptr<const kernel::Kernel>>& kernels() const { return kernels_; }
  runtime::Counters counters() const override { return counters_; }
  void write(runtime::BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) override {
    std::memcpy(bind(*buffer), data.get(), bytes);
  }
  Future<std::shared_ptr<const std::byte>> read(runtime::BufferRef buffer) override {
    Promise<std::shared_ptr<const std::byte>> promise;
    auto future = promise.future();
    decide(*buffer);
    if (error_of(*buffer)) {
      promise.set_exception(error_of(*buffer));
      return future;
    }
    const auto copy = TensorData::allocate(buffer->bytes());
    std::memcpy(copy.get(), bind(*buffer), buffer->bytes());
    promise.set_value(copy);
    return future;
  }
  runtime::ProgramRef program(std::shared_ptr<const kernel::Kernel> ir) override {
    struct Plain final : runtime::Program {
      explicit Plain(std::shared_ptr<const kernel::Kernel> k) : Program(std::move(k), {}) {}
    };
    ++counters_.compiles;
    kernels_.push_back(ir);
    return std::make_shared<Plain>(std::move(ir));
  }
  void precompile(std::span<const runtime::ProgramRef>) override {}
  void launch(runtime::Launch launch) override {
    ++counters_.launches;
    collect_returned([](void* data, std::size_t) { std::free(data); });
    std::exception_ptr error;
    for (const auto& b : launch.buffers) {
      if (!believed(*b)) error = error_of(*b);
    }
    try {
      if (!error) run(launch);
      if (!error) pass_doubts(launch);
    } catch (...) {
      error = std::current_exception();
    }
    const auto& memories = launch.program->ir().memories;
    for (std::size_t i = 0; error && i < launch.buffers.size(); ++i) {
      if (memories[i].written) refuse(*launch.buffers[i], error);
    }
  }
  void host_call(runtime::HostCall call) override {
    ++counters_.host_calls;
    std::exception_ptr error;
    try {
      std::vector<const std::byte*> inputs;
      std::vector<std::byte*> outputs;
      for (const auto& b : call.inputs) {
        decide(*b);
        if (error_of(*b)) std::rethrow_exception(error_of(*b));
        inputs.push_back(static_cast<const std::byte*>(bind(*b)));
      }
      for (const auto& b : call.outputs) outputs.push_back(static_cast<std::byte*>(bind(*b)));
      call.run(inputs, outputs);
    } catch (...) {
      error = std::current_exception();
    }
    for (const auto& b : call.outputs) {
      if (error) refuse(*b, error);
    }
  }
  std::vector<double> time(const runtime::Launch& one, int repetitions, int /*batch*/) override {
    launch(one);
    return std::vector<double>(static_cast<std::size_t>(repetitions), 1e-6);
  }
  void help(const std::function<bool()>&) override {}
  Future<void> sync_async() override {
    Promise<void> promise;
    auto future = promise.future();
    promise.set_value();
    return future;
  }

 private:
  static constexpr std::size_t memory = std::size_t{1} << 36;

  static void* bind(runtime::Buffer& buffer) {
    auto*& data = data_of(buffer);
    if (!data && buffer.bytes() > memory) {
      throw OutOfMemoryError("cannot allocate " + std::to_string(buffer.bytes()) + " bytes");
    }
    if (!data) data = std::calloc(1, buffer.bytes() + 1);
    return data;
  }

  static void decide(runtime::Buffer& buffer) {
    close_checks(buffer, [](const runtime::BufferRef& b) {
      return std::shared_ptr<const std::byte>(std::shared_ptr<void>(), static_cast<std::byte*>(bind(*b)));
    });
  }

  void run(const runtime::Launch& launch) {
    kernel::test::Launch interpreted;
    const auto& ir = launch.program->ir();
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      try {
        interpreted.buffers.push_back(bind(*launch.buffers[i]));
      } catch (const OutOfMemoryError& e) {
        throw OutOfMemoryError(ir.name + ": " + e.what());
      }
      const auto size = kernel::size_of(ir.memories[i].scalar);
      interpreted.lengths.push_back(static_cast<std::int64_t>(launch.buffers[i]->bytes() / size));
    }
    if (launch.check) {
      launch.check->open(std::make_shared<std::int64_t>(), ++checks_);
      interpreted.buffers.push_back(launch.check->word());
      interpreted.lengths.push_back(1);
    }
    interpreted.scalars = launch.scalars;
    interpreted.cube_count = launch.cubes;
    interpreted.plane_size = static_cast<std::uint32_t>(properties_.plane_size);
    kernel::test::interpret(ir, interpreted);
  }

  runtime::DeviceProperties properties_;
  runtime::Counters counters_;
  std::uint64_t checks_ = 0;
  std::vector<std::shared_ptr<const kernel::Kernel>> kernels_;
};

}  // namespace strata::interpreted

/// A GPU that is only described: what a cube backend over it plans is what it does on one, and nothing can be
/// run.
#pragma once

#include "base/check.hpp"
#include "runtime/client.hpp"

namespace strata::tool {

class DescribedGpu final : public runtime::Client {
 public:
  /// What every NVIDIA GPU since the Ampere generation has; of an H100 where they differ.
  DescribedGpu() {
    properties_.device = "cuda";
    properties_.runtime = "cuda";
    properties_.compiler = "ptx";
    properties_.threads = 132;
    properties_.plane_size = 32;
    properties_.max_units = 1024;
    properties_.max_shared_bytes = 48 << 10;
  }
  const runtime::DeviceProperties& properties() const override { return properties_; }
  runtime::Counters counters() const override { return {}; }
  runtime::ProgramRef program(std::shared_ptr<const kernel::Kernel> ir) override {
    struct Described final : runtime::Program {
      explicit Described(std::shared_ptr<const kernel::Kernel> k) : Program(std::move(k), {}) {}
    };
    return std::make_shared<Described>(std::move(ir));
  }
  void precompile(std::span<const runtime::ProgramRef>) override { refuse(); }
  void write(runtime::BufferRef, std::shared_ptr<const std::byte>, std::size_t) override { refuse(); }
  Future<std::shared_ptr<const std::byte>> read(runtime::BufferRef) override { refuse(); }
  void launch(runtime::Launch) override { refuse(); }
  void host_call(runtime::HostCall) override { refuse(); }
  std::vector<double> time(const runtime::Launch&, int, int) override { refuse(); }
  void help(const std::function<bool()>&) override {}
  Future<void> sync_async() override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    base::fail_check("a described GPU is only planned for", __FILE_NAME__, __LINE__);
  }
  runtime::DeviceProperties properties_;
};

}  // namespace strata::tool

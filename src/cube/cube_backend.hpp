/// The cube backend: lowers operations, or fused blocks of them, to kernels and queues those on a device's
/// client.
///
/// One thread at a time calls it (the device's upstream thread); no call waits for the device. What fails on
/// the device taints the buffers it should have written, and whoever reads those gets the error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "backend/host.hpp"
#include "cube/block.hpp"
#include "cube/cube_value.hpp"
#include "cube/kernel_cache.hpp"
#include "cube/target.hpp"
#include "runtime/client.hpp"

namespace strata::cube {

using CubeRef = backend::Ref<CubeValue>;

namespace matmul {
class Engine;
}

/// One kernel launch of a plan, or a call of the host.
struct PlannedLaunch {
  std::string kernel_name;
  std::shared_ptr<const kernel::Kernel> ir;  ///< null: the host computes it
  std::array<std::uint32_t, 3> cubes{1, 1, 1};
};

class CubeBackend final : public backend::Backend {
 public:
  /// `host` runs the operations that this backend has no kernel for; without it they throw RuntimeError.
  explicit CubeBackend(runtime::Client& client, backend::HostExecute host = {});

  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  /// Runs a block on values of the types of `block.inputs`; one result for each of its outputs.
  std::vector<backend::ValueRef> execute_block(const Block& block, backend::Inputs inputs);
  /// Whether `execute` writes it with simpler families, which a caller may then fuse. Any thread.
  bool expands(const op::Operation& op, backend::Inputs inputs) const;
  bool expands(const op::Operation& op, std::span<const op::TensorType> inputs) const;
  backend::ValueRef from_data(const TensorData& data) override;
  Future<TensorData> into_data(const backend::ValueRef& value) override;
  /// For another client to copy from, and a copy of what another one lent.
  Future<runtime::Lent> lend(const backend::ValueRef& value);
  backend::ValueRef from_lent(const op::TensorType& type, runtime::Lent source);
  void sync() override;
  std::string_view name() const override { return name_; }

  /// The launches that `execute` would make for dense inputs of these types; nothing is allocated or run.
  std::vector<PlannedLaunch> plan(const op::Operation& op, std::span<const op::TensorType> inputs);

  // What lowerings are made of.
  runtime::Client& client() { return client_; }
  const Target& target() const { return target_; }
  KernelCache& kernels() { return kernels_; }
  /// What matmul remembers of this device; see matmul::Engine::of.
  std::shared_ptr<matmul::Engine>& matmul_engine() { return matmul_engine_; }
  /// A row-major tensor with unspecified content.
  CubeRef allocate(const op::TensorType& type);
  /// Another view of the data of `value`.
  CubeRef view(const CubeValue& value, const op::View& layout);
  /// `value` itself when it is row-major without gaps, else a copy that is.
  CubeRef contiguous(const CubeRef& value);
  /// `value` itself when it is row-major and all that its buffer holds, else a copy that is.
  CubeRef packed(const CubeRef& value);
  /// The elements of `value`, row-major, in memory that nobody else sees.
  CubeRef copy(const CubeValue& value);
  /// Queues one launch; `buffers` in the order of the kernel's global memories, to which a check adds one.
  void launch(const Program& program, std::array<std::uint32_t, 3> cubes,
              std::span<const runtime::BufferRef> buffers, std::span<const std::int64_t> scalars,
              runtime::CheckRef check = {});

 private:
  /// A large transposed operand is copied by tiles first: element-wise kernels would gather it line by line.
  CubeRef near_row_major(CubeRef value);
  void run_elementwise(const Block& block, std::span<const CubeRef> inputs, std::span<const CubeRef> outputs);
  CubeRef reduce(const op::Reduce& op, const CubeRef& input, const op::TensorType& type);
  CubeRef cat(const op::Cat& op, backend::Inputs inputs, const op::TensorType& type);
  CubeRef slice_assign(const op::SliceAssign& op, backend::Inputs inputs, const op::TensorType& type);
  backend::Values on_host(const op::Operation& op, backend::Inputs inputs, const op::TensorTypes& types);
  CubeRef reshape(const op::Reshape& op, const CubeRef& input);

  runtime::Client& client_;
  const std::string name_;
  const Target target_;
  const backend::HostExecute host_;
  KernelCache kernels_;
  std::shared_ptr<matmul::Engine> matmul_engine_;
  std::vector<PlannedLaunch>* planning_ =
      nullptr;  ///< set while `plan` runs: launches go there, not to the device
};

}  // namespace strata::cube

/// A kernel as a module of the driver, from a cubin.
#pragma once

#include "runtime/cuda/driver.hpp"
#include "runtime/stored_program.hpp"

namespace strata::runtime::cuda {

class Context;

class CudaProgram final : public StoredProgram {
 public:
  CudaProgram(std::shared_ptr<const kernel::Kernel> ir, const kernel::Hash128& hash,
              std::shared_ptr<const Context> context)
      : StoredProgram(std::move(ir), hash), context_(std::move(context)) {}
  ~CudaProgram() override;

  /// Of a prepared program.
  Handle function() const { return function_; }
  /// Of shared arrays, where that is an argument of the launch.
  unsigned shared_bytes() const { return shared_bytes_; }

 private:
  std::string scope() const override;
  /// PTX by LLVM, assembled by the driver: the code is a cubin.
  codegen::Compiled generate() const override;
  void place(std::string_view cubin) override;

  const std::shared_ptr<const Context> context_;
  Handle module_ = nullptr, function_ = nullptr;
  unsigned shared_bytes_ = 0;
};

}  // namespace strata::runtime::cuda

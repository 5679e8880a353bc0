/// A kernel as machine code of this CPU.
#pragma once

#include <memory>

#include "codegen/object_loader.hpp"
#include "runtime/stored_program.hpp"

namespace strata::runtime::cpu {

class CpuProgram final : public StoredProgram {
 public:
  CpuProgram(std::shared_ptr<const kernel::Kernel> ir, const kernel::Hash128& hash)
      : StoredProgram(std::move(ir), hash) {}

  /// Of a prepared program.
  codegen::HostKernel entry() const { return entry_; }

 private:
  std::string scope() const override { return std::string(codegen::host_identity()); }
  codegen::Compiled generate() const override { return codegen::compile(ir(), {}, codegen::Format::object); }
  void place(std::string_view object) override {
    object_ = std::make_unique<codegen::LoadedObject>(object);
    entry_ = object_->entry(ir().name);
  }

  std::unique_ptr<codegen::LoadedObject> object_;
  codegen::HostKernel entry_ = nullptr;
};

}  // namespace strata::runtime::cpu

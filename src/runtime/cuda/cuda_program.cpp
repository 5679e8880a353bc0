#include "runtime/cuda/cuda_program.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "runtime/cuda/cuda_client.hpp"
#include "strata/error.hpp"

namespace strata::runtime::cuda {
namespace {

// CUjit_option, CUjitInputType
constexpr int error_log_buffer = 5, error_log_bytes = 6, input_ptx = 1;
// CUfunction_attribute
constexpr int max_dynamic_shared_size = 8;

/// The driver's assembler; what it complains about is the error's text.
std::string assemble(const Driver& d, std::string ptx, const std::string& name) {
  std::array<char, 4096> log{};
  std::array<int, 2> options{error_log_buffer, error_log_bytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
  Handle linker = nullptr;
  auto result = d.LinkCreate(2, options.data(), values.data(), &linker);
  void* image = nullptr;
  std::size_t bytes = 0;
  if (result == 0)
    result = d.LinkAddData(linker, input_ptx, ptx.data(), ptx.size() + 1, name.c_str(), 0, nullptr, nullptr);
  if (result == 0) result = d.LinkComplete(linker, &image, &bytes);
  std::string cubin;
  if (result == 0) cubin.assign(static_cast<const char*>(image), bytes);
  if (linker) d.LinkDestroy(linker);
  if (result != 0) {
    throw CompileError(fmt::format("[compile] the driver does not assemble kernel {}: {}\n{}", name,
                                   text_of(result), log.data()));
  }
  return cubin;
}

}  // namespace

CudaProgram::~CudaProgram() {
  if (module_) context_->enter().ModuleUnload(module_);
}

std::string CudaProgram::scope() const {
  return fmt::format("cuda sm_{} driver {} {}", context_->capability(), context_->driver_version(),
                     codegen::generator_identity());
}

codegen::Compiled CudaProgram::generate() const {
  const auto start = std::chrono::steady_clock::now();
  const codegen::Target target{.kind = codegen::Target::Kind::ptx,
                               .compute_capability = context_->capability()};
  auto compiled = codegen::compile(ir(), target, codegen::Format::ptx);
  compiled.code = assemble(context_->enter(), std::move(compiled.code), ir().name);
  compiled.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compiled;
}

void CudaProgram::place(std::string_view cubin) {
  const auto& d = context_->enter();
  auto result = d.ModuleLoadData(&module_, cubin.data());
  if (result == 0) result = d.ModuleGetFunction(&function_, module_, ir().name.c_str());
  if (const auto bytes = ir().shared_bytes(); bytes > kernel::fixed_shared_bytes) {
    shared_bytes_ = static_cast<unsigned>(bytes);
    if (result == 0) result = d.FuncSetAttribute(function_, max_dynamic_shared_size, static_cast<int>(bytes));
  }
  if (result != 0)
    throw CompileError(
        fmt::format("[compile] the driver does not load kernel {}: {}", ir().name, text_of(result)));
}

}  // namespace strata::runtime::cuda

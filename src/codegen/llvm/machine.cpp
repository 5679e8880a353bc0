#include "codegen/llvm/machine.hpp"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/SubtargetFeature.h>

#include <memory>

#include "codegen/llvm/passes.hpp"
#include "codegen/llvm/targets.hpp"

namespace strata::codegen {
namespace {

/// LLVM reports some failures (an instruction it cannot select, for one) by a handler that must not return.
/// Throwing through its frames leaks what they hold but leaves the process and other compilations whole.
void throw_fatal(void*, const char* reason, bool) { throw LoweringError{std::string("LLVM: ") + reason}; }

/// A code generator for one target; not thread-safe, so each thread has its own.
struct Machine {
  std::unique_ptr<llvm::TargetMachine> target;
  HostFeatures features;
};

Machine create(const std::string& triple, const std::string& cpu, const std::string& features) {
  std::string problem;
  const auto* t = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (t == nullptr) throw LoweringError{"LLVM: " + problem};
  // Asked first: LLVM only prints a warning about a processor that it does not know.
  const std::unique_ptr<llvm::MCSubtargetInfo> any(t->createMCSubtargetInfo(triple, "", ""));
  if (any == nullptr || !any->isCPUStringValid(cpu)) throw LoweringError{"LLVM: no processor '" + cpu + "'"};
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // kernels say `fma` where they mean it
  Machine m;
  m.target.reset(t->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_,
                                        llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
  if (m.target == nullptr) throw LoweringError{"LLVM: no code generator for " + triple};
  return m;
}

/// Name and features: a hypervisor may hide what the named CPU has.
Machine create_host(const std::string& cpu) {
  llvm::SubtargetFeatures list;
  if (cpu.empty())
    for (const auto& f : llvm::sys::getHostCPUFeatures()) list.AddFeature(f.first(), f.second);
  auto m = create(llvm::sys::getProcessTriple(), cpu.empty() ? llvm::sys::getHostCPUName().str() : cpu,
                  list.getString());
  const auto* info = m.target->getMCSubtargetInfo();
  const auto has = [&](const char* name) { return info->checkFeatures(std::string("+") + name); };
  m.features.f16c = has("f16c");
  m.features.avx512 = has("avx512f") && has("avx512vl") && has("avx512dq");
  return m;
}

/// PTX 8.0 is what the driver of CUDA 12.0 reads, and enough for every instruction used here.
Machine create_ptx(const Target& target) {
  const auto cpu =
      "sm_" + std::to_string(target.compute_capability) + (target.architecture_specific ? "a" : "");
  return create("nvptx64-nvidia-cuda", cpu, "+ptx80");
}

Machine& machine_of(const Target& target) {
  struct Kept {
    Machine machine;
    Target made_for;
  };
  thread_local Kept kept[2];
  auto& k = kept[target.kind == Target::Kind::host ? 0 : 1];
  if (k.machine.target != nullptr && k.made_for.compute_capability == target.compute_capability &&
      k.made_for.architecture_specific == target.architecture_specific && k.made_for.cpu == target.cpu)
    return k.machine;
  k.machine = target.kind == Target::Kind::host ? create_host(target.cpu) : create_ptx(target);
  k.made_for = target;
  return k.machine;
}

void set_attributes(llvm::Function& f, const Machine& m) {
  f.addFnAttr("target-cpu", m.target->getTargetCPU());
  f.addFnAttr("target-features", m.target->getTargetFeatureString());
  f.addFnAttr("no-trapping-math", "true");
  if (!m.features.avx512) return;
  f.addFnAttr("prefer-vector-width", "512");  // otherwise LLVM may cut explicit vectors in two: 0.4 x
  f.addFnAttr("min-legal-vector-width", "512");
}

std::string text_of(const llvm::Module& m) {
  std::string s;
  llvm::raw_string_ostream out(s);
  m.print(out, nullptr);
  return s;
}

std::string emit(llvm::Module& module, llvm::TargetMachine& target, bool object) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  const auto type = object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (target.addPassesToEmitFile(passes, out, nullptr, type))
    throw LoweringError{"LLVM: this target emits no such file"};
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

void note_error(const llvm::DiagnosticInfo* info, void* text) {
  if (info->getSeverity() != llvm::DS_Error) return;
  llvm::raw_string_ostream out(*static_cast<std::string*>(text));
  llvm::DiagnosticPrinterRawOStream printer(out);
  info->print(printer);
}

}  // namespace

void initialise_llvm() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::install_fatal_error_handler(throw_fatal);
  // Loop strength reduction takes 30-55 % of code generation and gains nothing on our loops; only a global
  // option turns it off.
  const auto& options = llvm::cl::getRegisteredOptions();
  if (const auto o = options.find("disable-lsr"); o != options.end())
    static_cast<llvm::cl::opt<bool>*>(o->second)->setValue(true);
}

std::string generate(const kernel::Kernel& kernel, const Target& target, Format format,
                     const Options& options) {
  const bool host = target.kind == Target::Kind::host;
  if (host ? format == Format::ptx : format == Format::object)
    throw LoweringError{"kernel '" + kernel.name + "': " + (host ? "PTX for the host" : "an object for PTX") +
                        " was asked for"};
  auto& machine = machine_of(target);
  std::string problem;
  llvm::LLVMContext context;
  context.setDiagnosticHandlerCallBack(note_error, &problem);
  llvm::Module module("strata", context);
  module.setTargetTriple(machine.target->getTargetTriple().str());
  module.setDataLayout(machine.target->createDataLayout());
  if (host)
    lower_for_host(kernel, module, machine.features);
  else
    lower_for_ptx(kernel, module);
  for (auto& f : module)
    if (!f.isDeclaration()) set_attributes(f, machine);
  if (llvm::raw_string_ostream out(problem); llvm::verifyModule(module, &out))
    throw LoweringError{"kernel '" + kernel.name + "' gave invalid LLVM IR: " + problem};
  if (format == Format::llvm_ir && options.dump_llvm_before_passes) return text_of(module);
  run_passes(module, *machine.target, !host);
  if (format == Format::llvm_ir) return text_of(module);
  auto code = emit(module, *machine.target, format == Format::object);
  if (!problem.empty()) throw LoweringError{"kernel '" + kernel.name + "': " + problem};
  return code;
}

}  // namespace strata::codegen

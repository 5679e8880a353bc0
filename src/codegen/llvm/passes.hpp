/// The passes over LLVM IR.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace strata::codegen {

/// Few: kernels arrive with explicit vectors and unrolled loops. Local arrays become registers (SROA),
/// repeated address arithmetic goes (EarlyCSE), loops give up what does not change (LICM). `scalarise`: cut
/// vector arithmetic into lanes, loads and stores stay whole.
void run_passes(llvm::Module& module, llvm::TargetMachine& target, bool scalarise);

}  // namespace strata::codegen

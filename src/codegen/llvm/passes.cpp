#include "codegen/llvm/passes.hpp"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/BranchProbabilityInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/MemorySSA.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace strata::codegen {
namespace {

/// What PassBuilder would register, without linking every pass it knows.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;

  explicit Analyses(llvm::TargetMachine& target) {
    const auto instrumentation = [] { return llvm::PassInstrumentationAnalysis(); };
    loops.registerPass(instrumentation);
    functions.registerPass(instrumentation);
    modules.registerPass(instrumentation);
    modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
    modules.registerPass([&] { return llvm::FunctionAnalysisManagerModuleProxy(functions); });
    functions.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
    functions.registerPass([] { return llvm::BasicAA(); });
    functions.registerPass([] {
      llvm::AAManager aa;
      aa.registerFunctionAnalysis<llvm::BasicAA>();
      return aa;
    });
    functions.registerPass([&] { return target.getTargetIRAnalysis(); });
    functions.registerPass([] {
      llvm::TargetLibraryInfoImpl none;
      none.disableAllFunctions();
      return llvm::TargetLibraryAnalysis(none);
    });
    functions.registerPass([] { return llvm::AssumptionAnalysis(); });
    functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::LoopAnalysis(); });
    functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
    functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    functions.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
    functions.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
    functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
  }
};

}  // namespace

void run_passes(llvm::Module& module, llvm::TargetMachine& target, bool scalarise) {
  Analyses analyses(target);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::InstCombinePass());
  if (scalarise) {
    llvm::ScalarizerPassOptions options;
    options.ScalarizeLoadStore = false;
    passes.addPass(llvm::ScalarizerPass(options));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
  }
  for (auto& f : module)
    if (!f.isDeclaration()) passes.run(f, analyses.functions);
}

}  // namespace strata::codegen

// The compiler as a whole: when it loads, what it refuses, how its code looks, threads.
#include "codegen/compiler.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <thread>

#include "codegen/harness.hpp"
#include "codegen/object_loader.hpp"
#include "strata/error.hpp"

namespace strata::codegen {
namespace {

using kernel::Builder;
using kernel::Scalar;
using kernel::Val;
using kernel::Var;

kernel::Kernel axpy(int lanes = 16) {
  Builder b("axpy");
  auto x = b.read("x", Scalar::f32);
  auto y = b.read_write("y", Scalar::f32);
  const Val a = b.scalar("a", Scalar::f32);
  kernel::for_(0, x.length(), lanes, [&](Val i) {
    y.store(i, kernel::fma(kernel::splat(a, lanes), x.load(i, lanes), y.load(i, lanes)));
  });
  return b.finish();
}

/// `rows` x 64 of C from a packed panel of B, accumulators in a local array.
kernel::Kernel micro_kernel(int rows) {
  constexpr int lanes = 16, columns = 64, depth = 256;
  Builder b("micro");
  auto a = b.read("a", Scalar::f32), panel = b.read("b", Scalar::f32);
  auto c = b.write("c", Scalar::f32);
  const Val row = convert(kernel::cube_x(), Scalar::i64) * rows;
  auto sums = kernel::local_array(Scalar::f32, rows * columns);
  for (int n = 0; n < rows * columns; n += lanes) sums.store(n, kernel::constant({Scalar::f32, lanes}, 0.0));
  kernel::for_(0, depth, 1, [&](Val k) {
    std::vector<Val> right;
    for (int j = 0; j < columns; j += lanes) right.push_back(panel.load(k * columns + j, lanes));
    for (int i = 0; i < rows; ++i) {
      const Val left = kernel::splat(a.load((row + i) * depth + k), lanes);
      for (int j = 0; j < columns; j += lanes) {
        const int at = i * columns + j;
        sums.store(at, kernel::fma(left, right[static_cast<std::size_t>(j / lanes)], sums.load(at, lanes)));
      }
    }
  });
  for (int n = 0; n < rows * columns; n += lanes) c.store(row * columns + n, sums.load(n, lanes));
  return b.finish();
}

/// In a child process: this one's state does not matter to it. True when `f` returned true there.
template <class F>
bool in_fresh_process(F&& f) {
  const pid_t child = fork();
  if (child == 0) _exit(f() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool missing_module_is_named() {
  setenv("STRATA_CODEGEN_MODULE", "/nowhere/libstrata_codegen.so", 1);
  try {
    compile(axpy(), {}, Format::object);
  } catch (const CompileError&) {
    return false;
  } catch (const RuntimeError& e) {
    return std::string(e.what()).find("/nowhere/libstrata_codegen.so") != std::string::npos &&
           !module_loaded();
  }
  return false;
}

/// What can only be seen before any test compiled something.
struct AtStart : ::testing::Environment {
  void SetUp() override {
    loaded = module_loaded();
    loaded_by_identity = host_identity().empty() || host_vector_bytes() == 0 || module_loaded();
    missing_is_named = in_fresh_process(missing_module_is_named);
  }
  bool loaded = true, loaded_by_identity = true, missing_is_named = false;
};
const AtStart& at_start() {
  static auto* environment = new AtStart;  // gtest owns it
  static const auto* added = ::testing::AddGlobalTestEnvironment(environment);
  (void)added;
  return *environment;
}
[[maybe_unused]] const AtStart& registered = at_start();

TEST(Module, IsLoadedByTheFirstCompilationOnly) {
  EXPECT_FALSE(at_start().loaded);
  EXPECT_FALSE(at_start().loaded_by_identity);
  compile(axpy(), {}, Format::object);
  EXPECT_TRUE(module_loaded());
}

TEST(Module, ThatIsMissingIsARuntimeErrorNamingThePlace) { EXPECT_TRUE(at_start().missing_is_named); }

TEST(Compiler, IdentityNamesLlvmTheGeneratorAndTheCpu) {
  const std::string identity(host_identity());
  EXPECT_EQ(identity.find("llvm 19."), 0U) << identity;
  const auto generator = identity.find(" codegen "), cpu = identity.find(" cpu ");
  ASSERT_NE(cpu, std::string::npos) << identity;
  EXPECT_EQ(cpu - generator, std::string(" codegen ").size() + 16) << "a hash of 16 digits: " << identity;
  EXPECT_EQ(identity, host_identity());
}

TEST(Compiler, SameKernelGivesTheSameBytes) {
  EXPECT_EQ(compile(axpy(), {}, Format::object).code, compile(axpy(), {}, Format::object).code);
}

TEST(Compiler, MalformedKernelsAreCompileErrorsNamingTheKernel) {
  auto k = axpy();
  k.body.instructions.back().operands[0] = 1u << 20;
  try {
    compile(k, {}, Format::object);
    FAIL() << "compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(std::string(e.what()).find("axpy"), std::string::npos) << e.what();
  }
}

TEST(Compiler, AnUnrolledLoopNeedsConstantBounds) {
  Builder b("unroll_runtime");
  auto x = b.write("x", Scalar::f32);
  kernel::for_(
      0, x.length(), 1, [&](Val i) { x[i] = 1; }, kernel::unroll);
  EXPECT_THROW(compile(b.finish(), {}, Format::object), CompileError);
}

TEST(Compiler, MatrixInstructionsAreRefusedWhereTheTargetHasNone) {
  Builder b("matrix");
  auto x = b.read_write("x", Scalar::f32);
  const Val v = x.load(0, 4);
  x.store(0, kernel::matrix_multiply({16, 8, 8, Scalar::f32, Scalar::f32, Scalar::f32}, v, v, v));
  const auto k = b.finish();
  for (const auto& target : {Target{}, Target{Target::Kind::ptx, 90, true, {}}}) {
    const auto format = target.kind == Target::Kind::host ? Format::object : Format::ptx;
    EXPECT_THROW(compile(k, target, format), CompileError);
  }
}

TEST(Compiler, LimitsAreCompileErrors) {
  {
    Builder b("too_much_stack");
    auto x = b.write("x", Scalar::f32);
    auto big = kernel::local_array(Scalar::f32, std::int64_t{1} << 40);
    big[x.length()] = 1;
    EXPECT_THROW(compile(b.finish(), {}, Format::object), CompileError);
  }
  {
    Builder b("too_much_shared");
    auto x = b.write("x", Scalar::f32);
    auto big = kernel::shared_array(Scalar::f32, 60000);
    big[x.length()] = 1;
    EXPECT_THROW(compile(b.finish(), {Target::Kind::ptx, 80, false, {}}, Format::ptx), CompileError);
  }
  {
    Builder b("no-ptx-name");
    auto x = b.write("x", Scalar::f32);
    x[0] = 1;
    const auto k = b.finish();
    EXPECT_THROW(compile(k, {Target::Kind::ptx, 80, false, {}}, Format::ptx), CompileError);
    EXPECT_NO_THROW(compile(k, {}, Format::object));
  }
  EXPECT_THROW(compile(axpy(), {}, Format::ptx), CompileError);
  EXPECT_THROW(compile(axpy(), {Target::Kind::ptx, 80, false, {}}, Format::object), CompileError);
  EXPECT_THROW(compile(axpy(), {Target::Kind::host, 80, false, "no-such-cpu"}, Format::object), CompileError);
  EXPECT_THROW(compile(axpy(), {Target::Kind::ptx, 123, false, {}}, Format::ptx), CompileError);
}

TEST(Compiler, AFailureLeavesTheNextCompilationUntouched) {
  const auto before = compile(axpy(), {}, Format::object).code;
  EXPECT_THROW(compile(axpy(), {Target::Kind::host, 80, false, "no-such-cpu"}, Format::object), CompileError);
  EXPECT_EQ(compile(axpy(), {}, Format::object).code, before);
}

TEST(Compiler, AccumulatorsStayInRegisters) {
  if (host_vector_bytes() < 64)
    GTEST_SKIP() << "the tile of 24 accumulators needs the 32 registers of AVX-512";
  const auto text = compile(micro_kernel(6), {}, Format::assembly).code;
  int products = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    products += line.find("vfmadd231ps") != std::string::npos ? 1 : 0;
    const bool stack = line.find("(%rsp") != std::string::npos || line.find("(%rbp") != std::string::npos;
    EXPECT_FALSE(stack && line.find("zmm") != std::string::npos) << "spilled: " << line;
  }
  EXPECT_EQ(products, 24);
}

TEST(Compiler, MicroKernelIsRight) {
  test::Arguments a;
  std::vector<float> left(4 * 6 * 256), right(256 * 64);
  for (std::size_t n = 0; n < left.size(); ++n) left[n] = static_cast<float>(n % 17) - 8;
  for (std::size_t n = 0; n < right.size(); ++n) right[n] = static_cast<float>(n % 13) - 6;
  a.add(left).add(right).add_bytes(4 * 6 * 64 * 4);
  a.cubes = {4, 1, 1};
  test::expect_like_interpreter(micro_kernel(6), a);
  test::expect_like_interpreter_on_gpu(micro_kernel(6), a);
  test::expect_assembles(micro_kernel(2));
}

TEST(Compiler, PtxMovesAlignedVectorsIn128Bits) {
  Builder b("copy4", {128, 1, 1});
  auto x = b.read("x", Scalar::f32);
  auto y = b.write("y", Scalar::f32);
  const Val i = kernel::absolute_pos() * 4;
  y.store(i, x.load(i, 4, {.flags = kernel::aligned}) * 2, {.flags = kernel::aligned});
  const auto k = b.finish();
  const auto ptx = compile(k, {Target::Kind::ptx, 80, false, {}}, Format::ptx).code;
  EXPECT_NE(ptx.find("ld.global.nc.v4.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("st.global.v4.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find(".reqntid 128"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("fma"), std::string::npos)
      << "products and sums are contracted only where the kernel says so";
  test::expect_assembles(k);
}

TEST(Compiler, LargeSharedArraysAreGivenTheirPlaceAtTheLaunch) {
  const auto kernel_with = [](std::int64_t elements) {
    Builder b("reversed", {256, 1, 1});
    auto x = b.read("x", Scalar::f32);
    auto y = b.write("y", Scalar::f32);
    auto first = kernel::shared_array(Scalar::f32, 100);
    auto shared = kernel::shared_array(Scalar::f32, elements);
    first[kernel::unit_x() % 100] = x[0];
    shared[kernel::unit_x()] = x[kernel::unit_x()];
    kernel::barrier();
    y[kernel::unit_x()] = shared[255 - kernel::unit_x()].operator kernel::Val() + first[0];
    return b.finish();
  };
  const Target gpu{Target::Kind::ptx, 80, false, {}};
  const auto small = kernel_with(1000), large = kernel_with(20000);
  EXPECT_EQ(large.shared_bytes(), 448 + 80000);  // the second array stands at a multiple of 64
  EXPECT_EQ(compile(small, gpu, Format::ptx).code.find(".extern .shared"), std::string::npos);
  EXPECT_NE(compile(large, gpu, Format::ptx).code.find(".extern .shared"), std::string::npos);
  test::expect_assembles(large);
}

TEST(Compiler, MatrixUnitsAndCopiesPastRegisters) {
  Builder b("fragments", {32, 1, 1});
  auto x = b.read("x", Scalar::bf16);
  auto y = b.write("y", Scalar::f32);
  auto tile = kernel::shared_array(Scalar::bf16, 16 * 16);
  tile.copy_async(kernel::unit_x() * 8, x, kernel::unit_x() * 8, kernel::unit_x() < 30);
  kernel::copy_commit();
  kernel::copy_wait(0);
  kernel::barrier();
  const auto a = tile.load_matrix(kernel::unit_x() * 8, false),
             c = tile.load_matrix(kernel::unit_x() * 8, true);
  const auto zero = kernel::constant(kernel::make_type(Scalar::f32, 4), 0);
  y.store(kernel::unit_x() * 4, kernel::matrix_multiply({16, 8, 16, Scalar::bf16, Scalar::bf16, Scalar::f32},
                                                        a, kernel::shuffle(c, c, {0, 1, 2, 3}), zero));
  const auto k = b.finish();
  const auto ptx = compile(k, {Target::Kind::ptx, 80, false, {}}, Format::ptx).code;
  for (const auto* text :
       {"cp.async.cg.shared.global", "cp.async.wait_group 0", "ldmatrix.sync.aligned.m8n8.x4.trans",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"})
    EXPECT_NE(ptx.find(text), std::string::npos) << text;
  test::expect_assembles(k);
  EXPECT_THROW(compile(k, {}, Format::object), CompileError);  // this CPU has no such units
}

TEST(Compiler, MatrixUnitsRoundSinglesOncePerFragment) {
  Builder b("singles", {32, 1, 1});
  auto y = b.write("y", Scalar::f32);
  auto tile = kernel::shared_array(Scalar::f32, 32 * 4);
  const auto v = tile.load_matrix(kernel::unit_x() * 4, false);
  const auto zero = kernel::constant(kernel::make_type(Scalar::f32, 4), 0);
  const kernel::MatrixShape shape{16, 8, 8, Scalar::f32, Scalar::f32, Scalar::f32};
  const auto left = kernel::shuffle(v, v, {0, 1});
  const auto sum = kernel::matrix_multiply(shape, v, left, zero);
  y.store(kernel::unit_x() * 4, kernel::matrix_multiply(shape, v, left, sum));
  const auto k = b.finish();
  const auto ptx = compile(k, {Target::Kind::ptx, 80, false, {}}, Format::ptx).code;
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (auto at = ptx.find(text); at != std::string::npos; at = ptx.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), 2);
  EXPECT_EQ(count("cvt.rna.tf32.f32"), 4);
  test::expect_assembles(k);
}

TEST(Compiler, TextFormatsShowTheKernel) {
  EXPECT_NE(compile(axpy(), {}, Format::assembly).code.find("axpy:"), std::string::npos);
  const auto before = compile(axpy(), {}, Format::llvm_ir, {.dump_llvm_before_passes = true}).code;
  const auto after = compile(axpy(), {}, Format::llvm_ir).code;
  EXPECT_NE(before.find("define void @axpy"), std::string::npos);
  EXPECT_NE(after.find("define void @axpy"), std::string::npos);
  EXPECT_NE(before, after);
}

TEST(Compiler, ThreadsCompileAtOnce) {
  std::string results[4];
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&result] {
      for (int n = 0; n < 5; ++n) {
        const auto object = compile(micro_kernel(4), {}, Format::object).code;
        const auto ptx =
            compile(axpy(4), {Target::Kind::ptx, 80 + 10 * (n % 2), false, {}}, Format::ptx).code;
        result = object + ptx;
      }
    });
  for (auto& t : threads) t.join();
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_FALSE(results[0].empty());
}

// A program may end while a device's thread compiles for a result that nobody waits for.
TEST(Compiler, AProcessMayEndWhileAThreadCompiles) {
  for (const int microseconds : {0, 1000, 3000, 9000, 20000}) {
    const auto child = fork();
    if (child == 0) {
      std::thread([] {
        try {
          for (int rows = 1;; rows = rows % 6 + 1) compile(micro_kernel(rows), {}, Format::object);
        } catch (const CompileError&) {  // the process is ending
        }
        for (;;) pause();
      }).detach();
      usleep(static_cast<useconds_t>(microseconds));
      std::exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "after " << microseconds << " us: " << status;
  }
}

}  // namespace
}  // namespace strata::codegen

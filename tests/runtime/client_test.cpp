#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cache/store.hpp"
#include "codegen/compiler.hpp"
#include "kernel/builder.hpp"
#include "runtime/cpu/cpu_client.hpp"

namespace strata::runtime {
namespace {

using kernel::Scalar;

/// out[i] = in[i] * scale + offset, one cube per element.
std::shared_ptr<const kernel::Kernel> affine(const char* name, double offset) {
  kernel::Builder b(name);
  const auto in = b.read("in", Scalar::f32);
  const auto out = b.write("out", Scalar::f32);
  const auto scale = b.scalar("scale", Scalar::f32);
  const auto i = kernel::cube_x();
  out[i] = in[i] * scale + offset;
  return std::make_shared<const kernel::Kernel>(b.finish());
}

std::int64_t bits(float v) { return std::bit_cast<std::uint32_t>(v); }

std::shared_ptr<const std::byte> bytes_of(const std::vector<float>& v) {
  const auto copy = std::make_shared<std::vector<float>>(v);
  return {copy, reinterpret_cast<const std::byte*>(copy->data())};
}

struct Fixture {
  cpu::CpuClient& client = *new cpu::CpuClient({.threads = 2});  // clients live as long as the process

  BufferRef upload(const std::vector<float>& v) {
    auto b = client.allocate(v.size() * 4);
    client.write(b, bytes_of(v), v.size() * 4);
    return b;
  }
  std::vector<float> download(const BufferRef& b) {
    const auto data = client.read(b).get();
    const auto* p = reinterpret_cast<const float*>(data.get());
    return {p, p + b->bytes() / 4};
  }
  BufferRef run(const ProgramRef& p, const BufferRef& in, float scale, std::uint32_t n) {
    auto out = client.allocate(in->bytes());
    client.launch({p, {n, 1, 1}, {in, out}, {bits(scale)}});
    return out;
  }
};

TEST(Client, RunsAKernelOverAllCubes) {
  Fixture f;
  std::vector<float> in(5000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  const auto out = f.download(f.run(f.client.program(affine("affine_1", 1)), f.upload(in), 2, 5000));
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 2 * static_cast<float>(i) + 1);
  EXPECT_EQ(f.client.counters().launches, 1u);
}

TEST(Client, EqualKernelsShareOneProgram) {
  Fixture f;
  EXPECT_EQ(f.client.program(affine("affine_same", 1)), f.client.program(affine("affine_same", 1)));
  EXPECT_NE(f.client.program(affine("affine_same", 1)), f.client.program(affine("affine_same", 2)));
}

TEST(Client, AnEmptyGridLaunchesNothing) {
  Fixture f;
  f.run(f.client.program(affine("affine_0", 1)), f.upload({1}), 1, 0);
  f.client.sync();
  EXPECT_EQ(f.client.counters().launches, 0u);
  EXPECT_EQ(f.client.counters().compiles, 0u);
}

TEST(Client, AFailedCompilationTaintsOnlyWhatDependsOnIt) {
  Fixture f;
  cpu::fail_compilation_of("affine_broken");
  const auto good = f.client.program(affine("affine_good", 1)),
             bad = f.client.program(affine("affine_broken", 1));
  const auto in = f.upload({1, 2, 3});
  const auto before = f.run(good, in, 1, 3);
  const auto failed = f.run(bad, in, 1, 3);
  const auto after = f.run(good, failed, 1, 3), unrelated = f.run(good, in, 2, 3);
  cpu::fail_compilation_of("");
  for (const auto& tainted : {failed, after}) {
    try {
      f.download(tainted);
      FAIL() << "no error";
    } catch (const CompileError& e) {
      EXPECT_NE(std::string(e.what()).find("affine_broken"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(f.download(before), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(f.download(unrelated), (std::vector<float>{3, 5, 7}));
}

TEST(Client, AWrongLaunchTaintsItsOutputs) {
  Fixture f;
  const auto in = f.upload({1});
  const auto out = f.client.allocate(4);
  f.client.launch({f.client.program(affine("affine_args", 1)), {1, 1, 1}, {in, out}, {}});
  EXPECT_THROW(f.download(out), LaunchError);
}

TEST(Client, AnAllocationThatCannotBeIsAnOutOfMemoryErrorAtTheReader) {
  Fixture f;
  const auto program = f.client.program(affine("affine_oom", 1));
  const auto in = f.upload({1, 2});
  const auto huge = f.client.allocate(std::size_t{1} << 50);
  f.client.launch({program, {2, 1, 1}, {in, huge}, {bits(1)}});
  const auto after = f.run(program, in, 1, 2);
  EXPECT_THROW(f.client.read(huge).get(), OutOfMemoryError);
  EXPECT_EQ(f.download(after), (std::vector<float>{2, 3}));
}

TEST(Client, MemoryFreedByAnyThreadIsUsedAgain) {
  Fixture f;
  const std::vector<float> data(1 << 20, 1.f);
  for (int i = 0; i < 20; ++i) {
    auto b = f.upload(data);
    f.client.sync();
    std::thread([b = std::move(b)]() mutable { b = nullptr; }).join();
  }
  EXPECT_LE(f.client.counters().bytes_peak, 3u * 5 * (std::size_t{1} << 20));
}

TEST(Client, TwoThreadsLaunchAtOnce) {
  Fixture f;
  const auto program = f.client.program(affine("affine_two", 1));
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      auto b = f.upload({0, 1});
      for (int k = 0; k < 5; ++k) b = f.run(program, b, 1, 2);
      ASSERT_EQ(f.download(b), (std::vector<float>{5, 6}));
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}

TEST(Client, MeasuresAsProbes) {
  Fixture f;
  const auto in = f.upload({1, 2}), out = f.client.allocate(8);
  const auto seconds =
      f.client.time({f.client.program(affine("affine_time", 1)), {2, 1, 1}, {in, out}, {bits(1)}}, 3);
  EXPECT_EQ(seconds.size(), 3u);
  for (double s : seconds) EXPECT_GT(s, 0);
  EXPECT_EQ(f.client.counters().probe_launches, 3u);
  EXPECT_EQ(f.client.counters().launches, 0u);
}

TEST(Client, CompilesSeveralProgramsAtOnce) {
  Fixture f;
  std::vector<ProgramRef> programs;
  for (int i = 0; i < 6; ++i)
    programs.push_back(f.client.program(affine(("many_" + std::to_string(i)).c_str(), i + 0.5)));
  f.client.precompile(programs);
  const auto before = f.client.counters();
  EXPECT_EQ(before.compiles + before.cache_hits, 6u);
  for (int i = 0; i < 6; ++i) {
    const auto out = f.download(f.run(programs[static_cast<std::size_t>(i)], f.upload({1}), 1, 1));
    EXPECT_EQ(out[0], 1.5f + static_cast<float>(i));
  }
  EXPECT_EQ(f.client.counters().compiles, before.compiles);
}

/// Runs this test binary on one test in a new process with its own cache folder.
int in_process(const std::string& test, const std::string& cache) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command = "STRATA_CACHE_DIR='" + cache + "' '" + self +
                       "' --gtest_also_run_disabled_tests --gtest_filter=" + test + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The three below are run by `TheSecondProcessCompilesNothing`, in this order.
TEST(ClientProcess, DISABLED_First) {
  Fixture f;
  EXPECT_FALSE(codegen::module_loaded());
  EXPECT_EQ(f.download(f.run(f.client.program(affine("affine_process", 1)), f.upload({1}), 1, 1))[0], 2);
  EXPECT_EQ(f.client.counters().compiles, 1u);
  EXPECT_TRUE(codegen::module_loaded());
}
TEST(ClientProcess, DISABLED_Second) {
  Fixture f;
  EXPECT_EQ(f.download(f.run(f.client.program(affine("affine_process", 1)), f.upload({1}), 1, 1))[0], 2);
  EXPECT_EQ(f.client.counters().compiles, 0u);
  EXPECT_EQ(f.client.counters().cache_hits, 1u);
  EXPECT_FALSE(codegen::module_loaded());
}
TEST(ClientProcess, DISABLED_Damaged) {
  auto& store = cache::Store::global();
  for (const auto& e : store.list({cache::Kind::kernel, {}})) {
    auto value = *store.get(e.kind, e.scope, e.key);
    value.resize(value.size() / 2);
    store.put(e.kind, e.scope, e.key, value, true);
  }
  Fixture f;
  EXPECT_EQ(f.download(f.run(f.client.program(affine("affine_process", 1)), f.upload({1}), 1, 1))[0], 2);
  EXPECT_EQ(f.client.counters().compiles, 1u);
}

TEST(Client, TheSecondProcessCompilesNothing) {
  const auto folder = std::filesystem::temp_directory_path() / ("strata_client_" + std::to_string(getpid()));
  EXPECT_EQ(in_process("ClientProcess.DISABLED_First", folder), 0);
  EXPECT_EQ(in_process("ClientProcess.DISABLED_Second", folder), 0);
  EXPECT_EQ(in_process("ClientProcess.DISABLED_Damaged", folder), 0);
  EXPECT_EQ(in_process("ClientProcess.DISABLED_Second", folder), 0);  // the damaged entry was replaced
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace strata::runtime

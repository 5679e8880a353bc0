#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cache/store.hpp"
#include "codegen/compiler.hpp"
#include "support.hpp"

namespace strata::runtime {
namespace {

using test::affine, test::Device;

/// A cache folder, and this test binary run on one test in a new process that uses it.
class Processes : public ::testing::Test {
 protected:
  struct Result {
    int status = -1;
    std::string errors;  ///< what it wrote to stderr
  };
  Processes()
      : folder_(std::filesystem::temp_directory_path() / ("strata_runtime_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Processes() override { std::filesystem::remove_all(folder_); }

  Result run(const std::string& test) {
    const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
    const auto errors = (folder_ / "stderr").string();
    const auto command = "STRATA_CACHE_DIR='" + folder_.string() + "/cache' '" + self +
                         "' --gtest_also_run_disabled_tests --gtest_filter=" + test + " >/dev/null 2>'" +
                         errors + "'";
    const int status = std::system(command.c_str());
    std::ifstream file(errors);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {std::istreambuf_iterator<char>(file), {}}};
  }

  const std::filesystem::path folder_;
};

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

float run_once(Device& d) {
  return d.download(d.run(d.client.program(affine("affine_process")), d.upload({1})))[0];
}

TEST(InProcess, DISABLED_CompilesOnce) {
  Device d;
  EXPECT_FALSE(codegen::module_loaded());
  EXPECT_EQ(run_once(d), 2);
  EXPECT_EQ(d.client.counters().compiles, 1u);
  EXPECT_TRUE(codegen::module_loaded());
}
TEST(InProcess, DISABLED_CompilesNothing) {
  Device d;
  EXPECT_EQ(run_once(d), 2);
  EXPECT_EQ(d.client.counters().compiles, 0u);
  EXPECT_EQ(d.client.counters().cache_hits, 1u);
  EXPECT_EQ(d.client.counters().launches, 1u);
  EXPECT_EQ(d.client.counters().probe_launches, 0u);
  EXPECT_FALSE(codegen::module_loaded());
}
TEST(InProcess, DISABLED_MeetsADamagedObject) {
  auto& store = cache::Store::global();
  const auto entries = store.list({cache::Kind::kernel, {}});
  ASSERT_EQ(entries.size(), 1u);
  auto value = *store.get(cache::Kind::kernel, entries[0].scope, entries[0].key);
  value.resize(value.size() / 2);
  store.put(cache::Kind::kernel, entries[0].scope, entries[0].key, value, true);
  Device d;
  EXPECT_EQ(run_once(d), 2);
  EXPECT_EQ(run_once(d), 2);
  EXPECT_EQ(d.client.counters().compiles, 1u);
}

TEST_F(Processes, TheSecondCompilesNothing) {
  EXPECT_EQ(run("InProcess.DISABLED_CompilesOnce").status, 0);
  const auto second = run("InProcess.DISABLED_CompilesNothing");
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.errors, "");
}

TEST_F(Processes, ADamagedObjectIsCompiledAgainWithOneWarning) {
  EXPECT_EQ(run("InProcess.DISABLED_CompilesOnce").status, 0);
  const auto damaged = run("InProcess.DISABLED_MeetsADamagedObject");
  EXPECT_EQ(damaged.status, 0);
  EXPECT_EQ(lines_with(damaged.errors, "cache is damaged"), 1u) << damaged.errors;
  EXPECT_EQ(lines_with(damaged.errors, "\n"), 1u) << damaged.errors;
  EXPECT_EQ(run("InProcess.DISABLED_CompilesNothing").status, 0);  // it was replaced
}

/// Exit status of a forked child that runs `body`.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, TheChildGetsAnErrorAndTheParentGoesOn) {
  Device d;
  const auto program = d.client.program(affine("affine_fork"));
  const auto in = d.upload({1}), out = d.run(program, in);
  EXPECT_EQ(d.download(out)[0], 2);
  const auto fails = [&](const auto& call) {
    return in_child([&] {
      try {
        call();
      } catch (const RuntimeError& e) {
        return std::string(e.what()).find("fork") != std::string::npos ? 0 : 2;
      }
      return 1;
    });
  };
  EXPECT_EQ(fails([&] { d.client.read(out).get(); }), 0);
  EXPECT_EQ(fails([&] { d.client.sync(); }), 0);
  EXPECT_EQ(fails([&] { d.run(program, in); }), 0);
  EXPECT_EQ(fails([&] { d.upload({1}); }), 0);
  EXPECT_EQ(d.download(d.run(program, out))[0], 3);
}

TEST(Fork, AClientThatWasNotUsedBeforeWorksInTheChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer does not follow threads started after a fork";
#endif
  Device d;
  const auto in = d.client.allocate(4);
  EXPECT_EQ(in_child([&] {
              d.client.write(in, test::bytes_of({7}), 4);
              return d.download(in)[0] == 7 ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace strata::runtime

#include "trace/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "trace/thread.hpp"

namespace strata::trace::log {
namespace {

/// What is logged while `work` runs under `spec`; back to the default after.
template <class Work>
std::string logged(const char* spec, Work work) {
  testing::internal::CaptureStderr();
  configure(spec);
  work();
  configure("");
  return testing::internal::GetCapturedStderr();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Log, WritesOnlyWarningsByDefault) {
  const auto text = logged("", [] {
    warn(Topic::cache, "lost {}", "it");
    info(Topic::cache, "told");
    full(Topic::cache, "all");
  });
  EXPECT_EQ(text, "strata warning [cache] lost it\n");
}

TEST(Log, FollowsTheLevelOfEachTopic) {
  const auto text = logged("compile=full,tune=info,runtime=off", [] {
    EXPECT_TRUE(enabled(Topic::compile, Level::full));
    EXPECT_FALSE(enabled(Topic::tune, Level::full));
    full(Topic::compile, "ir {}", 1);
    info(Topic::tune, "choice {}", 2);
    full(Topic::tune, "candidate");
    warn(Topic::runtime, "silenced");
    info(Topic::fusion, "default");
  });
  EXPECT_TRUE(has(text, "main [compile] ir 1\n")) << text;
  EXPECT_TRUE(has(text, "main [tune] choice 2\n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Log, TakesALevelForEveryTopic) {
  for (const char* spec : {"info", "all=info"}) {
    EXPECT_TRUE(has(logged(spec, [] { info(Topic::fusion, "seen"); }), "[fusion] seen")) << spec;
  }
  EXPECT_EQ(logged("off", [] { warn(Topic::cache, "silenced"); }), "");
}

TEST(Log, NamesWhatItDoesNotUnderstandAndGoesOn) {
  const auto text = logged("speling=full,tune=loud,cache=info", [] { info(Topic::cache, "seen"); });
  EXPECT_TRUE(has(text, "'speling=full'")) << text;
  EXPECT_TRUE(has(text, "'tune=loud'")) << text;
  EXPECT_TRUE(has(text, "topics compile, tune, fusion, runtime, cache")) << text;
  EXPECT_TRUE(has(text, "[cache] seen")) << text;
}

TEST(Log, AppendsToAFile) {
  std::string path = testing::TempDir() + "strata-log-XXXXXX";
  close(mkstemp(path.data()));
  const auto spec = "tune=info,file=" + path;
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ(logged(spec.c_str(), [&] { info(Topic::tune, "run {}", run); }), "");
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(has(text, "run 0\n") && has(text, "run 1\n")) << text;
  unlink(path.c_str());
}

TEST(Log, FallsBackToStderrWhenTheFileCannotBeOpened) {
  const auto text = logged("tune=info,file=/proc/nowhere/log", [] { info(Topic::tune, "seen"); });
  EXPECT_TRUE(has(text, "/proc/nowhere/log")) << text;
  EXPECT_TRUE(has(text, "[tune] seen")) << text;
}

TEST(Log, WarnsOnceForEachKey) {
  static int run = 0;  // keys stay given for the whole process
  const auto a = "a" + std::to_string(++run), b = "b" + std::to_string(run);
  const auto text = logged("", [&] {
    for (int i = 0; i < 3; ++i) warn_once(Topic::cache, a, "a{}", i);
    warn_once(Topic::cache, b, "b");
  });
  EXPECT_EQ(text, "strata warning [cache] a0\nstrata warning [cache] b\n");
}

TEST(Log, SuspendSilencesAThreadExceptForWarnings) {
  const auto text = logged("full", [] {
    {
      const Suspend quiet;
      EXPECT_FALSE(enabled(Topic::tune, Level::full));
      full(Topic::tune, "measured");
      info(Topic::tune, "measured");
      warn(Topic::tune, "a fault");
      std::thread([] { info(Topic::tune, "other thread"); }).join();
    }
    info(Topic::tune, "after");
  });
  EXPECT_FALSE(has(text, "measured")) << text;
  EXPECT_TRUE(has(text, "strata warning [tune] a fault\n")) << text;
  EXPECT_TRUE(has(text, "[tune] other thread\n")) << text;
  EXPECT_TRUE(has(text, "[tune] after\n")) << text;
}

TEST(Log, LinesOfManyThreadsStayWhole) {
  const auto text = logged("runtime=info", [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i) info(Topic::runtime, "{}", std::string(200, 'x'));
      });
    }
    for (auto& thread : threads) thread.join();
  });
  std::size_t lines = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto line = text.substr(at, end - at);
    EXPECT_EQ(line.substr(line.size() - 200), std::string(200, 'x'));
    EXPECT_TRUE(has(line, "[runtime] x"));
    ++lines;
  }
  EXPECT_EQ(lines, 400u);
}

}  // namespace
}  // namespace strata::trace::log

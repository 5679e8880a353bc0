#include "trace/span.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "strata/error.hpp"
#include "strata/trace.hpp"

namespace strata::trace {
namespace {

/// Collects copies of events.
class Collector {
 public:
  Collector() : subscription_(subscribe([this](const Event& event) { events_.push_back(event); })) {}
  std::vector<Event> stop() {
    subscription_.reset();
    return std::move(events_);
  }

 private:
  std::vector<Event> events_;
  Subscription subscription_;
};

std::string text_of_file(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text.push_back(static_cast<char>(c));
  return text;
}

std::string temp_file() {
  std::string path = testing::TempDir() + "strata-trace-XXXXXX";
  close(mkstemp(path.data()));
  return path;
}

TEST(Span, RecordsNothingWithoutSubscribers) {
  Span span("test", "quiet");
  EXPECT_FALSE(span.recording());
  EXPECT_FALSE(active());
}

TEST(Span, CarriesLayerNameThreadTimesAndFields) {
  Collector collector;
  {
    Span span("runtime", "launch");
    EXPECT_TRUE(span.recording());
    span.field("kernel", std::string("matmul")).field("cubes", 64u).field("ms", 1.5).field("literal", "x");
  }
  const auto events = collector.stop();
  ASSERT_EQ(events.size(), 1u);
  const auto& event = events[0];
  EXPECT_EQ(event.layer, "runtime");
  EXPECT_EQ(event.name, "launch");
  EXPECT_EQ(event.thread, "main");
  EXPECT_EQ(event.thread_id, thread_id());
  EXPECT_FALSE(event.instant);
  EXPECT_GT(event.begin_ns, 0);
  EXPECT_GE(event.end_ns, event.begin_ns);
  ASSERT_EQ(event.fields.size(), 4u);
  EXPECT_EQ(event.fields[0].key, "kernel");
  EXPECT_EQ(std::get<std::string>(event.fields[0].value), "matmul");
  EXPECT_EQ(std::get<std::int64_t>(event.fields[1].value), 64);
  EXPECT_EQ(std::get<double>(event.fields[2].value), 1.5);
  EXPECT_EQ(std::get<std::string>(event.fields[3].value), "x");
}

TEST(Span, KnowsItsDepth) {
  Collector collector;
  {
    Span outer("a", "outer");
    {
      Span inner("b", "inner");
      instant("c", "moment");
    }
    Span sibling("b", "sibling");
  }
  std::map<std::string_view, Event> events;
  for (const auto& event : collector.stop()) events[event.name] = event;
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events["outer"].depth, 0);
  EXPECT_EQ(events["inner"].depth, 1);
  EXPECT_EQ(events["moment"].depth, 2);
  EXPECT_EQ(events["sibling"].depth, 1);
  EXPECT_TRUE(events["moment"].instant);
  EXPECT_LE(events["outer"].begin_ns, events["inner"].begin_ns);
  EXPECT_GE(events["outer"].end_ns, events["inner"].end_ns);
}

TEST(Span, NamesThreadsAndCountsDepthForEach) {
  Collector collector;
  {
    Span outer("a", "outer");
    std::thread([] {
      set_thread_name("DSU-a device with a long name");
      std::array<char, 16> short_name{};
      pthread_getname_np(pthread_self(), short_name.data(), short_name.size());
      EXPECT_STREQ(short_name.data(), "DSU-a device wi");
      Span span("b", "named");
    }).join();
    std::thread([] { Span span("b", "unnamed"); }).join();
  }
  const auto events = collector.stop();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].thread, "DSU-a device with a long name");
  EXPECT_EQ(events[0].depth, 0);
  EXPECT_EQ(events[1].thread, "thread-" + std::to_string(events[1].thread_id));
  EXPECT_EQ(thread_name(), "main");
}

TEST(Span, SuspendSilencesOneThread) {
  Collector collector;
  {
    const Suspend quiet;
    EXPECT_FALSE(active());
    Span span("a", "suspended");
    instant("a", "suspended");
    std::thread([] { Span other("a", "other thread"); }).join();
  }
  { Span span("a", "after"); }
  const auto events = collector.stop();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].name, "other thread");
  EXPECT_EQ(events[1].name, "after");
  EXPECT_EQ(events[1].depth, 0);
}

TEST(Subscription, EveryEventThatEndedBeforeItsEndIsDelivered) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> emitters;
  std::array<std::atomic<int>, 3> ended{};
  for (std::size_t t = 0; t < ended.size(); ++t) {
    emitters.emplace_back([&, t] {
      while (!stop) {
        { Span span("test", "work"); }
        ++ended[t];
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> delivered{0};
    auto subscription = subscribe([&](const Event&) { ++delivered; });
    { Span first("test", "first"); }  // from here on emitters see the subscription
    std::array<int, 3> before{}, after{};
    for (std::size_t t = 0; t < ended.size(); ++t) before[t] = ended[t];
    std::this_thread::yield();
    for (std::size_t t = 0; t < ended.size(); ++t) after[t] = ended[t];
    subscription.reset();
    int expected = 1;
    // A span that began before the subscription, one a thread, may have gone unseen.
    for (std::size_t t = 0; t < ended.size(); ++t) expected += std::max(0, after[t] - before[t] - 1);
    const int seen = delivered;
    EXPECT_GE(seen, expected);
    { Span late("test", "late"); }
    EXPECT_EQ(delivered, seen) << "called after its end";
  }
  stop = true;
  for (auto& emitter : emitters) emitter.join();
}

TEST(Subscription, ManyComeAndGoWhileOthersEmit) {
  std::atomic<bool> stop{false};
  std::thread emitter([&] {
    while (!stop) Span("test", "work").field("n", 1);
  });
  std::vector<std::thread> subscribers;
  std::atomic<int> heard{0};
  for (int t = 0; t < 3; ++t) {
    subscribers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto subscription = subscribe([&](const Event&) { ++heard; });
        Span("test", "mine").field("i", i);
      }
    });
  }
  for (auto& subscriber : subscribers) subscriber.join();
  stop = true;
  emitter.join();
  EXPECT_GE(heard, 300);
  EXPECT_FALSE(active());
}

TEST(Subscription, MayEndInsideItsOwnCallback) {
  int calls = 0;
  Subscription subscription;
  subscription = subscribe([&](const Event&) {
    ++calls;
    subscription.reset();
  });
  { Span span("test", "one"); }
  { Span span("test", "two"); }
  EXPECT_EQ(calls, 1);
}

TEST(Subscription, TracesNothingOfTheCallbacksOwnWork) {
  int calls = 0;
  const auto subscription = subscribe([&](const Event&) {
    ++calls;
    Span own("test", "inside the callback");
  });
  { Span span("test", "one"); }
  EXPECT_EQ(calls, 1);
}

TEST(Subscription, ACallbackThatThrowsHurtsNobody) {
  Collector collector;
  testing::internal::CaptureStderr();
  {
    const auto subscription = subscribe([](const Event&) { throw std::runtime_error("broken sink"); });
    for (int i = 0; i < 3; ++i) Span span("test", "work");
  }
  const auto text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(collector.stop().size(), 3u);
  EXPECT_NE(text.find("broken sink"), std::string::npos);
  EXPECT_EQ(text.find("broken sink"), text.rfind("broken sink")) << "warned more than once";
  EXPECT_THROW((void)subscribe(nullptr), ArgumentError);
}

TEST(TextSink, PrintsInOrderOfBeginIndentedByDepth) {
  std::FILE* file = std::tmpfile();
  {
    const auto printing = print_to(file);
    Span outer("dispatch", "execute");
    outer.field("op", "matmul");
    { Span inner("runtime", "launch"); }
    instant("fusion", "close");
  }
  const auto text = text_of_file(file);
  std::fclose(file);
  const auto outer = text.find("  dispatch execute"), inner = text.find("    runtime launch"),
             moment = text.find("    fusion close");
  ASSERT_NE(inner, std::string::npos) << text;
  EXPECT_LT(outer, inner) << text;
  EXPECT_LT(inner, moment) << text;
  EXPECT_NE(text.find("op=matmul"), std::string::npos);
  EXPECT_EQ(text.rfind("main ", 0), 0u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
}

TEST(ChromeSink, WritesWhatPerfettoReads) {
  const auto path = temp_file();
  {
    const auto recording = write_chrome_json(path);
    Span outer("cube", "execute");
    outer.field("text", "quote \" backslash \\ tab \t")
        .field("n", -3)
        .field("x", 0.1)
        .field("inf", 1.0 / 0.0);
    std::thread([] {
      set_thread_name("DSD-cpu");
      Span span("runtime", "launch");
    }).join();
    instant("fusion", "close");
  }
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::map<std::string, nlohmann::json> by_name;
  std::map<std::int64_t, std::string> threads;
  for (const auto& event : json.at("traceEvents")) {
    EXPECT_EQ(event.at("pid"), getpid());
    if (event.at("name") == "thread_name") threads[event.at("tid")] = event.at("args").at("name");
    by_name[event.at("name")] = event;
  }
  const auto& outer = by_name.at("cube.execute");
  EXPECT_EQ(outer.at("ph"), "X");
  EXPECT_EQ(outer.at("cat"), "cube");
  EXPECT_EQ(outer.at("args").at("text"), "quote \" backslash \\ tab \t");
  EXPECT_EQ(outer.at("args").at("n"), -3);
  EXPECT_EQ(outer.at("args").at("x"), 0.1);
  EXPECT_EQ(outer.at("args").at("inf"), "inf");
  const auto& launch = by_name.at("runtime.launch");
  EXPECT_GE(launch.at("ts").get<double>(), outer.at("ts").get<double>());
  EXPECT_LE(launch.at("dur").get<double>(), outer.at("dur").get<double>());
  EXPECT_EQ(threads.at(outer.at("tid")), "main");
  EXPECT_EQ(threads.at(launch.at("tid")), "DSD-cpu");
  EXPECT_EQ(by_name.at("fusion.close").at("ph"), "i");
  unlink(path.c_str());
}

TEST(ChromeSink, NamesTheFileItCannotCreate) {
  try {
    (void)write_chrome_json("/proc/nowhere/trace.json");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/nowhere/trace.json: No such file"), std::string::npos)
        << error.what();
  }
}

TEST(ChromeSink, AFullDiskWarnsOnceAndEndsTheRecording) {
  const auto path = temp_file();
  unlink(path.c_str());
  std::filesystem::create_symlink("/dev/full", path);
  testing::internal::CaptureStderr();
  {
    const auto recording = write_chrome_json(path);
    for (int i = 0; i < 3000; ++i) Span("test", "work").field("i", i);
  }
  const auto text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(path + " ends early: No space left on device"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  unlink(path.c_str());
}

/// Runs this test program again with a variable set and one filter; its stderr.
std::string rerun(const std::string& variables, const std::string& filter) {
  const auto log = temp_file();
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command = variables + " '" + program +
                       "' --gtest_also_run_disabled_tests --gtest_filter=" + filter + " >/dev/null 2>" + log;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream in(log);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  unlink(log.c_str());
  return text;
}

// What the two tests below run in a process of their own.
TEST(Environment, DISABLED_EmitOneSpan) { Span("test", "from the environment").field("answer", 42); }

TEST(Environment, TextPrintsToStderr) {
  const auto text = rerun("STRATA_TRACE=text", "*EmitOneSpan");
  EXPECT_NE(text.find("test from the environment"), std::string::npos) << text;
  EXPECT_NE(text.find("answer=42"), std::string::npos) << text;
  EXPECT_EQ(rerun("STRATA_TRACE=", "*EmitOneSpan"), "");
}

TEST(Environment, APathRecordsUntilTheProgramExits) {
  const auto path = temp_file();
  EXPECT_EQ(rerun("STRATA_TRACE=" + path, "*EmitOneSpan"), "");
  const auto json = nlohmann::json::parse(std::ifstream(path));
  EXPECT_EQ(json.at("traceEvents").back().at("args").at("answer"), 42);
  unlink(path.c_str());
}

TEST(Environment, AnImpossiblePathWarnsAndTheProgramRunsOn) {
  const auto text = rerun("STRATA_TRACE=/proc/nowhere/t.json", "*EmitOneSpan");
  EXPECT_NE(text.find("/proc/nowhere/t.json"), std::string::npos) << text;
}

TEST(ChromeSink, AForkedChildLeavesTheTraceOfItsParentAlone) {
  const auto path = temp_file();
  {
    auto recording = write_chrome_json(path);
    { Span span("test", "parent"); }
    const pid_t child = fork();
    if (child == 0) {
      { Span span("test", "child"); }
      recording.reset();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  const auto json = nlohmann::json::parse(std::ifstream(path));
  int spans = 0;
  for (const auto& event : json.at("traceEvents")) spans += event.at("ph") == "X";
  EXPECT_EQ(spans, 1);
  unlink(path.c_str());
}

}  // namespace
}  // namespace strata::trace

/// Which launches reach a stream, in which order, when lists of them repeat themselves.
#include <gtest/gtest.h>

#include <random>

#include "runtime/cuda/replay.hpp"
#include "strata/error.hpp"

namespace strata::runtime::cuda {
namespace {

/// A kernel and its one argument.
struct Started {
  std::uintptr_t kernel = 0;
  std::uint64_t argument = 0;
  bool operator==(const Started&) const = default;
};

class Recorder final : public LaunchSink {
 public:
  std::vector<Started> started;
  std::uint64_t one_by_one = 0, updates = 0, alive = 0;
  bool makes_graphs = true, refuses = false;

  void start(const KernelLaunch& l) override {
    if (refuses) throw LaunchError("[launch] refused");
    started.push_back(of(l));
    ++one_by_one;
  }
  std::unique_ptr<Graph> graph(std::span<const KernelLaunch> launches) override {
    if (!makes_graphs) return nullptr;
    return std::make_unique<Recorded>(*this, launches);
  }
  void finish() override {}

 private:
  struct Recorded final : Graph {
    Recorded(Recorder& to, std::span<const KernelLaunch> launches) : recorder(to) {
      for (const auto& l : launches) nodes.push_back(of(l));
      ++recorder.alive;
    }
    ~Recorded() override { --recorder.alive; }
    void update(std::size_t i, const KernelLaunch& l) override {
      EXPECT_EQ(nodes.at(i).kernel, of(l).kernel) << "a node keeps its kernel";
      nodes[i] = of(l);
      ++recorder.updates;
    }
    void start() override {
      if (recorder.refuses) throw LaunchError("[launch] refused");
      recorder.started.insert(recorder.started.end(), nodes.begin(), nodes.end());
    }
    Recorder& recorder;
    std::vector<Started> nodes;
  };
  static Started of(const KernelLaunch& l) {
    return {reinterpret_cast<std::uintptr_t>(l.function), l.arguments.at(0)};
  }
};

KernelLaunch launch_of(const Started& s) {
  KernelLaunch l;
  l.function = reinterpret_cast<Handle>(s.kernel);
  l.cubes = {1, 1, 1};
  l.arguments = {s.argument};
  return l;
}

TEST(Replay, AListThatRepeatsItselfBecomesGraphs) {
  Recorder stream;
  Replay replay(stream);
  std::vector<Started> given;
  for (std::uint64_t step = 0; step < 10; ++step) {
    for (std::uintptr_t kernel = 1; kernel <= 30; ++kernel) {
      given.push_back({kernel, step / 2});  // arguments that change now and then
      replay.launch(launch_of(given.back()), true);
    }
  }
  replay.flush();
  EXPECT_EQ(stream.started, given);
  EXPECT_EQ(stream.alive, 3u);                 // of 12, 12 and 6
  EXPECT_GE(replay.graphs_started(), 3u * 6);  // once three repetitions have been seen
  EXPECT_LE(stream.one_by_one, 4u * 30);
  EXPECT_LE(stream.updates, 30u * 4);
}

TEST(Replay, OneKernelAgainAndAgainIsAList) {
  Recorder stream;
  Replay replay(stream);
  for (std::uint64_t i = 0; i < 100; ++i) replay.launch(launch_of({7, i}), true);
  replay.flush();
  ASSERT_EQ(stream.started.size(), 100u);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(stream.started[i], (Started{7, i}));
  EXPECT_GT(replay.graphs_started(), 8u);
}

TEST(Replay, NothingIsHeldBackWhereNothingFollows) {
  Recorder stream;
  Replay replay(stream);
  for (std::uint64_t i = 0; i < 200; ++i) {
    replay.launch(launch_of({1 + i % 10, i}), false);
    ASSERT_EQ(stream.started.size(), i + 1);
  }
  EXPECT_EQ(replay.graphs_started(), 0u);
}

TEST(Replay, AFlushStartsWhatIsHeld) {
  Recorder stream;
  Replay replay(stream);
  for (std::uint64_t i = 0; i < 105; ++i) replay.launch(launch_of({1 + i % 10, i}), true);
  EXPECT_LT(stream.started.size(), 105u);
  replay.flush();
  EXPECT_EQ(stream.started.size(), 105u);
}

TEST(Replay, WithoutGraphsEverythingStartsOneByOne) {
  Recorder stream;
  stream.makes_graphs = false;
  Replay replay(stream);
  std::vector<Started> given;
  for (std::uint64_t i = 0; i < 300; ++i) {
    given.push_back({1 + i % 20, i});
    replay.launch(launch_of(given.back()), true);
  }
  replay.flush();
  EXPECT_EQ(stream.started, given);
}

TEST(Replay, AStreamThatRefusesLaunchesThrowsAndIsUsedAgain) {
  for (std::uint64_t at = 40; at < 75; ++at) {  // in every place of a list, and at the ends of its parts
    Recorder stream;
    Replay replay(stream);
    const auto launch = [&](std::uint64_t i) { replay.launch(launch_of({1 + i % 15, i}), true); };
    for (std::uint64_t i = 0; i < at; ++i) launch(i);
    stream.refuses = true;
    EXPECT_THROW(
        {
          for (std::uint64_t i = at; i < at + 15; ++i) launch(i);
          replay.flush();
        },
        LaunchError);
    stream.refuses = false;
    try {
      replay.flush();
    } catch (const LaunchError&) {
      ADD_FAILURE() << "refused only before";
    }
    stream.started.clear();
    for (std::uint64_t i = 0; i < 200; ++i) launch(i);
    replay.flush();
    ASSERT_GE(stream.started.size(), 200u);
    for (std::uint64_t i = 0; i < 200; ++i)
      ASSERT_EQ(stream.started[stream.started.size() - 200 + i], (Started{1 + i % 15, i})) << at;
  }
}

/// Loops of random lists that begin, break off and change, with flushes and pauses between.
TEST(Replay, RandomProgramsKeepOrderAndArguments) {
  std::uint64_t graphs = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    Recorder stream;
    Replay replay(stream);
    std::vector<Started> given;
    for (int loop = 0; loop < 6; ++loop) {
      std::vector<std::uintptr_t> list(1 + below(below(4) ? 40 : 300));
      for (auto& kernel : list) kernel = 1 + below(1 + below(30));
      const auto rounds = below(12);
      const bool pauses = below(2);
      for (std::uint64_t round = 0; round < rounds; ++round) {
        for (const auto kernel : list) {
          if (below(400) == 0) break;
          given.push_back({kernel, below(3)});
          replay.launch(launch_of(given.back()), !pauses || below(8));
          if (below(100) == 0) {
            replay.flush();
            ASSERT_EQ(stream.started.size(), given.size());
          }
        }
      }
    }
    replay.flush();
    ASSERT_EQ(stream.started, given) << "seed " << seed;
    graphs += replay.graphs_started();
  }
  EXPECT_GT(graphs, 1000u);
}

}  // namespace
}  // namespace strata::runtime::cuda

#include <thread>

#include "support.hpp"

namespace strata::runtime {
namespace {

using test::affine, test::bits, test::Device;
using Floats = std::vector<float>;

TEST(ClientErrors, AFailedCompilationTaintsOnlyWhatDependsOnIt) {
  Device d;
  const auto good = d.client.program(affine("affine_good")), bad = d.client.program(affine("affine_broken"));
  d.client.faults().fail_next_compile("affine_broken");
  const auto in = d.upload({1, 2, 3});
  const auto before = d.run(good, in), failed = d.run(bad, in);
  const auto after = d.run(good, failed), later = d.run(good, after), unrelated = d.run(good, in, 2);
  const auto message = d.error_of<CompileError>(failed);
  EXPECT_NE(message.find("affine_broken"), std::string::npos) << message;
  EXPECT_EQ(d.error_of<CompileError>(after), message);
  EXPECT_EQ(d.error_of<CompileError>(later), message);
  EXPECT_EQ(d.error_of<CompileError>(d.run(bad, in)), message);  // a program stays broken
  EXPECT_EQ(d.download(before), (Floats{2, 3, 4}));
  EXPECT_EQ(d.download(unrelated), (Floats{3, 5, 7}));
  EXPECT_EQ(d.download(in), (Floats{1, 2, 3}));
  d.client.sync();
}

TEST(ClientErrors, AMalformedKernelIsACompileErrorOfItsReaders) {
  Device d;
  auto kernel = *affine("malformed");
  kernel.body.instructions.back().operands.assign(1, 12345);
  const auto program = d.client.program(std::make_shared<const kernel::Kernel>(std::move(kernel)));
  const auto message = d.error_of<CompileError>(d.run(program, d.upload({1})));
  EXPECT_NE(message.find("malformed"), std::string::npos) << message;
}

TEST(ClientErrors, AFailedLaunchTaintsItsOutputsOnce) {
  Device d;
  const auto program = d.client.program(affine("affine_unlucky"));
  const auto in = d.upload({1});
  d.client.faults().fail_next_launch("affine_unlucky");
  const auto failed = d.run(program, in), fine = d.run(program, in);
  EXPECT_NE(d.error_of<LaunchError>(failed).find("affine_unlucky"), std::string::npos);
  EXPECT_EQ(d.download(fine), Floats{2});
}

TEST(ClientErrors, AnOutputKeepsItsFirstError) {
  Device d;
  const auto a = d.client.program(affine("affine_a")), b = d.client.program(affine("affine_b"));
  const auto in = d.upload({1}), out = d.client.allocate(4);
  d.client.faults().fail_next_launch("affine_a");
  d.client.launch({a, {1, 1, 1}, {in, out}, {bits(1)}});
  d.client.launch({b, {1, 1, 1}, {in, out}, {bits(1)}});
  d.client.sync();
  d.client.faults().fail_next_launch("affine_b");
  const auto other = d.run(b, in);
  d.client.launch({b, {1, 1, 1}, {other, out}, {bits(1)}});
  EXPECT_NE(d.error_of<LaunchError>(out).find("affine_a"), std::string::npos);
  EXPECT_NE(d.error_of<LaunchError>(other).find("affine_b"), std::string::npos);
}

TEST(ClientErrors, AWrongLaunchTaintsItsOutputs) {
  Device d;
  const auto program = d.client.program(affine("affine_args"));
  const auto in = d.upload({1}), few_scalars = d.client.allocate(4), too_many = d.client.allocate(4);
  d.client.launch({program, {1, 1, 1}, {in, few_scalars}, {}});
  d.client.launch({program, {1, 1, 1}, {in, too_many, too_many}, {bits(1)}});
  EXPECT_NE(d.error_of<LaunchError>(few_scalars).find("affine_args"), std::string::npos);
  EXPECT_NE(d.error_of<LaunchError>(too_many).find("affine_args"), std::string::npos);
}

TEST(ClientErrors, AGridBeyondCountingIsRefused) {
  Device d;
  const auto in = d.upload({1}), out = d.client.allocate(4);
  const std::uint32_t many = ~0u;
  d.client.launch({d.client.program(affine("affine_grid")), {many, many, many}, {in, out}, {bits(1)}});
  EXPECT_NE(d.error_of<LaunchError>(out).find("4294967295"), std::string::npos);
}

TEST(ClientErrors, AnAllocationThatCannotBeIsAnOutOfMemoryErrorAtTheReader) {
  Device d;
  const auto program = d.client.program(affine("affine_oom"));
  const auto in = d.upload({1, 2}), huge = d.client.allocate(std::size_t{1} << 50);
  d.client.launch({program, {2, 1, 1}, {in, huge}, {bits(1)}});
  const auto next = d.client.allocate(8);
  d.client.launch({program, {2, 1, 1}, {huge, next}, {bits(1)}});
  const auto after = d.run(program, in);
  for (const auto& b : {huge, next}) {
    const auto message = d.error_of<OutOfMemoryError>(b);
    EXPECT_NE(message.find("1125899906842624"), std::string::npos) << message;
    EXPECT_NE(message.find("cpu"), std::string::npos) << message;
  }
  EXPECT_EQ(d.download(after), (Floats{2, 3}));
}

TEST(ClientErrors, AFailedUploadTaintsItsBuffer) {
  Device d;
  d.client.faults().fail_next_allocation(12);
  const auto lost = d.upload({1, 2, 3}), fine = d.upload({4, 5, 6});
  EXPECT_FALSE(d.error_of<OutOfMemoryError>(lost).empty());
  EXPECT_EQ(d.download(fine), (Floats{4, 5, 6}));
}

TEST(ClientErrors, MemoryThatNobodyUsesIsGivenBackBeforeGivingUp) {
  Device d({.threads = 1, .memory_limit = std::size_t{8} << 20});
  auto a = d.upload(Floats((5 << 20) / 4, 1.f));
  d.client.sync();
  a = nullptr;
  EXPECT_EQ(d.download(d.upload(Floats((3 << 20) / 4, 2.f)))[0], 2.f);
}

TEST(ClientErrors, MeasuringThrowsWhatFailed) {
  Device d;
  const auto program = d.client.program(affine("affine_untimed"));
  const auto in = d.upload({1}), out = d.client.allocate(4);
  const Launch launch{program, {1, 1, 1}, {in, out}, {bits(1)}};
  d.client.faults().fail_next_compile("affine_untimed");
  EXPECT_THROW(d.client.time(launch, 2), CompileError);
  EXPECT_EQ(d.client.counters().probe_launches, 0u);
  const auto fine = d.client.program(affine("affine_timed"));
  EXPECT_EQ(d.client.time({fine, {1, 1, 1}, {in, out}, {bits(1)}}, 2).size(), 2u);
}

TEST(ClientErrors, OneErrorMayBeReadByManyThreads) {
  Device d;
  d.client.faults().fail_next_compile("affine_shared");
  const auto failed = d.run(d.client.program(affine("affine_shared")), d.upload({1}));
  std::vector<std::thread> readers;
  std::atomic<int> caught{0};
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        try {
          d.client.read(failed).get();
        } catch (const CompileError&) {
          ++caught;
        }
      }
    });
  }
  for (auto& t : readers) t.join();
  EXPECT_EQ(caught, 400);
}

}  // namespace
}  // namespace strata::runtime

#include "strata/error.hpp"
#include "support.hpp"

namespace strata::runtime {
namespace {

using test::bits, test::Device;
using Floats = std::vector<float>;

/// out[i] = in[i]; reports the first i with in[i] < 0.
std::shared_ptr<const kernel::Kernel> checked_copy() {
  kernel::Builder b("checked_copy");
  const auto in = b.read("in", kernel::Scalar::f32);
  const auto out = b.write("out", kernel::Scalar::f32);
  const auto check = b.read_write("check", kernel::Scalar::i64);
  const auto i = kernel::convert(kernel::cube_x(), kernel::Scalar::i64);
  const kernel::Val v = in[i];
  kernel::if_(v < 0.0, [&] { check.atomic_min(0, i); });
  out[i] = v;
  return std::make_shared<const kernel::Kernel>(b.finish());
}

class Checks : public ::testing::Test {
 protected:
  BufferRef copy(const BufferRef& in) {
    auto out = device.client.allocate(in->bytes());
    const auto make_error = [in](std::int64_t found, const Download& download) {
      const auto data = download(in);
      const auto value = reinterpret_cast<const float*>(data.get())[found];
      return std::make_exception_ptr(
          IndexError("element " + std::to_string(found) + " is " + std::to_string(value)));
    };
    const BufferRef buffers[] = {in, out};
    device.client.launch(program, {static_cast<std::uint32_t>(in->bytes() / 4), 1, 1}, buffers, {},
                         std::make_shared<Check>(make_error));
    return out;
  }
  BufferRef plus_one(const BufferRef& in) { return device.run(affine, in); }

  Device device;
  const ProgramRef program = device.client.program(checked_copy());
  const ProgramRef affine = device.client.program(test::affine("affine_checked"));
};

TEST_F(Checks, APassedOneLeavesNoTrace) {
  const auto copied = copy(device.upload({1, 2, 3}));
  EXPECT_EQ(device.download(plus_one(copied)), (Floats{2, 3, 4}));
  EXPECT_EQ(device.download(copied), (Floats{1, 2, 3}));
}

TEST_F(Checks, AFailedOneReachesAllThatWasComputedFromIt) {
  const auto in = device.upload({1, -2, -3}), bad = copy(in), later = plus_one(plus_one(bad));
  const auto unrelated = plus_one(in);
  EXPECT_EQ(device.error_of<IndexError>(later), "element 1 is -2.000000");
  EXPECT_EQ(device.error_of<IndexError>(bad), "element 1 is -2.000000");
  EXPECT_EQ(device.error_of<IndexError>(plus_one(bad)), "element 1 is -2.000000");
  EXPECT_EQ(device.download(unrelated), (Floats{2, -1, -2}));
  EXPECT_EQ(device.download(copy(device.upload({5}))), Floats{5});
}

TEST_F(Checks, OfTwoFailuresTheEarlierIsReported) {
  const auto first = copy(device.upload({-1})), second = copy(device.upload({-2}));
  const auto both = device.client.allocate(4);
  for (const auto& in : {second, first}) {
    device.client.launch({affine, {1, 1, 1}, {in, both}, {bits(1)}});
  }
  EXPECT_EQ(device.error_of<IndexError>(both), "element 0 is -1.000000");
  EXPECT_EQ(device.error_of<IndexError>(second), "element 0 is -2.000000");
}

TEST_F(Checks, TheHostIsNotCalledWithDoubtfulData) {
  const auto bad = copy(device.upload({-1})), good = copy(device.upload({1}));
  int calls = 0;
  const auto call = [&](const BufferRef& in) {
    const auto out = device.client.allocate(4);
    device.client.host_call({"double", {in}, {out}, [&](const auto& inputs, const auto& outputs) {
                               ++calls;
                               const auto* from = reinterpret_cast<const float*>(inputs[0]);
                               *reinterpret_cast<float*>(outputs[0]) = 2 * *from;
                             }});
    return out;
  };
  EXPECT_EQ(device.error_of<IndexError>(call(bad)), "element 0 is -1.000000");
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(device.download(call(good)), Floats{2});
}

TEST_F(Checks, ACheckThatIsNotReadDoesNoHarm) {
  for (int i = 0; i < 20000; ++i) copy(device.upload({-1}));
  device.client.sync();
  EXPECT_EQ(device.download(copy(device.upload({3}))), Floats{3});
}

TEST_F(Checks, DoubtsOfManyLaunchesAreDecidedBeforeTheyPileUp) {
  const auto accumulate = device.client.program(test::affine("affine_many"));
  const auto last = device.client.allocate(4);
  for (int i = 0; i < 1000; ++i) {
    device.client.launch(
        {accumulate, {1, 1, 1}, {copy(device.upload({i == 900 ? -1.f : 1.f})), last}, {bits(1)}});
  }
  EXPECT_EQ(device.error_of<IndexError>(last), "element 0 is -1.000000");
}

TEST_F(Checks, MeasuringReportsThemToo) {
  const auto bad = copy(device.upload({-1}));
  const auto out = device.client.allocate(4);
  EXPECT_THROW(device.client.time({affine, {1, 1, 1}, {bad, out}, {bits(1)}}, 1), IndexError);
}

}  // namespace
}  // namespace strata::runtime

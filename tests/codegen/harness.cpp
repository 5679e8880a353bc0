#include "codegen/harness.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "codegen/gpu.hpp"
#include "codegen/object_loader.hpp"

namespace strata::codegen::test {
namespace {

kernel::test::Launch launch_of(const kernel::Kernel& kernel, Arguments& arguments) {
  kernel::test::Launch l;
  for (std::size_t n = 0; n < arguments.buffers.size(); ++n) {
    l.buffers.push_back(arguments.buffers[n].data());
    const auto size = kernel::size_of(kernel.memories[n].scalar);
    l.lengths.push_back(static_cast<std::int64_t>(arguments.buffers[n].size() / size));
  }
  l.scalars = arguments.scalars;
  l.cube_count = arguments.cubes;
  return l;
}

bool is_nan(kernel::Scalar s, const unsigned char* p) {
  const auto bits = [&]<class T>(T v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (s) {
    case kernel::Scalar::f64:
      return (bits(std::uint64_t{}) & ~(1ull << 63)) > 0x7ff0000000000000ull;
    case kernel::Scalar::f32:
      return (bits(std::uint32_t{}) & 0x7fffffffu) > 0x7f800000u;
    case kernel::Scalar::f16:
      return (bits(std::uint16_t{}) & 0x7fff) > 0x7c00;
    case kernel::Scalar::bf16:
      return (bits(std::uint16_t{}) & 0x7fff) > 0x7f80;
    default:
      return false;
  }
}

void say_once(const std::string& reason) {
  static std::set<std::string> said;
  if (said.insert(reason).second) std::cout << "[  SKIPPED ] " << reason << "\n";
}

std::string find_ptxas() {
  std::vector<std::string> folders;
  const char* path = std::getenv("PATH");
  for (std::string rest = path == nullptr ? "" : path; !rest.empty();) {
    const auto colon = rest.find(':');
    folders.push_back(rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const auto& f : folders)
    if (access((f + "/ptxas").c_str(), X_OK) == 0) return f + "/ptxas";
  return "";
}

}  // namespace

Arguments run_generated(const kernel::Kernel& kernel, Arguments arguments, const Target& target) {
  const auto object = compile(kernel, target, Format::object);
  const LoadedObject loaded(object.code);
  const auto l = launch_of(kernel, arguments);
  const auto run = loaded.entry(kernel.name);
  const std::int64_t cubes = std::int64_t{l.cube_count[0]} * l.cube_count[1] * l.cube_count[2];
  const std::int64_t middle = (cubes + 1) / 2;  // in two calls, as two threads would
  run(l.buffers.data(), l.lengths.data(), l.scalars.data(), l.cube_count.data(), 0, middle);
  run(l.buffers.data(), l.lengths.data(), l.scalars.data(), l.cube_count.data(), middle, cubes);
  return arguments;
}

Arguments run_interpreted(const kernel::Kernel& kernel, Arguments arguments) {
  const auto launch = launch_of(kernel, arguments);
  kernel::test::interpret(kernel, launch);
  return arguments;
}

void expect_equal(const kernel::Kernel& kernel, const Arguments& expected, const Arguments& actual,
                  const char* where) {
  for (std::size_t b = 0; b < expected.buffers.size(); ++b) {
    const auto s = kernel.memories[b].scalar;
    const auto size = kernel::size_of(s);
    int reported = 0;
    for (std::size_t n = 0; n + size <= expected.buffers[b].size() && reported < 5; n += size) {
      const auto *e = &expected.buffers[b][n], *a = &actual.buffers[b][n];
      if (std::memcmp(e, a, size) == 0 || (is_nan(s, e) && is_nan(s, a))) continue;
      ++reported;
      std::uint64_t want = 0, got = 0;
      std::memcpy(&want, e, size);
      std::memcpy(&got, a, size);
      ADD_FAILURE() << kernel.name << " on " << where << ": element " << n / size << " of '"
                    << kernel.memories[b].name << "' is " << std::hex << got << " instead of " << want;
    }
  }
}

void expect_like_interpreter(const kernel::Kernel& kernel, const Arguments& arguments, const Target& target) {
  expect_equal(kernel, run_interpreted(kernel, arguments), run_generated(kernel, arguments, target),
               "the host");
}

void expect_like_interpreter_on_gpu(const kernel::Kernel& kernel, const Arguments& arguments) {
  if (!gpu_absent().empty()) return say_once(gpu_absent() + ": PTX is not run");
  constexpr std::uint32_t plane_size = 32;
  auto expected = arguments, actual = arguments;
  auto launch = launch_of(kernel, expected);
  launch.plane_size = plane_size;
  kernel::test::interpret(kernel, launch);
  const auto ptx = compile(kernel, {Target::Kind::ptx, 80, false, {}}, Format::ptx).code;
  try {
    run_ptx(kernel, ptx, launch_of(kernel, actual));
  } catch (const std::exception& e) {
    ADD_FAILURE() << kernel.name << ": " << e.what();
  }
  expect_equal(kernel, expected, actual, "the GPU");
}

const std::string& ptxas() {
  static const std::string path = find_ptxas();
  return path;
}

void expect_assembles(const kernel::Kernel& kernel) {
  if (ptxas().empty()) say_once("no ptxas in PATH or /usr/local/cuda/bin: PTX is generated, not assembled");
  for (const auto& target :
       {Target{Target::Kind::ptx, 80, false, {}}, Target{Target::Kind::ptx, 90, true, {}}}) {
    const auto ptx = compile(kernel, target, Format::ptx).code;
    EXPECT_NE(ptx.find(".entry " + kernel.name), std::string::npos);
    EXPECT_EQ(ptx.find(".extern .func"), std::string::npos) << ptx;
    if (ptxas().empty()) continue;
    const auto base = std::filesystem::temp_directory_path() / ("strata_ptx_" + std::to_string(getpid()));
    std::ofstream(base.string() + ".ptx") << ptx;
    const auto architecture = target.compute_capability == 80 ? "sm_80" : "sm_90a";
    const auto command =
        ptxas() + " -arch=" + architecture + " -O0 -o /dev/null " + base.string() + ".ptx 2>&1";
    std::string output(4096, '\0');
    auto* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    output.resize(std::fread(output.data(), 1, output.size(), pipe));
    EXPECT_EQ(pclose(pipe), 0) << kernel.name << " for " << architecture << ": " << output << "\n"
                               << ptx.substr(0, 6000);
    std::filesystem::remove(base.string() + ".ptx");
  }
}

}  // namespace strata::codegen::test

// strata_fuzz: random programs on a device against flex, for as long as one likes. Exit status: 0 all agree,
// 1 something differs, 2 the run broke off, 3 this machine does not have the device.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>

#include "flex/flex.hpp"
#include "fuzz/fuzzer/devices.hpp"
#include "fuzz/fuzzer/session.hpp"
#include "strata/error.hpp"

namespace {

/// A crash says which program it was; then the default handler does what it does.
void name_the_program(int signal) {
  std::fprintf(stderr, "strata_fuzz: signal %d in program --programs 1 --seed %llu\n", signal,
               static_cast<unsigned long long>(strata::fuzz::current_seed().load()));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs random programs on a device and on flex; prints what differs as small C++ tests.");
  strata::fuzz::SessionSettings settings;
  settings.programs = 0;
  app.add_option("--programs", settings.programs,
                 "programs to run (default: 1000, without end given --seconds)");
  app.add_option("--seconds", settings.seconds, "stop after this time");
  app.add_option("--seed", settings.seed, "of the first program; the others count up")->capture_default_str();
  app.add_option(
         "--device", settings.device,
         "cpu, cuda, interpreted (a GPU's kernels without a GPU), or flex for a check of the fuzzer itself")
      ->capture_default_str();
  app.add_option("--mismatches", settings.mismatches, "stop after as many")->capture_default_str();
  app.add_flag("--print", settings.print, "list each program's actions before it runs");
  CLI11_PARSE(app, argc, argv);
  if (settings.programs == 0) settings.programs = settings.seconds > 0 ? ~std::size_t{0} : 1000;
  for (int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT}) std::signal(signal, name_the_program);
  try {
    strata::fuzz::prepare_process();
    strata::fuzz::Rig rig(strata::flex::instance());
    try {
      strata::fuzz::add_device(rig, settings.device);
    } catch (const strata::DeviceError& e) {
      std::fprintf(stderr, "strata_fuzz: no device \"%s\" here: %s\n", settings.device.c_str(), e.what());
      return 3;
    }
    const auto report = strata::fuzz::fuzz(rig, settings);
    std::fputs(report.to_string().c_str(), stdout);
    return report.good() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "strata_fuzz: %s (in program --programs 1 --seed %llu)\n", e.what(),
                 static_cast<unsigned long long>(strata::fuzz::current_seed().load()));
    return 2;
  }
}

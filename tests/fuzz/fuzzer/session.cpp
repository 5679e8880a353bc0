#include "fuzz/fuzzer/session.hpp"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "fuzz/fuzzer/print.hpp"
#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {
namespace {

void count(Report& report, const Program& program) {
  ++report.programs;
  report.threaded += program.bodies.size() > 1;
  for (const auto& body : program.bodies) {
    for (const auto& action : body.actions) {
      if (action.kind != Action::Kind::execute) continue;
      ++report.operations;
      ++report.by_family[family_of(action.op).name];
    }
  }
}

Found minimise(Rig& rig, const Program& program, const Mismatch& mismatch, const SessionSettings& settings) {
  const auto fails = [&](const Program& p) { return rig.check_on(mismatch.stack, p).mismatch.has_value(); };
  const auto evaluate = [&](const Program& p) { return rig.expected(p); };
  Found found{program, shrink(program, fails, evaluate, settings.shrink), mismatch, {}};
  // Threads may not show it again: then the first report stands.
  if (auto again = rig.check_on(mismatch.stack, found.small).mismatch) found.mismatch = *again;
  found.cpp =
      to_cpp(found.small,
             fmt::format("strata_fuzz --programs 1 --device {} --seed {}\n{} against the reference:\n{}",
                         settings.device, program.seed, found.mismatch.stack, found.mismatch.text));
  return found;
}

}  // namespace

std::atomic<std::uint64_t>& current_seed() {
  static std::atomic<std::uint64_t> seed{0};
  return seed;
}

Report fuzz(Rig& rig, const SessionSettings& settings) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Report report;
  for (std::size_t i = 0; i < settings.programs; ++i) {
    if (settings.seconds > 0 && elapsed() > settings.seconds) break;
    current_seed() = settings.seed + i;
    const auto program = generate(settings.seed + i, settings.generator);
    count(report, program);
    if (settings.print) std::fputs(listing(program).c_str(), stdout), std::fflush(stdout);
    const auto verdict = rig.check(program, static_cast<std::size_t>(program.seed));
    report.compared += verdict.compared;
    report.excluded += verdict.excluded;
    report.blind += verdict.blind();
    if (!verdict.mismatch) continue;
    report.found.push_back(minimise(rig, program, *verdict.mismatch, settings));
    if (report.found.size() >= settings.mismatches) break;
  }
  report.seconds = elapsed();
  return report;
}

std::string Report::to_string() const {
  std::string out;
  for (const auto& f : found) out += f.cpp + "\n";
  out += fmt::format("{} programs ({} with threads), {} operations, {:.1f} s, {:.1f} programs/s\n", programs,
                     threaded, operations, seconds, static_cast<double>(programs) / std::max(seconds, 1e-9));
  for (const auto& [family, n] : by_family) out += fmt::format("  {:<10} {}\n", family, n);
  const auto all = compared + excluded;
  out += fmt::format("{} elements compared, {} excluded ({:.1f} %), {} programs without any left\n", compared,
                     excluded, all ? 100.0 * static_cast<double>(excluded) / static_cast<double>(all) : 0,
                     blind);
  if (too_blind()) out += "too many programs have no element left to compare: the error model is too wide\n";
  return out + fmt::format("{} mismatches\n", found.size());
}

}  // namespace strata::fuzz

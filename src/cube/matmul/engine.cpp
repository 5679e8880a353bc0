#include "cube/matmul/engine.hpp"

#include <fmt/format.h>

#include <bit>

#include "cube/matmul/trial.hpp"
#include "generator_revision.hpp"
#include "kernel/hash.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"

namespace strata::cube::matmul {

namespace {

constexpr int settle_after = 3;   ///< calls of a shape before it gets a kernel of its own
constexpr int tuned_at_once = 4;  ///< shapes of a class that are tuned when they first appear
constexpr std::size_t most_plans = 1024;

Machine machine_of(const runtime::DeviceProperties& d) {
  Machine m;
  m.vector_bytes = d.vector_bytes;
  m.threads = std::max(1, d.threads);
  m.vectors = d.max_units <= 1 || d.runtime == "cpu";
  return m;
}

KernelKey key_of(const Problem& p) {
  KernelKeyHasher h("matmul");
  hash_into(h, p, true);
  h.add(p.precision);
  // Offsets are arguments, but whether vectors may begin there is not.
  const auto vector = static_cast<std::int64_t>(16 / size_of(p.dtype));
  for (const auto* w : {&p.a, &p.b}) h.add(w->offset % vector == 0);
  return h.key();
}

KernelKey class_of(const Problem& p) {
  KernelKeyHasher h("matmul_class");
  hash_into(h, p, false);
  h.add(p.precision);
  for (const auto extent : {p.m, p.n, p.k, p.batches()})
    h.add(std::bit_width(static_cast<std::uint64_t>(extent)));
  return h.key();
}

}  // namespace

Engine::Engine(CubeBackend& backend, cache::Store& store, const tune::Settings& settings)
    : backend_(backend),
      machine_(machine_of(backend.client().properties())),
      tuner_(store, settings),
      roofline_(backend.client(), store) {}

Engine& Engine::of(CubeBackend& backend) {
  auto& engine = backend.matmul_engine();
  if (!engine) {
    engine = std::make_shared<Engine>(backend, cache::Store::global(), tune::Settings::from_environment());
  }
  return *engine;
}

Engine::Entry& Engine::entry_of(const Problem& problem) {
  const auto key = key_of(problem);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }
  if (entries_.size() >= most_plans) {
    entries_.erase(order_.back().first);
    order_.pop_back();
  }
  order_.emplace_front(key, Entry{});
  entries_.emplace(key, order_.begin());
  return order_.front().second;
}

Plan Engine::plan(const Problem& problem, const Schedule& schedule) {
  KernelKeyHasher h("matmul_kernel");
  const auto name = schedule.kernel_name();
  h.add(std::string_view(name));
  hash_into(h, problem, schedule.sizes() == Sizes::constant);
  Plan p;
  p.schedule = schedule;
  p.program = backend_.kernels().get(h.key(), [&] { return build(problem, schedule); });
  const auto shape = launch_shape(problem, schedule);
  p.cubes_x = shape.cubes_x;
  p.cubes_y = shape.cubes_y;
  p.workspace = shape.workspace;
  p.sum_cubes = shape.sum_cubes;
  if (shape.sum_cubes > 0) {
    KernelKeyHasher sum("matmul_part_sum");
    sum.add(part_sum_depth(schedule.splits));
    hash_into(sum, problem, false);
    p.sum = backend_.kernels().get(sum.key(), [&] { return build_part_sum(problem, schedule.splits); });
  }
  return p;
}

Plan Engine::general(const Problem& problem) {
  if (!machine_.vectors) return plan(problem, favourite(problem, machine_));
  if (problem.flops() <= tiny_flops) return plan(problem, naive_schedule(machine_));
  const auto lean = lean_schedule(problem, machine_);
  return plan(problem, unsuitable(problem, lean).empty() ? lean : naive_schedule(machine_));
}

bool Engine::settles_at_once(const Problem& problem) {
  if (problem.flops() < tuning_flops) return false;
  if (tuned_in_class_.size() > most_plans) tuned_in_class_.clear();
  return tuned_in_class_[class_of(problem)]++ < tuned_at_once;
}

tune::Problem Engine::tuning_problem(const Problem& problem, std::span<const Schedule> schedules) {
  tune::Problem t;
  t.scope = backend_.client().properties().identity;
  t.key = fmt::format("{} threads {}", to_string(problem), machine_.threads);
  t.revision = STRATA_GENERATOR_REVISION;
  for (const auto& s : schedules) t.candidates.push_back({s.name(), unsuitable(problem, s)});
  return t;
}

Plan Engine::tuned(const Problem& problem, const Operands& operands, tune::TuneRecord* record) {
  const auto schedules = candidates(problem, machine_);
  const auto t = tuning_problem(problem, schedules);
  std::shared_ptr<const tune::TuneRecord> found;
  std::vector<std::size_t> order;
  if (operands.real) {
    MatmulTrial trial(
        backend_, problem, operands, machine_, schedules,
        [&](std::size_t i) { return plan(problem, schedules[i]); }, roofline_);
    const auto choice = tuner_.choose(t, trial);
    found = choice.record;
    order = choice.order;
  } else {
    found = tuner_.known(t);
    for (std::size_t i = 0; found && i < schedules.size(); ++i) {
      if (schedules[i].name() == found->winner) order.push_back(i);
    }
    if (!found) order.push_back(0);
  }
  if (record && found) *record = *found;
  for (const auto i : order) {
    if (const auto why = unsuitable(problem, schedules[i]); !why.empty()) {
      tuner_.reject(t, schedules[i].name(), why);
      continue;
    }
    return plan(problem, schedules[i]);
  }
  return plan(problem, naive_schedule(machine_));
}

std::pair<Plan, tune::TuneRecord> Engine::settle(const Problem& problem, const Operands& operands) {
  tune::TuneRecord record;
  if (problem.flops() >= tuning_flops) {
    auto plan = tuned(problem, operands, &record);
    return {std::move(plan), std::move(record)};
  }
  const auto schedule = favourite(problem, machine_);
  record.key = to_string(problem);
  record.winner = schedule.name();
  for (const auto& s : candidates(problem, machine_)) {
    record.candidates.push_back({s.name(), 0, s == schedule ? "" : "too small to tune: the rule decides"});
  }
  return {plan(problem, schedule), std::move(record)};
}

void Engine::run(const Problem& problem, const Operands& operands) {
  auto& entry = entry_of(problem);
  if (entry.uses < settle_after) ++entry.uses;
  if (!entry.settled) {
    if (entry.uses >= settle_after || settles_at_once(problem)) {
      entry.plan = settle(problem, operands).first;
      entry.settled = operands.real;
    } else if (entry.uses == 1) {
      entry.plan = general(problem);
    }
  }
  launch(entry.plan, problem, operands);
}

void Engine::launch(const Plan& plan, const Problem& problem, const Operands& operands) {
  const auto shape = launch_shape(problem, plan.schedule);
  const std::array<std::uint32_t, 3> cubes{plan.cubes_x, plan.cubes_y, 1};
  if (plan.workspace == 0) return backend_.launch(plan.program, cubes, operands.buffers, shape.scalars);
  auto buffers = operands.buffers;
  const auto work = backend_.allocate({static_cast<DType>(accumulator(problem.dtype)), {plan.workspace}});
  buffers.push_back(work->buffer);
  backend_.launch(plan.program, cubes, buffers, shape.scalars);
  if (plan.sum) backend_.launch(*plan.sum, {plan.sum_cubes, 1, 1}, buffers, shape.scalars);
}

}  // namespace strata::cube::matmul

#include "cube/matmul/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/convert.hpp"
#include "strata/error.hpp"

namespace strata::cube::matmul {

using kernel::Val;

namespace {

constexpr double reference_work = 16e6;  ///< multiply-adds of the naive kernel: some tens of milliseconds
constexpr std::int64_t most_rows = 13, fewest_rows = 3;

double element(const std::byte* data, DType t, std::int64_t i) {
  return visit_dtype(t, [&]<class T>() {
    T v;
    std::memcpy(&v, data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return base::convert<double>(v);
  });
}

DType dtype_of(kernel::Scalar s) { return static_cast<DType>(s); }

/// Half a unit in the last place of 1.
double rounding(DType t) {
  switch (t) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0;
  }
}

/// Of a product of f32 to the sum of |a| |b|, beyond what f32 itself explains; see Precision.
double inexactness(Precision precision, double terms) {
  switch (precision) {
    case Precision::exact:
      return 0;
    case Precision::tf32:
      return 0x1p-10 + (terms + 2) * 0x1p-23;
    case Precision::split:
      return 0x1p-18 + terms * 0x1p-28;
  }
  return 0;
}

/// False when the epilogue has steps: there a small difference of the product may become a large one.
bool is_smooth(const Block& block) {
  for (std::size_t i = 1; i < block.nodes.size(); ++i) {
    const auto& op = block.nodes[i].op;
    if (std::holds_alternative<op::Compare>(op) || std::holds_alternative<op::Where>(op)) return false;
    if (const auto* u = std::get_if<op::Unary>(&op)) {
      using enum op::UnaryKind;
      if (u->kind == sign || u->kind == floor || u->kind == ceil || u->kind == round || u->kind == trunc)
        return false;
    }
    if (const auto* c = std::get_if<op::Cast>(&op); c && !is_float(c->dtype)) return false;
    if (const auto* b = std::get_if<op::Binary>(&op); b && b->kind == op::BinaryKind::rem) return false;
  }
  return true;
}

}  // namespace

RowSample sample_of(const Problem& p) {
  const double row = static_cast<double>(p.n) * static_cast<double>(std::max<std::int64_t>(p.k, 1));
  const auto affordable = static_cast<std::int64_t>(std::min(reference_work / row, 1e6));
  const auto wanted = std::min(p.m, std::clamp(affordable, fewest_rows, most_rows));
  RowSample s;
  s.step = std::max<std::int64_t>(1, (p.m - 1) / std::max<std::int64_t>(1, wanted - 1));
  s.count = wanted;
  s.first = p.m - 1 - s.step * (wanted - 1);
  return s;
}

Problem sampled(const Problem& problem, const RowSample& rows) {
  Problem p = problem;
  const auto last = [&](Walk& w) {
    for (int i = 0; i < p.batch.rank(); ++i) w.offset += (p.batch[i] - 1) * w.batch[i];
    w.batch = {};
  };
  const auto thin = [&](Walk& w) {
    w.offset += rows.first * w.row;
    w.row *= rows.step;
  };
  last(p.b);
  last(p.a);
  thin(p.a);
  for (auto& e : p.extras) {
    last(e.walk);
    thin(e.walk);
  }
  for (auto& w : p.positions) {
    last(w);
    thin(w);
  }
  p.batch = {};
  p.m = rows.count;
  return p;
}

kernel::Kernel build_row_sampler(DType dtype) {
  const auto scalar = kernel::scalar_of(dtype);
  kernel::Builder builder("matmul_sample_rows", {64, 1, 1});
  const auto matrix = builder.read_write("matrix", scalar);
  const auto rows = builder.write("rows", scalar);
  const auto number = [&](const char* name) { return builder.scalar(name, kernel::Scalar::i64); };
  const Val n = number("n"), count = number("count"), first = number("first"), step = number("step"),
            base = number("base");
  const Val i = kernel::absolute_pos();
  kernel::if_(i < n * count, [&] {
    const Val at = base + (first + i / n * step) * n + i % n;
    rows.store(i, matrix.load(at));
    matrix.store(at, kernel::constant_bits(kernel::make_type(scalar), dtype == DType::boolean ? 1 : -1));
  });
  return builder.finish();
}

MatmulTrial::MatmulTrial(CubeBackend& backend, const Problem& problem, const Operands& operands,
                         const Machine& machine, std::span<const Schedule> schedules,
                         std::function<Plan(std::size_t)> plan, tune::Roofline& roofline)
    : backend_(backend),
      client_(backend.client()),
      problem_(problem),
      operands_(operands),
      machine_(machine),
      plan_(std::move(plan)),
      plans_(schedules.size()),
      roofline_(roofline),
      rows_(sample_of(problem)) {
  std::int64_t largest = 0;
  for (const auto& s : schedules) {
    if (unsuitable(problem, s).empty()) largest = std::max(largest, launch_shape(problem, s).workspace);
  }
  if (largest > 0) {
    workspace_ =
        client_.allocate(static_cast<std::size_t>(largest) * kernel::size_of(accumulator(problem.dtype)));
  }
}

const Plan& MatmulTrial::plan_of(std::size_t i) {
  if (!plans_[i]) plans_[i] = plan_(i);
  return *plans_[i];
}

void MatmulTrial::prepare(std::span<const std::size_t> group) {
  std::vector<runtime::ProgramRef> programs;
  for (const auto i : group) {
    try {
      const auto& plan = plan_of(i);
      programs.push_back(plan.program.handle);
      if (plan.sum) programs.push_back(plan.sum->handle);
    } catch (const CompileError&) {  // comes again, and is kept, when the candidate is checked
    }
  }
  client_.precompile(programs);
}

std::vector<runtime::Launch> MatmulTrial::launches_of(std::size_t i) {
  const auto& plan = plan_of(i);
  auto shape = launch_shape(problem_, plan.schedule);
  runtime::Launch l{
      plan.program.handle, {plan.cubes_x, plan.cubes_y, 1}, operands_.buffers, std::move(shape.scalars)};
  if (plan.workspace > 0) l.buffers.push_back(workspace_);
  std::vector<runtime::Launch> launches{l};
  if (plan.sum) {
    l.program = plan.sum->handle;
    l.cubes = {plan.sum_cubes, 1, 1};
    launches.push_back(std::move(l));
  }
  return launches;
}

MatmulTrial::Bytes MatmulTrial::take_rows(std::size_t o) {
  const auto dtype = problem_.output_type(o);
  KernelKeyHasher key("matmul_sample_rows");
  key.add(dtype);
  const auto& program = backend_.kernels().get(key.key(), [&] { return build_row_sampler(dtype); });
  const auto elements = rows_.count * problem_.n;
  const auto rows = client_.allocate(static_cast<std::size_t>(elements) * size_of(dtype));
  const auto outputs = operands_.buffers.size() - problem_.block->outputs.size();
  client_.probe({program.handle,
                 {static_cast<std::uint32_t>((elements + 63) / 64), 1, 1},
                 {operands_.buffers[outputs + o], rows},
                 {problem_.n, rows_.count, rows_.first, rows_.step,
                  (problem_.batches() - 1) * problem_.m * problem_.n}});
  return client_.read(rows).get();
}

void MatmulTrial::make_reference() {
  const auto p = sampled(problem_, rows_);
  const auto schedule = naive_schedule(machine_);
  KernelKeyHasher key("matmul_reference");
  hash_into(key, p, false);
  const auto& program = backend_.kernels().get(key.key(), [&] { return build_reference(p, schedule); });
  const auto shape = launch_shape(p, schedule);
  runtime::Launch l{program.handle, {shape.cubes_x, 1, 1}, operands_.buffers, shape.scalars};
  l.buffers.resize(l.buffers.size() - p.block->outputs.size());
  const auto first = l.buffers.size();
  const auto elements = static_cast<std::size_t>(p.outputs());
  for (std::size_t o = 0; o < p.block->outputs.size(); ++o) {
    l.buffers.push_back(client_.allocate(elements * size_of(p.output_type(o))));
  }
  l.buffers.push_back(client_.allocate(elements * kernel::size_of(accumulator(p.dtype))));
  client_.probe(l);
  for (std::size_t o = 0; o < p.block->outputs.size(); ++o) {
    reference_.push_back(client_.read(l.buffers[first + o]).get());
    take_rows(o);
  }
  scale_ = client_.read(l.buffers.back()).get();
  have_reference_ = true;
}

void MatmulTrial::check(std::size_t i) {
  if (!have_reference_) make_reference();
  for (const auto& l : launches_of(i)) client_.probe(l);
  const Comparison how{problem_.dtype, problem_.k, problem_.precision, problem_.has_epilogue(),
                       is_smooth(*problem_.block)};
  for (std::size_t o = 0; o < problem_.block->outputs.size(); ++o) {
    const auto rows = take_rows(o);
    compare(how, problem_.output_type(o), rows_.count * problem_.n, reference_[o].get(), rows.get(),
            scale_.get());
  }
}

double MatmulTrial::measure(std::size_t i, int launches) {
  double seconds = 0;
  for (const auto& l : launches_of(i)) seconds += std::ranges::min(client_.time(l, launches));
  return seconds;
}

double MatmulTrial::bound() {
  return roofline_.peaks(accumulator(problem_.dtype)).bound(problem_.flops(), problem_.bytes());
}

void MatmulTrial::achieved(double seconds) {
  roofline_.achieved(accumulator(problem_.dtype), problem_.flops(), seconds);
}

void compare(const Comparison& how, DType dtype, std::int64_t count, const std::byte* reference,
             const std::byte* result, const std::byte* scale) {
  const auto sum_type = accumulator(how.product);
  // Sums of k terms in another order differ by about sqrt(k) roundings of the terms' magnitude.
  const double terms = static_cast<double>(std::max<std::int64_t>(how.k, 1));
  const double sums = 16 * rounding(dtype_of(sum_type)) * std::sqrt(terms) +
                      inexactness(how.precision, terms) + (how.epilogue ? 4 * rounding(how.product) : 0);
  const double last = 4 * (rounding(how.product) + rounding(dtype));
  std::int64_t wrong = 0, first = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double r = element(reference, dtype, i), x = element(result, dtype, i);
    if (r == x || (std::isnan(r) && std::isnan(x))) continue;
    const double magnitude = std::abs(element(scale, dtype_of(sum_type), i));
    const double magnified = how.epilogue ? std::abs(r) * (1 + magnitude) : 0;
    const double tolerance = sums * (magnitude + magnified) + last * std::abs(r);
    if (std::abs(r - x) <= tolerance || !std::isfinite(magnitude)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0 || (!how.smooth && wrong <= count / 100)) return;
  throw RuntimeError(fmt::format(
      "[matmul] disagrees with the reference: {} of {} sampled elements, first {}: {} instead of {}", wrong,
      count, first, element(result, dtype, first), element(reference, dtype, first)));
}

}  // namespace strata::cube::matmul

#include "runtime/queued_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/check.hpp"
#include "trace/log.hpp"
#include "trace/span.hpp"

namespace strata::runtime {
namespace {

/// " (kernel add_f32: in f32 x 12, out f32 x 12)": what a reader of an error needs to find the operation.
std::string described(const Launch& launch) {
  const auto& ir = launch.program->ir();
  std::string text = fmt::format(" (kernel {}:", ir.name);
  for (std::size_t i = 0; i < launch.buffers.size() && i < ir.memories.size(); ++i) {
    const auto& memory = ir.memories[i];
    text += fmt::format("{} {} {} x {}", i ? "," : "", memory.name, kernel::name_of(memory.scalar),
                        launch.buffers[i]->bytes() / kernel::size_of(memory.scalar));
  }
  return text + ")";
}

}  // namespace

QueuedClient::QueuedClient(DeviceProperties properties, std::size_t memory_limit,
                           std::unique_ptr<MemorySource> memory)
    : properties_(std::move(properties)),
      pool_(memory_limit, std::move(memory)),
      check_words_(std::make_shared<CheckWords>([this](std::size_t words) { return check_memory(words); })),
      executor_(std::in_place, "DSD-" + properties_.device, Stage::downstream) {}

Counters QueuedClient::counters() const {
  return {host_calls_.load(std::memory_order_relaxed),
          launches_.load(std::memory_order_relaxed),
          probe_launches_.load(std::memory_order_relaxed),
          program_counts_.compiles.load(std::memory_order_relaxed),
          program_counts_.cache_hits.load(std::memory_order_relaxed),
          bytes_in_use_.load(std::memory_order_relaxed),
          bytes_reserved_.load(std::memory_order_relaxed),
          bytes_peak_.load(std::memory_order_relaxed)};
}

void* QueuedClient::bind(Buffer& buffer) {
  if (!data_of(buffer)) {
    collect();
    reserve(buffer);
  }
  return data_of(buffer);
}

void QueuedClient::reserve(Buffer& buffer) {
  trace::Span span("runtime", "reserve");
  span.field("bytes", buffer.bytes());
  const auto fails = faults_.allocation_fails(buffer.bytes());
  const auto block = fails ? MemoryPool::Block() : pool_.allocate(std::max<std::size_t>(buffer.bytes(), 1));
  if (!block.data) {
    throw OutOfMemoryError(fmt::format("[{}] cannot allocate {} bytes: {} of {} bytes are in use",
                                       properties_.device, buffer.bytes(), pool_.in_use(), pool_.limit()));
  }
  data_of(buffer) = block.data;
  taken_of(buffer) = block.size;
  bytes_in_use_.store(pool_.in_use(), std::memory_order_relaxed);
  bytes_reserved_.store(pool_.reserved(), std::memory_order_relaxed);
  bytes_peak_.store(std::max<std::uint64_t>(bytes_peak_.load(std::memory_order_relaxed), pool_.in_use()),
                    std::memory_order_relaxed);
}

void QueuedClient::collect() {
  collect_returned([&](void* data, std::size_t taken) { pool_.free({data, taken}); });
  bytes_in_use_.store(pool_.in_use(), std::memory_order_relaxed);
}

void QueuedClient::write(BufferRef buffer, std::shared_ptr<const std::byte> data, std::size_t bytes) {
  STRATA_CHECK(bytes <= buffer->bytes());
  executor_->post_quiet([this, buffer = std::move(buffer), data = std::move(data), bytes] {
    trace::Span span("runtime", "write");
    span.field("bytes", bytes);
    try {
      upload(*buffer, data.get(), bytes);
    } catch (...) {
      if (!error_of(*buffer)) error_of(*buffer) = std::current_exception();
    }
  });
  if (bytes >= eager_bytes) executor_->wake();  // a copy worth being done while the caller goes on
}

Future<std::shared_ptr<const std::byte>> QueuedClient::read(BufferRef buffer) {
  Promise<std::shared_ptr<const std::byte>> promise;
  auto future = promise.future();
  executor_->post([this, buffer = std::move(buffer), promise = std::move(promise)]() mutable {
    std::shared_ptr<const std::byte> result;
    std::exception_ptr error;
    {
      trace::Span span("runtime", "read");
      span.field("bytes", buffer->bytes());
      try {
        require(*buffer);
        result = download(buffer);
      } catch (...) {
        error = std::current_exception();
      }
    }
    error ? promise.set_exception(std::move(error)) : promise.set_value(std::move(result));
  });
  return future;
}

Future<Lent> QueuedClient::lend(BufferRef buffer) {
  Promise<Lent> promise;
  auto future = promise.future();
  executor_->post([this, buffer = std::move(buffer), promise = std::move(promise)]() mutable {
    try {
      require(*buffer);
      const auto* data = static_cast<const std::byte*>(bind(*buffer));
      wait();
      promise.set_value(Lent{std::move(buffer), data, this});
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  return future;
}

void QueuedClient::copy(BufferRef buffer, Lent source) {
  STRATA_CHECK(buffer->bytes() == source.buffer->bytes() && reaches(*source.owner));
  executor_->post([this, buffer = std::move(buffer), source = std::move(source)] {
    trace::Span span("runtime", "copy");
    span.field("bytes", buffer->bytes());
    try {
      copy_from_peer(*buffer, source);
    } catch (...) {
      refuse(*buffer, std::current_exception());
    }
  });
}

ProgramRef QueuedClient::program(std::shared_ptr<const kernel::Kernel> ir) {
  const auto hash = kernel::hash(*ir);
  const std::lock_guard lock(programs_mutex_);
  if (const auto found = program_index_.find(hash); found != program_index_.end()) {
    programs_.splice(programs_.begin(), programs_, found->second);
    return *found->second;
  }
  if (program_index_.size() == program_capacity) {
    program_index_.erase(programs_.back()->hash());
    programs_.pop_back();
  }
  programs_.push_front(make_program(std::move(ir), hash));
  program_index_.emplace(hash, programs_.begin());
  return programs_.front();
}

void QueuedClient::precompile(std::span<const ProgramRef> programs) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < programs.size();) {
      try {
        static_cast<StoredProgram&>(*programs[i]).prepare(program_counts_, faults_);
      } catch (...) {  // kept by the program: whoever launches it gets the error
      }
    }
  };
  std::vector<std::thread> helpers;
  const auto wanted =
      std::min(programs.size(), static_cast<std::size_t>(std::max(1u, std::thread::hardware_concurrency())));
  try {
    for (std::size_t i = 1; i < wanted; ++i) {
      helpers.push_back(start_thread(fmt::format("DSC-{}-{}", properties_.device, i), work));
    }
  } catch (const RuntimeError& e) {
    trace::log::warn(trace::log::Topic::compile, "compiling on fewer threads: {}", e.what());
  }
  work();
  for (auto& t : helpers) t.join();
}

void QueuedClient::launch(Launch launch) {
  if (launch.cubes[0] == 0 || launch.cubes[1] == 0 || launch.cubes[2] == 0) return;
  executor_->post([this, launch = std::move(launch)] { run(launch); });
}

void QueuedClient::host_call(HostCall call) {
  executor_->post([this, call = std::move(call)] { run(call); });
}

void QueuedClient::run(const HostCall& call) noexcept {
  trace::Span span("runtime", "host_call");
  span.field("name", call.name);
  std::exception_ptr error;
  try {
    for (const auto& buffer : call.inputs) {
      require(*buffer);
      bind(*buffer);
    }
    for (const auto& buffer : call.outputs) {
      before_write(*buffer);
      bind(*buffer);
    }
    execute(call);
    host_calls_.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
    error = std::current_exception();
  }
  for (const auto& buffer : call.outputs) {
    if (error) refuse(*buffer, error);
  }
}

std::shared_ptr<std::int64_t> QueuedClient::check_memory(std::size_t words) {
  return {new std::int64_t[words], [](const std::int64_t* p) { delete[] p; }};
}

void QueuedClient::wait() {
  finish();
  check_words_->waited();
}

void QueuedClient::open(Check& check) {
  if (check_words_->run_short()) wait();
  check.open(check_words_->take(), ++checks_);
}

void QueuedClient::require(Buffer& buffer) {
  if (believed(buffer) && doubts_of(buffer)) {
    wait();
    close_checks(buffer, [this](const BufferRef& b) { return download(b); });
  }
  if (error_of(buffer)) std::rethrow_exception(error_of(buffer));
}

template <class F>
auto QueuedClient::with_bound(const Launch& launch, F&& f) {
  const auto& ir = launch.program->ir();
  const auto buffers = launch.buffers.size(), count = buffers + (launch.check ? 1 : 0);
  if (count != ir.buffer_count() || launch.scalars.size() != ir.scalars.size()) {
    throw LaunchError(fmt::format("[launch] kernel {} takes {} buffers and {} scalars, got {} and {}",
                                  ir.name, ir.buffer_count(), ir.scalars.size(), count,
                                  launch.scalars.size()));
  }
  std::int64_t cubes = 0;
  if (__builtin_mul_overflow(std::uint64_t{launch.cubes[0]} * launch.cubes[1], launch.cubes[2], &cubes)) {
    throw LaunchError(fmt::format("[launch] kernel {}: a grid of {} x {} x {} cubes is too large", ir.name,
                                  launch.cubes[0], launch.cubes[1], launch.cubes[2]));
  }
  static_cast<StoredProgram&>(*launch.program).prepare(program_counts_, faults_);
  constexpr std::size_t usual = 16;
  std::array<void*, usual> few_data;
  std::array<std::int64_t, usual> few_lengths;
  std::vector<void*> many_data(count > usual ? count : 0);
  std::vector<std::int64_t> many_lengths(many_data.size());
  void** const data = count > usual ? many_data.data() : few_data.data();
  std::int64_t* const lengths = count > usual ? many_lengths.data() : few_lengths.data();
  for (std::size_t i = 0; i < buffers; ++i) {
    Buffer& buffer = *launch.buffers[i];
    if (ir.memories[i].written) before_write(buffer);
    data[i] = bind(buffer);
    lengths[i] = static_cast<std::int64_t>(buffer.bytes() / kernel::size_of(ir.memories[i].scalar));
  }
  if (launch.check) {
    open(*launch.check);
    data[buffers] = launch.check->word();
    lengths[buffers] = 1;
  }
  if (faults_.launch_fails(ir.name)) {
    throw LaunchError(fmt::format("[launch] kernel {} failed on purpose", ir.name));
  }
  return f(Bound{launch, {data, count}, {lengths, count}});
}

void QueuedClient::run(const Launch& launch) noexcept {
  const auto& ir = launch.program->ir();
  const auto taint_outputs = [&](const std::exception_ptr& error) {
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      const bool output = i >= ir.memories.size() || ir.memories[i].written;
      if (output) refuse(*launch.buffers[i], error);
    }
  };
  for (const auto& buffer : launch.buffers) {
    if (!believed(*buffer)) return taint_outputs(error_of(*buffer));
  }
  try {
    with_bound(launch, [&](const Bound& bound) { execute(bound); });
    launches_.fetch_add(1, std::memory_order_relaxed);
    if (pass_doubts(launch) <= most_doubts) return;
    for (const auto& buffer : launch.buffers) require(*buffer);
  } catch (const OutOfMemoryError& e) {
    taint_outputs(std::make_exception_ptr(OutOfMemoryError(e.what() + described(launch))));
  } catch (const CompileError& e) {
    taint_outputs(std::make_exception_ptr(CompileError(e.what() + described(launch))));
  } catch (const LaunchError& e) {
    taint_outputs(std::make_exception_ptr(LaunchError(e.what() + described(launch))));
  } catch (...) {
    taint_outputs(std::current_exception());
  }
}

std::vector<double> QueuedClient::time(const Launch& launch, int repetitions, int batch) {
  if (executor_->on_this_thread()) return run_timed(launch, repetitions, batch);
  Promise<std::vector<double>> promise;
  auto future = promise.future();
  executor_->post([this, &launch, repetitions, batch, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(run_timed(launch, repetitions, batch));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  return future.get();
}

std::vector<double> QueuedClient::run_timed(const Launch& launch, int repetitions, int batch) {
  const trace::Suspend quiet;
  for (const auto& buffer : launch.buffers) require(*buffer);
  auto seconds = with_bound(launch, [&](const Bound& bound) { return measure(bound, repetitions, batch); });
  probe_launches_.fetch_add(static_cast<std::uint64_t>(repetitions) * static_cast<std::uint64_t>(batch),
                            std::memory_order_relaxed);
  return seconds;
}

Future<void> QueuedClient::sync_async() {
  Promise<void> promise;
  auto future = promise.future();
  executor_->post([this, promise = std::move(promise)]() mutable {
    collect();
    auto error = executor_->take_error();
    try {
      wait();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    error ? promise.set_exception(error) : promise.set_value();
  });
  return future;
}

void QueuedClient::trim() {
  executor_->post([this] {
    collect();
    pool_.trim();
    bytes_reserved_.store(pool_.reserved(), std::memory_order_relaxed);
  });
}

}  // namespace strata::runtime

#include "runtime/cpu/worker_team.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "strata/future.hpp"
#include "trace/thread.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace strata::runtime::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds spin_time{50};

/// Streaming stores are not ordered by the release store that ends a thread's part.
void order_streaming_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace

void WorkerTeam::run(const Job& job) {
  if (job.cubes == 1 || threads_ == 1) {
    job.kernel(job.buffers, job.lengths, job.scalars, job.cube_count, 0, job.cubes);
    order_streaming_stores();
    return;
  }
  if (!started_) start();
  job_ = job;
  // Chunks even out what a noisy machine does to one of the threads, yet are few enough to cost nothing.
  chunk_ = std::max<std::int64_t>(1, job.cubes / (threads_ * 8));
  next_.store(0, std::memory_order_relaxed);
  busy_.store(threads_ - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_seq_cst);
  if (parked_.load(std::memory_order_seq_cst) != 0) round_.notify_all();
  take_cubes();
  while (busy_.load(std::memory_order_acquire) != 0) detail::spin_pause();
}

void WorkerTeam::take_cubes() {
  for (;;) {
    const auto begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
    if (begin >= job_.cubes) break;
    job_.kernel(job_.buffers, job_.lengths, job_.scalars, job_.cube_count, begin,
                std::min(begin + chunk_, job_.cubes));
  }
  order_streaming_stores();
}

void WorkerTeam::start() {
  started_ = true;
  for (int i = 1; i < threads_; ++i) std::thread(&WorkerTeam::work, this, i).detach();
}

void WorkerTeam::work(int worker) {
  trace::set_thread_name(fmt::format("DSW-cpu-{}", worker));
  std::uint32_t seen = 0;
  for (;;) {
    const auto idle_since = Clock::now();
    std::uint32_t round;
    for (int i = 1; (round = round_.load(std::memory_order_acquire)) == seen; ++i) {
      detail::spin_pause();
      if (i % 64 != 0 || Clock::now() - idle_since < spin_time) continue;
      parked_.fetch_add(1, std::memory_order_seq_cst);
      round_.wait(seen, std::memory_order_seq_cst);
      parked_.fetch_sub(1, std::memory_order_relaxed);
    }
    seen = round;
    take_cubes();
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace strata::runtime::cpu

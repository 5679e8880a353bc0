#include "runtime/cpu/worker_team.hpp"

#include <algorithm>

#include "trace/log.hpp"

namespace strata::runtime::cpu {
namespace {

constexpr std::uint64_t inside = 0xffff, open = 1 << 16, one_round = 1 << 17;

}  // namespace

WorkerTeam::WorkerTeam(int threads, std::string name_prefix)
    : threads_(threads), name_prefix_(std::move(name_prefix)) {}

WorkerTeam::~WorkerTeam() {
  stopping_.store(true, std::memory_order_seq_cst);
  for (auto& w : workers_) {
    w->sleeper.wake();
    w->thread.join();
  }
}

void WorkerTeam::run(std::int64_t count, const Job& job) {
  if (count > 1 && !started_) start();
  if (count <= 1 || workers_.empty()) {
    if (count > 0) job.call(job.part, 0, count);
    return;
  }
  job_ = job;
  count_ = count;
  // Parts even out what a noisy machine does to one of the threads, yet are few enough to cost nothing.
  chunk_ = std::max<std::int64_t>(1, count / (threads_ * 8));
  wanted_ = static_cast<std::size_t>(
      std::min<std::int64_t>(static_cast<std::int64_t>(workers_.size()), (count - 1) / chunk_));
  caller_processor_.store(current_processor(), std::memory_order_relaxed);
  next_.store(0, std::memory_order_relaxed);
  const auto round = (gate_.load(std::memory_order_relaxed) | inside | open) + 1;
  gate_.store(round | open, std::memory_order_seq_cst);
  wake_children(0);
  take_parts();
  // Whoever has not come by now is not needed any more.
  auto gate = gate_.fetch_and(~open, std::memory_order_acq_rel) & ~open;
  for (int i = 0; (gate & inside) != 0; ++i) {
    if (i < 500) {
      detail::spin_pause();
    } else {
      gate_.wait(gate, std::memory_order_acquire);
    }
    gate = gate_.load(std::memory_order_acquire);
  }
}

void WorkerTeam::start() {
  started_ = true;
  workers_.reserve(static_cast<std::size_t>(threads_ - 1));  // the threads read it while it is filled
  for (std::size_t i = 1; i < static_cast<std::size_t>(threads_); ++i) {
    workers_.push_back(std::make_unique<Worker>());
    try {
      workers_.back()->thread = start_thread(name_prefix_ + std::to_string(i), [this, i] { work(i); });
    } catch (const RuntimeError& e) {
      workers_.pop_back();
      trace::log::warn(trace::log::Topic::runtime, "going on with {} instead of {} threads: {}", i, threads_,
                       e.what());
      return;
    }
  }
}

void WorkerTeam::take_parts() {
  for (;;) {
    const auto begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
    if (begin >= count_) break;
    job_.call(job_.part, begin, std::min(begin + chunk_, count_));
  }
}

/// A tree, so that waking many threads is not one thread's work. Number 0 is the caller.
void WorkerTeam::wake_children(std::size_t number) {
  for (auto child = 2 * number + 1; child <= std::min(2 * number + 2, wanted_); ++child) {
    workers_[child - 1]->sleeper.wake();
  }
}

bool WorkerTeam::enter(std::uint64_t& round) {
  auto gate = gate_.load(std::memory_order_seq_cst);
  while ((gate & open) != 0 && gate / one_round != round) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_seq_cst)) {
      round = gate / one_round;
      return true;
    }
  }
  return false;
}

void WorkerTeam::leave() {
  const auto gate = gate_.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if ((gate & (open | inside)) == 0) gate_.notify_one();
}

void WorkerTeam::work(std::size_t number) {
  std::uint64_t round = 0;
  auto& sleeper = workers_[number - 1]->sleeper;
  while (!stopping_.load(std::memory_order_seq_cst)) {
    if (enter(round)) {
      wake_children(number);
      take_parts();
      leave();
    } else {
      sleeper.wait(
          [&] {
            const auto gate = gate_.load(std::memory_order_seq_cst);
            return ((gate & open) != 0 && gate / one_round != round) ||
                   stopping_.load(std::memory_order_seq_cst);
          },
          caller_processor_.load(std::memory_order_relaxed));
    }
  }
}

double WorkerTeam::processor_seconds() const {
  double sum = 0;
  for (const auto& w : workers_) sum += runtime::processor_seconds(w->thread);
  return sum;
}

}  // namespace strata::runtime::cpu

#include "runtime/cuda/replay.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace strata::runtime::cuda {
namespace {

std::uint64_t kind_of(const KernelLaunch& launch) {
  base::Hasher h;
  h.word(reinterpret_cast<std::uintptr_t>(launch.function));
  for (auto n : launch.cubes) h.word(n);
  h.word(launch.shared_bytes);
  return h.value();
}

}  // namespace

void Replay::launch(KernelLaunch launch, bool more) {
  if (!list_.empty() && !list_[position_].resembles(launch)) forget();
  if (list_.empty()) {
    sink_.start(launch);
    if (refused_) return;
    watch(launch);
    recent_.push_back(std::move(launch));
    if (recent_.size() > longest) recent_.pop_front();
    // Twice the same, so that a list of this length has been seen whole before it is expected.
    if (period_ > 0 && repeated_ >= 2 * period_) settle((shortest + period_ - 1) / period_ * period_);
    return;
  }
  list_[position_++] = std::move(launch);
  ++held_;
  auto& part = parts_[part_];
  if (position_ < part.end) {
    if (!more) flush();
    return;
  }
  try {
    held_ == part.end - part.begin ? start_part(part) : flush();
  } catch (...) {  // the stream refuses what it took before: nothing is expected of it any more
    held_ = 0;
    forget();
    throw;
  }
  part_ = (part_ + 1) % parts_.size();
  position_ = parts_[part_].begin;
}

void Replay::flush() {
  while (held_ > 0) sink_.start(list_[position_ - held_--]);
}

/// How far back the launches have been the same for how long.
void Replay::watch(const KernelLaunch& launch) {
  const auto kind = kind_of(launch);
  if (period_ > 0 && kinds_[kinds_.size() - period_] == kind) {
    ++repeated_;
  } else {
    const auto before = last_seen_.find(kind);
    const auto distance = before == last_seen_.end() ? longest + 1 : count_ - before->second;
    period_ = distance <= longest ? static_cast<std::size_t>(distance) : 0;
    repeated_ = period_ > 0 ? 1 : 0;
  }
  kinds_.push_back(kind);
  if (kinds_.size() > longest) kinds_.pop_front();
  if (last_seen_.size() > 16 * longest) last_seen_.clear();
  last_seen_[kind] = count_++;
}

void Replay::settle(std::size_t length) {
  if (length > recent_.size()) return;
  list_.assign(std::make_move_iterator(recent_.end() - static_cast<std::ptrdiff_t>(length)),
               std::make_move_iterator(recent_.end()));
  recent_.clear();
  for (std::size_t begin = 0; begin < length; begin += part_size)
    parts_.push_back({begin, std::min(begin + part_size, length)});
  part_ = position_ = 0;
}

void Replay::forget() {
  flush();
  const bool running = std::ranges::any_of(parts_, [](const Part& p) { return p.graph != nullptr; });
  const auto list = std::exchange(list_, {});
  const auto parts = std::exchange(parts_, {});
  period_ = repeated_ = 0;
  if (running) sink_.finish();
}

void Replay::start_part(Part& part) {
  const std::span launches(list_.data() + part.begin, part.end - part.begin);
  if (launches.size() == 1 || refused_) return flush();
  if (!part.graph) {
    part.graph = sink_.graph(launches);
    refused_ = !part.graph;
    if (refused_) return flush();
    for (const auto& launch : launches) part.arguments.push_back(launch.arguments);
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (part.arguments[i] == launches[i].arguments) continue;
    part.graph->update(i, launches[i]);
    part.arguments[i] = launches[i].arguments;
  }
  held_ = 0;
  part.graph->start();
  ++graphs_started_;
}

}  // namespace strata::runtime::cuda

#include "runtime/check.hpp"

#include <algorithm>

namespace strata::runtime {

void Check::open(std::shared_ptr<std::int64_t> word, std::uint64_t number) {
  word_ = std::move(word);
  number_ = number;
  *word_ = nothing;
}

void Check::close(const Download& download) {
  if (!word_) return;
  const auto found = *static_cast<const volatile std::int64_t*>(word_.get());
  word_.reset();
  try {
    if (found != nothing) error_ = make_error_(found, download);
  } catch (...) {
    error_ = std::current_exception();
  }
  make_error_ = {};
}

void add_doubts(Doubts& to, const Doubts& more) {
  if (!more || to == more) return;
  if (!to) {
    to = more;
    return;
  }
  const auto before = [](const CheckRef& a, const CheckRef& b) { return a->number() < b->number(); };
  if (std::includes(to->begin(), to->end(), more->begin(), more->end(), before)) return;
  if (std::includes(more->begin(), more->end(), to->begin(), to->end(), before)) {
    to = more;
    return;
  }
  std::vector<CheckRef> all;
  std::set_union(to->begin(), to->end(), more->begin(), more->end(), std::back_inserter(all), before);
  to = std::make_shared<const std::vector<CheckRef>>(std::move(all));
}

std::exception_ptr drop_closed(Doubts& doubts) {
  const auto open = [](const CheckRef& check) { return check->is_open(); };
  if (!doubts || std::all_of(doubts->begin(), doubts->end(), open)) return nullptr;
  std::vector<CheckRef> left;
  for (const auto& check : *doubts) {
    if (check->error()) return check->error();
    if (check->is_open()) left.push_back(check);
  }
  doubts = left.empty() ? nullptr : std::make_shared<const std::vector<CheckRef>>(std::move(left));
  return nullptr;
}

std::shared_ptr<std::int64_t> CheckWords::take() {
  if (free_.empty()) {
    blocks_.push_back(source_(block));
    for (std::size_t i = block; i-- > 0;) free_.push_back(blocks_.back().get() + i);
  }
  auto* const word = free_.back();
  free_.pop_back();
  return {word, [words = shared_from_this()](std::int64_t* p) { words->returned_.push_back(p); }};
}

void CheckWords::waited() {
  free_.insert(free_.end(), returned_.begin(), returned_.end());
  returned_.clear();
}

}  // namespace strata::runtime

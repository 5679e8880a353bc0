/// What this process has put into the store, in memory, so that no failure of the file loses it.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cache/entry.hpp"

namespace strata::cache {

/// Bounded: the oldest entries go when their values exceed `max_bytes` together. Not thread-safe.
class Overlay {
 public:
  explicit Overlay(std::int64_t max_bytes) : max_bytes_(max_bytes) {}

  /// Null when absent; valid until the next change.
  Entry* find(Kind kind, std::string_view scope, std::string_view key);
  void put(Entry entry);
  bool erase(Kind kind, std::string_view scope, std::string_view key);
  /// Erases the least recently used entries until the values have at most `max_bytes`; returns their number.
  std::int64_t shrink(std::int64_t max_bytes);
  const std::list<Entry>& entries() const { return entries_; }

 private:
  using Place = std::list<Entry>::iterator;
  void remove(Place place);

  std::int64_t max_bytes_;
  std::int64_t bytes_ = 0;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<std::string, Place> index_;
};

}  // namespace strata::cache

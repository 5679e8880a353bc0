#include "cache/overlay.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace strata::cache {
namespace {

/// Scope lengths keep ("a", "bc") and ("ab", "c") apart.
std::string index_key(Kind kind, std::string_view scope, std::string_view key) {
  std::string result = std::to_string(static_cast<int>(kind)) + ':' + std::to_string(scope.size()) + ':';
  result.append(scope).append(key);
  return result;
}

}  // namespace

Entry* Overlay::find(Kind kind, std::string_view scope, std::string_view key) {
  const auto found = index_.find(index_key(kind, scope, key));
  return found == index_.end() ? nullptr : &*found->second;
}

void Overlay::put(Entry entry) {
  erase(entry.info.kind, entry.info.scope, entry.info.key);
  bytes_ += entry.info.size;
  auto key = index_key(entry.info.kind, entry.info.scope, entry.info.key);
  entries_.push_back(std::move(entry));
  index_.emplace(std::move(key), std::prev(entries_.end()));
  while (bytes_ > max_bytes_ && entries_.size() > 1) remove(entries_.begin());
}

bool Overlay::erase(Kind kind, std::string_view scope, std::string_view key) {
  const auto found = index_.find(index_key(kind, scope, key));
  if (found == index_.end()) return false;
  remove(found->second);
  return true;
}

std::int64_t Overlay::shrink(std::int64_t max_bytes) {
  std::int64_t erased = 0;
  for (; !entries_.empty() && (bytes_ > max_bytes || max_bytes <= 0); ++erased) {
    remove(std::min_element(entries_.begin(), entries_.end(),
                            [](const Entry& a, const Entry& b) { return a.info.used < b.info.used; }));
  }
  return erased;
}

void Overlay::remove(Place place) {
  bytes_ -= place->info.size;
  index_.erase(index_key(place->info.kind, place->info.scope, place->info.key));
  entries_.erase(place);
}

}  // namespace strata::cache

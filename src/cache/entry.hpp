/// What the store keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.hpp"

namespace strata::cache {

/// Values are part of the file format.
enum class Kind : std::uint8_t { kernel = 0, tuning = 1, probe = 2 };
enum class Origin : std::uint8_t { local = 0, imported = 1 };

/// An entry without its value. Times are microseconds since 1970; `used` is kept to within an hour.
struct EntryInfo {
  Kind kind = Kind::kernel;
  std::string scope;  ///< identity of the device it belongs to
  std::string key;
  std::int64_t size = 0;  ///< bytes of the value
  std::int64_t created = 0;
  std::int64_t used = 0;
  Origin origin = Origin::local;
};

struct Entry {
  EntryInfo info;
  std::string value;
};

/// Over the value and its place, so that a value found under a wrong key is refused too.
inline std::uint64_t checksum(Kind kind, std::string_view scope, std::string_view key,
                              std::string_view value) {
  base::Hasher hasher;
  hasher.add(kind);
  hasher.add(scope);
  hasher.add(key);
  hasher.add(value);
  return hasher.value();
}

}  // namespace strata::cache

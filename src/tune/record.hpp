/// What tuning one problem found out: plain data, kept in the store and printed by `strata explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::tune {

struct CandidateRecord {
  std::string name;
  double seconds = 0;  ///< best launch; 0 when it was not measured
  std::string
      skipped_reason;  ///< why it could not win: not applicable, failed, wrong, slower early, no budget left
  bool operator==(const CandidateRecord&) const = default;
};

/// Where a choice came from.
enum class Source : std::uint8_t {
  heuristic,  ///< the rule's first choice: too small to tune, tuning off, or nothing stored at level `cached`
  tuned,      ///< measured by this process
  stored,     ///< measured by an earlier process
  fallback    ///< every candidate failed
};
std::string_view name_of(Source source);

struct TuneRecord {
  std::string key;
  std::vector<CandidateRecord> candidates;  ///< by priority, the rule's favourite first
  double bound_seconds = 0;  ///< no kernel can be faster, as far as the probes tell; 0: unknown
  std::string winner;        ///< empty: every candidate failed
  Source source = Source::heuristic;
  bool stopped_early = false;  ///< the winner came close enough to the bound
  int launches = 0;            ///< launches made for tuning
  double device_seconds = 0;   ///< time spent in them
  double total_seconds = 0;    ///< wall time with compilation and checks
  bool operator==(const TuneRecord&) const = default;
};

/// One line a field; what the store keeps.
std::string to_text(const TuneRecord& record);
/// Nothing when `text` is not of this version or is damaged.
std::optional<TuneRecord> from_text(std::string_view text);

}  // namespace strata::tune

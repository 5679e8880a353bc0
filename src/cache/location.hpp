/// Where this user's cache lives.
#pragma once

#include <string>

namespace strata::cache {

struct Location {
  std::string directory;  ///< absolute; empty when there is none
  std::string problem;    ///< then: why
};

/// $STRATA_CACHE_DIR, else $XDG_CACHE_HOME/strata, else $HOME/.cache/strata. An XDG or HOME path that is not
/// absolute counts as unset, as the XDG base directory specification asks: the working directory is never a
/// cache by accident.
Location default_location();

/// The folder that holds `file`.
std::string folder_of(const std::string& file);

/// Creates `directory` and its parents, private to the user. Returns 0 or the errno that stopped it.
int make_directories(const std::string& directory);

}  // namespace strata::cache

#include "cache/location.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace strata::cache {
namespace {

std::string absolute_from(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

Location default_location() {
  if (const char* chosen = std::getenv("STRATA_CACHE_DIR"); chosen != nullptr && chosen[0] != '\0') {
    std::error_code error;
    const auto path = std::filesystem::absolute(chosen, error);  // a later chdir must not move the cache
    if (error) return {"", "STRATA_CACHE_DIR=" + std::string(chosen) + ": " + error.message()};
    return {path.string(), ""};
  }
  if (auto base = absolute_from("XDG_CACHE_HOME"); !base.empty()) return {base + "/strata", ""};
  if (auto home = absolute_from("HOME"); !home.empty()) return {home + "/.cache/strata", ""};
  return {"", "none of STRATA_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder"};
}

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : file.substr(0, slash);
}

int make_directories(const std::string& directory) {
  for (std::size_t slash = directory.find('/', 1);; slash = directory.find('/', slash + 1)) {
    const auto part = directory.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const int why = errno;
      struct stat info {};
      // Some parents (a read-only root, say) refuse with another error although they are there.
      if (stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return why;
    }
    if (slash == std::string::npos) return 0;
  }
}

}  // namespace strata::cache

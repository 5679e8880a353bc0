#include "cache/store.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "strata/error.hpp"

namespace strata::tool {
namespace {

using nlohmann::json;

std::string_view name_of(cache::Kind k) {
  constexpr std::string_view names[] = {"kernel", "tuning", "probe"};
  return names[static_cast<int>(k)];
}

/// Keys of kernels are raw hashes.
std::string printable(std::string_view key) {
  std::string out;
  for (unsigned char c : key)
    out += c >= 0x20 && c < 0x7f ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
  return out;
}

json describe(const cache::EntryInfo& e) {
  return {{"kind", name_of(e.kind)},
          {"scope", e.scope},
          {"key", printable(e.key)},
          {"bytes", e.size},
          {"created_us", e.created},
          {"used_us", e.used},
          {"origin", e.origin == cache::Origin::local ? "local" : "imported"}};
}

void print(const Global& global, const json& value, const std::string& text) {
  fmt::print("{}\n", global.json ? value.dump(2) : text);
}

}  // namespace

int cache_path(const Global& global) {
  auto& store = cache::Store::global();
  print(global, {{"path", store.path()}}, store.path().empty() ? "none: memory only" : store.path());
  return 0;
}

int cache_list(const Global& global) {
  json rows = json::array();
  std::string text;
  for (const auto& e : cache::Store::global().list()) {
    rows.push_back(describe(e));
    text += fmt::format("{:7} {:>9} bytes  {}\n", name_of(e.kind), e.size, printable(e.key));
  }
  print(global, rows, text.empty() ? "empty" : text.substr(0, text.size() - 1));
  return 0;
}

int cache_show(const Global& global, const std::string& key) {
  auto& store = cache::Store::global();
  for (const auto& e : store.list()) {
    if (!printable(e.key).starts_with(key)) continue;
    const auto value = store.get(e.kind, e.scope, e.key);
    if (!value) continue;
    auto row = describe(e);
    const bool text = e.kind != cache::Kind::kernel;
    if (text) row["value"] = printable(*value);
    print(global, row, row.dump(2) + (text ? "\n" + *value : ""));
    return 0;
  }
  throw ArgumentError(fmt::format("no entry's key begins with \"{}\"; see `strata cache list`", key));
}

int cache_prune(const Global& global, std::int64_t bytes) {
  const auto dropped = cache::Store::global().prune(bytes);
  print(global, {{"dropped", dropped}}, fmt::format("{} entries dropped", dropped));
  return 0;
}

int cache_export(const Global& global, const std::string& path) {
  cache::Store::global().export_to(path);
  print(global, {{"exported", path}}, path + " written");
  return 0;
}

int cache_import(const Global& global, const std::string& path) {
  const auto r = cache::Store::global().import_from(path);
  print(global, {{"imported", r.imported}, {"kept", r.kept}, {"damaged", r.damaged}},
        fmt::format("{} imported, {} local ones kept, {} damaged", r.imported, r.kept, r.damaged));
  return 0;
}

}  // namespace strata::tool

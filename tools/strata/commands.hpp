/// The subcommands of `strata`. Each returns the process's exit status: 0, or 1 when something it checked was
/// wrong.
#pragma once

#include <cstdint>
#include <string>

namespace strata::tool {

struct Global {
  bool json = false;
};

int tour(const Global&);
/// Hidden helper of `tour`: one product of n x n matrices in a process of its own; prints the device's
/// statistics.
int tour_child(std::int64_t n);

int devices(const Global&);
int ops(const Global&);

struct MatmulOptions {
  std::string a, b, out, device;
};
int matmul(const Global&, const MatmulOptions&);

struct TraceOptions {
  std::string device = "cpu", shape = "2x2x2", chrome;
};
int trace(const Global&, const TraceOptions&);

struct ExplainOptions {
  std::string op = "matmul", shape, device = "cpu", dtype = "f32", precision = "exact", show;
};
int explain(const Global&, const ExplainOptions&);

struct BenchOptions {
  std::string op = "matmul", device, dtype = "f32";
};
int bench(const Global&, const BenchOptions&);

int cache_path(const Global&);
int cache_list(const Global&);
int cache_show(const Global&, const std::string& key);
int cache_prune(const Global&, std::int64_t bytes);
int cache_export(const Global&, const std::string& path);
int cache_import(const Global&, const std::string& path);

}  // namespace strata::tool

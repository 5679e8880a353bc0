#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/store.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "strata/strata.hpp"

extern char** environ;

namespace strata::tool {
namespace {

using nlohmann::json;

/// Text goes out as the tour walks; with --json everything is collected instead.
class Tour {
 public:
  explicit Tour(bool as_json) : json_(as_json) {}

  json out;
  bool ok = true;

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!json_) fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
  }
  void title(std::string_view text) const { say("\n{}\n{}\n", text, std::string(text.size(), '-')); }
  /// A wrong value makes the tour fail, and is said aloud.
  void check(bool right, std::string_view what) {
    if (right) return;
    ok = false;
    say("WRONG: {}\n", what);
    out["wrong"].push_back(what);
  }

 private:
  const bool json_;
};

std::vector<Device> devices_here() {
  std::vector<Device> all;
  for (const auto& d : Device::list()) {
    if (!d.available) continue;
    all.push_back(Device::named(d.name));
    all.push_back(Device::named(d.name).autodiff());
  }
  return all;
}

Tensor<2> left(const Device& d) { return Tensor<2>::from({{1, 2}, {3, 4}}, d); }
Tensor<2> right(const Device& d) { return Tensor<2>::from({{5, 6}, {7, 8}}, d); }
const std::vector<float> product{19, 22, 43, 50};

void names(Tour& tour) {
  tour.title("What each layer is called");
  for (const auto& d : devices_here()) {
    const auto result = left(d).matmul(right(d)).to_vector<float>();
    tour.check(result == product, fmt::format("2x2 product on {}", d.name()));
    tour.say("{}\n   name   {}\n   result [{}]\n", d.to_string(), d.name(), fmt::join(result, ", "));
    tour.out["devices"].push_back({{"structure", d.to_string()}, {"name", d.name()}, {"result", result}});
  }
  for (const auto& d : Device::list()) {
    if (!d.available) tour.say("{}: {}\n", d.name, d.description);
  }
}

void one_matmul_traced(Tour& tour) {
  const auto device = Device::cpu().autodiff();
  tour.title(fmt::format("One matmul through {}", device.name()));
  left(device).matmul(right(device)).into_data();  // the device is up, the kernel compiled
  device.sync();
  usleep(20000);  // its threads are asleep, also on a busy machine: one still awake would take up new work
  std::mutex mutex;
  std::vector<trace::Event> events;
  const auto subscription = trace::subscribe([&](const trace::Event& e) {
    const std::lock_guard lock(mutex);
    events.push_back(e);
  });
  // Returns how many spans other threads than the calling one made.
  const auto stage = [&](const char* what) {
    std::vector<trace::Event> seen;
    {
      const std::lock_guard lock(mutex);
      seen.swap(events);
    }
    std::ranges::sort(seen, {}, &trace::Event::begin_ns);
    tour.say("--- {}\n", what);
    int foreign = 0;
    json rows = json::array();
    for (const auto& e : seen) {
      foreign += e.thread != "main";
      std::string fields;
      for (const auto& f : e.fields) {
        fields += fmt::format(" {}={}", f.key,
                              std::visit([](const auto& v) { return fmt::format("{}", v); }, f.value));
      }
      tour.say("[{:9}] {}{} {} ({}){}\n", e.thread, std::string(static_cast<std::size_t>(e.depth) * 2, ' '),
               e.layer, e.name, format_seconds(static_cast<double>(e.end_ns - e.begin_ns) * 1e-9), fields);
      rows.push_back({{"thread", e.thread}, {"layer", e.layer}, {"name", e.name}, {"depth", e.depth}});
    }
    tour.out["trace"].push_back({{"stage", what}, {"spans", rows}});
    return foreign;
  };
  const auto a = left(device), b = right(device);
  stage("from nested lists, twice");
  const auto c = a.matmul(b);
  // Long enough for a device thread to betray itself, were it to start before the read.
  usleep(2000);
  tour.check(stage("matmul") == 0, "a device thread worked between the call and the read");
  // The asynchronous read: a blocking one would lend the device threads this one.
  const auto result = c.into_data_async().get().to_vector<float>();
  tour.check(stage("into_data_async") > 0, "no device thread worked for the read");
  tour.say("--- result [{}]\n", fmt::join(result, ", "));
  tour.check(result == product, "traced 2x2 product");
}

/// Runs `strata tour-child n` on the given cache folder, in another working directory, and returns what it
/// prints.
json in_new_process(std::int64_t n, const std::string& cache, const std::string& directory) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      fmt::format("cd '{}' && STRATA_CACHE_DIR='{}' '{}' tour-child {}", directory, cache, self, n);
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw IoError("[tour] cannot start another process");
  std::string text;
  char buffer[512];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  if (pclose(pipe) != 0) throw RuntimeError("[tour] the process failed: " + command);
  return json::parse(text);
}

void first_and_second_process(Tour& tour) {
  tour.title("First process with an empty cache, and a second one elsewhere");
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("strata_tour_{}", getpid());
  std::filesystem::create_directories(folder);
  tour.say("{:>6} {:>8} {:>9} {:>9} {:>7} {:>6} {:>13} {:>13} {:>9}\n", "n", "process", "launches",
           "compiles", "probes", "LLVM", "first result", "warm result", "tuned in");
  for (const std::int64_t n : {std::int64_t{2}, std::int64_t{1024}}) {
    const auto cache = (folder / std::to_string(n)).string();
    for (int process = 1; process <= 2; ++process) {
      json r;
      {
        const Progress progress("a new process multiplies");
        r = in_new_process(n, cache, process == 1 ? "/" : "/tmp");
      }
      tour.say("{:>6} {:>8} {:>9} {:>9} {:>7} {:>6} {:>13} {:>13} {:>9}\n", n, process,
               r["launches"].get<int>(), r["compiles"].get<int>(), r["probe_launches"].get<int>(),
               r["compiler_loaded"].get<bool>() ? "loaded" : "no", format_seconds(r["first_seconds"]),
               format_seconds(r["warm_seconds"]),
               process == 1 && n > 2 ? format_seconds(r["first_seconds"]) : "");
      tour.check(r["right"], fmt::format("{}x{} product in process {}", n, n, process));
      tour.check(r["launches"] == 1,
                 fmt::format("process {} launched more than one kernel for one product", process));
      if (n == 2) {
        tour.check(r["compiles"] <= 1 && r["probe_launches"] == 0,
                   "a 2x2 product compiled or probed too much");
      } else {
        tour.check(r["probe_launches"] <= 100, "tuning took more than 100 launches");
      }
      if (process == 2) {
        tour.check(r["compiles"] == 0 && r["probe_launches"] == 0 && !r["compiler_loaded"],
                   "the second process compiled, probed or loaded the compiler");
      }
      r["n"] = n;
      r["process"] = process;
      tour.out["processes"].push_back(r);
    }
  }
  std::filesystem::remove_all(folder);
}

void timings(Tour& tour) {
  constexpr std::int64_t n = 1024;
  tour.title("1024x1024 f32: when the call returns, and when the product is there");
  for (const auto& d : devices_here()) {
    if (d.is_autodiff()) continue;
    const auto a = Tensor<2>::random({n, n}, d), b = Tensor<2>::random({n, n}, d);
    d.sync();
    for (int run = 0; run < 6; ++run) {
      const auto start = Clock::now();
      const auto c = a.matmul(b);
      const double returned = seconds_since(start);
      d.sync();
      // A lazy device computes what is asked for; `sync` asks for everything that can still be reached.
      const double done = seconds_since(start);
      tour.say("{:34} run {}: returned after {:>9}, after sync {:>9}\n", d.name(), run,
               format_seconds(returned), format_seconds(done));
      tour.out["timings"].push_back(
          {{"device", d.name()}, {"run", run}, {"returned", returned}, {"done", done}});
    }
  }
}

void gradient(Tour& tour) {
  tour.title("The gradient of sum(tanh(x w)^2), first and second order");
  for (const auto& listed : Device::list()) {
    if (!listed.available) continue;
    const auto d = Device::named(listed.name).autodiff();
    const auto f = [](const Tensor<2>& x, const Tensor<2>& w) { return x.matmul(w).tanh().square().sum(); };
    const auto w = Tensor<2>::from({{0.5, -0.25}, {0.75, 0.125}}, d, DType::f64);
    const auto x = Tensor<2>::from({{1, 2}}, d, DType::f64).require_grad();
    const auto g = x.grad(f(x, w).backward()).into_data().to_doubles();
    const double h = 1e-6;
    for (int i = 0; i < 2; ++i) {
      const auto step = Tensor<2>::from({{i == 0 ? 1.f : 0.f, i == 1 ? 1.f : 0.f}}, d, DType::f64) * h;
      const double numeric = (f(x.detach() + step, w).item() - f(x.detach() - step, w).item()) / (2 * h);
      tour.check(std::abs(numeric - g[static_cast<std::size_t>(i)]) < 1e-7,
                 fmt::format("gradient on {}", d.name()));
    }
    const auto d2 = d.autodiff();
    const auto y = Tensor<1>::from({2, 3}, d2).require_grad();
    const auto first = y.grad((y * y * y).sum().backward());
    const auto second = y.inner().grad(first.sum().backward()).to_vector<float>();
    tour.check(second == std::vector<float>({12, 18}), fmt::format("second derivative on {}", d2.name()));
    tour.say("{:42} [{:.6f}]; (x^3)'' at [2, 3]: [{}]\n", d.name(), fmt::join(g, ", "),
             fmt::join(second, ", "));
    tour.out["gradients"].push_back({{"device", d.name()}, {"gradient", g}, {"second", second}});
  }
}

void cache_place(Tour& tour) {
  tour.title("Where results are remembered");
  auto& store = cache::Store::global();
  const auto status = store.status();
  const auto entries = store.list();
  std::int64_t bytes = 0;
  for (const auto& e : entries) bytes += e.size;
  tour.say("{} ({} entries, {} bytes){}\n", store.path().empty() ? "memory only" : store.path(),
           entries.size(), bytes, status.reason.empty() ? "" : "; " + status.reason);
  tour.out["cache"] = {
      {"path", store.path()}, {"entries", entries.size()}, {"bytes", bytes}, {"reason", status.reason}};
}

}  // namespace

int tour(const Global& global) {
  Tour tour(global.json);
  names(tour);
  one_matmul_traced(tour);
  first_and_second_process(tour);
  timings(tour);
  gradient(tour);
  cache_place(tour);
  tour.out["ok"] = tour.ok;
  tour.say("\n{}\n", tour.ok ? "Every value above was checked and is right." : "Something above is WRONG.");
  if (global.json) fmt::print("{}\n", tour.out.dump(2));
  return tour.ok ? 0 : 1;
}

int tour_child(std::int64_t n) {
  const auto device = Device::cpu();
  const auto ramp = [&](std::int64_t period) {
    std::vector<float> v(static_cast<std::size_t>(n * n));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>(static_cast<std::int64_t>(i) % period - period / 2);
    return v;
  };
  const auto av = ramp(7), bv = ramp(5);
  const auto a = Tensor<2>::from(av, {n, n}, device), b = Tensor<2>::from(bv, {n, n}, device);
  const auto start = Clock::now();
  const auto result = a.matmul(b).into_data();
  const double first = seconds_since(start);
  const auto c = result.as<float>();
  const auto used = device.statistics();
  bool right = true;  // whole numbers, so every entry is exact
  for (std::int64_t at = 0; at < n * n; at += n * n / 97 + 1) {
    float sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      sum += av[static_cast<std::size_t>(at / n * n + k)] * bv[static_cast<std::size_t>(k * n + at % n)];
    }
    right &= c[static_cast<std::size_t>(at)] == sum;
  }
  std::vector<double> warm;
  for (int i = 0; i < 5; ++i) {
    const auto again = Clock::now();
    a.matmul(b).into_data();
    warm.push_back(seconds_since(again));
  }
  std::ranges::sort(warm);
  const json out{{"launches", used.launches},
                 {"compiles", used.compiles},
                 {"probe_launches", used.probe_launches},
                 {"cache_hits", used.cache_hits},
                 {"compiler_loaded", used.compiler_loaded},
                 {"first_seconds", first},
                 {"warm_seconds", warm[warm.size() / 2]},
                 {"right", right}};
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace strata::tool

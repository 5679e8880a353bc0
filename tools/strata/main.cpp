#include <CLI/CLI.hpp>

#include <iostream>

#include "commands.hpp"
#include "strata/error.hpp"

int main(int argc, char** argv) {
  using namespace strata::tool;
  CLI::App app{"strata: look into the tensor framework on this machine"};
  app.require_subcommand(1);
  app.fallthrough();
  Global global;
  app.add_flag("--json", global.json, "print JSON");
  int status = 0;
  const auto run = [&status](auto&& command) { return [&status, command] { status = command(); }; };

  app.add_subcommand("tour", "every device and layer of this machine at work, checked")->callback(run([&] {
    return tour(global);
  }));
  std::int64_t child_size = 0;
  auto* child = app.add_subcommand("tour-child")->group("");
  child->add_option("n", child_size)->required();
  child->callback(run([&] { return tour_child(child_size); }));

  app.add_subcommand("devices", "what this build and this machine have")->callback(run([&] {
    return devices(global);
  }));

  app.add_subcommand("ops", "every operation: dtypes, how each device computes it, gradients")
      ->callback(run([&] { return ops(global); }));

  MatmulOptions product;
  auto* matmul_command = app.add_subcommand("matmul", "multiply two .npy files");
  matmul_command->add_option("A", product.a, "left operand")->required();
  matmul_command->add_option("B", product.b, "right operand")->required();
  matmul_command->add_option("-o,--output", product.out, "result")->required();
  matmul_command->add_option("--device", product.device, "device name, e.g. cpu");
  matmul_command->callback(run([&] { return matmul(global, product); }));

  TraceOptions traced;
  auto* trace_command = app.add_subcommand("trace", "one matmul, layer by layer with thread names");
  trace_command->add_option("shape", traced.shape, "MxNxK")->capture_default_str();
  trace_command->add_option("--device", traced.device, "device name")->capture_default_str();
  trace_command->add_option("--chrome", traced.chrome,
                            "write Chrome-trace JSON to this file (opens in Perfetto)");
  trace_command->callback(run([&] { return trace(global, traced); }));

  ExplainOptions explained;
  auto* explain_command = app.add_subcommand("explain", "which kernel an operation gets, and why");
  explain_command->add_option("op", explained.op, "an operation of `strata ops`")->required();
  explain_command->add_option("shape", explained.shape, "MxNxK, for matmul: tuned for this product");
  explain_command->add_option("--device", explained.device, "device name")->capture_default_str();
  explain_command->add_option("--dtype", explained.dtype, "element type")->capture_default_str();
  explain_command->add_option("--precision", explained.precision, "of a product of f32: exact, tf32 or split")
      ->check(CLI::IsMember({"exact", "tf32", "split"}))
      ->capture_default_str();
  explain_command->add_option("--show", explained.show, "also print: ir, llvm, asm or ptx")
      ->check(CLI::IsMember({"ir", "llvm", "asm", "ptx"}));
  explain_command->callback(run([&] { return explain(global, explained); }));

  BenchOptions measured;
  auto* bench_command = app.add_subcommand("bench", "times on this machine, the peer beside them");
  bench_command->add_option("op", measured.op, "matmul")->required();
  bench_command->add_option("--device", measured.device, "device name (default: all)");
  bench_command->add_option("--dtype", measured.dtype, "element type")->capture_default_str();
  bench_command->callback(run([&] { return bench(global, measured); }));

  auto* cache = app.add_subcommand("cache", "the persistent store of kernels and tuning results");
  cache->require_subcommand(1);
  cache->add_subcommand("path", "where it is")->callback(run([&] { return cache_path(global); }));
  cache->add_subcommand("list", "its entries")->callback(run([&] { return cache_list(global); }));
  std::string key, file;
  std::int64_t bytes = 0;
  auto* show = cache->add_subcommand("show", "one entry");
  show->add_option("key", key, "key, or the beginning of one, as `list` prints it")->required();
  show->callback(run([&] { return cache_show(global, key); }));
  auto* prune = cache->add_subcommand("prune", "drop the entries used longest ago");
  prune->add_option("--bytes", bytes, "keep at most this many bytes")->capture_default_str();
  prune->callback(run([&] { return cache_prune(global, bytes); }));
  auto* exported = cache->add_subcommand("export", "write everything to one file");
  exported->add_option("file", file)->required();
  exported->callback(run([&] { return cache_export(global, file); }));
  auto* imported = cache->add_subcommand("import", "add the entries of such a file");
  imported->add_option("file", file)->required();
  imported->callback(run([&] { return cache_import(global, file); }));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const strata::Error& e) {
    std::cerr << "strata: " << e.what() << "\n";
    return 2;
  }
  return status;
}

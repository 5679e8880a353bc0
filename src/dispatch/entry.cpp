#include "dispatch/entry.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "autodiff/autodiff.hpp"
#include "cube/cube_backend.hpp"
#include "flex/flex.hpp"
#include "fusion/fusion.hpp"
#include "runtime/cpu/cpu_client.hpp"
#include "runtime/cuda/cuda_client.hpp"

namespace strata::dispatch {
namespace {

/// Every entry of the process, by the backend on top of its stack. Deliberately leaked.
struct Registry {
  std::mutex mutex;
  std::map<const backend::Backend*, std::unique_ptr<const Entry>> entries;
  std::map<std::pair<const Entry*, Checkpointing>, const Entry*> autodiff;

  static Registry& get() {
    static auto* registry = new Registry;
    return *registry;
  }
};

const Entry& add_locked(std::unique_ptr<const Entry> entry) {
  auto& registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  const auto* key = &entry->backend();
  return *(registry.entries[key] = std::move(entry));
}

/// A device with a client: cube under fusion.
const Entry& lazy(runtime::Client& client, std::string structure) {
  auto* cube = new cube::CubeBackend(client, flex::execute_on_host);
  auto* fusion = new fusion::Fusion(*cube, "DSU-" + client.properties().device);
  return add_locked(
      std::make_unique<Entry>(*fusion, std::move(structure), nullptr, Checkpointing::disabled, &client));
}

}  // namespace

const Entry& flex() {
  static const Entry& entry = add_locked(std::make_unique<Entry>(flex::instance(), "Flex"));
  return entry;
}

const Entry& cpu() {
  static const Entry& entry = lazy(runtime::cpu::client(), "Cpu");
  return entry;
}

const Entry& cuda(int ordinal) {
  static std::mutex mutex;
  static auto& entries = *new std::map<int, const Entry*>;
  const std::lock_guard lock(mutex);
  auto& known = entries[ordinal];
  if (!known) known = &lazy(runtime::cuda::client(ordinal), "Cuda(" + std::to_string(ordinal) + ")");
  return *known;
}

const Entry& autodiff_of(const Entry& inner, Checkpointing checkpointing) {
  auto& registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  auto& known = registry.autodiff[{&inner, checkpointing}];
  if (!known) {
    auto* stack = new autodiff::Autodiff(inner.backend(), checkpointing);
    const std::string strategy = checkpointing == Checkpointing::disabled ? "disabled" : "balanced";
    known = &*(registry.entries[stack] = std::make_unique<Entry>(
                   *stack, "Autodiff { device: " + inner.structure() + ", checkpointing: " + strategy + " }",
                   &inner, checkpointing));
  }
  return *known;
}

const Entry& entry_of(const backend::Backend& backend) {
  auto& registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.entries.find(&backend);
  STRATA_CHECK(found != registry.entries.end());
  return *found->second;
}

}  // namespace strata::dispatch

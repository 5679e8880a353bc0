#include "dispatch/entry.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "autodiff/autodiff.hpp"
#include "cube/cube_backend.hpp"
#include "flex/flex.hpp"
#include "fusion/fusion.hpp"
#include "runtime/cpu/cpu_client.hpp"

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

}  // namespace

const Entry& flex() {
  static const Entry& entry = add_locked(std::make_unique<Entry>(flex::instance(), "Flex"));
  return entry;
}

const Entry& cpu() {
  static const Entry& entry = [&]() -> const Entry& {
    auto* cube = new cube::CubeBackend(runtime::cpu::client(), flex::execute_on_host);
    auto* fusion = new fusion::Fusion(*cube, "DSU-cpu");
    return add_locked(
        std::make_unique<Entry>(*fusion, "Cpu", nullptr, Checkpointing::disabled, &cube->client()));
  }();
  return entry;
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

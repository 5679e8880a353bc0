#include "strata/device.hpp"

#include <charconv>
#include <cstdlib>
#include <ostream>

#include <fmt/format.h>

#include "codegen/compiler.hpp"
#include "dispatch/entry.hpp"
#include "flex/flex.hpp"
#include "runtime/cpu/cpu_client.hpp"
#include "runtime/cuda/driver.hpp"
#include "strata/error.hpp"

namespace strata::inline v0 {
namespace {

const dispatch::Entry& default_entry() {
  static const dispatch::Entry& entry = []() -> const dispatch::Entry& {
    const char* name = std::getenv("STRATA_DEVICE");
    if (name && *name) return Device::named(name).entry();
    return runtime::cuda::availability(0).available ? dispatch::cuda(0) : dispatch::flex();
  }();
  return entry;
}

}  // namespace

Device::Device() : Device(default_entry()) {}
Device Device::flex() { return Device(dispatch::flex()); }
Device Device::cpu() { return Device(dispatch::cpu()); }
Device Device::cuda(int ordinal) { return Device(dispatch::cuda(ordinal)); }

Device Device::named(std::string_view name) {
  constexpr std::string_view suffix = ".autodiff()";
  if (name.ends_with(suffix)) return named(name.substr(0, name.size() - suffix.size())).autodiff();
  if (name == "flex") return flex();
  if (name == "cpu") return cpu();
  if (name == "cuda") return cuda(0);
  if (constexpr std::string_view numbered = "cuda:"; name.starts_with(numbered)) {
    const auto digits = name.substr(numbered.size());
    int ordinal = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size()) return cuda(ordinal);
  }
  throw DeviceError(
      fmt::format("there is no device \"{}\"; this build has \"flex\", \"cpu\" and \"cuda:<number>\", each "
                  "optionally followed by \".autodiff()\"",
                  name));
}

std::vector<Device::Listing> Device::list() {
  const auto cpu = runtime::cpu::availability();
  const auto cuda = runtime::cuda::availability(0);
  return {{"flex", true, strata::flex::description()},
          {"cpu", cpu.available, cpu.description},
          {"cuda:0", cuda.available, cuda.description}};
}

Device::Statistics Device::statistics() const {
  const auto* entry = entry_;
  while (entry->inner()) entry = entry->inner();
  if (!entry->client()) return {};
  const auto c = entry->client()->counters();
  return {c.launches,     c.probe_launches, c.compiles,   c.cache_hits,
          c.bytes_in_use, c.bytes_reserved, c.bytes_peak, codegen::module_loaded()};
}

Device Device::autodiff(Checkpointing checkpointing) const {
  return Device(dispatch::autodiff_of(*entry_, checkpointing));
}
Device Device::inner() const {
  if (!entry_->inner()) {
    throw DeviceError(fmt::format("[inner] {} has no autodiff layer to take off", entry_->name()));
  }
  return Device(*entry_->inner());
}
bool Device::is_autodiff() const { return entry_->inner() != nullptr; }
std::string_view Device::name() const { return entry_->name(); }
std::string Device::to_string() const { return "Device(" + entry_->structure() + ")"; }
void Device::sync() const { entry_->backend().sync(); }

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.to_string(); }

}  // namespace strata::inline v0

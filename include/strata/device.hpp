/// `Device`: where tensors live and how their operations run.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "strata/config.hpp"

namespace strata::dispatch {
class Entry;
}

namespace strata::inline v0 {

/// What autodiff keeps for the backward pass.
enum class Checkpointing : std::uint8_t {
  disabled,  ///< everything the gradient rules need
  balanced,  ///< outputs of memory-bound operations are recomputed instead
};

/// A cheap handle, comparable and hashable. Two handles are equal when they name the same stack of layers on
/// the same hardware: `Device::cpu() != Device::cpu().autodiff()`.
class STRATA_API Device {
 public:
  /// The default device: `STRATA_DEVICE` (a name as in `Device::named`), else the best this machine has (a
  /// GPU before flex). Throws DeviceError when STRATA_DEVICE names nothing that exists here.
  Device();
  /// Eager on the calling thread: results are in memory when a call returns.
  static Device flex();
  /// Lazy, fused, compiled for this machine's CPU.
  /// Throws DeviceError where kernels cannot be compiled for this machine.
  static Device cpu();
  /// An NVIDIA GPU by its number; only its driver has to be installed. Lazy, fused, compiled for it.
  /// Throws DeviceError when there is none.
  static Device cuda(int ordinal = 0);
  /// "flex", "cpu", "cuda:0" ("cuda" for short), or one of them with ".autodiff()" behind it. Throws
  /// DeviceError naming what exists.
  static Device named(std::string_view name);

  /// One kind of device of this build, and whether this machine can use it.
  struct Listing {
    std::string name;  ///< as for `named`
    bool available = false;
    std::string description;  ///< hardware, or why it is unavailable
  };
  /// Every kind of device this build knows. Starts no device.
  static std::vector<Listing> list();

  /// What the device did in this process so far. All zero on flex, which compiles and launches nothing.
  struct Statistics {
    std::uint64_t launches = 0;        ///< kernels run for the program
    std::uint64_t probe_launches = 0;  ///< kernels run to measure the device or to tune
    std::uint64_t compiles = 0;        ///< kernels compiled
    std::uint64_t cache_hits = 0;      ///< kernels found in the persistent cache
    std::uint64_t bytes_in_use = 0, bytes_reserved = 0, bytes_peak = 0;
    bool compiler_loaded = false;  ///< LLVM is in this process
  };
  Statistics statistics() const;

  /// This device with gradients. Stacks: `autodiff().autodiff()` differentiates gradients.
  Device autodiff(Checkpointing checkpointing = Checkpointing::disabled) const;
  /// The device under one `autodiff()`; throws DeviceError when there is none.
  Device inner() const;
  bool is_autodiff() const;

  /// The layers a call passes through, from the objects that run: "dispatch<fusion<cube<cpu<llvm>>>>".
  std::string_view name() const;
  /// The structure: "Device(Autodiff { device: Cpu, checkpointing: disabled })".
  std::string to_string() const;
  /// Returns when everything this thread queued on the device is done.
  void sync() const;

  bool operator==(const Device&) const = default;
  std::size_t hash() const { return std::hash<const void*>{}(entry_); }
  const dispatch::Entry& entry() const { return *entry_; }
  explicit Device(const dispatch::Entry& entry) : entry_(&entry) {}

 private:
  const dispatch::Entry* entry_;
};

STRATA_API std::ostream& operator<<(std::ostream&, const Device&);

}  // namespace strata::inline v0

template <>
struct std::hash<strata::Device> {
  std::size_t operator()(const strata::Device& d) const noexcept { return d.hash(); }
};

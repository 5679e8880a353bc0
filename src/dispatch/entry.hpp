/// One device as dispatch knows it: a backend stack that exists once per process and lives until it ends.
#pragma once

#include <string>

#include "backend/backend.hpp"
#include "runtime/client.hpp"
#include "strata/device.hpp"

namespace strata::dispatch {

class Entry {
 public:
  Entry(backend::Backend& stack, std::string structure, const Entry* under = nullptr,
        Checkpointing checkpointing = Checkpointing::disabled, runtime::Client* client = nullptr)
      : backend_(stack),
        name_("dispatch<" + std::string(stack.name()) + ">"),
        structure_(std::move(structure)),
        inner_(under),
        checkpointing_(checkpointing),
        client_(client) {}

  backend::Backend& backend() const { return backend_; }
  const std::string& name() const { return name_; }
  const std::string& structure() const { return structure_; }
  /// The device under one autodiff, or null.
  const Entry* inner() const { return inner_; }
  Checkpointing checkpointing() const { return checkpointing_; }
  /// The device's client; null where there is none (flex) and for autodiff.
  runtime::Client* client() const { return client_; }

 private:
  backend::Backend& backend_;
  const std::string name_, structure_;
  const Entry* inner_;
  const Checkpointing checkpointing_;
  runtime::Client* client_;
};

/// The one place that knows which devices exist. Entries are made at first use and never destroyed, so that
/// tensors in static storage may outlive `main`.
const Entry& flex();
const Entry& cpu();
/// Throws DeviceError when the device is not there.
const Entry& cuda(int ordinal);
const Entry& autodiff_of(const Entry& inner, Checkpointing checkpointing);
/// The entry whose stack `backend` tops.
const Entry& entry_of(const backend::Backend& backend);

}  // namespace strata::dispatch

/// Fusion: decorates the cube backend. `execute` checks the call, makes a handle without data and returns;
/// the device's upstream thread does the rest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "cube/cube_backend.hpp"
#include "fusion/upstream.hpp"
#include "runtime/executor.hpp"

namespace strata::fusion {

class Fusion final : public backend::Backend {
 public:
  /// Queued operations that wait for nobody before the upstream thread is woken to look at them.
  static constexpr std::size_t wake_after = 16;
  /// Data of this size starts on its way to the device when it is given.
  static constexpr std::size_t eager_upload_bytes = std::size_t{64} << 10;

  /// `thread_name` is "DSU-<device>". With `fuse` off each operation becomes a kernel of its own.
  Fusion(cube::CubeBackend& inner, std::string thread_name, bool fuse = true);

  backend::Values execute(const op::Operation& op, backend::Inputs inputs) override;
  backend::ValueRef from_data(const TensorData& data) override;
  backend::ValueRef from_peer(const backend::ValueRef& value) override;
  Future<TensorData> into_data(const backend::ValueRef& value) override;
  TensorData read(const backend::ValueRef& value) override;
  std::vector<Future<TensorData>> into_data_all(backend::Inputs values) override;
  std::vector<TensorData> read_all(backend::Inputs values) override;
  void sync() override;
  std::string_view name() const override { return name_; }

 private:
  /// Queues a read without waking anybody.
  Future<TensorData> request(const backend::ValueRef& value);
  /// The same of several: one drain.
  std::vector<Future<TensorData>> request_all(backend::Inputs values);
  /// Returns when `done`, with the calling thread at work instead of idle, or when it has nothing to do.
  void help(const std::function<bool()>& done);
  template <class T>
  T wait(Future<T> future);

  cube::CubeBackend& inner_;
  const std::string name_;
  Upstream upstream_;
  runtime::Executor executor_;
};

}  // namespace strata::fusion

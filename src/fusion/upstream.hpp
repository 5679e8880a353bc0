/// The part of the fusion layer that runs on the device's upstream thread: it takes operations in the order
/// of their calls, extends the open block of the calling thread's stream, and hands a block down when nothing
/// can join it.
///
/// What joins a block: element-wise operations on one iteration space, after an optional Matmul of that
/// shape. Constants (Fill) join any block and never close one. A value nobody can reach any more when its
/// block closes is computed in registers and never written.
#pragma once

#include <unordered_map>
#include <vector>

#include "cube/block.hpp"
#include "cube/cube_backend.hpp"
#include "fusion/fusion_value.hpp"
#include "strata/future.hpp"
#include "strata/tensor_data.hpp"

namespace strata::fusion {

/// Longest block, so that a program without reads still keeps the device busy and register pressure bounded.
inline constexpr std::size_t max_block_nodes = 64;
inline constexpr std::size_t max_block_inputs = 16;

class Upstream {
 public:
  /// With `fuse` off every block is closed at once: same lowering, one operation each.
  Upstream(cube::CubeBackend& inner, bool fuse) : inner_(inner), fuse_(fuse) {}

  void accept(const FusionRef& v) noexcept;
  void upload(const FusionRef& v, const TensorData& data) noexcept;
  struct Read {
    FusionRef value;
    Promise<TensorData> result;
  };
  /// Closes the blocks of all these values before the device is asked for the first.
  void read(std::span<Read> reads) noexcept;
  void lend(const FusionRef& v, Promise<runtime::Lent> result) noexcept;
  void receive(const FusionRef& v, const runtime::Lent& source) noexcept;
  void sync(std::uint32_t stream, Promise<void> result) noexcept;

 private:
  /// The open block of one calling thread.
  struct Stream {
    std::vector<FusionRef> nodes;
    std::vector<const FusionValue*> inputs;  // distinct ready operands, for the limit only
  };

  void accept_or_throw(const FusionRef& v);
  bool admits(const Stream& stream, const FusionValue& v) const;
  void append(Stream& stream, const FusionRef& v);
  void flush(std::uint32_t stream);
  void run(std::span<const FusionRef> nodes);
  void run_block(std::span<const FusionRef> nodes, const std::vector<bool>& live,
                 const std::vector<bool>& written);
  const backend::Ref<cube::CubeValue>& materialise(FusionValue& v);

  cube::CubeBackend& inner_;
  const bool fuse_;
  std::unordered_map<std::uint32_t, Stream> open_;  // streams with an open block
};

}  // namespace strata::fusion

/// Memory of flex tensors. Blocks are cached, since fresh pages cost more than most operations: small ones
/// per thread without a lock, large ones in one pool that keeps them. Contents are uninitialised.
#pragma once

#include <cstddef>

namespace strata::flex {

/// A block of at least `bytes` bytes, 64-byte aligned (page-aligned from 32 KiB up), or nullptr when the
/// machine does not have them. `bytes` must not be 0.
std::byte* allocate(std::size_t bytes) noexcept;
/// Gives a block back; `bytes` as it was asked for. Any thread may call it.
void release(std::byte* block, std::size_t bytes) noexcept;
/// Returns the large blocks that nobody uses to the system.
void trim() noexcept;
/// Bytes of large blocks kept for reuse.
std::size_t cached_bytes() noexcept;

}  // namespace strata::flex

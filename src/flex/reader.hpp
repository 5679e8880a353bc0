/// Operands of block-wise loops: whatever the layout and dtype, a loop gets contiguous elements of its
/// compute type.
#pragma once

#include <algorithm>
#include <cstring>

#include "flex/kernels.hpp"
#include "flex/moving_kernels.hpp"
#include "flex/nest.hpp"

namespace strata::flex {

/// Elements handed out at a time: three f32 operands of this length stay in the first-level cache.
inline constexpr std::int64_t block = 1024;

/// Copies `n` elements from position `first` of a nest.
template <class S>
void gather(const S* data, const Nest& nest, std::int64_t first, std::int64_t n, S* out) {
  Cursor cursor(nest, first);
  const auto stride = nest.inner_stride();
  while (n > 0) {
    const auto run = std::min(cursor.run(), n);
    const S* source = data + cursor.offset();
    if (stride == 1) {
      std::copy(source, source + run, out);
    } else if (stride == 0) {
      spread(*source, out, static_cast<std::size_t>(run));
    } else {
      for (std::int64_t i = 0; i < run; ++i) out[i] = source[i * stride];
    }
    out += run;
    n -= run;
    cursor.advance(run);
  }
}

/// Reads elements stored as S in row-major order of a nest as blocks of Compute<S>. One object per thread.
template <class S>
class Reader {
 public:
  using C = Compute<S>;
  using Stored = std::conditional_t<std::is_same_v<S, bool>, std::uint8_t, S>;

  Reader(const void* data, const Nest& nest) : data_(static_cast<const Stored*>(data)), nest_(nest) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// All elements, where they lie as `load` would give them; else null.
  const C* dense() const {
    if constexpr (is_half<S>) {
      return nullptr;
    } else {
      return nest_.contiguous() ? data_ : nullptr;
    }
  }

  /// `n <= block` elements from position `first`; valid until the next call.
  const C* load(std::int64_t first, std::int64_t n) {
    if (nest_.rank == 1 && nest_.stride[0] == 0) return constant(n);
    const Stored* elements = data_ + first;
    if (!nest_.contiguous()) {
      const Cursor at(nest_, first);
      elements = data_ + at.offset();
      if (nest_.inner_stride() != 1 || at.run() < n) {
        gather(data_, nest_, first, n, stored_);
        elements = stored_;
      }
    }
    if constexpr (is_half<S>) {
      to_float(elements, computed_, static_cast<std::size_t>(n));
      return computed_;
    } else {
      return elements;
    }
  }

 private:
  /// One element that repeats is spread once, not once a block.
  const C* constant(std::int64_t n) {
    C* target;
    if constexpr (is_half<S>) {
      target = computed_;
    } else {
      target = stored_;
    }
    if (spread_ < n) {
      C value;
      if constexpr (is_half<S>) {
        value = static_cast<float>(*data_);
      } else {
        value = *data_;
      }
      std::fill(target + spread_, target + n, value);
      spread_ = n;
    }
    return target;
  }

  const Stored* data_;
  const Nest& nest_;
  std::int64_t spread_ = 0;
  union {  // left uninitialised
    alignas(64) Stored stored_[block];
  };
  union {
    alignas(64) float computed_[is_half<S> ? block : 1];
  };
};

/// Results computed as Compute<D> blocks and stored as D.
template <class D>
class Writer {
 public:
  using C = Compute<D>;
  using Stored = std::conditional_t<std::is_same_v<D, bool>, std::uint8_t, D>;

  explicit Writer(void* data) : data_(static_cast<Stored*>(data)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Where to compute the block that starts at `first`.
  C* target(std::int64_t first) {
    if constexpr (is_half<D>) {
      static_cast<void>(first);
      return computed_;
    } else {
      return data_ + first;
    }
  }
  void store(std::int64_t first, std::int64_t n) {
    if constexpr (is_half<D>) from_float(computed_, data_ + first, static_cast<std::size_t>(n));
  }

 private:
  Stored* data_;
  union {
    alignas(64) float computed_[is_half<D> ? block : 1];
  };
};

}  // namespace strata::flex

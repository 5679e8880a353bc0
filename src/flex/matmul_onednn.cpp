#include "flex/matmul_onednn.hpp"

#include <array>
#include <list>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/hash.hpp"
#include "strata/error.hpp"

namespace strata::flex {
namespace {

/// All that a primitive depends on.
struct Key {
  DType dtype{};
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::array<std::int64_t, 6> strides{};  // a: row, column, batch; b: the same
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    base::Hasher h;
    h.add(key.dtype);
    for (auto word : {key.batch, key.m, key.n, key.k}) h.word(static_cast<std::uint64_t>(word));
    for (auto word : key.strides) h.word(static_cast<std::uint64_t>(word));
    return h.value();
  }
};

dnnl::memory::desc describe(const Key& key, std::int64_t rows, std::int64_t columns,
                            const std::int64_t* strides) {
  const auto type = key.dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  if (key.batch == 1) return {{rows, columns}, type, {strides[0], strides[1]}};
  const auto batch = strides[2] == 0 ? 1 : key.batch;
  return {{batch, rows, columns}, type, {batch == 1 ? rows * columns : strides[2], strides[0], strides[1]}};
}

const dnnl::engine& engine() {
  static const auto* cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *cpu;
}

/// A primitive and the memory objects it reads and writes through.
class Product {
 public:
  explicit Product(const Key& key)
      : descriptor_(dnnl::matmul::desc(describe(key, key.m, key.k, key.strides.data()),
                                       describe(key, key.k, key.n, key.strides.data() + 3), result(key)),
                    engine()),
        primitive_(descriptor_),
        a_(descriptor_.src_desc(), engine(), nullptr),
        b_(descriptor_.weights_desc(), engine(), nullptr),
        out_(descriptor_.dst_desc(), engine(), nullptr),
        stream_(engine()) {}

  void run(const std::byte* a, const std::byte* b, std::byte* out) {
    a_.set_data_handle(const_cast<std::byte*>(a));
    b_.set_data_handle(const_cast<std::byte*>(b));
    out_.set_data_handle(out);
    const std::array<dnnl_exec_arg_t, 3> arguments{
        {{DNNL_ARG_SRC, a_.get()}, {DNNL_ARG_WEIGHTS, b_.get()}, {DNNL_ARG_DST, out_.get()}}};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                   static_cast<int>(arguments.size()), arguments.data()),
                            "could not execute the primitive");
  }

 private:
  static dnnl::memory::desc result(const Key& key) {
    const std::array<std::int64_t, 3> strides{key.n, 1, key.m * key.n};
    return describe(key, key.m, key.n, strides.data());
  }

  dnnl::matmul::primitive_desc descriptor_;
  dnnl::matmul primitive_;
  dnnl::memory a_, b_, out_;
  dnnl::stream stream_;
};

/// The products this thread computed last: making a primitive costs far more than a small product.
class ProductCache {
 public:
  static constexpr std::size_t capacity = 64;

  Product& get(const Key& key) {
    if (latest_ && latest_->first == key) return latest_->second;
    auto found = index_.find(key);
    if (found != index_.end()) {
      products_.splice(products_.begin(), products_, found->second);
    } else {
      products_.emplace_front(std::piecewise_construct, std::tuple(key), std::tuple(key));
      index_.emplace(key, products_.begin());
      if (products_.size() > capacity) {
        index_.erase(products_.back().first);
        products_.pop_back();
      }
    }
    latest_ = &products_.front();
    return latest_->second;
  }

 private:
  using Entry = std::pair<const Key, Product>;
  std::list<Entry> products_;  // most recently used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
  Entry* latest_ = nullptr;
};

}  // namespace

bool onednn_matmul(DType dtype, std::int64_t batch, const MatrixBatch& a, const MatrixBatch& b,
                   std::byte* out) try {
  thread_local ProductCache cache;
  const Key key{
      dtype,
      batch,
      a.rows,
      b.columns,
      a.columns,
      {a.row_stride, a.column_stride, a.batch_stride, b.row_stride, b.column_stride, b.batch_stride}};
  cache.get(key).run(a.data, b.data, out);
  return true;
} catch (const dnnl::error& e) {
  if (e.status == dnnl_unimplemented && dtype != DType::f32) return false;
  if (e.status == dnnl_out_of_memory) {
    throw OutOfMemoryError(
        fmt::format("[matmul] oneDNN is out of memory for {} products [{}, {}] x [{}, {}] of {}", batch,
                    a.rows, a.columns, b.rows, b.columns, name_of(dtype)));
  }
  throw RuntimeError(fmt::format(
      "[matmul] oneDNN failed for {} products [{}, {}] x [{}, {}] of {}: {} (status {})", batch, a.rows,
      a.columns, b.rows, b.columns, name_of(dtype), e.what(), static_cast<int>(e.status)));
}

}  // namespace strata::flex

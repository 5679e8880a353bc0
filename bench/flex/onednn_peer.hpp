/// oneDNN called directly: the peer that flex's products are measured against.
#pragma once

#include <cstdint>

#include <oneapi/dnnl/dnnl.hpp>

namespace strata::bench {

/// c = a x b, all [n, n] and row-major; the primitive is made once.
class OneDnnProduct {
 public:
  OneDnnProduct(std::int64_t n, dnnl::memory::data_type type, const void* a, const void* b, void* c)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        shape_({n, n}, type, dnnl::memory::format_tag::ab),
        product_(dnnl::matmul::primitive_desc(dnnl::matmul::desc(shape_, shape_, shape_), engine_)),
        arguments_{{DNNL_ARG_SRC, {shape_, engine_, const_cast<void*>(a)}},
                   {DNNL_ARG_WEIGHTS, {shape_, engine_, const_cast<void*>(b)}},
                   {DNNL_ARG_DST, {shape_, engine_, c}}} {}

  void run() {
    product_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory::desc shape_;
  dnnl::matmul product_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace strata::bench

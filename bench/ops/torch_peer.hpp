/// The operations of bench_ops through LibTorch, on the CPU with as many threads as there are cores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace strata::bench {

/// One call by the name of the operation, on [rows, columns] of f32; the result is dropped.
std::map<std::string, std::function<void()>> torch_ops(std::int64_t rows, std::int64_t columns);

}  // namespace strata::bench

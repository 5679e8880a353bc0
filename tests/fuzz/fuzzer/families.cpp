#include <utility>

#include "fuzz/fuzzer/rules.hpp"

namespace strata::fuzz {

const std::vector<Family>& families() {
  static const auto table = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::vector<Family>{family(Of<std::variant_alternative_t<i, op::Operation>>{})...};
  }
  (std::make_index_sequence<std::variant_size_v<op::Operation>>());
  return table;
}

}  // namespace strata::fuzz

#include "conformance/cases.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace strata::conformance {
namespace {

using nlohmann::json;

/// The enumerator of this name.
template <class Kind>
Kind kind_of(const json& name, int count) {
  for (int k = 0; k < count; ++k) {
    if (op::name_of(static_cast<Kind>(k)) == name.get<std::string>()) return static_cast<Kind>(k);
  }
  throw std::runtime_error("unknown kind " + name.dump());
}
DType dtype_of_name(const std::string& name) {
  for (auto t : all_dtypes) {
    if (name == name_of(t)) return t;
  }
  throw std::runtime_error("unknown dtype " + name);
}
Dims dims(const json& list) {
  return Dims(std::span<const std::int64_t>(list.get<std::vector<std::int64_t>>()));
}

std::optional<op::Operation> windowed(const std::string& name, const json& a) {
  if (name == "conv") {
    return op::Conv{dims(a["stride"]), dims(a["padding"]), dims(a["dilation"]),
                    a["groups"],       a["transposed"],    dims(a["extra"])};
  }
  if (name == "pool") {
    const auto kind = a["kind"] == "max" ? op::PoolKind::max : op::PoolKind::mean;
    return op::Pool{
        kind,           dims(a["window"]), dims(a["stride"]), dims(a["padding"]), dims(a["dilation"]),
        a["ceil_mode"], a["count_padding"]};
  }
  if (name == "arg_pool") {
    return op::ArgPool{dims(a["window"]), dims(a["stride"]), dims(a["padding"]), dims(a["dilation"]),
                       a["ceil_mode"]};
  }
  return {};
}

std::optional<op::Operation> ordered(const std::string& name, const json& a) {
  if (name == "arg_reduce")
    return op::ArgReduce{kind_of<op::ExtremumKind>(a["kind"], 2), a["axis"], a["keep_dims"]};
  if (name == "arg_sort") return op::ArgSort{a["axis"], a["descending"], a["count"]};
  if (name == "cumulative") return op::Cumulative{kind_of<op::CumulativeKind>(a["kind"], 4), a["axis"]};
  if (name == "softmax") return op::Softmax{a["axis"], a["log"]};
  if (name == "norm") return op::Norm{a["kind"] == "rms" ? op::NormKind::rms : op::NormKind::layer, a["eps"]};
  if (name == "gather") return op::Gather{a["axis"]};
  if (name == "scatter") return op::Scatter{a["axis"], kind_of<op::ScatterMode>(a["mode"], 5)};
  if (name == "slice_assign") return op::SliceAssign{dims(a["start"]), dims(a["stop"]), dims(a["step"])};
  return {};
}

std::optional<op::Operation> moving(const std::string& name, const json& a) {
  if (name == "reshape") return op::Reshape{dims(a["shape"])};
  if (name == "permute") return op::Permute{dims(a["order"])};
  if (name == "expand") return op::Expand{dims(a["shape"])};
  if (name == "slice") return op::Slice{dims(a["start"]), dims(a["stop"]), dims(a["step"])};
  if (name == "flip") return op::Flip{dims(a["axes"])};
  if (name == "unfold") return op::Unfold{a["axis"], a["size"], a["step"]};
  if (name == "cat") return op::Cat{a["axis"]};
  return {};
}

std::optional<op::Operation> whole(const std::string& name, const json& a) {
  if (name == "attention") return op::Attention{a["causal"], a["scale"]};
  if (name == "attention_gradient") return op::AttentionGradient{a["causal"], a["scale"]};
  if (name == "cross_entropy") return op::CrossEntropy{a["label_smoothing"], a["ignore_index"]};
  if (name == "cross_entropy_gradient")
    return op::CrossEntropyGradient{a["label_smoothing"], a["ignore_index"]};
  if (name == "ctc") return op::Ctc{a["blank"], a["zero_infinity"]};
  if (name == "ctc_gradient") return op::CtcGradient{a["blank"], a["zero_infinity"]};
  return {};
}

op::Operation operation(const std::string& name, const json& a) {
  if (auto op = whole(name, a)) return *op;
  if (auto op = windowed(name, a)) return *op;
  if (auto op = ordered(name, a)) return *op;
  if (auto op = moving(name, a)) return *op;
  if (name == "unary") return op::Unary{kind_of<op::UnaryKind>(a["kind"], op::unary_count)};
  if (name == "binary") return op::Binary{kind_of<op::BinaryKind>(a["kind"], op::binary_count)};
  if (name == "compare") return op::Compare{kind_of<op::CompareKind>(a["kind"], op::compare_count)};
  if (name == "where") return op::Where{};
  if (name == "cast") return op::Cast{dtype_of_name(a["dtype"])};
  if (name == "matmul") return op::Matmul{};
  if (name == "linalg") return op::Linalg{kind_of<op::LinalgKind>(a["kind"], op::linalg_count)};
  if (name == "fft") return op::Fft{kind_of<op::FftKind>(a["kind"], op::fft_count), a["axis"], a["size"]};
  if (name == "reduce") {
    return op::Reduce{kind_of<op::ReduceKind>(a["kind"], op::reduce_count), dims(a["axes"]), a["keep_dims"]};
  }
  throw std::runtime_error("unknown operation " + name);
}

Exact number(const json& j) {
  if (j.is_number_integer()) return static_cast<Exact>(j.get<std::int64_t>());
  if (j.is_number()) return static_cast<Exact>(j.get<double>());
  const auto name = j.get<std::string>();
  if (name == "nan") return nan_value;
  if (name == "inf") return infinity;
  if (name == "-inf") return -infinity;
  throw std::runtime_error("not a number: " + name);
}

DataTensor tensor(const json& j) {
  DataTensor t;
  if (const auto dtype = j.value("dtype", ""); dtype == "index") {
    t.is_index = true;
  } else if (!dtype.empty()) {
    t.dtype = dtype_of_name(dtype);
  }
  t.shape = dims(j["shape"]);
  const auto count = static_cast<std::size_t>(t.shape.product());
  const auto& values = j["values"];
  if (values.is_object() && values.contains("fill")) {
    t.values.assign(count, number(values["fill"]));
  } else if (values.is_object()) {
    const auto start = number(values["ramp"][0]), step = number(values["ramp"][1]);
    for (std::size_t i = 0; i < count; ++i) t.values.push_back(start + static_cast<Exact>(i) * step);
  } else {
    for (const auto& v : values) t.values.push_back(number(v));
  }
  if (t.values.size() != count) throw std::runtime_error("the values do not fill " + t.shape.to_string());
  return t;
}

std::vector<DType> dtypes(const json& j) {
  if (j == "floats") return floats();
  if (j == "ints") return ints();
  if (j == "numbers") return numbers();
  if (j == "all") return {std::begin(all_dtypes), std::end(all_dtypes)};
  std::vector<DType> list;
  for (const auto& name : j) list.push_back(dtype_of_name(name));
  return list;
}

DataCase data_case(const json& j) {
  DataCase c;
  for (const auto& input : j["inputs"]) c.inputs.push_back(tensor(input));
  if (j.contains("steps")) {
    for (const auto& step : j["steps"]) c.steps.push_back({operation(step[0], step[1]), step[2]});
  } else {
    c.steps.push_back({operation(j["op"], j["attributes"]), {}});
    for (std::size_t i = 0; i < c.inputs.size(); ++i) c.steps[0].operands.push_back(i);
  }
  if (j.contains("error")) {
    c.error = j["error"];
    c.says = j["says"];
    return c;
  }
  c.dtypes = dtypes(j["dtypes"]);
  c.expected = tensor(j["expected"]);
  c.signed_zeros = j.value("signed_zeros", false);
  if (j.contains("rounding")) {
    const auto& r = j["rounding"];
    Rounding rounding{r["terms"], {}, r.value("wide", false)};
    for (const auto& m : r["magnitude"].is_array() ? r["magnitude"] : json::array({r["magnitude"]}))
      rounding.magnitude.push_back(number(m));
    c.rounding = std::move(rounding);
  }
  return c;
}

/// Of the sources, unless the environment knows better.
std::filesystem::path data_folder() {
  const char* named = std::getenv("STRATA_CONFORMANCE_DATA");
  return named ? named : STRATA_CONFORMANCE_DATA;
}

}  // namespace

std::vector<std::string> data_families() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(data_folder()))
    names.push_back(file.path().stem());
  std::ranges::sort(names);
  return names;
}

const std::vector<DataCase>& data_cases(const std::string& family) {
  static std::map<std::string, std::vector<DataCase>> read;
  const auto [entry, fresh] = read.try_emplace(family);
  if (!fresh) return entry->second;
  std::ifstream file(data_folder() / (family + ".json"));
  for (const auto& j : json::parse(file)) {
    try {
      entry->second.push_back(data_case(j));
      entry->second.back().name = j["name"];
    } catch (const std::exception& e) {
      throw std::runtime_error(family + ": " + j.value("name", "a case without a name") + ": " + e.what());
    }
  }
  return entry->second;
}

}  // namespace strata::conformance

#include "strata/npy.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "strata/error.hpp"

namespace strata::inline v0 {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

std::string_view descr_of(DType t) {
  switch (t) {
    case DType::f64:
      return "<f8";
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i64:
      return "<i8";
    case DType::i32:
      return "<i4";
    case DType::u8:
      return "|u1";
    case DType::boolean:
      return "|b1";
    case DType::bf16:
      break;
  }
  throw DTypeError("[save_npy] the .npy format has no name for bf16; cast to f32 first");
}

/// The header is a Python literal; NumPy writes it in one shape, so three look-ups by key are enough.
class Header {
 public:
  Header(std::string text, const std::string& path) : text_(std::move(text)), path_(path) {}

  DType dtype() const {
    const auto name = quoted("descr");
    for (int i = 0; i < dtype_count; ++i) {
      const auto t = static_cast<DType>(i);
      if (t != DType::bf16 && name.substr(1) == descr_of(t).substr(1) && name[0] != '>') return t;
    }
    throw ArgumentError(fmt::format("[load_npy] {}: arrays of type '{}' are not supported", path_, name));
  }
  bool fortran_order() const { return text_.compare(after("fortran_order"), 4, "True") == 0; }
  Shape shape() const {
    auto at = after("shape");
    if (text_[at] != '(') malformed("the shape is not a tuple");
    const auto close = text_.find(')', at);
    if (close == std::string::npos) malformed("the shape is not closed");
    Shape out;
    for (++at; at < close;) {
      if (text_[at] == ' ' || text_[at] == ',') {
        ++at;
        continue;
      }
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at, text_.data() + close, extent);
      if (error != std::errc() || extent < 0) malformed("the shape holds something other than extents");
      at = static_cast<std::size_t>(end - text_.data());
      out.push_back(extent);
    }
    return out;
  }
  [[noreturn]] void malformed(std::string_view why) const {
    throw ArgumentError(fmt::format("[load_npy] {} is not a well-formed .npy file: {}", path_, why));
  }

 private:
  std::size_t after(std::string_view key) const {
    auto at = text_.find("'" + std::string(key) + "'");
    if (at == std::string::npos) malformed(fmt::format("no '{}' in the header", key));
    at = text_.find_first_not_of(" :", at + key.size() + 2);
    if (at == std::string::npos) malformed(fmt::format("no value for '{}'", key));
    return at;
  }
  std::string quoted(std::string_view key) const {
    const auto at = after(key);
    const auto end = text_.find('\'', at + 1);
    if (text_[at] != '\'' || end == std::string::npos || end < at + 3) malformed("the type is not a string");
    return text_.substr(at + 1, end - at - 1);
  }

  std::string text_;
  const std::string& path_;
};

/// Fortran order to row-major.
void reorder(const std::byte* from, std::byte* to, const Shape& shape, std::size_t item) {
  const auto n = shape.product();
  Dims index = Dims::filled(shape.rank(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) offset = offset * shape[axis] + index[axis];
    std::memcpy(to + static_cast<std::size_t>(i) * item, from + static_cast<std::size_t>(offset) * item,
                item);
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
}

}  // namespace

TensorData load_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("[load_npy] cannot open {}: {}", path, std::strerror(errno)));
  char prefix[12];
  file.read(prefix, 10);
  const Header none("", path);
  if (!file || std::string_view(prefix, magic.size()) != magic)
    none.malformed("it does not begin with the magic string");
  const int version = prefix[6];
  const auto byte = [&](int i) { return static_cast<std::size_t>(static_cast<unsigned char>(prefix[i])); };
  std::size_t length = byte(8) | byte(9) << 8;
  if (version >= 2) {
    file.read(prefix + 10, 2);
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (!file || version < 1 || version > 3 || length > (1u << 20))
    none.malformed("unknown version or header length");
  std::string text(length, ' ');
  file.read(text.data(), static_cast<std::streamsize>(length));
  const Header header(text, path);
  if (!file) header.malformed("the header is cut off");
  const DType dtype = header.dtype();
  const Shape shape = header.shape();
  std::int64_t size = static_cast<std::int64_t>(size_of(dtype));
  for (auto extent : shape) {
    if (__builtin_mul_overflow(size, extent, &size)) header.malformed("the shape overflows");
  }
  const auto start = file.tellg();
  file.seekg(0, std::ios::end);
  if (file.tellg() - start < size) header.malformed("the data is cut off");
  file.seekg(start);
  auto bytes = TensorData::allocate(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.get()), size);
  if (!file) throw IoError(fmt::format("[load_npy] cannot read {}: {}", path, std::strerror(errno)));
  if (header.fortran_order() && shape.rank() > 1 && size > 0) {
    auto rows = TensorData::allocate(static_cast<std::size_t>(size));
    reorder(bytes.get(), rows.get(), shape, size_of(dtype));
    bytes = std::move(rows);
  }
  return {dtype, shape, std::move(bytes)};
}

void save_npy(const std::string& path, const TensorData& data) {
  std::string shape = "(";
  for (auto extent : data.shape()) shape += fmt::format("{},", extent);
  if (data.shape().rank() > 1) shape.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}), }}", descr_of(data.dtype()), shape);
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) throw IoError(fmt::format("[save_npy] cannot create {}: {}", path, std::strerror(errno)));
  const char prefix[4] = {1, 0, static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  file << magic;
  file.write(prefix, 4);
  file << header;
  file.write(reinterpret_cast<const char*>(data.bytes()), static_cast<std::streamsize>(data.byte_size()));
  file.close();
  if (!file) throw IoError(fmt::format("[save_npy] cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace strata::inline v0

#include "codegen/object_loader.hpp"

#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "strata/error.hpp"

namespace strata::codegen {
namespace {

[[noreturn]] void damaged(const char* what) {
  throw RuntimeError(std::string("compiled kernel: the object file is damaged: ") + what);
}

/// Bounds-checked view of an ELF file. Structures are copied out: nothing in the file need be aligned.
class Elf {
 public:
  explicit Elf(std::string_view bytes) : bytes_(bytes) {
    const auto h = read<Elf64_Ehdr>(0);
    if (std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) damaged("no ELF header");
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
      damaged("not 64-bit little-endian");
    if (h.e_type != ET_REL || h.e_machine != EM_X86_64) damaged("not a relocatable object for x86-64");
    if (h.e_shentsize != sizeof(Elf64_Shdr)) damaged("unknown section header size");
    for (std::uint64_t n = 0; n < h.e_shnum; ++n)
      sections_.push_back(read<Elf64_Shdr>(at(h.e_shoff, n, sizeof(Elf64_Shdr))));
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const Elf64_Shdr& section(std::uint64_t n) const {
    if (n >= sections_.size()) damaged("a section that does not exist");
    return sections_[n];
  }
  /// The bytes of a section that has some in the file.
  std::string_view content(const Elf64_Shdr& s) const {
    if (s.sh_offset > bytes_.size() || s.sh_size > bytes_.size() - s.sh_offset)
      damaged("a section beyond the end");
    return bytes_.substr(s.sh_offset, s.sh_size);
  }
  template <class T>
  std::vector<T> table(const Elf64_Shdr& s) const {
    const auto raw = content(s);
    if (raw.size() % sizeof(T) != 0) damaged("a table with a broken entry");
    std::vector<T> t(raw.size() / sizeof(T));
    if (!raw.empty()) std::memcpy(t.data(), raw.data(), raw.size());
    return t;
  }
  std::string_view name(const Elf64_Shdr& symbols, const Elf64_Sym& s) const {
    const auto strings = content(section(symbols.sh_link));
    if (s.st_name >= strings.size()) damaged("a name beyond the string table");
    const auto rest = strings.substr(s.st_name);
    const auto end = rest.find('\0');
    if (end == std::string_view::npos) damaged("a name without an end");
    return rest.substr(0, end);
  }

 private:
  static std::uint64_t at(std::uint64_t base, std::uint64_t n, std::uint64_t size) {
    if (base > std::numeric_limits<std::uint64_t>::max() - n * size) damaged("an offset beyond the end");
    return base + n * size;
  }
  template <class T>
  T read(std::uint64_t offset) const {
    if (bytes_.size() < sizeof(T) || offset > bytes_.size() - sizeof(T)) damaged("it ends too early");
    T t;
    std::memcpy(&t, bytes_.data() + offset, sizeof(T));
    return t;
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
};

bool takes_memory(const Elf64_Shdr& s) { return (s.sh_flags & SHF_ALLOC) != 0; }
bool is_undefined(const Elf64_Sym& s) {
  return s.st_shndx == SHN_UNDEF && ELF64_ST_BIND(s.st_info) != STB_LOCAL;
}

#if defined(__x86_64__)
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t most = std::uint64_t{256} << 20;

/// Where each section goes: its offset in the mapping.
struct Layout {
  std::vector<std::uint64_t> offsets;
  std::uint64_t total = 0;
};
Layout lay_out(const Elf& elf) {
  Layout l;
  for (const auto& s : elf.sections()) {
    l.offsets.push_back(0);
    if (!takes_memory(s)) continue;
    const std::uint64_t a = s.sh_addralign == 0 ? 1 : s.sh_addralign;
    if ((a & (a - 1)) != 0 || a > page) damaged("an alignment that is no power of two up to 4096");
    l.total = (l.total + a - 1) / a * a;
    l.offsets.back() = l.total;
    if (s.sh_size > most || l.total + s.sh_size > most) damaged("sections of more than 256 MiB");
    l.total += s.sh_size;
  }
  l.total = (l.total + page - 1) / page * page;
  if (l.total == 0) damaged("it has no code");
  return l;
}

/// Address of a symbol's definition relative to the mapping.
std::uint64_t place(const Elf& elf, const Layout& l, const Elf64_Sym& s) {
  const auto& section = elf.section(s.st_shndx);
  if (!takes_memory(section)) damaged("a symbol in a section without memory");
  if (s.st_value > section.sh_size) damaged("a symbol beyond its section");
  return l.offsets[s.st_shndx] + s.st_value;
}

void relocate(const Elf& elf, const Layout& l, char* base, const Elf64_Shdr& relocations) {
  const auto& target = elf.section(relocations.sh_info);
  if (!takes_memory(target)) return;  // debug information
  const auto& table = elf.section(relocations.sh_link);
  if (table.sh_type != SHT_SYMTAB) damaged("relocations without symbols");
  const auto symbols = elf.table<Elf64_Sym>(table);
  for (const auto& r : elf.table<Elf64_Rela>(relocations)) {
    if (ELF64_R_SYM(r.r_info) >= symbols.size()) damaged("a relocation against a symbol that does not exist");
    const auto& symbol = symbols[ELF64_R_SYM(r.r_info)];
    if (is_undefined(symbol))
      throw RuntimeError("compiled kernel: the object needs '" + std::string(elf.name(table, symbol)) +
                         "' from outside");
    const auto type = ELF64_R_TYPE(r.r_info);
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32 && type != R_X86_64_64)
      throw RuntimeError("compiled kernel: the object has a relocation of type " + std::to_string(type));
    const std::uint64_t width = type == R_X86_64_64 ? 8 : 4;
    if (target.sh_size < width || r.r_offset > target.sh_size - width)
      damaged("a relocation beyond its section");
    char* where = base + l.offsets[relocations.sh_info] + r.r_offset;
    auto value = reinterpret_cast<std::uint64_t>(base) + place(elf, l, symbol) +
                 static_cast<std::uint64_t>(r.r_addend);
    if (width == 4) {
      value -= reinterpret_cast<std::uint64_t>(where);
      const auto distance = static_cast<std::int64_t>(value);
      if (distance != static_cast<std::int32_t>(distance)) damaged("a relocation out of range");
    }
    std::memcpy(where, &value, width);
  }
}
#endif

}  // namespace

std::string undefined_symbols(std::string_view object) {
  const Elf elf(object);
  std::string names;
  for (const auto& s : elf.sections()) {
    if (s.sh_type != SHT_SYMTAB) continue;
    for (const auto& symbol : elf.table<Elf64_Sym>(s)) {
      if (!is_undefined(symbol)) continue;
      if (!names.empty()) names += ", ";
      names += elf.name(s, symbol);
    }
  }
  return names;
}

#if defined(__x86_64__)
LoadedObject::LoadedObject(std::string_view object) {
  const Elf elf(object);
  const auto layout = lay_out(elf);
  for (const auto& s : elf.sections()) {
    if (s.sh_type != SHT_SYMTAB) continue;
    for (const auto& symbol : elf.table<Elf64_Sym>(s))
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        functions_.push_back({std::string(elf.name(s, symbol)), place(elf, layout, symbol)});
  }
  void* p = mmap(nullptr, layout.total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw OutOfMemoryError("compiled kernel: no memory for " + std::to_string(layout.total) +
                           " bytes of code: " + std::strerror(errno));
  LoadedObject mapped(std::move(*this));  // unmaps when something below throws
  mapped.base_ = static_cast<char*>(p);
  mapped.size_ = layout.total;
  for (std::size_t n = 0; n < elf.sections().size(); ++n) {
    const auto& s = elf.sections()[n];
    if (!takes_memory(s) || s.sh_type == SHT_NOBITS) continue;
    const auto content = elf.content(s);
    if (!content.empty()) std::memcpy(mapped.base_ + layout.offsets[n], content.data(), content.size());
  }
  for (const auto& s : elf.sections())
    if (s.sh_type == SHT_RELA) relocate(elf, layout, mapped.base_, s);
  if (mprotect(mapped.base_, mapped.size_, PROT_READ | PROT_EXEC) != 0)
    throw RuntimeError(std::string("compiled kernel: the code cannot be made executable: ") +
                       std::strerror(errno));
  *this = std::move(mapped);
}
#else
LoadedObject::LoadedObject(std::string_view) {
  throw RuntimeError(
      "compiled kernel: host kernels are unavailable on this architecture, only x86-64 has a loader");
}
#endif

LoadedObject::~LoadedObject() {
  if (base_ != nullptr) munmap(base_, size_);
}
LoadedObject::LoadedObject(LoadedObject&& o) noexcept
    : base_(std::exchange(o.base_, nullptr)),
      size_(std::exchange(o.size_, 0)),
      functions_(std::move(o.functions_)) {}
LoadedObject& LoadedObject::operator=(LoadedObject&& o) noexcept {
  std::swap(base_, o.base_);
  std::swap(size_, o.size_);
  std::swap(functions_, o.functions_);
  return *this;
}

HostKernel LoadedObject::entry(std::string_view name) const {
  for (const auto& f : functions_)
    if (f.name == name) return reinterpret_cast<HostKernel>(base_ + f.offset);
  throw RuntimeError("compiled kernel: the object has no function '" + std::string(name) + "'");
}

}  // namespace strata::codegen

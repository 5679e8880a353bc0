#include "kernel/builder.hpp"

#include <utility>

#include "kernel/verify.hpp"
#include "strata/error.hpp"

namespace strata::kernel {
namespace {

thread_local Builder* current_builder = nullptr;

}  // namespace

Builder::Builder(std::string_view name, std::array<std::uint32_t, 3> cube_dim) : previous_(current_builder) {
  kernel_.name = name;
  kernel_.cube_dim = cube_dim;
  kernel_.types.reserve(256);
  constant_of_.reserve(256);
  open_.emplace_back();
  current_builder = this;
}

Builder::Builder(Kernel continued, Block& body) : kernel_(std::move(continued)), previous_(current_builder) {
  body = std::move(kernel_.body);
  kernel_.body = {};
  constant_of_.assign(kernel_.types.size(), -1);
  open_.emplace_back();
  current_builder = this;
}

Builder::~Builder() {
  if (open_for_recording_) current_builder = previous_;
}

Builder& Builder::current() {
  if (current_builder == nullptr) throw CompileError("no kernel is being built on this thread");
  return *current_builder;
}

void Builder::fail(std::string_view what) const {
  throw CompileError("kernel '" + kernel_.name + "': " + std::string(what));
}

ValueId Builder::new_value(Type t) {
  kernel_.types.push_back(t);
  constant_of_.push_back(-1);
  return static_cast<ValueId>(kernel_.types.size() - 1);
}

void Builder::mark_used(ValueId v) {
  if (const auto c = constant_of_[v]; c >= 0) constants_[static_cast<std::size_t>(c)].used = true;
}

Instruction& Builder::append(Opcode op, std::initializer_list<ValueId> operands) {
  for (const ValueId v : operands) {
    if (v >= kernel_.types.size()) fail(std::string(name_of(op)) + ": an operand is no value of this kernel");
    mark_used(v);
  }
  auto& list = open_.back().instructions;
  if (list.capacity() == 0) list.reserve(16);
  auto& i = list.emplace_back();
  i.opcode = op;
  i.operands = operands;
  return i;
}

Val Builder::emit(Opcode op, Type result, std::initializer_list<ValueId> operands, std::int64_t immediate,
                  MemoryId memory, std::uint8_t flags) {
  auto& i = append(op, operands);
  i.flags = flags;
  i.memory = memory;
  i.immediate = immediate;
  i.result = new_value(result);
  return {i.result, result};
}

void Builder::emit_void(Opcode op, std::initializer_list<ValueId> operands, std::int64_t immediate,
                        MemoryId memory, std::uint8_t flags) {
  auto& i = append(op, operands);
  i.flags = flags;
  i.memory = memory;
  i.immediate = immediate;
}

Val Builder::shuffle(Val a, Val b, std::vector<std::int32_t> lanes) {
  auto& i = append(Opcode::shuffle, {a.id, b.id});
  const Type result = make_type(a.scalar(), static_cast<int>(lanes.size()));
  i.indices = std::move(lanes);
  i.result = new_value(result);
  return {i.result, result};
}

void Builder::comment(std::string_view text) { append(Opcode::comment, {}).text = text; }

void Builder::begin_region() { open_.emplace_back(); }

void Builder::begin_region(Scalar argument) {
  open_.emplace_back();
  open_.back().argument = new_value(make_type(argument));
}

Block Builder::end_region() {
  Block b = std::move(open_.back());
  open_.pop_back();
  return b;
}

Val Builder::region_argument() const {
  const ValueId id = open_.back().argument;
  return value(id);
}

void Builder::control(Opcode op, std::initializer_list<ValueId> operands, std::vector<Block> regions,
                      std::uint8_t flags) {
  auto& i = append(op, operands);
  i.regions = std::move(regions);
  i.flags = flags;
}

Val Builder::constant(Type t, std::int64_t bits) {
  const ConstantKey key{t, bits};
  const auto [it, fresh] = constant_index_.try_emplace(key, static_cast<std::int32_t>(constants_.size()));
  if (fresh) {
    const ValueId id = new_value(t);
    constant_of_[id] = it->second;
    constants_.push_back({t, bits, id, false});
  }
  return {constants_[static_cast<std::size_t>(it->second)].id, t};
}

void Builder::record(Instruction instruction) {
  for (const ValueId v : instruction.operands) mark_used(v);
  open_.back().instructions.push_back(std::move(instruction));
}

Val Builder::record_anew(Instruction instruction, Type result) {
  instruction.result = new_value(result);
  record(std::move(instruction));
  return value(open_.back().instructions.back().result);
}

void Builder::begin_region_with(ValueId argument) {
  open_.emplace_back();
  open_.back().argument = argument;
}

Val Builder::adopt_constant(const Instruction& i) {
  const Type t = kernel_.types[i.result];
  const auto [it, fresh] =
      constant_index_.try_emplace({t, i.immediate}, static_cast<std::int32_t>(constants_.size()));
  if (fresh) {
    constant_of_[i.result] = it->second;
    constants_.push_back({t, i.immediate, i.result, false});
  }
  return {constants_[static_cast<std::size_t>(it->second)].id, t};
}

std::optional<std::int64_t> Builder::bits_of(Val v) const {
  if (v.id >= constant_of_.size() || constant_of_[v.id] < 0) return std::nullopt;
  return constants_[static_cast<std::size_t>(constant_of_[v.id])].bits;
}

Buffer Builder::global(std::string_view name, Scalar scalar, bool written) {
  if (kernel_.buffer_count() != kernel_.memories.size())
    fail("buffer '" + std::string(name) + "' must be declared before shared and local arrays");
  Memory m;
  m.space = Space::global;
  m.scalar = scalar;
  m.written = written;
  m.name = name;
  kernel_.memories.push_back(std::move(m));
  return {static_cast<MemoryId>(kernel_.memories.size() - 1), scalar};
}

Buffer Builder::array(Space space, std::string_view name, Scalar scalar, std::int64_t elements) {
  if (elements <= 0)
    fail("array '" + std::string(name) + "' needs a positive length, not " + std::to_string(elements));
  Memory m;
  m.space = space;
  m.scalar = scalar;
  m.length = elements;
  m.name = name;
  kernel_.memories.push_back(std::move(m));
  return {static_cast<MemoryId>(kernel_.memories.size() - 1), scalar};
}

Val Builder::scalar(std::string_view name, Scalar scalar) {
  kernel_.scalars.push_back({scalar, std::string(name)});
  return emit(Opcode::parameter, make_type(scalar), {},
              static_cast<std::int64_t>(kernel_.scalars.size() - 1));
}

int Builder::add_matrix_shape(const MatrixShape& shape) {
  auto& shapes = kernel_.matrix_shapes;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (shapes[i] == shape) return static_cast<int>(i);
  shapes.push_back(shape);
  return static_cast<int>(shapes.size() - 1);
}

Kernel Builder::finish() {
  if (!open_for_recording_) fail("finish() was called before");
  if (open_.size() != 1) fail("finish() inside a control-flow body");
  Block& body = open_.front();
  kernel_.body.instructions.reserve(body.instructions.size() + constants_.size());
  for (const auto& c : constants_) {
    if (!c.used) continue;
    auto& i = kernel_.body.instructions.emplace_back();
    i.opcode = Opcode::constant;
    i.result = c.id;
    i.immediate = c.bits;
  }
  for (auto& i : body.instructions) kernel_.body.instructions.push_back(std::move(i));
  open_.clear();
  current_builder = previous_;
  open_for_recording_ = false;
  verify(kernel_);
  return std::move(kernel_);
}

// --- memories

Val Index::value(Scalar literal_type) const {
  return is_literal_ ? constant(make_type(literal_type), literal_) : value_;
}

Element Buffer::operator[](Index i) const { return {*this, i.value()}; }

Val Buffer::length() const {
  auto& b = Builder::current();
  if (!b.is_global(id_)) return constant(make_type(Scalar::i64), b.length_of(id_));
  return b.emit(Opcode::length, make_type(Scalar::i64), {}, 0, id_);
}

Val Buffer::load(Index index, int lanes, const AccessOptions& o) const {
  auto& b = Builder::current();
  const Type t = make_type(scalar_, lanes);
  const ValueId at = index.value().id;
  if (!o.mask.present()) return b.emit(Opcode::load, t, {at}, 0, id_, o.flags);
  if (!o.other.present()) return b.emit(Opcode::load, t, {at, o.mask.id}, 0, id_, o.flags);
  return b.emit(Opcode::load, t, {at, o.mask.id, o.other.id}, 0, id_, o.flags);
}

void Buffer::store(Index index, Val value, const AccessOptions& o) const {
  auto& b = Builder::current();
  if (value.scalar() != scalar_)
    b.fail("store of " + to_string(value.type) + " to a memory of " + std::string(name_of(scalar_)));
  const ValueId at = index.value().id;
  if (o.mask.present())
    b.emit_void(Opcode::store, {at, value.id, o.mask.id}, 0, id_, o.flags);
  else
    b.emit_void(Opcode::store, {at, value.id}, 0, id_, o.flags);
}

Val Buffer::gather(Val indices, Val mask) const {
  auto& b = Builder::current();
  const Type t{scalar_, indices.type.lanes};
  if (mask.present()) return b.emit(Opcode::gather, t, {indices.id, mask.id}, 0, id_);
  return b.emit(Opcode::gather, t, {indices.id}, 0, id_);
}

void Buffer::scatter(Val indices, Val value, Val mask) const {
  auto& b = Builder::current();
  if (mask.present())
    b.emit_void(Opcode::scatter, {indices.id, value.id, mask.id}, 0, id_);
  else
    b.emit_void(Opcode::scatter, {indices.id, value.id}, 0, id_);
}

void Buffer::prefetch(Index index, bool for_writing) const {
  Builder::current().emit_void(Opcode::prefetch, {index.value().id}, for_writing ? 1 : 0, id_);
}

Val Buffer::load_matrix(Index row, bool transposed) const {
  return Builder::current().emit(Opcode::load_matrix, make_type(scalar_, is_half(scalar_) ? 8 : 4),
                                 {row.value().id}, transposed ? 1 : 0, id_);
}
void Buffer::copy_async(Index index, const Buffer& source, Index source_index, Val condition) const {
  auto& b = Builder::current();
  const ValueId at = index.value().id, from = source_index.value().id;
  if (condition.present())
    b.emit_void(Opcode::copy_async, {at, from, condition.id}, source.id(), id_);
  else
    b.emit_void(Opcode::copy_async, {at, from}, source.id(), id_);
}

Val Buffer::atomic_add(Index index, Val value) const {
  return Builder::current().emit(Opcode::atomic_add, make_type(scalar_), {index.value().id, value.id}, 0,
                                 id_);
}
Val Buffer::atomic_min(Index index, Val value) const {
  return Builder::current().emit(Opcode::atomic_min, make_type(scalar_), {index.value().id, value.id}, 0,
                                 id_);
}
Val Buffer::atomic_max(Index index, Val value) const {
  return Builder::current().emit(Opcode::atomic_max, make_type(scalar_), {index.value().id, value.id}, 0,
                                 id_);
}

const Element& Element::operator=(Val v) const {
  buffer_.store(index_, v);
  return *this;
}
const Element& Element::operator=(Literal v) const {
  buffer_.store(index_, constant(make_type(buffer_.scalar()), v));
  return *this;
}

Buffer shared_array(Scalar scalar, std::int64_t elements, std::string_view name) {
  return Builder::current().array(Space::shared, name, scalar, elements);
}
Buffer local_array(Scalar scalar, std::int64_t elements, std::string_view name) {
  return Builder::current().array(Space::local, name, scalar, elements);
}

Var::Var(Type t, std::string_view name) : memory_(local_array(t.scalar, t.lanes, name)), type_(t) {}
Var::Var(Val initial, std::string_view name) : Var(initial.type, name) { set(initial); }

Val Var::get() const { return memory_.load(0, type_.lanes, {.flags = aligned}); }
void Var::set(Val v) const {
  if (type_.lanes > 1 && v.lanes() == 1) v = splat(v, type_.lanes);
  if (v.type != type_)
    Builder::current().fail("variable of " + to_string(type_) + " set to a value of " + to_string(v.type));
  memory_.store(0, v, {.flags = aligned});
}
const Var& operator+=(const Var& v, Val x) { return v = v.get() + x; }
const Var& operator-=(const Var& v, Val x) { return v = v.get() - x; }
const Var& operator*=(const Var& v, Val x) { return v = v.get() * x; }
const Var& operator+=(const Var& v, Literal x) { return v = v.get() + x; }
const Var& operator-=(const Var& v, Literal x) { return v = v.get() - x; }
const Var& operator*=(const Var& v, Literal x) { return v = v.get() * x; }

// --- position, cube, plane, control flow

Val builtin(Builtin b) {
  return Builder::current().emit(Opcode::builtin, make_type(Scalar::i32), {}, static_cast<std::int64_t>(b));
}

Val absolute_pos() {
  const auto units = Builder::current().cube_dim()[0];
  const Val cube = convert(cube_x(), Scalar::i64);
  return units == 1 ? cube : cube * static_cast<std::int64_t>(units) + convert(unit_x(), Scalar::i64);
}

void barrier() { Builder::current().emit_void(Opcode::barrier, {}); }
Val plane_shuffle(Val v, Val source_lane) {
  return Builder::current().emit(Opcode::plane_shuffle, v.type, {v.id, source_lane.id});
}
Val plane_shuffle_xor(Val v, Val mask) {
  return Builder::current().emit(Opcode::plane_shuffle_xor, v.type, {v.id, mask.id});
}
Val plane_reduce_add(Val v) { return Builder::current().emit(Opcode::plane_reduce_add, v.type, {v.id}); }
Val plane_reduce_min(Val v) { return Builder::current().emit(Opcode::plane_reduce_min, v.type, {v.id}); }
Val plane_reduce_max(Val v) { return Builder::current().emit(Opcode::plane_reduce_max, v.type, {v.id}); }

Val matrix_multiply(const MatrixShape& shape, Val a, Val b, Val c) {
  auto& builder = Builder::current();
  return builder.emit(Opcode::matrix_multiply, c.type, {a.id, b.id, c.id}, builder.add_matrix_shape(shape));
}

void copy_commit() { Builder::current().emit_void(Opcode::copy_commit, {}); }
void copy_wait(int groups_under_way) {
  Builder::current().emit_void(Opcode::copy_wait, {}, groups_under_way);
}

void return_() { Builder::current().emit_void(Opcode::return_, {}); }
void comment(std::string_view text) { Builder::current().comment(text); }

namespace detail {

std::optional<bool> known(Val condition) {
  const auto bits = Builder::current().bits_of(condition);
  if (!bits) return std::nullopt;
  return *bits != 0;
}

void add_if(Val condition, std::vector<Block> regions) {
  if (regions.size() == 2 && regions[1].instructions.empty()) regions.pop_back();
  Builder::current().control(Opcode::if_, {condition.id}, std::move(regions), no_flags);
}

Loop make_loop(Index begin, Index end, Index step) {
  auto& b = Builder::current();
  const Scalar s = !begin.is_literal() ? begin.scalar() : !end.is_literal() ? end.scalar() : step.scalar();
  Loop l{begin.value(s), end.value(s), step.value(s)};
  if (const auto by = b.bits_of(l.step)) {
    if (*by <= 0) b.fail("for: step " + std::to_string(*by) + " is not positive");
    if (const auto from = b.bits_of(l.begin), to = b.bits_of(l.end); from && to) {
      l.empty = *from >= *to;
      l.single = !l.empty && *to - *from <= *by;
    }
  }
  return l;
}

Val begin_loop(const Loop& loop) {
  auto& b = Builder::current();
  b.begin_region(loop.begin.scalar());
  return b.region_argument();
}

void end_loop(const Loop& loop, std::uint8_t flags) {
  auto& b = Builder::current();
  std::vector<Block> regions;
  regions.push_back(b.end_region());
  b.control(Opcode::for_, {loop.begin.id, loop.end.id, loop.step.id}, std::move(regions), flags);
}

}  // namespace detail
}  // namespace strata::kernel

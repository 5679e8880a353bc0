/// Kernel IR to LLVM IR. What is common to all targets stands in `Lowering`; a target adds the entry
/// function, where memories and positions come from, and the instructions of its cubes and planes.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/traits.hpp"

namespace strata::codegen {

/// Why a kernel cannot be compiled; becomes a CompileError on the other side of the module's boundary.
struct LoweringError {
  std::string message;
};

/// Lowers one kernel into `module`. Halves live in LLVM as i16 and booleans as i1 (i8 in memory), so that no
/// back end ever has to make a decision, or a library call, about them.
class Lowering {
 public:
  using Value = llvm::Value;

  virtual ~Lowering() = default;
  Lowering(const Lowering&) = delete;
  /// Throws LoweringError.
  void run();

 protected:
  Lowering(const kernel::Kernel& kernel, llvm::Module& module);

  // What a target decides.
  /// Creates the function, sets `bases_`, `lengths_`, `parameters_`, `unit_end_`, and leaves the builder
  /// where the code of one unit starts.
  virtual void open() = 0;
  /// The builder stands in `unit_end_`.
  virtual void close() = 0;
  virtual Value* builtin(kernel::Builtin b) = 0;
  virtual void barrier() = 0;
  virtual Value* plane(const kernel::Instruction& i) = 0;
  virtual Value* minimum(Value* a, Value* b) = 0;  ///< floats; NaN if either is NaN
  virtual Value* maximum(Value* a, Value* b) = 0;
  virtual Value* matrix_unit(
      const kernel::Instruction& i);                        ///< matrix_multiply .. copy_wait; null: no result
  virtual Value* approximate(kernel::Opcode op, Value* a);  ///< exp2_fast, recip_fast
  virtual Value* widen_f16(Value* bits);                    ///< i16 to float
  virtual Value* narrow_f16(Value* x);                      ///< float to i16, nearest even
  virtual Value* narrow_bf16(Value* x);                     ///< as above
  virtual Value* scale_exponent(Value* x, Value* n);
  virtual bool has_prefetch() const = 0;
  /// Whether a vector may be loaded from any element's address at once.
  virtual bool loads_unaligned_vectors() const = 0;
  /// Instructions of an innermost loop's body up to which the back end may unroll it; other loops stay as
  /// they are.
  virtual std::size_t longest_unrolled_body() const = 0;
  /// Units run one after the other, so that shared memory needs no atomics.
  virtual bool units_are_serial() const = 0;

  // types
  llvm::Type* element_type(kernel::Scalar s);
  llvm::Type* memory_type(kernel::Scalar s);
  llvm::Type* type(kernel::Type t);
  llvm::Type* like(Value* shape, llvm::Type* element);  ///< `element` with as many lanes as `shape`
  static unsigned lanes_of(Value* v);

  // control
  void block(const kernel::Block& b);
  void instruction(const kernel::Instruction& i);
  void if_(const kernel::Instruction& i);
  void for_(const kernel::Instruction& i);
  void while_(const kernel::Instruction& i);
  void unrolled(const kernel::Instruction& i, std::int64_t begin, std::int64_t end, std::int64_t step);
  llvm::BasicBlock* new_block(const char* name);
  void move_to(llvm::BasicBlock* b) { builder_.SetInsertPoint(b); }
  void keep_rolled(llvm::Instruction* branch);
  Value* value(kernel::ValueId v) const { return values_[v]; }
  Value* operand(const kernel::Instruction& i, std::size_t n) const { return values_[i.operands[n]]; }
  kernel::Type type_of(kernel::ValueId v) const { return kernel_.types[v]; }

  // element-wise
  Value* constant(kernel::Type t, std::int64_t bits);
  Value* real(Value* shape, double x);           ///< float constant of the type of `shape`
  Value* integer(Value* shape, std::int64_t x);  ///< as above
  Value* elementwise(const kernel::Instruction& i);
  Value* arithmetic(kernel::Opcode op, kernel::Scalar s, Value* a, Value* b);
  Value* compare(kernel::Opcode op, kernel::Scalar s, Value* a, Value* b);
  Value* intrinsic(llvm::Intrinsic::ID id, Value* a);
  Value* mul_high(kernel::Scalar s, Value* a, Value* b);
  Value* convert(Value* x, kernel::Scalar from, kernel::Scalar to);
  Value* to_float(Value* x, kernel::Scalar from, kernel::Scalar to);
  Value* float_to_int(Value* x, kernel::Scalar to);
  Value* widen(Value* bits, kernel::Scalar half);  ///< half to float
  Value* narrow(Value* x, kernel::Scalar half);    ///< float to half

  // vectors
  Value* vector(const kernel::Instruction& i);
  Value* splat(Value* x, unsigned lanes);
  Value* lanes(Value* v, unsigned first, unsigned count);
  Value* lane_index(kernel::Type t);
  Value* reduce(kernel::Opcode op, kernel::Scalar s, Value* v);
  /// Cuts `v` (and `w`) into pieces of `width` lanes, the last one filled up, maps them and joins the
  /// results.
  Value* in_pieces(Value* v, Value* w, unsigned width, const std::function<Value*(Value*, Value*)>& f);

  // memory
  Value* memory(const kernel::Instruction& i);
  Value* load(const kernel::Instruction& i);
  void store(const kernel::Instruction& i);
  Value* gather(const kernel::Instruction& i);
  void scatter(const kernel::Instruction& i);
  void prefetch(const kernel::Instruction& i);
  Value* atomic(const kernel::Instruction& i);
  Value* exchange_loop(kernel::Opcode op, kernel::Scalar s, Value* address, Value* v);
  Value* address(kernel::MemoryId m, Value* index);
  Value* addresses(kernel::MemoryId m, Value* indices);
  Value* mask_operand(const kernel::Instruction& i, std::size_t n) const;
  llvm::Align alignment(const kernel::Instruction& i, unsigned lanes) const;
  Value* load_lanes(llvm::Type* type, Value* p);
  Value* from_memory(kernel::Scalar s, Value* v);
  Value* to_memory(kernel::Scalar s, Value* v);

  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail(const kernel::Instruction& i, std::string_view what) const;

  const kernel::Kernel& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* unit_end_ = nullptr;
  std::vector<Value*> values_;      ///< by ValueId
  std::vector<Value*> bases_;       ///< by MemoryId
  std::vector<Value*> lengths_;     ///< by buffer
  std::vector<Value*> parameters_;  ///< by scalar parameter
  unsigned depth_ = 0;              ///< loops around the builder's position
  bool streams_ = false;            ///< there are non-temporal stores
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> depths_;
};

}  // namespace strata::codegen

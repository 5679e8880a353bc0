#include "codegen/llvm/lowering.hpp"

namespace strata::codegen {

using kernel::Opcode;

Lowering::Lowering(const kernel::Kernel& kernel, llvm::Module& module)
    : kernel_(kernel),
      module_(module),
      builder_(module.getContext()),
      values_(kernel.types.size(), nullptr),
      bases_(kernel.memories.size(), nullptr) {}

void Lowering::fail(std::string_view what) const {
  throw LoweringError{"kernel '" + kernel_.name + "': " + std::string(what)};
}
void Lowering::fail(const kernel::Instruction& i, std::string_view what) const {
  fail(std::string(kernel::name_of(i.opcode)) + ": " + std::string(what));
}

void Lowering::run() {
  open();
  block(kernel_.body);
  builder_.CreateBr(unit_end_);
  move_to(unit_end_);
  close();
}

llvm::BasicBlock* Lowering::new_block(const char* name) {
  auto* b = llvm::BasicBlock::Create(module_.getContext(), name, function_);
  depths_[b] = depth_;
  return b;
}

/// Unrolling is the kernel author's decision: LLVM's own costs compile time and gains nothing.
void Lowering::keep_rolled(llvm::Instruction* branch) {
  auto& c = module_.getContext();
  llvm::Metadata* nodes[] = {nullptr,
                             llvm::MDNode::get(c, llvm::MDString::get(c, "llvm.loop.unroll.disable"))};
  auto* loop = llvm::MDNode::getDistinct(c, nodes);
  loop->replaceOperandWith(0, loop);
  branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void Lowering::block(const kernel::Block& b) {
  for (const auto& i : b.instructions) instruction(i);
}

void Lowering::instruction(const kernel::Instruction& i) {
  Value* result = nullptr;
  if (kernel::is_elementwise(i.opcode)) {
    result = elementwise(i);
  } else if (i.opcode >= Opcode::splat && i.opcode <= Opcode::reduce_max) {
    result = vector(i);
  } else if (i.opcode >= Opcode::load && i.opcode <= Opcode::atomic_max) {
    result = memory(i);
  } else {
    switch (i.opcode) {
      case Opcode::constant:
        result = constant(type_of(i.result), i.immediate);
        break;
      case Opcode::builtin:
        result = builtin(static_cast<kernel::Builtin>(i.immediate));
        break;
      case Opcode::parameter:
        result = parameters_[static_cast<std::size_t>(i.immediate)];
        break;
      case Opcode::length:
        result = lengths_[i.memory];
        break;
      case Opcode::lane_index:
        result = lane_index(type_of(i.result));
        break;
      case Opcode::barrier:
        barrier();
        break;
      case Opcode::plane_shuffle:
      case Opcode::plane_shuffle_xor:
      case Opcode::plane_reduce_add:
      case Opcode::plane_reduce_min:
      case Opcode::plane_reduce_max:
        result = plane(i);
        break;
      case Opcode::matrix_multiply:
      case Opcode::load_matrix:
      case Opcode::copy_async:
      case Opcode::copy_commit:
      case Opcode::copy_wait:
        result = matrix_unit(i);
        break;
      case Opcode::if_:
        if_(i);
        break;
      case Opcode::for_:
        for_(i);
        break;
      case Opcode::while_:
        while_(i);
        break;
      case Opcode::return_:
        builder_.CreateBr(unit_end_);
        move_to(new_block("after_return"));
        break;
      case Opcode::yield:
      case Opcode::comment:
        break;
      default:
        fail(i, "this target has no such instruction");
    }
  }
  if (i.result != kernel::no_value) values_[i.result] = result;
}

void Lowering::if_(const kernel::Instruction& i) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(operand(i, 0))) {
    if (known->isOne())
      block(i.regions[0]);
    else if (i.regions.size() > 1)
      block(i.regions[1]);
    return;
  }
  auto* then = new_block("then");
  auto* end = new_block("endif");
  auto* otherwise = i.regions.size() > 1 ? new_block("else") : end;
  builder_.CreateCondBr(operand(i, 0), then, otherwise);
  move_to(then);
  block(i.regions[0]);
  builder_.CreateBr(end);
  if (otherwise != end) {
    move_to(otherwise);
    block(i.regions[1]);
    builder_.CreateBr(end);
  }
  move_to(end);
}

namespace {
bool has_loop(const kernel::Block& block) {
  return std::ranges::any_of(block.instructions, [](const kernel::Instruction& i) {
    return i.opcode == Opcode::for_ || i.opcode == Opcode::while_ || std::ranges::any_of(i.regions, has_loop);
  });
}
std::size_t instructions_in(const kernel::Block& block) {
  std::size_t n = block.instructions.size();
  for (const auto& i : block.instructions) {
    for (const auto& region : i.regions) n += instructions_in(region);
  }
  return n;
}
}  // namespace

void Lowering::for_(const kernel::Instruction& i) {
  auto *begin = operand(i, 0), *end = operand(i, 1), *step = operand(i, 2);
  if ((i.flags & kernel::unroll) != 0) {
    auto* b = llvm::dyn_cast<llvm::ConstantInt>(begin);
    auto* e = llvm::dyn_cast<llvm::ConstantInt>(end);
    auto* s = llvm::dyn_cast<llvm::ConstantInt>(step);
    if (b == nullptr || e == nullptr || s == nullptr)
      fail(i, "only a loop with constant bounds can be unrolled");
    return unrolled(i, b->getSExtValue(), e->getSExtValue(), s->getSExtValue());
  }
  auto* before = builder_.GetInsertBlock();
  auto* done = new_block("done");
  ++depth_;
  auto* body = new_block("loop");
  builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), body, done);
  move_to(body);
  auto* counter = builder_.CreatePHI(begin->getType(), 2);
  counter->addIncoming(begin, before);
  values_[i.regions[0].argument] = counter;
  block(i.regions[0]);
  auto* next = builder_.CreateNSWAdd(counter, step);
  counter->addIncoming(next, builder_.GetInsertBlock());
  auto* again = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, done);
  if (instructions_in(i.regions[0]) > longest_unrolled_body() || has_loop(i.regions[0])) keep_rolled(again);
  --depth_;
  move_to(done);
}

void Lowering::unrolled(const kernel::Instruction& i, std::int64_t begin, std::int64_t end,
                        std::int64_t step) {
  constexpr std::int64_t most = 4096;
  if (step <= 0) fail(i, "the step is not positive");
  if (begin < end && (end - begin) / step > most) fail(i, "more than 4096 iterations cannot be unrolled");
  const auto counter = i.regions[0].argument;
  for (std::int64_t n = begin; n < end; n += step) {
    values_[counter] = constant(type_of(counter), n);
    block(i.regions[0]);
  }
}

void Lowering::while_(const kernel::Instruction& i) {
  auto* done = new_block("done");
  ++depth_;
  auto* head = new_block("while");
  auto* body = new_block("body");
  builder_.CreateBr(head);
  move_to(head);
  block(i.regions[0]);
  builder_.CreateCondBr(value(i.regions[0].instructions.back().operands[0]), body, done);
  move_to(body);
  block(i.regions[1]);
  keep_rolled(builder_.CreateBr(head));
  --depth_;
  move_to(done);
}

}  // namespace strata::codegen

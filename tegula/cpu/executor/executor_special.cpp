// Dot, RandomBits and Assert.

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {

Form Compiler::dot(const Instruction& self) {
  const View a = contiguous(self.operands[0]), b = contiguous(self.operands[1]), c = contiguous(self.operands[2]);
  const int out = new_tile(self.type.dtype, self.type.shape);
  state_.tiles.back().region = current_region();
  const auto slot = [&](int tile) { return state_.tiles[static_cast<std::size_t>(tile)].slot; };
  DotStep step;
  step.a = slot(a.tile), step.b = slot(b.tile), step.accumulator = slot(c.tile), step.out = slot(out);
  const int rank = self.type.shape.rank();
  step.rows = self.type.shape[rank - 2], step.columns = self.type.shape[rank - 1], step.inner = type(self.operands[0]).shape[rank - 1];
  step.products = rank == 3 ? self.type.shape[0] : 1;
  emit(body_level(), find_dot(self.type.dtype), step, {a.tile, b.tile, c.tile}, {out}, "t" + std::to_string(out) + " = dot");
  return dense({out, c.strides});
}

Form Compiler::random(const Instruction& self) {
  const Id index = self.operands[1];
  const Form& form = this->form(index);
  RandomStep step;
  step.seed = slot_of(this->form(self.operands[0]).scalar);
  step.count = numel(self.type.shape);
  if (self.type.shape.empty()) {
    const Scalar result = fresh_scalar(body_level());
    step.index = slot_of(form.scalar);
    step.consecutive = 1;
    step.out = address_of(result.slot);
    emit(body_level(), find_random(), step, {}, {}, "s" + std::to_string(result.slot) + " = random_bits").scalar = result.slot;
    return extended(result, DType::i32);
  }
  const int out = new_tile(DType::i32, self.type.shape);
  state_.tiles.back().region = current_region();
  step.out = state_.tiles.back().slot;
  const Strides dense_index = dense_strides(self.type.shape);
  bool consecutive = form.kind == Kind::Affine && form.offset.tile < 0;
  for (int i = 0; consecutive && i < self.type.shape.rank(); ++i) {
    const Scalar& stride = form.stride[static_cast<std::size_t>(i)];
    consecutive = self.type.shape[i] == 1 || (stride.known && stride.value == dense_index[i]);
  }
  std::vector<int> reads;
  if (consecutive) {
    step.consecutive = 1;
    step.index = slot_of(form.base);
  } else {
    const View view = contiguous(index);
    step.index = state_.tiles[static_cast<std::size_t>(view.tile)].slot;
    reads.push_back(view.tile);
  }
  emit(body_level(), find_random(), step, std::move(reads), {out}, "t" + std::to_string(out) + " = random_bits");
  Strides strides = dense_index;
  for (int i = 0; i < strides.rank(); ++i) {
    if (self.type.shape[i] == 1) strides[i] = 0;
  }
  return dense({out, strides});
}

void Compiler::check(const Instruction& self) {
  const Id condition = self.operands[0], value = self.operands[1];
  AssertStep step;
  step.id = self.attribute;
  std::vector<int> reads;
  const auto place = [&](Id id) {
    const View view = contiguous(id);
    reads.push_back(view.tile);
    return state_.tiles[static_cast<std::size_t>(view.tile)].slot;
  };
  const bool one = form(condition).kind == Kind::Uniform && form(value).kind == Kind::Uniform;
  step.count = one ? 1 : numel(type(condition).shape);
  step.condition = one ? address_of(slot_of(form(condition).scalar)) : place(condition);
  step.value_advances = form(value).kind != Kind::Uniform;
  step.value = step.value_advances ? place(value) : address_of(slot_of(form(value).scalar));
  emit(body_level(), host::check, step, std::move(reads), {}, "assert " + std::to_string(step.id));
}

}  // namespace tegula::host

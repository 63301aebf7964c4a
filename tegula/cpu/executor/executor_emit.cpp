// Slots, steps and integer scalars. Values known at compile time are computed here; others are computed in the outermost region where their operands exist.

#include <algorithm>
#include <bit>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"

namespace tegula::host {

int Compiler::new_slot() {
  state_.slots.push_back({});
  return static_cast<int>(state_.slots.size()) - 1;
}

int Compiler::constant_slot(std::uint64_t bits) {
  const auto [it, inserted] = state_.constants.try_emplace(bits, 0);
  if (inserted) {
    it->second = new_slot();
    state_.slots.back().integer = static_cast<std::int64_t>(bits);
  }
  return it->second;
}

int Compiler::slot_of(const Scalar& scalar) { return scalar.known ? constant_slot(static_cast<std::uint64_t>(scalar.value)) : scalar.slot; }

int Compiler::address_of(int slot) {
  const auto [it, inserted] = state_.addresses.try_emplace(slot, 0);
  if (inserted) it->second = new_slot();
  return it->second;
}

int Compiler::new_tile(DType dtype, const Shape& shape) {
  const int slot = new_slot(), home = new_slot();
  state_.tiles.push_back({dtype, shape, slot, home});
  return static_cast<int>(state_.tiles.size()) - 1;
}

Scalar Compiler::fresh_scalar(int level) { return {false, 0, new_slot(), level}; }

void Compiler::assign(const Scalar& to, const Scalar& from) {
  ScalarStep step;
  step.out = to.slot;
  step.a = slot_of(from);
  if (step.out == step.a) return;
  emit(body_level(), copy_scalar, step, {}, {}, "s" + std::to_string(step.out) + " = s" + std::to_string(step.a)).scalar = step.out;
}

Scalar Compiler::scalar_step(Run run, const Scalar& a, const Scalar& b, const Scalar& c, const char* text) {
  if (a.known && b.known && c.known) {
    Slot slots[4] = {{.integer = a.value}, {.integer = b.value}, {.integer = c.value}, {}};
    Frame frame{.slots = slots};
    ScalarStep step;
    step.a = 0, step.b = 1, step.c = 2, step.out = 3;
    run(&step, frame);
    return known(slots[3].integer);
  }
  ScalarStep step;
  step.a = slot_of(a), step.b = slot_of(b), step.c = slot_of(c);
  const auto [it, inserted] = state_.scalars.try_emplace({run, step.a, step.b, step.c});
  if (!inserted) return it->second;
  const Scalar result = fresh_scalar(std::max({a.level, b.level, c.level}));
  it->second = result;
  step.out = result.slot;
  const auto name = [](const Scalar& s, int slot) { return s.known ? std::to_string(s.value) : "s" + std::to_string(slot); };
  emit(result.level, run, step, {}, {},
       "s" + std::to_string(step.out) + " = " + text + " " + name(a, step.a) + " " + name(b, step.b) +
           (c.known ? "" : " " + name(c, step.c)))
      .scalar = step.out;
  return result;
}

Scalar Compiler::scalar_word(Word word, const Scalar& a, const Scalar& b, DType dtype) {
  if (dtype == DType::i64) {
    if (word == Word::Add && is_zero(a)) return b;
    if ((word == Word::Add || word == Word::Sub) && is_zero(b)) return a;
    if (word == Word::Mul && (is_zero(a) || is_zero(b))) return known(0);
    if (word == Word::Mul && a.known && a.value == 1) return b;
    if (word == Word::Mul && b.known && b.value == 1) return a;
  }
  const std::string text(name(word));
  return scalar_step(find_scalar(word, dtype), a, b, known(0), text.c_str());
}

Form Compiler::uniform(const Scalar& scalar) {
  Form form;
  form.kind = Kind::Uniform;
  form.scalar = scalar;
  return form;
}

Form Compiler::extended(const Scalar& scalar, DType dtype) {
  const Run run = dtype == DType::i32 ? extend_i32 : dtype == DType::u32 ? extend_u32 : dtype == DType::boolean ? extend_boolean : nullptr;
  return uniform(run == nullptr ? scalar : scalar_step(run, scalar, known(0), known(0), "extend"));
}

Form Compiler::dense(const View& view) {
  Form form;
  form.kind = Kind::Dense;
  form.view = view;
  return form;
}

}  // namespace tegula::host

// Gather and Histogram, and the words that take a text: InlineAsm, which runs its fallback, and Print.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"
#include "tegula/tile/printed.h"

namespace tegula::host {
namespace {

template <class T>
const Step* gather_along(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const PickStep*>(at);
  const T* x = reinterpret_cast<const T*>(frame.slots[step.in].pointer);
  const auto* places = reinterpret_cast<const std::int64_t*>(frame.slots[step.places].pointer);
  T* out = reinterpret_cast<T*>(frame.slots[step.out].pointer);
  for (std::int64_t o = 0; o < step.outer; ++o, x += step.length * step.inner) {
    for (std::int64_t k = 0; k < step.count; ++k) {
      for (std::int64_t i = 0; i < step.inner; ++i, ++places)
        *out++ = *places >= 0 && *places < step.length ? x[*places * step.inner + i] : T{};
    }
  }
  return following(step);
}

const Step* count_values(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const PickStep*>(at);
  const auto* x = reinterpret_cast<const std::int64_t*>(frame.slots[step.in].pointer);
  const std::byte* mask = step.places < 0 ? nullptr : frame.slots[step.places].pointer;
  auto* out = reinterpret_cast<std::int32_t*>(frame.slots[step.out].pointer);
  std::fill_n(out, step.count, 0);
  for (std::int64_t i = 0; i < step.length; ++i)
    if ((mask == nullptr || mask[i] != std::byte{0}) && x[i] >= 0 && x[i] < step.count) ++out[x[i]];
  return following(step);
}

tile::Text::Element read(DType dtype, const std::byte* place) {
  return visit(dtype, [&](auto zero) -> tile::Text::Element {
    using T = decltype(zero);
    T value;
    std::memcpy(&value, place, sizeof value);
    if constexpr (std::is_integral_v<T>) return {0, static_cast<std::int64_t>(value)};
    else return {as_double(value), 0};
  });
}

const Step* run_fallback(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const TextStep*>(at);
  std::byte* out = frame.slots[step.out].pointer;
  tile::Text::Element given[TextStep::kMost];
  const auto operands = static_cast<std::size_t>(step.operands);
  for (std::int64_t i = 0; i < step.count; ++i) {
    for (std::size_t k = 0; k < operands; ++k) {
      const auto dtype = static_cast<DType>(step.dtype[k]);
      given[k] = read(dtype, frame.slots[step.in[k]].pointer + (step.advances[k] != 0 ? i * static_cast<std::int64_t>(size_of(dtype)) : 0));
    }
    const tile::Text::Element result = step.text->fallback(std::span(given, operands));
    visit(static_cast<DType>(step.result), [&](auto zero) {
      using T = decltype(zero);
      T value;
      if constexpr (std::is_integral_v<T>) value = static_cast<T>(result.integer);
      else value = from_double<T>(result.real);
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    });
  }
  return following(step);
}

/// The text of a Print.
struct Shown : tile::Text {
  tile::PrintedWord word;
};

const Step* print_elements(const Step* at, Frame& frame) {
  const auto& step = *static_cast<const TextStep*>(at);
  const auto dtype = static_cast<DType>(step.dtype[0]);
  std::vector<tile::Text::Element> first;
  for (std::int64_t i = 0; i < std::min(step.count, tile::kMostPrinted); ++i)
    first.push_back(
        read(dtype, frame.slots[step.in[0]].pointer + (step.advances[0] != 0 ? i * static_cast<std::int64_t>(size_of(dtype)) : 0)));
  std::array<std::int64_t, 3> instance{};
  for (std::size_t axis = 0; axis < 3; ++axis) instance[axis] = frame.slots[step.ids[axis]].integer;
  tile::show_printed(static_cast<const Shown*>(step.text)->word, instance, first);
  return following(step);
}

}  // namespace

Form Compiler::gather_along(const Instruction& self) {
  const View in = contiguous(self.operands[0]), places = contiguous(self.operands[1]);
  const Shape& from = type(self.operands[0]).shape;
  const int axis = static_cast<int>(self.attribute);
  PickStep step;
  for (int k = 0; k < from.rank(); ++k) (k < axis ? step.outer : step.inner) *= k == axis ? 1 : from[k];
  step.length = from[axis], step.count = self.type.shape[axis];
  switch (size_of(self.type.dtype)) {
    case 1: return pick(self, host::gather_along<std::uint8_t>, step, in, places);
    case 8: return pick(self, host::gather_along<std::uint64_t>, step, in, places);
    default: return pick(self, host::gather_along<std::uint32_t>, step, in, places);
  }
}

Form Compiler::histogram(const Instruction& self) {
  PickStep step;
  step.length = numel(type(self.operands[0]).shape), step.count = self.type.shape[0];
  const View in = contiguous(self.operands[0]);
  return pick(self, count_values, step, in, self.operands.size() > 1 ? contiguous(self.operands[1]) : View{});
}

Form Compiler::pick(const Instruction& self, Run run, PickStep step, const View& in, const View& places) {
  const auto slot = [&](int tile) { return state_.tiles[static_cast<std::size_t>(tile)].slot; };
  std::vector<int> reads{in.tile};
  if (places.tile >= 0) reads.push_back(places.tile);
  View out{new_tile(self.type.dtype, self.type.shape), dense_strides(self.type.shape)};
  state_.tiles.back().region = current_region();
  step.in = slot(in.tile), step.out = slot(out.tile), step.places = places.tile < 0 ? -1 : slot(places.tile);
  emit(body_level(), run, step, std::move(reads), {out.tile}, "t" + std::to_string(out.tile) + " = " + std::string(tile::name(self.word)));
  for (int i = 0; i < self.type.shape.rank(); ++i) out.strides[i] = self.type.shape[i] == 1 ? 0 : out.strides[i];
  return dense(out);
}

/// Operand k in memory, or a scalar's slot.
void Compiler::text_operand(TextStep& step, std::size_t k, Id id, std::vector<int>& reads) {
  const bool uniform = form(id).kind == Kind::Uniform;
  if (!uniform) reads.push_back(contiguous(id).tile);
  step.in[k] = uniform ? address_of(slot_of(form(id).scalar)) : state_.tiles[static_cast<std::size_t>(reads.back())].slot;
  step.advances[k] = uniform ? 0 : 1;
  step.dtype[k] = static_cast<std::int32_t>(type(id).pointer ? DType::i64 : type(id).dtype);
}

const tile::Text* Compiler::keep_text(tile::Text text) {
  code_.texts.push_back(std::make_shared<const tile::Text>(std::move(text)));
  return code_.texts.back().get();
}

Form Compiler::inline_asm(const Instruction& self) {
  const tile::Text& text = program_.texts[static_cast<std::size_t>(self.attribute)];
  if (!text.fallback || self.operands.size() > TextStep::kMost) {
    throw Error({.op = "inline_asm_elementwise",
                 .got = "the PTX \"" + text.text + "\" on the CPU",
                 .expected = "a fallback that gives the same",
                 .advice = "give one behind the operands: [](const std::vector<double>& x) { return …; }",
                 .where = self.where});
  }
  TextStep step;
  step.text = keep_text(text);
  step.operands = static_cast<std::int32_t>(self.operands.size());
  step.result = static_cast<std::int32_t>(self.type.dtype);
  step.count = numel(self.type.shape);
  std::vector<int> reads;
  for (std::size_t k = 0; k < self.operands.size(); ++k) text_operand(step, k, self.operands[k], reads);
  if (self.type.shape.empty()) {
    const Scalar result = fresh_scalar(body_level());
    step.out = address_of(result.slot);
    emit(body_level(), run_fallback, step, std::move(reads), {}, "s" + std::to_string(result.slot) + " = inline_asm").scalar = result.slot;
    return extended(result, self.type.dtype);
  }
  View out{new_tile(self.type.dtype, self.type.shape), dense_strides(self.type.shape)};
  state_.tiles.back().region = current_region();
  step.out = state_.tiles.back().slot;
  emit(body_level(), run_fallback, step, std::move(reads), {out.tile}, "t" + std::to_string(out.tile) + " = inline_asm");
  for (int i = 0; i < self.type.shape.rank(); ++i) out.strides[i] = self.type.shape[i] == 1 ? 0 : out.strides[i];
  return dense(out);
}

void Compiler::print(const Instruction& self) {
  TextStep step;
  code_.texts.push_back(std::make_shared<const Shown>(Shown{{}, tile::printed_word(program_, self)}));
  step.text = code_.texts.back().get();
  step.operands = 1;
  step.count = numel(type(self.operands[0]).shape);
  std::vector<int> reads;
  text_operand(step, 0, self.operands[0], reads);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (code_.program_id[axis] < 0) code_.program_id[axis] = new_slot();
    step.ids[axis] = code_.program_id[axis];
  }
  emit(body_level(), print_elements, step, std::move(reads), {}, "print");
}

}  // namespace tegula::host

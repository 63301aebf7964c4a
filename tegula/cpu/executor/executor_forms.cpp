// Values that are not computed element by element: indices and addresses as base and strides, masks as boxes.

#include <algorithm>
#include <cstdlib>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"
#include "tegula/tile/facts/affine.h"
#include "tegula/tile/rules.h"

namespace tegula::host {

/// Slots are computed (affine.h) by steps of the instance. Limits are compared with indices: one that does not fit is beyond every axis.
struct Compiler::Slots {
  Compiler& compiler;

  static Scalar number(std::int64_t value) { return host::known(value); }
  static std::optional<std::int64_t> known(const Scalar& a) { return a.known ? std::optional(a.value) : std::nullopt; }
  Scalar add(const Scalar& a, const Scalar& b) const { return compiler.add(a, b); }
  Scalar multiply(const Scalar& a, const Scalar& b) const { return compiler.multiply(a, b); }
  Scalar limit(const Scalar& a, const Scalar& b) const {
    return compiler.is_zero(b) ? a : compiler.scalar_step(bounded_subtract, a, b, number(0), "bounded_subtract");
  }
  Scalar add_limit(const Scalar& a, const Scalar& b) const { return compiler.scalar_step(bounded_add, a, b, number(0), "bounded_add"); }
  std::optional<Scalar> quotient(const Scalar& a, std::int64_t step) const {
    return compiler.scalar_step(floor_divide, a, number(step), number(0), "floor_divide");
  }
};

/// The same everywhere: a Uniform.
Form Compiler::normalised(Form form) const {
  if (form.kind != Kind::Affine || form.offset.tile >= 0) return form;
  for (const Scalar& stride : form.stride) {
    if (!is_zero(stride)) return form;
  }
  Form result = uniform(form.base);
  result.root = form.root;
  return result;
}

std::optional<Form> Compiler::as_affine(const Form& form) const {
  if (form.kind == Kind::Affine) return form;
  Form result;
  result.kind = Kind::Affine;
  for (Scalar& stride : result.stride) stride = known(0);
  result.base = known(0);
  result.root = form.root;
  if (form.kind == Kind::Uniform) {
    result.base = form.scalar;
    return result;
  }
  if (form.kind != Kind::Dense) return std::nullopt;
  result.offset = form.view;
  return result;
}

/// a + sign * b. At most one of the two has offsets.
Form Compiler::sum(const Form& a, const Form& b, std::int64_t sign) {
  Form result = a.offset.tile >= 0 ? a : b;
  result.base = a.base, result.stride = a.stride;
  tile::add_affine(result, b, sign, Slots{*this});
  return normalised(result);
}

/// The form times the factor, without offsets.
Form Compiler::scaled(const Form& form, const Scalar& factor) {
  Form result = form;
  tile::scale_affine(result, factor, Slots{*this});
  return normalised(result);
}

/// i64 arithmetic that keeps the form; nothing where elements have to be computed.
std::optional<Form> Compiler::affine_word(const Instruction& self) {
  if (self.type.dtype != DType::i64 || self.type.pointer) return std::nullopt;
  const auto operand = [&](std::size_t i) { return form(self.operands[i]); };
  if (self.word == Word::Neg) {
    if (operand(0).kind != Kind::Affine || operand(0).offset.tile >= 0) return std::nullopt;
    return scaled(operand(0), known(-1));
  }
  if (self.word != Word::Add && self.word != Word::Sub && self.word != Word::Mul && self.word != Word::Shl) return std::nullopt;
  Form a = operand(0), b = operand(1);
  if (a.kind == Kind::None || b.kind == Kind::None) return std::nullopt;
  if (a.kind != Kind::Affine && b.kind != Kind::Affine) return std::nullopt;  // plain vector arithmetic
  const auto fa = as_affine(a), fb = as_affine(b);
  if (!fa || !fb) return std::nullopt;
  const bool offset_a = fa->offset.tile >= 0, offset_b = fb->offset.tile >= 0;
  switch (self.word) {
    case Word::Add:
      if (offset_a && offset_b) return std::nullopt;
      return sum(*fa, *fb, 1);
    case Word::Sub:
      if (offset_b) return std::nullopt;
      return sum(*fa, *fb, -1);
    case Word::Mul:
      if (a.kind == Kind::Uniform && !offset_b) return scaled(*fb, a.scalar);
      if (b.kind == Kind::Uniform && !offset_a) return scaled(*fa, b.scalar);
      return std::nullopt;
    default:  // Shl
      if (b.kind != Kind::Uniform || !b.scalar.known || b.scalar.value < 0 || b.scalar.value > 62 || offset_a) return std::nullopt;
      return scaled(*fa, known(std::int64_t{1} << b.scalar.value));
  }
}

/// pointer ± i64 offset, in bytes.
Form Compiler::move_pointer(const Instruction& self) {
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(self.type.dtype)) * (self.word == Word::Sub ? -1 : 1);
  Form pointer = *as_affine(form(self.operands[0]));
  Form offset = *as_affine(form(self.operands[1]));
  if (offset.offset.tile >= 0) {
    if (pointer.offset.tile >= 0) {  // two tiles of offsets: add them as addresses
      const tile::Type plain{DType::i64, false, self.type.shape};
      const Source sum[] = {source(self.operands[0]), source(self.operands[1])};
      const Source factor{address_of(slot_of(known(bytes))), -1, Dims::filled(plain.shape.rank(), 0), 8};
      const View scaled =
          map(static_cast<int>(Word::Mul), DType::i64, DType::i64, plain.shape, {sum[1], factor}, {DType::i64, DType::i64}, 0, "offsets");
      const Source places{state_.tiles[static_cast<std::size_t>(scaled.tile)].slot, scaled.tile, scaled.strides, 8};
      return *as_affine(dense(map(static_cast<int>(Word::Add), DType::i64, DType::i64, plain.shape, {sum[0], places},
                                  {DType::i64, DType::i64}, 0, "addresses")));
    }
    pointer.offset = offset.offset;
    pointer.scale = bytes * offset.scale;
  }
  tile::add_affine(pointer, offset, bytes, Slots{*this});
  return normalised(pointer);
}

/// A comparison of affine values that vary along one axis with a stride known now; where they are to be equal, with a stride of 1 or -1.
std::optional<Form> Compiler::compare_box(const Instruction& self) {
  if (self.word < Word::Eq || self.word > Word::Ge || self.word == Word::Ne) return std::nullopt;
  if (type(self.operands[0]).dtype != DType::i64 || type(self.operands[0]).pointer) return std::nullopt;
  const auto a = as_affine(form(self.operands[0])), b = as_affine(form(self.operands[1]));
  if (!a || !b || a->offset.tile >= 0 || b->offset.tile >= 0) return std::nullopt;
  Form box;
  box.kind = Kind::Box;
  const bool equal = self.word == Word::Eq;
  for (const Word word : {equal ? Word::Ge : self.word, equal ? Word::Le : self.word}) {
    const auto side = tile::side_of(word, *a, *b, kMaxAxes, Slots{*this}, equal ? 1 : 0);
    if (!side) return std::nullopt;
    (side->below ? box.high : box.low)[static_cast<std::size_t>(side->axis)] = {true, side->limit};
    if (!equal) break;
  }
  return box;
}

/// The intersection of two boxes, or of a box and a scalar.
std::optional<Form> Compiler::boolean_box(const Instruction& self) {
  if (self.word != Word::And || self.type.dtype != DType::boolean) return std::nullopt;
  Form a = form(self.operands[0]), b = form(self.operands[1]);
  if (a.kind == Kind::Uniform) std::swap(a, b);
  if (a.kind != Kind::Box) return std::nullopt;
  if (b.kind == Kind::Uniform) {
    const Scalar size = multiply(b.scalar, known(self.type.shape[0]));
    a.high[0] = {true, a.high[0].set ? scalar_word(Word::Min, a.high[0].value, size) : size};
    return a;
  }
  if (b.kind != Kind::Box) return std::nullopt;
  for (std::size_t i = 0; i < kMaxAxes; ++i) {
    if (b.low[i].set) a.low[i] = {true, a.low[i].set ? scalar_word(Word::Max, a.low[i].value, b.low[i].value) : b.low[i].value};
    if (b.high[i].set) a.high[i] = {true, a.high[i].set ? scalar_word(Word::Min, a.high[i].value, b.high[i].value) : b.high[i].value};
  }
  return a;
}

/// The form under other axes: axis i of the result is axis source_axis[i] of `from`, or new where that is -1. Axes of size 1 may grow.
Form Compiler::with_axes(const Form& form, const Shape& to, const std::array<int, kMaxAxes>& source_axis, const Shape& from) {
  Form result = form;
  const auto view = [&](const View& old) {
    View moved{old.tile, Dims::filled(to.rank(), 0)};
    for (int i = 0; i < to.rank(); ++i) {
      if (const int s = source_axis[static_cast<std::size_t>(i)]; s >= 0 && from[s] == to[i]) moved.strides[i] = old.strides[s];
    }
    return moved;
  };
  if (form.kind == Kind::Dense) result.view = view(form.view);
  if (form.offset.tile >= 0) result.offset = view(form.offset);
  for (int i = 0; i < kMaxAxes; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const int s = i < to.rank() ? source_axis[k] : -1;
    result.stride[k] = known(0);
    result.low[k] = result.high[k] = {};
    if (s < 0) continue;
    const auto old = static_cast<std::size_t>(s);
    if (from[s] == to[i]) {
      result.stride[k] = to[i] == 1 ? known(0) : form.stride[old];
      result.low[k] = form.low[old], result.high[k] = form.high[old];
      continue;
    }
    // An axis of size 1 grows: its bounds let in everything or nothing.
    const auto grown = [&](const Bound& bound) -> Bound {
      if (!bound.set) return {};
      return {true, multiply(scalar_word(Word::Min, scalar_word(Word::Max, bound.value, known(0)), known(1)), known(to[i]))};
    };
    result.low[k] = grown(form.low[old]), result.high[k] = grown(form.high[old]);
  }
  return normalised(result);
}

/// Affine values whose axes are split, or joined where the strides run through; nothing where they do not.
std::optional<Form> Compiler::split_axes(const Form& form, const Shape& from, const Shape& to) {
  if (form.offset.tile >= 0) return std::nullopt;
  Strides strides = Dims::filled(from.rank(), 0);
  int varying = -1;
  for (int i = 0; i < from.rank(); ++i) {
    if (is_zero(form.stride[static_cast<std::size_t>(i)])) continue;
    if (varying >= 0) return std::nullopt;
    varying = i;
  }
  if (varying < 0) return std::nullopt;
  strides[varying] = 1;
  const auto layout = tegula::reshape(Layout{from, strides, 0}, to);
  if (!layout) return std::nullopt;
  Form result = form;
  for (int i = 0; i < kMaxAxes; ++i) {
    const std::int64_t factor = i < to.rank() && to[i] > 1 ? layout->strides[i] : 0;
    result.stride[static_cast<std::size_t>(i)] = multiply(form.stride[static_cast<std::size_t>(varying)], known(factor));
  }
  return normalised(result);
}

Form Compiler::reshaped(const Instruction& self) {
  const Shape &from = type(self.operands[0]).shape, &to = self.type.shape;
  const Form& old = form(self.operands[0]);
  if (old.kind == Kind::Uniform) return old;
  static_assert(kMaxAxes >= tile::kMaxTileRank);
  std::array<int, kMaxAxes> axes;
  axes.fill(-1);
  switch (self.word) {
    case Word::Broadcast:
      for (int i = 0; i < from.rank(); ++i) axes[static_cast<std::size_t>(i)] = i;
      return with_axes(old, to, axes, from);
    case Word::ExpandDims:
      for (int i = 0; i < to.rank(); ++i) axes[static_cast<std::size_t>(i)] = i == self.attribute ? -1 : i - (i > self.attribute);
      return with_axes(old, to, axes, from);
    case Word::Transpose: axes[0] = 1, axes[1] = 0; return with_axes(old, to, axes, from);
    default: break;
  }
  if (to.empty()) {  // one element as a scalar
    const View view = in_memory(self.operands[0]);
    const Tile tile = state_.tiles[static_cast<std::size_t>(view.tile)];
    const Scalar scalar = fresh_scalar(body_level());
    Form place = uniform({false, 0, tile.slot, body_level()});
    BlockStep step = block(place, {}, {1});
    step.rows = step.fill_rows = &load_rows(self.type.pointer ? DType::i64 : self.type.dtype);
    step.tile = step.home = address_of(scalar.slot);
    emit(body_level(), load_block, step, {view.tile}, {}, "s" + std::to_string(scalar.slot) + " = t" + std::to_string(view.tile)).scalar =
        scalar.slot;
    return extended(scalar, self.type.pointer ? DType::i64 : self.type.dtype);
  }
  if (old.kind == Kind::Affine) {
    if (auto form = split_axes(old, from, to)) return *form;
  }
  const View view = in_memory(self.operands[0]);
  const auto layout = tegula::reshape(Layout{from, view.strides, 0}, to);
  View result{view.tile, layout ? layout->strides : dense_strides(to)};
  if (!layout) result.tile = contiguous(self.operands[0]).tile;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] == 1) result.strides[i] = 0;
  }
  if (self.type.pointer) return *as_affine(dense(result));
  return dense(result);
}

}  // namespace tegula::host

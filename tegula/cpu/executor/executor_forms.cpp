// Values that are not computed element by element: indices and addresses as base and strides, masks as boxes.

#include <algorithm>
#include <cstdlib>

#include "tegula/cpu/executor/executor_compile.h"
#include "tegula/cpu/executor/executor_steps.h"
#include "tegula/tile/rules.h"

namespace tegula::host {

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

/// At most one of the two has offsets, and they agree in scale where both have a part that is scaled.
Form Compiler::add_affine(const Form& a, const Form& b) {
  Form result = a.offset.tile >= 0 ? a : b;
  result.base = add(a.base, b.base);
  for (int i = 0; i < kMaxAxes; ++i) result.stride[i] = add(a.stride[i], b.stride[i]);
  return normalised(result);
}

/// Without offsets.
Form Compiler::scaled(const Form& form, const Scalar& factor) {
  Form result = form;
  result.base = multiply(form.base, factor);
  for (int i = 0; i < kMaxAxes; ++i) result.stride[i] = multiply(form.stride[i], factor);
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
      return add_affine(*fa, *fb);
    case Word::Sub:
      if (offset_b) return std::nullopt;
      {
        Form minus = *fb;
        minus.base = multiply(minus.base, known(-1));
        for (Scalar& stride : minus.stride) stride = multiply(stride, known(-1));
        return add_affine(*fa, minus);
      }
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
  pointer.base = add(pointer.base, multiply(offset.base, known(bytes)));
  for (int i = 0; i < kMaxAxes; ++i) pointer.stride[i] = add(pointer.stride[i], multiply(offset.stride[i], known(bytes)));
  return normalised(pointer);
}

/// A comparison of affine values that vary along one axis with a stride known now.
std::optional<Form> Compiler::compare_box(const Instruction& self) {
  if (self.word < Word::Eq || self.word > Word::Ge || self.word == Word::Ne) return std::nullopt;
  if (type(self.operands[0]).dtype != DType::i64 || type(self.operands[0]).pointer) return std::nullopt;
  const auto a = as_affine(form(self.operands[0])), b = as_affine(form(self.operands[1]));
  if (!a || !b || a->offset.tile >= 0 || b->offset.tile >= 0) return std::nullopt;
  int axis = -1;
  std::int64_t step = 0;
  for (int i = 0; i < kMaxAxes; ++i) {
    const Scalar &sa = a->stride[i], &sb = b->stride[i];
    if (!sa.known || !sb.known) return std::nullopt;
    if (sa.value == sb.value) continue;
    if (axis >= 0) return std::nullopt;
    axis = i;
    step = sa.value - sb.value;
  }
  if (axis < 0) return std::nullopt;
  // index·step < limit, and likewise for the other words; a negative step turns both sides around.
  Word word = self.word;
  // Numbers of any size are compared with indices: one that does not fit is beyond every axis.
  const auto sum = [&](const Scalar& x, const Scalar& y) {
    return is_zero(y) ? x : scalar_step(bounded_add, x, y, known(0), "bounded_add");
  };
  Scalar limit = is_zero(a->base) && step > 0 ? b->base : scalar_step(bounded_subtract, b->base, a->base, known(0), "bounded_subtract");
  if (step < 0) {
    step = -step;
    limit = multiply(limit, known(-1));
    word = word == Word::Lt ? Word::Gt : word == Word::Le ? Word::Ge : word == Word::Gt ? Word::Lt : word == Word::Ge ? Word::Le : word;
  }
  if (word == Word::Eq && step != 1) return std::nullopt;
  const auto floor = [&](const Scalar& x) { return step == 1 ? x : scalar_step(floor_divide, x, known(step), known(0), "floor_divide"); };
  const auto up_to = [&] { return Bound{true, floor(sum(limit, known(step - 1)))}; };  // the first index with index·step >= limit
  const auto beyond = [&] { return Bound{true, sum(floor(limit), known(1))}; };         // the first index with index·step > limit
  Form box;
  box.kind = Kind::Box;
  Bound &low = box.low[static_cast<std::size_t>(axis)], &high = box.high[static_cast<std::size_t>(axis)];
  if (word == Word::Lt) high = up_to();
  if (word == Word::Le || word == Word::Eq) high = beyond();
  if (word == Word::Gt) low = beyond();
  if (word == Word::Ge || word == Word::Eq) low = up_to();
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

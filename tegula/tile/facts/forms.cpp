// Values that are not computed element by element.

#include "tegula/tile/facts/facts.h"

#include <algorithm>
#include <bit>

#include "tegula/tile/facts/affine.h"

namespace tegula::tile {
namespace {

/// How terms are computed (affine.h).
struct Terms {
  static Term number(std::int64_t value) { return Term::number(value); }
  static Term add(const Term& a, const Term& b) { return tile::add(a, b); }
  static Term multiply(const Term& a, const Term& b) { return tile::multiply(a, b); }
  static std::optional<std::int64_t> known(const Term& a) { return a.known() ? std::optional(a.value) : std::nullopt; }
  static Term limit(const Term& a, const Term& b) { return subtract_for_limit(a, b); }
  static Term add_limit(const Term& a, const Term& b) { return tile::add(a, b); }
  static std::optional<Term> quotient(const Term& a, std::int64_t step) { return tile::quotient(a, step); }
};

Form affine_form(int rank) {
  Form form;
  form.kind = Form::Kind::Affine;
  form.stride.assign(static_cast<std::size_t>(rank), Term{});
  return form;
}

}  // namespace

Form Facts::affine(Id id) const {
  const Type& type = program_[id].type;
  if (form(id).kind == Form::Kind::Affine) return form(id);
  Form result = affine_form(type.shape.rank());
  if (type.shape.rank() > 0) {
    while (!apart(type.shape) && program_[id].word == Word::Broadcast &&
           type.shape.rank() == program_[program_[id].operands[0]].type.shape.rank())
      id = program_[id].operands[0];
    result.rest = id;
  } else if (type.pointer) {
    result.root = id;
  } else {
    const Instruction& self = program_[id];
    if (self.word == Word::Constant) result.base = Term::number(self.integer);
    else result.base = Term::scalar(resolve(id), twos(id), bits(id));
  }
  return result;
}

Form Facts::box(Id id) const {
  if (form(id).kind == Form::Kind::Box) return form(id);
  Form result;
  result.kind = Form::Kind::Box;
  const int rank = program_[id].type.shape.rank();
  while (program_[id].word == Word::Broadcast &&
         ((!apart(program_[id].type.shape) && program_[program_[id].operands[0]].type.shape.rank() == rank) ||
          program_[program_[id].operands[0]].type.shape.empty())) {
    id = program_[id].operands[0];
  }
  if (form(id).kind == Form::Kind::Box) return form(id);
  if (program_[id].type.shape.empty()) result.conditions.push_back({Condition::Kind::Uniform, 0, {}, id});
  else result.conditions.push_back({Condition::Kind::Tile, 0, {}, id});
  return result;
}

Form Facts::derive(const Instruction& self) const {
  const bool index_like = self.type.pointer || self.type.dtype == DType::i64;
  switch (self.word) {
    case Word::Broadcast:
    case Word::ExpandDims: return derive_shape(self);
    case Word::Hint: return derive_hint(self);
    case Word::Arange: {
      Form form = affine_form(1);
      form.base = Term::number(self.attribute);
      form.stride[0] = Term::number(self.type.shape[0] == 1 ? 0 : 1);
      return form;
    }
    case Word::Constant: {
      if (!index_like) return {};
      Form form = affine_form(self.type.shape.rank());
      form.base = Term::number(self.integer);
      return form;
    }
    case Word::Add:
    case Word::Sub: return index_like ? derive_sum(self) : Form{};
    case Word::Mul:
    case Word::Neg:
    case Word::Shl: return index_like ? derive_product(self) : Form{};
    case Word::Lt:
    case Word::Le:
    case Word::Gt:
    case Word::Ge: return derive_comparison(self);
    case Word::And: {
      if (self.type.dtype != DType::boolean) return {};
      if (form(self.operands[0]).kind != Form::Kind::Box && form(self.operands[1]).kind != Form::Kind::Box) return {};
      Form form = box(self.operands[0]);
      for (const Condition& condition : box(self.operands[1]).conditions) form.conditions.push_back(condition);
      return form;
    }
    default: return {};
  }
}

Form Facts::derive_shape(const Instruction& self) const {
  const Id from = self.operands[0];
  const Shape& old = type(from).shape;
  const Shape& shape = self.type.shape;
  const bool index_like = self.type.pointer || self.type.dtype == DType::i64;
  const bool expand = self.word == Word::ExpandDims;
  const auto moved = [&](int axis) { return axis + (expand && axis >= self.attribute); };
  if (index_like && (old.empty() || form(from).kind == Form::Kind::Affine)) {
    Form form = affine(from);
    if (form.rest >= 0 && (expand || apart(shape))) return {};
    Form result = affine_form(shape.rank());
    result.root = form.root, result.base = form.base, result.rest = form.rest;
    for (int axis = 0; axis < old.rank(); ++axis) {
      if (old[axis] != 1) result.stride[static_cast<std::size_t>(moved(axis))] = form.stride[static_cast<std::size_t>(axis)];
    }
    return result;
  }
  if (self.type.dtype != DType::boolean || form(from).kind != Form::Kind::Box) return {};
  Form result;
  result.kind = Form::Kind::Box;
  for (Condition condition : form(from).conditions) {
    if (condition.kind == Condition::Kind::Tile && (expand || apart(shape))) return {};
    if (condition.kind == Condition::Kind::Below || condition.kind == Condition::Kind::AtLeast) {
      if (condition.axis >= 0) condition.axis = old[condition.axis] == 1 ? -1 /* coordinate 0 decides for all */ : moved(condition.axis);
    }
    result.conditions.push_back(condition);
  }
  return result;
}

/// What counts up by 1 from a multiple of a number on has that as its base; where it does not, each element is one.
Form Facts::derive_hint(const Instruction& self) const {
  Form result = form(self.operands[0]);
  if (result.kind != Form::Kind::Affine || self.attribute != static_cast<std::int64_t>(HintKind::MultipleOf) || result.rest >= 0)
    return result;
  const int unit = self.type.pointer ? std::countr_zero(size_of(self.type.dtype)) : 0,
            twos = std::max(0, Term::number(self.attribute2).twos - unit);
  if (result.root >= 0) return result;  // the address is the root's and the base's together
  result.base.twos = std::max(result.base.twos, twos);
  if (!result.stride.back().is(1))
    for (Term& stride : result.stride) stride.twos = std::max(stride.twos, twos);
  return result;
}

Form Facts::derive_sum(const Instruction& self) const {
  Form a = affine(self.operands[0]), b = affine(self.operands[1]);
  const bool minus = self.word == Word::Sub;
  if (form(self.operands[0]).kind != Form::Kind::Affine && form(self.operands[1]).kind != Form::Kind::Affine && a.rest >= 0 && b.rest >= 0)
    return {};
  if ((a.rest >= 0 && b.rest >= 0) || (minus && b.rest >= 0) || (a.root >= 0 && b.root >= 0)) return {};
  if (a.rest >= 0 && a.base.is(0) && b.rest < 0 && !self.type.pointer && a.root < 0) {
    // Computed elements plus a scalar are computed elements, unless there is a coordinate to keep apart.
    bool varies = false;
    for (const Term& stride : b.stride) varies = varies || !stride.is(0);
    for (const Term& stride : a.stride) varies = varies || !stride.is(0);
    if (!varies) return {};
  }
  Form result = affine_form(self.type.shape.rank());
  result.root = std::max(a.root, b.root);
  result.rest = std::max(a.rest, b.rest);
  add_affine(result, a, 1, Terms());
  add_affine(result, b, minus ? -1 : 1, Terms());
  return result;
}

Form Facts::derive_product(const Instruction& self) const {
  if (self.type.pointer) return {};
  Form a = affine(self.operands[0]);
  Term factor = Term::number(-1);
  if (self.word == Word::Mul || self.word == Word::Shl) {
    Form b = affine(self.operands[1]);
    const auto uniform = [](const Form& form) {
      return form.rest < 0 && std::all_of(form.stride.begin(), form.stride.end(), [](const Term& stride) { return stride.is(0); });
    };
    if (self.word == Word::Mul && !uniform(b)) std::swap(a, b);
    if (!uniform(b)) return {};
    factor = b.base;
    if (self.word == Word::Shl) {
      if (!factor.known() || factor.value < 0 || factor.value > 62) return {};
      factor = Term::number(std::int64_t{1} << factor.value);
    }
  }
  if (a.rest >= 0) return {};
  scale_affine(a, factor, Terms());
  a.stride.resize(static_cast<std::size_t>(self.type.shape.rank()));
  return a;
}

/// Comparisons that say on which side of a limit one coordinate lies.
Form Facts::derive_comparison(const Instruction& self) const {
  if (type(self.operands[0]).dtype != DType::i64 || type(self.operands[0]).pointer) return {};
  const Form a = affine(self.operands[0]), b = affine(self.operands[1]);
  if (a.rest >= 0 || b.rest >= 0) return {};
  const auto side = side_of(self.word, a, b, self.type.shape.rank(), Terms());
  if (!side) return {};
  Form form;
  form.kind = Form::Kind::Box;
  form.conditions.push_back({side->below ? Condition::Kind::Below : Condition::Kind::AtLeast, side->axis, side->limit, -1});
  return form;
}

}  // namespace tegula::tile

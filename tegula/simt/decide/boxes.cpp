#include "tegula/simt/decide/boxes.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace tegula::gpu {

using simt::TensorMap;
using tile::Id;
using tile::Word;

namespace {

constexpr int kLineBytes = 16;  // of which addresses and strides of tensors are multiples

bool is_product_by(const Term& term, std::int64_t factor) { return term.kind == Term::Kind::Product && (*term.operands)[0].is(factor); }

void split(const Term& sum, std::vector<Term>& addends) {
  if (sum.kind == Term::Kind::Sum) {
    for (const Term& one : *sum.operands) split(one, addends);
  } else if (!sum.is(0)) {
    addends.push_back(sum);
  }
}
std::vector<Term> addends_of(const Term& sum) {
  std::vector<Term> addends;
  split(sum, addends);
  return addends;
}

class Finder {
 public:
  explicit Finder(const Analysis& analysis) : a_(analysis) {}

  std::optional<TensorBox> find(Id load, int along) const {
    const tile::Instruction& self = a_[load];
    const Form pointer = from_parameter(a_.affine(self.operands[0])), mask = self.operands.size() > 1 ? a_.box(self.operands[1]) : Form();
    if (pointer.root < 0 || pointer.rest >= 0 || pointer.stride.size() != 2 || a_[pointer.root].word != Word::Parameter) return {};
    const auto across = static_cast<std::size_t>(1 - along);
    const auto x = side_of(mask, along, self.type.shape), y = side_of(mask, 1 - along, self.type.shape);
    const auto stride = size_of(pointer.stride[across]);
    const DType dtype = a_.type(self.operands[0]).dtype;
    const int line = std::countr_zero(static_cast<unsigned>(kLineBytes / static_cast<int>(tegula::size_of(dtype))));
    if (!x || !y || !stride || !pointer.stride[static_cast<std::size_t>(along)].is(1)) return {};
    if (pointer.stride[across].twos < line || a_.twos(pointer.root) < line) return {};
    auto rest = without(pointer.base, x->first, y->first, pointer.stride[across]);
    if (!rest) return {};
    TensorBox box{.x = x->first, .y = y->first, .planes = {}, .map = {}};
    box.map.pointer = static_cast<int>(a_[pointer.root].attribute), box.map.dtype = dtype;
    box.map.columns = x->last, box.map.rows = y->last, box.map.stride = *stride;
    std::vector<Term> distances;
    for (const Term& one : *rest) split_scalars(one, distances);
    std::erase_if(distances, [](const Term& one) { return one.is(0); });
    for (const Term& one : distances) {
      auto plane = plane_of(one, line);
      if (!plane || box.planes.size() == TensorMap::kMostPlanes) return {};
      box.planes.push_back(plane->number);
      box.map.planes.push_back(std::move(plane->distance));
    }
    return box;
  }

 private:
  /// Of an axis: the coordinate of the tile's first element, and the size.
  struct Side {
    Term first;
    TensorMap::Size last;
  };

  std::optional<TensorMap::Size> size_of(const Term& term) const {
    if (term.known()) return TensorMap::Size{.number = term.value};
    if (term.kind != Term::Kind::Scalar) return {};
    Id id = a_.resolve(term.id);
    while (a_[id].word == Word::Hint) id = a_.resolve(a_[id].operands[0]);
    if (a_[id].word != Word::Parameter || a_.type(id).pointer || !is_integer(a_.type(id).dtype)) return {};
    return TensorMap::Size{.parameter = static_cast<int>(a_[id].attribute)};
  }

  /// From the only condition of the axis, coordinate < size - first. Without one all of the tile is there: the tensor is no longer than that, and begins with it.
  std::optional<Side> side_of(const Form& mask, int axis, const Shape& shape) const {
    std::optional<Side> side;
    for (const Condition& one : mask.conditions) {
      if (one.kind != Condition::Kind::Below) return {};
      if (one.axis != axis) continue;
      if (side) return {};
      side = side_of(one.limit);
      if (!side) return {};
    }
    return side ? side : Side{Term::number(0), TensorMap::Size{.number = shape[axis]}};
  }
  std::optional<Side> side_of(const Term& limit) const {
    if (limit.kind == Term::Kind::Difference) {
      const auto size = size_of((*limit.operands)[0]);
      return size ? std::optional(Side{(*limit.operands)[1], *size}) : std::nullopt;
    }
    std::vector<Term> addends = addends_of(limit);
    const auto is_argument = [&](const Term& one) { return !one.known() && size_of(one); };
    auto last = std::ranges::find_if(addends, is_argument);
    if (last == addends.end()) last = std::ranges::find_if(addends, [](const Term& one) { return one.known(); });
    if (last == addends.end()) return {};
    Side side{Term::number(0), *size_of(*last)};
    addends.erase(last);
    for (const Term& one : addends) {
      if (one.known()) side.first = add(side.first, Term::number(-one.value));
      else if (is_product_by(one, -1)) side.first = add(side.first, (*one.operands)[1]);
      else return {};
    }
    return side;
  }

  /// What of the base, as it is written, is left without x + y * stride.
  static std::optional<std::vector<Term>> without(const Term& base, const Term& x, const Term& y, const Term& stride) {
    std::vector<Term> left = addends_of(base);
    std::int64_t number = 0;
    std::erase_if(left, [&](const Term& one) { return one.known() ? (number += one.value, true) : false; });
    const auto take = [&](const Term& one) {
      if (one.known()) return number -= one.value, true;
      const auto found = std::ranges::find(left, one);
      return found != left.end() && (left.erase(found), true);
    };
    const auto take_all = [&](const Term& sum) { return std::ranges::all_of(addends_of(sum), take); };
    const auto take_product = [&](const Term& a) { return take_all(multiply(a, stride)) || take_all(multiply(stride, a)); };
    if (!take_all(x)) return {};
    if (!take_product(y) && !std::ranges::all_of(addends_of(y), take_product)) return {};
    return number == 0 ? std::optional(std::move(left)) : std::nullopt;
  }

  // ---- Planes.
  /// With what the program adds to a parameter ahead of the tile as a part of the base.
  Form from_parameter(Form pointer) const {
    while (pointer.root >= 0 && a_[pointer.root].word == Word::Add) {
      const std::vector<Id>& operands = a_[pointer.root].operands;
      const std::size_t which = a_.type(operands[0]).pointer ? 0 : 1;
      pointer.base = tile::add(pointer.base, scalar_term(operands[1 - which]));
      pointer.root = a_.resolve(operands[which]);
    }
    return pointer;
  }
  /// Addends, those of scalars that the program adds, too.
  void split_scalars(const Term& term, std::vector<Term>& addends) const {
    const Id id = term.kind == Term::Kind::Scalar ? a_.resolve(term.id) : -1;
    if (id < 0 || a_[id].word != Word::Add) return addends.push_back(term);
    for (const Id operand : a_[id].operands) split_scalars(scalar_term(operand), addends);
  }
  struct NumberedPlane {
    Term number;
    TensorMap::Plane distance;
  };
  /// A scalar of the program times what the launch knows; 2^line divides the product, however it is bracketed.
  std::optional<NumberedPlane> plane_of(const Term& term, int line) const {
    std::vector<Term> factors;
    factors_of(term, factors);
    NumberedPlane plane;
    int others = 0, twos = 0;
    for (const Term& factor : factors) {
      const bool is_number = factor.known() && factor.value > 0;
      if (const auto size = is_number || !factor.known() ? size_of(factor) : std::nullopt) {
        plane.distance.factors.push_back(*size);
        twos += factor.twos;
      } else {
        plane.number = factor;
        ++others;
      }
    }
    const bool one = others == 1 && plane.number.kind == Term::Kind::Scalar && !plane.distance.factors.empty();
    return one && twos >= line ? std::optional(std::move(plane)) : std::nullopt;
  }
  /// Of products of terms, and of scalars that the program multiplies.
  void factors_of(const Term& term, std::vector<Term>& factors) const {
    if (term.kind == Term::Kind::Product) {
      for (const Term& one : *term.operands) factors_of(one, factors);
      return;
    }
    if (term.kind != Term::Kind::Scalar) return factors.push_back(term);
    const Id id = a_.resolve(term.id);
    const tile::Instruction& self = a_[id];
    if (self.word == Word::Mul) {
      for (const Id operand : self.operands) factors_of(scalar_term(operand), factors);
      return;
    }
    factors.push_back(term);
  }
  Term scalar_term(Id id) const {
    id = a_.resolve(id);
    if (a_[id].word == Word::Constant) return Term::number(a_[id].integer);
    return Term::scalar(id, a_.twos(id), a_.bits(id));
  }

  const Analysis& a_;
};

}  // namespace

std::optional<TensorBox> box_of(const Analysis& analysis, Id load, int along) { return Finder(analysis).find(load, along); }

}  // namespace tegula::gpu

#include "tegula/simt/decide/boxes.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

#include "tegula/simt/decide/polynomial.h"

namespace tegula::gpu {

using simt::TensorMap;
using tile::Id;
using tile::Word;

namespace {

constexpr int kLineBytes = 16;  // of which addresses and strides of tensors are multiples

/// The shape of the places and the mask of a Load or a Store.
const Shape& shape_of(const Analysis& a, Id access) { return a.type(a[access].operands[0]).shape; }
Form mask_of(const Analysis& a, Id access) {
  const std::size_t place = tile::mask_place(a[access]);
  return a[access].operands.size() > place ? a.box(a[access].operands[place]) : Form();
}

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

  std::optional<TensorBox> find(Id access, int along) const {
    const tile::Instruction& self = a_[access];
    const Form pointer = from_parameter(a_.affine(self.operands[0])), mask = mask_of(a_, access);
    if (pointer.root < 0 || pointer.rest >= 0 || pointer.stride.size() != 2 || a_[pointer.root].word != Word::Parameter) return {};
    const auto across = static_cast<std::size_t>(1 - along);
    const auto x = side_of(mask, along, shape_of(a_, access)), y = side_of(mask, 1 - along, shape_of(a_, access));
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
  /// An axis: the coordinate of the tile's first element, and the size.
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

  /// Returns the addends of the base, as it is written, that are left without x + y * stride.
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
  /// Adds the factors of products of terms, and of scalars that the program multiplies.
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

/// The same by the numbers' sums of products, however they are written; and tiles of more axes, or of limits at both ends, whose coordinates may be anywhere, as what
/// lies outside is 0.
class GeneralFinder {
 public:
  GeneralFinder(const Analysis& analysis, Id access) : a_(analysis), inside_(has_both_ends(analysis, access)) {}

  std::optional<TensorBox> find(Id access, int along) const {
    const tile::Instruction& self = a_[access];
    const Shape& shape = shape_of(a_, access);
    const Form pointer = a_.affine(self.operands[0]), mask = mask_of(a_, access);
    const int last = shape.rank() > 2 ? shape.rank() - 1 : along;
    if (pointer.root < 0 || pointer.rest >= 0 || a_[pointer.root].word != Word::Parameter) return {};
    const DType dtype = a_.type(self.operands[0]).dtype;
    const int line = std::countr_zero(static_cast<unsigned>(kLineBytes / static_cast<int>(tegula::size_of(dtype))));
    auto rest = polynomial_of(a_, pointer.base);
    if (!rest || !pointer.stride[static_cast<std::size_t>(last)].is(1) || a_.twos(pointer.root) < line) return {};
    TensorBox box;
    box.map.pointer = static_cast<int>(a_[pointer.root].attribute), box.map.dtype = dtype, box.map.inside = inside_;
    bool has_rows = false;
    std::vector<int> axes{last};
    for (int axis = shape.rank(); axis-- > 0;)
      if (axis != last) axes.push_back(axis);
    for (const int axis : axes) {
      if (shape[axis] == 1 && axis != last && !is_limited(mask, axis)) continue;  // a plane
      const auto side = side_of(mask, axis, shape[axis]);
      const auto step = polynomial_of(a_, pointer.stride[static_cast<std::size_t>(axis)]);
      if (!side || !step) return {};
      if (axis == last) {
        if (side->step != 1 || !may_begin_at(*side)) return {};
        box.x = term_of(a_, side->first), box.map.columns = side->size;
        rest = add(*std::move(rest), side->first, -1);
        continue;
      }
      auto distance = divided(shape[axis] == 1 ? Polynomial() : *step, side->step);
      if (!distance || !may_begin_at(*side)) return {};
      rest = add(*std::move(rest), multiply(side->first, *distance), -1);
      auto factors = factors_of(*distance, line);
      if (!factors) return {};
      if (!has_rows && factors->size() > 1) {  // one row of a plane
        if (box.map.columns.parameter >= 0) return {};
        box.map.rows = {.number = 1}, box.map.stride = box.map.columns, box.map.box_rows = 1, box.y = Term::number(0);
        has_rows = true;
      }
      if (!has_rows) {
        box.map.rows = side->size, box.map.stride = factors->front(), box.map.row_step = side->step;
        box.map.box_rows = static_cast<int>(shape[axis]), box.y = term_of(a_, side->first);
        has_rows = true;
        continue;
      }
      box.map.planes.push_back(
          {.factors = *std::move(factors), .size = side->size, .box = static_cast<int>(shape[axis]), .step = side->step});
      box.planes.push_back(term_of(a_, side->first));
    }
    return has_rows && add_limited_planes(mask, *rest, line, box) && add_planes(*rest, line, box) ? std::optional(std::move(box))
                                                                                                  : std::nullopt;
  }

 private:
  /// An axis: the coordinate of the tile's first element, the step to the next one, and the size. `ends`: the mask is false before 0, too.
  struct Side {
    Polynomial first;
    TensorMap::Size size;
    int step = 1;
    bool ends = false;
  };
  /// Returns true if a box may begin there. If it is inside, its coordinate is at least 0 or the mask is false before 0; otherwise its step is 1.
  bool may_begin_at(const Side& side) const { return inside_ ? side.ends || is_natural(a_, side.first) : side.step == 1; }
  static bool has_both_ends(const Analysis& a, Id access) {
    if (shape_of(a, access).rank() > 2) return true;
    const Form mask = mask_of(a, access);
    return std::ranges::any_of(mask.conditions, [](const Condition& one) { return one.kind == Condition::Kind::AtLeast; });
  }
  static bool is_limited(const Form& mask, int axis) {
    return std::ranges::any_of(mask.conditions,
                               [&](const Condition& one) { return one.axis == axis && one.limit.kind != Term::Kind::Number; });
  }

  std::optional<TensorMap::Size> size_of(const Polynomial& size) const {
    if (size.empty()) return TensorMap::Size{};
    if (size.size() > 1) return {};
    const auto& [scalars, coefficient] = *size.begin();
    if (scalars.empty()) return coefficient > 0 ? std::optional(TensorMap::Size{.number = coefficient}) : std::nullopt;
    if (scalars.size() > 1 || coefficient != 1 || !is_argument(scalars[0])) return {};
    return TensorMap::Size{.parameter = static_cast<int>(a_[scalars[0]].attribute)};
  }
  bool is_argument(Id id) const { return a_[id].word == Word::Parameter && !a_.type(id).pointer && is_integer(a_.type(id).dtype); }

  std::optional<Side> side_of(const Form& mask, int axis, std::int64_t length) const {
    std::optional<Polynomial> below, from;
    Side side;
    for (const Condition& one : mask.conditions) {
      if (one.kind == Condition::Kind::Tile) return {};
      if (one.kind == Condition::Kind::Uniform || one.axis != axis) continue;
      auto& limit = one.kind == Condition::Kind::Below ? below : from;
      if (limit) return {};
      // step * coordinate: (limit + step - 1) / step, rounded down.
      const bool is_quotient = one.limit.kind == Term::Kind::Quotient;
      const std::int64_t step = is_quotient ? (*one.limit.operands)[1].value : 1;
      limit = polynomial_of(a_, is_quotient ? (*one.limit.operands)[0] : one.limit);
      if (!limit || step > kMostStep || (side.step != 1 && side.step != step)) return {};
      side.step = static_cast<int>(step);
      limit = add(*std::move(limit), {{{}, step - 1}}, step > 1 ? -1 : 0);
    }
    if (!below && !from) return length > 0 ? std::optional(Side{.first = {}, .size = {.number = length}}) : std::nullopt;
    if (!below) return {};
    side.ends = from.has_value();
    Polynomial size;
    if (from) {
      side.first = add({}, *from, -1), size = add(*below, side.first);
    } else {
      auto argument = std::ranges::find_if(
          *below, [&](const auto& one) { return one.first.size() == 1 && one.second == 1 && is_argument(one.first[0]); });
      if (argument == below->end()) argument = below->find({});
      if (argument == below->end()) return {};
      size = {*argument};
      side.first = add(size, *below, -1);
    }
    const auto known = size_of(size);
    if (!known) return {};
    side.size = *known;
    return side;
  }

  static std::optional<Polynomial> divided(Polynomial distance, int step) {
    for (auto& [scalars, coefficient] : distance) {
      if (coefficient % step != 0) return {};
      coefficient /= step;
    }
    return distance;
  }
  /// The launch's numbers whose product it is, which 2^line divides.
  std::optional<std::vector<TensorMap::Size>> factors_of(const Polynomial& distance, int line) const {
    if (distance.size() != 1) return {};
    const auto& [scalars, coefficient] = *distance.begin();
    if (coefficient <= 0) return {};
    std::vector<TensorMap::Size> factors;
    int twos = Term::number(coefficient).twos;
    if (coefficient != 1 || scalars.empty()) factors.push_back({.number = coefficient});
    for (const Id id : scalars) {
      if (!is_argument(id)) return {};
      factors.push_back({.parameter = static_cast<int>(a_[id].attribute)});
      twos += a_.twos(id);
    }
    return twos >= line ? std::optional(std::move(factors)) : std::nullopt;
  }
  /// The limits of a number by conditions without coordinates: it is at least 0 (`ends`), it is below a size.
  struct Limited {
    Polynomial number;
    std::optional<TensorMap::Size> size;
    bool ends = false;
  };
  bool add_limits(Id condition, std::vector<Limited>& all) const {
    const tile::Instruction& self = a_[a_.resolve(condition)];
    if (self.word == Word::And) return add_limits(self.operands[0], all) && add_limits(self.operands[1], all);
    if (self.word != Word::Lt && self.word != Word::Ge) return false;
    const auto number = of_scalar(self.operands[0]), limit = of_scalar(self.operands[1]);
    if (!number || !limit) return false;
    auto known = std::ranges::find_if(all, [&](const Limited& one) { return one.number == *number; });
    if (known == all.end()) known = all.insert(all.end(), {*number, {}, false});
    if (self.word == Word::Ge) return known->ends = limit->empty();
    return (known->size = size_of(*limit)).has_value();
  }
  std::optional<Polynomial> of_scalar(Id id) const {
    if (!a_.type(id).shape.empty() || a_.type(id).dtype != DType::i64) return {};
    return polynomial_of(a_, Term::scalar(id));
  }
  /// Planes whose numbers such conditions limit; takes them out of the base.
  bool add_limited_planes(const Form& mask, Polynomial& rest, int line, TensorBox& box) const {
    std::vector<Limited> all;
    for (const Condition& one : mask.conditions)
      if (one.kind == Condition::Kind::Uniform && (!inside_ || !add_limits(one.value, all))) return false;
    for (const Limited& one : all) {
      if (!one.size || !(one.ends || is_natural(a_, one.number))) return false;
      const auto distance = distance_of(one.number, rest);
      const auto factors = distance ? factors_of(*distance, line) : std::nullopt;
      if (!factors || box.planes.size() == TensorMap::kMostPlanes) return false;
      rest = add(std::move(rest), multiply(one.number, *distance), -1);
      box.map.planes.push_back({.factors = *factors, .size = one.size});
      box.planes.push_back(term_of(a_, one.number));
    }
    return true;
  }
  /// Returns the factor, of the launch's numbers, by which the number is multiplied in the sum.
  std::optional<Polynomial> distance_of(const Polynomial& number, const Polynomial& sum) const {
    const auto first = std::ranges::find_if(number, [](const auto& one) { return !one.first.empty(); });
    if (first == number.end()) return {};
    for (const auto& [scalars, coefficient] : sum) {
      std::vector<Id> others;
      std::ranges::set_difference(scalars, first->first, std::back_inserter(others));
      if (others.size() + first->first.size() != scalars.size() || coefficient % first->second != 0) continue;
      Polynomial distance{{others, coefficient / first->second}};
      if (add(sum, multiply(number, distance), -1).size() + number.size() == sum.size()) return distance;
    }
    return {};
  }
  /// Adds the planes to the box: the rest of the base is numbers of planes, which are at least 0, times distances that the launch knows.
  bool add_planes(const Polynomial& rest, int line, TensorBox& box) const {
    std::map<std::vector<Id>, Polynomial> numbers;  // by the launch's part
    for (const auto& [scalars, coefficient] : rest) {
      std::vector<Id> known, others;
      for (const Id id : scalars) (is_argument(id) ? known : others).push_back(id);
      numbers[known][others] = coefficient;
    }
    for (auto& [known, number] : numbers) {
      std::int64_t common = 0;
      for (const auto& [scalars, coefficient] : number) common = std::gcd(common, coefficient);
      for (auto& [scalars, coefficient] : number) coefficient /= common;
      const auto factors = factors_of({{known, common}}, line);
      if (!factors || (inside_ && !is_natural(a_, number)) || box.planes.size() == TensorMap::kMostPlanes) return false;
      box.map.planes.push_back({.factors = *factors});
      box.planes.push_back(term_of(a_, number));
    }
    return box.planes.size() <= TensorMap::kMostPlanes;
  }

  static constexpr std::int64_t kMostStep = 8;  // of a tensor map
  const Analysis& a_;
  bool inside_;
};

}  // namespace

std::optional<TensorBox> box_of(const Analysis& analysis, Id access, int along) {
  const bool is_deep = shape_of(analysis, access).rank() > 2;
  const auto found = is_deep ? std::nullopt : Finder(analysis).find(access, along);
  return found ? found : GeneralFinder(analysis, access).find(access, along);
}

}  // namespace tegula::gpu

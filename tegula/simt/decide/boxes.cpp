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
    if (self.operands.size() < 2) return {};  // without a mask nothing tells how long the tensor is
    const Form pointer = a_.affine(self.operands[0]), mask = a_.box(self.operands[1]);
    if (pointer.root < 0 || pointer.rest >= 0 || pointer.stride.size() != 2 || a_[pointer.root].word != Word::Parameter) return {};
    const auto across = static_cast<std::size_t>(1 - along);
    const auto x = side_of(mask, along), y = side_of(mask, 1 - along);
    const auto stride = size_of(pointer.stride[across]);
    const DType dtype = a_.type(self.operands[0]).dtype;
    const int line = std::countr_zero(static_cast<unsigned>(kLineBytes / static_cast<int>(tegula::size_of(dtype))));
    if (!x || !y || !stride || !pointer.stride[static_cast<std::size_t>(along)].is(1) || mask.conditions.size() != 2) return {};
    if (pointer.stride[across].twos < line || a_.twos(pointer.root) < line) return {};
    if (!is_sum(pointer.base, x->first, y->first, pointer.stride[across])) return {};
    const TensorMap map{
        .pointer = static_cast<int>(a_[pointer.root].attribute), .dtype = dtype, .columns = x->last, .rows = y->last, .stride = *stride};
    return TensorBox{.x = x->first, .y = y->first, .map = map};
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

  /// From the only condition of the axis, coordinate < size - first.
  std::optional<Side> side_of(const Form& mask, int axis) const {
    std::optional<Side> side;
    for (const Condition& one : mask.conditions) {
      if (one.kind != Condition::Kind::Below) return {};
      if (one.axis != axis) continue;
      if (side) return {};
      side = side_of(one.limit);
      if (!side) return {};
    }
    return side;
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

  /// Whether the base is x + y * stride, as it is written.
  static bool is_sum(const Term& base, const Term& x, const Term& y, const Term& stride) {
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
    if (!take_all(x)) return false;
    return (take_product(y) || std::ranges::all_of(addends_of(y), take_product)) && left.empty() && number == 0;
  }

  const Analysis& a_;
};

}  // namespace

std::optional<TensorBox> box_of(const Analysis& analysis, Id load, int along) { return Finder(analysis).find(load, along); }

}  // namespace tegula::gpu

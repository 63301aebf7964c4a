// Views, joins and pads.

#include <algorithm>
#include <limits>

#include "tegula/onnx/out/words.h"

namespace tegula::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Size minus(Site& site, const Size& a, const Size& b) {
  if (b.is_constant()) {
    Size out = a;
    out.plus -= b.plus;
    return out;
  }
  if (a.of != b.of) site.refuse("whose sizes depend on several open axes");
  Size out = a;
  out.factor -= b.factor, out.plus -= b.plus;
  if (out.factor == 0) out.of = 0;
  return out;
}

void reshape(Site& site) {
  const Sizes from = site.input_sizes(0), to = site.result_sizes();
  if (from == to) return site.give(site.in(0));
  // More than one open size: those that stay in their place are copied.
  const auto open = std::ranges::count_if(to, [](const Size& one) { return !one.is_constant(); });
  if (open > 1) {
    Integers values;
    int unknown = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool stays = i < from.size() && from[i] == to[i];
      values.push_back(to[i].is_constant() ? to[i].plus : stays ? 0 : -1);
      unknown += !to[i].is_constant() && !stays;
    }
    const bool has_zero = std::ranges::any_of(to, [](const Size& one) { return one == Size(0); });
    if (unknown <= 1 && !has_zero) return site.give(site.out().reshape(site.in(0), values));
  }
  site.give(site.out().reshape(site.in(0), to));
}

void permute(Site& site) { site.give(site.out().transpose(site.in(0), site.described().integers("order"))); }

void expand(Site& site) { site.graph().give_loose(site.index(), site.loose(0), site.graph().loose_sizes(site.in_node(0))); }

struct Cut {
  Integers axes, steps;
  Sizes starts, ends;
};

/// A Slice, of what is not whole.
std::string slice_of(Site& site, const std::string& x, const Cut& cut) {
  if (cut.axes.empty()) return x;
  std::vector<std::string> inputs{x, site.out().sizes(cut.starts), site.out().sizes(cut.ends), site.out().integers(cut.axes)};
  if (std::ranges::any_of(cut.steps, [](std::int64_t step) { return step != 1; })) inputs.push_back(site.out().integers(cut.steps));
  return site.add("Slice", std::move(inputs));
}

void slice(Site& site) {
  const Described d = site.described();
  const Sizes begin = d.sizes("begin"), from = site.input_sizes(0), count = site.result_sizes();
  const Integers step = d.integers("step");
  if (std::ranges::any_of(count, [](const Size& one) { return one == Size(0); })) {
    // Nothing of it: a slice that begins at 0 is as good as any.
    Cut none;
    for (std::size_t i = 0; i < count.size(); ++i) {
      if (from[i] == count[i]) continue;
      none.axes.push_back(static_cast<std::int64_t>(i)), none.steps.push_back(1);
      none.starts.emplace_back(0), none.ends.push_back(count[i]);
    }
    return site.give(slice_of(site, site.in(0), none));
  }
  Cut cut;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (count[i] == from[i] && step[i] == 1) continue;
    Size end;  // begin + step * count
    if (count[i].is_constant()) {
      end = begin[i];
      end.plus += step[i] * count[i].plus;
    } else if (step[i] == -1 && begin[i] == minus(site, count[i], Size(1))) end = Size(-1);  // all of it, backwards
    else if (step[i] == 1) {
      end = count[i];
      if (!begin[i].is_constant()) site.refuse("whose begin and length depend on an open axis");
      end.plus += begin[i].plus;
    } else site.refuse("with a step along an open axis");
    if (step[i] < 0 && end.is_constant() && end.plus < 0) end = Size(std::numeric_limits<std::int64_t>::min());
    if (step[i] > 0 && end == from[i]) end = Size(std::numeric_limits<std::int64_t>::max());
    cut.axes.push_back(static_cast<std::int64_t>(i)), cut.steps.push_back(step[i]);
    cut.starts.push_back(begin[i]), cut.ends.push_back(end);
  }
  site.give(slice_of(site, site.in(0), cut));
}

/// The square with the diagonal, flat: each of its elements is one row and one column further.
void diagonal(Site& site) {
  const Described d = site.described();
  const std::int64_t row = d.integer("row"), column = d.integer("column"), rank = site.input(0).shape.rank();
  const Size length = site.result_sizes().back();
  if (!length.is_constant()) site.refuse("along an open axis");
  const std::int64_t n = length.plus;
  const std::string square =
      slice_of(site, site.in(0), {{rank - 2, rank - 1}, {1, 1}, {Size(row), Size(column)}, {Size(row + n), Size(column + n)}});
  Sizes flat = site.result_sizes();
  flat.back() = Size(n * n);
  const std::string line = site.out().reshape(square, flat);
  site.give(slice_of(site, line, {{rank - 2}, {n + 1}, {Size(0)}, {Size(std::numeric_limits<std::int64_t>::max())}}));
}

/// The elements of each window by their numbers; the window's axis is moved behind all others.
void windows(Site& site) {
  const Described d = site.described();
  const std::int64_t axis = d.integer("axis"), stride = d.integer("stride"), dilation = d.integer("dilation"), rank = site.rank();
  const Sizes to = site.result_sizes();
  const Size& count = to[static_cast<std::size_t>(axis)];
  if (!count.is_constant()) site.refuse("along an open axis");
  const std::int64_t taps = to.back().plus;
  const HostArray places = HostArray::empty(i64, {count.plus, taps});
  for (std::int64_t i = 0; i < count.plus * taps; ++i)
    places.values<std::int64_t>()[static_cast<std::size_t>(i)] = i / taps * stride + i % taps * dilation;
  const std::string y = site.add("Gather", {site.in(0), site.out().constant(places)}, {attribute("axis", axis)});
  Integers order;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  site.give(axis + 2 == rank ? y : site.out().transpose(y, order));
}

void concat(Site& site) {
  const Described d = site.described();
  const std::int64_t axis = d.integer("axis");
  std::vector<std::string> pieces;
  if (!d.has("begins")) {
    for (std::size_t i = 0; i < site.size(); ++i) pieces.push_back(site.in(i));
    return site.give(site.add("Concat", pieces, {attribute("axis", axis)}));
  }
  const Integers begins = d.integers("begins");
  std::int64_t end = 0;
  const auto gap = [&](std::int64_t until) {
    if (until == end) return;
    Shape shape = site.result().shape;
    shape[static_cast<int>(axis)] = until - end;
    pieces.push_back(site.out().filled(shape, 0, site.result().dtype));
  };
  for (const Size& one : site.result_sizes())
    if (!one.is_constant()) site.refuse("with gaps, and an open axis");
  for (std::size_t i = 0; i < site.size(); ++i) {
    gap(begins[i]);
    pieces.push_back(site.in(i));
    end = begins[i] + site.input(i).shape[static_cast<int>(axis)];
  }
  gap(site.result().shape[static_cast<int>(axis)]);
  site.give(site.add("Concat", pieces, {attribute("axis", axis)}));
}

/// y[begin + i * step] = x[i]. Elements that lie `step` apart are first padded each to a line of its own.
void pad(Site& site) {
  const Described d = site.described();
  const Sizes begin = d.sizes("begin"), to = site.result_sizes();
  const Integers step = d.integers("step");
  Sizes from = site.input_sizes(0);
  const DType dtype = site.result().dtype;
  const std::string value = site.out().number(dtype == boolean ? Number(d.real("value") != 0) : Number(d.real("value")), dtype);
  std::string x = site.in(0);
  const auto padded = [&](const std::string& what, const Sizes& low, const Sizes& high) {
    Sizes pads = low;
    pads.insert(pads.end(), high.begin(), high.end());
    return site.add("Pad", {what, site.out().sizes(pads), value});
  };
  if (std::ranges::any_of(step, [](std::int64_t one) { return one != 1; })) {
    Sizes apart, low, high, joined;
    for (std::size_t i = 0; i < step.size(); ++i) {
      apart.push_back(from[i]), low.emplace_back(0), high.emplace_back(0);
      Size lines = from[i];
      lines.factor *= step[i], lines.plus *= step[i];
      joined.push_back(lines);
      if (step[i] != 1) apart.emplace_back(1), low.emplace_back(0), high.emplace_back(step[i] - 1);
    }
    if (apart.size() > static_cast<std::size_t>(kMaxRank))
      site.refuse("of " + std::to_string(apart.size()) + " axes with those of its steps");
    x = site.out().reshape(padded(site.out().reshape(x, apart), low, high), joined);
    from = joined;
  }
  Sizes high;
  bool any = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    high.push_back(minus(site, minus(site, to[i], from[i]), begin[i]));
    any |= high[i] != Size(0) || begin[i] != Size(0);
  }
  site.give(any ? padded(x, begin, high) : x);
}

/// Σ coordinate * stride + offset: a line for each axis that counts.
void index(Site& site) {
  const Described d = site.described();
  const Sizes to = site.result_sizes();
  const Integers strides = d.integers("strides");
  std::string sum;
  Sizes loose;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0 || to[i] == Size(1)) continue;
    const std::string count = site.out().reshape(site.out().size(to[i]), Integers{});
    std::string line;
    if (to[i].is_constant()) {
      Integers places(static_cast<std::size_t>(to[i].plus));
      for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<std::int64_t>(k) * strides[i];
      line = site.out().integers(places);
    } else {
      line = site.add("Range", {site.out().integer(0), count, site.out().integer(1)});
      if (strides[i] != 1) line = site.add("Mul", {line, site.out().integer(strides[i])});
    }
    Sizes shape(strides.size() - i, Size(1));
    shape[0] = to[i];
    if (shape.size() > 1) line = site.out().reshape(line, shape);
    sum = sum.empty() ? line : site.add("Add", {sum, line});
    if (loose.empty()) loose.assign(strides.size() - i, Size(1));
    loose[loose.size() - shape.size()] = to[i];
  }
  const std::int64_t offset = d.integer("offset");
  if (sum.empty()) sum = site.out().integer(offset);
  else if (offset != 0) sum = site.add("Add", {sum, site.out().integer(offset)});
  site.graph().give_loose(site.index(), sum, loose);
}

void same(Site& site) { site.graph().give_loose(site.index(), site.loose(0), site.graph().loose_sizes(site.in_node(0))); }

constexpr Word kWords[] = {
    {"identity", same},     {"reshape", reshape}, {"permute", permute}, {"expand", expand}, {"slice", slice},
    {"diagonal", diagonal}, {"windows", windows}, {"concat", concat},   {"pad", pad},       {"index", index},
};

}  // namespace

WordList shape_words() { return kWords; }

}  // namespace tegula::onnx

#include "tegula/tile/language/shapes.h"

#include <algorithm>
#include <string>

#include "tegula/core/error.h"
#include "tegula/tile/language/products.h"
#include "tegula/tile/sort_order.h"

namespace tegula::tile {

using language::Content, language::said, language::Within;

namespace {

Content tile_content(const char* word, const TileArg& x) {
  x.builder();
  if (!x.is_number() && !x.content.value.type().pointer) return x.content;
  throw Error({.op = word,
               .got = x.is_number() ? "a number" : to_string(x.content.value.type()),
               .expected = "a tile of values",
               .where = x.where});
}

int axis_of(const char* word, const TileArg& x, int axis) {
  const int rank = x.content.value.shape().rank();
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  throw Error({.op = word,
               .got = "axis " + std::to_string(axis) + " of " + to_string(x.content.value.type()),
               .expected = "an axis from " + std::to_string(-rank) + " to " + std::to_string(rank - 1),
               .where = x.where});
}

/// x at places (…, M, …) of an axis, whose other sizes are x's or 1. Places outside give 0.
Value along(Value x, Value places, int axis) {
  Shape result = x.shape();
  result[axis] = places.shape()[axis];
  return gather(x, broadcast(places, result), axis);
}

/// 0, 1, 2, … along an axis; sizes of 1 elsewhere.
Value places_along(Builder& b, int rank, int axis, std::int64_t count) {
  Shape shape = Dims::filled(rank, 1);
  shape[axis] = count;
  return reshape(b.arange(0, count), shape);
}

/// The elements number, number + step, … of an axis.
Tile stepped(const TileArg& x, int axis, std::int64_t number, std::int64_t step, std::int64_t count) {
  const Content from = x.content;
  Builder& b = x.builder();
  return said({along(from.value, places_along(b, from.value.shape().rank(), axis, count) * step + number, axis), from.dtype}, x.where);
}

std::vector<Tile> in_each(const std::vector<Tile>& xs, const std::function<Tile(const Tile&)>& f) {
  std::vector<Tile> results;
  results.reserve(xs.size());
  for (const Tile& x : xs) results.push_back(f(x));
  return results;
}

/// Refuses tiles of different shapes; gives their common axis, counted from 0.
int common_axis(const char* word, const std::vector<Tile>& xs, int axis, const Line& where) {
  if (xs.empty()) throw Error({.op = word, .got = "no tiles", .expected = "at least one", .where = where});
  for (const Tile& x : xs) {
    if (x.shape(where) == xs[0].shape(where)) continue;
    throw Error({.op = word,
                 .got = "tiles of " + to_string(xs[0].shape(where)) + " and " + to_string(x.shape(where)),
                 .expected = "one shape",
                 .where = where});
  }
  return axis_of(word, TileArg(xs[0], where), axis);
}

CombineSeveral several(const Combine& combine) {
  return [combine](const std::vector<Tile>& a, const std::vector<Tile>& b) {
    std::vector<Tile> results;
    results.push_back(combine(a[0], b[0]));
    return results;
  };
}

std::vector<Tile> list_of(const TileArg& x, const char* word) {
  std::vector<Tile> list;
  list.push_back(said(tile_content(word, x), x.where));
  return list;
}

}  // namespace

Tile gather(TileArg x, TileArg index, int axis) {
  const Content from = tile_content("gather", x), at = tile_content("gather", index);
  axis = axis_of("gather", x, axis);
  const Shape shape = from.value.shape(), to = at.value.shape();
  bool fits = to.rank() == shape.rank() && is_integer(at.dtype);
  for (int k = 0; fits && k < shape.rank(); ++k) fits = k == axis || to[k] <= shape[k];
  if (!fits) {
    throw Error({.op = "gather",
                 .got = to_string(from.value.type()) + " by " + to_string(at.value.type()),
                 .expected = "integers of the tile's rank, and of its sizes along other axes",
                 .where = x.where});
  }
  Value source = from.value;
  for (int k = 0; k < shape.rank(); ++k) {
    if (k == axis || to[k] == shape[k]) continue;
    source = along(source, places_along(x.builder(), shape.rank(), k, to[k]), k);
  }
  return said({gather(source, at.value, axis), from.dtype}, x.where);
}

Tile permute(TileArg x, const std::vector<int>& order) {
  const Content from = tile_content("permute", x);
  const Shape& shape = from.value.shape();
  const Strides dense = dense_strides(shape);
  Shape to;
  Strides strides;
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  bool all = static_cast<int>(order.size()) == shape.rank();
  for (std::size_t k = 0; all && k < order.size(); ++k) all = sorted[k] == static_cast<int>(k);
  if (!all) {
    throw Error({.op = "permute",
                 .got = std::to_string(order.size()) + " axes for " + to_string(from.value.type()),
                 .expected = "each axis once",
                 .where = x.where});
  }
  for (const int axis : order) to.push_back(shape[axis]), strides.push_back(dense[axis]);
  // A rotation of the axes is the transpose of a matrix.
  const int first = order[0];
  bool rotated = true;
  for (std::size_t k = 0; k < order.size(); ++k) rotated = rotated && order[k] == (first + static_cast<int>(k)) % shape.rank();
  if (rotated) {
    std::int64_t rows = 1;
    for (int k = 0; k < first; ++k) rows *= shape[k];
    return said({reshape(transpose(reshape(from.value, {rows, numel(shape) / rows})), to), from.dtype}, x.where);
  }
  Builder& b = x.builder();
  Value places = b.full(to, 0, i64);
  for (int axis = 0; axis < to.rank(); ++axis) places = places + places_along(b, to.rank(), axis, to[axis]) * strides[axis];
  const Shape list{numel(shape)};
  return said({reshape(along(reshape(from.value, list), reshape(places, list), 0), to), from.dtype}, x.where);
}

Tile slice(TileArg x, int axis, std::int64_t begin, std::int64_t count) {
  tile_content("slice", x);
  axis = axis_of("slice", x, axis);
  const std::int64_t size = x.content.value.shape()[axis];
  if (begin >= 0 && count > 0 && begin + count <= size) return stepped(x, axis, begin, 1, count);
  throw Error(
      {.op = "slice",
       .got = "elements " + std::to_string(begin) + " to " + std::to_string(begin + count) + " of an axis of " + std::to_string(size),
       .expected = "some of those that there are",
       .where = x.where});
}

Tile flip(TileArg x, int axis) {
  tile_content("flip", x);
  axis = axis_of("flip", x, axis);
  const std::int64_t size = x.content.value.shape()[axis];
  return stepped(x, axis, size - 1, -1, size);
}

Tile cat(TileArg a, TileArg b, int axis) {
  const Content x = tile_content("cat", a), y = tile_content("cat", b);
  axis = axis_of("cat", a, axis);
  Shape shape = x.value.shape(), other = y.value.shape();
  const std::int64_t first = shape[axis], second = other.rank() == shape.rank() ? other[axis] : 0;
  if (second > 0) other[axis] = first;
  if (other != shape || x.dtype != y.dtype) {
    throw Error({.op = "cat",
                 .got = to_string(x.value.type()) + " and " + to_string(y.value.type()),
                 .expected = "tiles of one dtype, and of one shape but for the axis",
                 .where = a.where});
  }
  // Each gives its elements where they are, and zeros elsewhere.
  Builder& builder = a.builder();
  const Value place = places_along(builder, shape.rank(), axis, first + second);
  const Value front = along(x.value, place, axis), behind = along(y.value, place - first, axis);
  return said({select(place < first, front, behind), x.dtype}, a.where);
}

Tile join(TileArg a, TileArg b) {
  const Content x = tile_content("join", a), y = tile_content("join", b);
  if (x.value.shape() != y.value.shape()) {
    throw Error({.op = "join",
                 .got = to_string(x.value.type()) + " and " + to_string(y.value.type()),
                 .expected = "tiles of one shape",
                 .where = a.where});
  }
  const Within line(a.where);
  Shape pair = Dims::filled(x.value.shape().rank(), 1);
  pair.push_back(2);
  return where(reshape(arange(0, 2), pair) == 0, expand_dims(a, -1), expand_dims(b, -1));
}

std::pair<Tile, Tile> split(TileArg x) {
  const Content from = tile_content("split", x);
  Shape shape = from.value.shape();
  if (shape.empty() || shape[shape.rank() - 1] != 2)
    throw Error({.op = "split", .got = to_string(from.value.type()), .expected = "a last axis of size 2", .where = x.where});
  Shape half = shape;
  half.erase(shape.rank() - 1);
  const auto part = [&](std::int64_t number) {
    const Tile one = stepped(x, shape.rank() - 1, number, 1, 1);
    return said({reshape(one.get(x.where).value, half), from.dtype}, x.where);
  };
  return {part(0), part(1)};
}

Tile interleave(TileArg a, TileArg b) {
  const Within line(a.where);
  const Tile pairs = join(a, b);
  Shape shape = tile_content("interleave", a).value.shape();
  if (shape.empty()) return pairs;
  shape[shape.rank() - 1] *= 2;
  return reshape(pairs, shape);
}

Tile topk(TileArg x, std::int64_t k) {
  const Content from = tile_content("topk", x);
  const Within line(x.where);
  const int last = axis_of("topk", x, -1);
  if (k < 1 || k > from.value.shape()[last]) return slice(x, last, 0, k);  // which says so
  const Value sorted =
      x.builder().emit(Word::Sort, from.value.type(), {from.value.id()}, last, Reduction::Sum, SortOrder{true, k}.packed());
  return slice(said({sorted, from.dtype}, x.where), last, 0, k);
}

namespace {

Tile counted(const TileArg& x, std::int64_t bins, const TileArg* mask) {
  const Content from = tile_content("histogram", x);
  const Value choice = mask ? (mask->is_number() ? mask->as(boolean) : tile_content("histogram", *mask)).value : Value();
  if (!is_integer(from.dtype) || bins < 1 || (mask && choice.dtype() != boolean)) {
    throw Error({.op = "histogram",
                 .got = to_string(from.value.type()) + " in " + std::to_string(bins) + " bins",
                 .expected = "integers, at least one bin, and a bool mask",
                 .where = x.where});
  }
  return said({histogram(from.value, bins, choice), i32}, x.where);
}

}  // namespace

Tile histogram(TileArg x, std::int64_t bins) { return counted(x, bins, nullptr); }
Tile histogram(TileArg x, std::int64_t bins, TileArg mask) { return counted(x, bins, &mask); }

Tile batched_dot(TileArg a, TileArg b) {
  const Shape x = tile_content("batched_dot", a).value.shape(), y = tile_content("batched_dot", b).value.shape();
  if (x.rank() != 3 || y.rank() != 3 || x[0] != y[0] || x[2] != y[1]) {
    throw Error({.op = "batched_dot",
                 .got = to_string(a.content.value.type()) + ", " + to_string(b.content.value.type()),
                 .expected = "shapes (B, M, K), (B, K, N)",
                 .where = a.where});
  }
  return dot(a, b);
}

std::pair<Tile, Tile> swizzle2d(TileArg i, TileArg j, TileArg size_i, TileArg size_j, TileArg size_g) {
  const Within line(i.where);
  const Tile place = i * size_j + j;
  const Tile in_group = size_g * size_j, group = place / in_group;
  const Tile first = group * size_g;
  const Tile rows = minimum(size_i - first, size_g), within = place % in_group;
  return {first + within % rows, within / rows};
}

std::vector<Tile> reduce(const std::vector<Tile>& xs, int axis, const CombineSeveral& combine, Axis kept, Line where) {
  axis = common_axis("reduce", xs, axis, where);
  const Within line(where);
  std::vector<Tile> now = xs;
  for (std::int64_t size = now[0].shape()[axis]; size > 1; size = now[0].shape()[axis]) {
    // Neighbours are combined; one that is left over stays behind them.
    const auto those = [&](std::int64_t number) {
      return in_each(now, [&](const Tile& x) { return stepped(TileArg(x, where), axis, number, 2, size / 2); });
    };
    std::vector<Tile> half = combine(those(0), those(1));
    if (size % 2 == 1) {
      for (std::size_t k = 0; k < half.size(); ++k) half[k] = cat(half[k], slice(now[k], axis, size - 1, 1), axis);
    }
    now = std::move(half);
  }
  if (kept == Axis::Keep) return now;
  Shape shape = now[0].shape();
  shape.erase(axis);
  return in_each(now, [&](const Tile& x) { return reshape(x, shape); });
}
Tile reduce(TileArg x, int axis, const Combine& combine, Axis kept) {
  return reduce(list_of(x, "reduce"), axis, several(combine), kept, x.where)[0];
}

std::vector<Tile> associative_scan(const std::vector<Tile>& xs, int axis, const CombineSeveral& combine, Direction direction, Line where_) {
  axis = common_axis("associative_scan", xs, axis, where_);
  const Within line(where_);
  const bool reverse = direction == Direction::Reverse;
  std::vector<Tile> now = in_each(xs, [&](const Tile& x) { return reverse ? flip(x, axis) : Tile(x); });
  const Shape shape = now[0].shape();
  Shape along = Dims::filled(shape.rank(), 1);
  along[axis] = shape[axis];
  const Tile place = reshape(arange(0, shape[axis]), along);
  for (std::int64_t distance = 1; distance < shape[axis]; distance *= 2) {  // Hillis and Steele, 1986
    const Tile index = broadcast_to(maximum(place - distance, 0), shape);
    const std::vector<Tile> sums = combine(in_each(now, [&](const Tile& x) { return gather(x, index, axis); }), now);
    for (std::size_t k = 0; k < now.size(); ++k) now[k] = where(place >= distance, sums[k], now[k]);
  }
  return in_each(now, [&](const Tile& x) { return reverse ? flip(x, axis) : Tile(x); });
}
Tile associative_scan(TileArg x, int axis, const Combine& combine, Direction direction) {
  return associative_scan(list_of(x, "associative_scan"), axis, several(combine), direction, x.where)[0];
}

Tile xor_sum(TileArg x, int axis, Axis kept) {
  return reduce(x, axis, [](Tile a, Tile b) { return a ^ b; }, kept);
}

std::pair<Tile, Tile> max_with_indices(TileArg x, int axis, Axis kept) { return {max(x, axis, kept), argmax(x, axis, kept)}; }
std::pair<Tile, Tile> min_with_indices(TileArg x, int axis, Axis kept) { return {min(x, axis, kept), argmin(x, axis, kept)}; }

}  // namespace tegula::tile

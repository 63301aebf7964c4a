#pragma once
// Random words that compute tiles from tiles.

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "tests/simt/random_draw.h"

namespace drawn {

class Words {
 protected:
  Words(std::vector<Tile> inputs, const Tile& n) : inputs_(std::move(inputs)), n_(n) {}

  enum class Kind : std::uint8_t { Bool, Integer, Float, Number, Any };
  struct Block {
    Block* outer = nullptr;
    std::deque<Tile> tiles = {};
    std::uint64_t path = 0;
    int depth = 0;
  };

  static bool is(const Tile& x, Kind kind) {
    const DType dtype = x.dtype();
    switch (kind) {
      case Kind::Bool: return dtype == tegula::boolean;
      case Kind::Integer: return is_integer(dtype);
      case Kind::Float: return is_float(dtype);
      case Kind::Number: return dtype != tegula::boolean;
      default: return true;
    }
  }

  // ---- What there is.
  static Shape any_shape(Draw& d) {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 32, 33, 64};
    Shape shape;
    const int rank = static_cast<int>(d.from(1, 4));
    for (int k = 0; k < rank; ++k) {
      std::int64_t size = d.one_of(kSizes);
      while (numel(shape) * size > 256) size = (size + 1) / 2;
      shape.push_back(size);
    }
    return shape;
  }
  Tile pick(Block& block, Draw& d, Kind kind) {
    std::vector<const Tile*> some;
    for (const Block* b = &block; b; b = b->outer)
      for (const Tile& x : b->tiles)
        if (is(x, kind)) some.push_back(&x);
    if (!some.empty() && !d.chance(10)) return *some[static_cast<std::size_t>(d.below(static_cast<std::int64_t>(some.size())))];
    if (kind == Kind::Bool && d.chance(50)) return loaded(block, d, 3, any_shape(d));
    if (kind == Kind::Bool) return pick(block, d, Kind::Number) > d.from(0, 3);
    return loaded(block, d, kind == Kind::Integer ? 1 : kind == Kind::Float ? 0 : static_cast<int>(d.below(3)), any_shape(d));
  }
  /// x with another shape: reshaped, grown, or its elements in another order and number.
  static Tile fit(const Tile& x, const Shape& shape, Draw& d) {
    if (x.shape() == shape) return x;
    const std::int64_t have = numel(x.shape()), want = numel(shape);
    if (have == want && d.chance(70)) return reshape(x, shape);
    if (have == 1) return broadcast_to(reshape(x, {}), shape);
    const Tile places = (arange(0, want) * (2 * d.below(8) + 1) + d.below(have)) % have;
    return reshape(gather(ravel(x), places, 0), shape);
  }
  Tile picked(Block& block, Draw& d, Kind kind, const Shape& shape) { return fit(pick(block, d, kind), shape, d); }
  static Tile in(const Tile& x, DType dtype) {
    if (x.dtype() == dtype) return x;
    if (dtype == tegula::boolean) return x != 0;
    if (is_float(x.dtype())) return is_float(dtype) ? cast_to(x, dtype) : cast_to(is_unsigned(dtype) ? abs(x) : x, dtype);
    if (is_float(dtype)) return cast_to(x.dtype() == tegula::boolean ? x : x % 64, dtype);
    return cast_to(x, dtype);
  }
  /// Back among -64 … 64.
  static Tile bounded(const Tile& x) { return is_float(x.dtype()) ? clamp(x, -64, 64) : x; }
  static Tile within(const Tile& x, std::int64_t count) {
    const Tile whole = in(x, tegula::i64);
    return (whole % count + count) % count;
  }
  Tile scalar(Block& block, Draw& d, Kind kind) {
    const Tile x = pick(block, d, kind);
    if (x.shape().empty()) return x;
    const Tile line = ravel(x);
    if (kind != Kind::Bool && d.chance(50)) return d.chance(50) ? max(line, 0) : min(line, 0);
    if (kind == Kind::Bool) return d.chance(50) ? any(line, 0) : all(line, 0);
    return reshape(gather(line, arange(0, 1) + d.below(numel(x.shape())), 0), {});
  }
  static AccessHints hints(Draw& d) {
    constexpr Eviction kEvictions[] = {Eviction::Normal, Eviction::First, Eviction::Last};
    constexpr Cache kCaches[] = {Cache::Default, Cache::Cg};
    return {.cache_modifier = d.one_of(kCaches), .eviction_policy = d.one_of(kEvictions), .is_volatile = d.chance(20)};
  }
  /// Places of so many elements among `size`: one behind the other, in another order, or drawn by a tile.
  Tile places(Block& block, Draw& d, const Shape& shape, std::int64_t size, bool distinct) {
    const std::int64_t count = numel(shape);
    if (!distinct && d.chance(30)) return within(picked(block, d, Kind::Integer, shape), size);
    if (d.chance(30))
      return reshape((arange(0, count) * (2 * d.below(20) + 1) + d.below(size)) % size, shape);  // size: a power of two if distinct
    const Tile first = d.chance(40) ? within(scalar(block, d, Kind::Integer), size - count + 1) : Tile(d.below(size - count + 1));
    if (shape.rank() == 2 && d.chance(40)) return first + row(arange(0, shape[1])) * shape[0] + col(arange(0, shape[0]));
    return first + reshape(arange(0, count), shape);
  }
  Tile loaded(Block& block, Draw& d, int input, const Shape& shape) {
    const Tile p = inputs_[static_cast<std::size_t>(input)] + places(block, d, shape, kInput, false);
    if (d.chance(40)) return load(p, hints(d));
    const Tile mask = reshape(arange(0, numel(shape)), shape) < d.from(0, numel(shape));
    return d.chance(50) ? load(p, mask, hints(d)) : load(p, mask, input == 3 ? TileArg(true) : TileArg(d.from(0, 5)), hints(d));
  }

  // ---- Words.
  Tile computed_float(Block& block, Draw& d) {
    const Tile x = pick(block, d, Kind::Float);
    const Tile other = picked(block, d, d.chance(20) ? Kind::Number : Kind::Float, x.shape());
    const Tile y = d.chance(30) && is_float(other.dtype()) ? other : in(other, x.dtype());  // two of floats of any types have a common one
    switch (d.below(11)) {
      case 0: return bounded(x + y);
      case 1: return bounded(x - y);
      case 2: return bounded(x * y);
      case 3: return -x;
      case 4: return abs(x);
      case 5: return maximum(x, y);
      case 6: return minimum(x, y, Nan::Propagate);
      case 7: return floor(cast<float>(x) * 0.25);
      case 8: return bounded(fma(x, y, x));
      case 9: return bounded(x * d.from(-3, 3) + d.from(-9, 9));
      default: return where(picked(block, d, Kind::Bool, x.shape()), x, y);
    }
  }
  Tile computed_integer(Block& block, Draw& d) {
    const Tile x = pick(block, d, Kind::Integer);
    const Tile other = picked(block, d, Kind::Integer, x.shape());
    const bool mixed = d.chance(30);
    const Tile y = mixed ? other : in(other, x.dtype());
    const int bits = 8 * static_cast<int>(size_of(x.dtype()));
    switch (d.below(17)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return x * y;
      case 3: return x / in(y, x.dtype());
      case 4: return x % in(y, x.dtype());
      case 5: return x & y;
      case 6: return x | y;
      case 7: return x ^ y;
      case 8: return ~x;
      case 9: return is_unsigned(x.dtype()) ? x : -x;
      case 10: return is_unsigned(x.dtype()) ? x : abs(x);
      case 11: return x << d.below(bits);
      case 12: return x >> d.below(bits);
      case 13: return d.chance(50) ? maximum(x, y) : minimum(x, y);
      case 14: return popcount(x);
      case 15: return bits < 32 ? x : umulhi(x, in(y, x.dtype()));
      default: return where(picked(block, d, Kind::Bool, x.shape()), x, y);
    }
  }
  Tile compared(Block& block, Draw& d) {
    if (d.chance(25)) {
      const Tile x = pick(block, d, Kind::Bool), y = picked(block, d, Kind::Bool, x.shape());
      const auto which = d.below(4);
      return which == 0 ? x && y : which == 1 ? x || y : which == 2 ? x ^ y : !x;
    }
    const Tile x = pick(block, d, Kind::Number), y = in(picked(block, d, Kind::Number, x.shape()), x.dtype());
    switch (d.below(6)) {
      case 0: return x == y;
      case 1: return x != y;
      case 2: return x < y;
      case 3: return x <= y;
      case 4: return x > y;
      default: return x >= d.from(0, 9);
    }
  }
  Tile converted(Block& block, Draw& d) { return in(pick(block, d, Kind::Any), d.chance(50) ? d.one_of(kFloats) : d.one_of(kIntegers)); }
  /// The bits of integers, and of fractions of them, as floats.
  Tile wide_number(Block& block, Draw& d) {
    const Tile x = pick(block, d, Kind::Integer);
    if (d.chance(40)) return d.chance(50) ? bitcast<std::int32_t>(cast<float>(x)) : bitcast<std::int64_t>(cast<double>(x));
    constexpr double kScales[] = {1, 1.0 / 1024, 1e-3, 1e-9, 1e-12};
    const Tile real = cast<double>(x) * d.one_of(kScales);
    const Tile near = cast<float>(cast_to(real, d.one_of(kFloats)));
    return bitcast<std::int32_t>(where(isnan(near), 7, near));
  }
  Tile moved(Block& block, Draw& d) {
    const Tile x = pick(block, d, Kind::Any);
    const Shape shape = x.shape();
    const int rank = shape.rank();
    if (rank == 0) return numel(shape) * 6 > kMost ? x : broadcast_to(x, {2, 3});
    const int axis = static_cast<int>(d.below(rank));
    const std::int64_t size = shape[axis];
    switch (d.below(10)) {
      case 0: {
        std::vector<int> order;
        for (int k = 0; k < rank; ++k) order.insert(order.begin() + d.below(k + 1), k);
        return permute(x, order);
      }
      case 1: return rank == 2 ? trans(x) : ravel(x);
      case 2: return flip(x, axis);
      case 3: {
        const std::int64_t begin = d.below(size);
        return slice(x, axis, begin, d.from(1, size - begin));
      }
      case 4: return numel(shape) * 2 > kMost ? x : cat(x, in(picked(block, d, Kind::Any, shape), x.dtype()), axis);
      case 5: return numel(shape) * 2 > kMost || rank > 3 ? x : join(x, in(picked(block, d, Kind::Any, shape), x.dtype()));
      case 6: return numel(shape) * 2 > kMost ? x : interleave(x, in(picked(block, d, Kind::Any, shape), x.dtype()));
      case 7: {
        if (shape.back() % 2 != 0 || rank > 3) return ravel(x);
        Shape halves = shape;
        halves[rank - 1] /= 2;
        halves.push_back(2);
        const auto [left, right] = split(reshape(x, halves));
        return d.chance(50) ? left : right;
      }
      case 8: return gather(x, within(picked(block, d, Kind::Integer, shape), size + 2) - 1, axis);
      default: return numel(shape) * 3 > kMost || rank > 3 ? x : broadcast_to(expand_dims(x, axis), grown(shape, axis, 3));
    }
  }
  static Shape grown(Shape shape, int axis, std::int64_t size) { return shape.insert(axis, size), shape; }

  Tile reduced(Block& block, Draw& d) {
    const Tile x = fit(pick(block, d, Kind::Any), any_shape(d), d);
    const int axis = static_cast<int>(d.below(x.shape().rank()));
    const Axis kept = d.chance(30) ? Axis::Keep : Axis::Drop;
    if (is(x, Kind::Bool)) return d.chance(50) ? any(x, axis, kept) : all(x, axis, kept);
    switch (d.below(8)) {
      case 0: return bounded(sum(x, axis, kept));
      case 1: return max(x, axis, kept);
      case 2: return min(x, axis, kept);
      case 3: return argmax(x, axis, kept);
      case 4: return argmin(x, axis, kept);
      case 5: return is(x, Kind::Float) ? max_with_indices(x, axis, kept).second : xor_sum(x, axis, kept);
      case 6: return is(x, Kind::Float) ? bounded(sum(x, axis, kept)) : prod(x, axis, kept);
      default:
        return d.chance(50) ? reduce(
                                  x, axis, [](Tile, Tile b) { return b; }, kept)
                            : reduce(x, axis, [](Tile a, Tile b) { return maximum(a, b); }, kept);
    }
  }
  Tile scanned(Block& block, Draw& d) {
    const Tile x = fit(pick(block, d, Kind::Number), any_shape(d), d);
    const int axis = static_cast<int>(d.below(x.shape().rank()));
    const Direction direction = d.chance(50) ? Direction::Forward : Direction::Reverse;
    switch (d.below(4)) {
      case 0: return bounded(cumsum(x, axis));
      case 1: return is(x, Kind::Float) ? bounded(cumsum(x, axis)) : cumprod(x, axis);
      case 2: return associative_scan(x, axis, [](Tile a, Tile b) { return minimum(a, b); }, direction);
      default: return associative_scan(x, axis, [](Tile a, Tile) { return a; }, direction);
    }
  }
  Tile ordered(Block& block, Draw& d) {
    const Tile x = fit(pick(block, d, Kind::Number), any_shape(d), d);
    const int axis = static_cast<int>(d.below(x.shape().rank()));
    const Order order = d.chance(50) ? Order::Ascending : Order::Descending;
    const auto which = d.below(3);
    return which == 0 ? sort(x, axis, order) : which == 1 ? argsort(x, axis, order) : topk(x, d.from(1, x.shape().back()));
  }
  Tile counted(Block& block, Draw& d) {
    const Tile x = pick(block, d, Kind::Integer);
    const std::int64_t bins = d.from(1, 40);
    const Tile numbers = d.chance(60) ? in(within(x, bins + 2), d.one_of(kIntegers)) : x;
    return d.chance(50) ? histogram(numbers, bins) : histogram(numbers, bins, picked(block, d, Kind::Bool, x.shape()));
  }
  Tile multiplied(Block& block, Draw& d) {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 8, 16, 16, 17, 32, 32};
    constexpr DType kTypes[] = {tegula::f32,  tegula::f32, tegula::f16, tegula::bf16, tegula::f64, tegula::e4m3,
                                tegula::e5m2, tegula::i8,  tegula::u8,  tegula::i32,  tegula::u32};
    const DType dtype = d.one_of(kTypes);
    const std::int64_t m = d.one_of(kSizes), n = d.one_of(kSizes), k = d.one_of(kSizes), many = d.chance(25) ? d.from(2, 3) : 0;
    const auto operand = [&](std::int64_t rows, std::int64_t columns, DType type) {
      return in(picked(block, d, Kind::Number, many > 0 ? Shape{many, rows, columns} : Shape{rows, columns}), type);
    };
    const Tile a = operand(m, k, dtype), b = operand(k, n, dtype), product = dot(a, b);
    const Tile all = d.chance(50) ? dot(a, b, operand(m, n, product.dtype())) : product;
    return numel(all.shape()) > kMost ? sum(bounded(all), 0) : bounded(all);
  }
  /// NaN and infinities, and words that say what becomes of them.
  Tile special(Block& block, Draw& d) {
    Tile x = fit(pick(block, d, Kind::Float), any_shape(d), d);
    if (size_of(x.dtype()) == 1) x = cast<float>(x);
    x = where(x == d.from(-2, 2), NAN, where(x == d.from(-2, 2), d.chance(50) ? INFINITY : -INFINITY, x));
    const int axis = static_cast<int>(d.below(x.shape().rank()));
    const auto finite = [](const Tile& y) { return where(isnan(y), 7, clamp(y, -64, 64)); };
    switch (d.below(10)) {
      case 0: return finite(sort(x, axis, d.chance(50) ? Order::Ascending : Order::Descending));
      case 1: return argsort(x, axis, d.chance(50) ? Order::Ascending : Order::Descending);
      case 2: return argmax(x, axis);
      case 3: return argmin(x, axis);
      case 4: return isnan(x);
      case 5: return x != reshape(x, x.shape());
      case 6: return finite(maximum(x, picked(block, d, Kind::Float, x.shape())));
      case 7: return finite(minimum(x, 1, Nan::Propagate));
      case 8: return finite(max(x, axis));
      default: return finite(cast_to(x, d.one_of(kFloats)));
    }
  }
  Tile assembled(Block& block, Draw& d) {
    const Tile x = in(pick(block, d, Kind::Number), tegula::i32), y = in(picked(block, d, Kind::Number, x.shape()), tegula::i32);
    return inline_asm_elementwise<std::int32_t>("xor.b32 $0, $1, $2;", "=r,r,r", {x, y}, [](const std::vector<double>& v) {
      return static_cast<double>(static_cast<std::int32_t>(v[0]) ^ static_cast<std::int32_t>(v[1]));
    });
  }
  Tile random_words(Block& block, Draw& d) {
    const Tile x = pick(block, d, Kind::Integer), seed = in(scalar(block, d, Kind::Integer), tegula::i64);
    return d.chance(50) ? randint(seed, in(x, tegula::i64))
                        : randint4x<std::uint32_t>(seed, in(x, tegula::i64))[static_cast<std::size_t>(d.below(4))];
  }

  std::vector<Tile> inputs_;
  Tile n_;
};

}  // namespace drawn

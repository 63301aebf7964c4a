#include "tegula/ops/products/attention_decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using tile::Value;

/// Queries from which on products on tensor cores are faster, though they read all keys.
constexpr std::int64_t kFewQueries = 4;
/// Keys of a tile.
constexpr std::int64_t kLeastKeys = 8, kMostKeys = 128;
/// So many times larger tiles where few rows would leave the device idle: then several instances share the keys, each of which reads its own at once,
/// and another launch combines what they found. Of larger tiles, how many one instance walks over instead, where that is not enough.
constexpr std::int64_t kLargerTiles = 4, kTilesAlone = 4;

DType sum_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }

/// What was found of some keys: the greatest score, Σ exp(score - greatest), and Σ exp(score - greatest) v. Each row of a tile has its own.
struct Found {
  Value greatest, sum, values;  // (K, 1), (K, 1), (K, E)
};

/// Inputs and results as attention_nodes has them, wherever they lie.
class AttentionDecodeOp final : public KernelOp {
 public:
  explicit AttentionDecodeOp(const AttentionForm& form) : form_(form) {}
  std::string_view name() const override { return "attention_decode"; }
  void attributes(Attributes& a) override {
    a("causal", form_.causal);
    a("window", form_.window);
    a("scale", form_.scale);
    a("mask", form_.mask);
    a("lengths", form_.lengths);
    a("start", form_.start);
  }

  bool accepts(int index, const Layout& layout) const override {
    return index > 2 || layout.shape.back() <= 1 || layout.strides[layout.shape.rank() - 1] == 1;
  }

  void lower(KernelContext& context) const override {
    const Sizes s(context);
    if (s.splits == 1) {
      KernelLaunch kernel(context, "attention_decode");
      const Row row(kernel, s);
      store_result(context, kernel, s, row, combined(kernel, found_of(kernel, s, row, {})));
      kernel.launch({s.rows, 1, 1}, s.operations());
      return;
    }
    const auto bytes = [&](std::int64_t columns) { return s.rows * s.splits * columns * static_cast<std::int64_t>(size_of(s.sums)); };
    const int greatest = context.scratch(bytes(1)), sum = context.scratch(bytes(1)), values = context.scratch(bytes(s.features));
    {
      KernelLaunch kernel(context, "attention_decode_part");
      tile::Builder& b = kernel.builder();
      const Row row(kernel, s);
      const Value split = b.program_id(1);
      const Found part = combined(kernel, found_of(kernel, s, row, split));
      const Value to_greatest = kernel.scratch(greatest, s.sums, true), to_sum = kernel.scratch(sum, s.sums, true),
                  to_values = kernel.scratch(values, s.sums, true);
      const Value at = row.index * b.constant(s.splits, i64) + split;
      b.store(to_greatest + at, tile::reshape(part.greatest, {}));
      b.store(to_sum + at, tile::reshape(part.sum, {}));
      b.store(to_values + (at * b.constant(s.features, i64) + tile::row(b.arange(0, s.features))), part.values);
      kernel.launch({s.rows, s.splits, 1}, s.operations());
    }
    KernelLaunch kernel(context, "attention_decode_combine");
    tile::Builder& b = kernel.builder();
    const Row row(kernel, s);
    const Value from_greatest = kernel.scratch(greatest, s.sums, false), from_sum = kernel.scratch(sum, s.sums, false),
                from_values = kernel.scratch(values, s.sums, false);
    const Value at = tile::col(row.index * b.constant(s.splits, i64) + b.arange(0, s.splits));  // (S, 1)
    const Found parts{b.load(from_greatest + at), b.load(from_sum + at),
                      b.load(from_values + (at * b.constant(s.features, i64) + tile::row(b.arange(0, s.features))))};
    store_result(context, kernel, s, row, combined(kernel, parts));
    kernel.launch({s.rows, 1, 1}, static_cast<double>(2 * s.rows * s.splits * s.features));
  }

 private:
  struct Sizes {
    explicit Sizes(const KernelContext& c) {
      const Shape &q = c.input(0).shape, &k = c.input(1).shape;
      batch = q[0], heads = q[1], queries = q[2], width = q[3], groups = k[1], keys = k[2], features = c.input(2).shape[3];
      rows = batch * heads * queries;
      for (int i = 0; i < c.input_count(); ++i) strides.push_back(c.input(i).strides);
      dtype = c.input(0).dtype, sums = sum_dtype(dtype);
      const std::int64_t widest = std::max<std::int64_t>(std::max(width, features), 1);
      const auto floor = [](std::int64_t n) { return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); };
      tile = std::clamp(floor(std::max<std::int64_t>(c.tile_elements() / widest, 1)), kLeastKeys, kMostKeys);
      splits = std::clamp<std::int64_t>(c.instances() / std::max<std::int64_t>(2 * rows, 1), 1, std::max<std::int64_t>(keys / tile, 1));
      splits = floor(splits);
      const std::int64_t share = divide_up(keys, splits);
      at_once = share <= kLargerTiles * tile;
      if (at_once) tile = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(share, kLeastKeys))));
      else if (splits > 1 && keys <= kTilesAlone * kLargerTiles * tile) tile *= kLargerTiles, splits = 1;
    }
    double operations() const { return 2.0 * static_cast<double>(rows * keys) * static_cast<double>(width + features); }
    std::vector<Strides> strides;
    std::int64_t batch, heads, queries, width, keys, groups, features, rows, tile, splits;
    bool at_once;  // an instance has no more keys than a tile
    DType dtype, sums;
  };

  /// Which query of which head an instance has: rows follow each other as those of o do.
  struct Row {
    Row(KernelLaunch& kernel, const Sizes& s) : index(kernel.builder().program_id(0)) {
      const Value heads = kernel.number(s.heads), queries = kernel.number(s.queries);
      const Value line = index / heads;  // (b, m)
      head = index % heads, query = line % queries, sample = line / queries;
      of_head = (sample * heads + head) * queries + query;  // where (b, h, m) is
    }
    Value index, sample, head, query, of_head;
  };

  /// Of the row's keys, or those of one of `splits` parts of them.
  Found found_of(KernelLaunch& kernel, const Sizes& s, const Row& row, Value split) const {
    tile::Builder& b = kernel.builder();
    const auto number = [&](std::int64_t n) { return b.constant(n, i64); };
    const Value q = kernel.input(0), k = kernel.input(1), v = kernel.input(2);
    int next = 3;
    const Value mask = form_.mask ? kernel.input(next++) : Value(), lengths = form_.lengths ? kernel.input(next++) : Value(),
                start = form_.start ? kernel.input(next++) : Value();
    const Value keys = kernel.number(s.keys), group = row.head / kernel.number(s.heads / s.groups);
    /// Σ index * stride: of axes that broadcast nothing.
    const auto at = [&](int input, std::initializer_list<Value> indices) {
      Value sum = number(0);
      int axis = 0;
      for (const Value& index : indices) {
        const std::int64_t stride = s.strides[static_cast<std::size_t>(input)][axis++];
        if (stride == 1) sum = sum + index;
        else if (stride != 0) sum = sum + index * number(stride);
      }
      return sum;
    };
    const int of_mask = 3, of_lengths = of_mask + form_.mask, of_start = of_lengths + form_.lengths;

    // The keys from `first` to before `last` may be seen.
    Value place = row.query;
    if (form_.start) {
      const Value far = number(std::int64_t{1} << 61), near = number(-(std::int64_t{1} << 61));  // no key lies there, and no sum overflows
      const Value given = b.load(start + at(of_start, {row.sample})), most = tile::select(given > far, far, given);
      place = place + tile::select(most < near, near, most);
    }
    Value first = number(0), last = keys;
    const auto least = [](Value x, Value y) { return tile::select(x < y, x, y); };
    if (form_.lengths) last = least(last, b.load(lengths + at(of_lengths, {row.sample})));
    if (form_.causal) last = least(last, place + 1);
    if (form_.window > 0) {
      const Value window = kernel.number(form_.window), before = place - window + 1;
      first = tile::select(before > first, before, first);
      last = least(last, place + window);
    }
    if (split) {
      const std::int64_t whole = s.at_once ? 1 : s.tile;
      const Value share = (last - first + number(s.splits * whole - 1)) / number(s.splits * whole) * number(whole);
      first = first + split * share;
      last = least(last, first + share);
    }

    const Value columns = tile::row(b.arange(0, s.width)), of_values = tile::row(b.arange(0, s.features));
    const Value query = b.load(q + (at(0, {row.sample, row.head, row.query}) + columns)) * b.constant(form_.scale, s.sums);  // (1, D)
    const Value nothing = b.full({s.tile, 1}, -std::numeric_limits<double>::infinity(), s.sums);
    const Value zero = b.full({s.tile, 1}, 0, s.sums);
    struct Read {
      Value score, seen, values;  // (K, 1), (K, 1), (K, E)
    };
    const auto read = [&](Value from) {
      const Value key = from + tile::col(b.arange(0, s.tile));  // (K, 1)
      const Value within = key < last;
      Value seen = within;
      if (mask) seen = seen && b.load(mask + at(of_mask, {row.sample, row.head, row.query, key}), within);
      const Value of_key = b.load(k + (at(1, {row.sample, group, key}) + columns), within);  // (K, D)
      const Value of_value = b.load(v + (at(2, {row.sample, group, key}) + of_values), seen);  // 0 times what is hidden may be NaN
      return Read{tile::select(seen, tile::reduce(of_key * query, 1, tile::Reduction::Sum), nothing), seen, of_value};
    };
    if (s.at_once) {
      const Read all = read(first);
      return {all.score, tile::select(all.seen, b.full({s.tile, 1}, 1, s.sums), zero), all.values};
    }
    const std::vector<Value> found = b.for_(first, last, number(s.tile), {nothing, zero, b.full({s.tile, s.features}, 0, s.sums)},
                                            [&](Value from, std::span<const Value> carried) {
                                              const Read next = read(from);
                                              const Value greatest = tile::binary(tile::Word::Max, carried[0], next.score);
                                              const Value shift = tile::select(greatest > nothing, greatest, zero);
                                              const Value before = exp(carried[0] - shift), weight = exp(next.score - shift);
                                              return std::vector<Value>{greatest, tile::fma(carried[1], before, weight),
                                                                        tile::fma(carried[2], before, weight * next.values)};
                                            });
    return {found[0], found[1], found[2]};
  }

  static Value exp(Value x) { return tile::unary(tile::Word::Exp, x); }

  /// All rows as one: (1, 1), (1, 1), (1, E).
  static Found combined(KernelLaunch& kernel, const Found& x) {
    tile::Builder& b = kernel.builder();
    const DType dtype = x.sum.dtype();
    const Value greatest = tile::reduce(x.greatest, 0, tile::Reduction::Max);
    const Value shift =
        tile::select(greatest > b.constant(-std::numeric_limits<double>::infinity(), dtype), greatest, b.full({1, 1}, 0, dtype));
    const Value weight = exp(x.greatest - shift);
    return {greatest, tile::reduce(x.sum * weight, 0, tile::Reduction::Sum), tile::reduce(x.values * weight, 0, tile::Reduction::Sum)};
  }

  static void store_result(const KernelContext& context, KernelLaunch& kernel, const Sizes& s, const Row& row, const Found& x) {
    tile::Builder& b = kernel.builder();
    const Value zero = b.full({1, 1}, 0, s.sums), any = x.sum > zero, divisor = tile::select(any, x.sum, b.full({1, 1}, 1, s.sums));
    if (context.wanted(0)) {
      const Value o = kernel.output(0);
      b.store(o + (row.index * b.constant(s.features, i64) + tile::row(b.arange(0, s.features))), x.values / divisor);
    }
    if (context.wanted(1)) {
      const Value sum = kernel.output(1), logarithm = x.greatest + tile::unary(tile::Word::Log, divisor);
      b.store(sum + tile::reshape(row.of_head, {1, 1}),
              tile::select(any, logarithm, b.full({1, 1}, -std::numeric_limits<double>::infinity(), s.sums)));
    }
  }

  AttentionForm form_;
};

}  // namespace

bool describes_attention_decode(const AttentionForm& form) { return !form.bias && form.dropout == 0; }

std::vector<Tensor> attention_decode_nodes(const AttentionForm& form, std::span<const Tensor> inputs) {
  const Shape &q = inputs[0].shape(), &v = inputs[2].shape();
  const DType dtype = inputs[0].dtype();
  const Result results[] = {{{q[0], q[2], q[1], v[3]}, dtype}, {{q[0], q[1], q[2]}, sum_dtype(dtype)}};
  return make_nodes(Ref<const Op>(new AttentionDecodeOp(form)), inputs, results, Line::current());
}

std::optional<std::vector<Tensor>> attention_decode(const AttentionForm& form, std::span<const Tensor> inputs,
                                                    const runtime::Device& device) {
  const Shape &q = inputs[0].shape(), &k = inputs[1].shape(), &v = inputs[2].shape();
  const bool is_empty = q.rank() != 4 || numel(q) == 0 || numel(k) == 0 || numel(v) == 0;
  if (is_empty || !describes_attention_decode(form) || !form.start || q[2] > kFewQueries || !device.traits().many_instances)
    return std::nullopt;
  return attention_decode_nodes(form, inputs);
}

}  // namespace tegula::ops

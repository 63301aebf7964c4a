#include "tegula/ops/products/attention_decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/rows/tile_launch.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

using tile::Tile, tile::Axis, tile::arange;

/// Queries from which on products on tensor cores are faster, though they read all keys.
constexpr std::int64_t kFewQueries = 4;
/// Keys of a tile.
constexpr std::int64_t kLeastKeys = 8, kMostKeys = 128;
/// Factors of the tile's size. kLargerTiles: if few rows would leave the device idle, several instances share the keys, each of which reads a tile this much larger at
/// once, and another launch combines their results. kTilesAlone: larger tiles that one instance walks over instead, if there are too few.
constexpr std::int64_t kLargerTiles = 4, kTilesAlone = 4;

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // the score of a key that is not seen

DType sum_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }

/// The result for some keys: the greatest score, Σ exp(score - greatest), and Σ exp(score - greatest) v. Each row of a tile has its own.
struct Found {
  Tile greatest, sum, values;  // (K, 1), (K, 1), (K, E)
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
      TileLaunch kernel(context, "attention_decode");
      const Row row(kernel, s);
      store_result(context, kernel, s, row, combined(found_of(kernel, s, row, {})));
      kernel.launch({s.rows, 1, 1}, s.operations());
      return;
    }
    const auto bytes = [&](std::int64_t columns) { return s.rows * s.splits * columns * static_cast<std::int64_t>(size_of(s.sums)); };
    const int greatest = context.scratch(bytes(1)), sum = context.scratch(bytes(1)), values = context.scratch(bytes(s.features));
    {
      TileLaunch kernel(context, "attention_decode_part");
      const Row row(kernel, s);
      auto split = tile::program_id(1);
      const Found part = combined(found_of(kernel, s, row, split));
      auto to_greatest = kernel.scratch(greatest, s.sums, true), to_sum = kernel.scratch(sum, s.sums, true),
           to_values = kernel.scratch(values, s.sums, true);
      auto at = row.index * s.splits + split;
      store(to_greatest + at, reshape(part.greatest, {}));
      store(to_sum + at, reshape(part.sum, {}));
      store(to_values + (at * s.features + tile::row(arange(0, s.features))), part.values);
      kernel.launch({s.rows, s.splits, 1}, s.operations());
    }
    TileLaunch kernel(context, "attention_decode_combine");
    const Row row(kernel, s);
    auto from_greatest = kernel.scratch(greatest, s.sums, false), from_sum = kernel.scratch(sum, s.sums, false),
         from_values = kernel.scratch(values, s.sums, false);
    auto at = col(row.index * s.splits + arange(0, s.splits));  // (S, 1)
    const Found parts{load(from_greatest + at), load(from_sum + at),
                      load(from_values + (at * s.features + tile::row(arange(0, s.features))))};
    store_result(context, kernel, s, row, combined(parts));
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
    Row(TileLaunch& kernel, const Sizes& s) : index(tile::program_id(0)) {
      auto heads = kernel.number(s.heads), queries = kernel.number(s.queries);
      auto line = index / heads;  // (b, m)
      head = index % heads, query = line % queries, sample = line / queries;
      of_head = (sample * heads + head) * queries + query;  // index of (b, h, m)
    }
    Tile index, sample, head, query, of_head;
  };

  /// The attention over the row's keys, or over one of `splits` parts of them.
  Found found_of(TileLaunch& kernel, const Sizes& s, const Row& row, const std::optional<Tile>& split) const {
    auto q = kernel.input(0), k = kernel.input(1), v = kernel.input(2);
    int next = 3;
    Tile mask, lengths, start;
    if (form_.mask) mask = kernel.input(next++);
    if (form_.lengths) lengths = kernel.input(next++);
    if (form_.start) start = kernel.input(next++);
    auto keys = kernel.number(s.keys), group = row.head / kernel.number(s.heads / s.groups);
    /// Σ index * stride: of axes that broadcast nothing.
    const auto at = [&](int input, const std::vector<Tile>& indices) {
      Tile sum = 0;
      int axis = 0;
      for (const Tile& index : indices) {
        const std::int64_t stride = s.strides[static_cast<std::size_t>(input)][axis++];
        if (stride == 1) sum += index;
        else if (stride != 0) sum += index * stride;
      }
      return sum;
    };
    const int of_mask = 3, of_lengths = of_mask + form_.mask, of_start = of_lengths + form_.lengths;

    // The keys from `first` to before `last` may be seen.
    auto place = row.query;
    if (form_.start) {
      constexpr std::int64_t kFar = std::int64_t{1} << 61;  // no key lies there, and no sum overflows
      auto given = load(start + at(of_start, {row.sample})), most = where(given > kFar, kFar, given);
      place += where(most < -kFar, -kFar, most);
    }
    Tile first = 0, last = keys;
    const auto least = [](const Tile& x, const Tile& y) { return where(x < y, x, y); };
    if (form_.lengths) last = least(last, load(lengths + at(of_lengths, {row.sample})));
    if (form_.causal) last = least(last, place + 1);
    if (form_.window > 0) {
      auto window = kernel.number(form_.window), before = place - window + 1;
      first = where(before > first, before, first);
      last = least(last, place + window);
    }
    if (split) {
      const std::int64_t whole = s.at_once ? 1 : s.tile;
      auto share = (last - first + (s.splits * whole - 1)) / (s.splits * whole) * whole;
      first += *split * share;
      last = least(last, first + share);
    }

    auto columns = tile::row(arange(0, s.width)), of_values = tile::row(arange(0, s.features));
    auto query = load(q + (at(0, {row.sample, row.head, row.query}) + columns)) * form_.scale;  // (1, D)
    auto nothing = tile::full_of({s.tile, 1}, kNothing, s.sums), zero = tile::full_of({s.tile, 1}, 0, s.sums);
    struct Read {
      Tile score, seen, values;  // (K, 1), (K, 1), (K, E)
    };
    const auto read = [&](const Tile& from) {
      auto key = from + col(arange(0, s.tile));  // (K, 1)
      auto within = key < last, seen = within;
      if (form_.mask) seen = seen && load(mask + at(of_mask, {row.sample, row.head, row.query, key}), within);
      auto of_key = load(k + (at(1, {row.sample, group, key}) + columns), within);  // (K, D)
      auto of_value = load(v + (at(2, {row.sample, group, key}) + of_values), seen);  // 0 times what is hidden may be NaN
      return Read{where(seen, sum(of_key * query, 1, Axis::Keep), nothing), seen, of_value};
    };
    if (s.at_once) {
      const Read all = read(first);
      return {all.score, where(all.seen, tile::full_of({s.tile, 1}, 1, s.sums), zero), all.values};
    }
    Found found{nothing, zero, tile::full_of({s.tile, s.features}, 0, s.sums)};
    for (auto from : tile::range(first, last, s.tile)) {
      const Read more = read(from);
      auto greatest = maximum(found.greatest, more.score, tile::Nan::Propagate);
      auto shift = where(greatest > nothing, greatest, zero);
      auto before = exp(found.greatest - shift), weight = exp(more.score - shift);
      found.greatest = greatest;
      found.sum = fma(found.sum, before, weight);
      found.values = fma(found.values, before, weight * more.values);
    }
    return found;
  }

  /// All rows as one: (1, 1), (1, 1), (1, E).
  static Found combined(const Found& x) {
    auto greatest = max(x.greatest, 0, Axis::Keep);
    auto weight = exp(x.greatest - where(greatest > kNothing, greatest, 0));
    return {greatest, sum(x.sum * weight, 0, Axis::Keep), sum(x.values * weight, 0, Axis::Keep)};
  }

  static void store_result(const KernelContext& context, TileLaunch& kernel, const Sizes& s, const Row& row, const Found& x) {
    auto any = x.sum > 0, divisor = where(any, x.sum, 1);
    if (context.wanted(0)) store(kernel.output(0) + (row.index * s.features + tile::row(arange(0, s.features))), x.values / divisor);
    if (context.wanted(1)) store(kernel.output(1) + reshape(row.of_head, {1, 1}), where(any, x.greatest + log(divisor), kNothing));
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

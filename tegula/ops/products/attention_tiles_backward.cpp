// The gradients of attention of many queries, as tile programs (FlashAttention-2, algorithm 2, in two passes: no sum depends on an order).

#include <algorithm>
#include <array>
#include <numbers>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/products/attention_tiles.h"
#include "tegula/ops/products/attention_tiles_scores.h"
#include "tegula/ops/products/typed_launch.h"

namespace tegula::ops {
namespace {

using tile::Tile, tile::Axis, tile::arange;

/// Rows of an instance, and of what it walks over. Where an instance has several times as many, groups of four warps take turns, for which a warp of its own copies.
constexpr std::int64_t kRows = 64, kWalked = 64;
constexpr std::int64_t kWidest = 128;  // of heads: a block's sums are in registers, what it multiplies in shared memory

/// Inputs and results as those of AttentionGradientOp.
class AttentionTilesBackwardOp final : public KernelOp {
 public:
  AttentionTilesBackwardOp(const AttentionForm& form, const AttentionBlocks& blocks)
      : form_(form),
        keys_(blocks.keys > 0 ? blocks.keys : kRows),
        queries_(blocks.queries > 0 ? blocks.queries : kRows) {}
  std::string_view name() const override { return "attention_tiles_backward"; }
  void attributes(Attributes& a) override {
    a("causal", form_.causal);
    a("window", form_.window);
    a("scale", form_.scale);
    a("mask", form_.mask);
    a("bias", form_.bias);
    a("lengths", form_.lengths);
    a("start", form_.start);
    a("sum_gradient", form_.sum_gradient);
    a("keys", keys_);
    a("queries", queries_);
  }
  bool accepts(int index, const Layout& layout) const override {
    const int extra = index < 3 ? 0 : std::min(index - 3, form_.extras());
    if (index >= 3 && extra < form_.mask + form_.bias) return true;
    const bool rows = index < 3 || index - extra == kO || index - extra == kGradient;
    if (!rows || (index >= 3 && extra < form_.extras())) return layout.is_dense();
    return layout.shape.back() <= 1 || layout.strides[layout.shape.rank() - 1] == 1;
  }

  void lower(KernelContext& context) const override {
    const Sizes s(context, form_);
    const int delta = context.scratch(s.batch * s.heads * s.queries * 4);
    sums_of_rows(context, s, delta);
    if (context.wanted(1) || context.wanted(2)) of_keys(context, s, delta);
    if (context.wanted(0) || context.wanted(3)) of_queries(context, s, delta);
  }

 private:
  /// Inputs, but for those that follow the first three (AttentionForm::extras).
  enum Input : std::uint8_t { kQ, kK, kV, kO, kSum, kGradient, kSumGradient };
  struct Sizes {
    Sizes(const KernelContext& c, const AttentionForm& form) : dtype(c.input(kQ).dtype), extras(form.extras()) {
      const Shape &q = c.input(kQ).shape, &k = c.input(kK).shape;
      batch = q[0], heads = q[1], queries = q[2], width = q[3], groups = k[1], keys = k[2], features = c.input(kV).shape[3];
      for (const Input i : {kQ, kK, kV, kO, kSum, kGradient}) strides[i] = c.input(number_of(i)).strides;
    }
    int number_of(Input which) const { return which < kO ? which : which + extras; }
    DType dtype;
    int extras;
    std::int64_t batch, heads, queries, width, groups, keys, features;
    std::array<Strides, 6> strides;
  };
  /// One head of a sample of an operand: (B, H, T, …) or, of o and its gradient, (B, T, H, …).
  struct Head {
    Tile begin;
    std::int64_t stride;
  };
  static Head head_of(TypedLaunch& kernel, const Sizes& s, Input which, const Tile& sample, const Tile& head) {
    const Strides& strides = s.strides[which];
    const bool turned = which == kO || which == kGradient;
    return {kernel.typed_input(s.number_of(which)) + (sample * strides[0] + head * strides[turned ? 2 : 1]), strides[turned ? 1 : 2]};
  }
  static Tile rows_of(const Head& head, const Tile& rows, const Tile& count, std::int64_t width) {
    return load(head.begin + (col(rows) * head.stride + tile::row(arange(0, width))), col(rows) < count);
  }

  /// delta[b, h, m] = Σ o * gradient - gradient of the sum
  void sums_of_rows(KernelContext& context, const Sizes& s, int delta) const {
    TypedLaunch kernel(context, "attention_tiles_deltas");
    auto M = kernel.number(s.queries), heads = kernel.number(s.heads);
    auto of_all = tile::program_id(1), m = tile::program_id(0) * kRows + arange(0, kRows);
    const Head o = head_of(kernel, s, kO, of_all / heads, of_all % heads),
               g = head_of(kernel, s, kGradient, of_all / heads, of_all % heads);
    auto product = cast_to(rows_of(o, m, M, s.features), f32) * cast_to(rows_of(g, m, M, s.features), f32);
    auto of_row = sum(product, 1, Axis::Keep), at = of_all * M + col(m);
    if (form_.sum_gradient) of_row = of_row - load(kernel.input(s.number_of(kSumGradient)) + at, col(m) < M);
    store(kernel.scratch(delta, f32, true) + at, of_row, col(m) < M);
    kernel.launch({divide_up(s.queries, kRows), s.batch * s.heads, 1});
  }

  /// The probabilities (…) of scores from products, by the logarithms of their rows' sums.
  Tile probabilities(const TileScores& scores, const Tile& products, const Tile& m, const Tile& n, const Tile& there,
                     const Tile& log) const {
    const Tile known = scores.may_see_nothing() ? where(log == TileScores::kNothing, 0, log) : log;
    return exp2(fma(scores.scores(products, m, n, there), scores.unit(), -known));
  }

  /// A block of keys and values: all queries of all heads of its group that see it.
  void of_keys(KernelContext& context, const Sizes& s, int delta) const {
    TypedLaunch kernel(context, "attention_tiles_of_keys");
    TileScores scores(kernel, context, form_);
    auto M = kernel.number(s.queries), N = kernel.number(s.keys), groups = kernel.number(s.groups);
    auto sample = tile::program_id(1) / groups, group = tile::program_id(1) % groups, first = tile::program_id(0) * keys_;
    auto n = first + arange(0, keys_);
    auto kk = rows_of(head_of(kernel, s, kK, sample, group), n, N, s.width),
         vv = rows_of(head_of(kernel, s, kV, sample, group), n, N, s.features);
    auto logs = kernel.input(s.number_of(kSum)), deltas = kernel.scratch(delta, f32, false);
    auto of_k = tile::full_of({keys_, s.width}, 0, f32), of_v = tile::full_of({keys_, s.features}, 0, f32);
    for (std::int64_t i = 0; i < s.heads / s.groups; ++i) {
      auto head = group * (s.heads / s.groups) + i;
      scores.at(sample, head);
      Tile begin = 0, end = M;  // of the queries that see one of the keys
      if (scores.ends()) begin = TileScores::larger(0, scores.query_at(first - (scores.behind() - 1))) / kWalked * kWalked;
      if (form_.window > 0) end = TileScores::smaller(M, scores.query_at(first + (keys_ - 1 + form_.window)));
      const Head q = head_of(kernel, s, kQ, sample, head), g = head_of(kernel, s, kGradient, sample, head);
      auto line = (sample * kernel.number(s.heads) + head) * M;
      for (auto m0 : tile::range(begin, end, kWalked, hints_of(keys_))) {
        auto m = m0 + arange(0, kWalked), places = tile::broadcast_to(tile::row(line + m), {keys_, kWalked}), there = tile::row(m) < M;
        auto qq = rows_of(q, m, M, s.width), gg = rows_of(g, m, M, s.features);
        auto products = dot(kk, trans(qq)), of_values = dot(vv, trans(gg));  // (N, M)
        auto p =
            probabilities(scores, products, tile::row(m), col(n), there && col(n) < N, load(logs + places, there) * std::numbers::log2e);
        if (scores.may_see_nothing() || form_.causal)
          if_(!scores.whole(m0, kWalked, first, keys_), [&] { p = where(scores.seen(tile::row(m), col(n)), p, 0); });
        of_v = dot(cast_to(p, s.dtype), gg, of_v);
        auto ds = p * (of_values - load(deltas + places, there));
        of_k = dot(cast_to(ds, s.dtype), qq, of_k);
      }
    }
    auto row = (sample * N + col(n)) * groups + group;
    if (context.wanted(1)) store(kernel.output(1) + (row * s.width + tile::row(arange(0, s.width))), of_k * form_.scale, col(n) < N);
    if (context.wanted(2)) store(kernel.output(2) + (row * s.features + tile::row(arange(0, s.features))), of_v, col(n) < N);
    kernel.launch({divide_up(s.keys, keys_), s.batch * s.groups, 1}, operations(s, 4));
  }

  /// A block of queries: all keys that they see.
  void of_queries(KernelContext& context, const Sizes& s, int delta) const {
    TypedLaunch kernel(context, "attention_tiles_of_queries");
    TileScores scores(kernel, context, form_);
    auto M = kernel.number(s.queries), N = kernel.number(s.keys), heads = kernel.number(s.heads);
    auto of_all = tile::program_id(1), sample = of_all / heads, head = of_all % heads, group = head / kernel.number(s.heads / s.groups);
    auto first = (kernel.number(divide_up(s.queries, queries_)) - 1 - tile::program_id(0)) * queries_;  // the most keys first
    auto m = first + arange(0, queries_);
    auto qq = rows_of(head_of(kernel, s, kQ, sample, head), m, M, s.width),
         gg = rows_of(head_of(kernel, s, kGradient, sample, head), m, M, s.features);
    auto at = of_all * M + col(m);
    auto log = load(kernel.input(s.number_of(kSum)) + at, col(m) < M) * std::numbers::log2e;  // (M, 1)
    auto del = load(kernel.scratch(delta, f32, false) + at, col(m) < M);
    const Head k = head_of(kernel, s, kK, sample, group), v = head_of(kernel, s, kV, sample, group);
    auto sums = tile::full_of({queries_, s.width}, 0, f32);
    scores.at(sample, head);
    Tile begin = 0, end = scores.limit();
    const Tile place = scores.position(first);
    if (context.wanted(3)) end = N;  // all of it is stored
    else if (scores.ends()) end = TileScores::smaller(end, place + (queries_ - 1 + scores.behind()));
    if (form_.window > 0 && !context.wanted(3)) begin = where(place < form_.window, 0, (place - form_.window + 1) / kWalked * kWalked);
    Tile of_scores;
    if (context.wanted(3)) of_scores = kernel.output(3);
    for (auto n0 : tile::range(begin, end, kWalked, hints_of(queries_))) {
      auto n = n0 + arange(0, kWalked);
      auto kk = rows_of(k, n, N, s.width), vv = rows_of(v, n, N, s.features), there = col(m) < M && tile::row(n) < N;
      auto products = dot(qq, trans(kk)), of_values = dot(gg, trans(vv));
      auto p = probabilities(scores, products, col(m), tile::row(n), there, log);
      if_(!scores.whole(first, queries_, n0, kWalked), [&] { p = where(scores.seen(col(m), tile::row(n)), p, 0); });
      auto ds = p * (of_values - del);
      if (context.wanted(3)) store(of_scores + ((of_all * M + col(m)) * N + tile::row(n)), ds, there);
      sums = dot(cast_to(ds, s.dtype), kk, sums);
    }
    auto row = (sample * M + col(m)) * heads + head;
    if (context.wanted(0)) store(kernel.output(0) + (row * s.width + tile::row(arange(0, s.width))), sums * form_.scale, col(m) < M);
    kernel.launch({divide_up(s.queries, queries_), s.batch * s.heads, 1}, operations(s, 3));
  }

  double operations(const Sizes& s, int products) const {
    return (form_.causal ? 1.0 : 2.0) * products * static_cast<double>(s.batch * s.heads * s.queries * s.keys) *
           static_cast<double>(s.width);
  }

  static tile::RangeHints hints_of(std::int64_t rows) {
    tile::RangeHints hints;
    if (rows > kRows) hints.warp_specialize = true;
    return hints;
  }

  AttentionForm form_;
  std::int64_t keys_, queries_;  // of an instance of a pass
};

}  // namespace

bool describes_attention_tiles_backward(const AttentionForm& form, std::span<const Shape> inputs, DType dtype) {
  return std::max(inputs[0].back(), inputs[2].back()) <= kWidest && describes_attention_tiles(form, inputs, dtype);
}

Ref<const Op> attention_tiles_gradients_op(const AttentionForm& form, const AttentionBlocks& blocks) {
  return Ref<const Op>(new AttentionTilesBackwardOp(form, blocks));
}

std::vector<Tensor> attention_tiles_gradients(const AttentionForm& form, std::span<const Tensor> inputs, const AttentionBlocks& blocks) {
  const Shape &q = inputs[0].shape(), &k = inputs[1].shape(), &v = inputs[2].shape();
  const DType dtype = inputs[0].dtype();
  const Result results[] = {{{q[0], q[2], q[1], q[3]}, dtype},
                            {{k[0], k[2], k[1], k[3]}, dtype},
                            {{v[0], v[2], v[1], v[3]}, dtype},
                            {{q[0], q[1], q[2], k[2]}, dtype}};
  std::vector<Tensor> given(inputs.begin(), inputs.end());
  hide_unseen(form, given);
  return make_nodes(attention_tiles_gradients_op(form, blocks), given, results, Line::current());
}

}  // namespace tegula::ops

// The gradients of attention of many queries, as tile programs (FlashAttention-2, algorithm 2, in two passes: no sum depends on an order).

#include <algorithm>
#include <array>
#include <numbers>

#include "tegula/core/divide.h"
#include "tegula/core/error.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/products/attention_tiles.h"
#include "tegula/ops/products/typed_launch.h"

namespace tegula::ops {
namespace {

using tile::Tile, tile::Axis, tile::arange;

/// Rows of an instance, and of what it walks over.
constexpr std::int64_t kRows = 64, kWalked = 64;

/// Inputs and results as those of AttentionGradientOp.
class AttentionTilesBackwardOp final : public KernelOp {
 public:
  explicit AttentionTilesBackwardOp(const AttentionForm& form) : form_(form) {}
  std::string_view name() const override { return "attention_tiles_backward"; }
  void attributes(Attributes& a) override {
    a("causal", form_.causal);
    a("scale", form_.scale);
  }
  bool accepts(int index, const Layout& layout) const override {
    return index == kSum ? layout.is_dense() : layout.shape.back() <= 1 || layout.strides[layout.shape.rank() - 1] == 1;
  }

  void lower(KernelContext& context) const override {
    if (context.wanted(3)) throw Error({.op = "attention", .got = "a gradient of scores", .expected = "none, of attention in tiles"});
    const Sizes s(context);
    const int delta = context.scratch(s.batch * s.heads * s.queries * 4);
    sums_of_rows(context, s, delta);
    if (context.wanted(1) || context.wanted(2)) of_keys(context, s, delta);
    if (context.wanted(0)) of_queries(context, s, delta);
  }

 private:
  enum Input : std::uint8_t { kQ, kK, kV, kO, kSum, kGradient };
  struct Sizes {
    explicit Sizes(const KernelContext& c) : dtype(c.input(kQ).dtype) {
      const Shape &q = c.input(kQ).shape, &k = c.input(kK).shape;
      batch = q[0], heads = q[1], queries = q[2], width = q[3], groups = k[1], keys = k[2], features = c.input(kV).shape[3];
      for (int i = 0; i < 6; ++i) strides[static_cast<std::size_t>(i)] = c.input(i).strides;
    }
    DType dtype;
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
    return {kernel.typed_input(which) + (sample * strides[0] + head * strides[turned ? 2 : 1]), strides[turned ? 1 : 2]};
  }
  static Tile rows_of(const Head& head, const Tile& rows, const Tile& count, std::int64_t width) {
    return load(head.begin + (col(rows) * head.stride + tile::row(arange(0, width))), col(rows) < count);
  }

  /// delta[b, h, m] = Σ o * gradient
  static void sums_of_rows(KernelContext& context, const Sizes& s, int delta) {
    TypedLaunch kernel(context, "attention_tiles_deltas");
    auto M = kernel.number(s.queries), heads = kernel.number(s.heads);
    auto of_all = tile::program_id(1), m = tile::program_id(0) * kRows + arange(0, kRows);
    const Head o = head_of(kernel, s, kO, of_all / heads, of_all % heads),
               g = head_of(kernel, s, kGradient, of_all / heads, of_all % heads);
    auto product = cast_to(rows_of(o, m, M, s.features), f32) * cast_to(rows_of(g, m, M, s.features), f32);
    store(kernel.scratch(delta, f32, true) + (of_all * M + col(m)), sum(product, 1, Axis::Keep), col(m) < M);
    kernel.launch({divide_up(s.queries, kRows), s.batch * s.heads, 1});
  }

  /// A block of keys and values: all queries of all heads of its group that see it.
  void of_keys(KernelContext& context, const Sizes& s, int delta) const {
    TypedLaunch kernel(context, "attention_tiles_of_keys");
    auto M = kernel.number(s.queries), N = kernel.number(s.keys), groups = kernel.number(s.groups);
    auto sample = tile::program_id(1) / groups, group = tile::program_id(1) % groups, first = tile::program_id(0) * kRows;
    auto n = first + arange(0, kRows);
    auto kk = rows_of(head_of(kernel, s, kK, sample, group), n, N, s.width),
         vv = rows_of(head_of(kernel, s, kV, sample, group), n, N, s.features);
    auto logs = kernel.input(kSum), deltas = kernel.scratch(delta, f32, false);
    auto of_k = tile::full_of({kRows, s.width}, 0, f32), of_v = tile::full_of({kRows, s.features}, 0, f32);
    const double scale = form_.scale * std::numbers::log2e;
    auto begin = form_.causal ? first / kWalked * kWalked : Tile(0);
    for (std::int64_t i = 0; i < s.heads / s.groups; ++i) {
      auto head = group * (s.heads / s.groups) + i;
      const Head q = head_of(kernel, s, kQ, sample, head), g = head_of(kernel, s, kGradient, sample, head);
      auto line = (sample * kernel.number(s.heads) + head) * M;
      for (auto m0 : tile::range(begin, M, kWalked)) {
        auto m = m0 + arange(0, kWalked), places = tile::broadcast_to(tile::row(line + m), {kRows, kWalked}), there = tile::row(m) < M;
        auto qq = rows_of(q, m, M, s.width), gg = rows_of(g, m, M, s.features);
        auto log = load(logs + places, there) * std::numbers::log2e;
        auto p = exp2(fma(dot(kk, trans(qq)), scale, -log));  // (N, M)
        if (form_.causal) if_(m0 < first + kRows, [&] { p = where(tile::row(m) >= col(n), p, 0); });
        of_v = dot(cast_to(p, s.dtype), gg, of_v);
        auto ds = p * (dot(vv, trans(gg)) - load(deltas + places, there));
        of_k = dot(cast_to(ds, s.dtype), qq, of_k);
      }
    }
    auto row = (sample * N + col(n)) * groups + group;
    if (context.wanted(1)) store(kernel.output(1) + (row * s.width + tile::row(arange(0, s.width))), of_k * form_.scale, col(n) < N);
    if (context.wanted(2)) store(kernel.output(2) + (row * s.features + tile::row(arange(0, s.features))), of_v, col(n) < N);
    kernel.launch({divide_up(s.keys, kRows), s.batch * s.groups, 1}, operations(s, 4));
  }

  /// A block of queries: all keys that they see.
  void of_queries(KernelContext& context, const Sizes& s, int delta) const {
    TypedLaunch kernel(context, "attention_tiles_of_queries");
    auto M = kernel.number(s.queries), N = kernel.number(s.keys), heads = kernel.number(s.heads);
    auto of_all = tile::program_id(1), sample = of_all / heads, head = of_all % heads, group = head / kernel.number(s.heads / s.groups);
    auto first = (kernel.number(divide_up(s.queries, kRows)) - 1 - tile::program_id(0)) * kRows;  // the most keys first
    auto m = first + arange(0, kRows);
    auto qq = rows_of(head_of(kernel, s, kQ, sample, head), m, M, s.width),
         gg = rows_of(head_of(kernel, s, kGradient, sample, head), m, M, s.features);
    auto at = of_all * M + col(m);
    auto log = load(kernel.input(kSum) + at, col(m) < M) * std::numbers::log2e;  // (M, 1)
    auto del = load(kernel.scratch(delta, f32, false) + at, col(m) < M);
    const Head k = head_of(kernel, s, kK, sample, group), v = head_of(kernel, s, kV, sample, group);
    auto sums = tile::full_of({kRows, s.width}, 0, f32);
    const double scale = form_.scale * std::numbers::log2e;
    Tile end = N;
    if (form_.causal) end = where(N < first + kRows, N, first + kRows);
    for (auto n0 : tile::range(0, end, kWalked)) {
      auto n = n0 + arange(0, kWalked);
      auto kk = rows_of(k, n, N, s.width), vv = rows_of(v, n, N, s.features);
      auto p = exp2(fma(dot(qq, trans(kk)), scale, -log));
      auto whole = n0 + kWalked <= N;
      if (form_.causal) whole = whole && n0 + kWalked <= first + 1;
      if_(!whole, [&] {
        auto seen = tile::row(n) < N;
        if (form_.causal) seen = seen && tile::row(n) <= col(m);
        p = where(seen, p, 0);
      });
      auto ds = p * (dot(gg, trans(vv)) - del);
      sums = dot(cast_to(ds, s.dtype), kk, sums);
    }
    auto row = (sample * M + col(m)) * heads + head;
    store(kernel.output(0) + (row * s.width + tile::row(arange(0, s.width))), sums * form_.scale, col(m) < M);
    kernel.launch({divide_up(s.queries, kRows), s.batch * s.heads, 1}, operations(s, 3));
  }

  double operations(const Sizes& s, int products) const {
    return (form_.causal ? 1.0 : 2.0) * products * static_cast<double>(s.batch * s.heads * s.queries * s.keys) *
           static_cast<double>(s.width);
  }

  AttentionForm form_;
};

}  // namespace

bool describes_attention_tiles_backward(const AttentionForm& form, std::span<const Tensor> inputs) {
  return form.window == 0 && !form.sum_gradient && describes_attention_tiles(form, inputs);
}

std::vector<Tensor> attention_tiles_gradients(const AttentionForm& form, std::span<const Tensor> inputs) {
  const Shape &q = inputs[0].shape(), &k = inputs[1].shape(), &v = inputs[2].shape();
  const DType dtype = inputs[0].dtype();
  const Result results[] = {{{q[0], q[2], q[1], q[3]}, dtype},
                            {{k[0], k[2], k[1], k[3]}, dtype},
                            {{v[0], v[2], v[1], v[3]}, dtype},
                            {{q[0], q[1], q[2], k[2]}, dtype}};
  return make_nodes(Ref<const Op>(new AttentionTilesBackwardOp(form)), inputs, results, Line::current());
}

}  // namespace tegula::ops

#include "tegula/ops/products/attention_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "tegula/core/divide.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/products/attention_tiles_scores.h"
#include "tegula/ops/products/typed_launch.h"

namespace tegula::ops {
namespace {

using tile::Tile, tile::Axis, tile::arange;

/// Queries of a block: a group of four warps has so many rows. Two such groups share their keys and values, which a warp of its own copies, and take turns at the
/// products (attention_blocks says where).
constexpr std::int64_t kQueries = 64;
/// Keys of a block of 64 queries. Keys and values of one, and the queries, leave room for a second block of the grid on a multiprocessor. H200, causal, 4,096 tokens, TFLOP/s:
/// heads of 128 features 427 with 128 keys, 342 with 64; of 64 features 309 and 347.
constexpr std::int64_t kKeys = 128, kFewerKeys = 64;
constexpr std::int64_t kLeastWidth = 16, kNarrow = 64, kWide = 128, kWidest = 256;
/// Where blocks of 128 keys and 128 queries are taken: from so many queries and keys on, of heads of 64 and 128 features. H200, 2026-11-28, main 6cec19a, bf16, TFLOP/s by
/// 128 x 128 and by the best blocks of 64 queries, of cuDNN's: B 8, T 4,096, causal, D 128 500 and 437 of 528, D 64 364 and 350 of 409; B 1, T 16,384, causal, D 128 565 and
/// 488 of 567, D 64 419 and 371 of 436; B 8, T 4,096, full, D 128 544 and 464 of 587, D 64 413 and 392 of 445; but B 32, T 1,024, causal, D 64 214 and 280 of 329. With masks
/// and biases there are no registers for it; B 4, H 16, T 4,096, D 128, milliseconds by 128 x 128 and by 128 keys and 64 queries: a window of 1,024 0.325 and 0.369, lengths
/// 1.014 and 1.147, but a mask 4.297 and 3.173.
constexpr std::int64_t kLong = 4096;
/// Bytes of keys and values that should stay in the cache while the blocks of their heads are computed: half of an H200's L2.
constexpr std::int64_t kCachedBytes = std::int64_t{25} << 20;

bool is_width(std::int64_t width) {
  return width >= kLeastWidth && width <= kWidest && std::has_single_bit(static_cast<std::uint64_t>(width));
}

std::int64_t usual_keys(std::int64_t width, std::int64_t features) { return std::max(width, features) == kWide ? kKeys : kFewerKeys; }

class AttentionTilesOp final : public KernelOp {
 public:
  AttentionTilesOp(const AttentionForm& form, std::int64_t keys, std::int64_t queries) : form_(form), keys_(keys), queries_(queries) {}
  std::string_view name() const override { return "attention_tiles"; }
  void attributes(Attributes& a) override {
    a("causal", form_.causal);
    a("window", form_.window);
    a("scale", form_.scale);
    a("mask", form_.mask);
    a("bias", form_.bias);
    a("lengths", form_.lengths);
    a("start", form_.start);
    a("keys", keys_);
    a("queries", queries_);
  }
  bool accepts(int index, const Layout& layout) const override {
    if (index >= 3) return index < 3 + form_.mask + form_.bias || layout.is_dense();
    return layout.shape.back() <= 1 || layout.strides[layout.shape.rank() - 1] == 1;
  }

  void lower(KernelContext& context) const override {
    const auto &of_q = context.input(0), &of_k = context.input(1), &of_v = context.input(2);
    const std::int64_t batch = of_q.shape[0], heads = of_q.shape[1], queries = of_q.shape[2], width = of_q.shape[3], groups = of_k.shape[1],
                       keys = of_k.shape[2], features = of_v.shape[3];
    const std::int64_t keys_at_once = keys_ > 0 ? keys_ : usual_keys(width, features), rows = queries_ > 0 ? queries_ : kQueries,
                       blocks = divide_up(queries, rows);
    const std::int64_t all_heads = batch * heads;
    const std::int64_t bytes_of_head = keys * (width + features) * static_cast<std::int64_t>(size_of(of_k.dtype)) * groups / heads;
    const std::int64_t together = std::clamp<std::int64_t>(kCachedBytes / std::max<std::int64_t>(bytes_of_head, 1), 1, all_heads);

    TypedLaunch kernel(context, "attention_tiles");
    TileScores of_scores(kernel, context, form_);
    auto q = kernel.typed_input(0), k = kernel.typed_input(1), v = kernel.typed_input(2);
    // Blocks of some heads after those of others; the last queries first, whose keys are the most.
    auto count = kernel.number(blocks), in_section = kernel.number(together), M = kernel.number(queries), N = kernel.number(keys);
    auto pid = tile::program_id(0), section = pid / (in_section * count), within = pid % (in_section * count);
    auto left = kernel.number(all_heads) - section * in_section, here = where(left < in_section, left, in_section);
    auto head_of_all = section * in_section + within % here;
    auto first = (count - 1 - within / here) * rows;
    auto sample = head_of_all / kernel.number(heads), head = head_of_all % kernel.number(heads),
         group = head / kernel.number(heads / groups);

    const auto at = [](const Strides& strides, const Tile& b, const Tile& h) { return b * strides[0] + h * strides[1]; };
    auto m = first + arange(0, rows);  // (M)
    auto columns = tile::row(arange(0, width)), of_values = tile::row(arange(0, features));
    auto qq = load(q + at(of_q.strides, sample, head) + (col(m) * of_q.strides[2] + columns), col(m) < M);  // (M, D)

    of_scores.at(sample, head);
    Tile begin = 0, end = of_scores.limit();
    const Tile place = of_scores.position(first);
    if (of_scores.ends()) end = TileScores::smaller(end, place + (rows - 1 + of_scores.behind()));
    if (form_.window > 0) begin = where(place < form_.window, 0, (place - form_.window + 1) / keys_at_once * keys_at_once);

    constexpr double kNothing = TileScores::kNothing;
    auto top = tile::full_of({rows, 1}, kNothing, f32);
    auto total = tile::full_of({rows, 1}, 0, f32);
    auto acc = tile::full_of({rows, features}, 0, f32);
    const double scale = of_scores.unit();
    tile::RangeHints hints;
    if (rows > kQueries) hints.warp_specialize = true;
    for (auto n0 : tile::range(begin, end, keys_at_once, hints)) {
      auto n = n0 + arange(0, keys_at_once);
      auto kk = load(k + at(of_k.strides, sample, group) + (col(n) * of_k.strides[2] + columns), col(n) < N);
      auto s = of_scores.scores(dot(qq, trans(kk)), col(m), tile::row(n), col(m) < M && tile::row(n) < N);
      if_(!of_scores.whole(first, rows, n0, keys_at_once), [&] { s = where(of_scores.seen(col(m), tile::row(n)), s, kNothing); });
      auto now = maximum(top, max(s, 1, Axis::Keep), tile::Nan::Propagate);
      auto shift = of_scores.may_see_nothing() ? where(now == kNothing, 0, now) : now;  // a row may have seen nothing so far
      auto p = exp2(fma(s, scale, -(shift * scale)));
      auto factor = exp2((top - shift) * scale);
      total = total * factor + sum(p, 1, Axis::Keep);
      auto vv = load(v + at(of_v.strides, sample, group) + (col(n) * of_v.strides[2] + of_values), col(n) < N);
      acc = dot(cast_to(p, of_v.dtype), vv, acc * factor);
      top = now;
    }
    auto any = top != kNothing, divisor = where(any, total, 1);
    if (context.wanted(0)) {
      auto row = (sample * M + col(m)) * kernel.number(heads) + head;  // (M, 1)
      store(kernel.output(0) + (row * features + of_values), acc / divisor, col(m) < M);
    }
    if (context.wanted(1)) {
      auto sums = where(any, (top * scale + log2(divisor)) * std::numbers::ln2, kNothing);
      store(kernel.output(1) + (head_of_all * M + col(m)), sums, col(m) < M);
    }
    const double share = form_.causal ? 0.5 : 1;
    kernel.launch({blocks * all_heads, 1, 1},
                  2.0 * share * static_cast<double>(all_heads * queries * keys) * static_cast<double>(width + features));
  }

 private:
  AttentionForm form_;
  std::int64_t keys_, queries_;
};

}  // namespace

bool describes_attention_tiles(const AttentionForm& form, std::span<const Shape> inputs, DType dtype) {
  const Shape &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const bool whole = q.rank() == 4 && numel(q) > 0 && numel(k) > 0 && numel(v) > 0;
  return whole && is_half(dtype) && is_width(q[3]) && is_width(v[3]) && form.dropout == 0 && form.scale > 0 && std::isfinite(form.scale);
}

std::vector<Tensor> attention_tiles_nodes(const AttentionForm& form, std::span<const Tensor> inputs, std::int64_t keys,
                                          std::int64_t queries) {
  const Shape &q = inputs[0].shape(), &v = inputs[2].shape();
  const Result results[] = {{{q[0], q[2], q[1], v[3]}, inputs[0].dtype()}, {{q[0], q[1], q[2]}, f32}};
  std::vector<Tensor> given(inputs.begin(), inputs.end());
  hide_unseen(form, given);
  return make_nodes(Ref<const Op>(new AttentionTilesOp(form, keys, queries)), given, results, Line::current());
}

AttentionBlocks attention_blocks(const AttentionForm& form, std::span<const Shape> inputs, const tile::TilePreference& tiles) {
  const Shape &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const std::int64_t widest = std::max(q[3], v[3]);
  const bool plain = form.extras() == 0 && form.window == 0, simple = !form.mask && !form.bias && !form.start,
             long_enough = std::min(q[2], k[2]) >= kLong, wide = (widest == kWide && simple) || (widest == kNarrow && plain);
  if (tiles.warp_groups && long_enough && wide) return {kKeys, 2 * kQueries};
  return {usual_keys(q[3], v[3]), kQueries};
}

std::vector<Tensor> attention_tiles_nodes(const AttentionForm& form, std::span<const Tensor> inputs, const tile::TilePreference& tiles) {
  const Shape shapes[] = {inputs[0].shape(), inputs[1].shape(), inputs[2].shape()};
  const AttentionBlocks blocks = attention_blocks(form, shapes, tiles);
  return attention_tiles_nodes(form, inputs, blocks.keys, blocks.queries);
}

std::vector<TileWay> attention_ways(const AttentionForm& form, bool backward, const InTiles::Operands& operands,
                                    const tile::TilePreference& tiles) {
  if (form.mask || form.lengths || form.start) return {};
  std::vector<Shape> shapes;
  for (const KernelContext::Operand& one : operands.inputs) shapes.push_back(one.shape);
  const DType dtype = operands.inputs[0].dtype;
  if (!(backward ? describes_attention_tiles_backward(form, shapes, dtype) : describes_attention_tiles(form, shapes, dtype))) return {};
  for (std::size_t k = 0; k < operands.outputs.size(); ++k) {
    const Shape& shape = operands.outputs[k].shape;
    const Strides dense = Layout::dense(shape).strides;
    for (int axis = 0; operands.wanted[k] && axis < shape.rank(); ++axis)
      if (shape[axis] != 1 && operands.outputs[k].strides[axis] != dense[axis]) return {};
  }
  TileWay way{.text = "tiles",
              .inputs = {operands.inputs.begin(), operands.inputs.end()},
              .outputs = {operands.outputs.begin(), operands.outputs.end()}};
  if (backward) {
    way.op = attention_tiles_gradients_op(form);
    return {way};
  }
  const AttentionBlocks usual = attention_blocks(form, shapes, tiles);
  // Wider heads, and biases, have no registers for more queries.
  const bool several_groups = shapes[0][2] > kQueries && std::max(shapes[0].back(), shapes[2].back()) <= kWide && !form.bias;
  std::vector<AttentionBlocks> all{usual};
  for (const std::int64_t queries : {kQueries, 2 * kQueries})
    for (const std::int64_t keys : {kKeys, kFewerKeys})
      if (const AttentionBlocks one{keys, queries}; one != usual && (queries == kQueries || several_groups)) all.push_back(one);
  std::vector<TileWay> ways;
  for (const auto& [keys, queries] : all) {
    way.op = Ref<const Op>(new AttentionTilesOp(form, keys, queries));
    way.text = "tiles of " + std::to_string(keys) + " keys" + (queries > kQueries ? " and " + std::to_string(queries) + " queries" : "");
    ways.push_back(way);
  }
  return ways;
}

}  // namespace tegula::ops

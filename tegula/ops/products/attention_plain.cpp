// Attention in plain ops: the calls' computation, step by step.

#include <limits>
#include <optional>

#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/products/attention_op.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::ops {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kFar = std::int64_t{1} << 61;  // from any key, and sums of two such do not overflow

/// The inputs by name, halves widened.
struct Operands {
  Shape scores;  // (B, H, M, N)
  DType dtype;
  Tensor q, k, v, mask, bias, lengths, start, seed, position;
  std::span<const Tensor> rest;  // further inputs of a backward pass

  Operands(const AttentionForm& form, std::span<const Tensor> in) {
    const Shape &of_q = in[0].shape(), &of_k = in[1].shape();
    scores = {of_q[0], of_q[1], of_q[2], of_k[2]};
    dtype = in[0].dtype();
    q = widen(in[0]), k = widen(in[1]), v = widen(in[2]);
    std::size_t next = 3;
    if (form.mask) mask = in[next++];
    if (form.bias) bias = widen(in[next++]);
    if (form.lengths) lengths = in[next++];
    if (form.start) start = in[next++];
    if (form.dropout > 0) seed = in[next], position = in[next + 1], next += 2;
    rest = in.subspan(next);
  }
  std::int64_t groups() const { return k.shape()[1]; }
  /// (B, H, M, x) -> (B, G, H / G * M, x): the queries of all heads that share a key side by side. Heads are in the order of their groups.
  Tensor by_group(const Tensor& x) const {
    return graph::reshape(x, {scores[0], groups(), scores[1] * scores[2] / groups(), x.shape().back()});
  }
  Tensor by_head(const Tensor& x) const { return graph::reshape(x, {scores[0], scores[1], scores[2], x.shape().back()}); }
};

/// (B) -> (B, 1, 1, 1).
Tensor of_sample(const Tensor& t) { return graph::reshape(t, {t.numel(), 1, 1, 1}); }

/// The layout of a node over its base.
std::optional<Layout> view_layout(const Node& node) {
  if (!shows_input(node.op().role()) || node.inputs().empty()) return Layout::dense(node.shape());
  const auto below = view_layout(node.input(0));
  return below ? tegula::shown(node.op(), *below) : std::nullopt;
}

/// The keys (B, G or 1, N, 1) that some query may see; nothing if all may be seen. A part of the mask that queries share is read once.
Tensor shown(const AttentionForm& form, const Operands& x) {
  Tensor out;
  const auto and_also = [&](const Tensor& condition) { out = out.defined() ? out && condition : condition; };
  const Shape &n = x.scores, keys{n[0], 1, n[3], 1};
  const Tensor key = iota(keys, 2);
  const Tensor start = form.start ? of_sample(clamp(x.start, -kFar, kFar)) : Tensor();
  if (form.lengths) and_also(key < of_sample(x.lengths));
  if (form.causal || form.window > 0) {
    const std::int64_t last = n[2] + (form.causal ? 0 : form.window - 1);  // the keys that the last query sees end before it
    if (form.start) and_also(key - start < last);
    else if (last < n[3]) and_also(key < last);
  }
  if (form.start && form.window > 0) and_also(start - key < form.window);
  if (form.mask) {
    const auto layout = view_layout(*x.mask.node());
    Tensor mask = x.mask;
    for (const int axis : {1, 2}) {
      if (layout && layout->strides[axis] == 0) mask = slice(mask, axis, {0, 1});
    }
    const std::int64_t heads = mask.size(1) == n[1] ? x.groups() : 1;
    const Tensor by_group = graph::reshape(mask, {n[0], heads, mask.size(1) * mask.size(2) / heads, n[3]});
    and_also(graph::reshape(any(by_group, 2), {n[0], heads, n[3], 1}));
  }
  return out;
}
/// Keys or values (B, G, N, …), zeros where no query sees them: 0 times their content may be NaN.
Tensor without_hidden(const Tensor& rows, const Tensor& shown) { return shown.defined() ? where(shown, rows, 0.0) : rows; }

/// (B, H, M, N), -inf where a query does not see a key.
Tensor scores_of(const AttentionForm& form, const Operands& x) {
  Tensor s = x.by_head(matmul(x.by_group(x.q), transpose(x.k))) * form.scale;
  if (form.bias) s = s + x.bias;
  const Tensor key = iota(x.scores, 3);
  Tensor place = iota(x.scores, 2);
  if (form.start) place = place + of_sample(clamp(x.start, -kFar, kFar));
  Tensor seen;
  const auto and_also = [&](const Tensor& condition) { seen = seen.defined() ? seen && condition : condition; };
  if (form.mask) and_also(x.mask);
  if (form.lengths) and_also(key < of_sample(x.lengths));
  if (form.causal) and_also(key <= place);
  if (form.window > 0) and_also(key - place < form.window && place - key < form.window);
  return seen.defined() ? where(seen, s, kNothing) : s;
}

/// The probabilities after dropout: each times 0, or times 1 / (1 - p).
Tensor kept(const AttentionForm& form, const Operands& x, const Tensor& p) {
  if (form.dropout == 0) return p;
  const Tensor keep = uniform_at(x.seed, x.position, x.scores, {}) < graph::full(x.scores, 1 - form.dropout, f32);
  return where(keep, p * (1 / (1 - form.dropout)), 0.0);
}

/// (B, H, x, y) -> (B, x, H, y), in the dtype of the inputs.
Tensor result(const Operands& x, const Tensor& y) { return narrow(permute(y, {0, 2, 1, 3}), x.dtype); }

}  // namespace

SeenSoftmax softmax_of_seen(const Tensor& s) {
  const Tensor greatest = graph::stop_gradient(max(s, -1, Keep::Yes)), shift = where(greatest > kNothing, greatest, 0.0);
  const Tensor e = exp(s - shift), sums = sum(e, -1, Keep::Yes);
  const Tensor divisor = where(sums > 0.0, sums, 1.0);
  return {e / divisor, where(sums > 0.0, shift + log(divisor), kNothing)};
}

std::vector<Tensor> plain_attention(const AttentionForm& form, std::span<const Tensor> inputs) {
  const Operands x(form, inputs);
  const Shape &n = x.scores, rows{n[0], n[1], n[2]};
  const std::int64_t features = x.v.shape().back();
  if (numel(n) == 0 || features == 0)
    return {graph::full({n[0], n[2], n[1], features}, 0, x.dtype), graph::full(rows, kNothing, x.q.dtype())};
  const SeenSoftmax w = softmax_of_seen(scores_of(form, x));
  const Tensor o = x.by_head(matmul(x.by_group(kept(form, x, w.p)), without_hidden(x.v, shown(form, x))));
  return {result(x, o), graph::reshape(w.log_sum, rows)};
}

Tensor plain_attention_weights(const AttentionForm& form, std::span<const Tensor> inputs) {
  const Operands x(form, inputs);
  if (numel(x.scores) == 0) return graph::full(x.scores, 0, x.dtype);
  return narrow(softmax_of_seen(scores_of(form, x)).p, x.dtype);
}

void hide_unseen(const AttentionForm& form, std::vector<Tensor>& inputs) {
  if (!form.mask && !form.lengths && !form.start) return;
  const Tensor seen = shown(form, Operands(form, inputs));
  for (const std::size_t i : {1u, 2u}) inputs[i] = without_hidden(inputs[i], seen);
}

std::vector<Tensor> plain_attention_gradients(const AttentionForm& form, std::span<const Tensor> inputs) {
  const Operands x(form, inputs);
  const Shape& n = x.scores;
  const std::int64_t groups = x.groups(), width = x.q.shape().back(), features = x.v.shape().back();
  if (numel(n) == 0 || features == 0) {
    return {graph::full({n[0], n[2], n[1], width}, 0, x.dtype), graph::full({n[0], n[3], groups, width}, 0, x.dtype),
            graph::full({n[0], n[3], groups, features}, 0, x.dtype), graph::full(n, 0, x.dtype)};
  }
  const auto to_heads = [](const Tensor& t) { return permute(widen(t), {0, 2, 1, 3}); };  // (B, M, H, E) -> (B, H, M, E)
  const Tensor o = to_heads(x.rest[0]), sums = unsqueeze(x.rest[1], -1), dy = to_heads(x.rest[2]);
  const Tensor p = exp(scores_of(form, x) - where(sums > kNothing, sums, 0.0));
  const Tensor seen_by_some = shown(form, x), k = without_hidden(x.k, seen_by_some), v = without_hidden(x.v, seen_by_some);
  const Tensor dp = kept(form, x, x.by_head(matmul(x.by_group(dy), transpose(v))));
  Tensor mean = sum(dy * o, 3, Keep::Yes);  // Σ p * dp of each row
  if (form.sum_gradient) mean = mean - unsqueeze(x.rest[3], -1);
  const Tensor ds = p * (dp - mean), by_group = x.by_group(ds * form.scale);
  const Tensor dq = x.by_head(matmul(by_group, k)), dk = matmul(transpose(by_group), x.by_group(x.q));
  const Tensor dv = matmul(transpose(x.by_group(kept(form, x, p))), x.by_group(dy));
  return {result(x, dq), result(x, dk), result(x, dv), narrow(ds, x.dtype)};
}

}  // namespace tegula::ops

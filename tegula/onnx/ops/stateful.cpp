// Attentions with a state or with scores of one's own, and the convolution that goes with them.

#include <cmath>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/loop.h"
#include "tegula/ops/products/convolution.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

/// A state S (B, heads, Dk, Dv) of f32 that each step decays and adds to: S = exp(decay) S + k ⊗ write, o = scale q S. The write is v, or with the delta rule beta (v - Sᵀ k)
/// (Yang et al., "Gated Delta Networks", 2025).
Results linear_attention(const Call& call) {
  const std::string rule = call.text("update_rule", "gated_delta");
  const bool is_gated = rule == "gated" || rule == "gated_delta", is_delta = rule == "delta" || rule == "gated_delta";
  if (!is_gated && !is_delta && rule != "linear") call.refuse("update_rule " + rule, "linear, gated, delta or gated_delta");
  const Tensor q = call[0], k = call[1], v = call[2];
  const std::int64_t q_heads = call.integer("q_num_heads", 0), heads = call.integer("kv_num_heads", 0);
  if (q.rank() != 3 || k.rank() != 3 || v.rank() != 3 || heads < 1 || q_heads < 1 || q_heads % heads != 0 || q.size(2) % q_heads != 0 ||
      k.size(2) % heads != 0 || v.size(2) % heads != 0)
    call.refuse("shapes " + to_string(q.shape()) + ", " + to_string(k.shape()) + ", " + to_string(v.shape()), "(B, T, heads * D) of each");
  const std::int64_t batch = q.size(0), steps = q.size(1), dk = k.size(2) / heads, dv = v.size(2) / heads;
  const auto by_step = [&](const Tensor& x, std::int64_t parts) {  // (T, B, parts, D)
    return permute(reshape(cast(x, f32), {batch, steps, parts, x.size(2) / parts}), {1, 0, 2, 3});
  };
  std::vector<Tensor> xs{by_step(q, q_heads), by_step(k, heads), by_step(v, heads)};
  if (is_gated) xs.push_back(by_step(call[4], heads));
  if (is_delta) xs.push_back(by_step(call[5], call[5].size(2) == 1 ? 1 : heads));
  const double given = call.number("scale", 0), scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(dk));
  const Tensor start = call.has(3) ? cast(call[3], f32) : zeros({batch, heads, dk, dv});
  const auto step = [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
    Tensor state = is_gated ? carry[0] * unsqueeze(exp(x[3]), -1) : carry[0];
    const Tensor key = unsqueeze(x[1], -1);  // (B, heads, Dk, 1)
    Tensor write = x[2];
    if (is_delta) write = x[is_gated ? 4 : 3] * (write - squeeze(matmul(transpose(state), key), -1));
    state = state + matmul(key, unsqueeze(write, -2));
    const Tensor query = reshape(x[0], {batch, heads, q_heads / heads, dk});
    return Scanned{{state}, {reshape(matmul(query, state), {batch, q_heads, dv}) * scale}};
  };
  const Scanned out = scan(step, {start}, xs, {}, call.where());
  const Tensor y = reshape(permute(out.ys[0], {1, 0, 2, 3}), {batch, steps, q_heads * dv});
  return std::vector<Tensor>{cast(y, q.dtype()), cast(out.carry[0], call.has(3) ? call[3].dtype() : q.dtype())};
}

/// A depthwise convolution over what was and what is: x (B, C, T) behind the last K - 1 elements of the call before.
Results causal_convolution(const Call& call) {
  const Tensor x = call[0], weight = call[1];
  if (x.rank() != 3 || weight.rank() != 3 || weight.size(0) != x.size(1))
    call.refuse("shapes " + to_string(x.shape()) + " and " + to_string(weight.shape()), "(B, C, T) and (C, 1, K)");
  const std::int64_t past = weight.size(2) - 1;
  const Tensor before = call.has(3) ? call[3] : zeros({x.size(0), x.size(1), past}, x.dtype());
  const Tensor all = concat({before, x}, 2);
  const ConvolutionOptions options{.groups = x.size(1)};
  Tensor y = call.has(2) ? conv1d(all, weight, call[2], options) : conv1d(all, weight, options);
  const std::string activation = call.text("activation", "none");
  if (activation == "silu" || activation == "swish") {
    const Tensor wide = cast(y, y.dtype() == f64 ? f64 : f32);
    y = cast(wide * sigmoid(wide), y.dtype());
  } else if (activation != "none" && !activation.empty()) {
    call.refuse("activation " + activation, "none, silu or swish");
  }
  return std::vector<Tensor>{y, slice(all, 2, {all.size(2) - past, all.size(2)})};
}

/// Attention whose scores and weights go through graphs of the node.
Results flexible_attention(const Call& call) {
  const Tensor q = call[0], k = call[1], v = call[2];
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4 || k.size(1) < 1 || q.size(1) % k.size(1) != 0)
    call.refuse("shapes " + to_string(q.shape()) + " and " + to_string(k.shape()), "(B, heads, S, D)");
  const std::int64_t repeats = q.size(1) / k.size(1);
  const double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(q.size(3)))), root = std::sqrt(scale);
  const DType wide = call.integer("softmax_precision", 0) ? dtype_of(static_cast<Type>(call.integer("softmax_precision", 1)))
                     : q.dtype() == f64                   ? f64
                                                          : f32;
  const auto repeated = [&](const Tensor& x) { return repeats == 1 ? x : repeat_interleave(x, repeats, 1); };
  const auto through = [&](std::string_view graph, const Tensor& x) {
    if (!call.has(graph)) return x;
    const std::vector<Value> out = call.run(call.graph(graph), {Value(x)});
    if (out.size() != 1) call.refuse("a graph " + std::string(graph) + " of " + std::to_string(out.size()) + " results", "one");
    return out[0].tensor;
  };
  const Tensor scores = matmul(cast(q, wide) * root, transpose(cast(repeated(k), wide)) * root);
  const Tensor weights = through("prob_mod", softmax(through("score_mod", scores), -1));
  return cast(matmul(weights, cast(repeated(v), wide)), q.dtype());
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"LinearAttention", [](Call& c) -> Results { return linear_attention(c); }, "chunk_size kv_num_heads q_num_heads scale update_rule"},
    {"CausalConvWithState", [](Call& c) -> Results { return causal_convolution(c); }, "activation"},
    {"FlexAttention", [](Call& c) -> Results { return flexible_attention(c); }, "prob_mod scale score_mod softmax_precision", 0, 0, false, "ai.onnx.preview"},
};
// clang-format on

}  // namespace

Operators stateful_operators() { return kOperators; }

}  // namespace tegula::onnx

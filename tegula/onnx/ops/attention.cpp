// Attention and what belongs to it.

#include <cmath>
#include <limits>

#include "tegula/onnx/ops/common.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/attention.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// (B, S, heads * D) as (B, heads, S, D).
Tensor heads_apart(const Call& call, const Tensor& x, std::string_view attribute) {
  if (x.rank() == 4) return x;
  const std::int64_t heads = call.integer(attribute, 0);
  if (x.rank() != 3 || heads < 1 || x.size(2) % heads != 0)
    call.refuse("shape " + to_string(x.shape()) + " with " + std::string(attribute) + " = " + std::to_string(heads),
                "(B, heads, S, D), or (B, S, heads * D)");
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

struct Operands {
  Tensor q, k, v;  // (B, H, M, D), (B, G, N, D), (B, G, N, E): with the past
  std::int64_t past = 0;  // keys before the first one of this call
  Tensor mask;  // boolean, or added to the scores; empty without
  Tensor lengths;  // (B) keys, of which the rest is padding; empty without
  bool is_causal = false;
  double scale = 1;
};

/// The mask over all keys: those that it does not reach are hidden.
Tensor whole_mask(const Tensor& mask, std::int64_t keys) {
  if (!mask.defined() || mask.size(-1) == keys || mask.size(-1) == 1) return mask;
  std::vector<PadWidth> widths(static_cast<std::size_t>(mask.rank()));
  widths.back() = {0, keys - mask.size(-1)};
  return mask.dtype() == boolean ? pad(mask, widths) : pad(mask, widths, {.value = -kInfinity});
}

Operands operands_of(const Call& call) {
  Operands out{.q = heads_apart(call, call[0], "q_num_heads"),
               .k = heads_apart(call, call[1], "kv_num_heads"),
               .v = heads_apart(call, call[2], "kv_num_heads")};
  if (call.has(4)) {
    out.past = call[4].size(2);
    out.k = concat({call[4], out.k}, 2);
    out.v = concat({call[5], out.v}, 2);
  }
  if (out.q.rank() != 4 || out.k.rank() != 4 || out.v.rank() != 4 || out.k.size(1) < 1 || out.q.size(1) % out.k.size(1) != 0)
    call.refuse(std::to_string(out.q.size(1)) + " heads and " + std::to_string(out.k.size(1)) + " of keys", "a multiple");
  out.mask = whole_mask(call.maybe(3), out.k.size(2));
  if (call.has(6)) out.lengths = cast(call[6], i64);
  out.is_causal = call.flag("is_causal");
  out.scale = call.number("scale", 1 / std::sqrt(static_cast<double>(out.q.size(3))));
  return out;
}

/// (B or 1, 1, M, N): which keys a query may see by its place and the lengths; empty where all. With lengths the last query is at the last key.
Tensor seen(const Operands& x) {
  const std::int64_t m = x.q.size(2), n = x.k.size(2);
  Tensor out;
  const Tensor key = iota({1, 1, m, n}, 3);
  if (x.is_causal) {
    const Tensor query = iota({1, 1, m, n}, 2);
    out = key <= query + x.past;
  }
  if (x.lengths.defined()) {
    const Tensor inside = key < reshape(x.lengths, {-1, 1, 1, 1});
    out = out.defined() ? out && inside : inside;
  }
  return out;
}

/// Scores, cap, mask and softmax one after the other; the fourth result is what one of them gives.
Results attended_by_steps(const Call& call, const Operands& x) {
  const DType dtype = x.q.dtype(), wide = dtype == f64 ? f64 : f32;
  const double root = std::sqrt(x.scale), cap = call.number("softcap", 0);
  const std::int64_t repeats = x.q.size(1) / x.k.size(1), mode = call.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) call.refuse("qk_matmul_output_mode = " + std::to_string(mode), "0 to 3");
  const auto repeated = [&](const Tensor& t) { return repeats == 1 ? cast(t, wide) : cast(repeat_interleave(t, repeats, 1), wide); };
  std::vector<Tensor> stages{matmul(cast(x.q, wide) * root, transpose(repeated(x.k)) * root)};
  stages.push_back(cap > 0 ? tanh(stages[0] / cap) * cap : stages[0]);
  Tensor masked = stages[1];
  if (x.mask.defined()) masked = x.mask.dtype() == boolean ? where(x.mask, masked, -kInfinity) : masked + cast(x.mask, wide);
  if (const Tensor allowed = seen(x); allowed.defined()) masked = where(allowed, masked, -kInfinity);
  stages.push_back(masked);
  const Tensor weights = softmax(masked, -1);
  stages.push_back(where(isnan(weights), 0.0, weights));  // of a query that sees nothing
  const Tensor y = cast(matmul(stages[3], repeated(x.v)), dtype);
  return std::vector<Tensor>{y, x.k, x.v, cast(stages[static_cast<std::size_t>(mode)], dtype)};
}

Results attended(const Call& call) {
  const Operands x = operands_of(call);
  const bool by_steps =
      call.number("softcap", 0) > 0 || call.wants(3) || (x.mask.defined() && !is_float(x.mask.dtype()) && x.mask.dtype() != boolean);
  Results out;
  if (by_steps) {
    out = attended_by_steps(call, x);
  } else {
    AttentionOptions options{.scale = x.scale};
    const Tensor allowed = seen(x);
    if (x.mask.defined() && x.mask.dtype() == boolean) options.mask = allowed.defined() ? x.mask && allowed : x.mask;
    else options.mask = allowed;
    if (x.mask.defined() && x.mask.dtype() != boolean) options.bias = cast(x.mask, x.q.dtype());
    out = std::vector<Tensor>{scaled_dot_product_attention(x.q, x.k, x.v, options), x.k, x.v};
  }
  if (call[0].rank() == 3) {
    const Tensor y = transpose(out[0].tensor, 1, 2);
    out[0] = reshape(y, {y.size(0), y.size(1), y.size(2) * y.size(3)});
  }
  return out;
}

/// Pairs of the first numbers of each head turned by angles that grow with the place (Su et al., 2021).
Results rotated(const Call& call) {
  const Tensor given = call[0];
  const bool is_flat = given.rank() == 3;
  const Tensor x = is_flat ? transpose(heads_apart(call, given, "num_heads"), 1, 2) : transpose(given, 1, 2);  // (B, S, H, D)
  const std::int64_t width = x.size(3), some = call.integer("rotary_embedding_dim", 0), turned = some > 0 ? some : width, half = turned / 2;
  const bool is_interleaved = call.flag("interleaved");
  const auto table = [&](std::size_t i) {
    const Tensor cache = call.has(3) ? take(call[i], call[3], 0) : call[i];  // (B, S, half)
    return unsqueeze(slice(cache, -1, {0, half}), 2);
  };
  const Tensor cosine = table(1), sine = table(2);
  const Tensor first = is_interleaved ? slice(x, -1, {0, turned, 2}) : slice(x, -1, {0, half});
  const Tensor second = is_interleaved ? slice(x, -1, {1, turned, 2}) : slice(x, -1, {half, turned});
  const Tensor a = first * cosine - second * sine, b = first * sine + second * cosine;
  Tensor y = is_interleaved ? flatten(stack({a, b}, -1), -2, -1) : concat({a, b}, -1);
  if (turned < width) y = concat({y, slice(x, -1, {turned, std::nullopt})}, -1);
  return is_flat ? reshape(y, given.shape()) : transpose(y, 1, 2);
}

// clang-format off: one operator a line
const Operator kOperators[] = {
    {"Attention", [](Call& c) -> Results { return attended(c); }, "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision"},
    {"RotaryEmbedding", [](Call& c) -> Results { return rotated(c); }, "interleaved num_heads rotary_embedding_dim"},
};
// clang-format on

}  // namespace

Operators attention_operators() { return kOperators; }

}  // namespace tegula::onnx

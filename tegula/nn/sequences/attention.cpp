#include "tegula/nn/sequences/attention.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/dist/parallel/tensor_parallel.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/nn/checks.h"
#include "tegula/nn/init.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/products/attention.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {
namespace {

constexpr std::string_view kName = "MultiheadAttention";

/// Scores (N, M, S) -> weights and their mean of the values (N, S, V). Values that no query sees may hold anything.
AttendedSequence weighted(const Tensor& scores, const Tensor& values, const Attendable& seen) {
  const Tensor weights = masked_softmax(scores, {.mask = seen.mask, .lengths = seen.lengths});
  Tensor shown = values;
  if (seen.lengths.defined()) shown = where(iota(values.shape(), 1) < reshape(seen.lengths, {-1, 1, 1}), shown, 0.0);
  if (seen.mask.defined()) shown = where(unsqueeze(any(expand(seen.mask, scores.shape()), 1), 2), shown, 0.0);
  return {matmul(weights, shown), weights};
}

/// q (N, M, features), k (N, S, features) and v (N, S, V).
void require_sequences(std::string_view layer, const Tensor& q, const Tensor& k, const Tensor& v, const Line& where) {
  const bool fit = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 && q.size(0) == k.size(0) && q.size(2) == k.size(2) &&
                   v.size(0) == k.size(0) && v.size(1) == k.size(1);
  if (!fit)
    ops::refuse(layer, "queries, keys and values " + to_string(q.shape()) + ", " + to_string(k.shape()) + " and " + to_string(v.shape()),
                "(N, M, features), (N, S, features) and (N, S, V)", where);
}

AttendedSequence by_products(std::string_view layer, const Tensor& q, const Tensor& k, const Tensor& v, const Attendable& seen,
                             double scale, const Line& where) {
  require_sequences(layer, q, k, v, where);
  const Tensor scores = matmul(q, transpose(k));
  return weighted(scale == 1 ? scores : scores * scale, v, seen);
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, const MultiheadAttentionOptions& options, Line where)
    : out_proj(std::max<std::int64_t>(embed_dim, 1), std::max<std::int64_t>(embed_dim, 1), {.bias = options.bias, .dtype = options.dtype},
               where),
      width_(embed_dim),
      heads_(num_heads),
      options_(options) {
  const In frame(kName, where);
  require_positive(kName, {{"embed_dim", embed_dim}, {"num_heads", num_heads}}, where);
  split.units = num_heads;
  if (embed_dim % num_heads != 0)
    ops::refuse(kName, "embed_dim " + std::to_string(embed_dim) + " and num_heads " + std::to_string(num_heads),
                "a width that the heads divide", where);
  if (!(options.dropout >= 0 && options.dropout < 1))
    ops::refuse(kName, "dropout = " + number_text(options.dropout), "a probability below 1", where);
  const RandomOptions random{.dtype = options.dtype};
  const std::int64_t kdim = options.kdim > 0 ? options.kdim : embed_dim, vdim = options.vdim > 0 ? options.vdim : embed_dim;
  const auto drawn = [&](std::int64_t out, std::int64_t in) { return init::glorot_uniform({out, in}, {.random = random}, where); };
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = drawn(3 * embed_dim, embed_dim);
  } else {
    q_proj_weight = drawn(embed_dim, embed_dim), k_proj_weight = drawn(embed_dim, kdim), v_proj_weight = drawn(embed_dim, vdim);
  }
  if (options.bias) {
    in_proj_bias = zeros({3 * embed_dim}, options.dtype);
    out_proj.bias = zeros({embed_dim}, options.dtype);
  }
  if (options.add_bias_kv) {
    const double deviation = 1 / std::sqrt(static_cast<double>(embed_dim));  // xavier_normal_ of (1, 1, E), whose fans are both E
    bias_k = normal({1, 1, embed_dim}, 0, deviation, random, where);
    bias_v = normal({1, 1, embed_dim}, 0, deviation, random, where);
  }
}

MultiheadAttended MultiheadAttention::operator()(Arg of_query, Arg of_key, Arg of_value, const MultiheadAttentionInput& input) const {
  const In frame(kName, of_query.loc);
  const auto& where = of_query.loc;
  Tensor query = of_query.tensor(kName), key = of_key.tensor(kName), value = of_value.tensor(kName);
  const bool batched = query.rank() == 3;
  if ((query.rank() != 2 && !batched) || key.rank() != query.rank() || value.rank() != query.rank()) {
    ops::refuse(kName, "shapes " + to_string(query.shape()) + ", " + to_string(key.shape()) + " and " + to_string(value.shape()),
                options_.batch_first ? "(N, L, E), (N, S, kdim) and (N, S, vdim), or without N"
                                     : "(L, N, E), (S, N, kdim) and (S, N, vdim), or without N",
                where);
  }
  const bool same_keys = key.node() == query.node(), same_values = value.node() == key.node();
  query = split.enter(query, where), key = same_keys ? query : split.enter(key, where),
  value = same_values ? key : split.enter(value, where);
  const auto batch_in_front = [&](const Tensor& x) { return !batched ? unsqueeze(x, 0) : options_.batch_first ? x : transpose(x, 0, 1); };
  query = batch_in_front(query), key = same_keys ? query : batch_in_front(key), value = same_values ? key : batch_in_front(value);
  for (const Tensor* x : {&query, &key, &value}) require_dtype(kName, *x, options_.dtype, where);
  require_features(kName, query, -1, width_, "features", where);
  require_features(kName, key, -1, options_.kdim > 0 ? options_.kdim : width_, "features of keys", where);
  require_features(kName, value, -1, options_.vdim > 0 ? options_.vdim : width_, "features of values", where);
  const std::int64_t batch = query.size(0), length = query.size(1);
  const std::int64_t width = split.own(width_), heads = split.own(heads_);  // this rank's
  if (key.size(0) != batch || value.size(0) != batch || key.size(1) != value.size(1)) {
    ops::refuse(kName,
                "queries, keys and values " + to_string(query.shape()) + ", " + to_string(key.shape()) + " and " + to_string(value.shape()),
                "one batch, and as many keys as values", where);
  }

  // (N, T, features) of each; where they are one tensor, by one product.
  const auto project = [&](const Tensor& x, const Tensor& weight, std::int64_t first, std::int64_t count) {
    if (!in_proj_bias.defined()) return linear(x, weight);
    return linear(x, weight, count == 3 ? in_proj_bias.read() : slice(in_proj_bias, 0, {first * width, (first + count) * width}));
  };
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    return slice(in_proj_weight, 0, {first * width, (first + count) * width});
  };
  Tensor q, k, v;
  if (!in_proj_weight.defined()) {
    q = project(query, q_proj_weight, 0, 1), k = project(key, k_proj_weight, 1, 1), v = project(value, v_proj_weight, 2, 1);
  } else if (same_keys && same_values) {
    const auto parts = tegula::split(project(query, in_proj_weight, 0, 3), width, -1);
    q = parts[0], k = parts[1], v = parts[2];
  } else if (same_values) {
    const auto parts = tegula::split(project(key, rows(1, 2), 1, 2), width, -1);
    q = project(query, rows(0, 1), 0, 1), k = parts[0], v = parts[1];
  } else {
    q = project(query, rows(0, 1), 0, 1), k = project(key, rows(1, 1), 1, 1), v = project(value, rows(2, 1), 2, 1);
  }
  std::int64_t more = 0;  // keys behind those that were given
  const auto append = [&](const Tensor& to_k, const Tensor& to_v) {
    k = concat({k, expand(to_k, {batch, 1, width})}, 1), v = concat({v, expand(to_v, {batch, 1, width})}, 1);
    ++more;
  };
  if (bias_k.defined()) append(bias_k, bias_v);
  if (options_.add_zero_attn) append(zeros({1, 1, width}, k.dtype()), zeros({1, 1, width}, v.dtype()));
  const std::int64_t given_keys = key.size(1), keys = given_keys + more;

  // Masks of scores (N, heads, L, S): booleans that are seen, and a sum of floats.
  const auto own_heads = [&](const Tensor& mask) {  // (N * heads, L, S), the heads of all ranks
    if (!split.is(dist::Split::Style::Columns)) return mask;
    const std::int64_t first = heads * split.group.rank();
    return flatten(slice(reshape(mask, {batch, heads_, mask.size(1), mask.size(2)}), 1, {first, first + heads}), 0, 1);
  };
  AttentionOptions options{.dropout = training ? options_.dropout : 0};
  const auto with_more = [&](const Tensor& mask, double value) {
    if (more == 0) return mask;
    std::vector<PadWidth> widths(static_cast<std::size_t>(mask.rank()));
    widths.back().high = more;
    return pad(mask, widths, {.value = value});
  };
  const auto add_mask = [&](const Tensor& mask, const Shape& shape) {
    if (mask.dtype() == boolean) {
      const Tensor seen = reshape(with_more(!mask, 1), shape);
      options.mask = options.mask.defined() ? options.mask && seen : seen;
    } else {
      const Tensor bias = reshape(with_more(cast(mask, q.dtype()), 0), shape);
      options.bias = options.bias.defined() ? options.bias + bias : bias;
    }
  };
  if (const Tensor& mask = input.key_padding_mask; mask.defined()) {
    const Shape wanted = batched ? Shape{batch, given_keys} : Shape{given_keys};
    if (mask.shape() != wanted) ops::refuse(kName, "a key_padding_mask of shape " + to_string(mask.shape()), to_string(wanted), where);
    add_mask(mask, {batch, 1, 1, keys});
  }
  if (const Tensor& mask = input.attn_mask; mask.defined()) {
    const Shape one{length, given_keys}, all{batch * heads_, length, given_keys};
    if (mask.shape() != one && mask.shape() != all)
      ops::refuse(kName, "an attn_mask of shape " + to_string(mask.shape()), to_string(one) + " or " + to_string(all), where);
    if (mask.rank() == 2) add_mask(mask, {1, 1, length, keys});
    else add_mask(own_heads(mask), {batch, heads, length, keys});
  }
  if (input.is_causal) {
    if (more == 0) options.causal = true;
    else add_mask(iota({length, given_keys}, 1) > iota({length, given_keys}, 0), {1, 1, length, keys});
  }

  const auto in_heads = [&](const Tensor& x) { return reshape(x, {batch, x.size(1), heads, width / heads}); };
  const auto by_head = [&](const Tensor& x) { return permute(in_heads(x), {0, 2, 1, 3}); };
  const Tensor qs = by_head(q);
  Tensor ks, vs;
  if (input.cache) {
    if (more > 0 || options.mask.defined() || options.bias.defined())
      ops::refuse(kName, "a cache with masks, add_bias_kv or add_zero_attn", "the cache's own mask alone", where);
    const auto seen = input.cache->extend(input.layer, in_heads(k), in_heads(v));
    const double dropout = options.dropout;
    ks = seen.keys, vs = seen.values, options = input.cache->attention();
    options.dropout = dropout;
  } else {
    ks = by_head(k), vs = by_head(v);
  }
  const Attended attended = attention_with_log_sum_exp(qs, ks, vs, options);
  Tensor y = out_proj(reshape(permute(attended.output, {0, 2, 1, 3}), {batch, length, width}));
  MultiheadAttended out;
  out.output = !batched ? squeeze(y, 0) : options_.batch_first ? y : transpose(y, 0, 1);
  if (input.need_weights) {
    Tensor weights = attention_weights(qs, ks, options);
    if (split.is(dist::Split::Style::Columns)) weights = dist::gather_from_ranks(weights, split.group, 1);
    if (input.average_attn_weights) weights = mean(weights, 1);
    out.weights = batched ? weights : squeeze(weights, 0);
  }
  return out;
}

void MultiheadAttention::visit(Visitor& visitor, const Path& path) {
  constexpr int kNone = SplitField::kNone;
  visitor.split(path, split,
                {{&in_proj_weight, 0, kNone, 3},
                 {&q_proj_weight, 0},
                 {&k_proj_weight, 0},
                 {&v_proj_weight, 0},
                 {&in_proj_bias, 0, kNone, 3},
                 {&bias_k, 2},
                 {&bias_v, 2}});
  visit_fields(visitor, path,
               {{"in_proj_weight", &in_proj_weight},
                {"q_proj_weight", &q_proj_weight},
                {"k_proj_weight", &k_proj_weight},
                {"v_proj_weight", &v_proj_weight},
                {"in_proj_bias", &in_proj_bias},
                {"bias_k", &bias_k},
                {"bias_v", &bias_v}});
  out_proj.visit(visitor, Path{&path, "out_proj"});
  visitor.flag(Path{&path, "training"}, training);
}

AdditiveAttention::AdditiveAttention(std::int64_t query_size, std::int64_t key_size, std::int64_t hidden_size,
                                     const AdditiveAttentionOptions& options, Line where)
    : query_layer(query_size, hidden_size, {.bias = options.bias, .dtype = options.dtype}, where),
      key_layer(key_size, hidden_size, {.bias = options.bias, .dtype = options.dtype}, where),
      energy_layer(hidden_size, 1, {.bias = false, .dtype = options.dtype}, where) {}

AttendedSequence AdditiveAttention::operator()(Arg queries, Arg keys, const Tensor& values, const Attendable& seen) const {
  const In frame("AdditiveAttention", queries.loc);
  return with_projected(queries, project(keys), values.defined() ? values : keys.tensor("AdditiveAttention"), seen);
}

AttendedSequence AdditiveAttention::with_projected(Arg queries, Arg projected, Arg values, const Attendable& seen) const {
  const In frame("AdditiveAttention", queries.loc);
  const Tensor q = query_layer(queries), k = projected.tensor("AdditiveAttention"), v = values.tensor("AdditiveAttention");
  require_sequences("AdditiveAttention", q, k, v, queries.loc);
  const Tensor scores = squeeze(energy_layer(tanh(unsqueeze(q, 2) + unsqueeze(k, 1))), -1);  // (N, M, S)
  return weighted(scores, v, seen);
}

void AdditiveAttention::visit(Visitor& visitor, const Path& path) {
  query_layer.visit(visitor, Path{&path, "query_layer"});
  key_layer.visit(visitor, Path{&path, "key_layer"});
  energy_layer.visit(visitor, Path{&path, "energy_layer"});
}

GeneralAttention::GeneralAttention(std::int64_t query_size, std::int64_t key_size, DType dtype, Line where)
    : key_layer(key_size, query_size, {.bias = false, .dtype = dtype}, where) {}

AttendedSequence GeneralAttention::operator()(Arg queries, Arg keys, const Tensor& values, const Attendable& seen) const {
  const In frame("GeneralAttention", queries.loc);
  return with_projected(queries, project(keys), values.defined() ? values : keys.tensor("GeneralAttention"), seen);
}

AttendedSequence GeneralAttention::with_projected(Arg queries, Arg projected, Arg values, const Attendable& seen) const {
  const In frame("GeneralAttention", queries.loc);
  return by_products("GeneralAttention", queries.tensor("GeneralAttention"), projected.tensor("GeneralAttention"),
                     values.tensor("GeneralAttention"), seen, 1, queries.loc);
}

void GeneralAttention::visit(Visitor& visitor, const Path& path) { key_layer.visit(visitor, Path{&path, "key_layer"}); }

AttendedSequence dot_attention(Arg queries, Arg keys, Arg values, const Attendable& seen, double scale) {
  const In frame("dot_attention", queries.loc);
  return by_products("dot_attention", queries.tensor("dot_attention"), keys.tensor("dot_attention"), values.tensor("dot_attention"), seen,
                     scale, queries.loc);
}

}  // namespace tegula::nn

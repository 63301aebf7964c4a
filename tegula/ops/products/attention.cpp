#include "tegula/ops/products/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/products/attention_op.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/tile/builder.h"

namespace tegula {
namespace {

constexpr std::string_view kName = "scaled_dot_product_attention";

/// q, k, v with four axes and of one dtype.
struct Operands {
  Tensor q, k, v;
  Shape leading;  // the user's axes before H
  int rank;       // the user's
};

Operands operands(const Arg& of_q, const Arg& of_k, const Arg& of_v) {
  const auto& where = of_q.loc;
  Tensor q = of_q.tensor(kName), k = of_k.tensor(kName), v = of_v.tensor(kName);
  for (const Tensor& x : {q, k, v}) {
    if (!is_float(x.dtype())) ops::refuse(kName, "dtype " + std::string(name(x.dtype())), "float tensors", where, "cast(x, f32)");
  }
  const auto refuse = [&](const std::string& expected, const std::string& advice = "") {
    ops::refuse(kName, "shapes " + to_string(q.shape()) + ", " + to_string(k.shape()) + " and " + to_string(v.shape()), expected, where,
                advice);
  };
  const int rank = q.rank();
  if (rank < 2 || k.rank() != rank || v.rank() != rank)
    refuse("q (…, H, M, D), k (…, G, N, D) and v (…, G, N, E) with as many axes, at least two");
  if (q.shape()[rank - 1] != k.shape()[rank - 1]) refuse("queries and keys of as many features");
  if (k.shape()[rank - 2] != v.shape()[rank - 2]) refuse("as many keys as values");
  Operands out{.q = {}, .k = {}, .v = {}, .leading = {}, .rank = rank};
  for (int i = 0; i + 3 < rank; ++i) {
    if (q.shape()[i] != k.shape()[i] || q.shape()[i] != v.shape()[i]) refuse("equal axes before the heads", "expand() the smaller ones");
    out.leading.push_back(q.shape()[i]);
  }
  const DType dtype = promote(promote(q.dtype(), k.dtype()), v.dtype());
  const auto four = [&](const Tensor& x) {
    const std::int64_t heads = rank > 2 ? x.shape()[rank - 3] : 1;
    return graph::reshape(graph::cast(x, dtype, where), {numel(out.leading), heads, x.shape()[rank - 2], x.shape()[rank - 1]}, where);
  };
  out.q = four(q), out.k = four(k), out.v = four(v);
  const std::int64_t heads = out.q.shape()[1], groups = out.k.shape()[1];
  if (groups != out.v.shape()[1] || (groups == 0 ? heads != 0 : heads % groups != 0))
    refuse("as many heads of keys as of values, and a multiple of them of queries");
  return out;
}

/// A mask or bias as (B, H, M, N).
Tensor of_scores(const Operands& x, const Tensor& given, std::string_view what, const Line& where) {
  const Shape scores{x.q.shape()[0], x.q.shape()[1], x.q.shape()[2], x.k.shape()[2]};
  Shape whole = x.leading;  // as the user counts axes
  if (x.rank > 2) whole.push_back(scores[1]);
  whole.push_back(scores[2]);
  whole.push_back(scores[3]);
  if (broadcast(given.shape(), whole) != whole)
    ops::refuse(kName, std::string(what) + " of shape " + to_string(given.shape()), "one that broadcasts to " + to_string(whole), where);
  return graph::reshape(graph::expand(given, whole, where), scores, where);
}

/// Integers as (B) i64; one for all may be of rank 0.
Tensor of_samples(const Operands& x, const Tensor& given, std::string_view what, bool one_for_all, const Line& where) {
  const bool fits = given.shape() == x.leading || (one_for_all && given.rank() == 0);
  if (!fits || !is_integer(given.dtype())) {
    ops::refuse(kName, std::string(what) + " of shape " + to_string(given.shape()) + " and dtype " + std::string(name(given.dtype())),
                "integers of shape " + to_string(x.leading) + (one_for_all && !x.leading.empty() ? " or ()" : ""), where);
  }
  const std::int64_t samples = numel(x.leading);
  const Tensor t = graph::cast(given, i64, where);
  return given.rank() == 0 ? graph::expand(t, {samples}, where) : graph::reshape(t, {samples}, where);
}

/// The requested node: its form, its inputs, and the user's axes.
struct Problem {
  ops::AttentionForm form;
  std::vector<Tensor> inputs;
  Shape rows;  // (…, H, M)
};

Problem problem(const Arg& of_q, const Arg& of_k, const Arg& of_v, const AttentionOptions& options) {
  const auto& where = of_q.loc;
  const Operands x = operands(of_q, of_k, of_v);
  const std::int64_t width = x.q.shape()[3], keys = x.k.shape()[2];
  if (!(options.dropout >= 0 && options.dropout < 1))
    ops::refuse(kName, "dropout = " + number_text(options.dropout), "a probability below 1", where);
  if (options.window < 0) ops::refuse(kName, "window = " + std::to_string(options.window), "a number of keys, or 0", where);
  ops::AttentionForm form{.causal = options.causal,
                          .window = std::min(options.window, std::int64_t{1} << 61),  // no key is further away, and sums do not overflow
                          .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1)))),
                          .dropout = options.dropout,
                          .mask = options.mask.defined(),
                          .bias = options.bias.defined(),
                          .lengths = options.lengths.defined(),
                          .start = options.start.defined()};
  std::vector<Tensor> inputs{x.q, x.k, x.v};
  if (form.mask) {
    if (options.mask.dtype() != boolean)
      ops::refuse(kName, "a mask of dtype " + std::string(name(options.mask.dtype())), "booleans, true where a key is seen", where,
                  "numbers that are added to the scores are a bias");
    inputs.push_back(of_scores(x, options.mask, "a mask", where));
  }
  if (form.bias) {
    if (!is_float(options.bias.dtype()))
      ops::refuse(kName, "a bias of dtype " + std::string(name(options.bias.dtype())), "floats", where, "booleans are a mask");
    inputs.push_back(graph::cast(of_scores(x, options.bias, "a bias", where), x.q.dtype(), where));
  }
  if (form.lengths) {
    const Tensor lengths = of_samples(x, options.lengths, "lengths", false, where);
    inputs.push_back(ops::check_lengths(kName, lengths, keys, "keys", where));
  }
  if (form.start) inputs.push_back(of_samples(x, options.start, "a start", true, where));
  if (form.dropout > 0) {
    Generator& generator = options.generator ? *options.generator : default_generator();
    inputs.push_back(generator.seed(where));
    inputs.push_back(generator.draw(x.q.numel() / std::max<std::int64_t>(width, 1) * keys, where));
  }
  Shape rows = x.leading;
  if (x.rank > 2) rows.push_back(x.q.shape()[1]);
  rows.push_back(x.q.shape()[2]);
  return {form, inputs, rows};
}

Shape with(Shape rows, std::int64_t last) {
  rows.push_back(last);
  return rows;
}

}  // namespace

Attended attention_with_log_sum_exp(Arg q, Arg k, Arg v, const AttentionOptions& options) {
  const In frame(kName, q.loc);
  const auto& where = q.loc;
  const Problem p = problem(q, k, v, options);
  const std::vector<Tensor> results = ops::attention_nodes(p.form, p.inputs, where);
  return {graph::reshape(graph::permute(results[0], {0, 2, 1, 3}, where), with(p.rows, p.inputs[2].shape()[3]), where),
          graph::reshape(results[1], p.rows, where)};
}

Tensor scaled_dot_product_attention(Arg q, Arg k, Arg v, const AttentionOptions& options) {
  return attention_with_log_sum_exp(q, k, v, options).output;
}

Tensor attention_weights(Arg q, Arg k, const AttentionOptions& options) {
  const In frame("attention_weights", q.loc);
  AttentionOptions without = options;
  without.dropout = 0;
  const Problem p = problem(q, k, k, without);
  return graph::reshape(ops::plain_attention_weights(p.form, p.inputs), with(p.rows, p.inputs[1].shape()[2]), q.loc);
}

Tensor masked_softmax(Arg scores, const MaskedSoftmaxOptions& options) {
  constexpr std::string_view kOp = "masked_softmax";
  const In frame(kOp, scores.loc);
  const Tensor x = scores.tensor(kOp);
  if (x.rank() < 2 || !is_float(x.dtype()))
    ops::refuse(kOp, "scores of shape " + to_string(x.shape()) + " and dtype " + std::string(name(x.dtype())), "floats (…, M, N)",
                scores.loc);
  Tensor seen;
  if (const Tensor& mask = options.mask; mask.defined()) {
    if (mask.dtype() != boolean || broadcast(mask.shape(), x.shape()) != x.shape())
      ops::refuse(kOp, "a mask of shape " + to_string(mask.shape()) + " and dtype " + std::string(name(mask.dtype())),
                  "booleans that broadcast to " + to_string(x.shape()), scores.loc);
    seen = mask;
  }
  if (const Tensor& lengths = options.lengths; lengths.defined()) {
    Shape leading;
    for (int axis = 0; axis + 2 < x.rank(); ++axis) leading.push_back(x.shape()[axis]);
    if (lengths.shape() != leading || !is_integer(lengths.dtype()))
      ops::refuse(kOp, "lengths of shape " + to_string(lengths.shape()) + " and dtype " + std::string(name(lengths.dtype())),
                  "integers of shape " + to_string(leading), scores.loc);
    const Tensor checked = ops::check_lengths(kOp, lengths, x.shape().back(), "keys", scores.loc);
    leading.push_back(1), leading.push_back(1);
    const Tensor inside = iota(x.shape(), x.rank() - 1) < graph::reshape(checked, leading);
    seen = seen.defined() ? seen && inside : inside;
  }
  const Tensor wide = ops::widen(x);
  return ops::narrow(ops::softmax_of_seen(seen.defined() ? where(seen, wide, -std::numeric_limits<double>::infinity()) : wide).p,
                     x.dtype());
}

std::vector<OpCase> attention_cases() {
  using Inputs = std::vector<Tensor>;
  std::vector<OpCase> cases;
  const auto add = [&](std::vector<CaseInput> inputs, auto function, std::vector<std::vector<Shape>> more = {}) {
    cases.push_back(
        {.op = std::string(kName), .function = function, .inputs = std::move(inputs), .more_shapes = std::move(more), .tolerance = 64});
  };
  const CaseInput lengths{.shape = {2}, .low = 0, .high = 7, .dtype = i64};
  add({{{2, 4, 5, 3}}, {{2, 2, 7, 3}}, {{2, 2, 7, 6}}}, [](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2]); },
      {{{7, 3}, {9, 3}, {9, 1}},
       {{3, 1, 8}, {3, 1, 8}, {3, 1, 8}},
       {{2, 1, 2, 70, 8}, {2, 1, 1, 70, 8}, {2, 1, 1, 70, 8}},
       {{1, 2, 3, 5}, {1, 1, 600, 5}, {1, 1, 600, 5}},
       {{0, 2, 3, 4}, {0, 1, 3, 4}, {0, 1, 3, 4}},
       {{2, 3, 4}, {2, 0, 4}, {2, 0, 4}},
       {{2, 0, 4}, {2, 3, 4}, {2, 3, 4}}});
  add({{{2, 2, 5, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}},
      [](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true, .scale = 0.75}); },
      {{{1, 1, 130, 4}, {1, 1, 130, 4}, {1, 1, 130, 4}}, {{4, 3}, {9, 3}, {9, 3}}, {{9, 3}, {4, 3}, {4, 3}}});
  add({{{2, 2, 5, 4}}, {{2, 1, 7, 4}}, {{2, 1, 7, 4}}, {.shape = {5, 7}, .low = 0, .high = 1, .dtype = boolean}, {{2, 2, 1, 7}}},
      [](const Inputs& x) { return scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3], .bias = x[4]}); });
  add({{{2, 2, 5, 4}}, {{2, 1, 7, 4}}, {{2, 1, 7, 4}}, lengths, {.shape = {2}, .low = 0, .high = 4, .dtype = i64}}, [](const Inputs& x) {
    return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = true, .window = 3, .lengths = x[3], .start = cast(x[4], i32)});
  });
  add({{{2, 2, 5, 4}}, {{2, 1, 7, 4}}, {{2, 1, 7, 4}}}, [](const Inputs& x) {
    Generator generator(5);
    return scaled_dot_product_attention(x[0], x[1], x[2], {.dropout = 0.3, .window = 4, .generator = &generator});
  });
  cases.back().draws = true;
  for (const bool of_both : {false, true}) {
    add({{{2, 2, 5, 4}}, {{2, 1, 7, 4}}, {{2, 1, 7, 4}}}, [=](const Inputs& x) {
      const Attended y = attention_with_log_sum_exp(x[0], x[1], x[2], {.causal = true});
      const Tensor sums = unsqueeze(y.log_sum_exp, -1);
      return of_both ? y.output * cast(sums, y.output.dtype()) : sums;
    });
  }
  return cases;
}

}  // namespace tegula

#include "tegula/tegula.h"
#include "tests/property/ops.h"

namespace tegula::property {
namespace {

/// Any set of axes but none, most often one or all.
Axes axes(const Use& use, const Tensor& x) {
  if (x.rank() == 0) throw Unfit{};
  const std::uint32_t draw = use.knobs[0];
  if (draw % 4 == 0) return {};
  if (draw % 4 == 1) return use.axis(2, x);
  Dims some;
  for (int d = 0; d < x.rank(); ++d) {
    if (draw >> (d + 2) & 1) some.push_back(d);
  }
  return some.empty() ? Axes(0) : Axes(some);
}
Keep keep(const Use& use) { return use.knobs[1] % 2 == 0 ? Keep::Yes : Keep::No; }

Tensor not_empty(const Tensor& x) {
  if (x.numel() == 0) throw Unfit{};
  return x;
}

using Reduction = Tensor (*)(Arg, const Axes&, Keep);

/// A matrix product whose operands are cut to fit.
Tensor product(const Use& use) {
  const Tensor a = use.real(0), b = use.real(1);
  if (a.rank() < 1 || b.rank() < 1) throw Unfit{};
  if (use.knobs[0] % 3 == 0) return matmul(a, b);  // as they are, where they fit
  const std::int64_t k = a.shape().back(), n = k == 32 ? 32 : use.pick(1, 6) + 1;
  return matmul(a, use.knobs[0] % 3 == 1 ? resized(b, {k, n}) : transpose(resized(b, {n, k})));
}

Tensor convolution(const Use& use) {
  const Tensor x = use.real(0), w = use.real(1);
  const std::int64_t channels = 1 + use.pick(0, 3), side = 3 + use.pick(1, 4), out = 1 + use.pick(2, 4), kernel = 1 + use.pick(3, 3);
  const Tensor image = resized(x, {2, channels, side, side + 1});
  const ConvolutionOptions options{.stride = 1 + use.pick(3, 2), .padding = use.pick(2, 2)};
  if (use.knobs[0] % 5 == 0) return conv_transpose2d(image, resized(w, {channels, out, kernel, kernel}), {.stride = 2});
  if (use.knobs[0] % 5 == 1) return conv1d(reshape(image, {2, channels, side * (side + 1)}), resized(w, {out, channels, kernel}), options);
  if (use.knobs[0] % 5 == 2)
    return conv2d(image, resized(w, {channels, 1, kernel, kernel}), {.padding = options.padding, .groups = channels});
  return conv2d(image, resized(w, {out, channels, kernel, kernel}), resized(w, {out}), options);
}

Tensor pooling(const Use& use) {
  const Tensor image = resized(use.real(0), {1, 2, 4 + use.pick(1, 3), 5});
  switch (use.pick(0, 4)) {
    case 0: return max_pool2d(image, 2);
    case 1: return max_pool2d(image, 3, {.stride = 2, .padding = 1});
    case 2: return avg_pool2d(image, 2, {.stride = 1 + use.pick(2, 2)});
    default: return avg_pool2d(image, 3, {.stride = 2, .padding = 1, .count_include_pad = use.knobs[2] % 2 == 0});
  }
}

/// A value that several joins have among their pieces: stored within one of them, its rows lie apart, and the others read it there.
Tensor read_by_joins(const Use& use) {
  const Tensor a = not_empty(use.real(0)), other = not_empty(cast(use.real(1), a.dtype()));
  const std::int64_t rows = 1 + use.pick(0, 5), width = std::int64_t{4} << use.pick(1, 3);
  const Tensor x = resized(a, {rows, width}), beside = sin(resized(other, {rows, width}));
  const Tensor weight = resized(other, {width, width}) * (1.0 / static_cast<double>(width));
  const Tensor value = use.knobs[2] % 3 == 0 ? cos(x) : use.knobs[2] % 3 == 1 ? matmul(x, weight) : tanh(matmul(x, weight));
  const Tensor wide = concat({value, matmul(value, transpose(value))}, 1);
  const Tensor both = use.knobs[3] % 2 == 0 ? stack({value, beside}, 1) : stack({beside, value}, 1);
  const Tensor products = flatten(matmul(both, transpose(both)), 1);
  switch (use.pick(3, 4)) {
    case 0: return concat({value, products}, 1);
    case 1: return concat({wide, beside, products}, 1);
    case 2: return concat({matmul(wide, resized(weight, {width + rows, 3})), flatten(both, 1)}, 1);
    default: return concat({concat({value, beside}, 0), select(both, 1, 1)}, 0);
  }
}

}  // namespace

std::vector<GraphOp> combining_ops() {
  std::vector<GraphOp> ops;
  constexpr std::pair<const char*, Reduction> reductions[] = {{"sum", sum}, {"mean", mean}, {"logsumexp", logsumexp}};
  for (const auto& [name, reduction] : reductions) {
    ops.push_back({name, 1, 8, [reduction](const Use& use) { return reduction(use.real(0), axes(use, use.x[0]), keep(use)); }});
  }
  constexpr std::pair<const char*, Reduction> selections[] = {{"max", max}, {"min", min}};
  for (const auto& [name, reduction] : selections) {
    ops.push_back({name, 1, 4, [reduction](const Use& use) { return reduction(not_empty(use.x[0]), axes(use, use.x[0]), keep(use)); }});
  }
  ops.insert(
      ops.end(),
      {
          {"prod", 1, 2, [](const Use& use) { return prod(tanh(use.real(0)) + 1.0, axes(use, use.x[0]), keep(use)); }},
          {"sum_square", 1, 4, [](const Use& use) { return sum(square(use.real(0)), axes(use, use.x[0]), keep(use)); }},
          {"centred", 1, 4, [](const Use& use) { return use.real(0) - mean(use.real(0), axes(use, use.x[0]), Keep::Yes); }},
          {"var", 1, 2, [](const Use& use) { return var(use.real(0), axes(use, use.x[0]), {.correction = 0, .keep = keep(use)}); }},
          {"norm", 1, 1, [](const Use& use) { return norm(use.real(0) + 0.25, use.pick(3, 2) + 1, axes(use, use.x[0]), keep(use)); }},
          {"argmax", 1, 2, [](const Use& use) { return argmax(not_empty(use.x[0]), use.axis(2, use.x[0]), keep(use)); }},
          {"any", 1, 1, [](const Use& use) { return any(use.x[0] > 0, axes(use, use.x[0]), keep(use)); }},
          {"all", 1, 1, [](const Use& use) { return all(use.x[0] > -1, axes(use, use.x[0]), keep(use)); }},
          {"count_nonzero", 1, 1, [](const Use& use) { return count_nonzero(use.x[0], axes(use, use.x[0]), keep(use)); }},
          {"integer_sum", 1, 1, [](const Use& use) { return remainder(sum(use.whole(0), axes(use, use.x[0]), keep(use)), 23); }},
          {"cumsum", 1, 3,
           [](const Use& use) { return cumsum(use.x[0].dtype() == boolean ? use.whole(0) : use.x[0], use.axis(0, use.x[0])); }},
          {"cumprod", 1, 1, [](const Use& use) { return cumprod(tanh(use.real(0)) + 1.0, use.axis(0, use.x[0])); }},
          {"cummax", 1, 1, [](const Use& use) { return cummax(use.x[0], use.axis(0, use.x[0])); }},
          {"logcumsumexp", 1, 1, [](const Use& use) { return logcumsumexp(use.real(0), use.axis(0, use.x[0])); }},
          {"matmul", 2, 10, product},
          {"outer", 2, 1, [](const Use& use) { return outer(use.real(0), use.real(1)); }},
          {"linear", 2, 3,
           [](const Use& use) {
             const std::int64_t in = use.real(0).size(-1), out = use.pick(0, 5) + 1;
             return linear(use.real(0), resized(use.real(1), {out, in}), resized(use.real(1), {out}));
           }},
          {"convolution", 2, 5, convolution},
          {"read_by_joins", 2, 2.5, read_by_joins},
          {"pooling", 1, 3, pooling},
          {"softmax", 1, 4, [](const Use& use) { return softmax(use.real(0), use.axis(0, use.x[0])); }},
          {"log_softmax", 1, 3, [](const Use& use) { return log_softmax(use.real(0), use.axis(0, use.x[0])); }},
          {"layer_norm", 1, 3,
           [](const Use& use) {
             const std::int64_t last = use.real(0).size(-1);
             if (use.knobs[0] % 2 == 0) return layer_norm(use.real(0), {last});
             return rms_norm(use.real(0), {last}, {.weight = resized(use.real(0), {last})});
           }},
          {"batch_norm", 1, 2,
           [](const Use& use) {
             const Tensor x = use.real(0);
             if (x.rank() < 2 || x.numel() == x.shape()[1]) throw Unfit{};
             return batch_norm_training(x, {.eps = 0.1}).y;
           }},
          {"cross_entropy", 2, 3,
           [](const Use& use) {
             const Tensor logits = use.real(0);
             if (logits.rank() != 2 || logits.numel() == 0 || logits.shape()[1] < 2) throw Unfit{};
             const Tensor labels = remainder(cast(resized(use.whole(1), {logits.shape()[0]}), i64), logits.shape()[1]);
             return cross_entropy(logits, labels, {.reduction = use.knobs[0] % 2 == 0 ? LossReduction::Mean : LossReduction::None});
           }},
          {"mse", 2, 2, [](const Use& use) { return mse_loss(not_empty(use.real(0)), resized(use.real(1), use.x[0].shape())); }},
          {"huber", 2, 1, [](const Use& use) { return huber_loss(not_empty(use.real(0)), resized(use.real(1), use.x[0].shape())); }},
      });
  return ops;
}

}  // namespace tegula::property

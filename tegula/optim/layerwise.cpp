#include "tegula/optim/layerwise.h"

#include <cmath>

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::optim {
namespace {

/// a / b; 1 where one of them is 0.
Tensor trust(const Tensor& a, const Tensor& b) { return where(a > 0 && b > 0, a / b, 1.0); }

Tensor root_mean_square(const Tensor& x) { return norm(x) / std::sqrt(static_cast<double>(x.numel())); }

double epsilon_of(DType dtype) {
  switch (dtype) {
    case f64: return 0x1p-52;
    case f16: return 0x1p-10;
    case bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}

std::optional<Shape> rows_of(const Shape& shape) {
  if (shape.rank() < 2) return std::nullopt;
  Shape rows = shape;
  rows[shape.rank() - 1] = 1;
  return rows;
}
std::optional<Shape> columns_of(const Shape& shape) {
  if (shape.rank() < 2) return std::nullopt;
  Shape columns = shape;
  columns[shape.rank() - 2] = 1;
  return columns;
}
std::optional<Shape> vector_of(const Shape& shape) { return shape.rank() < 2 ? std::optional(shape) : std::nullopt; }

}  // namespace

LARS::LARS(Parameters parameters, const LARSOptions& options, Line where)
    : Optimizer("LARS", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative(
      {{"momentum", options.momentum}, {"weight_decay", options.weight_decay}, {"trust_coefficient", options.trust_coefficient}}, where);
  momentum_ = add_state("momentum_buffer");
}

std::vector<Tensor> LARS::update(const Step& step) {
  const auto [_, momentum, weight_decay, coefficient] = options_;
  const Number rate = step.lr;
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor &p = step.p[i], &g = step.g[i];
    const Tensor size = norm(p), slope = norm(g);
    const Tensor ratio = where(size > 0 && slope > 0, coefficient * size / (slope + weight_decay * size), 1.0);
    const Tensor b = momentum * (*momentum_)[i] + rate.like(p) * ratio * (g + weight_decay * p);
    (*momentum_)[i] = b;
    next.push_back(p - b);
  }
  return next;
}

LAMB::LAMB(Parameters parameters, const LAMBOptions& options, Line where)
    : Optimizer("LAMB", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative({{"eps", options.eps}, {"weight_decay", options.weight_decay}}, where);
  require(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1, "a beta outside of [0, 1)", "both in [0, 1)",
          where);
  exp_avg_ = add_state("exp_avg");
  exp_avg_sq_ = add_state("exp_avg_sq");
}

std::vector<Tensor> LAMB::update(const Step& step) {
  const auto [_, beta1, beta2, eps, weight_decay] = options_;
  const Number rate = step.lr, scale = 1 / (1 - pow(beta1, step.t)), root = rsqrt(1 - pow(beta2, step.t));
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor &p = step.p[i], &g = step.g[i];
    const Tensor m = beta1 * (*exp_avg_)[i] + (1 - beta1) * g, v = beta2 * (*exp_avg_sq_)[i] + (1 - beta2) * (g * g);
    (*exp_avg_)[i] = m;
    (*exp_avg_sq_)[i] = v;
    const Tensor u = scale.like(p) * m / (sqrt(v) * root.like(p) + eps) + weight_decay * p;
    next.push_back(p - rate.like(p) * trust(norm(p), norm(u)) * u);
  }
  return next;
}

Adafactor::Adafactor(Parameters parameters, const AdafactorOptions& options, Line where)
    : Optimizer("Adafactor", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative({{"eps1", options.eps1}, {"eps2", options.eps2}, {"weight_decay", options.weight_decay}}, where);
  require(options.clip_threshold > 0, "a clip_threshold that is not positive", "one above 0", where);
  require(options.beta2_decay <= 0, "a beta2_decay above 0", "one of at most 0", where);
  row_var_ = add_state("row_var", rows_of);
  col_var_ = add_state("col_var", columns_of);
  variance_ = add_state("variance", vector_of);
}

std::vector<Tensor> Adafactor::update(const Step& step) {
  const auto [_, beta2_decay, eps1, eps2, threshold, weight_decay] = options_;
  const Number rate = minimum(step.lr, rsqrt(step.t)), keep = 1 - weight_decay * step.lr, share = pow(step.t, beta2_decay);
  const auto moved = [&](Variable& state, const Tensor& to) {
    const Tensor now = Tensor(state) + share.like(to) * (to - Tensor(state));
    state = now;
    return now;
  };
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor &p = step.p[i], &g = step.g[i];
    if (p.numel() == 0) {
      next.push_back(p);
      continue;
    }
    const double least = eps1 > 0 ? eps1 : epsilon_of(step.stored[i]);
    Tensor moments;
    if (p.rank() > 1) {
      const Tensor rows = moved((*row_var_)[i], mean(g * g, -1, Keep::Yes)), columns = moved((*col_var_)[i], mean(g * g, -2, Keep::Yes));
      moments = rows * columns / clamp_min(mean(rows, -2, Keep::Yes), least);
    } else {
      moments = moved((*variance_)[i], g * g);
    }
    const Tensor u = g * rsqrt(clamp_min(moments, least * least));
    const Tensor size = rate.like(p) * clamp_min(root_mean_square(p), eps2) / clamp_min(root_mean_square(u) / threshold, 1);
    next.push_back((weight_decay == 0 ? p : p * keep.like(p)) - size * u);
  }
  return next;
}

}  // namespace tegula::optim

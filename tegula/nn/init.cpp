#include "tegula/nn/init.h"

#include <cmath>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/logic.h"

namespace tegula::nn::init {
namespace {

double fan_of(const Fans& fans, Fan mode) { return static_cast<double>(mode == Fan::In ? fans.in : fans.out); }

// Rows of the m x n matrix a, m <= n, become orthonormal: Gram and Schmidt, twice for accuracy (Giraud et al., 2005).
void orthonormalize_rows(std::vector<double>& a, std::int64_t m, std::int64_t n) {
  for (std::int64_t i = 0; i < m; ++i) {
    double* row = a.data() + i * n;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        const double* other = a.data() + j * n;
        double product = 0;
        for (std::int64_t k = 0; k < n; ++k) product += row[k] * other[k];
        for (std::int64_t k = 0; k < n; ++k) row[k] -= product * other[k];
      }
    }
    double square = 0;
    for (std::int64_t k = 0; k < n; ++k) square += row[k] * row[k];
    for (std::int64_t k = 0; k < n; ++k) row[k] /= std::sqrt(square);
  }
}

}  // namespace

Fans fans(const Shape& weight, Line where) {
  if (weight.rank() < 2) {
    throw Error({.op = "init",
                 .got = "a weight of shape " + to_string(weight),
                 .expected = "at least 2 axes (out, in, window…)",
                 .advice = "biases begin with init::zeros or init::uniform",
                 .where = origin_at(where).where});
  }
  std::int64_t window = 1;
  for (int i = 2; i < weight.rank(); ++i) window *= weight[i];
  return {weight[1] * window, weight[0] * window};
}

Tensor zeros(const Shape& shape, DType dtype, Line where) { return tegula::zeros(shape, dtype, where); }
Tensor ones(const Shape& shape, DType dtype, Line where) { return tegula::ones(shape, dtype, where); }
Tensor constant(const Shape& shape, double value, DType dtype, Line where) { return tegula::full(shape, Arg(value, where), dtype); }

Tensor eye(const Shape& shape, DType dtype, Line where) {
  if (shape.rank() != 2) {
    throw Error({.op = "init::eye", .got = "shape " + to_string(shape), .expected = "2 axes", .where = origin_at(where).where});
  }
  return tegula::eye(shape[0], shape[1], dtype, where);
}

Tensor uniform(const Shape& shape, double low, double high, const RandomOptions& options, Line where) {
  return tegula::uniform(shape, low, high, options, where);
}
Tensor normal(const Shape& shape, double mean, double deviation, const RandomOptions& options, Line where) {
  return tegula::normal(shape, mean, deviation, options, where);
}
Tensor truncated_normal(const Shape& shape, double mean, double deviation, double low, double high, const RandomOptions& options,
                        Line where) {
  return tegula::truncated_normal(shape, mean, deviation, low, high, options, where);
}

Tensor glorot_uniform(const Shape& shape, const GlorotOptions& options, Line where) {
  const Fans f = fans(shape, where);
  const double bound = options.gain * std::sqrt(6.0 / static_cast<double>(f.in + f.out));
  return tegula::uniform(shape, -bound, bound, options.random, where);
}
Tensor glorot_normal(const Shape& shape, const GlorotOptions& options, Line where) {
  const Fans f = fans(shape, where);
  return tegula::normal(shape, 0, options.gain * std::sqrt(2.0 / static_cast<double>(f.in + f.out)), options.random, where);
}

Tensor he_uniform(const Shape& shape, const HeOptions& options, Line where) {
  const double bound = options.gain * std::sqrt(3.0 / fan_of(fans(shape, where), options.mode));
  return tegula::uniform(shape, -bound, bound, options.random, where);
}
Tensor he_normal(const Shape& shape, const HeOptions& options, Line where) {
  return tegula::normal(shape, 0, options.gain / std::sqrt(fan_of(fans(shape, where), options.mode)), options.random, where);
}

double leaky_relu_gain(double slope) { return std::sqrt(2 / (1 + slope * slope)); }

Tensor orthogonal(const Shape& shape, const GlorotOptions& options, Line where) {
  fans(shape, where);  // refuses rank < 2
  const std::int64_t rows = shape[0], columns = shape[0] ? numel(shape) / shape[0] : 0;
  const std::int64_t m = std::min(rows, columns), n = std::max(rows, columns);
  std::vector<double> a = tegula::normal({m, n}, 0, 1, {.dtype = f64, .generator = options.random.generator}, where).to_host<double>(where);
  orthonormalize_rows(a, m, n);
  std::vector<double> result(a.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      result[static_cast<std::size_t>(i * columns + j)] =
          options.gain * a[static_cast<std::size_t>(rows <= columns ? i * n + j : j * n + i)];
    }
  }
  return cast(Arg(tensor(result, shape, where), where), options.random.dtype);
}

Tensor default_weight(const Shape& shape, DType dtype, Line where) {
  return he_uniform(shape, {.gain = leaky_relu_gain(std::sqrt(5.0)), .random = {.dtype = dtype}}, where);
}
Tensor default_bias(std::int64_t count, const Shape& weight, DType dtype, Line where) {
  const double bound = 1 / std::sqrt(static_cast<double>(fans(weight, where).in));
  return tegula::uniform({count}, -bound, bound, {.dtype = dtype}, where);
}

}  // namespace tegula::nn::init

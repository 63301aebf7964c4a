#include "tegula/train/metrics_of_samples.h"

#include "tegula/core/error.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/linalg/measures.h"
#include "tegula/ops/linalg/spectra.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::metrics {
namespace {

struct Moments {
  Tensor mean, covariance;  // (D), (D, D)
};
Moments moments(const Tensor& samples) {
  const Tensor x = cast(samples, f64), middle = mean(x, 0), centred = x - middle;
  return {middle, matmul(transpose(centred), centred) / static_cast<double>(samples.size(0) - 1)};
}

}  // namespace

double frechet_distance(const Tensor& a, const Tensor& b, Line where) {
  if (a.rank() != 2 || b.rank() != 2 || a.size(1) != b.size(1) || a.size(0) < 2 || b.size(0) < 2) {
    throw Error({.op = "frechet_distance",
                 .got = "shapes " + to_string(a.shape()) + " and " + to_string(b.shape()),
                 .expected = "(N, D) and (M, D) with at least two rows each",
                 .where = where});
  }
  const Moments of_a = moments(a), of_b = moments(b);
  const auto [values, vectors] = eigh(of_a.covariance);
  const Tensor root = matmul(vectors * sqrt(maximum(values, 0)), transpose(vectors));  // of a's covariance
  const Tensor product = matmul(matmul(root, of_b.covariance), root);
  const Tensor shared = sum(sqrt(maximum(eigvalsh((product + transpose(product)) * 0.5), 0)));
  return (sum(square(of_a.mean - of_b.mean)) + trace(of_a.covariance) + trace(of_b.covariance) - 2 * shared).item<double>();
}

}  // namespace tegula::metrics

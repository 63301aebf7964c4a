#pragma once
// Measures composed of products, systems and singular values. The last two axes are rows and columns, axes in front are a batch.

#include <optional>

#include "tegula/graph/tensor.h"

namespace tegula {

/// The sum of the diagonal (…) of a (…, m, n).
Tensor trace(Arg a);
/// Kronecker's product: a (…, m, n), b (…, p, q) -> (…, m p, n q), block (i, j) is a[i, j] b. Axes in front are equal.
Tensor kron(Arg a, Arg b);

/// aⁿ (…, n, n) by repeated squares; a negative power is that of the inverse, 0 gives the identity.
Tensor matrix_power(Arg a, std::int64_t power);
/// eᵃ: Padé's approximant of order 13 of a / 2ˢ, and s squares (Higham, 2005). s depends on the norm, matrix by matrix, up to 12; a greater norm (above about 10,000) overflows
/// in most cases anyway, and loses digits in others.
Tensor matrix_exp(Arg a);

enum class MatrixNorm : std::uint8_t {
  Frobenius,  // √Σ a²
  Nuclear,  // the sum of the singular values
  Two,  // the greatest singular value
  MinusTwo,  // the smallest one
  One,  // the greatest sum of sizes of a column
  Infinity,  // of a row
};
Tensor matrix_norm(Arg a, MatrixNorm norm = MatrixNorm::Frobenius);
/// ‖a‖ ‖a⁻¹‖: of Two the ratio of the greatest and the smallest singular value, of any matrix; the other norms want a square one.
Tensor cond(Arg a, MatrixNorm norm = MatrixNorm::Two);

struct RankOptions {
  std::optional<double> tolerance =
      std::nullopt;  // relative to the greatest singular value; by default max(m, n) times the dtype's epsilon
};
/// The number of singular values above the tolerance (…), i64.
Tensor matrix_rank(Arg a, const RankOptions& options = {});
/// The Moore-Penrose inverse (…, n, m), by svd: singular values up to the tolerance count as 0. The gradient is that of svd.
Tensor pinv(Arg a, const RankOptions& options = {});

}  // namespace tegula

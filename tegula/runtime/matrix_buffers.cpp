#include "tegula/runtime/matrix_buffers.h"

#include <array>
#include <cstdint>

namespace tegula::runtime {

MatrixBuffers buffers_of(const MatrixRoutine& d) {
  const std::size_t element = size_of(d.dtype), state = sizeof(std::int32_t);
  const auto values = [&](std::int64_t a, std::int64_t b) { return element * static_cast<std::size_t>(a * b); };
  const std::int64_t m = d.rows, n = d.columns, k = d.least();
  switch (d.routine) {
    case Routine::LU: return {1, {values(m, n), values(m, n), sizeof(std::int64_t) * static_cast<std::size_t>(m), state}};
    case Routine::Cholesky: return {1, {values(n, n), values(n, n), state}};
    case Routine::TriangularSolve: return {2, {values(n, n), values(n, d.right), values(n, d.right)}};
    case Routine::QR: return {1, {values(m, n), values(m, d.full ? m : k), values(d.full ? m : k, n)}};
    case Routine::SymmetricEigen: return {1, {values(n, n), values(n, 1), values(n, n), state}};
    case Routine::Eigen: return {1, {values(n, n), values(n, 2), values(n, 2 * n), state}};
    case Routine::SVD: return {1, {values(m, n), values(m, d.full ? m : n), values(n, 1), values(n, n), state}};
  }
  return {};
}

const char* name(Routine routine) {
  constexpr std::array kNames{"LU", "Cholesky", "triangular solve", "QR", "symmetric eigen", "eigen", "SVD"};
  return kNames.at(static_cast<std::size_t>(routine));
}

}  // namespace tegula::runtime

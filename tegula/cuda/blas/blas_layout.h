#pragma once
// A described product as cuBLASLt wants it: column-major matrices with leading dimensions, one strided batch, the rest as a list of offsets.

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// A column-major matrix, maybe to be read transposed.
struct BlasMatrix {
  std::int64_t rows = 0, columns = 0;  // of the matrix in memory, before the transposition
  std::int64_t leading = 1;  // elements from one column to the next
  std::int64_t batch_stride = 0;
  bool transposed = false;
};

/// D (m, n) = op(left) (m, k) · op(right) (k, n), all column-major.
struct BlasProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  BlasMatrix left, right, result;
  bool swapped = false;  // left is the described b: the result's rows (m) are the described columns, along which the bias runs
  /// One strided batch each: where it begins in the described a, b and c, in elements.
  struct Offset {
    std::int64_t a = 0, b = 0, c = 0;
  };
  std::vector<Offset> offsets;

  bool empty() const { return m == 0 || n == 0 || batch == 0 || offsets.empty(); }
  double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(batch) *
           static_cast<double>(offsets.size());
  }
};

/// Throws Error for shapes and strides that break the rules of runtime::Matmul.
BlasProduct blas_product(const runtime::Matmul& description);

/// "1024x512x64, batch 12": m x n x k as described.
std::string to_string(const BlasProduct& product);

}  // namespace tegula::gpu

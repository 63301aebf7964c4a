#pragma once
// The epilogue of a product; and conversion of f16 and bf16 from and to f32.

#include <cstdint>

#include "tegula/core/dtype.h"
#include "tegula/cpu/calls/row_words.h"
#include "tegula/runtime/device.h"

namespace tegula::host {

/// First the biases, then relu, then the rest.
template <class T>
struct Epilogue {
  const T* column_bias = nullptr;  // (columns)
  const T* row_bias = nullptr;     // (rows)
  bool relu = false;
  const RowWords* rest = nullptr;  // which reads nothing else

  bool empty() const { return !column_bias && !row_bias && !relu && !rest; }
};

/// c (rows, columns) in place; rows are contiguous and c_row elements apart.
void apply_epilogue(const Epilogue<float>& epilogue, float* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row);
void apply_epilogue(const Epilogue<double>& epilogue, double* c, std::int64_t rows, std::int64_t columns, std::int64_t c_row);

/// `dtype` is f16 or bf16; narrowing rounds to nearest even.
void widen(DType dtype, const void* from, float* to, std::int64_t count);
void narrow(DType dtype, const float* from, void* to, std::int64_t count);

}  // namespace tegula::host

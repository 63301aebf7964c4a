#pragma once
// For the sources of composed ops: halves are computed in f32 and rounded once, at the end.

#include "tegula/graph/structural.h"
#include "tegula/ops/shape/axes.h"

namespace tegula::ops {

/// The tensor, which must be of a float type.
inline Tensor float_tensor(std::string_view op, const Arg& x) {
  Tensor t = x.tensor(op);
  if (!is_float(t.dtype())) refuse(op, "dtype " + std::string(name(t.dtype())), "a float type", x.loc, "cast(x, f32)");
  return t;
}

inline Tensor widen(const Tensor& x) { return is_half(x.dtype()) ? graph::cast(x, DType::f32) : x; }
inline Tensor narrow(const Tensor& x, DType dtype) { return graph::cast(x, dtype); }

/// (C) as (C, 1, …), to lie along axis 1 of a tensor of this rank.
inline Tensor along_channels(const Tensor& x, int rank) {
  if (rank <= 2) return x;
  Shape shape = Dims::filled(rank - 1, 1);
  shape[0] = x.numel();
  return graph::reshape(x, shape);
}

}  // namespace tegula::ops

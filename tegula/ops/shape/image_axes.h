#pragma once
// Images whose channels stand behind their spatial axes. Ops read (N, C, spatial…); a permutation in front of one and its inverse behind it are views,
// and those between two layers cancel.

#include "tegula/graph/tensor.h"

namespace tegula::ops {

/// x (N, spatial…, C) or (spatial…, C) of `axes` spatial axes as (N, C, spatial…) or (C, spatial…) where `order` is NHWC; else x. x of another rank is
/// returned as it is: the op names it.
Tensor channels_first(const Tensor& x, int axes, AxisOrder order, const Line& where);
/// The inverse, for the result.
Tensor channels_as(const Tensor& y, int axes, AxisOrder order, const Line& where);

/// The axes of (N, C, spatial…) as (N, spatial…, C), and back.
inline Dims channels_to_last(int rank) {
  Dims order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}
inline Dims channels_to_second(int rank) {
  Dims order{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) order.push_back(i);
  return order;
}

}  // namespace tegula::ops

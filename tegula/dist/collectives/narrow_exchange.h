#pragma once
// Reductions of which less travels than the tensors have.

#include <source_location>

#include "tegula/dist/exchange/exchange.h"
#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// The sum (mean) of x (N) over the ranks, in x's dtype, of which bf16 travels: each rank's elements are rounded, added in f32 by the rank whose part they are, and
/// the sums are rounded once more. Half of the bytes of an f32 all_reduce, by whichever engine. All ranks get the same bits. The relative error of a sum of elements of
/// one sign is that of two roundings to 8 bits, at most 2^-7 and 2^-16 more.
Tensor all_reduce_in_bf16(const Tensor& x, const Group& group, Reduction reduction, const std::source_location& where);

}  // namespace tegula::dist

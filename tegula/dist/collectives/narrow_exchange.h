#pragma once
// Reductions of which less travels than the tensors have.

#include "tegula/core/line.h"
#include "tegula/dist/exchange/exchange.h"
#include "tegula/graph/tensor.h"

namespace tegula::dist {

/// The sum (mean) of x (N) over the ranks, in x's dtype, of which bf16 travels: each rank's elements are rounded, added in f32 by the rank whose part they are, and
/// the sums are rounded once more. Half of the bytes of an f32 all_reduce, by whichever engine. All ranks get the same bits. The relative error of a sum of elements of
/// one sign is that of two roundings to 8 bits, at most 2^-7 and 2^-16 more.
Tensor all_reduce_in_bf16(const Tensor& x, const Group& group, Reduction reduction, const Line& where);

/// The same of x (n·k, …), of which rank r gets the r-th k rows (reduce_scatter): f32, which is not rounded once more.
Tensor reduce_scatter_in_bf16(const Tensor& x, const Group& group, Reduction reduction, const Line& where);

/// The result of a sum in FP8.
struct Fp8Sum {
  Tensor sum;  // f32 (k), the same bits on all ranks
  Tensor left;  // f32, of the sent numbers' shape: the rounding errors of this rank's numbers, and of its part of the sum
};
/// The same for x (k), f32, as E4M3 codes with a factor for each 128 numbers (pack_e4m3), a quarter of f32's bytes. A block's factor is the rank's own and travels
/// after its codes. One factor for a whole bucket, agreed on by a maximum over the ranks, would need an exchange before each exchange, and a layer whose gradients
/// are small beside another's in the bucket would be rounded to nothing.
///
/// Error feedback: a caller that adds `left` to the numbers it sends next time (Seide et al., "1-bit stochastic gradient descent", 2014; Karimireddy et al.,
/// "Error feedback fixes SignSGD", 2019) loses nothing in the end: Σ over time of `sum` + Σ over the ranks of the last `left` is what all ranks have sent, up to
/// f32. The rounding of the sum stays with the rank that made it (Tang et al., "DoubleSqueeze", 2019). A non-finite number is NaN on all ranks, and leaves nothing.
Fp8Sum all_reduce_in_fp8(const Tensor& x, const Group& group, const Line& where);
/// The same of x (n, k), of which rank r gets the sum of the r-th rows (1, k), which is not rounded once more; left (n, k).
Fp8Sum reduce_scatter_in_fp8(const Tensor& x, const Group& group, const Line& where);

}  // namespace tegula::dist

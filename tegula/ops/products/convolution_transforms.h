#pragma once
// Convolutions as products of transforms, in plain ops: the two rungs of the ladder that multiply less than the sum has products.

#include "tegula/ops/products/convolution_problem.h"

namespace tegula::ops {

/// Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray, 2015): pieces of 4 x 4 and windows become 16 numbers each, 16 products over the channels give 2 x 2
/// outputs where the sum has 36. For windows of 3 x 3 with stride and dilation 1.
Tensor winograd(const ConvolutionProblem& problem, const Line& where);
/// True if the window is one of those.
bool suits_winograd(const Window& window);

/// The convolution by the Fourier transform (Mathieu, Henaff and LeCun, 2013): a product over the channels for each frequency. Any window; larger ones save
/// more.
Tensor by_fourier(const ConvolutionProblem& problem, const Line& where);

}  // namespace tegula::ops

#pragma once
// One convolution computed in seven ways: the ladder that is climbed when convolutional networks are
// taught on GPUs (Kirk and Hwu, Programming Massively Parallel Processors, chapter on convolutional networks). conv2d is the last rung.

#include <span>
#include <string_view>

#include "tegula/ops/products/convolution.h"

namespace tegula {

enum class ConvolutionAlgorithm : std::uint8_t {
  Direct,        // the sum for each output element by its definition; every operand comes from memory
  Tiled,         // a block of weights times a block of inputs for each tap of the window: loaded values are used many times
  Unrolled,      // im2col: the windows of one image become the columns of a matrix, then a matrix product; one buffer serves all images
  ImplicitGemm,  // the same product over the whole batch at once, the matrix never in memory: its elements are addressed where they lie
  Winograd,      // F(2 x 2, 3 x 3): 16 products over the channels for 36; windows of 3 x 3, stride and dilation 1
  Fft,           // a product over the channels for each frequency
  Library,       // conv2d: oneDNN and the CPU's own kernels, cuDNN
};
std::span<const ConvolutionAlgorithm> convolution_algorithms();
/// "direct", "tiled", "unrolled", "implicit-gemm", "winograd", "fft", "library".
std::string_view name(ConvolutionAlgorithm algorithm);

/// True if the algorithm takes a weight (O, I, KH, KW) with these options.
bool takes_convolution(ConvolutionAlgorithm algorithm, const Shape& weight, const ConvolutionOptions& options = {});
/// conv2d without bias, by this algorithm; options.groups is 1. The gradients of the first four are conv2d's, those of the transforms are transforms. Throws
/// Error where the algorithm does not take it.
Tensor conv2d_with(ConvolutionAlgorithm algorithm, Arg x, Arg weight, const ConvolutionOptions& options = {});

/// The ratio of the size of the image's unrolled matrix to the image's own: window elements * outputs / inputs of one channel.
/// x (…, H, W), weight (O, I, KH, KW).
double expansion_ratio(const Shape& x, const Shape& weight, const Shape& y);

/// The cases for the tests (case.h).
std::vector<OpCase> convolution_ladder_cases();

}  // namespace tegula

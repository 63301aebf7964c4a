#pragma once
// The ways in which the CPU convolves. make_convolution (library.h) chooses one.

#include <array>
#include <cstdint>
#include <memory>

#include "tegula/core/error.h"
#include "tegula/runtime/device.h"

namespace tegula::host {

using Axes3 = std::array<std::int64_t, 3>;

/// The strides of (N, C, d, h, w).
struct Strides5 {
  std::int64_t n = 0, c = 0;
  Axes3 spatial{};
};

/// A convolution with exactly three spatial axes: missing ones stand in front with size 1.
struct Geometry {
  std::int64_t n = 0, c = 0, k = 0, groups = 1;
  Axes3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, low{}, high{};
  Strides5 input, output;

  explicit Geometry(const runtime::Convolution& description);
  std::int64_t channels_per_group() const { return c / groups; }
  std::int64_t outputs_per_group() const { return k / groups; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  bool empty() const { return n == 0 || c == 0 || k == 0 || taps() == 0 || in_pixels() == 0 || out_pixels() == 0; }
};

/// The order of activations: (N, C, d, h, w), maybe with gaps between the images, or (N, d, h, w, C), maybe with gaps between the pixels (slices of larger
/// tensors; the gaps must not be written). Strides of axes of size 1 do not matter; if both orders fit it is ChannelsFirst.
enum class Order { ChannelsFirst, ChannelsLast, Other };
Order order_of(std::int64_t n, std::int64_t channels, const Axes3& size, const Strides5& strides);
bool lies_in_order(Order order, std::int64_t n, std::int64_t channels, const Axes3& size, const Strides5& strides);
/// The distance from one pixel to the next, of channels that lie last.
std::int64_t pixel_distance(std::int64_t n, std::int64_t channels, const Axes3& size, const Strides5& strides);

/// True if a group has 8, 24, … channels on both sides: oneDNN's channels-last kernels then leave half of each vector empty, and those for
/// blocks of eight none. Measured on Zen 4 (16 x 64 x 32 x 32, 8 groups, 3 x 3): forward 3.8 and 2.1 ms, gradients 2.7 and 1.9, 4.8 and 2.2.
bool wants_blocks(const Geometry& geometry);

/// The epilogues that our own kernels have: a bias (of a weight's gradient its second result), and a relu.
bool has_bias(const runtime::Convolution& description);
bool has_relu(const runtime::Convolution& description);

/// Throws Error unless shapes, strides and sizes agree.
void check(const runtime::Convolution& description);

/// Through a matrix of patches and our own gemm, f32 and f64, any strides and sizes, empty ones too.
std::unique_ptr<runtime::Call> make_patch_convolution(const runtime::Convolution& description);

/// Through oneDNN, f32; nothing is empty.
std::unique_ptr<runtime::Call> make_onednn_convolution(const runtime::Convolution& description);
/// The blocks in which oneDNN would have the weight; none if it reads the weight as it lies.
runtime::Blocked onednn_weight_blocks(const runtime::Convolution& description);
/// Not oneDNN's gradient of a weight (2.6.3, AVX-512) where, along the first of three axes, a second window still begins in the padding: parts of it stay unwritten
/// (kernel 4 x 2 x 2, padding 3, steps of 2, say).
bool onednn_suits(const runtime::Convolution& description);

/// Convolutions with images in the lanes of vectors, f32, where lanes_suit() says so.
bool lanes_suit(const runtime::Convolution& description);
std::unique_ptr<runtime::Call> make_lanes_convolution(const runtime::Convolution& description);

/// Plane by plane, f32: a group for each channel on row-major activations with lines that fill half of a vector at least. Without copies it takes about as
/// long as oneDNN does on channels-last ones.
bool planes_suit(const runtime::Convolution& description);
std::unique_ptr<runtime::Call> make_plane_convolution(const runtime::Convolution& description);

/// Convolutions as matrix products: gradients of 1x1 convolutions on channels-last activations.
bool pointwise_suits(const runtime::Convolution& description);
std::unique_ptr<runtime::Call> make_pointwise_convolution(const runtime::Convolution& description);

/// The convolution without its addend and expression, by any way, and then those: an addend, relu, limits. f32.
std::unique_ptr<runtime::Call> make_followed_convolution(const runtime::Convolution& description);

/// "forward 64x12x28x28 24 6x6 …", for describe().
std::string to_string(const runtime::Convolution& description);

}  // namespace tegula::host

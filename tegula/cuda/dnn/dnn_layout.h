#pragma once
// A described convolution as cuDNN wants it: two or three spatial axes, channels first or last throughout, no negative padding.

#include <optional>
#include <string>
#include <vector>

#include "tegula/runtime/device.h"

namespace tegula::gpu {

enum class ChannelOrder : std::uint8_t { First, Last };

/// One way of giving the work to cuDNN.
struct DnnAttempt {
  ChannelOrder order = ChannelOrder::First;
  bool padded = false;  // the input is padded (or cropped) by a copy of ours instead of by cuDNN
  bool fused = false;   // bias, addend and activation belong to the call
  std::int64_t channels = 0;  // the input's channels are filled up with zeros to so many; 0: as they are
  Dims fold = {};             // this many pixels along these axes become channels (plain_fold.h); empty: none
  bool slices = true;         // cuDNN takes slices of larger tensors where they lie; false: copies of them
};

/// The convolution that cuDNN sees. Where a layout differs from the described one, a copy is made.
struct DnnProblem {
  Layout input, weight, output;
  Dims stride, dilation, pre, post;
  /// The described layouts with as many axes, and how far cuDNN's input is shifted against the described one (0 unless padded or folded).
  Layout described_input, described_weight, described_output;
  Dims shift;
};

DnnProblem dnn_problem(const runtime::Convolution& description, const DnnAttempt& attempt);

/// The ways worth trying, the one with the least copying first.
std::vector<DnnAttempt> dnn_attempts(const runtime::Convolution& description);

/// Another arrangement of the same sums.
struct DnnVariant {
  const char* name;
  std::vector<DnnAttempt> attempts;
};
/// For images of so few channels that the engines which read 16 bytes at a time do not take them: filling them up and folding steps into
/// them cost a copy and may be worth it.
std::vector<DnnVariant> dnn_variants(const runtime::Convolution& description);

/// True if the forward pass has an epilogue.
bool has_epilogue(const runtime::Convolution& description);

/// True if tensor cores compute the products.
bool uses_tensor_cores(const runtime::Convolution& description);

/// Dense strides with the channels first or last.
Layout ordered(const Shape& shape, ChannelOrder order);
/// True if the elements have this order; axes of size 1 do not count.
bool lies_ordered(const Layout& layout, ChannelOrder order);
/// The strides of a slice that lies so but for room between the images (channels first) or the pixels (channels last), by multiples of 16 bytes;
/// nothing where it does not.
std::optional<Layout> ordered_slice(const Layout& layout, ChannelOrder order, DType dtype);
/// True if a tensor of the call is a slice that cuDNN takes in this order.
bool has_slices(const runtime::Convolution& description, ChannelOrder order);

/// Everything that the choice of an algorithm may depend on, as one line.
std::string key_of(const runtime::Convolution& description, const DnnAttempt& attempt);

/// Throws Error for shapes that do not fit together, and for epilogues for which cuDNN's graph has no nodes: other than sums and a relu behind them.
void check_convolution(const runtime::Convolution& description);

}  // namespace tegula::gpu

#include "tegula/cuda/handwritten/piece_pooling.h"

#include <string>
#include <utility>

#include "tegula/core/divide.h"
#include "tegula/cuda/dnn/dnn_layout.h"
#include "tegula/cuda/handwritten/piece_pooling.cuh.h"
#include "tegula/cuda/handwritten/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr int kThreads = 256;

PlainKernel kernel_of(const char* name, const PlainSource& source, std::int64_t pieces) {
  return {name, source.text(), divide_up(pieces, kThreads), kThreads, 0};
}

}  // namespace

std::optional<PlainKernel> piece_pooling(const runtime::Pooling& d) {
  const auto piece = static_cast<std::int64_t>(16 / size_of(d.dtype()));
  const Shape &x = d.input.layout.shape, &y = d.output.layout.shape;
  if (d.kind != runtime::PoolingKind::Max || x.rank() != 4 || x[1] % piece != 0 || numel(x) == 0 || numel(y) == 0) return std::nullopt;
  const auto input = ordered_slice(d.input.layout, ChannelOrder::Last, d.dtype()),
             output = ordered_slice(d.output.layout, ChannelOrder::Last, d.dtype());
  if (!input || !output || ((d.backward || d.wants_taps) && !lies_ordered(d.taps_layout(), ChannelOrder::Last))) return std::nullopt;
  if (d.window[0] * d.window[1] > 64) return std::nullopt;
  constexpr std::int64_t kMostPixels = 4;  // their sums are in registers
  const bool each_alone = d.stride[0] * d.stride[1] > kMostPixels;
  const std::int64_t rows = each_alone ? 1 : d.stride[0], columns = each_alone ? 1 : d.stride[1];
  PlainSource source(d.dtype(), {d.input.layout, d.output.layout});
  const std::pair<const char*, std::int64_t> values[] = {{"PIECE", piece},
                                                         {"BATCH", x[0]},
                                                         {"C", x[1]},
                                                         {"IN_PIXEL", input->strides[3]},
                                                         {"OUT_PIXEL", output->strides[3]},
                                                         {"IN_H", x[2]},
                                                         {"IN_W", x[3]},
                                                         {"OUT_H", y[2]},
                                                         {"OUT_W", y[3]},
                                                         {"WINDOW_H", d.window[0]},
                                                         {"WINDOW_W", d.window[1]},
                                                         {"STRIDE_H", d.stride[0]},
                                                         {"STRIDE_W", d.stride[1]},
                                                         {"DILATION_H", d.dilation[0]},
                                                         {"DILATION_W", d.dilation[1]},
                                                         {"LOW_H", d.pad_low[0]},
                                                         {"LOW_W", d.pad_low[1]},
                                                         {"ROWS", rows},
                                                         {"COLUMNS", columns}};
  for (const auto& [name, value] : values) source.define(name, value);
  source.define("VALUES", d.wants_values);
  source.add(kPieces);
  if (d.backward) {
    source.add(kGather);
    return kernel_of("gather", source, x[0] * divide_up(x[2], rows) * divide_up(x[3], columns) * (x[1] / piece));
  }
  if (d.wants_taps) {
    source.add(kFirstTap);
  } else if (is_half(d.dtype())) {
    source.add(kPairs + std::string(kMaximum), {{"PAIR", d.dtype() == bf16 ? "bf16x2" : "f16x2"},
                                                {"LEAST", d.dtype() == bf16 ? "0xff80ff80" : "0xfc00fc00"}});  // -inf twice
  } else {
    source.add(kElements + std::string(kMaximum));
  }
  source.add(kWindows);
  return kernel_of("pooling", source, numel(y) / piece);
}

}  // namespace tegula::gpu

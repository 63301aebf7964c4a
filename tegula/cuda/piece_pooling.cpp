#include "tegula/cuda/piece_pooling.h"

#include "tegula/core/divide.h"
#include "tegula/cuda/dnn_layout.h"
#include "tegula/cuda/plain_source.h"

namespace tegula::gpu {
namespace {

constexpr int kThreads = 256;

constexpr const char* kPieces = R"(
struct alignas(sizeof(Element) * PIECE) Piece { Element e[PIECE]; };
struct alignas(PIECE) Taps { unsigned char e[PIECE]; };
#define NO_TAP 255
)";

/// Each window once: its maximum, or the first tap that has it. A NaN counts as the maximum.
constexpr const char* kWindows = R"(
extern "C" __global__ void __launch_bounds__(256) pooling(const Element* x, @RESULT@* result) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= BATCH * OUT_H * OUT_W * (C / PIECE)) return;
  const Index c = item % (C / PIECE) * PIECE, q = item / (C / PIECE) % OUT_W, p = item / (C / PIECE) / OUT_W % OUT_H,
              n = item / (C / PIECE) / OUT_W / OUT_H;
  Sum best[PIECE];
  int where[PIECE];
  for (int e = 0; e < PIECE; ++e) best[e] = -INFINITE, where[e] = NO_TAP;
#pragma unroll
  for (int r = 0; r < WINDOW_H; ++r) {
    const Index h = p * STRIDE_H - LOW_H + r * DILATION_H;
#pragma unroll
    for (int s = 0; s < WINDOW_W; ++s) {
      const Index v = q * STRIDE_W - LOW_W + s * DILATION_W;
      if (h < 0 || h >= IN_H || v < 0 || v >= IN_W) continue;
      const Piece piece = *(const Piece*)(x + ((n * IN_H + h) * IN_W + v) * C + c);
#pragma unroll
      for (int e = 0; e < PIECE; ++e) {
        const Sum value = load(&piece.e[e]);
        if (where[e] == NO_TAP || (!(value <= best[e]) && best[e] == best[e])) best[e] = value, where[e] = r * WINDOW_W + s;
      }
    }
  }
#if BACKWARD
  Taps out;
  for (int e = 0; e < PIECE; ++e) out.e[e] = (unsigned char)where[e];
  *(Taps*)(result + item * PIECE) = out;
#else
  Piece out;
  for (int e = 0; e < PIECE; ++e) store(&out.e[e], best[e]);
  *(Piece*)(result + item * PIECE) = out;
#endif
}
)";

/// Halves forward, two at a time: a seventh of the instructions, which are what it takes. A NaN counts as the maximum here, too.
constexpr const char* kMaxima = R"(
struct alignas(16) Pairs { unsigned int e[4]; };
__device__ inline unsigned int larger(unsigned int a, unsigned int b) {
  asm("max.NaN.@PAIR@ %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
extern "C" __global__ void __launch_bounds__(256) pooling(const Element* x, Element* y) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= BATCH * OUT_H * OUT_W * (C / PIECE)) return;
  const Index c = item % (C / PIECE) * PIECE, q = item / (C / PIECE) % OUT_W, p = item / (C / PIECE) / OUT_W % OUT_H,
              n = item / (C / PIECE) / OUT_W / OUT_H;
  Pairs best = {{LEAST, LEAST, LEAST, LEAST}};
#pragma unroll
  for (int r = 0; r < WINDOW_H; ++r) {
    const Index h = p * STRIDE_H - LOW_H + r * DILATION_H;
#pragma unroll
    for (int s = 0; s < WINDOW_W; ++s) {
      const Index v = q * STRIDE_W - LOW_W + s * DILATION_W;
      if (h < 0 || h >= IN_H || v < 0 || v >= IN_W) continue;
      const Pairs pairs = *(const Pairs*)(x + ((n * IN_H + h) * IN_W + v) * C + c);
#pragma unroll
      for (int e = 0; e < 4; ++e) best.e[e] = larger(best.e[e], pairs.e[e]);
    }
  }
  *(Pairs*)(y + item * PIECE) = best;
}
)";

constexpr const char* kGather = R"(
extern "C" __global__ void __launch_bounds__(256) gather(const unsigned char* taps, const Element* dy, Element* dx) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= BATCH * IN_H * IN_W * (C / PIECE)) return;
  const Index c = item % (C / PIECE) * PIECE, v = item / (C / PIECE) % IN_W, h = item / (C / PIECE) / IN_W % IN_H,
              n = item / (C / PIECE) / IN_W / IN_H;
  Sum sum[PIECE] = {};
#pragma unroll
  for (int r = 0; r < WINDOW_H; ++r) {
    const Index above = h + LOW_H - r * DILATION_H, p = above / STRIDE_H;
    if (above < 0 || above % STRIDE_H != 0 || p >= OUT_H) continue;
#pragma unroll
    for (int s = 0; s < WINDOW_W; ++s) {
      const Index before = v + LOW_W - s * DILATION_W, q = before / STRIDE_W;
      if (before < 0 || before % STRIDE_W != 0 || q >= OUT_W) continue;
      const Index at = ((n * OUT_H + p) * OUT_W + q) * C + c;
      const Taps tap = *(const Taps*)(taps + at);
      const Piece piece = *(const Piece*)(dy + at);
#pragma unroll
      for (int e = 0; e < PIECE; ++e) {
        if (tap.e[e] == r * WINDOW_W + s) sum[e] += load(&piece.e[e]);
      }
    }
  }
  Piece out;
  for (int e = 0; e < PIECE; ++e) store(&out.e[e], sum[e]);
  *(Piece*)(dx + item * PIECE) = out;
}
)";

/// The same for windows without gaps, a thread for the pixels between two steps: it reads each window that reaches them once.
constexpr const char* kGatherSteps = R"(
#define STEPS_H ((IN_H + STRIDE_H - 1) / STRIDE_H)
#define STEPS_W ((IN_W + STRIDE_W - 1) / STRIDE_W)
extern "C" __global__ void __launch_bounds__(256) gather(const unsigned char* taps, const Element* dy, Element* dx) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= BATCH * STEPS_H * STEPS_W * (C / PIECE)) return;
  const Index c = item % (C / PIECE) * PIECE, v = item / (C / PIECE) % STEPS_W, h = item / (C / PIECE) / STEPS_W % STEPS_H,
              n = item / (C / PIECE) / STEPS_W / STEPS_H;
  Sum sum[STRIDE_H][STRIDE_W][PIECE] = {};
  // The window at h + a has its tap r on the pixel h * STRIDE_H + i.
#pragma unroll
  for (int a = (STRIDE_H - 1 + LOW_H) / STRIDE_H; a * STRIDE_H + WINDOW_H > LOW_H; --a) {
    const Index p = h + a;
    if (p < 0 || p >= OUT_H) continue;
#pragma unroll
    for (int b = (STRIDE_W - 1 + LOW_W) / STRIDE_W; b * STRIDE_W + WINDOW_W > LOW_W; --b) {
      const Index q = v + b;
      if (q < 0 || q >= OUT_W) continue;
      const Index at = ((n * OUT_H + p) * OUT_W + q) * C + c;
      const Taps tap = *(const Taps*)(taps + at);
      const Piece piece = *(const Piece*)(dy + at);
#pragma unroll
      for (int i = 0; i < STRIDE_H; ++i) {
#pragma unroll
        for (int j = 0; j < STRIDE_W; ++j) {
          const int r = i + LOW_H - a * STRIDE_H, s = j + LOW_W - b * STRIDE_W;
          if (r < 0 || r >= WINDOW_H || s < 0 || s >= WINDOW_W) continue;
#pragma unroll
          for (int e = 0; e < PIECE; ++e) {
            if (tap.e[e] == r * WINDOW_W + s) sum[i][j][e] += load(&piece.e[e]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < STRIDE_H; ++i) {
#pragma unroll
    for (int j = 0; j < STRIDE_W; ++j) {
      const Index y = h * STRIDE_H + i, x = v * STRIDE_W + j;
      if (y >= IN_H || x >= IN_W) continue;
      Piece out;
#pragma unroll
      for (int e = 0; e < PIECE; ++e) store(&out.e[e], sum[i][j][e]);
      *(Piece*)(dx + ((n * IN_H + y) * IN_W + x) * C + c) = out;
    }
  }
}
)";

PlainKernel kernel_of(const char* name, const PlainSource& source, std::int64_t pieces) {
  return {name, source.text(), (pieces + kThreads - 1) / kThreads, kThreads, 0};
}

}  // namespace

std::optional<PiecePooling> piece_pooling(const runtime::Pooling& d) {
  const auto piece = static_cast<std::int64_t>(16 / size_of(d.dtype));
  const Shape &x = d.input.shape, &y = d.output.shape;
  if (d.kind != runtime::PoolingKind::Max || x.rank() != 4 || x[1] % piece != 0 || numel(x) == 0 || numel(y) == 0) return std::nullopt;
  if (!lies_ordered(d.input, ChannelOrder::Last) || !lies_ordered(d.output, ChannelOrder::Last)) return std::nullopt;
  if (d.window[0] * d.window[1] > 64) return std::nullopt;
  PlainSource source(d.dtype, {d.input, d.output});
  const std::pair<const char*, std::int64_t> values[] = {{"PIECE", piece},
                                                         {"BATCH", x[0]},
                                                         {"C", x[1]},
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
                                                         {"BACKWARD", d.backward}};
  for (const auto& [name, value] : values) source.define(name, value);
  source.add(kPieces);
  if (!d.backward && is_half(d.dtype)) {
    source.define("LEAST", d.dtype == bf16 ? 0xff80ff80 : 0xfc00fc00);  // both -inf
    source.add(kMaxima, {{"PAIR", d.dtype == bf16 ? "bf16x2" : "f16x2"}});
    return PiecePooling{kernel_of("pooling", source, numel(y) / piece), {}, 0};
  }
  PlainSource windows = source;
  windows.add(kWindows, {{"RESULT", d.backward ? "unsigned char" : "Element"}});
  PiecePooling out{kernel_of("pooling", windows, numel(y) / piece), {}, 0};
  if (!d.backward) return out;
  constexpr std::int64_t kMostPixels = 4;  // their sums are in registers
  const bool by_steps =
      d.stride[0] * d.stride[1] <= kMostPixels && d.dilation[0] == 1 && d.dilation[1] == 1 && d.pad_low[0] >= 0 && d.pad_low[1] >= 0;
  source.add(by_steps ? kGatherSteps : kGather);
  const std::int64_t pixels = by_steps ? divide_up(x[2], d.stride[0]) * divide_up(x[3], d.stride[1]) : x[2] * x[3];
  out.gather = kernel_of("gather", source, x[0] * pixels * (x[1] / piece));
  out.scratch = static_cast<std::size_t>(numel(y));
  return out;
}

}  // namespace tegula::gpu

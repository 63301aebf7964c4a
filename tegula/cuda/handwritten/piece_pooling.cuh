// Text of kernels, as piece_pooling.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

#pragma region Pieces
struct alignas(16) Piece { Element e[PIECE]; };
struct alignas(PIECE) Taps { unsigned char e[PIECE]; };
#define NO_TAP 255
#pragma endregion

/// The maximum of two words: of an element each, or of two halves, which takes a seventh of the instructions. A NaN counts as the maximum.
#pragma region Elements
typedef Element Word;
#define LEAST -INFINITE
__device__ inline Word larger(Word a, Word b) { return b <= a || a != a ? a : b; }
#pragma endregion

#pragma region Pairs
typedef unsigned int Word;
#define LEAST @LEAST@
__device__ inline Word larger(Word a, Word b) {
#if __CUDA_ARCH__ >= 800
  asm("max.NaN.@PAIR@ %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
#else
  union Halves { Word word; Element e[2]; };
  Halves best, other;
  best.word = a, other.word = b;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Sum x = load(&best.e[i]), y = load(&other.e[i]);
    if (!(y <= x || x != x)) best.e[i] = other.e[i];
  }
  return best.word;
#endif
}
#pragma endregion

/// A window's best element where its maximum alone is wanted.
#pragma region Maximum
struct alignas(16) Best {
  Word e[16 / sizeof(Word)];
  __device__ Best() { for (Word& word : e) word = LEAST; }
  __device__ void take(const Element* x, int) {
    const Best piece = *(const Best*)x;
#pragma unroll
    for (int i = 0; i < 16 / sizeof(Word); ++i) e[i] = larger(e[i], piece.e[i]);
  }
  __device__ void write(Element* y, unsigned char*) const { *(Best*)y = *this; }
};
#pragma endregion

/// The first tap that has it, too.
#pragma region FirstTap
struct Best {
  Sum value[PIECE];
  int tap[PIECE];
  __device__ Best() { for (int e = 0; e < PIECE; ++e) value[e] = -INFINITE, tap[e] = NO_TAP; }
  __device__ void take(const Element* x, int number) {
    const Piece piece = *(const Piece*)x;
#pragma unroll
    for (int e = 0; e < PIECE; ++e) {
      const Sum other = load(&piece.e[e]);
      if (tap[e] == NO_TAP || (!(other <= value[e]) && value[e] == value[e])) value[e] = other, tap[e] = number;
    }
  }
  __device__ void write(Element* y, unsigned char* taps) const {
#if VALUES
    Piece piece;
    for (int e = 0; e < PIECE; ++e) store(&piece.e[e], value[e]);
    *(Piece*)y = piece;
#endif
    Taps out;
    for (int e = 0; e < PIECE; ++e) out.e[e] = (unsigned char)tap[e];
    *(Taps*)taps = out;
  }
};
#pragma endregion

/// Each window once.
#pragma region Windows
extern "C" __global__ void __launch_bounds__(256) pooling(const Element* x, Element* y, unsigned char* taps) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= BATCH * OUT_H * OUT_W * (C / PIECE)) return;
  const Index c = item % (C / PIECE) * PIECE, q = item / (C / PIECE) % OUT_W, p = item / (C / PIECE) / OUT_W % OUT_H,
              n = item / (C / PIECE) / OUT_W / OUT_H;
  Best best;
#pragma unroll
  for (int r = 0; r < WINDOW_H; ++r) {
    const Index h = p * STRIDE_H - LOW_H + r * DILATION_H;
#pragma unroll
    for (int s = 0; s < WINDOW_W; ++s) {
      const Index v = q * STRIDE_W - LOW_W + s * DILATION_W;
      if (h < 0 || h >= IN_H || v < 0 || v >= IN_W) continue;
      best.take(x + ((n * IN_H + h) * IN_W + v) * IN_PIXEL + c, r * WINDOW_W + s);
    }
  }
  best.write(y + item / (C / PIECE) * OUT_PIXEL + c, taps + item * PIECE);
}
#pragma endregion

/// A thread for ROWS x COLUMNS pixels, all from one step of the windows to the next or a single one: it reads each window that reaches them
/// once.
#pragma region Gather
#define DOWN ((IN_H + ROWS - 1) / ROWS)
#define ACROSS ((IN_W + COLUMNS - 1) / COLUMNS)
extern "C" __global__ void __launch_bounds__(256) gather(const unsigned char* taps, const Element* dy, Element* dx) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= BATCH * DOWN * ACROSS * (C / PIECE)) return;
  const Index c = item % (C / PIECE) * PIECE, v = item / (C / PIECE) % ACROSS * COLUMNS, h = item / (C / PIECE) / ACROSS % DOWN * ROWS,
              n = item / (C / PIECE) / ACROSS / DOWN;
  Sum sum[ROWS][COLUMNS][PIECE] = {};
  // From the first row of the window at h / STRIDE_H + a it is `below` rows down to the pixel at h + i.
#pragma unroll
  for (int a = (STRIDE_H - 1 + LOW_H) / STRIDE_H; a * STRIDE_H + (WINDOW_H - 1) * DILATION_H >= LOW_H; --a) {
    const Index p = h / STRIDE_H + a;
    if (p < 0 || p >= OUT_H) continue;
#pragma unroll
    for (int b = (STRIDE_W - 1 + LOW_W) / STRIDE_W; b * STRIDE_W + (WINDOW_W - 1) * DILATION_W >= LOW_W; --b) {
      const Index q = v / STRIDE_W + b;
      if (q < 0 || q >= OUT_W) continue;
      const Index pixel = (n * OUT_H + p) * OUT_W + q;
      const Taps tap = *(const Taps*)(taps + pixel * C + c);
      const Piece piece = *(const Piece*)(dy + pixel * OUT_PIXEL + c);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
          const int below = h % STRIDE_H + i + LOW_H - a * STRIDE_H, beside = v % STRIDE_W + j + LOW_W - b * STRIDE_W;
          const int r = below / DILATION_H, s = beside / DILATION_W;
          if (below < 0 || below % DILATION_H != 0 || r >= WINDOW_H || beside < 0 || beside % DILATION_W != 0 || s >= WINDOW_W) continue;
#pragma unroll
          for (int e = 0; e < PIECE; ++e) {
            if (tap.e[e] == r * WINDOW_W + s) sum[i][j][e] += load(&piece.e[e]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
      if (h + i >= IN_H || v + j >= IN_W) continue;
      Piece out;
#pragma unroll
      for (int e = 0; e < PIECE; ++e) store(&out.e[e], sum[i][j][e]);
      *(Piece*)(dx + ((n * IN_H + h + i) * IN_W + v + j) * IN_PIXEL + c) = out;
    }
  }
}
#pragma endregion

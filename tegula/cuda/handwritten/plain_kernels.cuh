// Text of kernels, as plain_kernels.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

// Walks all taps of the window at output (o0, o1, o2) that lie inside the input, in row-major order: p0, p1, p2 is where.
#pragma region ForEachTap
#define FOR_EACH_TAP                                                                   \
  for (int t0 = 0; t0 < WINDOW0; ++t0)                                                 \
    if (const Index p0 = o0 * STRIDE0 - LOW0 + t0 * DILATION0; p0 >= 0 && p0 < IN0)    \
      for (int t1 = 0; t1 < WINDOW1; ++t1)                                             \
        if (const Index p1 = o1 * STRIDE1 - LOW1 + t1 * DILATION1; p1 >= 0 && p1 < IN1) \
          for (int t2 = 0; t2 < WINDOW2; ++t2)                                         \
            if (const Index p2 = o2 * STRIDE2 - LOW2 + t2 * DILATION2; p2 >= 0 && p2 < IN2)
// Walks all outputs (o0, o1, o2) whose window has a tap (t0, t1, t2) at input (p0, p1, p2).
#define TAP(axis)                                                                                             \
  for (int t##axis = 0; t##axis < WINDOW##axis; ++t##axis)                                                    \
    if (const Index s##axis = p##axis + LOW##axis - t##axis * DILATION##axis; s##axis >= 0 && s##axis % STRIDE##axis == 0) \
      if (const Index o##axis = s##axis / STRIDE##axis; o##axis < OUT##axis)
#define FOR_EACH_WINDOW TAP(0) TAP(1) TAP(2)
#pragma endregion

#pragma region PoolingForward
extern "C" __global__ void pooling(const Element* x, Element* y@TAPS@) {
  @COORDINATES@
#if MAXIMUM
  Sum best = -INFINITE;
  int tap = NO_TAP;
  FOR_EACH_TAP {
    const Sum value = load(x + @INPUT@);
    // A NaN counts as the maximum; of equals the first stays.
    if (tap == NO_TAP || (!(value <= best) && best == best)) best = value, tap = (t0 * WINDOW1 + t1) * WINDOW2 + t2;
  }
#if VALUES
  store(y + @OUTPUT@, best);
#endif
#if TAPS
  taps[@TAP@] = (unsigned char)tap;
#endif
#else
  Sum sum = 0;
  int inside = 0;
  FOR_EACH_TAP {
    sum += load(x + @INPUT@);
    ++inside;
  }
  store(y + @OUTPUT@, sum / Sum(PADDING_COUNTS ? WINDOW0 * WINDOW1 * WINDOW2 : inside > 0 ? inside : 1));
#endif
}
#pragma endregion

#pragma region MaxBackward
extern "C" __global__ void pooling(const unsigned char* taps, const Element* dy, Element* dx) {
  @COORDINATES@
  Sum sum = 0;
  FOR_EACH_WINDOW {
    if (taps[@TAP@] == (t0 * WINDOW1 + t1) * WINDOW2 + t2) sum += load(dy + @OUTPUT@);
  }
  store(dx + @INPUT@, sum);
}
#pragma endregion

#pragma region SearchBackward
// Returns the place of the maximum of a window.
__device__ Index first_maximum(const Element* x, Index n, Index c, Index o0, Index o1, Index o2) {
  Sum best = 0;
  Index where = -1;
  FOR_EACH_TAP {
    const Sum value = load(x + @INPUT@);
    if (where < 0 || (!(value <= best) && best == best)) best = value, where = (p0 * IN1 + p1) * IN2 + p2;
  }
  return where;
}
extern "C" __global__ void pooling(const Element* x, const Element* dy, Element* dx) {
  @COORDINATES@
  Sum sum = 0;
  FOR_EACH_WINDOW {
    if (first_maximum(x, n, c, o0, o1, o2) == (p0 * IN1 + p1) * IN2 + p2) sum += load(dy + @OUTPUT@);
  }
  store(dx + @INPUT@, sum);
}
#pragma endregion

#pragma region AverageBackward
__device__ int inside(int window, Index first, int dilation, Index size) {
  int count = 0;
  for (int t = 0; t < window; ++t) count += first + t * dilation >= 0 && first + t * dilation < size;
  return count;
}
extern "C" __global__ void pooling(const Element* dy, Element* dx) {
  @COORDINATES@
  Sum sum = 0;
  FOR_EACH_WINDOW {
    const int count = PADDING_COUNTS ? WINDOW0 * WINDOW1 * WINDOW2
                                     : inside(WINDOW0, o0 * STRIDE0 - LOW0, DILATION0, IN0) * inside(WINDOW1, o1 * STRIDE1 - LOW1, DILATION1, IN1) *
                                           inside(WINDOW2, o2 * STRIDE2 - LOW2, DILATION2, IN2);
    sum += load(dy + @OUTPUT@) / Sum(count);
  }
  store(dx + @INPUT@, sum);
}
#pragma endregion

#pragma region ConvolutionForward
extern "C" __global__ void convolution(const Element* x, const Element* w@BIAS@, Element* y) {
  @COORDINATES@
  const Index k = c, first = k / (CHANNELS_OUT / GROUPS) * (CHANNELS_IN / GROUPS);
  Sum sum = 0;
  FOR_EACH_TAP {
    for (Index c = 0; c < CHANNELS_IN / GROUPS; ++c) sum += load(x + @INPUT_FROM@) * load(w + @TAP@);
  }
#if BIAS
  sum += load(bias + k);
#endif
  store(y + @OUTPUT@, activation(sum));
}
#pragma endregion

#pragma region ConvolutionBackwardData
extern "C" __global__ void convolution(const Element* dy, const Element* w, Element* dx) {
  @COORDINATES@
  const Index channel = c, group = channel / (CHANNELS_IN / GROUPS);
  Sum sum = 0;
  FOR_EACH_WINDOW {
    const Index c = channel % (CHANNELS_IN / GROUPS);
    for (Index i = 0; i < CHANNELS_OUT / GROUPS; ++i) {
      const Index k = group * (CHANNELS_OUT / GROUPS) + i;
      sum += load(dy + @OUTPUT_K@) * load(w + @TAP@);
    }
  }
  store(dx + @INPUT_CHANNEL@, sum);
}
#pragma endregion

// A block adds up its threads' sums in a fixed order.
#pragma region BlockSum
__device__ Sum block_sum(Sum sum) {
  __shared__ Sum sums[256];
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return sums[0];
}
#pragma endregion

#pragma region ConvolutionBackwardWeight
extern "C" __global__ void convolution(const Element* x, const Element* dy, Element* dw) {
  @COORDINATES@
  const Index first = k / (CHANNELS_OUT / GROUPS) * (CHANNELS_IN / GROUPS);
  Sum sum = 0;
  for (Index item = threadIdx.x; item < BATCH * OUT0 * OUT1 * OUT2; item += 256) {
    const Index o2 = item % OUT2, o1 = item / OUT2 % OUT1, o0 = item / (OUT2 * OUT1) % OUT0, n = item / (OUT2 * OUT1 * OUT0);
    const Index p0 = o0 * STRIDE0 - LOW0 + t0 * DILATION0, p1 = o1 * STRIDE1 - LOW1 + t1 * DILATION1, p2 = o2 * STRIDE2 - LOW2 + t2 * DILATION2;
    if (p0 < 0 || p0 >= IN0 || p1 < 0 || p1 >= IN1 || p2 < 0 || p2 >= IN2) continue;
    sum += load(x + @INPUT_FROM@) * load(dy + @OUTPUT_K@);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) store(dw + @TAP@, sum);
}
#pragma endregion

#pragma region BiasGradient
extern "C" __global__ void bias_gradient(const Element* dy, Element* db) {
  const Index c = blockIdx.x;
  Sum sum = 0;
  for (Index item = threadIdx.x; item < COUNT; item += 256) {
    @COORDINATES@
    sum += load(dy + @OUTPUT@);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) store(db + c, sum);
}
#pragma endregion

#pragma region Matmul
extern "C" __global__ void matmul(const Element* a, const Element* b@BIAS@, Element* c) {
  @COORDINATES@
  Sum sum = 0;
  for (Index inner = 0; inner < INNER; ++inner) sum += load(a + @A@) * load(b + @B@);
#if BIAS
  sum += load(bias + column);
#endif
  store(c + @C@, activation(sum));
}
#pragma endregion

#pragma region Epilogue
extern "C" __global__ void epilogue(@PARAMETER@Element* c) {
  @COORDINATES@
  Element* const at = c + @OFFSET@;
  store(at, activation(load(at)@TERMS@));
}
#pragma endregion

#pragma region Pad
extern "C" __global__ void copy(const Element* from, Element* to) {
  @COORDINATES@
  to[@TO@] = true@INSIDE@ ? from[@FROM@] : Element(0);
}
#pragma endregion

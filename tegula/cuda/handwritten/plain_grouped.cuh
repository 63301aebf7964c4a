// Text of the kernel of grouped sums (plain_grouped.cpp). A thread has a column of a row, so that neighbours read neighbours.

#pragma region Grouped
extern "C" __global__ void __launch_bounds__(256) grouped_sum(const long long* starts, const long long* lines, const Element* source,
#if WEIGHTED
                                                              const Element* weights,
#endif
                                                              Element* sums) {
  const long long item = blockIdx.x * 256LL + threadIdx.x;
  if (item >= (long long)OUTER * LENGTH * WIDTH) return;
  const long long column = item % WIDTH, row = item / WIDTH % LENGTH, outer = item / WIDTH / LENGTH;
  const long long begin = starts[row] > 0 ? starts[row] : 0, end = starts[row + 1] < COUNT ? starts[row + 1] : COUNT;
  const Element* const from = source + outer * ROWS * WIDTH + column;
  Sum total = 0;
#pragma unroll 4
  for (long long k = begin; k < end; ++k) {
    const long long line = lines[k];
    if (line < 0 || line >= ROWS) continue;
#if WEIGHTED
    total += load(weights + k) * load(from + line * WIDTH);
#else
    total += load(from + line * WIDTH);
#endif
  }
  store(sums + item, total);
}
#pragma endregion

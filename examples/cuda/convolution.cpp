// A convolutional layer in the lectures' three ways, im2col and max pooling (convolution.cu), beside Tegula's own ops, on sizes that no tile divides.

#include "examples/cuda/check.h"

using namespace tegula;

int main() {
  const CudaSource source = beside("convolution.cu");
  const std::int64_t N = 2, C = 3, H = 19, W = 21, M = 2, K = 3, H_out = H - K + 1, W_out = W - K + 1, tile = 16;
  const Tensor x = normal({N, C, H, W}), w = normal({M, C, K, K});  // (N, C, H, W), (M, C, K, K)
  const Tensor expected = conv2d(x, w);  // (N, M, H_out, W_out)

  const std::int64_t W_grid = divide_up(W_out, tile), H_grid = divide_up(H_out, tile);
  CudaLaunch launch{.grid = {N, M, W_grid * H_grid}, .block = {tile, tile, 1}};
  const std::vector<CudaArg> arguments{C, H, W, M, K, W_grid, x, w, cuda_out({N, M, H_out, W_out})};
  check("ConvLayerForward, basic", cuda_kernel("ConvLayerForward_Basic", source, arguments, launch)[0], expected);
  launch.shared = 4 * ((tile + K - 1) * (tile + K - 1) + K * K);
  check("ConvLayerForward, shared", cuda_kernel("ConvLayerForward_Shared", source, arguments, launch)[0], expected);

  // One sample after another: unrolled, then a matrix product.
  const RawKernel unroll = cuda_kernel("unroll_Kernel", source);
  std::vector<Tensor> samples;
  for (std::int64_t n = 0; n < N; ++n) {
    const Tensor unrolled = unroll({.grid = {divide_up(C * H_out * W_out, 256)}, .block = {256}},
                                   {C, H, W, K, select(x, 0, n), cuda_out({C * K * K, H_out * W_out})})[0];
    samples.push_back(reshape(matmul(reshape(w, {M, C * K * K}), unrolled), {M, H_out, W_out}));
  }
  check("ConvLayerForward, unrolled", stack(samples, 0), expected);

  // Padding 1, stride 2.
  const std::int64_t rows = (H + 2 - K) / 2 + 1, columns = (W + 2 - K) / 2 + 1, threads = C * rows * columns;
  const Tensor image = select(x, 0, 0);
  const Tensor patches = cuda_kernel("im2col_gpu_kernel<float>", source,
                                     {threads, image, H, W, K, K, 1, 1, 2, 2, rows, columns, cuda_out({C * K * K, rows * columns})},
                                     {.grid = {divide_up(threads, 512)}, .block = {512}})[0];
  check("im2col", patches, reshape(unfold(expand_dims(image, 0), {K, K}, {.stride = 2, .padding = 1}), {C * K * K, rows * columns}));

  // The mask of the slide: where each maximum was. The other form of it is not wanted.
  const std::int64_t pooled_h = (H - 2) / 2 + 1, pooled_w = (W - 2) / 2 + 1, count = N * C * pooled_h * pooled_w;
  const auto pooled = cuda_kernel("MaxPoolForward<float>", source,
                                  {count, x, N, C, H, W, pooled_h, pooled_w, 2, 2, 2, 2, 0, 0, cuda_out({N, C, pooled_h, pooled_w}),
                                   cuda_out({N, C, pooled_h, pooled_w}, i32), nullptr},
                                  {.grid = {divide_up(count, 256)}, .block = {256}});
  check("MaxPoolForward", pooled[0], max_pool2d(x, 2));
  const Tensor taken = take_along_axis(reshape(x, {N, C, H * W}), cast(reshape(pooled[1], {N, C, pooled_h * pooled_w}), i64), 2);
  check("MaxPoolForward, mask", reshape(taken, {N, C, pooled_h, pooled_w}), pooled[0], 0);
}

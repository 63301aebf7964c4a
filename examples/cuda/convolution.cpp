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

  // Through the layer flow gradients, by kernels of one's own.
  const RawKernel of_image = cuda_kernel("ConvLayerBackward_Xgrad", source), of_filters = cuda_kernel("ConvLayerBackward_Wgrad", source);
  const RawKernel layer = cuda_kernel("ConvLayerForward_Shared", source).gradient([=](const CudaGradient& g) {
    const Tensor &dy = g.gradients[0], &image = g.inputs[0], &filters = g.inputs[1];
    return std::vector{of_image({.grid = {4}, .block = {128}}, {N, C, H, W, M, K, dy, filters, cuda_out({N, C, H, W})})[0],
                       of_filters({.grid = {1}, .block = {64}}, {N, C, H, W, M, K, dy, image, cuda_out({M, C, K, K})})[0]};
  });
  const auto loss = [&](const Tensor& y) { return sum(y * y); };
  const Tensor mine = loss(layer(launch, arguments)[0]), theirs = loss(expected);
  check("its gradient of the image", grad(mine, x), grad(theirs, x), 1e-3);
  check("its gradient of the filters", grad(mine, w), grad(theirs, w), 1e-2);

  // Stride 2, padding 1, a bias; the filters lie in constant memory.
  const Tensor bias = normal({M});
  const std::int64_t P = (H + 2 - K) / 2 + 1, Q = (W + 2 - K) / 2 + 1;
  check("Convolution_kernel",
        cuda_kernel("Convolution_kernel", source, {N, C, H, W, M, K, K, 2, 2, 1, 1, P, Q, x, bias, cuda_out({N, M, P, Q})},
                    {.grid = {divide_up(N * M * P * Q, 128)}, .block = {128}, .variables = {{"weight", w}}})[0],
        conv2d(x, w, bias, {.stride = 2, .padding = 1}));

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

  // Windows of 3 with a step of 2 overlap.
  const std::int64_t high = (H - 3) / 2 + 1, wide = (W - 3) / 2 + 1, windows = N * C * high * wide;
  const RawKernel scatter = cuda_kernel("MaxPoolBackward<float>", source);
  const RawKernel pool = cuda_kernel("MaxPoolForward<float>", source).gradient([=](const CudaGradient& g) {
    return scatter(g.launch, {windows, g.gradients[0], g.results[1], H * W, high * wide, cuda_out({N, C, H, W}, f32, 0)});
  });
  const Tensor pooled_too = pool(
      {.grid = {divide_up(windows, 256)}, .block = {256}},
      {windows, x, N, C, H, W, high, wide, 3, 3, 2, 2, 0, 0, cuda_out({N, C, high, wide}), cuda_out({N, C, high, wide}, i32), nullptr})[0];
  check("MaxPoolBackward", grad(loss(pooled_too), x), grad(loss(max_pool2d(x, 3, {.stride = 2})), x));
}

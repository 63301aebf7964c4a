// saxpy, vectorAdd, ReLUForward and the first kernels of the lectures, in CUDA C++ as the slides have it (vectors.cu): on a GPU, or on any machine with a C++ compiler.

#include "examples/cuda/check.h"

using namespace tegula;

int main() {
  const CudaSource source = beside("vectors.cu");

  // <<<1, 10>>>
  Tensor seen = cuda_kernel("helloFromGPU", source, {cuda_out({10}, i32)}, {.grid = {1}, .block = {10}})[0];
  check("helloFromGPU", seen, ones({10}, i32));
  check("add", cuda_kernel("add", source, {tensor({2}), tensor({7}), cuda_out({1}, i32)}, {})[0], tensor({9}));

  const std::int64_t n = 1003;
  const Tensor x = normal({n}), y = normal({n});
  Variable total(y);  // saxpy updates its second vector
  cuda_kernel("saxpy", source, {n, 2.0f, x, cuda_update(total)}, {.grid = {divide_up(n, 512)}, .block = {512}});
  check("saxpy", total, 2 * x + y);
  check("vectorAdd", cuda_kernel("vectorAdd", source, {x, y, cuda_out({n}), n}, {.grid = {divide_up(n, 256)}, .block = {256}})[0], x + y);

  // A kernel with a gradient: another kernel. Three blocks share all elements.
  const CudaLaunch launch{.grid = {3}, .block = {128}};
  const RawKernel backward = cuda_kernel("ReLUBackward<float>", source);
  const RawKernel relu_forward = cuda_kernel("ReLUForward<float>", source).gradient([=](const CudaGradient& g) {
    return backward(g.launch, {n, g.gradients[0], g.inputs[0], cuda_out({n}), 0.1f});
  });
  auto mine = jit([=](Tensor in) { return sum(relu_forward(launch, {n, in, cuda_out({n}), 0.1f})[0] * in); });
  check("ReLUForward", mine(x), sum(leaky_relu(x, 0.1) * x), 1e-3);
  const Tensor loss = sum(relu_forward(launch, {n, x, cuda_out({n}), 0.1f})[0] * y);
  check("ReLUBackward", grad(loss, x), grad(sum(leaky_relu(x, 0.1) * y), x));
}

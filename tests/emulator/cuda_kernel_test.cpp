// cuda_kernel as a node of the graph: captured, repeated, differentiated, saved, in place.

#include "tegula/compile/jit.h"
#include "tegula/formats/graph_file.h"
#include "tests/emulator/faulty.h"

namespace tegula {
namespace {

const char* const kScale = R"(
__global__ void scale(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
})";

Tensor scaled(const Tensor& x, float a) {
  const std::int64_t n = numel(x.shape());
  return cuda_kernel("scale", kScale, {n, a, x, cuda_out(x.shape())}, {.grid = {divide_up(n, 32)}, .block = {32}})[0];
}

TEST(CudaKernel, IsCapturedAmongOtherOps) {
  auto f = jit([](Tensor x) { return relu(scaled(x + 1, 2) - 3) * 2; });
  for (const std::int64_t n : {1, 31, 100}) {
    const Tensor x = normal({n});
    EXPECT_EQ(f(x).to_host(), (relu(2 * (x + 1) - 3) * 2).to_host());
  }
}

TEST(CudaKernel, ReadsViewsAsDenseTensors) {
  const Tensor x = transpose(reshape(cast(arange(6), f32), {2, 3}), 0, 1);
  EXPECT_EQ(scaled(x, 2).to_host(), (2 * x).to_host());
}

TEST(CudaKernel, UpdatesAVariableInPlaceInJitAndPlain) {
  const RawKernel add = cuda_kernel("add", "__global__ void add(float* w, const float* x) { w[threadIdx.x] += x[threadIdx.x]; }");
  Variable w(zeros({8})), v(zeros({8}));
  auto step = jit([&](Tensor x) {
    add({.block = {8}}, {cuda_update(w), x});
    return sum(w);
  });
  for (int i = 1; i <= 3; ++i) {
    const Tensor before = v.read();
    EXPECT_EQ(step(ones({8})).item(), 8 * i);
    add({.block = {8}}, {cuda_update(v), ones({8})});
    EXPECT_EQ(sum(v).item(), 8 * i);
    EXPECT_EQ(sum(before).item(), 8 * (i - 1));  // a holder of the old value keeps it
  }
}

TEST(CudaKernel, SeveralResultsAndUnwantedOnes) {
  const RawKernel split = cuda_kernel("split", R"(
    template <class T> __global__ void split(const T* x, T* low, T* high, int* signs, const T* unused) {
      int i = threadIdx.x;
      low[i] = x[i] < 0 ? x[i] : T(0), high[i] = x[i] > 0 ? x[i] : T(0), signs[i] = x[i] < 0 ? -1 : 1;
    })")
                              .gradient({});
  const RawKernel of_float("split<float>", split.source()), of_double("split<double>", split.source());
  const Tensor x = tensor({-1.f, 2.f, -3.f, 4.f});
  const std::vector<CudaArg> arguments{x, cuda_out({4}), cuda_out({4}), cuda_out({4}, i32), nullptr};
  const auto all = of_float({.block = {4}}, arguments);
  EXPECT_EQ(all[0].to_host(), (std::vector<float>{-1, 0, -3, 0}));
  EXPECT_EQ(all[1].to_host(), (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(all[2].to_host<int>(), (std::vector<int>{-1, 1, -1, 1}));
  auto only = jit([&](Tensor y) { return of_float({.block = {4}}, {y, cuda_out({4}), cuda_out({4}), cuda_out({4}, i32), nullptr})[1]; });
  EXPECT_EQ(only(x).to_host(), (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(
      of_double({.block = {4}}, {cast(x, f64), cuda_out({4}, f64), cuda_out({4}, f64), cuda_out({4}, i32), nullptr})[1].to_host<double>(),
      (std::vector<double>{0, 2, 0, 4}));
}

TEST(CudaKernel, GradientsFlowThroughIt) {
  const RawKernel square =
      cuda_kernel("square", "__global__ void square(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }");
  const RawKernel with = square.gradient([](const CudaGradient& g) { return std::vector<Tensor>{2 * g.inputs[0] * g.gradients[0]}; });
  const Tensor x = normal({8});
  const auto loss = [&](const Tensor& at) { return sum(with({.block = {8}}, {at, cuda_out({8})})[0] * at); };
  EXPECT_LT(max(abs(grad(loss(x), x) - 3 * x * x)).item(), 1e-5);
  auto captured = jit([&](Tensor at) { return grad(loss(at), at); });
  EXPECT_LT(max(abs(captured(x) - 3 * x * x)).item(), 1e-5);
  // Without one nothing flows.
  EXPECT_THROW(grad(sum(square({.block = {8}}, {x, cuda_out({8})})[0]), x), Error);
}

TEST(CudaKernel, GoesIntoGraphFilesAndComesBackWhereThatIsAllowed) {
  const auto f = [](Tensor x) { return scaled(x, 3) + 1; };
  const Tensor x = normal({40});
  save_graph("scaled.safetensors", f, x);
  EXPECT_THROW(load_graph("scaled.safetensors"), Error);
  const GraphFunction loaded = load_graph("scaled.safetensors", {.tile_kernels = true});
  EXPECT_EQ(loaded(x).to_host(), f(x).to_host());
  // With variables and numbers of 16 bits.
  const auto weighted = [](Tensor w, Tensor y) {
    return cuda_kernel("f",
                       "__constant__ float w[3]; __device__ int k; __global__ void f(const __half* x, __half* y, __half a) { "
                       "y[threadIdx.x] = x[threadIdx.x] * a * __half(w[threadIdx.x] + k); }",
                       {y, cuda_out({3}, f16), 0.5}, {.block = {3}, .variables = {{"w", w}, {"k", tensor({1})}}})[0];
  };
  const Tensor w = tensor({1.f, 2.f, 3.f}), y = cast(tensor({2.f, 4.f, 6.f}), f16);
  save_graph("weighted.safetensors", weighted, w, y);
  const GraphFunction again = load_graph("weighted.safetensors", {.tile_kernels = true});
  EXPECT_EQ(cast(again(w, y), f32).to_host(), (std::vector<float>{2, 6, 12}));
  EXPECT_EQ(cast(weighted(w, y), f32).to_host(), (std::vector<float>{2, 6, 12}));
}

TEST(CudaKernel, EmptyTensorsAndGridsRunNothing) {
  EXPECT_EQ(scaled(zeros({0}), 2).shape(), (Shape{0}));
  EXPECT_EQ(
      cuda_kernel("fill", "__global__ void fill(float* y) { y[blockIdx.x] = 1; }", {cuda_out({3}, f32, 7)}, {.grid = {0}})[0].to_host(),
      (std::vector<float>{7, 7, 7}));
}

TEST(CudaKernel, EveryDTypeOfNumbersHasItsType) {
  const auto twice = [](const std::string& type, DType dtype) {
    const Tensor x = cast(arange(5), dtype);
    const Tensor y = cuda_kernel(
        "twice", "__global__ void twice(const " + type + "* x, " + type + "* y) { y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }",
        {x, cuda_out({5}, dtype)}, {.block = {5}})[0];
    EXPECT_EQ(cast(y, f64).to_host<double>(), (std::vector<double>{0, 2, 4, 6, 8})) << type;
  };
  twice("double", f64), twice("float", f32), twice("long long", i64), twice("int64_t", i64), twice("unsigned int", i32), twice("int", i32),
      twice("short", i16), twice("signed char", i8), twice("unsigned char", u8);
  const auto numbers = cuda_kernel("f",
                                   "__global__ void f(bool a, signed char b, unsigned short c, int d, long long e, unsigned g, float h, "
                                   "double i, size_t k, double* y) { y[0] = (double)a + b + c + d + e + g + h + i + k; }",
                                   {true, -1, 65535, -7, 1LL << 40, 4000000000u, 0.5, 0.25, 9, cuda_out({1}, f64)}, {});
  EXPECT_EQ(numbers[0].item<double>(), 1 - 1 + 65535 - 7 + std::ldexp(1.0, 40) + 4000000000.0 + 0.75 + 9);
}

}  // namespace
}  // namespace tegula

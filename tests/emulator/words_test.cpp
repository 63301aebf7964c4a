// CUDA's words, run by the emulator: each beside what CUDA's guide says of it.

#include <cmath>

#include "tests/emulator/faulty.h"

namespace tegula {
namespace {

std::vector<int> ints(const std::string& text, std::int64_t threads = 32, std::int64_t shared = 0) {
  return cuda_kernel("f", text, {cuda_out({threads}, i32)}, {.block = {threads}, .shared = shared})[0].to_host<int>();
}

TEST(CudaWords, ShufflesMoveNumbersBetweenLanes) {
  const auto of = [](const std::string& expression) {
    return ints("__global__ void f(int* y) { int t = threadIdx.x; y[t] = " + expression + "; }");
  };
  for (int t = 0; t < 32; ++t) {
    const auto at = static_cast<std::size_t>(t);
    EXPECT_EQ(of("__shfl_sync(~0u, t * t, 5)")[at], 25);
    EXPECT_EQ(of("__shfl_sync(~0u, t, 3, 8)")[at], t / 8 * 8 + 3);
    EXPECT_EQ(of("__shfl_up_sync(~0u, t, 4)")[at], t < 4 ? t : t - 4);
    EXPECT_EQ(of("__shfl_down_sync(~0u, t, 4, 16)")[at], t % 16 < 12 ? t + 4 : t);
    EXPECT_EQ(of("__shfl_xor_sync(~0u, t, 6)")[at], t ^ 6);
    EXPECT_EQ(of("__reduce_add_sync(~0u, t)")[at], 496);
    EXPECT_EQ(of("__popc(__match_any_sync(~0u, t % 4))")[at], 8);
  }
  // Doubles, and threads that are not all there.
  const Tensor y = cuda_kernel("f", "__global__ void f(double* y) { y[threadIdx.x] = __shfl_xor_sync(0xffu, 0.5 * threadIdx.x, 1); }",
                               {cuda_out({8}, f64)}, {.block = {8}})[0];
  EXPECT_EQ(y.to_host<double>(), (std::vector<double>{0.5, 0, 1.5, 1, 2.5, 2, 3.5, 3}));
}

TEST(CudaWords, VotesCountWhoIsThere) {
  const auto of = [](const std::string& expression) {
    return ints("__global__ void f(int* y) { int t = threadIdx.x; y[t] = " + expression + "; }", 40)[3];
  };
  EXPECT_EQ(of("__ballot_sync(t < 32 ? ~0u : 0xffu, t % 2)"), static_cast<int>(0xaaaaaaaau));
  EXPECT_EQ(of("__any_sync(t < 32 ? ~0u : 0xffu, t == 9)"), 1);
  EXPECT_EQ(of("__all_sync(t < 32 ? ~0u : 0xffu, t != 9)"), 0);
  EXPECT_EQ(of("__syncthreads_count(t % 2)"), 20);
  EXPECT_EQ(of("__syncthreads_and(t < 40)"), 1);
  EXPECT_EQ(of("__syncthreads_or(t > 40)"), 0);
}

TEST(CudaWords, PartsOfAWarpExchangeByThemselves) {
  const std::vector<int> y = ints(R"(__global__ void f(int* y) {
    int t = threadIdx.x;
    if (t < 8) { for (int i = 0; i < 3; ++i) t = __shfl_xor_sync(0xffu, t, 1); }
    else t = __shfl_xor_sync(0xffffff00u, t, 2);
    y[threadIdx.x] = t;
  })");
  for (int t = 0; t < 32; ++t) EXPECT_EQ(y[static_cast<std::size_t>(t)], t < 8 ? t ^ 1 : t ^ 2);
}

TEST(CudaWords, AtomicsGiveTheOldValue) {
  const auto after = [](const std::string& word, int first) {
    return cuda_kernel("f", "__global__ void f(int* y, unsigned* z) { z[0] = " + word + "; }",
                       {cuda_out({1}, i32, first), cuda_out({1}, i32)}, {});
  };
  const std::vector<std::tuple<std::string, int, int>> cases{{"atomicAdd(y, 3)", 5, 8},
                                                             {"atomicSub(y, 3)", 5, 2},
                                                             {"atomicExch(y, 3)", 5, 3},
                                                             {"atomicMin(y, 3)", 5, 3},
                                                             {"atomicMax(y, 3)", 5, 5},
                                                             {"atomicAnd(y, 6)", 5, 4},
                                                             {"atomicOr(y, 6)", 5, 7},
                                                             {"atomicXor(y, 6)", 5, 3},
                                                             {"atomicCAS(y, 5, 9)", 5, 9},
                                                             {"atomicCAS(y, 4, 9)", 5, 5},
                                                             {"atomicInc((unsigned*)y, 7)", 5, 6},
                                                             {"atomicInc((unsigned*)y, 5)", 5, 0},
                                                             {"atomicDec((unsigned*)y, 7)", 0, 7},
                                                             {"atomicDec((unsigned*)y, 7)", 3, 2}};
  for (const auto& [word, first, expected] : cases) {
    const auto results = after(word, first);
    EXPECT_EQ(results[0].to_host<int>()[0], expected) << word;
    EXPECT_EQ(results[1].to_host<int>()[0], first) << word;
  }
}

TEST(CudaWords, MathIsThatOfTheTypesAtHand) {
  const auto of = [](const std::string& expression) {
    return cuda_kernel("f", "__global__ void f(const float* x, double* y) { y[0] = " + expression + "; }",
                       {tensor({2.5f}), cuda_out({1}, f64)}, {})[0]
        .item<double>();
  };
  EXPECT_EQ(of("max(x[0], 3.0f)"), 3);
  EXPECT_EQ(of("min(3, 2)"), 2);
  EXPECT_EQ(of("sqrt(x[0])"), static_cast<double>(std::sqrt(2.5f)));
  EXPECT_EQ(of("sqrt(2.0)"), std::sqrt(2.0));
  EXPECT_EQ(of("__expf(x[0])"), static_cast<double>(std::exp(2.5f)));
  EXPECT_EQ(of("rsqrtf(4.0f)"), 0.5);
  EXPECT_EQ(of("fmaf(x[0], 2.0f, 1.0f)"), 6);
  EXPECT_EQ(of("isnan(x[0] - x[0]) + isinf(x[0] / 0.0f)"), 1);
  EXPECT_EQ(of("abs(-3) + fabsf(-0.5f)"), 3.5);
  EXPECT_EQ(of("__int_as_float(0x40200000) + __popc(7) + __clz(1) + __ffs(8)"), 2.5 + 3 + 31 + 4);
}

TEST(CudaWords, VectorsAreLoadedWhole) {
  const Tensor y = cuda_kernel("f", R"(__global__ void f(const float4* x, float2* y) {
    float4 v = x[threadIdx.x];
    y[threadIdx.x] = make_float2(v.x + v.y, v.z + v.w);
  })",
                               {cast(arange(8), f32), cuda_out({4})}, {.block = {2}})[0];
  EXPECT_EQ(y.to_host(), (std::vector<float>{1, 5, 9, 13}));
}

// The compiler does not tell that the result of a function, a structure of the kernel's own, is written to memory.
TEST(CudaWords, StructuresThatFunctionsReturnAreWritten) {
  const Tensor y = cuda_kernel("f", R"(
    struct Pair { float a, b; };
    __device__ Pair pair(float x) { Pair p; p.a = x, p.b = 2 * x; return p; }
    __global__ void f(Pair* y) {
      __shared__ Pair s[4];
      s[threadIdx.x] = pair(threadIdx.x);
      __syncthreads();
      y[threadIdx.x] = s[3 - threadIdx.x];
    })",
                               {cuda_out({8})}, {.block = {4}})[0];
  EXPECT_EQ(y.to_host(), (std::vector<float>{3, 6, 2, 4, 1, 2, 0, 0}));
}

TEST(CudaWords, BlocksAndThreadsHaveThreeAxes) {
  const Tensor y = cuda_kernel("f", R"(__global__ void f(int* y) {
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    y[b * blockDim.x * blockDim.y * blockDim.z + t] = 100 * b + t;
  })",
                               {cuda_out({2 * 3 * 2 * 24}, i32)}, {.grid = {2, 3, 2}, .block = {2, 3, 4}})[0];
  const std::vector<int> all = y.to_host<int>();
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int>(100 * (i / 24) + i % 24));
}

TEST(CudaWords, ConstantAndDeviceVariablesKeepWhatTheyHold) {
  const RawKernel count = cuda_kernel("f", R"(
    __constant__ float weights[3] = {1, 2, 3};
    __device__ int launches = 0;
    __global__ void f(float* y) { y[0] = weights[2] + launches++; })");
  EXPECT_EQ(count({}, {cuda_out({1})})[0].item(), 3);
  EXPECT_EQ(count({}, {cuda_out({1})})[0].item(), 4);
}

TEST(CudaWords, SharedArraysAreThoseOfTheirKernel) {
  const std::vector<int> y = ints(R"(
    extern __shared__ int numbers[];
    template <int N> __device__ int turned(int v) {
      static __shared__ int s[N];
      s[threadIdx.x] = v;
      __syncthreads();
      return s[N - 1 - threadIdx.x];
    }
    __global__ void f(int* y) {
      numbers[threadIdx.x] = turned<32>(threadIdx.x);
      __syncthreads();
      y[threadIdx.x] = numbers[31 - threadIdx.x] + 1;
    })",
                                  32, 128);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(y[static_cast<std::size_t>(t)], t + 1);
}

TEST(CudaWords, PrintfPrints) {
  testing::internal::CaptureStdout();
  eval(cuda_kernel("f", "#include <stdio.h>\n__global__ void f(int* y) { printf(\"thread %d\\n\", threadIdx.x); y[threadIdx.x] = 1; }",
                   {cuda_out({2}, i32)}, {.block = {2}})[0]);
  std::fflush(stdout);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(contains(printed, "thread 0\n"));
  EXPECT_TRUE(contains(printed, "thread 1\n"));
}

}  // namespace
}  // namespace tegula

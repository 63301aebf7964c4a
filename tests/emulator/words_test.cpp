// CUDA's words, run by the emulator: each beside what CUDA's guide says of it.

#include <cmath>
#include <cstdlib>

#include "tegula/compile/jit.h"
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

// Compilers begin arrays of types with constructors or assignments of their own when they are first reached; shared memory begins as nothing.
TEST(CudaWords, SharedArraysOfVectorsAndOfTypesWithConstructors) {
  const std::string text = R"(
    struct Best {
      float value; int at;
      __device__ Best() {}
      __device__ Best(float value, int at) : value(value), at(at) {}
    };
    __global__ void f(const float4* x, float4* y, float* z) {
      __shared__ float4 s[8];
      __shared__ Best best[8];
      const int t = threadIdx.x;
      WRITE
      __syncthreads();
      y[t] = s[7 - t], z[t] = best[7 - t].value;
    })";
  const auto with = [&](const std::string& write) { return std::string(text).replace(text.find("WRITE"), 5, write); };
  const std::vector<CudaArg> arguments{cast(arange(32), f32), cuda_out({8, 4}), cuda_out({8})};
  const auto results = cuda_kernel("f", with("s[t] = x[t], best[t] = Best(x[t].x, t);"), arguments, {.grid = {1}, .block = {8}});
  EXPECT_EQ(results[0].to_host(), flip(reshape(cast(arange(32), f32), {8, 4}), 0).to_host());
  EXPECT_EQ(results[1].to_host(), (std::vector<float>{28, 24, 20, 16, 12, 8, 4, 0}));
  EXPECT_TRUE(contains(said(with("if (t > 0) s[t] = x[t]; best[t] = Best(1, t);"), arguments, {.block = {8}}),
                       "of s (shared), which nobody has written"));
  EXPECT_TRUE(contains(said(with("s[t] = x[t]; if (t > 0) best[t] = Best(1, t);"), arguments, {.block = {8}}),
                       "of best (shared), which nobody has written"));
}

TEST(CudaWords, CopiesOfBytesAreWatched) {
  const auto told = [](const std::string& body) {
    return said("#include <string.h>\n__global__ void f(const float* x, float* y) {\n  float t[4];\n  " + body + "\n}",
                {ones({4}), cuda_out({4})}, {});
  };
  EXPECT_EQ(told("memcpy(t, x, 16); memset(y, 0, 16); memcpy(y, t, 12);"), "nothing");
  EXPECT_TRUE(contains(told("memcpy(t, x + 1, 16);"), "reads element 4 of x, f32(4,), which has 4, at text of f:4"));
  EXPECT_TRUE(contains(told("memset(y + 1, 0, 16);"), "writes element 4 of y, f32(4,), which has 4, at text of f:4"));
}

// By clang as by g++, where it is there.
TEST(CudaWords, AnotherCompilerFindsTheSame) {
  if (std::system("clang++ --version > compiler 2>&1") != 0) GTEST_SKIP() << "no clang++";
  ::setenv("TEGULA_CXX", "clang++", 1);
  const std::string text =
      "// by clang\n__global__ void f(float* y, int n) {\n  __shared__ float s[8];\n  s[threadIdx.x] = n;\n  __syncthreads();\n  "
      "y[threadIdx.x + n] = s[7 - threadIdx.x];\n}";
  const std::string right = said(text, {cuda_out({8}), 0}, {.block = {8}}), wrong = said(text, {cuda_out({8}), 1}, {.block = {8}});
  ::unsetenv("TEGULA_CXX");
  EXPECT_EQ(right, "nothing");
  EXPECT_TRUE(contains(wrong, "writes element 8 of y, f32(8,), which has 8, at text of f:6"));
}

// Macros of the text do not reach what calls the kernel.
TEST(CudaWords, MacrosOfTheTextAreItsOwn) {
  EXPECT_EQ(said("#define T 8\n#define a 1\n#define p 2\n#define value 3\n#define name 4\n__global__ void f(float* y) { y[threadIdx.x] = T "
                 "+ a + p; }",
                 {cuda_out({4})}, {.block = {4}}),
            "nothing");
}

// Neither of vectors that are arguments.
TEST(CudaWords, VectorsThatAreArgumentsAndResultsAreRead) {
  const auto told = [](const std::string& expression) {
    return said(
        "__device__ float sum(float4 v) { return v.x + v.y + v.z + v.w; }\n__device__ float4 at(const float4* x, int i) { return x[i]; }\n"
        "__global__ void f(const float4* x, float* y) { float4 v = {1, 2}; union { float4 whole; float part[4]; } u; u.whole = v; y[0] = " +
            expression + "; }",
        {ones({8}), cuda_out({1})}, {});
  };
  EXPECT_EQ(told("sum(x[1]) + sum(at(x, 0)) + u.part[1] + v.z + float4{1, 2, 3, 4}.w"), "nothing");
  EXPECT_TRUE(contains(told("sum(x[2])"), "element 8 of x, f32(8,), which has 8, at text of f:3"));
  EXPECT_TRUE(contains(told("sum(at(x, 2))"), "element 8 of x, f32(8,), which has 8, at text of f:2"));
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

TEST(CudaWords, AVariableHoldsWhatTheLaunchSays) {
  const RawKernel weighted = cuda_kernel("f", R"(
    __constant__ float weights[4];
    static __device__ int offset = 7;
    __global__ void f(float* y) { y[threadIdx.x] = weights[threadIdx.x] + offset; })");
  const Tensor w = tensor({1.f, 2.f, 3.f, 4.f});
  const auto of = [&](std::vector<CudaVariable> variables) {
    return weighted({.block = {4}, .variables = std::move(variables)}, {cuda_out({4})})[0].to_host();
  };
  EXPECT_EQ(of({{"weights", w}}), (std::vector<float>{8, 9, 10, 11}));
  EXPECT_EQ(of({{"weights", 2 * w}, {"offset", tensor({1})}}), (std::vector<float>{3, 5, 7, 9}));
  // A variable that is not set stays; the first elements of an array may be set.
  EXPECT_EQ(of({{"weights", tensor({5.f, 5.f})}}), (std::vector<float>{6, 6, 7, 9}));
  EXPECT_THROW(of({{"weights", ones({5})}}), Error);
  // In jit, and with a gradient: they are inputs behind the others.
  const RawKernel with = weighted.gradient([](const CudaGradient& g) { return std::vector<Tensor>{3 * g.gradients[0]}; });
  auto slope = jit([&](Tensor at) { return grad(sum(with({.block = {4}, .variables = {{"weights", at}}}, {cuda_out({4})})[0]), at); });
  EXPECT_EQ(slope(w).to_host(), (std::vector<float>{3, 3, 3, 3}));
}

TEST(CudaWords, MixedNumbersAndConversions) {
  const auto of = [](const std::string& expression) {
    return cuda_kernel("f", "__global__ void f(const float* x, double* y) { y[0] = " + expression + "; }",
                       {tensor({2.5f}), cuda_out({1}, f64)}, {})[0]
        .item<double>();
  };
  EXPECT_EQ(of("pow(x[0], 2)"), 6.25);
  EXPECT_EQ(of("sqrt(9) + fmax(x[0], 4.0)"), 7);
  EXPECT_EQ(of("__float2int_rn(x[0]) + __float2int_ru(x[0]) + __float2int_rd(x[0])"), 2 + 3 + 2);
  EXPECT_EQ(of("__float2int_rz(1e20f)"), 2147483647);
  EXPECT_EQ(of("__float2uint_rn(-3.0f) + __float2int_rn(NAN)"), 0);
  EXPECT_EQ(of("__byte_perm(0x03020100, 0x07060504, 0x0246)"), 0x00020406);
  EXPECT_EQ(of("__funnelshift_l(0x80000000u, 1u, 1)"), 3);
  EXPECT_EQ(of("__umul64hi(1ull << 63, 6)"), 3);
  EXPECT_EQ(of("__ldg(x) + __ldcs(x)"), 5);
  EXPECT_EQ(of("1'000 + 2'0"), 1020);
  EXPECT_TRUE(contains(said("__global__ void f(const float* x, float* y) {\n  y[0] = __ldg(x + 1);\n}", {ones({1}), cuda_out({1})}, {}),
                       "reads element 1 of x, f32(1,), which has 1, at text of f:2"));
  EXPECT_TRUE(contains(said("__global__ void f(float* y) {\n  __stcs(y + 1, 2.0f);\n}", {cuda_out({1})}, {}),
                       "element 1 of y, f32(1,), which has 1, at text of f:2"));
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

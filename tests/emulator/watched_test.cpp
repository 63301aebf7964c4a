// Faults that the emulator finds in kernels: each is reported with the thread, the block and the line of the text; correct kernels give none.

#include "tests/emulator/faulty.h"

namespace tegula {
namespace {

TEST(Watched, WritesBehindTheEnd) {
  const std::string error = said(R"(
    __global__ void f(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i <= n)
        y[i] = x[i < n ? i : 0];
    })",
                                 {ones({10}), cuda_out({10}), 10}, {.grid = {2}, .block = {8}});
  EXPECT_TRUE(contains(error, "thread (2, 0, 0) of block (1, 0, 0) writes element 10 of y, f32(10,), which has 10, at text of f:5"))
      << error;
}

TEST(Watched, ReadsAheadOfTheBegin) {
  const std::string error = said("__global__ void f(const float* x, float* y) {\n  y[threadIdx.x] = x[(int)threadIdx.x - 1];\n}",
                                 {ones({10}), cuda_out({10})}, {.block = {10}});
  EXPECT_TRUE(contains(error, "reads 4 bytes, 4 bytes ahead of the begin of x, f32(10,), at text of f:2")) << error;
}

TEST(Watched, NullPointersAndWildOnes) {
  EXPECT_TRUE(contains(said("__global__ void f(const int* x, int* y) { y[0] = x[0]; }", {nullptr, cuda_out({1}, i32)}, {}),
                       "reads 4 bytes through a null pointer"));
  EXPECT_TRUE(contains(said("__global__ void f(int* y) { y[1 << 28] = 1; }", {cuda_out({1}, i32)}, {}),
                       "writes 4 bytes that belong to no argument"));
}

TEST(Watched, WritesToAnInput) {
  EXPECT_TRUE(contains(said("__global__ void f(float* x, float* y) { x[0] = 1; y[0] = 1; }", {ones({1}), cuda_out({1})}, {}),
                       "writes element 0 of x, f32(1,), which is an input"));
}

TEST(Watched, AccessesThatAreNotAligned) {
  EXPECT_TRUE(
      contains(said("__global__ void f(const float* x, float4* y) { y[0] = *(const float4*)(x + 1); }", {ones({8}), cuda_out({4})}, {}),
               "at an address that is no multiple of 16"));
}

TEST(Watched, RacesOnSharedMemory) {
  const std::string text = R"(
    __global__ void f(float* y) {
      __shared__ float s[64];
      s[threadIdx.x] = threadIdx.x;
      BARRIER
      y[threadIdx.x] = s[63 - threadIdx.x];
    })";
  const auto with = [&](const std::string& barrier) { return std::string(text).replace(text.find("BARRIER"), 7, barrier); };
  const std::string error = said(with(""), {cuda_out({64})}, {.block = {64}});
  // Either nobody has written it yet, or somebody has and nothing stands between.
  EXPECT_TRUE(contains(error, "of s (shared), which")) << error;
  EXPECT_TRUE(contains(error, "text of f:6")) << error;
  EXPECT_EQ(said(with("__syncthreads();"), {cuda_out({64})}, {.block = {64}}), "nothing");
  // The barrier of a warp is none for two.
  EXPECT_NE(said(with("__syncwarp();"), {cuda_out({64})}, {.block = {64}}), "nothing");
  EXPECT_TRUE(contains(
      said("__global__ void f(float* y) {\n  __shared__ float s;\n  s = threadIdx.x;\n  __syncthreads();\n  y[threadIdx.x] = s;\n}",
           {cuda_out({8})}, {.block = {8}}),
      "and no barrier stands between the two, at text of f:3"));
}

// A warp's threads do not run in step: its own barrier says who comes first.
TEST(Watched, RacesWithinAWarp) {
  const std::string text = R"(
    __global__ void f(float* y) {
      __shared__ volatile float s[64];
      s[threadIdx.x] = 1, s[threadIdx.x + 32] = 1;
      BARRIER
      for (int d = 16; d > 0; d >>= 1) { float v = s[threadIdx.x + d]; BARRIER s[threadIdx.x] += v; BARRIER }
      y[threadIdx.x] = s[threadIdx.x];
    })";
  const auto with = [&](const std::string& barrier) {
    std::string all = text;
    for (std::size_t at = all.find("BARRIER"); at != std::string::npos; at = all.find("BARRIER")) all.replace(at, 7, barrier);
    return all;
  };
  EXPECT_NE(said(with(""), {cuda_out({32})}, {.block = {32}}), "nothing");
  EXPECT_EQ(said(with("__syncwarp();"), {cuda_out({32})}, {.block = {32}}), "nothing");
}

TEST(Watched, RacesBetweenBlocks) {
  EXPECT_TRUE(contains(said("__global__ void f(int* y) { y[0] = blockIdx.x; }", {cuda_out({1}, i32)}, {.grid = {2}}),
                       "and nothing says which of the two blocks comes first"));
  EXPECT_EQ(said("__global__ void f(int* y) { atomicAdd(y, 1); }", {cuda_out({1}, i32, 0)}, {.grid = {4}, .block = {40}}), "nothing");
  // The last block adds up what the others have left, as CUDA's threadFenceReduction does.
  const std::string text = R"(
    __device__ unsigned count = 0;
    __global__ void f(float* part, float* y) {
      part[blockIdx.x] = blockIdx.x;
      FENCE
      if (atomicInc(&count, gridDim.x - 1) == gridDim.x - 1) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += part[i];
        *y = sum;
      }
    })";
  const auto with = [&](const std::string& fence) { return std::string(text).replace(text.find("FENCE"), 5, fence); };
  EXPECT_EQ(said(with("__threadfence();"), {cuda_out({5}), cuda_out({1})}, {.grid = {5}}), "nothing");
  EXPECT_TRUE(contains(said(with(""), {cuda_out({5}), cuda_out({1})}, {.grid = {5}}), "which of the two blocks comes first"));
}

TEST(Watched, ReadsOfWhatNobodyWrote) {
  EXPECT_TRUE(contains(said("__global__ void f(float* y) { extern __shared__ float s[]; y[threadIdx.x] = s[threadIdx.x]; }",
                            {cuda_out({8})}, {.block = {8}, .shared = 32}),
                       "of s (shared), which nobody has written"));
  EXPECT_TRUE(contains(said("__global__ void f(float* y) { y[threadIdx.x] += 1; }", {cuda_out({8})}, {.block = {8}}),
                       "of y, f32(8,), which nobody has written"));
  EXPECT_EQ(said("__global__ void f(float* y) { y[threadIdx.x] += 1; }", {cuda_out({8}, f32, 1)}, {.block = {8}}), "nothing");
}

TEST(Watched, SharedMemoryThatTheLaunchDidNotAskFor) {
  const std::string text =
      "__global__ void f(float* y) { extern __shared__ float s[]; s[threadIdx.x] = 1; y[threadIdx.x] = s[threadIdx.x]; }";
  EXPECT_EQ(said(text, {cuda_out({8})}, {.block = {8}, .shared = 32}), "nothing");
  EXPECT_TRUE(contains(said(text, {cuda_out({8})}, {.block = {8}, .shared = 28}), "writes"));
}

// Launches that a GPU refuses are refused here as well.
TEST(Watched, LaunchesBeyondTheLimits) {
  const std::string bounded = "#define MOST 64\n__global__ void __launch_bounds__(MOST / 2, 2) f(float* y) { y[threadIdx.x] = 1; }";
  EXPECT_EQ(said(bounded, {cuda_out({32})}, {.block = {32}}), "nothing");
  EXPECT_TRUE(contains(said(bounded, {cuda_out({64})}, {.block = {64}}),
                       "blocks of 64 threads, expected at most 32, as its __launch_bounds__(MOST / 2, 2) says"));
  const auto declared = [](const std::string& floats) {
    return "__global__ void f(float* y) { __shared__ float s[" + floats +
           "]; s[threadIdx.x] = 1; y[threadIdx.x] = s[threadIdx.x]; }\n__global__ void g(float* y) { __shared__ float s[12000]; s[0] = 1; "
           "*y = "
           "s[0]; }";
  };
  EXPECT_EQ(said(declared("12288"), {cuda_out({8})}, {.block = {8}}), "nothing");
  EXPECT_TRUE(contains(said(declared("12289"), {cuda_out({8})}, {.block = {8}}), "49156 bytes of variables in shared memory"));
  EXPECT_TRUE(contains(said(declared("12288"), {cuda_out({8})}, {.block = {8}, .shared = 200 << 10}), "at most 227 KiB together"));
}

TEST(Watched, ElementsThatNobodyWrites) {
  EXPECT_TRUE(
      contains(said("__global__ void f(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }", {cuda_out({8}), 7}, {.block = {8}}),
               "element 7 of y, f32(8,), which no thread writes"));
}

TEST(Watched, BarriersThatNotAllThreadsReach) {
  const std::string error =
      said("__global__ void f(int* y) {\n  if (threadIdx.x > 3) return;\n  y[threadIdx.x] = 1;\n  __syncthreads();\n}",
           {cuda_out({4}, i32)}, {.block = {8}});
  EXPECT_TRUE(contains(error, "waits in line 4 for threads that never come: thread (4, 0, 0) of block (0, 0, 0) has ended")) << error;
  EXPECT_TRUE(contains(said("__global__ void f(int* y) {\n  y[threadIdx.x] = 1;\n  if (threadIdx.x % 2)\n    __syncthreads();\n  else\n    "
                            "__syncthreads();\n}",
                            {cuda_out({4}, i32)}, {.block = {4}}),
                       "threads of a block wait at two barriers: "));
}

TEST(Watched, ExchangesThatDoNotMeet) {
  EXPECT_TRUE(contains(said("__global__ void f(int* y) {\n  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(~0u, 1, 1);\n}",
                            {cuda_out({16}, i32)}, {.block = {32}}),
                       ""));
  EXPECT_TRUE(contains(
      said("__global__ void f(int* y) {\n  y[threadIdx.x] = __shfl_xor_sync(0xffffu, 1, 1);\n}", {cuda_out({32}, i32)}, {.block = {32}}),
      "exchanges with a mask that does not name it, at text of f:2"));
}

TEST(Watched, IndicesAndDivisions) {
  EXPECT_TRUE(contains(said("__global__ void f(int* y, int i) {\n  __shared__ int s[4][4];\n  s[1][i] = 1;\n  y[0] = s[1][i];\n}",
                            {cuda_out({1}, i32), 4}, {}),
                       "takes the index 4 of an array 'int [4]', at text of f:3"));
  EXPECT_TRUE(contains(said("__global__ void f(int* y, int i) { y[0] = 3 / i; }", {cuda_out({1}, i32), 0}, {}), "divides an integer by 0"));
  EXPECT_TRUE(contains(said("__global__ void f(int* y, int i) { assert(i > 0); y[0] = i; }", {cuda_out({1}, i32), 0}, {}),
                       "finds that assert(i > 0) does not hold"));
}

TEST(Watched, LocalMemoryHasAnEnd) {
  const std::string deep =
      "__device__ int g(int n) {\n  return n <= 0 ? 0 : 1 + g(n - 1);\n}\n__global__ void f(int* y, int n) { y[threadIdx.x] = g(n); }";
  EXPECT_EQ(said(deep, {cuda_out({64}, i32), 100}, {.block = {64}}), "nothing");
  EXPECT_TRUE(contains(said(deep, {cuda_out({64}, i32), 1 << 30}, {.block = {64}}), "needs more than 512 KiB of local memory"));
  const auto array = [](const std::string& floats) {
    return "__global__ void f(float* y) {\n  float t[" + floats + "];\n  for (int i = 0; i < " + floats +
           "; ++i) t[i] = i;\n  *y = t[7];\n}";
  };
  EXPECT_EQ(said(array("100000"), {cuda_out({1})}, {}), "nothing");
  EXPECT_TRUE(contains(said(array("200000"), {cuda_out({1})}, {}),
                       "needs more than 512 KiB of local memory: calls without an end, or a large array, at text of f:1"));
}

TEST(Watched, ThreadsThatWaitByAtomics) {
  // A lock, which every thread gets in the end.
  EXPECT_EQ(said("__global__ void f(int* lock, int* y) {\n  for (bool done = false; !done;)\n    if (atomicCAS(lock, 0, 1) == 0) { "
                 "atomicAdd(y, 1); done = true; atomicExch(lock, 0); }\n}",
                 {cuda_out({1}, i32, 0), cuda_out({1}, i32, 0)}, {.grid = {2}, .block = {32}}),
            "nothing");
  EXPECT_TRUE(contains(said("__global__ void f(int* y) {\n  while (atomicAdd(y, 0) == 0) {}\n}", {cuda_out({1}, i32, 0)}, {.block = {2}}),
                       "waits by atomic operations for what no other thread does"));
  EXPECT_TRUE(contains(said("__global__ void f(volatile int* y) {\n  while (y[0] == 0) {}\n}", {cuda_out({1}, i32, 0)}, {.block = {2}}),
                       "waits by reading one element for what no other thread does: blocks run one after another here, at text of f:2"));
}

}  // namespace
}  // namespace tegula

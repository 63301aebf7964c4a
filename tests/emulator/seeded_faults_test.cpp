// Mistakes that people make in CUDA kernels, each sown into a kernel that is right: the emulator finds every one, on the line where it shows, and nothing in the right one.

#include <ostream>

#include "tests/emulator/faulty.h"

namespace tegula {
namespace {

struct Fault {
  const char* name;
  std::string text;  // with @ where the two differ
  const char *right, *wrong;
  std::vector<CudaArg> arguments;
  CudaLaunch launch;
  const char* found;  // a part of what is said
  friend void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }
};

std::string with(const Fault& fault, const char* part) {
  std::string text = fault.text;
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + std::string_view(part).size()))
    text.replace(at, 1, part);
  return text;
}

const char* const kTiled = R"(
#define T 8
__global__ void f(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float s[T][T], t[T][T];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += T) {
    s[threadIdx.y][threadIdx.x] = row < m && first + threadIdx.x < k ? a[row * k + first + threadIdx.x] : 0;
    t[threadIdx.y][threadIdx.x] = first + threadIdx.y < k && column < n ? b[(first + threadIdx.y) * n + column] : 0;
    FIRST
    for (int i = 0; i < T; ++i) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
    SECOND
  }
  if (row < m && column < n) c[WHERE] = sum;
})";

std::string tiled(std::string first, std::string second = "__syncthreads();", std::string where = "row * n + column") {
  std::string text = kTiled;
  for (const auto& [from, to] : {std::pair("FIRST", first), {"SECOND", second}, {"WHERE", where}})
    text.replace(text.find(from), std::string_view(from).size(), to);
  return text;
}

const char* const kSum = R"(
__global__ void f(const float* x, float* y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) BODY
    AFTER
  }
  if (t == 0) RESULT
})";

std::string sum(std::string body, std::string after, std::string result = "y[blockIdx.x] = s[0];") {
  std::string text = kSum;
  for (const auto& [from, to] : {std::pair("BODY", body), {"AFTER", after}, {"RESULT", result}})
    text.replace(text.find(from), std::string_view(from).size(), to);
  return text;
}

std::vector<Fault> faults() {
  const std::int64_t n = 100;
  const Tensor x = ones({n}), a = ones({11, 13}), b = ones({13, 10}), bins = cast(arange(n) * 0, i32);
  const std::vector<CudaArg> one{x, cuda_out({n}), n}, product{a, b, cuda_out({11, 10}), 11, 10, 13};
  const CudaLaunch wide{.grid = {4}, .block = {32}}, tiles{.grid = {2, 2}, .block = {8, 8}};
  const char* const copy =
      "\n__global__ void f(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  @\n}";
  const std::vector<CudaArg> sums{x, cuda_out({2}), n}, total{x, cuda_out({1}, f32, 0), n};
  const CudaLaunch halves{.grid = {2}, .block = {64}};
  return {
      {"BoundForgotten", copy, "if (i < n) y[i] = x[i];", "y[i] = x[i];", one, wide, "of x, f32(100,), which has 100, at text of f:4"},
      {"BoundOffByOne", copy, "if (i < n) y[i] = 1;", "if (i <= n) y[i] = 1;", one, wide, "writes element 100 of y"},
      {"NeighbourOfTheFirst", copy, "if (i < n) y[i] = i > 0 ? x[i - 1] : 0;", "if (i < n) y[i] = x[i - 1];", one, wide,
       "reads 4 bytes, 4 bytes ahead of the begin of x"},
      {"UnsignedUnderflow", copy, "if (i < n) y[i] = x[(int)threadIdx.x - 1 < 0 ? 0 : i];", "if (i < n) y[i] = x[(threadIdx.x - 1u) / 2];",
       one, wide, "reads 4 bytes that belong to no"},
      {"GridTooSmall", copy, "for (; i < n; i += 128) y[i] = 1;", "if (i < n - 1) y[i] = 1;", one, wide,
       "element 99 of y, f32(100,), which no thread writes"},
      {"SumOfWhatNobodyWrote", copy, "if (i < n) y[i] = x[i];", "if (i < n) y[i] += x[i];", one, wide,
       "which nobody has written, at text of f:4"},
      {"WriteToAnInput", copy, "if (i < n) y[i] = 1;", "if (i < n) y[i] = 1, ((float*)x)[i] = 1;", one, wide,
       "of x, f32(100,), which is an input"},
      {"VectorThatIsNotAligned", copy, "if (i < n / 4) ((float4*)y)[i] = ((const float4*)x)[i];",
       "if (i < n / 4) ((float4*)y)[i] = *(const float4*)(x + 4 * i - 1 + (i == 0) * 2);", one, wide,
       "at an address that is no multiple of 16"},
      {"IntegerDividedByZero", copy, "if (i < n) y[i] = n / (i + 1);", "if (i < n) y[i] = n / (i % 7);", one, wide,
       "divides an integer by 0"},
      {"BarrierBeforeUseForgotten", tiled("@"), "__syncthreads();", "", product, tiles, "(shared), which"},
      {"BarrierAfterUseForgotten", tiled("__syncthreads();", "@"), "__syncthreads();", "", product, tiles,
       "and no barrier stands between the two"},
      {"BarrierOfAWarpForABlock", tiled("@"), "__syncthreads();", "__syncwarp();", product, tiles, "(shared), which"},
      {"RowsAndColumnsMixedUp", tiled("__syncthreads();", "__syncthreads();", "@"), "row * n + column", "column * m + row + n", product,
       tiles, "of c, f32(11, 10), which has 110"},
      {"BarrierInABranch", sum("@", ""), "s[t] += s[t + d]; __syncthreads();", "{ s[t] += s[t + d]; __syncthreads(); }", sums, halves,
       "waits in line 8 for threads that never come"},
      {"BarrierInALoopForgotten", sum("s[t] += s[t + d];", "@"), "__syncthreads();", "", sums, halves,
       "and no barrier stands between the two"},
      {"ReturnAheadOfABarrier", sum("s[t] += s[t + d];", "@"), "__syncthreads();", "if (t >= d) return; __syncthreads();", sums, halves,
       "waits in line 9 for threads that never come"},
      {"IndexBehindARow",
       "\n__global__ void f(float* y) {\n  __shared__ float s[8][8];\n  s[threadIdx.x][@] = 1;\n  __syncthreads();\n  y[threadIdx.x] = "
       "s[threadIdx.x][threadIdx.x];\n}",
       "threadIdx.x",
       "threadIdx.x + 1",
       {cuda_out({8})},
       {.block = {8}},
       "takes the index 8 of an array 'float [8]', at text of f:4"},
      {"TotalOfBlocksWithoutAtomics", sum("s[t] += s[t + d];", "__syncthreads();", "@"), "atomicAdd(y, s[0]);", "*y += s[0];", total,
       halves, "and nothing says which of the two blocks comes first"},
      {"HaloThatNobodyLoads", R"(
__global__ void f(const float* x, float* y, int n) {
  __shared__ float s[34];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  s[t + 1] = i < n ? x[i] : 0;
  @
  __syncthreads();
  if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2];
})",
       "if (t < 2) s[33 * t] = 0;", "if (t < 1) s[33 * t] = 0;", one, wide,
       "element 33 of s (shared), which nobody has written, at text of f:8"},
      {"CountsOfAHistogramWithoutAtomics",
       R"(
__global__ void f(const int* x, int* y, int n) {
  __shared__ int s[4];
  if (threadIdx.x < 4) s[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < n) @
  __syncthreads();
  if (threadIdx.x < 4) y[threadIdx.x] = s[threadIdx.x];
})",
       "atomicAdd(&s[x[threadIdx.x]], 1);",
       "s[x[threadIdx.x]]++;",
       {bins, cuda_out({4}, i32), n},
       {.block = {100}},
       "and no barrier stands between the two, at text of f:6"},
      {"CountsThatDoNotBeginAsZero",
       R"(
__global__ void f(const int* x, int* y, int n) {
  __shared__ int s[4];
  @
  __syncthreads();
  if (threadIdx.x < n) atomicAdd(&s[x[threadIdx.x]], 1);
  __syncthreads();
  if (threadIdx.x < 4) y[threadIdx.x] = s[threadIdx.x];
})",
       "if (threadIdx.x < 4) s[threadIdx.x] = 0;",
       "",
       {bins, cuda_out({4}, i32), n},
       {.block = {100}},
       "of s (shared), which nobody has written"},
      {"SharedBytesForgotten",
       "\n__global__ void f(float* y) {\n  extern __shared__ float s[];\n  s[@] = 1;\n  __syncwarp();\n  y[threadIdx.x] = s[0];\n}",
       "threadIdx.x",
       "2 * threadIdx.x",
       {cuda_out({32})},
       {.block = {32}, .shared = 128},
       "of s (shared), which has 32, at text of f:4"},
      {"LastWarpOfTheSlides",
       R"(
__global__ void f(const float* x, float* y) {
  __shared__ volatile float s[64];
  int t = threadIdx.x;
  s[t] = x[t], s[t + 32] = x[t + 32];
  __syncwarp();
  for (int d = 32; d > 0; d /= 2) { float v = s[t + (t < d ? d : 0)]; @ if (t < d) s[t] += v; @ }
  if (t == 0) *y = s[0];
})",
       "__syncwarp();",
       "",
       {x, cuda_out({1})},
       {.block = {32}},
       "and no barrier stands between the two, at text of f:7"},
      {"ShuffleInABranch",
       R"(
__global__ void f(float* y) {
  float v = threadIdx.x;
  if (threadIdx.x < 16)
    v += __shfl_xor_sync(@, v, 1);
  else
    v += 1;
  __syncthreads();
  y[threadIdx.x] = v;
})",
       "0xffffu",
       "0xffffffffu",
       {cuda_out({32})},
       {.block = {32}},
       "waits in line 5 for threads that never come"},
      {"ShuffleFromWhoIsNotThere",
       "\n__global__ void f(float* y) {\n  float v = __shfl_down_sync(@, 1.0f, 1);\n  y[threadIdx.x] = v;\n}",
       "0xffffffffu",
       "0xffffu",
       {cuda_out({32})},
       {.block = {32}},
       "exchanges with a mask that does not name it, at text of f:3"},
      {"StencilInPlace",
       R"(
__global__ void f(float* y) {
  int t = threadIdx.x;
  float left = t > 0 ? y[t - 1] : 0, right = t < 63 ? y[t + 1] : 0;
  @
  y[t] = left + right;
})",
       "__syncthreads();",
       "",
       {cuda_out({64}, f32, 1)},
       {.block = {64}},
       "of y, f32(64,), which thread"},
      {"BuffersMixedUp",
       R"(
__global__ void f(const float* x, float* y) {
  __shared__ float s[2][32];
  int t = threadIdx.x;
  s[0][t] = x[t];
  for (int k = 0; k < 3; ++k) {
    __syncthreads();
    s[@][t] = s[k % 2][31 - t] + 1;
  }
  __syncthreads();
  y[t] = s[1][t];
})",
       "(k + 1) % 2",
       "k % 2",
       {x, cuda_out({32})},
       {.block = {32}},
       "and no barrier stands between the two, at text of f:8"},
      {"FlagWithoutAtomics",
       R"(
__global__ void f(float* y, int* flag) {
  if (threadIdx.x == 33) { y[0] = 1; __threadfence(); @ }
  if (threadIdx.x == 0) { while (WAIT == 0) {} }
})",
       "atomicExch(flag, 1);",
       "*flag = 1;",
       {cuda_out({1}), cuda_out({1}, i32, 0)},
       {.block = {64}},
       "and no barrier stands between the two"},
  };
}

class Seeded : public ::testing::TestWithParam<Fault> {};

TEST_P(Seeded, IsFoundAndTheRightKernelIsNot) {
  const Fault& fault = GetParam();
  std::string right = with(fault, fault.right), wrong = with(fault, fault.wrong);
  for (auto [text, wait] : {std::pair(&right, "atomicAdd(flag, 0)"), {&wrong, "*(volatile int*)flag"}})
    if (const std::size_t at = text->find("WAIT"); at != std::string::npos) text->replace(at, 4, wait);
  // Threads run in another order each time.
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(said(right, fault.arguments, fault.launch), "nothing");
    EXPECT_TRUE(contains(said(wrong, fault.arguments, fault.launch), fault.found));
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, Seeded, ::testing::ValuesIn(faults()),
                         [](const ::testing::TestParamInfo<Fault>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tegula

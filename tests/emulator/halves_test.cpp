// __half and __nv_bfloat16 in kernels: every number goes there and back, arithmetic rounds once, what is read and written is watched.

#include <cctype>
#include <cmath>
#include <limits>

#include "tests/emulator/faulty.h"

namespace tegula {
namespace {

struct Kind {
  const char *type, *header, *name;
  DType dtype;
};
const Kind kKinds[] = {{"__half", "cuda_fp16.h", "half", f16}, {"__nv_bfloat16", "cuda_bf16.h", "bfloat16", bf16}};

/// `text` with T for the type.
std::vector<Tensor> run(const Kind& kind, std::string text, const std::vector<CudaArg>& arguments, const CudaLaunch& launch) {
  for (std::size_t at = text.find("T "); at != std::string::npos; at = text.find("T ", at + 1))
    if (at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]))) text.replace(at, 1, kind.type);
  return cuda_kernel("f", std::string("#include <") + kind.header + ">\n" + text, arguments, launch);
}

/// The number that the bits stand for, with `digits` behind the point.
float number_of(unsigned bits, int digits, int bias) {
  const unsigned exponent = (bits & 0x7fffu) >> digits, rest = bits & ((1u << digits) - 1);
  const int least = 1 - bias - digits;
  const double size = exponent > 2u * static_cast<unsigned>(bias)
                          ? (rest != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                      : exponent == 0 ? std::ldexp(rest, least)
                                      : std::ldexp(rest + (1u << digits), least + static_cast<int>(exponent) - 1);
  return static_cast<float>((bits & 0x8000u) != 0 ? -size : size);
}

TEST(CudaHalves, EveryNumberIsReadAsItselfAndWrittenBack) {
  for (const Kind& kind : kKinds) {
    const bool half = kind.dtype == f16;
    const std::string text = std::string("__global__ void f(float* y, unsigned short* z) {\n") +
                             "for (int i = blockIdx.x * 1024 + threadIdx.x, end = blockIdx.x * 1024 + 1024; i < end; i += 256) {\n" +
                             kind.type + " h = __ushort_as_" + kind.name + "(i); y[i] = h; z[i] = __" + kind.name + "_as_ushort(" +
                             kind.type + "(y[i])); } }";
    const auto results = run(kind, text, {cuda_out({65536}), cuda_out({65536}, u16)}, {.grid = {64}, .block = {256}});
    const std::vector<float> numbers = results[0].to_host();
    const std::vector<std::uint16_t> back = results[1].to_host<std::uint16_t>();
    for (unsigned i = 0; i < 65536; ++i) {
      const float expected = half ? number_of(i, 10, 15) : number_of(i, 7, 127);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(numbers[i])) << i;
        ASSERT_EQ(back[i], 0x7fff);
      } else {
        ASSERT_EQ(numbers[i], expected) << i;
        ASSERT_EQ(back[i], i);
      }
    }
  }
}

/// The nearest of all numbers, of two equally near the one with an even code: tried one by one.
float nearest(double x, DType dtype) {
  const bool half = dtype == f16;
  const unsigned infinite = half ? 0x7c00 : 0x7f80;
  const auto at = [&](unsigned bits) { return half ? number_of(bits, 10, 15) : number_of(bits, 7, 127); };
  // Behind the greatest number the step goes on, and from the middle on the result is infinite.
  const double greatest = at(infinite - 1), beyond = 2 * greatest - at(infinite - 2);
  double best = 0, distance = std::fabs(x);
  for (unsigned bits = 1; bits <= infinite; ++bits) {
    const double here = bits == infinite ? beyond : at(bits), off = std::fabs(std::fabs(x) - here);
    if (off < distance || (off == distance && bits % 2 == 0)) best = here, distance = off;
  }
  if (best == beyond || std::fabs(x) > beyond) best = std::numeric_limits<double>::infinity();
  return static_cast<float>(std::copysign(best, x));
}

TEST(CudaHalves, FloatsAndDoublesAreRoundedToTheNearest) {
  // Between two neighbours, ahead of and behind the middle, at the ends of the range.
  std::vector<double> values{0,
                             -0.0,
                             65504,
                             65519.999,
                             65520,
                             1e-8,
                             2.98023223876953125e-8,
                             2.9802322387695313e-8,
                             6e-8,
                             3.4e38,
                             3.39e38,
                             1e39,
                             std::numeric_limits<double>::infinity(),
                             1e-40,
                             1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)};
  for (int i = 0; i < 200; ++i) values.push_back((i - 100) * std::pow(1.37, i % 53 - 26) + i);
  const auto n = static_cast<std::int64_t>(values.size());
  const Tensor x = tensor(values);
  for (const Kind& kind : kKinds) {
    const auto results =
        run(kind, "__global__ void f(const double* x, T *y, T *z) { int i = threadIdx.x; y[i] = x[i]; z[i] = (float)x[i]; }",
            {x, cuda_out({n}, kind.dtype), cuda_out({n}, kind.dtype)}, {.block = {n}});
    std::vector<float> of_doubles, of_floats;
    for (const double value : values) {
      of_doubles.push_back(nearest(value, kind.dtype));
      of_floats.push_back(nearest(static_cast<double>(static_cast<float>(value)), kind.dtype));
    }
    EXPECT_EQ(cast(results[0], f32).to_host(), of_doubles) << kind.type;
    EXPECT_EQ(cast(results[1], f32).to_host(), of_floats) << kind.type;
  }
}

TEST(CudaHalves, ArithmeticRoundsOnce) {
  const std::int64_t n = 1000;
  for (const Kind& kind : kKinds) {
    const Tensor a = cast(normal({n}) * 30, kind.dtype), b = cast(normal({n}), kind.dtype), c = cast(normal({n}) * 0.01, kind.dtype);
    const Tensor y = run(kind, R"(__global__ void f(const T *a, const T *b, const T *c, T *y) {
      int i = threadIdx.x + blockIdx.x * 250;
      T *to = y + 6 * i;
      to[0] = a[i] + b[i], to[1] = a[i] - b[i], to[2] = __hmul(a[i], b[i]), to[3] = a[i] / b[i], to[4] = __hfma(a[i], b[i], c[i]), to[5] = a[i];
      to[5] *= b[i], to[5] -= c[i];
    })",
                         {a, b, c, cuda_out({n, 6}, kind.dtype)}, {.grid = {4}, .block = {250}})[0];
    const Tensor x = cast(a, f64), z = cast(b, f64), w = cast(c, f64);
    const auto rounded = [&](const Tensor& exact) { return cast(cast(exact, kind.dtype), f64); };
    const Tensor expected = cast(
        stack({rounded(x + z), rounded(x - z), rounded(x * z), rounded(x / z), rounded(x * z + w), rounded(rounded(x * z) - w)}, 1), f32);
    EXPECT_EQ(cast(y, f32).to_host(), expected.to_host()) << kind.type;
  }
}

TEST(CudaHalves, PairsNumbersAndSharedMemory) {
  const Tensor x = cast(arange(64) * 0.5, f16);
  const Tensor y = cuda_kernel("f", R"(
    #include <cuda_fp16.h>
    __global__ void f(const __half2* x, half factor, half2* y, float* total) {
      __shared__ half2 s[32];
      const int t = threadIdx.x;
      s[t] = __hmul2(x[t], __half2half2(factor));
      __syncthreads();
      y[t] = s[31 - t];
      half sum = __low2half(x[t]) + __high2half(x[t]);
      for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
      if (t == 0) *total = __half2float(sum);
    })",
                               {x, 2.0, cuda_out({64}, f16), cuda_out({1})}, {.block = {32}})[0];
  std::vector<float> expected(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = static_cast<float>(62 - i / 2 * 2 + i % 2);
  EXPECT_EQ(cast(y, f32).to_host(), expected);
}

TEST(CudaHalves, AtomicsAddThem) {
  for (const Kind& kind : kKinds)
    EXPECT_EQ(
        run(kind, "__global__ void f(T *y) { atomicAdd(y, (T )0.5f); }", {cuda_out({1}, kind.dtype, 0)}, {.grid = {4}, .block = {16}})[0]
            .item(),
        32);
}

TEST(CudaHalves, WhatTheyReadAndWriteIsWatched) {
  const auto told = [](const std::string& body) {
    return said(
        "#include <cuda_fp16.h>\n__global__ void f(const __half* x, __half* y, float* z) {\n  __shared__ __half s[8];\n  int t = "
        "threadIdx.x;\n  " +
            body + "\n}",
        {cast(ones({8}), f16), cuda_out({8}, f16, 0), cuda_out({8}, f32, 0)}, {.block = {8}});
  };
  EXPECT_EQ(told("y[t] = x[t]; z[t] = y[t]; y[t] += x[t];"), "nothing");
  EXPECT_TRUE(contains(told("y[t + 1] = x[t];"), "writes element 8 of y, f16(8,), which has 8, at text of f:5"));
  EXPECT_TRUE(contains(told("y[t] = x[t + 1];"), "reads element 8 of x, f16(8,), which has 8, at text of f:5"));
  EXPECT_TRUE(contains(told("z[t] = x[t + 1];"), "reads element 8 of x, f16(8,), which has 8, at text of f:5"));
  EXPECT_TRUE(contains(told("y[t] = x[t] + x[t + 1];"), "reads element 8 of x, f16(8,), which has 8, at text of f:5"));
  EXPECT_TRUE(contains(told("y[t + 1] += x[t];"), "element 8 of y, f16(8,), which has 8, at text of f:5"));
  EXPECT_TRUE(contains(told("s[t] = x[t]; y[t] = s[7 - t];"), "of s (shared), which"));
  EXPECT_TRUE(contains(told("y[0] = x[t];"), "and no barrier stands between the two, at text of f:5"));
}

}  // namespace
}  // namespace tegula

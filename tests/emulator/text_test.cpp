// Reading of a kernel's text: parameters and variables as C++ has them; and text that is no C++ at all ends in an Error or in nothing, in bounded time.

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>

#include "tegula/runtime/cuda_text.h"
#include "tests/emulator/faulty.h"
#include "tests/support/source_folder.h"

namespace tegula {
namespace {

runtime::CudaSignature signature(const std::string& text, const std::string& name = "f") {
  return runtime::signature_of({text, "text"}, name, {});
}

TEST(CudaText, ParametersAreThoseOfTheText) {
  const auto s = signature(R"__(
    // __global__ void f(int wrong);
    #define UNUSED __global__ void f(int wrong)
    const char* words = "__global__ void f(int wrong)";
    __global__ void f(const float *__restrict__ x, float4* const y, unsigned long long n, const half h, volatile int *p, void* q, bool b = true,
                      unsigned char c[], const int (&unused)[1'0]);
  )__" + std::string("extern \"C\" __global__ void g() {}"),
                           "g");
  EXPECT_TRUE(s.parameters.empty());
  const auto p = signature(
                     "template <typename T, int N = 3> __global__ __launch_bounds__(N * 2, 1) void f(const T* x, T* y, size_t n, T a, "
                     "__nv_bfloat16 h) {}",
                     "f<unsigned short, (4 > 2 ? 1 : 2)>")
                     .parameters;
  ASSERT_EQ(p.size(), 5u);
  EXPECT_EQ(p[0].dtype, i16);
  EXPECT_FALSE(p[0].writable);
  EXPECT_TRUE(p[1].writable);
  EXPECT_EQ(p[2].bytes, 8);
  EXPECT_EQ(p[3].bytes, 2);
  EXPECT_EQ(p[4].dtype, bf16);
}

TEST(CudaText, NamesOfTypesStandForThem) {
  const auto p = signature(
                     "#define REAL float\n#define SQUARE(x) x * x\n#define WORDS \\\n  unsigned\ntypedef unsigned long long Count; using "
                     "Half = __half; typedef Half "
                     "Narrow;\ntypedef struct { int a; } Pair;\n__global__ void f(REAL* x, Count n, Narrow h, Half* y, Pair* z, REAL a) {}")
                     .parameters;
  ASSERT_EQ(p.size(), 6u);
  EXPECT_EQ(p[0].dtype, f32);
  EXPECT_EQ(p[1].bytes, 8);
  EXPECT_TRUE(p[1].is_unsigned);
  EXPECT_EQ(p[2].dtype, f16);
  EXPECT_EQ(p[3].dtype, f16);
  EXPECT_FALSE(p[4].dtype.has_value());
  EXPECT_EQ(p[5].dtype, f32);
  EXPECT_EQ(said("typedef double real;\nstatic __global__ void f(real a, real* y) { *y = a; }", {0.5, cuda_out({1}, f64)}, {}), "nothing");
}

TEST(CudaText, VectorsArePointedToAndNotPassed) {
  EXPECT_EQ(signature("__global__ void f(float4* x, __half2* y, const ulonglong2* z, __nv_bfloat162* w) {}").parameters[1].dtype, f16);
  EXPECT_THROW(signature("__global__ void f(float4 x) {}"), Error);
  EXPECT_THROW(signature("__global__ void f(__half2 x) {}"), Error);
}

TEST(CudaText, VariablesAreThoseOutsideOfFunctions) {
  const runtime::CudaText text{
      "__constant__ float a[2][3]; static __device__ unsigned int b = 1, c;\n__device__ const int d = 1; __device__ float square(float x) "
      "{ return x * x; }\n"
      "__constant__ float4 e; __device__ Pair g; __global__ void f(float* h) {}",
      "text"};
  EXPECT_EQ(runtime::variable_of(text, "a")->dtype, f32);
  EXPECT_EQ(runtime::variable_of(text, "b")->dtype, i32);
  EXPECT_TRUE(runtime::variable_of(text, "c").has_value());
  EXPECT_TRUE(runtime::variable_of(text, "d")->is_const);
  EXPECT_EQ(runtime::variable_of(text, "e")->dtype, f32);
  EXPECT_FALSE(runtime::variable_of(text, "g")->dtype.has_value());
  for (const char* const name : {"f", "h", "x", "square", "float", "Pair", ""}) EXPECT_FALSE(runtime::variable_of(text, name)) << name;
}

void read(const std::string& text, const std::string& name) {
  try {
    runtime::text_for_nvrtc({text, "text"}, name, {});
    signature(text, name);
  } catch (const Error&) {}
  runtime::text_for_emulator({text, "text"});
  runtime::variable_of({text, "text"}, "weights");
}

TEST(CudaText, HostileTextEndsInBoundedTime) {
  const auto begin = std::chrono::steady_clock::now();
  std::string source;
  for (const char* const file : {"vectors.cu", "convolution.cu", "reductions.cu", "matmul.cu"}) {
    std::ifstream in(source_folder() + "/examples/cuda/" + file);
    source.append(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_GT(source.size(), 10000u);
  std::minstd_rand random(11);
  const std::string pieces[] = {"__global__",
                                "<",
                                ">",
                                "(",
                                ")",
                                "[",
                                "]",
                                "{",
                                "}",
                                ",",
                                ";",
                                "\"",
                                "'",
                                "//",
                                "/*",
                                "*/",
                                "#",
                                "\\\n",
                                "template",
                                "__shared__",
                                "extern",
                                "=",
                                "*",
                                "const",
                                "__launch_bounds__",
                                "__constant__",
                                std::string(1, '\0'),
                                "\xff",
                                "\r\n",
                                "#include <"};
  const auto any = [&](std::size_t below) { return static_cast<std::size_t>(random()) % below; };
  for (int round = 0; round < 400; ++round) {
    const std::size_t length = 1 + any(3000), first = any(source.size() - length);
    std::string text = source.substr(first, length);
    for (std::size_t change = any(12); change > 0; --change) {
      const std::size_t at = any(text.size() + 1), gone = any(4);
      text.replace(at, std::min(gone, text.size() - at), any(5) == 0 ? "" : pieces[any(std::size(pieces))]);
    }
    for (const char* const name :
         {"saxpy", "ReLUForward<float>", "reduce_unrolled<256>", "matmul_tiled", "a<", "<", ">", "::", "f<>", "f<<<1>>>"})
      read(text, name);
  }
  // Deep and long texts.
  for (const std::string& one : pieces) {
    std::string many = "__global__ void f(int a";
    for (int i = 0; i < 5000; ++i) many += one + (i % 2 == 0 ? " " : "");
    read(many, "f"), read(many + ") {}", "f<int>"), read(one, "f"), read("", "f");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace tegula

// The text of CUDA kernels: their parameters, and the options of the two compilers.

#include <gtest/gtest.h>

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/runtime/cuda_text.h"

namespace tegula::runtime {
namespace {

TEST(CudaTextParameters, AreReadOffTheText) {
  const CudaSignature f = signature_of({R"(
// __global__ void f(int wrong);
/* __global__ void f() */
#define LOOP(i) for (;;)
struct Thing { int x; };
__global__ void __launch_bounds__(128, 2)
f(const float* __restrict__ a, float *b, unsigned int const n, const float4* v, int c, double d[], void* e, const int* const * p, Thing* t, size_t = 3);
)",
                                        "f.cu"},
                                       "f", {});
  ASSERT_EQ(f.parameters.size(), 10u);
  EXPECT_EQ(f.line, 7);
  EXPECT_EQ(f.bounds, "__launch_bounds__(128, 2)");
  const auto& p = f.parameters;
  EXPECT_TRUE(p[0].pointer && !p[0].writable && p[0].dtype == f32 && p[0].name == "a");
  EXPECT_TRUE(p[1].pointer && p[1].writable && p[1].name == "b" && p[1].type == "float*");
  EXPECT_TRUE(!p[2].pointer && p[2].dtype == i32 && p[2].is_unsigned && p[2].bytes == 4 && p[2].name == "n");
  EXPECT_TRUE(p[3].pointer && p[3].dtype == f32);
  EXPECT_TRUE(p[5].pointer && p[5].writable && p[5].dtype == f64 && p[5].name == "d");
  EXPECT_TRUE(p[6].pointer && !p[6].dtype);
  EXPECT_TRUE(p[7].pointer && !p[7].dtype);
  EXPECT_TRUE(p[8].pointer && !p[8].dtype && p[8].writable);
  EXPECT_TRUE(!p[9].pointer && p[9].bytes == 8 && p[9].is_unsigned);
}

TEST(CudaTextParameters, OfATemplateAreThoseOfItsArguments) {
  const CudaText text{"template <typename T, int N = 4> __global__ void f(const T* x, T* const y, T a) {}", "f.cu"};
  const CudaSignature f = signature_of(text, "f<double, 8>", {});
  EXPECT_TRUE(f.is_template);
  EXPECT_EQ(f.parameters[0].dtype, f64);
  EXPECT_TRUE(f.parameters[1].writable);
  EXPECT_EQ(f.parameters[2].dtype, f64);
  EXPECT_THROW(signature_of(text, "f", {}), Error);
  EXPECT_THROW(signature_of(text, "g<float>", {}), Error);
}

TEST(CudaTextForCompilers, KeepsEveryLineWhereItIs) {
  const std::string text = "#include <stdio.h>\n__global__ void f(int* y) {\n  extern __shared__ int s[];\n  __shared__ double t[2];\n}\n";
  const EmulatedText emulated = text_for_emulator({text, "f.cu"});
  EXPECT_EQ(emulated.text.find("stdio"), std::string::npos);
  EXPECT_TRUE(emulated.text.starts_with("#line 1 \"f.cu\"\n"));
  EXPECT_EQ(std::ranges::count(emulated.text, '\n'), std::ranges::count(text, '\n') + 1);
  ASSERT_EQ(emulated.shared.size(), 2u);
  EXPECT_TRUE(emulated.shared[0].name == "s" && emulated.shared[0].dynamic && emulated.shared[0].element == 4);
  EXPECT_TRUE(emulated.shared[1].name == "t" && !emulated.shared[1].dynamic && emulated.shared[1].element == 8);
  const NvrtcText nvrtc = text_for_nvrtc({text, "f.cu"}, "f", {});
  EXPECT_EQ(nvrtc.entry, "f");
  EXPECT_NE(nvrtc.text.find("\n#line 1 \"f.cu\"\n"), std::string::npos);
  EXPECT_NE(nvrtc.text.find("\nextern \"C\" __global__ void f(int* y) {"), std::string::npos) << nvrtc.text;
}

TEST(CudaTextForCompilers, ATemplateIsCalledByAKernel) {
  const NvrtcText text = text_for_nvrtc(
      {"template <typename T, int N> __global__ void __launch_bounds__(64) f(const T* x, T* y, int n) { y[n] = x[N]; }", "f.cu"},
      "f<float, 8>", {});
  EXPECT_EQ(text.entry, "f_entry");
  EXPECT_NE(text.text.find("extern \"C\" __global__ void __launch_bounds__(64) f_entry(const float * tegula_0, float * tegula_1, "
                           "int tegula_2) { f<float, 8>(tegula_0, tegula_1, tegula_2); }"),
            std::string::npos)
      << text.text;
}

}  // namespace
}  // namespace tegula::runtime

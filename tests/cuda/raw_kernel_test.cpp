// Kernels in CUDA C++ of a user's own on the card: every kernel of examples/cuda is compiled by NVRTC, and what it says names the text's lines. Over the driver of the
// tests as "paper" they are compiled and launched, and compute nothing.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/runtime/cuda_text.h"
#include "tegula/tile.h"
#include "tests/support/paper.h"
#include "tests/support/source_folder.h"

namespace tegula {
namespace {

class CudaRawKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0 || !gpu::nvrtc_available(&why)) GTEST_SKIP() << why;
    before_ = &default_device();
    set_default_device(cuda());
  }
  void TearDown() override {
    if (before_) set_default_device(*before_);
  }
  Device* before_ = nullptr;
};

std::string said(const std::string& text, const std::vector<CudaArg>& arguments, const CudaLaunch& launch) {
  try {
    eval(cuda_kernel("f", text, arguments, launch)[0]);
    default_device().synchronize();
  } catch (const Error& error) { return error.what(); }
  return "nothing";
}

TEST_F(CudaRawKernels, MessagesOfTheCompilerNameTheTextsLines) {
  const std::string error = said("#include <stdio.h>\n__global__ void f(float* y) {\n  y[0] = lots;\n}", {cuda_out({1})}, {});
  EXPECT_NE(error.find("text of f(3): error"), std::string::npos) << error;
  EXPECT_NE(error.find("cuda_kernel f: got"), std::string::npos) << error;
}

TEST_F(CudaRawKernels, VariablesAreSetAheadOfTheLaunch) {
  const std::string text = "__constant__ float w[4];\n__global__ void f(float* y) { y[threadIdx.x] = w[threadIdx.x]; }";
  const Tensor w = normal({4});
  EXPECT_EQ(said(text, {cuda_out({4})}, {.block = {4}, .variables = {{"w", w}}}), "nothing");
  if (test::on_paper()) return;
  EXPECT_EQ(cuda_kernel("f", text, {cuda_out({4})}, {.block = {4}, .variables = {{"w", w}}})[0].to_host(), w.to_host());
  EXPECT_NE(said(text, {cuda_out({4})}, {.block = {4}, .variables = {{"w", ones({5})}}})
                .find("20 bytes for the variable w, expected at most its 16"),
            std::string::npos);
}

// The text that both compilers read in the place of CUDA's headers.
TEST_F(CudaRawKernels, HalvesCompileOnEveryArchitecture) {
  const std::string text = R"(
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    template <class T> __device__ T all_of(T a, T b, T c) {
      T x = a + b * c - a / b;
      x += __hfma(a, b, c), x = __hmax(x, -a), x = x < b ? hexp(x) : __habs(c);
      return __shfl_xor_sync(~0u, x, 1);
    }
    __global__ void f(const __half* x, const __nv_bfloat16* y, half factor, __half* z, __nv_bfloat16* w, __half2* both, double number) {
      __shared__ __half s[32];
      const int i = threadIdx.x;
      s[i] = __ldg(x + i) * factor;
      __syncthreads();
      z[i] = all_of(s[31 - i], x[i], __float2half(0.5f)), w[i] = all_of(y[i], y[31 - i], __nv_bfloat16(number));
      atomicAdd(z, x[i]), atomicAdd(w, y[i]);
      both[i] = __hfma2(__halves2half2(x[i], z[i]), __float2half2_rn(2.0f), __floats2half2_rn(1.0f, 0.1f));
      z[i] = __float2half_rn(__half22float2(both[i]).x) + __half(number);
    })";
  for (const int architecture : {80, 90, 100})
    EXPECT_NO_THROW(gpu::compile_cubin(runtime::text_for_nvrtc({text, "text of f"}, "f", {}).text, architecture, gpu::Products::Contracted))
        << architecture;
  EXPECT_EQ(
      said(text, {cast(ones({32}), f16), cast(ones({32}), bf16), 0.5, cuda_out({32}, f16), cuda_out({32}, bf16), cuda_out({64}, f16), 1.5},
           {.block = {32}}),
      "nothing");
}

TEST_F(CudaRawKernels, KernelsMayBeStaticAndLieInNamespaces) {
  EXPECT_EQ(
      said("typedef float real; static __global__ void f(real* y);\n__global__ static void f(real* y) { *y = 1; }", {cuda_out({1})}, {}),
      "nothing");
  EXPECT_NO_THROW(eval(cuda_kernel("mine::f", "namespace mine { __global__ void f(float* y) { *y = 1; } }", {cuda_out({1})}, {})[0]));
  EXPECT_NO_THROW(eval(
      cuda_kernel("mine::f<3>", "namespace mine { template <int N> __global__ void f(float* y) { *y = N; } }", {cuda_out({1})}, {})[0]));
  default_device().synchronize();
}

TEST_F(CudaRawKernels, FillsOfEverySizeAndEmptyGridsAreQueued) {
  for (const DType dtype : {u8, i16, f32, i64, f64})
    EXPECT_EQ(said("__global__ void f(void* y) {}", {cuda_out({5}, dtype, 3)}, {}), "nothing");
  EXPECT_EQ(said("__global__ void f(float* y) {}", {cuda_out({5}, f32, 1)}, {.grid = {0}}), "nothing");
  if (test::on_paper()) return;
  EXPECT_EQ(cuda_kernel("f", "__global__ void f(double* y) { y[1] += 1; }", {cuda_out({2}, f64, 0.3)}, {})[0].to_host<double>(),
            (std::vector<double>{0.3, 1.3}));
}

TEST_F(CudaRawKernels, EveryKernelOfTheExamplesCompiles) {
  const std::pair<const char*, std::vector<std::string>> files[] = {
      {"vectors.cu", {"helloFromGPU", "add", "saxpy", "vectorAdd", "ReLUForward<float>", "ReLUBackward<double>"}},
      {"convolution.cu",
       {"ConvLayerForward_Basic", "ConvLayerForward_Shared", "ConvLayerBackward_Xgrad", "ConvLayerBackward_Wgrad", "Convolution_kernel",
        "unroll_Kernel", "im2col_gpu_kernel<float>", "MaxPoolForward<float>", "MaxPoolBackward<float>"}},
      {"reductions.cu", {"reduce_interleaved", "reduce_sequential", "reduce_unrolled<256>", "reduce_shuffled"}},
      {"matmul.cu", {"matmul_naive", "matmul_tiled"}}};
  for (const auto& [file, names] : files) {
    const CudaSource source = cuda_file(source_folder() + "/examples/cuda/" + file);
    for (const std::string& name : names) {
      // Numbers for numbers, one result for all pointers to what is not const.
      std::vector<CudaArg> arguments;
      for (const auto& parameter : runtime::signature_of({source.text, file}, name, {}).parameters)
        arguments.push_back(parameter.pointer ? (parameter.writable ? CudaArg(cuda_out({4}, parameter.dtype.value_or(f32)))
                                                                    : CudaArg(zeros({4}, parameter.dtype.value_or(f32))))
                                              : CudaArg(0));
      EXPECT_NO_THROW({
        eval(cuda_kernel(name, source, arguments, {.grid = {0}, .block = {32}})[0]);
        default_device().synchronize();
      }) << name;
    }
  }
}

}  // namespace
}  // namespace tegula

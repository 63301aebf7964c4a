// Kernels shown and taken out of a program: the parts of what is shown, and a launcher in C that is compiled and run over a pretended driver.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tegula/compile/jit.h"
#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/formats/kernel_code.h"
#include "tests/emulator/faulty.h"

namespace kernels {
using namespace tegula::tile;
const auto add = jit("add", [](Ptr<float> x, Ptr<float> y, Out<float> z, Int n, Float a, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(z + i, load(x + i, i < n) + a * load(y + i, i < n), i < n);
});
}  // namespace kernels

namespace tegula {
namespace {

class KernelCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << why;
  }
  static Tensor added() { return kernels::add({4}, ones({1000}), ones({1000}), tile::out({1000}, 0), 1000, 2, 256)[0]; }
};

TEST_F(KernelCode, ShowsEveryStage) {
  const std::string text = show_kernel(relu(added()) + 1);
  for (const char* const part :
       {"# program\n", "# decisions\n", "# CUDA C++\n", "# PTX\n", "# SASS\n", "# figures\n", "extern \"C\" __global__ void",
        ".target sm_90", "registers     ", "spills        0 bytes", "shared        ", "blocks on a multiprocessor",
        "bytes         12000 of tensors", "blocks        4 of ", "operations    not told"})
    EXPECT_TRUE(contains(text, part));
  EXPECT_EQ(text.find("# SASS\n\n"), std::string::npos);  // or why there is none
}

TEST_F(KernelCode, ShowsCudaTextAsWell) {
  const Tensor y = cuda_kernel(
      "f<float>",
      "template <class T> __global__ void f(T* y, int n) { extern __shared__ T s[]; s[threadIdx.x] = n; y[threadIdx.x] = s[threadIdx.x]; }",
      {cuda_out({32}), 3}, {.block = {32}, .shared = 128})[0];
  const std::string text = show_kernel(y);
  for (const char* const part : {"# CUDA C++\ntemplate <class T>", "f_entry", "shared        128 bytes", "blocks        1 of 32 threads"})
    EXPECT_TRUE(contains(text, part));
}

#ifdef TEGULA_CUDA_INCLUDE
std::string output_of(const std::string& command) {
  EXPECT_EQ(std::system((command + " > output 2>&1").c_str()), 0) << command;
  std::ifstream file("output");
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

TEST_F(KernelCode, BuildsALauncherThatNeedsTheDriverAlone) {
  const std::vector<std::string> files = build_kernel(added(), "built");
  EXPECT_EQ(files, (std::vector<std::string>{"built/add.cubin", "built/add.h", "built/add.c"}));
  std::ofstream("built/main.c") << R"(#include <stdio.h>
#include "add.h"
int main(void) {
  CUdevice device;
  CUcontext context;
  CUstream stream;
  add_kernel add;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, 0)) return 1;
  if (add_load(&add)) return 2;
  if (add_launch(&add, stream, 4, 1, 1, 256, 512, 768, 1000, 2.0)) return 3;
  if (add_launch(&add, stream, 4, 1, 1, 256, 516, 768, 1000, 2.0) != CUDA_ERROR_INVALID_VALUE) return 4;  /* 516 is not a multiple of 16 */
  if (add_launch(&add, stream, 0, 1, 1, 256, 512, 768, 0, 2.0)) return 5;
  if (cuStreamSynchronize(stream) || add_unload(&add)) return 6;
  return 0;
}
)";
  const std::string folder = TEGULA_DRIVER_FOLDER;
  EXPECT_EQ(output_of(std::string("cc -std=c99 -Wall -Wextra -Werror -isystem ") + TEGULA_CUDA_INCLUDE +
                      " built/main.c built/add.c -o built/main " + folder + "/libcuda.so.1"),
            "");
  const std::string launched = output_of("LD_LIBRARY_PATH=" + folder + " TEGULA_FAKE_DRIVER=paper built/main");
  EXPECT_EQ(std::count(launched.begin(), launched.end(), '\n'), 1) << launched;
  EXPECT_TRUE(contains(launched, "grid        4"));
  // C++ takes the header, too.
  std::ofstream("built/main.cpp") << "#include \"add.h\"\nint main() { add_kernel add{}; return add_load(&add) == CUDA_SUCCESS; }\n";
  output_of(std::string("c++ -fsyntax-only -isystem ") + TEGULA_CUDA_INCLUDE + " built/main.cpp");
}

TEST_F(KernelCode, BuildsALauncherOfCudaTextAsWell) {
  const Tensor y = cuda_kernel("sum<float, 4>", R"(
    #include <cuda_fp16.h>
    __constant__ float weights[4];
    template <class T, int N> __global__ void sum(const T* x, T* y, long long n, bool all, half scale) {
      extern __shared__ T s[];
      s[threadIdx.x] = threadIdx.x < n && all ? x[threadIdx.x] * weights[threadIdx.x % N] : T(0);
      __syncthreads();
      y[threadIdx.x] = s[(threadIdx.x + N) % 32] * float(scale);
    })",
                               {ones({32}), cuda_out({32}), 32, true, 2.0},
                               {.block = {32}, .shared = 100 << 10, .variables = {{"weights", ones({4})}}})[0];
  const std::vector<std::string> files = build_kernel(y, "built_text");
  EXPECT_EQ(files, (std::vector<std::string>{"built_text/sum_float_4.cubin", "built_text/sum_float_4.h", "built_text/sum_float_4.c"}));
  std::ifstream header("built_text/sum_float_4.h");
  const std::string text((std::istreambuf_iterator<char>(header)), {});
  EXPECT_TRUE(contains(text, "the variable weights is to be set: cuModuleGetGlobal"));
  std::ofstream("built_text/main.c") << R"(#include "sum_float_4.h"
int main(void) {
  CUdevice device;
  CUcontext context;
  CUstream stream;
  sum_float_4_kernel sum;
  CUdeviceptr weights;
  size_t bytes;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) || cuStreamCreate(&stream, 0)) return 1;
  if (sum_float_4_load(&sum) || cuModuleGetGlobal(&weights, &bytes, sum.module, "weights")) return 2;
  return sum_float_4_launch(&sum, stream, 1, 1, 1, 256, 512, 32, 1, 0x4000) || sum_float_4_unload(&sum) ? 3 : 0;
}
)";
  const std::string folder = TEGULA_DRIVER_FOLDER;
  EXPECT_EQ(output_of(std::string("cc -std=c99 -Wall -Wextra -Werror -isystem ") + TEGULA_CUDA_INCLUDE +
                      " built_text/main.c built_text/sum_float_4.c -o built_text/main " + folder + "/libcuda.so.1"),
            "");
  output_of("LD_LIBRARY_PATH=" + folder + " TEGULA_FAKE_DRIVER=paper built_text/main");
}
#endif

// The toolkit's disassembler is asked where it is there; here a program that tells what it is given stands for it.
TEST_F(KernelCode, ShowsWhatTheDisassemblerSays) {
  std::filesystem::create_directories("tools");
  std::ofstream("tools/nvdisasm") << "#!/bin/sh\ntest \"$1\" = -c && head -c 4 \"$2\" | tail -c 3 && echo ' is disassembled'\n";
  std::filesystem::permissions("tools/nvdisasm", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (std::filesystem::current_path().string() + "/tools:" + path).c_str(), 1);
  const std::string text = show_kernel(added());
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(contains(text, "# SASS\nELF is disassembled\n"));
}

TEST_F(KernelCode, SaysWhichKernelsThereAre) {
  const Tensor first = added(),
               second = cuda_kernel("f", "__global__ void f(float* y) { y[threadIdx.x] = 1; }", {cuda_out({1000})}, {.block = {1000}})[0];
  const Tensor both = kernels::add({1}, first, second, tile::out({1000}), 1000, 1, 1024)[0];
  EXPECT_EQ(kernels_in({both}), (std::vector<std::string>{"add", "f"}));
  EXPECT_THROW(show_kernel(both), Error);
  EXPECT_TRUE(contains(show_kernel(both, {.kernel = "f", .architecture = 80}), ".target sm_80"));
}

}  // namespace
}  // namespace tegula

#pragma once
// A plain kernel of the CUDA side run on the CPU: compiled by the system's compiler, its threads fibers (emulated_cuda.h).

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tegula/cuda/plain_kernels.h"

namespace tegula::gpu {

/// What a tensor core does with the fragments of a warp.
inline constexpr const char* kEmulatedProduct = R"(
#define __shared__ static
#define __forceinline__ inline
struct Four { float x, y, z, w; };
struct Any {
  void* p;
  template <class T>
  operator T*() const { return static_cast<T*>(p); }
};
inline void product(float (&d)[4], float a0, float a1, float a2, float a3, float b0, float b1) {
  Four a[32], b[32];
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int other = 0; other < 32; ++other) {
    a[lane ^ other] = emulated::exchange(Four{a0, a1, a2, a3}, other);
    b[lane ^ other] = emulated::exchange(Four{b0, b1, 0, 0}, other);
  }
  for (int k = 0; k < 8; ++k) {
    const Four& row = a[g * 4 + k % 4];
    for (int e = 0; e < 2; ++e) {
      const Four& column = b[(2 * t + e) * 4 + k % 4];
      const float factor = k < 4 ? column.x : column.y;
      d[e] += (k < 4 ? row.x : row.z) * factor;
      d[2 + e] += (k < 4 ? row.y : row.w) * factor;
    }
  }
}
)";

class EmulatedPlainKernel {
 public:
  EmulatedPlainKernel(const PlainKernel& kernel, int pointers) : kernel_(kernel) {
    static int count = 0;
    const std::filesystem::path base =
        std::filesystem::temp_directory_path() / ("tegula_few_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    const std::string source = base.string() + ".cpp", object = base.string() + ".so";
    std::string arguments;
    for (int i = 0; i < pointers; ++i) arguments += (i ? ", Any{p[" : "Any{p[") + std::to_string(i) + "]}";
    std::ofstream(source) << "#include \"" << TEGULA_SOURCE_DIR << "/tests/support/emulated_cuda.h\"\n"
                          << kEmulatedProduct << kernel.source << "static void call(void* v) { void** p = static_cast<void**>(v); "
                          << kernel.name << "(" << arguments << "); }\n"
                          << "extern \"C\" int run(void** p, int block, int threads, std::size_t bytes) {\n"
                          << "  emulated::body = call, emulated::argument = p;\n"
                          << "  return emulated::run_cluster(block, 1, threads, bytes, block) ? 0 : 1;\n}\n";
    const int status = std::system(("c++ -std=c++17 -O1 -w -fPIC -shared " + source + " -o " + object).c_str());
    handle_ = status == 0 ? dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    std::filesystem::remove(source);
    std::filesystem::remove(object);
    if (!handle_) throw std::runtime_error("a kernel that does not compile");
    run_ = reinterpret_cast<int (*)(void**, int, int, std::size_t)>(dlsym(handle_, "run"));
  }
  EmulatedPlainKernel(const EmulatedPlainKernel&) = delete;
  EmulatedPlainKernel& operator=(const EmulatedPlainKernel&) = delete;
  ~EmulatedPlainKernel() { dlclose(handle_); }

  void launch(std::vector<void*> pointers) const {
    for (int block = 0; block < kernel_.blocks; ++block) ASSERT_EQ(run_(pointers.data(), block, kernel_.threads, kernel_.shared), 0);
  }

 private:
  PlainKernel kernel_;
  void* handle_ = nullptr;
  int (*run_)(void**, int, int, std::size_t) = nullptr;
};

}  // namespace tegula::gpu

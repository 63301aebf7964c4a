#include "tegula/cpu/linalg/lapack.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "tegula/core/error.h"
#include "tegula/runtime/host_libraries.h"

namespace tegula::host {
namespace {

template <class T>
bool find(void* library, char prefix, LapackFunctions<T>& f) {
  const auto get = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, (prefix + std::string(name) + "_").c_str()));
    return function != nullptr;
  };
  return get(f.geev, "geev") && get(f.bdsdc, "bdsdc") && get(f.stedc, "stedc") && get(f.laed4, "laed4") && get(f.getrf, "getrf") &&
         get(f.potrf, "potrf") && get(f.gemm, "gemm") && get(f.trsm, "trsm");
}

/// OpenBLAS goes by the processor's model, and takes its oldest kernels for one that is newer than itself: eight times slower. While it is opened it is told by what
/// instructions it may go, unless the user tells it.
class KnownProcessor {
 public:
  KnownProcessor() {
#if defined(__x86_64__)
    if (std::getenv(kVariable) || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    is_set_ = ::setenv(kVariable, wide ? "SkylakeX" : "Haswell", 0) == 0;
#endif
  }
  KnownProcessor(const KnownProcessor&) = delete;
  KnownProcessor& operator=(const KnownProcessor&) = delete;
  ~KnownProcessor() {
    if (is_set_) ::unsetenv(kVariable);
  }

 private:
  static constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  bool is_set_ = false;
};

std::unique_ptr<Lapack> open(const char* name) {
  const KnownProcessor known;
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  auto out = std::make_unique<Lapack>();
  out->name = name;
  if (!find(library, 's', out->single) || !find(library, 'd', out->twice)) {
    dlclose(library);
    return nullptr;
  }
  // Its own threads wait for each other without end where processors are shared; matrices are shared out between ours.
  for (const char* const function : {"openblas_set_num_threads", "MKL_Set_Num_Threads"}) {
    auto* const set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, function));
    if (!set_threads) continue;
    set_threads(1);
    out->fast = true;
    break;
  }
  return out;
}

std::unique_ptr<Lapack> open_any() {
  if (const char* const name = std::getenv("TEGULA_LAPACK"); name && *name) {
    if (std::string_view(name) == "none") return nullptr;
    if (auto found = open(name)) return found;
    const char* const reason = dlerror();
    throw Error({.op = "linear algebra",
                 .got = "TEGULA_LAPACK=" + std::string(name) + ", which cannot be used" + (reason ? std::string(": ") + reason : ""),
                 .expected = "a shared library with the functions of LAPACK, or none"});
  }
  for (const char* const name : {"libopenblas.so.0", "liblapack.so.3"})
    if (auto found = open(name)) return found;
  return nullptr;
}

}  // namespace

const Lapack* lapack() {
  static const std::unique_ptr<Lapack> library = open_any();
  return library.get();
}

}  // namespace tegula::host

namespace tegula::runtime {

std::string linear_algebra_library() {
  const host::Lapack* const library = host::lapack();
  if (!library) return "our own (no libopenblas.so.0 and no liblapack.so.3, or TEGULA_LAPACK=none)";
  if (!library->fast) return library->name + " for eig, our own for the rest";
  return library->name + " for eig, for products, for blocks of cholesky and for the diagonals of eigh and svd, our own for the rest";
}

}  // namespace tegula::runtime

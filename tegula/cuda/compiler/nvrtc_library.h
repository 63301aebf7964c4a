#pragma once
// NVRTC itself, NVIDIA's run-time compiler: the library, and one translation unit.

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/cuda/compiler/shared_library.h"

namespace tegula::gpu {

constexpr const char* kNvrtc = "NVRTC";

/// The part of nvrtc.h that is used, as its documentation gives it.
class Nvrtc {
 public:
  using Result = int;
  using Handle = struct Opaque*;
  static constexpr Result kSuccess = 0, kCompilationFailed = 6;

  /// Opened at the first call. Throws Error naming the library.
  static const Nvrtc& get();

  int version = 0;  // 13000 for 13.0
  Result (*create)(Handle*, const char* source, const char* name, int headers, const char* const* contents, const char* const* names);
  Result (*destroy)(Handle*);
  Result (*compile)(Handle, int options, const char* const* texts);
  Result (*log_size)(Handle, std::size_t*);
  Result (*log)(Handle, char*);
  Result (*cubin_size)(Handle, std::size_t*);
  Result (*cubin)(Handle, char*);
  Result (*ptx_size)(Handle, std::size_t*);
  Result (*ptx)(Handle, char*);
  const char* (*error_text)(Result);
  /// Compiles something small: the first unit of a process takes longer than the others.
  static void warm_up();
  /// An address in the library.
  const void* place() const { return reinterpret_cast<const void*>(get_version_); }

 private:
  Nvrtc();
  template <class F>
  void find(F& function, const char* symbol) const {
    function = library_.function<std::remove_pointer_t<F>>(symbol);
  }
  Library library_;
  Result (*get_version_)(int*, int*);
};

/// A translation unit after compilation. Throws Error with the compiler's log.
class Unit {
 public:
  Unit(const std::string& source, const std::vector<std::string>& options);
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  ~Unit() { nvrtc_.destroy(&handle_); }

  const std::string& log() const { return log_; }
  std::string ptx() const { return text(nvrtc_.ptx_size, nvrtc_.ptx); }
  std::vector<char> cubin() const;

 private:
  std::string text(Nvrtc::Result (*size_of_text)(Nvrtc::Handle, std::size_t*), Nvrtc::Result (*get)(Nvrtc::Handle, char*)) const;
  const Nvrtc& nvrtc_ = Nvrtc::get();
  Nvrtc::Handle handle_ = nullptr;
  std::string log_;
};

}  // namespace tegula::gpu

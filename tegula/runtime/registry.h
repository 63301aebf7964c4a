#pragma once
// The devices of this machine.

#include <string>
#include <string_view>

#include "tegula/core/check.h"
#include "tegula/core/line.h"
#include "tegula/core/warning.h"

namespace tegula::runtime {
class Device;
class DeviceFindings;
}  // namespace tegula::runtime

namespace tegula {

using Device = runtime::Device;

/// The CPU.
Device& cpu();

/// The NVIDIA GPU with this number. The CUDA side is a shared library of its own (libtegula_cuda.so beside the program or the library,
/// or in TEGULA_CUDA_LIBRARY), opened at the first call. Throws Error saying which of these is missing: the library, the driver (or it is
/// too old), a device, a device of a new enough architecture (sm_75).
Device& cuda(int index = 0, Line where = Line::current());

/// The number of GPUs that can be used; 0 without throwing when there is none. `why`, when given, gets the sentence cuda() would throw.
int cuda_count(std::string* why = nullptr);

/// "cpu", "cuda", "cuda:1". Throws Error for other names.
Device& device(std::string_view name, Line where = Line::current());

/// Sets the device for all later computation, on all threads; the CPU if this is never called. Tensors elsewhere move when they are
/// first used.
void set_default_device(Device& device);
Device& default_device();

/// Another default device for this thread while it lives: ranks that are threads, work on a second GPU.
class DeviceScope {
 public:
  explicit DeviceScope(Device& device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device* before_;
};

}  // namespace tegula

namespace tegula::runtime {

/// The device by the number that buffers carry (0: cpu, 1 + index: cuda).
Device& device_of(int number);
/// True if the registry has a device of this number. A device made elsewhere (the tests have some) is known to its buffers alone.
bool has_device(int number);

/// The interface of libtegula_cuda.so: one function, `extern "C" const CudaLibrary* tegula_cuda_library(int interface)`; it returns null if it was built
/// with other headers than the caller (CMake gives both their fingerprint, TEGULA_INTERFACE).
struct CudaLibrary {
  /// The number of usable devices; when 0, `why` says what is missing.
  int (*count)(std::string& why);
  /// The device; lives as long as the process. Throws Error.
  Device& (*open)(int index);
  /// The findings of a device that is open.
  DeviceFindings& (*findings)(int index);
  /// Sends its warnings and texts to the program's handler (core/warning.h).
  void (*forward_warnings)(Shown warn, Shown show_text);
  /// Asks the program which checks are on (core/check.h).
  void (*ask_for_checks)(bool (*program)(Check check));
};

}  // namespace tegula::runtime

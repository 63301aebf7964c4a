// Kernels of a user's own in CUDA C++, by the emulator.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tegula/cpu/calls/library.h"
#include "tegula/emulator/kernel.h"

namespace tegula::host {
namespace {

using runtime::CudaKernel;
using runtime::CudaTensor;

class EmulatedCall final : public runtime::Call {
 public:
  explicit EmulatedCall(CudaKernel d) : d_(std::move(d)) {}

  std::size_t scratch_bytes() const override {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < d_.tensors.size(); ++i) bytes += d_.is_unwanted(i) ? padded(i) : 0;
    return bytes;
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    std::vector<void*> all(buffers.begin(), buffers.end());
    auto* scratch = static_cast<std::byte*>(options.scratch);
    for (std::size_t i = static_cast<std::size_t>(d_.inputs); i < d_.tensors.size(); ++i) {
      if (d_.is_unwanted(i)) all[i] = scratch, scratch += padded(i);
      const CudaTensor& result = d_.tensors[i];
      if (result.bytes() == 0) continue;
      if (result.begins == CudaTensor::Begins::Filled) fill(result, static_cast<std::byte*>(all[i]));
      if (result.begins == CudaTensor::Begins::Copied && all[i] != all[static_cast<std::size_t>(result.bits)])
        std::memcpy(all[i], all[static_cast<std::size_t>(result.bits)], result.bytes());
    }
    emulator::launch(d_, all, options.line);
  }

  std::string describe() const override { return "CUDA C++ " + d_.name + ", emulated"; }

 private:
  std::size_t padded(std::size_t tensor) const { return (d_.tensors[tensor].bytes() + 63) / 64 * 64; }
  static void fill(const CudaTensor& result, std::byte* at) {
    const std::size_t size = size_of(result.dtype);
    for (std::size_t i = 0; i < result.bytes(); i += size) std::memcpy(at + i, &result.bits, size);
  }

  CudaKernel d_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_cuda_kernel(const runtime::CudaKernel& description) {
  return std::make_unique<EmulatedCall>(description);
}

}  // namespace tegula::host

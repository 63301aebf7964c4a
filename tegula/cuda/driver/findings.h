#pragma once
// The findings of a card: code of kernels, choices in the tuning file, versions of NVIDIA's libraries.

#include "tegula/cuda/driver/context.h"
#include "tegula/cuda/driver/kernel.h"
#include "tegula/runtime/findings.h"

namespace tegula::gpu {

class CudaFindings final : public runtime::DeviceFindings {
 public:
  CudaFindings(Context& context, const CodeCache& code) : context_(context), code_(code) {}
  std::uint64_t moment() override;
  runtime::Findings since(std::uint64_t moment) override;
  void take(runtime::Findings findings) override;
  /// NVRTC may be missing: the kernels are there.
  std::optional<std::string> other_version(const std::string& library, const std::string& version) override;

 private:
  Context& context_;
  const CodeCache& code_;
};

}  // namespace tegula::gpu

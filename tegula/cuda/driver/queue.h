#pragma once
// The streams of a GPU as its queues.

#include <memory>
#include <span>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

class CudaQueue final : public runtime::Queue {
 public:
  CudaQueue(runtime::Device& device, runtime::Use use, Context& context) : Queue(device, use), context_(context) {}
  void launch(const runtime::Kernel& kernel, std::span<const runtime::ArgumentSet> sets, const runtime::LaunchOptions& options) override;
  void run(const runtime::Call& call, std::span<void* const> buffers, const runtime::RunOptions& options) override;
  void copy_in(void* device, const void* host, std::size_t bytes) override;
  void copy_out(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  runtime::Event mark() override;
  void wait(const runtime::Event& event) override;
  void synchronize() override;
  std::unique_ptr<runtime::Recording> record(const std::function<void()>& work) override;
  std::unique_ptr<runtime::Recording> record(std::span<const runtime::RecordedStep> steps) override;

 private:
  Context& context_;
};

}  // namespace tegula::gpu

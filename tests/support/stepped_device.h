#pragma once
// A device whose products consist of several steps: what tests plans with such calls where there is no GPU.

#include <algorithm>
#include <cstring>

#include "tegula/runtime/call_steps.h"
#include "tests/support/queued_device.h"

namespace tegula::test {

/// (from) -> to, bytes as they are.
class CopyCall final : public runtime::Call {
 public:
  explicit CopyCall(std::size_t bytes) : bytes_(bytes) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override { std::memcpy(buffers[1], buffers[0], bytes_); }
  std::string describe() const override { return std::to_string(bytes_) + " bytes"; }

 private:
  std::size_t bytes_;
};

/// x = max(x, 0), in place.
class ReluCall final : public runtime::Call {
 public:
  explicit ReluCall(std::int64_t count) : count_(count) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions&) const override {
    auto* const x = static_cast<float*>(buffers[0]);
    for (std::int64_t i = 0; i < count_; ++i) x[i] = std::max(x[i], 0.f);
  }
  std::string describe() const override { return "relu"; }

 private:
  std::int64_t count_;
};

/// A device whose products of f32 multiply a copy of A, and leave relu to a step behind them.
class SteppedDevice final : public test::QueuedDevice {
 public:
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription& d) override {
    const auto* const product = std::get_if<runtime::Matmul>(&d);
    if (!product || product->dtype() != f32 || runtime::sums_of(product->epilogue).channel || !product->a.layout.is_dense() ||
        !product->c.layout.is_dense())
      return QueuedDevice::make(d);
    runtime::Matmul plain = *product;
    if (has_epilogues) plain.epilogue = {};
    const auto bytes = static_cast<std::size_t>(numel(plain.a.layout.shape)) * 4;
    const auto there = runtime::StepOperand::temporary(0, runtime::Access::Writes),
               back = runtime::StepOperand::temporary(0, runtime::Access::Reads);
    runtime::CallSteps steps{.temporaries = {bytes}, .steps = {}};
    steps.steps.push_back({"copy of the input", wrap(std::make_unique<CopyCall>(bytes)), {runtime::StepOperand::reads(0), there}});
    steps.steps.push_back({"", QueuedDevice::make(plain), {back, runtime::StepOperand::reads(1), runtime::StepOperand::writes(2)}});
    if (product->epilogue != plain.epilogue)
      steps.steps.push_back(
          {"epilogue", wrap(std::make_unique<ReluCall>(numel(plain.c.layout.shape))), {runtime::StepOperand::updates(2)}});
    return runtime::call_of(std::move(steps), 3);
  }
  bool has_epilogues = true;  // false: products have their relu, and two steps
  static SteppedDevice& get() {
    static auto& device = *new SteppedDevice;
    return device;
  }
};

}  // namespace tegula::test

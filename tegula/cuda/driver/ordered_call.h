#pragma once
// A library call behind the doors of a device.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/call_steps.h"
#include "tegula/runtime/device.h"

namespace tegula::gpu {

/// A library call behind the doors that everything on the stream goes through. The call is made when it is first looked at, unless it is there.
class OrderedCall final : public runtime::Call {
 public:
  using Make = std::function<std::unique_ptr<runtime::Call>()>;
  OrderedCall(Context& context, Make make) : context_(context), make_(std::move(make)) {}
  OrderedCall(Context& context, std::shared_ptr<const runtime::Call> call) : context_(context), call_(std::move(call)) {}
  const runtime::CallSteps* steps() const override {
    const std::scoped_lock lock(context_.order);
    const runtime::CallSteps* const inner = steps_ ? nullptr : call().steps();
    if (inner) {
      steps_ = *inner;
      for (runtime::CallStep& step : steps_->steps) step.call = std::make_shared<OrderedCall>(context_, std::move(step.call));
    }
    return steps_ ? &*steps_ : nullptr;
  }
  std::size_t scratch_bytes() const override {
    const std::scoped_lock lock(context_.order);
    return call().scratch_bytes();
  }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const std::scoped_lock lock(context_.order);
    call().run(buffers, options);
  }
  std::string describe() const override {
    const std::scoped_lock lock(context_.order);
    return call().describe();
  }

 private:
  const runtime::Call& call() const {
    context_.enter();
    if (!call_) call_ = make_();
    return *call_;
  }

  Context& context_;
  Make make_;
  mutable std::shared_ptr<const runtime::Call> call_;
  mutable std::optional<runtime::CallSteps> steps_;  // each behind the same doors
};

}  // namespace tegula::gpu

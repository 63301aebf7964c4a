#include "tegula/runtime/call_steps.h"

#include <algorithm>
#include <utility>

namespace tegula::runtime {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

class SteppedCall final : public Call {
 public:
  explicit SteppedCall(CallSteps steps) : steps_(std::move(steps)) {
    for (const std::size_t bytes : steps_.temporaries) offsets_.push_back(std::exchange(own_scratch_, own_scratch_ + aligned(bytes)));
  }

  const CallSteps* steps() const override { return &steps_; }

  std::size_t scratch_bytes() const override {
    std::size_t most = 0;
    for (const CallStep& step : steps_.steps) most = std::max(most, step.call->scratch_bytes());
    return own_scratch_ + most;
  }

  void run(std::span<void* const> buffers, const RunOptions& options) const override {
    auto* const scratch = static_cast<std::byte*>(options.scratch);
    for (const CallStep& step : steps_.steps) {
      std::vector<void*> own;
      for (const StepOperand& operand : step.operands) {
        const auto index = static_cast<std::size_t>(operand.index);
        own.push_back(operand.kind == StepOperand::Kind::Buffer ? buffers[index] : scratch + offsets_[index]);
      }
      RunOptions of_step = options;
      of_step.scratch = scratch ? scratch + own_scratch_ : nullptr;
      step.call->run(own, of_step);
    }
  }

  std::string describe() const override {
    std::string text;
    for (const CallStep& step : steps_.steps)
      text += (text.empty() ? "" : "; ") + (step.name.empty() ? "" : step.name + ": ") + step.call->describe();
    return text;
  }

 private:
  CallSteps steps_;
  std::vector<std::size_t> offsets_;
  std::size_t own_scratch_ = 0;  // bytes of all temporaries
};

/// A step whose call has steps becomes those, in its place.
CallSteps flattened(CallSteps from) {
  CallSteps out{.temporaries = std::move(from.temporaries), .steps = {}};
  for (CallStep& step : from.steps) {
    const CallSteps* const inner = step.call->steps();
    if (!inner) {
      out.steps.push_back(std::move(step));
      continue;
    }
    const int first = static_cast<int>(out.temporaries.size());
    out.temporaries.insert(out.temporaries.end(), inner->temporaries.begin(), inner->temporaries.end());
    for (CallStep own : inner->steps) {
      for (StepOperand& operand : own.operands) {
        const Access access = operand.access;
        if (operand.kind == StepOperand::Kind::Temporary) operand.index += first;
        else operand = step.operands[static_cast<std::size_t>(operand.index)];
        operand.access = access;
      }
      if (own.name.empty()) own.name = step.name;
      out.steps.push_back(std::move(own));
    }
  }
  return out;
}

/// A step's call as a call of its own.
class OnlyStep final : public Call {
 public:
  explicit OnlyStep(std::shared_ptr<const Call> call) : call_(std::move(call)) {}
  std::size_t scratch_bytes() const override { return call_->scratch_bytes(); }
  void run(std::span<void* const> buffers, const RunOptions& options) const override { call_->run(buffers, options); }
  std::string describe() const override { return call_->describe(); }

 private:
  std::shared_ptr<const Call> call_;
};

}  // namespace

std::unique_ptr<Call> call_of(CallSteps steps, std::size_t buffers) {
  steps = flattened(std::move(steps));
  const auto takes_all = [&](const CallStep& step) {
    if (step.operands.size() != buffers) return false;
    for (std::size_t b = 0; b < buffers; ++b)
      if (step.operands[b].kind != StepOperand::Kind::Buffer || step.operands[b].index != static_cast<int>(b)) return false;
    return true;
  };
  if (steps.steps.size() == 1 && takes_all(steps.steps[0])) return std::make_unique<OnlyStep>(std::move(steps.steps[0].call));
  return std::make_unique<SteppedCall>(std::move(steps));
}

}  // namespace tegula::runtime

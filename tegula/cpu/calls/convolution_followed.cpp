// A convolution by any way that computes only the convolution, and a pass over its result for the addend and the expression.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/core/memory_rows.h"
#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/call_steps.h"

namespace tegula::host {
namespace {

using runtime::Activation;
using runtime::Convolution;
using runtime::StepOperand;

/// (numbers…[, addend], output): the output in place.
class FollowingCall final : public runtime::Call {
 public:
  explicit FollowingCall(const Convolution& d) : description_(d), most_threads_(library_threads()) {
    const Layout& y = d.output.layout;
    for (const int axis : axes_by_stride(y)) sizes_.push_back(y.shape[axis]), strides_.push_back(y.strides[axis]);
    if (sizes_.empty()) sizes_ = {1}, strides_ = {1};
    lines_ = numel(y.shape) == 0 ? 0 : numel(y.shape) / sizes_.front();
  }

  std::string describe() const override {
    std::string text = description_.addend ? "add" : "";
    if (description_.activation == Activation::Relu) text += text.empty() ? "relu" : ", relu";
    for (const tile::Word word : description_.behind.words) text += (text.empty() ? "" : ", ") + std::string(tile::name(word));
    return text;
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto numbers = buffers.first(description_.behind.words.size());
    auto* const y = static_cast<float*>(buffers.back());
    const auto* const addend = description_.addend ? static_cast<const float*>(buffers[numbers.size()]) : nullptr;
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      const Range mine = share(lines_, thread, count);
      for (std::int64_t line = mine.begin; line < mine.end; ++line) follow(begin_of(line), y, addend, numbers);
    });
  }

 private:
  std::int64_t begin_of(std::int64_t line) const {
    std::int64_t out = 0;
    for (std::size_t i = 1; i < sizes_.size(); ++i) out += line % sizes_[i] * strides_[i], line /= sizes_[i];
    return out;
  }
  /// A NaN stays one.
  void follow(std::int64_t begin, float* y, const float* addend, std::span<void* const> numbers) const {
    const std::int64_t size = sizes_.front(), step = strides_.front();
    float* const to = y + begin;
    if (addend) {
      for (std::int64_t i = 0; i < size; ++i) to[i * step] += addend[begin + i * step];
    }
    if (description_.activation == Activation::Relu) {
      for (std::int64_t i = 0; i < size; ++i) to[i * step] = to[i * step] <= 0 ? 0 : to[i * step];
    }
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const float number = *static_cast<const float*>(numbers[k]);
      const bool most = description_.behind.words[k] == tile::Word::Min;
      for (std::int64_t i = 0; i < size; ++i) {
        float& x = to[i * step];
        const bool fits = most ? x <= number : x >= number;
        x = fits || x != x ? x : number;
      }
    }
  }

  Convolution description_;
  std::vector<std::int64_t> sizes_, strides_;  // of the result's axes, the innermost in memory first
  std::int64_t lines_ = 0;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_followed_convolution(const Convolution& d) {
  Convolution alone = d;
  alone.addend = false, alone.behind = {}, alone.activation = Activation::None;
  const int own = d.bias ? 3 : 2, last = own + static_cast<int>(d.behind.words.size()) + (d.addend ? 1 : 0);
  std::vector<StepOperand> operands, behind;
  for (int buffer = 0; buffer < last; ++buffer) (buffer < own ? operands : behind).push_back(StepOperand::reads(buffer));
  operands.push_back(StepOperand::writes(last)), behind.push_back(StepOperand::updates(last));
  runtime::CallSteps steps;
  steps.steps.push_back({"", make_convolution(alone), std::move(operands)});
  steps.steps.push_back({"epilogue", std::make_unique<FollowingCall>(d), std::move(behind)});
  return runtime::call_of(std::move(steps), static_cast<std::size_t>(last) + 1);
}

}  // namespace tegula::host

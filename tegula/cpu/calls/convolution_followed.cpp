// A convolution by any way that computes only the convolution, and a pass over its result for the rest of the epilogue.

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/core/memory_rows.h"
#include "tegula/cpu/calls/convolution.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/calls/row_words.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/call_steps.h"

namespace tegula::host {
namespace {

using runtime::Convolution;
using runtime::StepOperand;
using ValueSource = runtime::Expression::Source;

/// The expression of the output, in place: (those that it reads…, output).
class FollowingCall final : public runtime::Call {
 public:
  FollowingCall(const Convolution& d, const runtime::Expression& expression)
      : words_(expression, d.dtype()),
        text_(runtime::to_string(expression).substr(1)),
        most_threads_(library_threads()) {
    for (const ValueSource source : expression.reads()) moves_.push_back(source != ValueSource::Number);
    const Layout& y = d.output.layout;
    for (const int axis : axes_by_stride(y)) sizes_.push_back(y.shape[axis]), strides_.push_back(y.strides[axis]);
    if (sizes_.empty() || strides_.front() != 1) sizes_.insert(sizes_.begin(), 1), strides_.insert(strides_.begin(), 1);
    lines_ = numel(y.shape) / std::max<std::int64_t>(sizes_.front(), 1);
  }

  std::string describe() const override { return text_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int thread, int count) {
      std::vector<const void*> reads(moves_.size());
      const Range mine = share(lines_, thread, count);
      for (std::int64_t line = mine.begin; line < mine.end; ++line) {
        const std::int64_t begin = begin_of(line);
        for (std::size_t k = 0; k < reads.size(); ++k) reads[k] = static_cast<const float*>(buffers[k]) + (moves_[k] ? begin : 0);
        words_.run(static_cast<float*>(buffers.back()) + begin, sizes_.front(), reads);
      }
    });
  }

 private:
  std::int64_t begin_of(std::int64_t line) const {
    std::int64_t out = 0;
    for (std::size_t i = 1; i < sizes_.size(); ++i) out += line % sizes_[i] * strides_[i], line /= sizes_[i];
    return out;
  }

  RowWords words_;
  std::string text_;
  std::vector<bool> moves_;  // of what is read: along the line
  std::vector<std::int64_t> sizes_, strides_;  // of the result's axes, the innermost in memory first
  std::int64_t lines_ = 0;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_followed_convolution(const Convolution& d) {
  runtime::Sums sums = runtime::sums_of(d.epilogue);
  Convolution alone = d;
  alone.epilogue = runtime::expression_of({.channel = sums.channel});
  const int own = sums.channel ? 3 : 2, last = 2 + static_cast<int>(d.epilogue.reads().size());
  sums.channel = false;
  std::vector<StepOperand> operands, behind;
  for (int buffer = 0; buffer < last; ++buffer) (buffer < own ? operands : behind).push_back(StepOperand::reads(buffer));
  operands.push_back(StepOperand::writes(last)), behind.push_back(StepOperand::updates(last));
  runtime::CallSteps steps;
  steps.steps.push_back({"", make_convolution(alone), std::move(operands)});
  steps.steps.push_back({"epilogue", std::make_unique<FollowingCall>(d, runtime::expression_of(sums)), std::move(behind)});
  return runtime::call_of(std::move(steps), static_cast<std::size_t>(last) + 1);
}

}  // namespace tegula::host

#include "tegula/cpu/calls/widened.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/memory_rows.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/call_steps.h"

namespace tegula::host {
namespace {

using runtime::Access;
using runtime::StepOperand;

MemoryRows rows_of(const Layout& layout) {
  if (const auto rows = memory_rows(layout)) return *rows;
  throw Error({.op = "a call of halves", .got = "strides " + to_string(layout.strides), .expected = "elements in rows"});
}

/// (halves in rows) -> f32 without room between them; or (f32) -> halves, unless nobody wants them.
class ConvertCall final : public runtime::Call {
 public:
  ConvertCall(DType dtype, const MemoryRows& rows, bool widens)
      : dtype_(dtype),
        rows_(rows),
        widens_(widens),
        most_threads_(library_threads()) {}

  std::string describe() const override {
    return std::to_string(rows_.count * rows_.length) + (widens_ ? " from " : " to ") + std::string(name(dtype_));
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (!buffers[1]) return;
    each_piece(std::clamp(options.threads, 1, most_threads_), [&](std::int64_t lies, std::int64_t dense, std::int64_t count) {
      if (widens_) widen(dtype_, static_cast<const std::uint16_t*>(buffers[0]) + lies, static_cast<float*>(buffers[1]) + dense, count);
      else narrow(dtype_, static_cast<const float*>(buffers[0]) + dense, static_cast<std::uint16_t*>(buffers[1]) + lies, count);
    });
  }

 private:
  /// visit(where elements lie, where they are without room, how many).
  template <class Visit>
  void each_piece(int threads, Visit visit) const {
    parallel(threads, [&](int thread, int count) {
      if (rows_.count == 1) {
        const Range r = share(rows_.length, thread, count);
        return visit(r.begin, r.begin, r.end - r.begin);
      }
      const Range r = share(rows_.count, thread, count);
      for (std::int64_t row = r.begin; row < r.end; ++row) visit(row * rows_.distance, row * rows_.length, rows_.length);
    });
  }

  DType dtype_;
  MemoryRows rows_;
  bool widens_;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_widened(std::unique_ptr<runtime::Call> inner, DType dtype, const std::vector<HalfBuffer>& buffers) {
  runtime::CallSteps all;
  std::vector<runtime::CallStep> behind;
  std::vector<StepOperand> operands;
  for (int i = 0; i < static_cast<int>(buffers.size()); ++i) {
    const auto& [name, layout, written] = buffers[static_cast<std::size_t>(i)];
    if (layout.shape.rank() == 0) {
      operands.push_back(written ? StepOperand::writes(i) : StepOperand::reads(i));
      continue;
    }
    const MemoryRows rows = rows_of(layout);
    const int wide = static_cast<int>(all.temporaries.size());
    const auto to = StepOperand::temporary(wide, Access::Writes), from = StepOperand::temporary(wide, Access::Reads);
    all.temporaries.push_back(static_cast<std::size_t>(rows.count * rows.length) * sizeof(float));
    auto convert = std::make_unique<ConvertCall>(dtype, rows, !written);
    if (written) behind.push_back({"rounding of the " + std::string(name), std::move(convert), {from, StepOperand::writes(i)}});
    else all.steps.push_back({"widening of the " + std::string(name), std::move(convert), {StepOperand::reads(i), to}});
    operands.push_back(written ? to : from);
  }
  all.steps.push_back({"", std::move(inner), std::move(operands)});
  std::ranges::move(behind, std::back_inserter(all.steps));
  return runtime::call_of(std::move(all), buffers.size());
}

Layout widened_layout(const Layout& layout) { return without_room(layout, rows_of(layout)); }

}  // namespace tegula::host

// Library calls that report a failure: an op's error at the user's line, before any Variable changes, from devices that run at once and from queues.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/op.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/variable.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/runtime/registry.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// Square roots by a "library", which reports the first element below zero.
class Roots final : public runtime::Call {
 public:
  explicit Roots(std::int64_t count) : count_(count) {}
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* const x = static_cast<const float*>(buffers[0]);
    auto* const y = static_cast<float*>(buffers[1]);
    for (std::int64_t i = 0; i < count_; ++i) {
      y[i] = std::sqrt(std::abs(x[i]));
      if (x[i] < 0) runtime::report(options.failure, 0, i);
    }
  }
  std::string describe() const override { return "roots"; }

 private:
  std::int64_t count_;
};

class Queue final : public test::QueuedDevice {
 public:
  static Queue& device() {
    static auto& one = *new Queue;  // see QueuedDevice::create
    return one;
  }
  using QueuedDevice::wrap;
};

class RootsOp final : public LibraryOp {
 public:
  std::string_view name() const override { return "roots"; }
  bool has_check() const override { return true; }
  std::string check_message(std::int64_t, std::int64_t value) const override {
    return "a number below zero at place " + std::to_string(value);
  }
  std::string check_advice() const override { return "take abs(x)"; }
  bool accepts(const runtime::Device&, int, const Layout& layout) const override { return layout.is_dense(); }
  double operations(std::span<const Shape> inputs, const Shape&) const override { return static_cast<double>(numel(inputs[0])); }
  std::unique_ptr<runtime::Call> prepare(runtime::Device& device, const Setting& setting) const override {
    auto call = std::make_unique<Roots>(numel(setting.results[0].shape));
    if (device.traits().queues) return static_cast<Queue&>(device).wrap(std::move(call));
    return call;
  }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {}
};

Tensor roots(const Tensor& x, Line where = Line::current()) {
  return make_node(Ref<const Op>(new RootsOp), {x}, x.shape(), x.dtype(), where);
}

class FailingCalls : public testing::TestWithParam<bool> {
 protected:
  test::OnDevice here_{GetParam() ? static_cast<runtime::Device&>(Queue::device()) : runtime::cpu()};
};
INSTANTIATE_TEST_SUITE_P(Devices, FailingCalls, testing::Bool(), [](const auto& info) { return info.param ? "Queue" : "Cpu"; });

TEST_P(FailingCalls, NameTheUsersLineAndChangeNothing) {
  Variable w(tensor({1.F, 4.F, 9.F})), steps(Tensor(0.F));
  std::uint32_t line = 0;
  auto step = jit([&](Tensor x) {
    steps = steps + 1;
    line = Line::current().line() + 1;
    const Tensor y = roots(x * w);
    w = w + y;
    return sum(y);
  });
  const auto run = [&](float factor) { return step(tensor({1.F, factor, factor})).item(); };
  EXPECT_EQ(run(1), 1 + 2 + 3);
  const std::vector<float> before = w.read().to_host();
  EXPECT_EQ(before, (std::vector<float>{2, 6, 12}));
  for (int again = 0; again < 3; ++again) {  // as separate steps, and from a recording
    try {
      run(-1);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.report().op, "roots");
      EXPECT_EQ(error.report().got, "a number below zero at place 1");
      EXPECT_EQ(error.report().advice, "take abs(x)");
      EXPECT_EQ(error.report().where.line(), line);
    }
    EXPECT_EQ(w.read().to_host(), before);
    EXPECT_EQ(steps.read().item(), 1);
  }
  run(0);
  EXPECT_EQ(steps.read().item(), 2);
}

}  // namespace
}  // namespace tegula

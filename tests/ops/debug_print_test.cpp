// debug_print: a value is printed whenever it is computed, and nothing else changes.

#include "tegula/ops/debug_print.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "tegula/core/warning.h"
#include "tegula/tegula.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// On the device of the tests, and on one that queues.
class DebugPrint : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) set_default_device(test::QueuedDevice::create());
    set_warning_handler([this](const std::string& name, const std::string& text) {
      const std::scoped_lock lock(mutex_);
      if (name == "debug_print") printed_.push_back(text);
    });
  }
  void TearDown() override {
    set_warning_handler(nullptr);
    set_default_device(before_);
  }
  /// The text printed since the last call.
  std::vector<std::string> printed() {
    default_device().synchronize();
    const std::scoped_lock lock(mutex_);
    return std::exchange(printed_, {});
  }

 private:
  runtime::Device& before_ = default_device();
  std::mutex mutex_;
  std::vector<std::string> printed_;
};

std::string line_text(const std::string& name, int line, const std::string& value) {
  return name + " at " + std::string(Line::current().file_name()) + ":" + std::to_string(line) + ": " + value;
}

TEST_P(DebugPrint, PrintsWithNameAndLineWhereTheProgramSaysIt) {
  const Tensor x = tensor({1.f, 2.f});
  const int line = __LINE__ + 1;
  const Tensor y = debug_print(x * 2.f, "twice");
  EXPECT_EQ(printed(), std::vector<std::string>{line_text("twice", line, "[2, 4]  f32(2,)")});
  EXPECT_EQ((y + 1.f).to_host(), (std::vector<float>{3, 5}));
  EXPECT_TRUE(printed().empty()) << "it was computed once";
}

TEST_P(DebugPrint, PrintsAtEveryCallOfAJitWhetherItsResultIsReadOrNot) {
  int line = 0;
  auto f = jit([&](Tensor x) {
    const Tensor h = debug_print(x + 1.f, "h");
    debug_print(sum(h), "sum"), line = __LINE__;
    return h * 2.f;
  });
  for (int call = 0; call < 6; ++call) {  // traced at 1, 2 and 4; recorded from the third on where work is queued
    const float base = static_cast<float>(call);
    EXPECT_EQ(f(full({2}, base)).to_host(), std::vector<float>(2, 2 * (base + 1)));
    const std::string one = std::to_string(call + 1), two = std::to_string(2 * (call + 1));
    EXPECT_EQ(printed(), (std::vector<std::string>{line_text("h", line - 1, "[" + one + ", " + one + "]  f32(2,)"),
                                                   line_text("sum", line, two + "  f32()")}))
        << "call " << call;
  }
  EXPECT_EQ(f.executables(), 1);
}

TEST_P(DebugPrint, LetsGradientsPassAndDoesNotChangeThem) {
  auto f = jit([](Tensor x) {
    const Tensor y = debug_print(sin(x), "y");
    return grad(sum(y * y), x);
  });
  const Tensor x = tensor({0.5f, 1.f});
  const auto expected = grad(sum(sin(x) * sin(x)), x).to_host();
  const auto got = f(x).to_host();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6f);
  EXPECT_EQ(printed().size(), 1u);
}

TEST_P(DebugPrint, PrintsAtEveryStepOfAScan) {
  auto f = jit([](Tensor xs) {
    return scan(
               [](auto& carry, auto& x) {
                 const Tensor h = debug_print(carry[0] + x[0], "h");
                 return Scanned{{h}, {h}};
               },
               {Tensor(0.f)}, {xs})
        .ys[0];
  });
  const auto values = [&](std::vector<std::string> texts) {
    for (std::string& text : texts) text = text.substr(text.rfind(": ") + 2);
    return texts;
  };
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(f(tensor({1.f, 2.f, 3.f})).to_host(), (std::vector<float>{1, 3, 6}));
    EXPECT_EQ(values(printed()), (std::vector<std::string>{"1  f32()", "3  f32()", "6  f32()"}));
  }
}

TEST_P(DebugPrint, OfViewsHalvesIntegersAndOfNothing) {
  auto f = jit([](Tensor x) {
    debug_print(transpose(x), "t");
    debug_print(cast(x, bf16), "half");
    debug_print(cast(x, i64) > 2, "mask");
    debug_print(slice(x, 0, {0, 0}), "empty");
    return debug_print(x, "x") + 0.f;
  });
  EXPECT_EQ(f(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2})).to_host(), (std::vector<float>{1, 2, 3, 4}));
  const auto texts = printed();
  ASSERT_EQ(texts.size(), 5u);
  EXPECT_NE(texts[0].find("[[1, 3]"), std::string::npos) << texts[0];
  EXPECT_NE(texts[1].find("bf16(2, 2)"), std::string::npos) << texts[1];
  EXPECT_NE(texts[2].find("bool(2, 2)"), std::string::npos) << texts[2];
  EXPECT_NE(texts[3].find("f32(0, 2)"), std::string::npos) << texts[3];
  EXPECT_NE(texts[4].find("[[1, 2]"), std::string::npos) << texts[4];
}

TEST_P(DebugPrint, OfWeightsThatStayIsPrintedAtEveryCall) {
  Variable w(tensor({2.f}));
  auto f = jit([&](Tensor x) { return x * debug_print(w * 3.f, "w"); });
  for (int call = 0; call < 4; ++call) f(ones({1})).item();
  EXPECT_EQ(printed().size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(AtOnceAndQueued, DebugPrint, testing::Bool());

}  // namespace
}  // namespace tegula

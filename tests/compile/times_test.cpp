// print_times: where the time of a jit-ed function goes, told beside the program.

#include "tegula/compile/show/times.h"

#include <gtest/gtest.h>

#include <string>

#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using runtime::TimelineEvent;

TEST(Times, StepsOfOneNameAndLineAreOneRowAndSharesAreOfTheWhole) {
  const auto event = [](const char* name, std::int64_t begin, std::int64_t end, std::int64_t run, const char* where) {
    return TimelineEvent{.kind = TimelineEvent::Kind::Call, .name = name, .begin = begin, .end = end, .run = run, .where = where};
  };
  // Two runs of 4 ms: 1 + 1 ms of products at one line, 1 ms of an addition, 1 ms between them.
  const std::vector<TimelineEvent> events{
      event("gemm", 0, 1'000'000, 1, "a.cpp:1"),           event("gemm", 1'000'000, 2'000'000, 1, "a.cpp:1"),
      event("add", 3'000'000, 4'000'000, 1, "a.cpp:2"),    event("gemm", 10'000'000, 11'000'000, 2, "a.cpp:1"),
      event("gemm", 11'000'000, 12'000'000, 2, "a.cpp:1"), event("add", 13'000'000, 14'000'000, 2, "a.cpp:2")};
  const std::string table = compile::times_table(events);
  EXPECT_TRUE(contains(table, "4.000 ms a run, 3 steps; of 2 runs")) << table;
  const auto row = [&](const std::string& name) {
    const std::size_t at = table.find(name);
    return at == std::string::npos ? "" : table.substr(at, table.find('\n', at) - at);
  };
  EXPECT_TRUE(contains(row("gemm"), "2  2.000  50.0 %  a.cpp:1")) << table;
  EXPECT_TRUE(contains(row("add"), "1  1.000  25.0 %  a.cpp:2")) << table;
  EXPECT_TRUE(contains(row("between steps"), "1.000  25.0 %")) << table;
  EXPECT_LT(table.find("gemm"), table.find("add")) << "the longest first";
  EXPECT_EQ(compile::times_table({}), "");
}

class PrintTimes : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) set_default_device(test::QueuedDevice::create());
  }
  void TearDown() override { set_default_device(cpu()); }
};

TEST_P(PrintTimes, NamesTheUsersLinesAndChangesNothing) {
  Variable w(normal({64, 64}));
  optim::SGD sgd({{"w", w.cell()}}, {.lr = 0.01, .momentum = 0.9});
  int line = 0;
  auto step = jit([&](Tensor x, Tensor index) {
    const Tensor h = matmul(x, w.read());
    line = __LINE__ - 1;
    const Tensor loss = mean(square(take(h, index, 0)));
    sgd.step({grad(loss, w)});
    return loss;
  });
  EXPECT_EQ(step.print_times(), "");
  const auto call = [&] { return step(ones({128, 64}), tensor({std::int64_t{3}, std::int64_t{127}})).item(); };
  for (int i = 0; i < 5; ++i) call();
  const std::vector<float> before = w.read().to_host();
  const std::string table = step.print_times();
  EXPECT_TRUE(contains(table, " ms a run, ")) << table;
  EXPECT_TRUE(contains(table, "times_test.cpp:" + std::to_string(line))) << table;
  EXPECT_TRUE(contains(table, "between steps")) << table;
  EXPECT_EQ(w.read().to_host(), before);
  EXPECT_EQ(sgd.steps().item<std::int64_t>(), 5);
  const float next = call();
  EXPECT_TRUE(std::isfinite(next));
  EXPECT_EQ(sgd.steps().item<std::int64_t>(), 6);
}

TEST_P(PrintTimes, OfAFunctionWhoseArgumentIsAVariable) {
  Variable w(ones({32}));
  auto f = jit([&](Tensor x) { w = x * 2.f; });
  for (int i = 0; i < 3; ++i) f(w);
  EXPECT_TRUE(contains(f.print_times(), " ms a run, "));
  EXPECT_EQ(w.read().to_host(), std::vector<float>(32, 8));
}

INSTANTIATE_TEST_SUITE_P(AtOnceAndQueued, PrintTimes, testing::Bool());

}  // namespace
}  // namespace tegula

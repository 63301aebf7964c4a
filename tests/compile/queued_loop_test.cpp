// Long loops on a device that queues its work: a call that queues its body's steps, the same numbers as on the CPU, also from a recording.

#include <gtest/gtest.h>

#include "tegula/core/check.h"
#include "tegula/tegula.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;
constexpr std::int64_t kLength = 40;

/// Carried values that pass through, swap and are stacked; a Variable and random numbers; a weight that is kept in another dtype. With its gradient.
struct Recurrence {
  Variable w{0.3 * reshape(sin(arange(0.f, 36.f)), {6, 6})}, count{Tensor(0.f)};
  Generator generator{11};

  Tensors operator()(const Tensor& xs, const Tensor& start) {
    const Tensor weight = w.read();
    const Scanned out = scan(
        [&](const Tensors& c, const Tensors& x) {
          count = count.read() + 1;
          const Tensor h = tanh(matmul(c[0], weight) + x[0]);
          const Tensor kept = dropout(h, 0.25, &generator);
          return Scanned{{kept, c[2], c[1] + sum(h)}, {h, c[0]}};
        },
        {start, Tensor(0.f), Tensor(1.f)}, {xs});
    const Tensor y = sum(out.carry[0] * out.carry[0]) + 0.1 * sum(out.carry[1]) + sum(sin(out.ys[0])) + sum(out.ys[1]);
    Tensors results = grad(y, std::vector<Wrt>{w, xs, start});
    results.insert(results.begin(), {y, out.carry[0], out.carry[2], out.ys[1]});
    return results;
  }
};

/// The results of some calls of a jit-ed function, and the Variable's value afterwards.
std::vector<std::vector<double>> values(Precision precision) {
  manual_seed(5);
  Recurrence recurrence;
  const Tensor xs = reshape(cos(arange(0.f, static_cast<float>(kLength * 12))), {kLength, 2, 6}), start = 0.1 * ones({2, 6});
  eval(xs, start);
  auto step = jit([&](Tensor a, Tensor b) {
    const PrecisionScope scope(precision);
    return recurrence(a, b);
  });
  std::vector<std::vector<double>> out;
  for (int call = 0; call < 5; ++call)
    for (const Tensor& result : step(xs, start)) out.push_back(result.to_host<double>());
  out.push_back({recurrence.count.read().item<double>()});
  return out;
}

class QueuedLoop : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(In, QueuedLoop, testing::Values(Precision::fp32, Precision::bf16));

TEST_P(QueuedLoop, IsTheOneOfTheCpu) {
  const auto expected = [] {
    const test::OnDevice there(cpu());
    return values(GetParam());
  }();
  auto& device = test::QueuedDevice::create();
  device.table.loop_nodes = 0;
  const test::OnDevice here(device);
  const auto got = values(GetParam());
  EXPECT_TRUE(device.counters.replays > 0 || checking(Check::Memory));
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_EQ(got.back()[0], 5 * kLength);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), expected[i].size());
    for (std::size_t j = 0; j < got[i].size(); ++j)
      ASSERT_NEAR(got[i][j], expected[i][j], 1e-4 * (1 + std::abs(expected[i][j]))) << i << " " << j;
  }
}

TEST(QueuedLoops, APlanDoesNotGrowWithTheLength) {
  auto& device = test::QueuedDevice::create();
  device.table.loop_nodes = 100;
  const test::OnDevice here(device);
  const auto foreseen_of = [&](std::int64_t length) {
    auto total = jit([](Tensor x) {
      return scan([](const Tensors& c, const Tensors& in) { return Scanned{{tanh(c[0] * 0.5 + in[0])}, {}}; }, {Tensor(0.f)}, {x}).carry[0];
    });
    const int before = device.counters.foreseen + device.counters.unforeseen;
    total(ones({length})).item();
    return device.counters.foreseen + device.counters.unforeseen - before;
  };
  const int few = foreseen_of(1000), many = foreseen_of(3000);
  EXPECT_LE(many, few);
}

}  // namespace
}  // namespace tegula

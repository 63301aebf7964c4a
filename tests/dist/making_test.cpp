// Exchanges are carried out once their op has been made, in program order, whichever result is read first.
#include <gtest/gtest.h>

#include <vector>

#include "tegula/dist/collectives/collectives.h"
#include "tegula/graph/frame.h"
#include "tegula/tegula.h"
#include "tests/dist/ranks.h"

namespace tegula {
namespace {

TEST(MakingExchanges, RunInProgramOrderWhicheverIsLookedAtFirst) {
  const auto failures = test::failures_of(3, [](int rank) {
    const Tensor x = full({2}, rank + 1.0);
    Tensor first, second;
    {
      const In frame("layer", Line::current());
      first = dist::all_reduce(x);
      second = dist::all_reduce(x * 10.0);
      EXPECT_FALSE(first.node()->has_value() || second.node()->has_value()) << "nothing runs while the layer is being made";
      if (rank == 0) { EXPECT_EQ(second.to_host<double>(), (std::vector<double>{60, 60})); }  // the others look when the frame has closed
    }
    EXPECT_TRUE(first.node()->has_value() && second.node()->has_value());
    EXPECT_EQ(first.to_host<double>(), (std::vector<double>{6, 6}));
    EXPECT_EQ(second.to_host<double>(), (std::vector<double>{60, 60}));
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST(MakingExchanges, ComeBeforeABarrierAndBeforeACompiledFunction) {
  const auto failures = test::failures_of(2, [](int) {
    const In frame("layer", Line::current());
    const Tensor sum = dist::all_reduce(ones({2}));
    dist::barrier();
    EXPECT_TRUE(sum.node()->has_value());
    const Tensor again = dist::all_reduce(ones({2}) * 3.0);
    auto step = jit([](const Tensor& x) { return dist::all_reduce(x); });
    EXPECT_EQ(step(ones({2})).to_host<double>(), (std::vector<double>{2, 2}));
    EXPECT_TRUE(again.node()->has_value());
    EXPECT_EQ(again.to_host<double>(), (std::vector<double>{6, 6}));
  });
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace tegula

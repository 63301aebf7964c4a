// The cost formulas against rings that are walked message by message.

#include "tegula/dist/show/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tegula/core/error.h"

namespace tegula {
namespace {

using dist::LinkCost;

/// When each rank is done, if in each of so many steps it sends a message to the next rank and goes on when both its own has gone and the one before has come.
std::vector<double> walk_ring(const LinkCost& link, std::vector<double> now, int steps, double bytes) {
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> before = now;
    for (std::size_t r = 0; r < now.size(); ++r)
      now[r] = std::max(before[r], before[(r + now.size() - 1) % now.size()]) + link.latency + bytes / link.bytes_per_second;
  }
  return now;
}

double last(const std::vector<double>& times) { return std::ranges::max(times); }

TEST(CostModel, TheRingIsWhatItsMessagesTake) {
  const LinkCost link{2e-6, 5e9};
  for (const int n : {1, 2, 3, 8, 13, 1024}) {
    for (const double bytes : {0.0, 4096.0, 25e6}) {
      const double walked = last(walk_ring(link, std::vector<double>(static_cast<std::size_t>(n)), 2 * (n - 1), bytes / n));
      EXPECT_NEAR(dist::ring_all_reduce(link, n, bytes), walked, 1e-9 * walked) << n;
    }
  }
}

// Recursive halving and doubling, exchange by exchange: half of the remainder, with a partner twice as near.
TEST(CostModel, TheTreeIsWhatItsMessagesTake) {
  const LinkCost link{2e-6, 5e9};
  for (int n = 1; n <= 1024; n *= 2) {
    double walked = 0, part = 25e6;
    for (int left = n; left > 1; left /= 2) {
      part /= 2;
      walked += 2 * (link.latency + part / link.bytes_per_second);
    }
    EXPECT_NEAR(dist::tree_all_reduce(link, n, 25e6), walked, 1e-9 * (walked + 1e-9)) << n;
  }
  EXPECT_GT(dist::tree_all_reduce(link, 9, 25e6), dist::tree_all_reduce(link, 8, 25e6));
}

TEST(CostModel, HostsReduceWithinExchangeTheirPartsAndGather) {
  const LinkCost within{1e-6, 100e9}, between{10e-6, 12e9};
  for (const int hosts : {1, 2, 16}) {
    for (const int own : {1, 4, 8}) {
      const double bytes = 3e6;
      std::vector<double> inside(static_cast<std::size_t>(own));
      inside = walk_ring(within, inside, own - 1, bytes / own);
      const double reduced = last(inside);
      const double exchanged =
          last(walk_ring(between, std::vector<double>(static_cast<std::size_t>(hosts), reduced), 2 * (hosts - 1), bytes / own / hosts));
      const double walked = last(walk_ring(within, std::vector<double>(static_cast<std::size_t>(own), exchanged), own - 1, bytes / own));
      EXPECT_NEAR(dist::hierarchical_all_reduce(within, between, hosts * own, own, bytes), walked, 1e-9 * walked + 1e-15);
    }
  }
}

TEST(CostModel, TheFitFindsWhatTheRingWasMadeOf) {
  for (const int n : {2, 4, 7}) {
    const LinkCost link{7e-6, 2.5e9};
    std::vector<dist::Measured> all;
    double sign = 1;
    for (double bytes = 4; bytes < 1e8; bytes *= 8, sign = -sign)
      all.push_back({bytes, dist::ring_all_reduce(link, n, bytes) * (1 + 0.02 * sign)});  // two percent off
    const LinkCost found = dist::fit_ring(all, n);
    EXPECT_NEAR(found.latency, link.latency, 0.05 * link.latency);
    EXPECT_NEAR(found.bytes_per_second, link.bytes_per_second, 0.05 * link.bytes_per_second);
  }
  EXPECT_THROW(dist::fit_ring(std::vector<dist::Measured>{{4, 1e-6}}, 2), Error);
  EXPECT_THROW(dist::fit_ring(std::vector<dist::Measured>{{4, 1e-6}, {8, 1e-6}}, 1), Error);
}

TEST(CostModel, ARateThatCannotBeToldFromTheMessagesIsTheHighestSeen) {
  const std::vector<dist::Measured> noise{{4, 30e-6}, {256, 29e-6}, {16384, 26e-6}};
  const LinkCost found = dist::fit_ring(noise, 2);
  EXPECT_DOUBLE_EQ(found.bytes_per_second, 16384 / 26e-6);  // each of two ranks sends all bytes, in halves
  EXPECT_GT(found.latency, 0);
  EXPECT_LT(found.latency, 15e-6);
}

TEST(CostModel, TheTableSaysThatItIsASimulation) {
  const std::string table =
      dist::simulated_scaling({.step_seconds = 10e-3, .bytes = 100e6, .within = {5e-6, 200e9}, .between = {10e-6, 40e9}});
  EXPECT_EQ(table.rfind("SIMULATED", 0), 0u) << table;
  EXPECT_NE(table.find("  1024 "), std::string::npos) << table;
}

}  // namespace
}  // namespace tegula

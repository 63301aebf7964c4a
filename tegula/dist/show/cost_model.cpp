#include "tegula/dist/show/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tegula/core/error.h"

namespace tegula::dist {
namespace {

void require_ranks(int ranks) {
  if (ranks < 1) throw Error({.op = "cost model", .got = std::to_string(ranks) + " ranks", .expected = "at least one"});
}

double both_ways(int ranks) { return 2.0 * (ranks - 1); }

}  // namespace

LinkCost fit_ring(std::span<const Measured> all, int ranks) {
  require_ranks(ranks);
  // seconds = a + c · bytes, each divided by the seconds: normal equations of two unknowns.
  double w = 0, x = 0, xx = 0, y = 0, xy = 0, shown = std::numeric_limits<double>::infinity();
  for (const Measured& m : all) {
    shown = std::min(shown, m.seconds / m.bytes);
    const double weight = 1 / (m.seconds * m.seconds);
    w += weight, x += weight * m.bytes, xx += weight * m.bytes * m.bytes;
    y += weight * m.seconds, xy += weight * m.bytes * m.seconds;
  }
  const double determinant = w * xx - x * x;
  if (all.size() < 2 || ranks < 2 || !(determinant > 0)) {
    throw Error({.op = "cost model",
                 .got = std::to_string(all.size()) + " measurements among " + std::to_string(ranks) + " ranks",
                 .expected = "at least two sizes, and two ranks"});
  }
  double a = (xx * y - x * xy) / determinant, c = (w * xy - x * y) / determinant;
  if (c <= 0) {  // longer ones took no longer: the rate is that which was seen, at least
    c = shown;
    a = (y - c * x) / w;
  }
  a = std::max(0.0, a);
  return {.latency = a / both_ways(ranks), .bytes_per_second = both_ways(ranks) / ranks / c};
}

double ring_all_reduce(const LinkCost& link, int ranks, double bytes) {
  require_ranks(ranks);
  return both_ways(ranks) * (link.latency + bytes / ranks / link.bytes_per_second);
}

double tree_all_reduce(const LinkCost& link, int ranks, double bytes) {
  require_ranks(ranks);
  const auto n = std::bit_floor(static_cast<unsigned>(ranks));
  const double power = 2 * std::log2(n) * link.latency + both_ways(static_cast<int>(n)) / n * bytes / link.bytes_per_second;
  return n == static_cast<unsigned>(ranks) ? power : power + 2 * (link.latency + bytes / link.bytes_per_second);
}

double hierarchical_all_reduce(const LinkCost& within, const LinkCost& between, int ranks, int per_host, double bytes) {
  require_ranks(ranks);
  require_ranks(per_host);
  const int own = std::min(ranks, per_host), hosts = (ranks + per_host - 1) / per_host;
  return ring_all_reduce(within, own, bytes) + ring_all_reduce(between, hosts, bytes / own);
}

std::string simulated_scaling(const ScalingCase& of) {
  char line[256];
  std::string out = "SIMULATED by the cost formulas, every rank with a link of its own: no such machine was used\n";
  std::snprintf(line, sizeof line,
                "a step of %.3f ms, %.2f MB of gradients, %.0f %% of the exchange beside it\n"
                "within a host of %d: %.2f us a message, %.2f GB/s; between hosts: %.2f us, %.2f GB/s\n",
                1e3 * of.step_seconds, of.bytes / 1e6, 100 * of.hidden, of.per_host, 1e6 * of.within.latency,
                of.within.bytes_per_second / 1e9, 1e6 * of.between.latency, of.between.bytes_per_second / 1e9);
  out += line;
  std::snprintf(line, sizeof line, "%6s %12s %12s %16s %12s %12s\n", "ranks", "ring ms", "tree ms", "hierarchical ms", "step ms",
                "efficiency");
  out += line;
  for (int ranks = 8; ranks <= 1024; ranks *= 2) {
    const LinkCost& link = ranks > of.per_host ? of.between : of.within;  // the slowest one of a ring
    const double ring = ring_all_reduce(link, ranks, of.bytes), tree = tree_all_reduce(link, ranks, of.bytes);
    const double hierarchical = hierarchical_all_reduce(of.within, of.between, ranks, of.per_host, of.bytes);
    const double step = of.step_seconds + (1 - of.hidden) * std::min({ring, tree, hierarchical});
    std::snprintf(line, sizeof line, "%6d %12.3f %12.3f %16.3f %12.3f %10.1f %%\n", ranks, 1e3 * ring, 1e3 * tree, 1e3 * hierarchical,
                  1e3 * step, 100 * of.step_seconds / step);
    out += line;
  }
  return out;
}

}  // namespace tegula::dist

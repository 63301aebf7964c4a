#pragma once
// The costs of collectives by formulas: fitted to measurements on few ranks, evaluated for many.

#include <cstdint>
#include <span>
#include <string>

namespace tegula::dist {

/// A message of b bytes between two ranks takes latency + b / bytes_per_second (Hockney, 1994: α and β).
struct LinkCost {
  double latency = 0;           // seconds
  double bytes_per_second = 0;
};

/// An all-reduce that was measured.
struct Measured {
  double bytes = 0, seconds = 0;
};

/// α and β with which the formula of a ring among `ranks` fits the measurements best: least squares of relative differences. Needs at least two sizes.
/// If longer messages took no longer, β is the highest rate among them: a lower bound.
LinkCost fit_ring(std::span<const Measured> all, int ranks);

/// Seconds of an all-reduce of `bytes` in a ring: 2 (n - 1) messages of b / n bytes (Patarasuk and Yuan, 2009), that is 2 (n - 1) α + 2 (n - 1)/n · b/β.
double ring_all_reduce(const LinkCost& link, int ranks, double bytes);
/// Seconds by recursive halving and doubling (Rabenseifner, 2004), the tree of a power of two: 2 log2(n) α + 2 (n - 1)/n · b/β; else two messages of all bytes
/// more.
double tree_all_reduce(const LinkCost& link, int ranks, double bytes);
/// Seconds on hosts of `per_host` ranks each: rings within the hosts reduce-scatter, each rank's part goes round a ring of the hosts, and is gathered within.
/// If `ranks` is no multiple of `per_host`, the last host counts as a full one.
double hierarchical_all_reduce(const LinkCost& within, const LinkCost& between, int ranks, int per_host, double bytes);

/// The input of a table of simulated scaling.
struct ScalingCase {
  double step_seconds = 0;  // of one rank alone, with as many rows as each has
  double bytes = 0;  // of the gradients
  double hidden = 0;  // share of the exchange that goes on beside the step, from 0 to 1
  LinkCost within, between;  // between ranks of one host, and between hosts
  int per_host = 8;
};
/// The table from 8 to 1024 ranks, under a heading that says that it was not measured.
std::string simulated_scaling(const ScalingCase& of);

}  // namespace tegula::dist

#pragma once
// Ranks of several hosts: rings within each, and rings of the hosts.

#include <cstdint>
#include <optional>
#include <vector>

namespace tegula::dist {

/// The levels of a group as one of its ranks sees them. All hosts have as many ranks.
struct Levels {
  std::vector<int> within;  // the ranks of its host, in the group, in order
  std::vector<int> across;  // the ranks with its place on their host, one of each host
  int place = 0, host = 0;  // its own among both
};

/// `hosts`: of each rank of the group a number that those of its host have; 0: unknown. Nothing unless there are several hosts with as many ranks each, at least two:
/// one ring of all is then what there is.
std::optional<Levels> levels_of(const std::vector<std::uint64_t>& hosts, int rank);

}  // namespace tegula::dist

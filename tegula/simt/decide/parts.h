#pragma once
// Decisions about parts of a kernel, each in a file of its own. For decide.cpp.

#include "tegula/simt/decide/decisions.h"
#include "tegula/simt/decide/values.h"

namespace tegula::gpu {

/// Calls f(region) for the region and all within.
template <class F>
void for_each_region(const tile::Program& program, const tile::Region& region, F&& f) {
  f(region);
  for (const tile::Id id : region.body)
    for (const tile::Region& inner : program[id].regions) for_each_region(program, inner, f);
}

/// digits.cpp: how exact each word has to be. A value that is rounded to halves, or stored as them, needs their digits in every kernel, so that it is
/// the same however a graph is cut; one that is compared before needs all, to equal what another kernel makes of the same operands.
std::vector<Digits> digits_of_words(const Values& values);
/// rings.cpp: what the loop fetches ahead, and in how many stages, within a block's shared memory.
RingPlan plan_ring(const Values& values, const tile::Region& body, std::size_t shared_bytes);
/// The same file: whether the load of the loop can begin in an earlier iteration: its address and mask follow from the counter, and the loop does not write there.
bool can_fetch_ahead(const Values& values, const tile::Region& body, tile::Id load);
/// Scalars of the loop that follow from its counter, in order.
std::vector<tile::Id> addresses_of(const Values& values, const tile::Region& body);
/// deferred.cpp: of the value `k` that the loop carries.
std::optional<DeferredSum> deferrable(const Values& values, tile::Id loop, std::size_t k);
/// rearranged.cpp: tiles that other threads hold under their new shape.
std::map<tile::Id, LayoutChange> layout_changes(const Values& values);

}  // namespace tegula::gpu

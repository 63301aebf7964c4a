#pragma once
// Collectives over host memory: which bytes a rank sends to whom, and how it combines received ones. No word about graphs.

#include <cstddef>
#include <string>
#include <string_view>

#include "tegula/core/line.h"
#include "tegula/dist/exchange/group.h"
#include "tegula/runtime/collective.h"

namespace tegula::dist {

using Kind = runtime::CollectiveKind;
using runtime::Collective;
using runtime::Reduction;
std::string_view name(Kind kind);
std::string_view name(Reduction reduction);

/// The memory, 64-byte aligned, that carry_out needs beside `in` and `out`.
std::size_t scratch_bytes(const Collective& collective, int ranks);

/// Does it, together with the other ranks of the group. Sums of halves are made in f32 and rounded once. Results depend on the values, the number of ranks and how these lie on hosts alone: the order of sums is fixed. Throws
/// Error when another rank does something else (naming both), and PeerError (transport.h); after either the run has stopped.
void carry_out(const Group& group, const Collective& collective, const void* in, void* out, void* scratch, const Line& where);

/// Begins a collective after those begun before, and returns at once: another thread carries it out. Until finish() nothing else may use its memory. A later carry_out
/// runs after all that were begun.
std::uint64_t begin(const Group& group, const Collective& collective, const void* in, void* out, void* scratch, const Line& where);
/// Waits for it and those begun before it in the group's run. Throws what carry_out would have thrown.
void finish(const Group& group, std::uint64_t ticket);

/// "f32 (3, 4)".
std::string text_of(const Collective& collective);

}  // namespace tegula::dist

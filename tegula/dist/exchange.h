#pragma once
// Collectives over host memory: which bytes a rank sends to whom, and how it combines those that come. No word about graphs.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"
#include "tegula/dist/group.h"

namespace tegula::dist {

enum class Kind : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, AllToAll, Send, Receive, Barrier };
enum class Reduction : std::uint8_t { Sum, Mean, Max };
std::string_view name(Kind kind);
std::string_view name(Reduction reduction);

/// One collective, from one rank's place. Tensors are dense and row-major. Of n ranks:
///   AllReduce      in (…), out (…)           the same bits on all ranks
///   ReduceScatter  in (n·k, …), out (k, …)   rank r gets the r-th k rows of the reduction
///   AllGather      in (k, …), out (n·k, …)   in the order of ranks
///   Broadcast      in (…), out (…)           the root's
///   Reduce         in (…), out (…)           the root gets the reduction, the others zeros
///   AllToAll       in (n·k, …), out (n·k, …) the r-th k rows go to rank r, and lie in the order of those they come from
///   Send, Receive  in (…) or out (…)         root is the other rank
///   Barrier        nothing
/// Sums of halves are made in f32 and rounded once; integers wrap around; booleans know only Max.
struct Collective {
  Kind kind = Kind::AllReduce;
  DType dtype = DType::f32;
  Shape shape;  // of what goes in; of Receive, what comes out
  Reduction reduction = Reduction::Sum;
  int root = 0;  // in the group
};

/// The memory, 64-byte aligned, that carry_out needs beside `in` and `out`.
std::size_t scratch_bytes(const Collective& collective, int ranks);

/// Does it, together with the other ranks of the group. Results depend on the values and the number of ranks alone: the order of sums is fixed. Throws
/// Error when another rank does something else (naming both), and PeerError (transport.h); after either the run has stopped.
void carry_out(const Group& group, const Collective& collective, const void* in, void* out, void* scratch,
               const std::source_location& where);

/// Begins it, behind those begun before, and returns at once: another thread carries it out. Until it is finished its memory is its own. What carry_out
/// does comes behind all that were begun.
std::uint64_t begin(const Group& group, const Collective& collective, const void* in, void* out, void* scratch,
                    const std::source_location& where);
/// Waits for it and those begun before it in the group's run. Throws what carry_out would have thrown.
void finish(const Group& group, std::uint64_t ticket);

/// "f32 (3, 4)".
std::string text_of(const Collective& collective);

}  // namespace tegula::dist

#pragma once
// Decides if the devices of a group exchange by themselves: the ranks' candidates, and the decision that all of them derive from those.

#include <array>
#include <span>
#include <string>
#include <type_traits>

#include "tegula/runtime/collective.h"

namespace tegula::dist {

enum class Wish : std::uint8_t {
  None,  // TEGULA_ENGINE=sockets or mpi: turns of the host
  Own,   // the devices' own engine where every rank has a device of its own
  Must,  // TEGULA_ENGINE=nccl: the same, or an error
};
/// The wish that the environment names.
Wish wish_of_environment();

/// One rank's word, as it travels.
struct Candidate {
  std::int32_t rank = 0;  // in the run
  Wish wish = Wish::Own;
  bool able = false;
  std::array<char, 64> identity{};  // of the rank's device
  std::array<char, 400> text{};  // the engine's name, or the missing part
};
static_assert(std::is_trivially_copyable_v<Candidate>);
/// `device`: null where it has no engine of its own.
Candidate candidate(int rank, Wish wish, runtime::Communicates* device);

/// Why the host has to take turns, in a sentence, or "". The same on all ranks.
std::string objection(std::span<const Candidate> all);
/// True if a rank insists.
bool must(std::span<const Candidate> all);

}  // namespace tegula::dist

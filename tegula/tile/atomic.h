#pragma once
// What an Atomic does to the elements it points at: packed into the instruction's attribute.

#include <cstdint>
#include <string>

#include "tegula/tile/ir.h"

namespace tegula::tile {

enum class AtomicKind : std::uint8_t { Add, Max, Min, And, Or, Xor, Exchange, CompareAndSwap };
/// How an atomic word is ordered with the other accesses of its instance, as instances see it that read what it wrote: Triton's `sem`.
enum class Sem : std::uint8_t {
  Relaxed,
  Acquire,  // what follows it comes after it
  Release,  // what is ahead of it comes before it
  AcqRel,   // both
};
/// Who sees it as one step: the threads of the instance, of the GPU, or of the whole machine.
enum class Scope : std::uint8_t { Cta, Gpu, Sys };

struct Atomic {
  AtomicKind kind = AtomicKind::Add;
  Sem sem = Sem::Relaxed;
  Scope scope = Scope::Gpu;

  static constexpr std::int64_t kPacked = 256;  // attributes are below
  std::int64_t packed() const {
    return static_cast<std::int64_t>(kind) | static_cast<std::int64_t>(sem) << 4 | static_cast<std::int64_t>(scope) << 6;
  }
  static Atomic of(const Instruction& self) {
    return {static_cast<AtomicKind>(self.attribute & 7), static_cast<Sem>(self.attribute >> 4 & 3),
            static_cast<Scope>(self.attribute >> 6 & 3)};
  }
  bool acquires() const { return sem == Sem::Acquire || sem == Sem::AcqRel; }
  bool releases() const { return sem == Sem::Release || sem == Sem::AcqRel; }
  /// Whether `value` takes the element's place as it is.
  bool replaces() const { return kind == AtomicKind::Exchange || kind == AtomicKind::CompareAndSwap; }
  bool operator==(const Atomic&) const = default;
};

/// What the hardware of GPUs changes by a word of its own, in any order: sums and extremes of integers are the same then.
constexpr bool is_changed_freely(DType stored) { return is_integer(stored) && size_of(stored) >= 4; }

/// The word that gives the new element from the old one and the value; Word::Select for those that replace it.
Word word_of(AtomicKind kind);
/// "add acq_rel gpu".
std::string to_string(const Atomic& atomic);

}  // namespace tegula::tile

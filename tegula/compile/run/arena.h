#pragma once
// The memory between the steps of plans. No plan has its own: it borrows an arena for a run, so that all plans of a device hold together what the
// largest of them needs, or of those that run at the same time.
//
// A device that runs at once has as many arenas as threads run at the same time. (Loops within plans lie in the arena of the plan around them.) A device that queues its work has one, and
// who borrows it waits for who has it: what is queued in one go runs in one go, so one plan's steps never lie between another's.
// An arena that is too small is given back before a larger one is asked for. Its address changes then: a plan writes new
// addresses at its next run, and records itself anew.

#include <cstddef>
#include <string>
#include <utility>

#include "tegula/runtime/device.h"

namespace tegula::compile {

struct Arena;
struct Arenas;

/// One plan's claim on its device's arenas, for the plan's lifetime.
class ArenaUse {
 public:
  /// Throws runtime::OutOfMemory, naming the purpose, if there is not enough memory.
  ArenaUse(runtime::Device& device, std::size_t bytes, std::string purpose);
  ~ArenaUse();
  ArenaUse(const ArenaUse&) = delete;
  ArenaUse& operator=(const ArenaUse&) = delete;

  /// The memory of one run. An arena is given back at the end of its life.
  class Lease {
   public:
    explicit Lease(std::byte* callers) : data_(callers) {}
    Lease(Arenas& arenas, Arena& arena);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    std::byte* data() const { return data_; }

   private:
    std::byte* data_;
    Arenas* arenas_ = nullptr;
    Arena* arena_ = nullptr;
  };
  /// Throws as the constructor does: others may have taken the memory in between.
  Lease lease();

 private:
  Arena* take(bool waits);

  runtime::Device& device_;
  std::size_t bytes_;
  std::string purpose_;
  Arenas& arenas_;
  Arena* last_ = nullptr;  // lent last: the same arena needs no new addresses
};

/// Bytes of all devices' arenas.
std::size_t arena_memory();
/// Frees the arenas that no run uses. True if there were any.
bool release_idle_arenas();

}  // namespace tegula::compile

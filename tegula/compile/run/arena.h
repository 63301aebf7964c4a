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

/// What one plan needs of its device's arenas, from when it is made until it is gone.
class ArenaUse {
 public:
  /// Throws runtime::OutOfMemory, which names the purpose, where there is not so much memory.
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
  Arena* last_ = nullptr;  // that was lent: the same again needs no new addresses
};

/// Of all devices' arenas, in bytes.
std::size_t arena_memory();
/// Gives back those that nobody runs in. True when there were some.
bool release_idle_arenas();

}  // namespace tegula::compile

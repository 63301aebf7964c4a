#include "tegula/compile/run/arena.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tegula/compile/run/placement.h"

namespace tegula::compile {

struct Arena {
  Ref<Buffer> memory;
  bool lent = false;
  std::size_t bytes() const { return memory ? memory->bytes() : 0; }
};

/// The arenas of one device. Neither this nor any Arena is ever destroyed.
struct Arenas {
  std::mutex mutex;
  std::condition_variable returned;
  std::vector<std::unique_ptr<Arena>> all;
  std::multiset<std::size_t> needs;  // of the plans that there are

  /// One that nobody has: the plan's last one, or the smallest that is large enough, or the largest. Null where there is none.
  Arena* idle(std::size_t bytes, Arena* last) const {
    if (last && !last->lent && last->bytes() >= bytes) return last;
    Arena* best = nullptr;
    for (const auto& arena : all) {
      if (arena->lent) continue;
      const bool fits = arena->bytes() >= bytes, best_fits = best && best->bytes() >= bytes;
      if (!best || (fits && !best_fits) || (fits == best_fits && (arena->bytes() < best->bytes()) == fits)) best = arena.get();
    }
    return best;
  }
  void give_back(Arena& arena) {
    {
      const std::scoped_lock lock(mutex);
      arena.lent = false;
    }
    returned.notify_one();
  }
  /// Takes what nobody runs in and is larger than this. The caller lets go of it without the mutex.
  std::vector<Ref<Buffer>> take_idle(std::size_t larger_than) {
    std::vector<Ref<Buffer>> out;
    const std::scoped_lock lock(mutex);
    for (const auto& arena : all) {
      if (!arena->lent && arena->memory && arena->bytes() > larger_than) out.push_back(std::move(arena->memory));
    }
    return out;
  }
};

namespace {

struct Devices {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Arenas>> arenas;  // by the device's number
};

Devices& devices() {
  static auto* instance = new Devices;
  return *instance;
}

Arenas& arenas_of(const runtime::Device& device) {
  const std::scoped_lock lock(devices().mutex);
  auto& arenas = devices().arenas[device.number()];
  if (!arenas) arenas = std::make_unique<Arenas>();
  return *arenas;
}

template <class Visit>
void for_each_device(Visit visit) {
  const std::scoped_lock lock(devices().mutex);
  for (const auto& [number, arenas] : devices().arenas) visit(*arenas);
}

}  // namespace

ArenaUse::ArenaUse(runtime::Device& device, std::size_t bytes, std::string purpose)
    : device_(device),
      bytes_(std::max<std::size_t>(bytes, kBufferAlignment)),  // what is empty has an address, too
      purpose_(std::move(purpose)),
      arenas_(arenas_of(device)) {
  // No waiting here: the caller compiles, and may hold locks that the run with the arena wants when its memory runs out.
  if (Arena* const arena = take(false)) arenas_.give_back(*arena);
  const std::scoped_lock lock(arenas_.mutex);
  arenas_.needs.insert(bytes_);
}

ArenaUse::~ArenaUse() {
  std::size_t most = 0;
  {
    const std::scoped_lock lock(arenas_.mutex);
    arenas_.needs.erase(arenas_.needs.find(bytes_));
    if (!arenas_.needs.empty()) most = *arenas_.needs.rbegin();
  }
  arenas_.take_idle(most);
}

ArenaUse::Lease ArenaUse::lease() { return {arenas_, *take(true)}; }

ArenaUse::Lease::Lease(Arenas& arenas, Arena& arena)
    : data_(static_cast<std::byte*>(arena.memory->data())),
      arenas_(&arenas),
      arena_(&arena) {}

ArenaUse::Lease::~Lease() {
  if (arena_) arenas_->give_back(*arena_);
}

/// Large enough, and lent from now on. Null instead of waiting.
Arena* ArenaUse::take(bool waits) {
  Arena* arena = nullptr;
  Ref<Buffer> small;
  {
    std::unique_lock lock(arenas_.mutex);
    const auto is_free = [&] { return !device_.traits().queues || arenas_.all.empty() || !arenas_.all[0]->lent; };
    if (!waits && !is_free()) return nullptr;
    arenas_.returned.wait(lock, is_free);
    arena = arenas_.idle(bytes_, last_);
    if (!arena) arena = arenas_.all.emplace_back(std::make_unique<Arena>()).get();
    arena->lent = true;
    if (arena->bytes() < bytes_) small = std::move(arena->memory);
  }
  last_ = arena;
  if (!arena->memory) {
    small = nullptr;
    try {
      Ref<Buffer> memory = allocate(device_, bytes_, {purpose_, {}});
      const std::scoped_lock lock(arenas_.mutex);  // others look at its size
      arena->memory = std::move(memory);
    } catch (...) {
      arenas_.give_back(*arena);
      throw;
    }
  }
  return arena;
}

std::size_t arena_memory() {
  std::size_t bytes = 0;
  for_each_device([&](Arenas& arenas) {
    const std::scoped_lock lock(arenas.mutex);
    for (const auto& arena : arenas.all) bytes += arena->bytes();
  });
  return bytes;
}

bool release_idle_arenas() {
  std::vector<Ref<Buffer>> released;
  for_each_device([&](Arenas& arenas) {
    for (Ref<Buffer>& memory : arenas.take_idle(0)) released.push_back(std::move(memory));
  });
  return !released.empty();
}

}  // namespace tegula::compile

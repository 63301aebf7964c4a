#undef _FORTIFY_SOURCE  // which takes a jump to another fiber for a damaged stack

#include "tegula/emulator/threads.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "tegula/emulator/memory_check.h"

namespace tegula::emulator {
namespace {

using emulated::Index;
using emulated::Place;
using emulated::Slot;

constexpr std::size_t kStackBytes = 2 << 20 /* of which what is touched is there */, kRounds = 64;
constexpr unsigned kWarpSize = 32;
/// Rounds in which threads only look at atomics, before they are said to wait for ever.
constexpr int kIdleRounds = 200'000;
constexpr unsigned kReadsOfATurn = 256;

enum class Wait : std::uint8_t { Nowhere, Turn, Warp, Block, Cluster };

struct Block {
  std::vector<unsigned char> memory;
  unsigned char* shared = nullptr;
  Index index{};
  std::uint32_t number = 0;
  int predicates = 0, counted = 0;  // of the threads at its barrier; the result of the last barrier
};

struct PendingCopy {
  unsigned char* to;
  const unsigned char* from;
  int there, bytes;
};

struct Fiber {
  Block* block = nullptr;
  Index index{};
  unsigned thread = 0;  // in its block
  jmp_buf state;
  ucontext_t start;
  std::unique_ptr<unsigned char[]> stack;
  Wait waits = Wait::Nowhere;
  bool done = false;
  unsigned mask = 0;  // of the meeting it waits for
  bool orders = false;  // memory: __syncwarp
  Place place{};
  Slot sent{};
  const Slot* round = nullptr;
  unsigned members = 0;  // of that meeting
  unsigned atomics = 0;
  const void* from = nullptr;  // the code address of the last atomic operation
  const void* read = nullptr;  // last
  unsigned reads = 0;  // of that in a row
  std::vector<std::vector<PendingCopy>> copies;  // that have not arrived: a group each; the last one is open
};

struct Warp {
  std::size_t begin = 0, end = 0;  // fibers
  bool begun = false;
  std::vector<std::array<Slot, kWarpSize>> rounds;  // values given at the last meetings: they are read before as many others follow
  std::size_t next = 0;
};

class Scheduler {
 public:
  Stopped run(const Launch& launch);

  void wait(Wait where, unsigned mask, Place place);
  int count(int predicate, Place place);
  const Slot* meet(unsigned mask, const void* value, int bytes, Place place);
  unsigned char* shared_of(int rank) { return blocks_[static_cast<std::size_t>(rank)].shared; }
  void copy(const PendingCopy& one) { launch_.uneven ? current_->copies.back().push_back(one) : arrive(one); }
  void close_copies() { current_->copies.emplace_back(); }
  void wait_for_copies(int unfinished);
  void access(const void* place, int bytes, int kind, const void* from);
  void fence() {
    if (launch_.check) launch_.check->fence();
  }
  [[noreturn]] void fault(const char* what, Place place);
  [[noreturn]] void fault_at(std::string what, const void* from);
  [[noreturn]] void end();

 private:
  static void arrive(const PendingCopy& one) {
    for (int i = 0; i < one.bytes; ++i) one.to[i] = i < one.there ? one.from[i] : 0;
  }
  void set_up(std::size_t first_block);
  bool run_cluster();
  void resume(Fiber& fiber);
  void step(Fiber& fiber);
  void step_warp(Warp& warp);
  void step_uneven(std::minstd_rand& random);
  void release_warp(Warp& warp);
  bool meets(const Warp& warp, const Fiber& fiber);
  void release_all(std::size_t begin, std::size_t end, Wait where);
  std::string who(const Fiber& fiber) const;
  void stop(std::string what, Place place) {
    if (stopped_.what.empty()) stopped_ = {.what = std::move(what), .file = place.file, .line = place.line};
  }
  void explain_waiting();
  unsigned lanes_of(const Warp& warp) const;
  Warp& warp_of(const Fiber& fiber) {
    return warps_[static_cast<std::size_t>(&fiber - fibers_.data()) / per_block_ * warps_per_block_ + fiber.thread / kWarpSize];
  }

  Launch launch_;
  std::vector<Fiber> fibers_;
  std::vector<Block> blocks_;
  std::vector<Warp> warps_;
  std::size_t per_block_ = 0, warps_per_block_ = 0, count_ = 0, finished_ = 0;
  bool progress_ = false, turned_ = false, fresh_ = true;
  unsigned order_ = 0;
  Fiber* current_ = nullptr;
  jmp_buf scheduler_;
  Stopped stopped_;
};

Scheduler& scheduler() {
  static auto* const instance = new Scheduler;
  return *instance;
}

void enter(unsigned high, unsigned low) {
  const auto address = static_cast<std::uintptr_t>(high) << 32 | low;
  const auto& launch = *reinterpret_cast<const Launch*>(address);
  launch.body(launch.argument);
  scheduler().end();
}

void Scheduler::end() {
  current_->done = true;
  current_->waits = Wait::Nowhere;
  _longjmp(scheduler_, 1);
}

void Scheduler::wait(Wait where, unsigned mask, Place place) {
  Fiber& self = *current_;
  self.waits = where, self.mask = mask, self.place = place;
  if (_setjmp(self.state) == 0) _longjmp(scheduler_, 1);
}

int Scheduler::count(int predicate, Place place) {
  Block& block = *current_->block;
  block.predicates += predicate != 0;
  wait(Wait::Block, 0, place);
  return current_->block->counted;
}

const Slot* Scheduler::meet(unsigned mask, const void* value, int bytes, Place place) {
  std::memcpy(current_->sent.bytes, value, static_cast<std::size_t>(bytes));
  wait(Wait::Warp, mask, place);
  return current_->round;
}

void Scheduler::wait_for_copies(int unfinished) {
  auto& groups = current_->copies;
  while (static_cast<int>(groups.size()) - 1 > unfinished) {
    for (const PendingCopy& one : groups.front()) arrive(one);
    groups.erase(groups.begin());
  }
}

void Scheduler::access(const void* place, int bytes, int kind, const void* from) {
  if (!launch_.check) return;
  const std::string wrong =
      launch_.check->access(place, static_cast<std::size_t>(bytes), static_cast<emulated::Kind>(kind), current_->thread);
  if (!wrong.empty()) fault_at(wrong, from);
  // A thread that waits for another one, by atomics or by reading one place again and again, lets that go on.
  Fiber& self = *current_;
  if (kind == emulated::kRead && place == self.read) {
    if (++self.reads % kReadsOfATurn == 0) {
      self.from = from;
      wait(Wait::Turn, 0, {});
    }
    return;
  }
  self.read = kind == emulated::kRead ? place : nullptr, self.reads = 0;
  if (kind == emulated::kAtomic && ++self.atomics % 16 == 0) {
    self.from = from;
    wait(Wait::Turn, 0, {});
  }
}

void Scheduler::fault(const char* what, Place place) {
  stop(who(*current_) + " " + what, place);
  _longjmp(scheduler_, 2);
}

void Scheduler::fault_at(std::string what, const void* from) {
  if (stopped_.what.empty()) stopped_ = {.what = who(*current_) + " " + std::move(what), .from = from};
  _longjmp(scheduler_, 2);
}

std::string Scheduler::who(const Fiber& fiber) const {
  return "thread " + text_of(fiber.index) + " of block " + text_of(fiber.block->index);
}

unsigned Scheduler::lanes_of(const Warp& warp) const {
  unsigned lanes = 0;
  for (std::size_t i = warp.begin; i < warp.end; ++i) lanes |= fibers_[i].done ? 0u : 1u << (i - warp.begin);
  return lanes;
}

void Scheduler::resume(Fiber& fiber) {
  current_ = &fiber;
  emulated::State& state = *launch_.state;
  state.thread = fiber.index, state.block = fiber.block->index, state.shared = fiber.block->shared;
  state.cluster_rank = static_cast<int>(fiber.block - blocks_.data());
  state.stack_begin = fiber.stack.get(), state.stack_end = fiber.stack.get() + kStackBytes;
  state.lanes = lanes_of(warp_of(fiber)), state.members = fiber.members;
  if (_setjmp(scheduler_) != 0) return;
  if (!fresh_) _longjmp(fiber.state, 1);
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = fiber.stack.get();
  fiber.start.uc_stack.ss_size = kStackBytes;
  fiber.start.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(&launch_);
  makecontext(&fiber.start, reinterpret_cast<void (*)()>(&enter), 2, static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  setcontext(&fiber.start);
}

void Scheduler::step(Fiber& fiber) {
  if (fiber.done || fiber.waits != Wait::Nowhere || !stopped_.what.empty()) return;
  resume(fiber);
  finished_ += fiber.done;
  (fiber.waits == Wait::Turn ? turned_ : progress_) = true;
}

void Scheduler::step_warp(Warp& warp) {
  for (std::size_t i = warp.begin; i < warp.end; ++i) step(fibers_[order_ % 2 != 0 ? i : warp.begin + warp.end - 1 - i]);
}

/// True if all threads that the fiber wants to meet have arrived.
bool Scheduler::meets(const Warp& warp, const Fiber& fiber) {
  for (std::size_t i = warp.begin; i < warp.end; ++i) {
    const Fiber& other = fibers_[i];
    if ((fiber.mask >> (i - warp.begin) & 1) == 0 || other.done) continue;
    if (other.waits != Wait::Warp || other.mask != fiber.mask) return false;
  }
  return true;
}

void Scheduler::release_warp(Warp& warp) {
  for (std::size_t first = warp.begin; first < warp.end; ++first) {
    Fiber& fiber = fibers_[first];
    if (fiber.done || fiber.waits != Wait::Warp || !meets(warp, fiber)) continue;
    if (warp.rounds.empty()) warp.rounds.resize(kRounds);
    auto& round = warp.rounds[warp.next++ % kRounds];
    const unsigned mask = fiber.mask;
    const Place place = fiber.place;
    unsigned members = 0;
    for (std::size_t i = first; i < warp.end; ++i) {
      Fiber& other = fibers_[i];
      if (other.done || (mask >> (i - warp.begin) & 1) == 0) continue;
      if (launch_.check && other.place.line != place.line)
        return stop("a warp's threads meet at two places: " + who(fiber) + " in line " + std::to_string(place.line) + ", " + who(other) +
                        " in line " + std::to_string(other.place.line),
                    place);
      round[i - warp.begin] = other.sent, other.round = round.data(), other.waits = Wait::Nowhere;
      members |= 1u << (i - warp.begin);
    }
    for (std::size_t i = first; i < warp.end; ++i)
      if (members >> (i - warp.begin) & 1) fibers_[i].members = members;
    if (launch_.check && fiber.orders) launch_.check->pass_warp(fiber.thread / kWarpSize);
    progress_ = true;
  }
}

void Scheduler::release_all(std::size_t begin, std::size_t end, Wait where) {
  const Fiber* first = nullptr;
  for (std::size_t i = begin; i < end; ++i) {
    const Fiber& fiber = fibers_[i];
    if (fiber.done) {
      if (launch_.check && where == Wait::Block) return;
      continue;
    }
    if (fiber.waits != where) return;
    if (!first) first = &fiber;
    else if (launch_.check && (fiber.place.line != first->place.line))
      return stop("threads of a block wait at two barriers: " + who(*first) + " in line " + std::to_string(first->place.line) + ", " +
                      who(fiber) + " in line " + std::to_string(fiber.place.line),
                  first->place);
  }
  if (!first) return;
  for (std::size_t i = begin; i < end; ++i) fibers_[i].waits = Wait::Nowhere;
  if (where == Wait::Block) {
    Block& block = *first->block;
    block.counted = std::exchange(block.predicates, 0);
    if (launch_.check) launch_.check->pass_block();
  }
  progress_ = true;
}

void Scheduler::set_up(std::size_t first_block) {
  per_block_ = std::size_t{launch_.block.x} * launch_.block.y * launch_.block.z;
  warps_per_block_ = (per_block_ + kWarpSize - 1) / kWarpSize;
  const auto cluster = static_cast<std::size_t>(launch_.cluster);
  count_ = cluster * per_block_, finished_ = 0;
  while (fibers_.size() < count_) {
    fibers_.emplace_back();
    fibers_.back().stack = std::unique_ptr<unsigned char[]>(new unsigned char[kStackBytes]);  // not set to zeros
  }
  blocks_.resize(cluster);
  for (std::size_t b = 0; b < cluster; ++b) {
    Block& block = blocks_[b];
    block.number = static_cast<std::uint32_t>(first_block + b);
    const auto [x, y, z] = launch_.grid;
    block.index = {block.number % x, block.number / x % y, block.number / x / y};
    block.predicates = 0;
    block.memory.assign(launch_.shared ? 0 : launch_.shared_bytes + 16, 0xcd);
    block.shared = launch_.shared ? launch_.shared : block.memory.data();
    if (launch_.shared) std::memset(launch_.shared, 0xcd, launch_.shared_bytes);
  }
  for (std::size_t i = 0; i < count_; ++i) {
    Fiber& fiber = fibers_[i];
    fiber.block = &blocks_[i / per_block_];
    fiber.thread = static_cast<unsigned>(i % per_block_);
    const auto [x, y, z] = launch_.block;
    fiber.index = {fiber.thread % x, fiber.thread / x % y, fiber.thread / x / y};
    fiber.done = false, fiber.waits = Wait::Nowhere, fiber.atomics = 0, fiber.read = nullptr, fiber.reads = 0;
    fiber.copies.assign(1, {});
  }
  warps_.resize(cluster * warps_per_block_);
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const std::size_t begin = w / warps_per_block_ * per_block_, within = w % warps_per_block_ * kWarpSize;
    warps_[w].begin = begin + within, warps_[w].end = begin + std::min(within + kWarpSize, per_block_), warps_[w].begun = false;
  }
}

void Scheduler::step_uneven(std::minstd_rand& random) {
  std::vector<std::size_t> turns(warps_.size());
  for (std::size_t w = 0; w < turns.size(); ++w) turns[w] = w;
  std::shuffle(turns.begin(), turns.end(), random);
  for (const std::size_t turn : turns) {
    Warp& warp = warps_[turn];
    for (bool further = true; further && stopped_.what.empty();) {
      fresh_ = !warp.begun;
      step_warp(warp);
      warp.begun = true;
      release_warp(warp);
      further = false;
      for (std::size_t i = warp.begin; i < warp.end; ++i) further = further || (!fibers_[i].done && fibers_[i].waits == Wait::Nowhere);
    }
  }
}

/// False when something stopped it.
bool Scheduler::run_cluster() {
  order_ = launch_.order;
  std::minstd_rand random(launch_.order + blocks_[0].number);
  fresh_ = true;
  int idle = 0;
  while (finished_ < count_ && stopped_.what.empty()) {
    progress_ = turned_ = false;
    ++order_;
    for (std::size_t i = 0; i < count_; ++i)
      if (fibers_[i].waits == Wait::Turn) fibers_[i].waits = Wait::Nowhere;
    if (launch_.uneven) step_uneven(random);
    else
      for (std::size_t i = 0; i < count_; ++i) step(fibers_[order_ % 2 != 0 ? i : count_ - 1 - i]);
    fresh_ = false;
    for (Warp& warp : warps_) release_warp(warp);
    for (std::size_t begin = 0; begin < count_; begin += per_block_) release_all(begin, begin + per_block_, Wait::Block);
    release_all(0, count_, Wait::Cluster);
    idle = progress_ ? 0 : idle + 1;
    if (!stopped_.what.empty() || progress_ || (turned_ && idle < kIdleRounds)) continue;
    if (finished_ < count_) explain_waiting();
  }
  return stopped_.what.empty();
}

/// Nobody can go on.
void Scheduler::explain_waiting() {
  const Fiber *waiting = nullptr, *other = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    const Fiber& fiber = fibers_[i];
    if (!waiting && !fiber.done) waiting = &fiber;
    else if (!other && (fiber.done || (waiting && (fiber.waits != waiting->waits || fiber.place.line != waiting->place.line))))
      other = &fiber;
  }
  if (waiting->waits == Wait::Turn || waiting->waits == Wait::Nowhere) {
    stopped_ = {.what = who(*waiting) + (waiting->reads > 0 ? " waits by reading one element" : " waits by atomic operations") +
                        " for what no other thread does: blocks run one after another here",
                .from = waiting->from};
    return;
  }
  const std::string line = waiting->place.line > 0 ? " in line " + std::to_string(waiting->place.line) : "";
  std::string text = who(*waiting) + " waits" + line + " for threads that never come";
  if (other && other->done) text += ": " + who(*other) + " has ended";
  else if (other) text += ": " + who(*other) + " waits" + (other->place.line > 0 ? " in line " + std::to_string(other->place.line) : "");
  stop(std::move(text), waiting->place);
}

Stopped Scheduler::run(const Launch& launch) {
  launch_ = launch, stopped_ = {};
  emulated::State& state = *launch.state;
  state.block_size = launch.block, state.grid = launch.grid;
  state.sync_block = [](Place place) { scheduler().wait(Wait::Block, 0, place); };
  state.count_block = [](int predicate, Place place) { return scheduler().count(predicate, place); };
  state.sync_warp = [](unsigned mask, Place place) {
    scheduler().current_->orders = true;
    scheduler().wait(Wait::Warp, mask, place);
  };
  state.meet = [](unsigned mask, const void* value, int bytes, Place place) {
    scheduler().current_->orders = false;
    return scheduler().meet(mask, value, bytes, place);
  };
  state.sync_cluster = [] { scheduler().wait(Wait::Cluster, 0, {}); };
  state.shared_of = [](int rank) { return scheduler().shared_of(rank); };
  state.copy = [](void* to, const void* from, int there, int bytes) {
    scheduler().copy({static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), there, bytes});
  };
  state.close_copies = [] { scheduler().close_copies(); };
  state.wait_for_copies = [](int unfinished) { scheduler().wait_for_copies(unfinished); };
  state.access = [](const void* place, int bytes, int kind, const void* from) { scheduler().access(place, bytes, kind, from); };
  state.fence = [] { scheduler().fence(); };
  state.fault = [](const char* what, Place place) { scheduler().fault(what, place); };
  state.fault_at = [](const char* what, const void* from) { scheduler().fault_at(what, from); };
  const std::size_t blocks = std::size_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  for (std::size_t first = 0; first < blocks; first += static_cast<std::size_t>(launch.cluster)) {
    set_up(first);
    if (launch.check) launch.check->begin_block(static_cast<std::uint32_t>(first), blocks_[0].index);
    if (!run_cluster()) break;
  }
  return stopped_;
}

}  // namespace

Stopped run(const Launch& launch) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  return scheduler().run(launch);
}

}  // namespace tegula::emulator

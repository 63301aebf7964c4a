#pragma once
// The state that the handles of a group share. For this room only.

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tegula/dist/exchange/group.h"
#include "tegula/dist/exchange/host.h"
#include "tegula/dist/exchange/levels.h"
#include "tegula/dist/exchange/progress.h"
#include "tegula/dist/transport/transport.h"

namespace tegula::dist {

/// The engines for collectives by the devices themselves (engines/engines.h), as far as the end of a run must know them.
struct OwnEngines {
  virtual ~OwnEngines() = default;
  /// May be called twice.
  virtual void close() noexcept = 0;
};

struct Group::State {
  World* world = nullptr;  // which owns it
  std::vector<int> ranks;  // in the run
  int rank = -1;           // this process's rank among them
  std::int64_t id = 0;
  // For the thread that uses the group: the trace that made its last collective, and the number of collectives in it (Collective::number).
  std::uint32_t trace = 0, in_trace = 0;
  // All under World::exchanging.
  std::uint64_t done = 0;  // collectives
  bool placed = false;  // the ranks have told each other on which hosts they are, so that there may be
  std::optional<Levels> levels;
  std::vector<std::byte> between;  // memory for reductions in levels
};

/// A run, as one of its ranks sees it.
struct World {
  explicit World(std::shared_ptr<Transport> carrier) : transport(std::move(carrier)) {}
  const std::shared_ptr<Transport> transport;
  std::uint64_t host = host_number();  // this rank's host
  std::mutex exchanging;  // one collective at a time
  std::exception_ptr failure;  // after it nothing is exchanged any more: later calls throw it again
  std::mutex naming;  // protects `groups`
  std::map<std::vector<int>, std::unique_ptr<Group::State>> groups;  // for as long as the run: what ranks know of one they know together
  Progress progress;  // thread for begun exchanges. Last: it ends before the other fields
  std::unique_ptr<OwnEngines> engines;  // once one was looked for; under `naming`. The first to go: it uses the others
};

}  // namespace tegula::dist

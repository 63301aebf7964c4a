#pragma once
// What the handles of a group share. For the room alone.

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tegula/dist/group.h"
#include "tegula/dist/progress.h"
#include "tegula/dist/transport.h"

namespace tegula::dist {

class Engines;

/// A run, as one of its ranks sees it.
struct World {
  explicit World(std::shared_ptr<Transport> carrier) : transport(std::move(carrier)) {}
  const std::shared_ptr<Transport> transport;
  std::mutex exchanging;  // one collective at a time
  std::exception_ptr failure;  // after which nothing is exchanged any more: whoever tries gets it again
  std::mutex naming;      // of groups
  std::map<std::vector<int>, std::weak_ptr<Group::State>> groups;
  Progress progress;  // of exchanges that were begun. Last: its thread ends before the rest
  std::shared_ptr<Engines>
      engines;  // once a device's own engine was looked for (engines.h); under `naming`. The first to go: it uses the others
};

struct Group::State {
  std::shared_ptr<World> world;
  std::vector<int> ranks;  // in the run
  int rank = -1;           // of this process among them
  std::int64_t id = 0;
  std::uint64_t done = 0;  // collectives, under World::exchanging
};

}  // namespace tegula::dist

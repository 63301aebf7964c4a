#pragma once
// A group of ranks that exchange: all ranks of a run, or some of them.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/line.h"

namespace tegula::dist {

class Transport;
struct World;

/// Ranks that do collectives together. A handle: copies are the same group. A default-constructed one consists of this process alone, and
/// so does world() in a program that was not launched: collectives then give back their input.
class Group {
 public:
  Group() = default;

  /// This process among the group's, from 0.
  int rank() const;
  int size() const;
  /// The members' ranks in the run.
  std::vector<int> ranks() const;
  /// Some of them, by their number in this group, in this order. Every rank of the run may make it; only those in it may use it. Made twice it is the
  /// same group. Throws Error for a number that is none, or there twice.
  Group sub(const std::vector<int>& members, Line where = Line::current()) const;
  /// True if this process is a member.
  bool contains_me() const;
  /// Names the group in this process: equal for equal groups.
  std::int64_t id() const;
  /// "{0, 1}".
  std::string text() const;

  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}
  /// Null for a process alone.
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// All ranks of the run. The first call connects to them, as `tegula launch`, mpirun, SLURM or the environment say (docs/devices.md); in a program that
/// was started alone it is a group of one. Throws Error where the others cannot be found.
Group world();

/// The group of all ranks of a transport, as this process sees it. Only one thread at a time may use it.
Group group_over(std::shared_ptr<Transport> transport);
/// Makes `group` what world() gives on this thread, until it goes: ranks that are threads.
class WorldScope {
 public:
  explicit WorldScope(Group group);
  ~WorldScope();
  WorldScope(const WorldScope&) = delete;
  WorldScope& operator=(const WorldScope&) = delete;

 private:
  const Group* before_;
  Group group_;
};

/// Tells the other ranks, if there are any, that this one gives up, with the exception that will end the program. Also called if an uncaught exception ends it.
void stop_others(const std::string& sentence) noexcept;

/// Ranks as an array with named axes: Mesh mesh({{"data", 2}, {"tensor", 4}}); ranks that differ along the last axis alone are neighbours.
class Mesh {
 public:
  /// Throws Error unless the sizes multiply to the group's.
  explicit Mesh(std::vector<std::pair<std::string, int>> axes, Group group = world(), Line where = Line::current());
  /// This rank's place along an axis, and the group of the ranks that differ from it there alone. Throws Error for an axis that is not there.
  int place(const std::string& axis, Line where = Line::current()) const;
  Group along(const std::string& axis, Line where = Line::current()) const;

 private:
  std::size_t find(const std::string& axis, const Line& where) const;
  int stride(std::size_t axis) const;

  std::vector<std::pair<std::string, int>> axes_;
  Group group_;
};

}  // namespace tegula::dist

#pragma once
// The boxes that the copy engine takes from a block's shared memory to tensors, some time until the thread that asked for it waits.

#include <cstdint>
#include <random>
#include <vector>

#include "tegula/simt/machine/arrivals.h"

namespace tegula::simt {

class Departures {
 public:
  explicit Departures(Memory& memory) : memory_(memory) {}
  void begin_cluster() { boxes_.clear(), groups_.clear(); }

  /// The thread has a box taken, which leaves at once or later. A piece's `to` is in shared memory, its `from` in a tensor.
  void take(const Access& by, std::vector<Arrivals::Piece> pieces, bool at_once);
  void close(const Access& by);
  /// Waits until all but the thread's last `unfinished` groups have left.
  void await(const Access& by, int unfinished);
  bool is_taking() const;
  /// Lets some of the boxes leave.
  void leave(std::minstd_rand& random);
  /// The cluster is over: nobody waits any more.
  void end();

 private:
  struct Box {
    int thread = 0, group = 0;  // of the cluster; of the thread
    std::vector<Arrivals::Piece> pieces;
    Access by;
    bool defined = true, has_left = false;
  };
  void leave(Box& box);
  static int thread_of(const Access& by);
  static Access piece_access(const Box& box, std::uint64_t* addresses, const Arrivals::Piece& piece);

  Memory& memory_;
  std::vector<Box> boxes_;
  std::map<int, int> groups_;  // closed ones, by thread
};

}  // namespace tegula::simt

#pragma once
// The pieces that the copy engine brings into a block's shared memory, and the counters that say so.

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tegula/simt/machine/memory.h"

namespace tegula::simt {

class Arrivals {
 public:
  /// Sixteen bytes, of which `there` come from memory; the others are 0.
  struct Piece {
    std::uint64_t to = 0, from = 0;
    std::size_t there = 0;
  };

  explicit Arrivals(Memory& memory) : memory_(memory) {}
  void begin_cluster() { counters_.clear(), boxes_.clear(), tickets_ = 0; }

  void begin(const Access& counter, int arrivals);
  void end(const Access& counter);
  /// A thread has said what is to come in the phase; that is an arrival, too.
  void expect(const Access& counter, std::int64_t bytes);
  void arrive(const Access& counter);
  /// A box is on its way, or comes at once, to the place and the counter's block that the accesses say.
  void bring(const Access& by, const Access& counter, std::vector<Piece> pieces, bool at_once);
  /// Returns true if the counter's phase of that parity has ended; the warp has seen it then.
  bool has_ended(const Access& counter, bool parity);
  bool is_bringing() const { return !boxes_.empty(); }
  /// Lets some of the boxes come.
  void come(std::minstd_rand& random);

 private:
  struct Counter {
    bool parity = false;  // of the phase
    int arrivals = 1, left = 1;  // threads that arrive in each phase; that are still to come in this one
    std::int64_t missing = 0;  // bytes
    Known known, last_known;  // to the threads that have arrived in this phase, in the last one
    std::uint16_t ticket = 0, last_ticket = 0;  // of what comes in this phase, in the last one
  };
  struct Box {
    std::uint64_t counter = 0;
    std::vector<Piece> pieces;
    Access by;
  };
  Counter* find(const Access& access);
  void come(const Box& box);
  void close(Counter& counter);
  std::uint16_t new_ticket() { return static_cast<std::uint16_t>(kFirstTicket + tickets_++ % kTickets); }

  static constexpr unsigned kFirstTicket = 1000, kTickets = 60000;
  Memory& memory_;
  std::map<std::uint64_t, Counter> counters_;  // by address
  std::vector<Box> boxes_;
  unsigned tickets_ = 0;
};

}  // namespace tegula::simt

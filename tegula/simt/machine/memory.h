#pragma once
// Shared memory of a cluster's blocks, and what is known of each byte: who wrote and read it since all threads met.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tegula/simt/machine/lanes.h"
#include "tegula/simt/machine/machine.h"

namespace tegula::simt {

/// Lanes of a warp that reach `bytes` each, at their addresses plus `offset`.
struct Access {
  int block = 0, first_thread = 0;  // of the block
  const std::uint64_t* addresses = nullptr;
  std::uint32_t mask = 0;
  std::size_t offset = 0, bytes = 4, element = 4;  // an access of several elements side by side
  const std::string* said = nullptr;  // the expression
  bool of_cluster = false;  // in the memory of any of its blocks
  bool by_group = false;  // tensor cores do, for the warp and three others: it is over for them when any one of the four knows that it is
};

/// By warp of the cluster, and by what tensor cores do for it: the time until which its reads are done, so that what they read may be overwritten.
using Known = std::map<int, std::uint32_t>;

class Memory {
 public:
  Memory(const Kernel& kernel, const MachineOptions& options, Observed& observed);

  /// Shared memory is new; what blocks before did to tensors is done by nobody that this cluster could wait for.
  void begin_cluster(std::uint32_t first_block);
  std::byte* shared(int block) { return shared_ + static_cast<std::size_t>(block) * pitch_; }
  void have_met(int block);
  /// Only warps below that number.
  void have_met(int block, int warps);
  /// Nobody may reach the block's memory any more.
  void end_block(int block) { ended_[static_cast<std::size_t>(block)] = true; }
  /// The access' block reaches memory of another one: reports that this one may not have begun, or has ended.
  void check_runs(const Access& access, int lane);
  /// Bytes from a place in the memory of a block to the same place in that of another.
  std::uint64_t distance(int from, int to) const { return static_cast<std::uint64_t>(to - from) * pitch_; }
  void warp_has_met(int block, int warp) { ++warp_times_[static_cast<std::size_t>(block * threads_ / kLanes + warp)]; }
  void cluster_has_met();
  bool cluster_runs() const { return meetings_ > 0; }

  /// Lanes that may go on; `defined`: those of them that read what was written. `atomic`: as one step, what may be written atomically meanwhile.
  std::uint32_t read(const Access& access, std::uint32_t& defined, bool atomic = false);
  /// `defined`: lanes whose value is.
  std::uint32_t write(const Access& access, std::uint32_t defined, bool atomic = false);
  /// The same into the memory of another block; `counted`: threads that wait for the counter may read it.
  void write_to(const Access& access, int block, std::uint32_t defined, int counted);
  /// Orders what this cluster did before what follows an atomic word of another one that meets its next ones; and what the clusters that it has met did before
  /// what it does now.
  void fence();
  /// The counter of a block has arrived: what was counted may be read.
  void counted(int block, int counter);

  // ---- Boxes that the copy engine takes.
  /// The access' warp has fenced what it wrote to shared memory.
  void fence_tiles(const Access& access);
  /// The lane has the piece taken: until it is given back nobody may write there. `defined`: what is there is.
  bool take_piece(const Access& access, int lane, bool& defined);
  /// The lane knows that it has been read.
  void give_piece(const Access& access, int lane);

  // ---- Copies that a lane has begun.
  /// `ticket`: threads that have seen it may read what comes.
  bool begin_copy(const Access& access, int lane, std::uint16_t ticket = 0);
  void end_copy(const Access& access, int lane);
  /// The access' warp tells others, by a counter, what it has read, and what it knows of others; it learns that.
  void release(const Access& access, Known& known);
  void acquire(const Access& access, const Known& known);
  /// What tensor cores have read so far is read: the time, for which `has_read` lets a warp of the block know that the products of a warp are over until then.
  std::uint32_t end_reads() { return tick_++; }
  void has_read(int block, int warp, int product_of, std::uint32_t time);
  /// The access' warp has.
  void has_seen(std::uint16_t ticket, const Access& access) {
    Seen& seen = seen_[ticket];
    seen.block = access.block, seen.warps |= 1u << (access.first_thread / kLanes);
  }

  void find(Finding::Kind kind, const Access& access, int lane, const std::string& more = {});
  bool may_read(const Access& access, int lane);

 private:
  static constexpr std::uint16_t kNobody = 0xffff, kMany = 0xfffe;
  struct Byte {
    std::uint32_t write_time = 0, read_time = 0, write_meeting = 0;
    std::uint16_t writer = kNobody, reader = kNobody;
    std::uint32_t of_writer = 0, of_reader = 0;  // when it was, as their warps count how often they have met
    std::uint16_t counter = 0;  // that has to arrive before it may be read; or a ticket
    std::uint8_t copies = 0;  // on their way
    std::uint8_t taken = 0;  // by boxes of the copy engine that nobody knows to have read it
    bool defined = false, atomic = false, read_atomically = false;
  };
  struct Clock {
    std::uint32_t time = 1, meeting = 1;  // since when all blocks have met last
  };
  static constexpr std::size_t kPage = 1024;
  using Page = std::array<Byte, kPage>;

  Byte* byte_of_shared(const Access& access, int lane, int& block);
  Byte& state_of(std::uint64_t address, std::size_t element);
  /// Returns true if another cluster did so then.
  bool is_elsewhere(std::uint16_t by, std::uint32_t time) const {
    return !instances_meet_ && by != kNobody && time < begun_ && !is_acquired(time);
  }
  bool is_acquired(std::uint32_t time) const;
  /// Orders at an atomic word: effects that others have left there are met, and those that this cluster has released are left there.
  void meet_at(std::uint64_t address, bool writes);
  template <class F>
  void each_element(const Access& access, int lane, F&& f);
  int owner(const Access& access, int lane) const { return access.block * threads_ + access.first_thread + lane; }
  bool may_take(std::uint16_t counter, int by) const;
  bool is_before(std::uint32_t time, std::uint32_t meeting, int by, int block) const;
  std::uint32_t warp_time(int by) const { return warp_times_[static_cast<std::size_t>(by / kLanes)]; }
  /// Returns true if the two threads are of a warp that has met since.
  bool is_of_warp(int other, std::uint32_t time, int by) const { return other / kLanes == by / kLanes && time < warp_time(by); }
  void note_read(Byte& byte, int by, int block, const Access& access, int lane, bool atomic = false);
  void note_write(Byte& byte, int by, int block, const Access& access, int lane, bool atomic);
  void count_banks(const Access& access);
  bool is_inside(const Access& access, int lane);
  bool is_known(std::uint64_t address, std::size_t bytes);

  int threads_, blocks_;
  std::size_t bytes_, pitch_;
  bool instances_meet_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> known_;  // begin and end of what tensors lie in, in order; empty: all may be reached
  std::size_t last_known_ = 0;
  Observed& observed_;
  std::vector<std::byte> memory_;
  std::byte* shared_ = nullptr;
  std::vector<Byte> states_;
  std::vector<Clock> clocks_;
  std::vector<std::uint32_t> warp_times_;
  struct Seen {
    int block = 0;
    std::uint32_t warps = 0;
  };
  std::map<std::uint16_t, Seen> seen_;  // by ticket
  std::vector<bool> ended_;  // blocks
  /// The time when each warp has read a piece of shared memory last, since boxes came; kept where warps know of each other by counters (Kernel::copiers).
  static constexpr std::size_t kPiece = 16;
  static constexpr int kMostWarps = 32;
  using Reads = std::array<std::uint32_t, 2 * kMostWarps>;  // by warps, then by their products (Access::by_group)
  void all_know(std::size_t first, int warps);
  int warps_of_block() const { return threads_ / kLanes; }
  /// The number by which warps know a reader of the block's memory.
  static int reader_of(int block, int reader) { return block * 2 * kMostWarps + reader; }
  int reader_of(const Access& access) const { return reader_of(access.block, access.first_thread / kLanes); }
  Known& known_of(const Access& access) {
    return known_warps_[static_cast<std::size_t>(access.block * warps_of_block() + access.first_thread / kLanes)];
  }
  void note_piece_read(std::uint64_t address, int by, bool by_group);
  void check_piece_is_free(const Access& access, int lane);
  bool counts_warps_;
  /// The last write of a piece: the warp that wrote it, and how often that had fenced; where there are boxes.
  struct LastWrite {
    std::uint16_t warp = kNobody;
    std::uint32_t fences = 0;
  };
  void note_piece_write(const Access& access, int lane);
  bool has_boxes_;
  std::vector<LastWrite> piece_writes_;
  std::vector<std::uint32_t> fences_;  // by warp of the cluster
  std::vector<Reads> piece_reads_;
  std::vector<Known> known_warps_;  // by warp
  std::uint32_t tick_ = 1;
  std::uint32_t meetings_ = 0, meeting_ = 1;
  std::uint32_t first_block_ = 0, begun_ = 1;  // when the cluster began
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::pair<std::uint64_t, Page*> last_page_{0, nullptr};
  /// Times of other clusters, from the first to the second one.
  using Times = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  Times acquired_, met_;  // that are before this one; that an atomic word has met since the last fence
  std::uint32_t released_ = 0;  // when the cluster's last fence was
  std::map<std::uint64_t, Times> left_;  // by address
  std::set<std::pair<Finding::Kind, std::string>> found_;
};

}  // namespace tegula::simt

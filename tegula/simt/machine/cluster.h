#pragma once
// The blocks that run one instance, and what their warps share.

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tegula/simt/machine/arrivals.h"
#include "tegula/simt/machine/code.h"
#include "tegula/simt/machine/departures.h"

namespace tegula::simt {

class Cluster {
 public:
  Cluster(const Kernel& kernel, const Code& code, const MachineLaunch& launch, const MachineOptions& options, std::int64_t blocks,
          Observed& observed);

  /// False where threads wait for each other for ever.
  bool run(std::uint32_t first_block);

  // ---- What instructions use.
  Memory& memory() { return memory_; }
  int blocks() const { return kernel_.cluster; }
  const MachineLaunch& launch() const { return launch_; }
  bool stopped() const;  // a guard has failed
  /// Products of four warps happen when they are awaited; else at once.
  bool multiplies_late() const { return options_.uneven; }
  void close_products(Warp& warp);
  /// Waits until all but the last `unfinished` groups of the warp's products are over. They are for the four warps at once: each must have closed as many.
  void await_products(Warp& warp, int unfinished);
  void print(const PrintedElement& element) { observed_.printed.push_back(element); }
  /// The lanes of a warp meet.
  void meet_warp(const Warp& warp);
  /// The warp comes to the block's barrier of that number, where `threads` are awaited, and waits for them or goes on.
  void come_to(Warp& warp, int number, int threads, bool waits);
  /// Registers that warps give back are there for those of their block that take some, whichever comes first.
  void move_registers(const Warp& warp, const MoveRegisters& registers);
  /// Copies arrive at once, or when they are waited for.
  void begin_copies(Warp& warp, const Access& to, const std::uint64_t* from, const std::int64_t* there);
  void close_copies(Warp& warp);
  void await_copies(Warp& warp, int unfinished);
  // ---- Boxes of tensors.
  struct Map {
    std::uint64_t begin = 0;  // address
    std::int64_t columns = 0, rows = 0, stride = 0;
    struct Plane {
      std::int64_t distance = 0;  // elements from one to the next
      std::optional<std::int64_t> size = {};
    };
    std::vector<Plane> planes = {};
    const TensorMap* of = nullptr;
  };
  Arrivals& arrivals() { return arrivals_; }
  Departures& departures() { return departures_; }
  const Map& map(int number) const { return maps_[static_cast<std::size_t>(number)]; }
  /// Returns true if copies come at once.
  bool copies_at_once() const { return !options_.uneven; }
  /// Bytes that have come to a block's counter, and are expected there.
  void expect(int block, int exchange, std::int64_t bytes);
  void tell(int block, int exchange, std::int64_t bytes);

 private:
  struct Exchange {
    std::int64_t expected = -1, arrived = 0;
    bool complete() const { return expected >= 0 && arrived >= expected; }
  };

  void begin(Warp& warp, int block, int number);
  bool begin_instance(Warp& warp);
  void place_instance(Warp& warp, const runtime::ArgumentSet& set, std::int64_t instance);
  void go_on(Warp& warp, int steps);
  void step(Warp& warp, const Instruction& instruction);
  void compute(Warp& warp, const Instruction& instruction);
  void wait(Warp& warp, Warp::Wait at);
  bool release();
  bool has_bytes(const Warp& warp);
  std::span<Warp> group_of(const Warp& warp);
  bool has_products(const Warp& warp);
  void end_products(Warp& warp);
  void found_apart(const Warp& warp);
  /// A meeting at a barrier by number.
  struct Meeting {
    std::uint32_t warps = 0;  // that have come; bits
    int threads = 0;
  };
  void found_left();
  void note_end(int block);
  template <class T, class F>
  void give(Warp& warp, std::uint32_t granule, F&& value);

  const Kernel& kernel_;
  const Code& code_;
  const MachineLaunch& launch_;
  const MachineOptions& options_;
  Observed& observed_;
  Memory memory_;
  Arrivals arrivals_{memory_};
  Departures departures_{memory_};
  std::vector<Map> maps_;
  std::int64_t blocks_;  // of the grid
  std::uint32_t first_block_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::vector<Exchange>> exchanges_;  // per block
  std::map<std::pair<int, int>, Meeting> meetings_;  // by block and number
  std::map<std::size_t, int> registers_;  // of a thread, by warps that have moved some
  std::map<int, int> spare_registers_;  // by block
  int warps_of_block_;
  std::minstd_rand random_;
};

}  // namespace tegula::simt

#pragma once
// Checks the memory accesses of a launch's threads: accesses outside of the given memory, reads of elements that were never written, and accesses to one element
// that nothing orders.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tegula/emulator/interface.h"

namespace tegula::emulator {

/// The thread and time of an access: the time is the number of barriers that its block and its warp have passed.
struct Stamp {
  std::uint32_t block = 0, phase = 0, warp_phase = 0;
  std::uint16_t thread = 0;
  std::uint8_t kind = 0;  // 0: nobody; 1; 2: by an atomic operation
};

struct Region {
  enum class Kind : std::uint8_t { Tensor, Shared, Global, Nobody /* behind what is one's own */ };
  std::string name;  // "argument y, f32[100]"
  const unsigned char* begin = nullptr;
  std::size_t bytes = 0;
  Kind kind = Kind::Tensor;
  bool writable = true;
  bool filled = true;  // holds something when the launch begins
  std::size_t element = 4;  // bytes
};

/// The fill of memory that was never written. The compiler does not report every write (of a structure that a function returns), so memory with
/// another content counts as written.
constexpr unsigned char kNothing = 0xcd;

class MemoryCheck {
 public:
  /// Regions do not overlap; the image is the code's own memory, of which only regions are looked at.
  MemoryCheck(std::vector<Region> regions, const unsigned char* image_begin, const unsigned char* image_end, emulated::Index block_size);

  void begin_block(std::uint32_t number, emulated::Index index);
  /// A barrier of the block, or of one warp of it.
  void pass_block() { ++phase_; }
  void pass_warp(std::size_t warp) { ++warp_phases_[warp]; }
  /// Makes the block's writes so far visible to blocks that learn of them by an atomic operation.
  void fence() { fenced_[block_] = phase_ + 1; }
  /// The fault of this access by a thread of the running block; empty if there is none.
  std::string access(const void* place, std::size_t bytes, emulated::Kind kind, unsigned thread);
  /// The first element of a region that holds nothing, and has been written by nobody; empty where there is none.
  std::string unwritten() const;
  std::string thread_text(std::uint32_t block, unsigned thread) const;

 private:
  struct Cell {
    Stamp writer, readers[2];
    bool filled = false;
  };
  struct Shadow {
    Region region;
    std::vector<Cell> cells;
    std::size_t granule = 4;
  };

  Shadow* find(const unsigned char* place);
  static bool holds_nothing(const Shadow& shadow, std::size_t cell);
  bool ordered(const Stamp& before, const Stamp& now) const;
  std::string outside(const unsigned char* place, std::size_t bytes, emulated::Kind kind) const;
  std::string race(const Shadow& shadow, std::size_t cell, const Stamp& other, bool other_wrote, emulated::Kind kind,
                   const Stamp& now) const;
  static std::string element_text(const Region& region, std::size_t byte);

  std::vector<Shadow> shadows_;  // by address
  const unsigned char *image_begin_, *image_end_;
  emulated::Index block_size_, block_index_{};
  std::uint32_t block_ = 0, phase_ = 0;
  std::vector<std::uint32_t> warp_phases_;
  std::vector<std::uint32_t> fenced_;  // by block: the phase up to which what it wrote is there for others
  std::vector<emulated::Index> indices_;  // of blocks
  bool has_acquired_ = false;  // the running block, by an atomic operation
  std::size_t last_ = 0;
};

std::string text_of(emulated::Index index);

}  // namespace tegula::emulator

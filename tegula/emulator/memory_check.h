#pragma once
// What the threads of a launch may not do with memory: reach outside of what they were given, read what nobody has written, and touch one element with nothing between
// them that says who comes first.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tegula/emulator/interface.h"

namespace tegula::emulator {

/// Who touches memory, and when: by the barriers that its block and its warp have passed.
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

/// What memory that nobody has written is full of. The compiler does not tell of every write (of a structure that a function returns), so that what is full of
/// something else counts as written.
constexpr unsigned char kNothing = 0xcd;

class MemoryCheck {
 public:
  /// Regions do not overlap; the image is the code's own memory, of which only regions are looked at.
  MemoryCheck(std::vector<Region> regions, const unsigned char* image_begin, const unsigned char* image_end, emulated::Index block_size);

  void begin_block(std::uint32_t number, emulated::Index index);
  /// A barrier of the block, or of one warp of it.
  void pass_block() { ++phase_; }
  void pass_warp(std::size_t warp) { ++warp_phases_[warp]; }
  /// What the block has written so far is there for blocks that come to know of it by an atomic operation.
  void fence() { fenced_[block_] = phase_ + 1; }
  /// What is wrong with this access of the running block's thread; empty where nothing is.
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

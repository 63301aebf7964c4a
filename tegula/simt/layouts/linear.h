#pragma once
// Layouts that are linear over bits: the map from registers of threads to elements of a tile.
//
// All sizes are powers of two. The number of an element (row-major) is the exclusive or of one column for each bit of its place that is 1: the bits of
// the register's number, of the lane, of the warp. A layout is therefore a matrix over GF(2), and layouts are composed, inverted and compared as matrices
// (Triton calls them linear layouts). Rows of threads are such layouts, and so are the fragments of tensor cores, which no grid of threads describes.

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tegula::simt {

/// An element's number, or a set of bits of one.
using Bits = std::uint32_t;
/// The columns of a matrix over GF(2), that of the lowest bit first.
using Columns = std::vector<Bits>;

inline bool is_power_of_two(std::int64_t n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

/// The exclusive or of the columns of the bits that are 1.
Bits product(std::span<const Bits> columns, Bits bits);
int rank_of(std::span<const Bits> columns);
/// Some bits with product(columns, bits) == target, as few high ones as there must be; nothing where there are none.
std::optional<Bits> solve(std::span<const Bits> columns, Bits target);

/// The place of an element.
struct Spot {
  Bits reg = 0, lane = 0, warp = 0;
  bool operator==(const Spot&) const = default;
};

class Linear {
 public:
  static constexpr int kLaneBits = 5;

  Linear() = default;
  Linear(Columns registers, Columns lanes, Columns warps)
      : registers_(std::move(registers)),
        lanes_(std::move(lanes)),
        warps_(std::move(warps)) {}

  Bits element(const Spot& spot) const { return product(registers_, spot.reg) ^ product(lanes_, spot.lane) ^ product(warps_, spot.warp); }
  const Columns& registers() const { return registers_; }
  const Columns& lanes() const { return lanes_; }
  const Columns& warps() const { return warps_; }
  /// The columns of the lanes, then of the warps: of a thread's number.
  Columns threads() const;
  int held() const { return 1 << registers_.size(); }
  /// True if each of 2^bits elements has a place.
  bool covers(int bits) const;
  /// The same places, of other elements: what is element e here is element product(map, e) there.
  Linear mapped(std::span<const Bits> map) const;
  bool operator==(const Linear&) const = default;

 private:
  Columns registers_, lanes_, warps_;
};

/// The fragments of mma.m16n8k16 (PTX, "Matrix Fragments for mma.m16n8k16"): of a 16 x 8 tile of sums (Accumulator), and of its 16 x 16 and 16 x 8 operands
/// in halves. In larger tiles the tiles of different warps are one below another, and those of a thread's further registers
/// beside each other.
enum class Fragment : std::uint8_t { Accumulator, Left, Right };
/// The layout of a tile of rows x columns (Right: terms x columns), powers of two, shared by `warps` warps along the rows.
Linear fragment_layout(Fragment fragment, int rows, int columns, int warps);

}  // namespace tegula::simt

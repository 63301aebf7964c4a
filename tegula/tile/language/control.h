#pragma once
// Loops and branches of a kernel. An ordinary C++ `if` or `for` over ordinary numbers is decided while the kernel is recorded.

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tegula/tile/language/words.h"

namespace tegula::tile {

/// for (auto k : range(begin, end, step)): the body is recorded once; k is an i64 scalar. What the body assigns to variables declared before it goes from
/// iteration to iteration. Ordinary C++ variables change once, not in each iteration. break and return are Errors. step is at least 1; a number below 0 counts
/// down: range(5, -1, -1) is 5, 4, …, 0.
/// Triton's hints of a loop. num_stages of 1: a GPU's kernel fetches nothing ahead; 2 to 255: so many tiles of a product on tensor cores are in shared memory at
/// once, where they have room; without one, and of loads for other words, the generator decides how far it fetches. num_warps: so many multiply, rounded down
/// to a power of two, of those that multiply in fours (wgmma) to what the rows have work for; Triton's hint of a kernel, as for num_stages one of a configuration
/// (ops/tile_tune.h) holds for the loops that say none. warp_specialize: whether a warp of its own copies for those that multiply, and blocks stay for several
/// instances, where the kernel allows it; without it the generator decides. num_ctas: so many blocks of a cluster (2, 4, 8) do the iterations of a product's
/// loop between them and bring their sums together, in their order (Triton's blocks of a cluster, which share one instance); with warp_specialize each has a
/// part of the rows or columns instead, and brings the operand that all of them read once for all (TMA multicast). The others are wishes that no generator
/// needs: it unrolls, orders and multiplies as it finds best. The values are the same whatever the hints.
struct RangeHints {
  int num_stages = 0, loop_unroll_factor = 0;
  bool disallow_acc_multi_buffer = false, flatten = false;
  std::optional<bool> warp_specialize = {};
  bool disable_licm = false;
  std::uint8_t num_ctas = 0;
  int num_warps = 0;
};
class Range {
 public:
  Range(TileArg begin, TileArg end, TileArg step, const Line& where, const RangeHints& hints = {});
  ~Range() {
    if (open_ && std::uncaught_exceptions() == exceptions_) trace_.break_off(where_);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  struct End {};
  class Iterator {
   public:
    explicit Iterator(Range& range) : range_(range) { range_.enter(); }
    Tile operator*() const { return range_.at(); }
    Iterator& operator++() {
      range_.leave();
      return *this;
    }
    bool operator!=(End) const { return range_.more_; }

   private:
    Range& range_;
  };
  Iterator begin() { return Iterator(*this); }
  End end() { return {}; }

 private:
  void enter();
  void leave();
  Tile at() const;

  language::Trace& trace_;
  Line where_;
  Value begin_, end_, step_, counter_;
  std::vector<Tile> down_from_;  // where the loop counts down, by down_by_: the first one
  std::int64_t down_by_ = 0;
  int exceptions_ = std::uncaught_exceptions();
  bool open_ = false, more_ = false;
  std::int64_t at_ = 0, last_ = 0, by_ = 1;  // where the kernel runs at once
  std::int64_t hints_ = 0;
};
inline Range range(TileArg begin, TileArg end, TileArg step = 1, Line where = Line::current()) { return {begin, end, step, where}; }
inline Range range(TileArg begin, TileArg end, TileArg step, RangeHints hints, Line where = Line::current()) {
  return {begin, end, step, where, hints};
}
inline Range range(TileArg end, Line where = Line::current()) { return {0, end, 1, where}; }

/// Unrolled: an ordinary loop over ordinary numbers.
class StaticRange {
 public:
  struct Iterator {
    std::int64_t i, by;
    std::int64_t operator*() const { return i; }
    void operator++() { i += by; }
    bool operator!=(const Iterator& end) const { return by > 0 ? i < end.i : i > end.i; }
  };
  StaticRange(std::int64_t begin, std::int64_t end, std::int64_t by) : begin_(begin), end_(end), by_(by) {}
  Iterator begin() const { return {begin_, by_}; }
  Iterator end() const { return {end_, by_}; }

 private:
  std::int64_t begin_, end_, by_;
};
inline StaticRange static_range(std::int64_t end) { return {0, end, 1}; }
inline StaticRange static_range(std::int64_t begin, std::int64_t end, std::int64_t by = 1) { return {begin, end, by}; }

/// One of two functions, by a boolean scalar: if_(n > 5, [&] { x = 1; }, [&] { x = 2; }). Both are recorded.
void if_(TileArg condition, const std::function<void()>& then, const std::function<void()>& otherwise = [] {});

/// while_([&] { return n != 1; }, [&] {…}): so long as a boolean scalar holds. Condition and body are recorded; what they assign to variables from before goes
/// from iteration to iteration. Nothing bounds it: instances run one after another on the CPU, so that none may wait for what a later one does.
void while_(const std::function<Tile()>& condition, const std::function<void()>& body, Line where = Line::current());
/// The same at most so often: an Error where it holds still, by a device_assert.
void while_(const std::function<Tile()>& condition, const std::function<void()>& body, std::int64_t at_most, Line where = Line::current());

}  // namespace tegula::tile

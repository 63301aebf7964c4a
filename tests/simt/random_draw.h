#pragma once
// Seeds of random kernels: numbers drawn from them, and what they decide.

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "tegula/ops/tile_jit.h"

namespace drawn {
using namespace tegula::tile;
using tegula::DType, tegula::is_float, tegula::is_integer, tegula::is_unsigned, tegula::numel, tegula::Shape, tegula::size_of;

/// Numbers from a seed (Steele et al., "Fast splittable pseudorandom number generators", 2014).
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(word() % static_cast<std::uint64_t>(n)); }
  std::int64_t from(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T, std::size_t N>
  T one_of(const T (&list)[N]) {
    return list[static_cast<std::size_t>(below(N))];
  }
  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

constexpr DType kFloats[] = {tegula::f32, tegula::f32, tegula::f32, tegula::f64, tegula::f16, tegula::bf16, tegula::e4m3, tegula::e5m2};
constexpr DType kIntegers[] = {tegula::i32, tegula::i32, tegula::i64, tegula::i64, tegula::i8,
                               tegula::i16, tegula::u8,  tegula::u16, tegula::u32, tegula::u64};

constexpr std::int64_t kInput = 600;  // elements of an input
constexpr std::int64_t kOwn = 1024;  // of a result that an instance has to itself
constexpr std::int64_t kRegions = 16, kRegion = 128;  // of one that atomic words change
constexpr std::int64_t kMost = 512;  // of a tile
constexpr int kShown = 20;  // tiles that are stored at the end

/// The choices that decide a kernel, and the statements that it had.
struct Recipe {
  std::uint64_t seed = 0;
  int statements = 8;
  std::set<std::uint64_t> without;
  std::set<std::uint64_t> said;
  std::array<DType, 4> inputs;
  std::array<DType, 3> own, shared;

  explicit Recipe(std::uint64_t number) : seed(number) {
    Draw draw(number);
    statements = static_cast<int>(draw.from(4, 12));
    inputs = {draw.one_of(kFloats), draw.one_of(kIntegers), draw.chance(50) ? draw.one_of(kFloats) : draw.one_of(kIntegers),
              tegula::boolean};
    own = {draw.one_of(kFloats), draw.one_of(kIntegers), draw.one_of(kIntegers)};
    shared = {draw.one_of(kFloats), draw.one_of(kIntegers), draw.one_of(kIntegers)};
  }
};
inline std::vector<Recipe>& recipes() {
  static std::vector<Recipe> all;
  return all;
}

}  // namespace drawn

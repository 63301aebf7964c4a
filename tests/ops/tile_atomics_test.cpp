// Atomic words in every dtype that they take: on the CPU, and at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/tile_atomic_kernels.h"

namespace tegula {
namespace {

using tile::OutShape;
using Numbers = std::vector<double>;

constexpr DType kFloats[] = {f64, f32, f16, bf16, e4m3, e5m2};
constexpr DType kIntegers[] = {i64, i32, i16, i8, u64, u32, u16, u8};

constexpr double kBegun = 6;
const Numbers kGiven{3, 12, 5, 9};

/// The word's new number from the old one and what it is given.
using Word = std::function<double(double, double)>;

/// The four words that two instances leave, and the values that each of them finds.
struct Expected {
  Numbers left, found = Numbers(32);

  Expected(DType dtype, const std::vector<Word>& words, bool masks_last) {
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::size_t i = 0; i < 4; ++i) {
        double now = kBegun;
        for (std::size_t instance = 0; instance < 2 && (i < 3 || (w == 3 && !masks_last)); ++instance) {
          found[instance * 16 + w * 4 + i] = now;
          now = cast(tensor({static_cast<float>(words[w](now, kGiven[i]))}), dtype).item();
        }
        left.push_back(now);
      }
    }
  }
};

template <class K>
void expect_words(const K& kernel, DType dtype, const std::vector<Word>& words, bool masks_last) {
  const Expected expected(dtype, words, masks_last);
  const Tensor x = cast(tensor({3.0f, 12.0f, 5.0f, 9.0f}), dtype);
  // On a card either instance may be the first, for each number: both are given the same.
  const auto in_any_order = [](Numbers found) {
    for (std::size_t i = 0; i < 16; ++i)
      if (found[i] > found[16 + i]) std::swap(found[i], found[16 + i]);
    return found;
  };
  const auto run = [&](const auto& k, bool ordered) {
    const auto r = k({2}, x, OutShape{{16}, kBegun, dtype}, OutShape{{32}, {}, dtype});
    const Numbers found = cast(r[1], f64).template to_host<double>();
    EXPECT_EQ(cast(r[0], f64).template to_host<double>(), expected.left) << name(dtype);
    EXPECT_EQ(ordered ? found : in_any_order(found), ordered ? expected.found : in_any_order(expected.found)) << name(dtype);
  };
  run(kernel, &default_device() == &cpu());
  run(kernel.check(), true);
}

TEST(TileAtomics, WordsOnNumbersChangeThemAndGiveWhatWasThere) {
  const std::vector<Word> words{[](double a, double b) { return a + b; }, [](double a, double b) { return std::max(a, b); },
                                [](double a, double b) { return std::min(a, b); }, [](double, double b) { return b; }};
  for (const DType dtype : kFloats) expect_words(atomics::numbers, dtype, words, true);
  for (const DType dtype : kIntegers) expect_words(atomics::numbers, dtype, words, true);
}

TEST(TileAtomics, WordsOnBitsChangeThemAndGiveWhatWasThere) {
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  const std::vector<Word> words{[&](double a, double b) { return static_cast<double>(whole(a) & whole(b)); },
                                [&](double a, double b) { return static_cast<double>(whole(a) | whole(b)); },
                                [&](double a, double b) { return static_cast<double>(whole(a) ^ whole(b)); },
                                [](double a, double b) { return a == kBegun ? b : a; }};
  for (const DType dtype : kIntegers) expect_words(atomics::bits, dtype, words, false);
}

TEST(TileAtomics, WordsOnBitsAreRefusedForFloats) {
  for (const DType dtype : kFloats) {
    const std::string text =
        message_of([&] { atomics::bits({1}, zeros({4}, dtype), OutShape{{16}, 0, dtype}, OutShape{{16}, {}, dtype})[0].to_array(); });
    EXPECT_NE(text.find("atomic_and"), std::string::npos) << text;
    EXPECT_NE(text.find("a pointer to integers"), std::string::npos) << text;
  }
}

/// Numbers that a signed type would order the other way round.
TEST(TileAtomics, UnsignedNumbersAreComparedAsSuch) {
  const auto expect = [](auto high, DType dtype) {
    using T = decltype(high);
    const Tensor x = from_array([&] {
      const HostArray array = HostArray::empty(dtype, {4});
      std::fill_n(static_cast<T*>(array.buffer->data()), 4, high);
      return array;
    }());
    for (const bool at_once : {false, true}) {
      const auto run = [&](const auto& k) {
        return k({1}, x, OutShape{{16}, 6, dtype}, OutShape{{16}, {}, dtype})[0].template to_host<T>();
      };
      const std::vector<T> left = at_once ? run(atomics::numbers.check()) : run(atomics::numbers);
      EXPECT_EQ(left[4], high);
      EXPECT_EQ(left[8], T{6});
    }
  };
  expect(std::uint64_t{0x8000000000000001u}, u64);
  expect(std::uint32_t{0x80000001u}, u32);
}

}  // namespace
}  // namespace tegula

// The all-reduce over other ranks' memory, emulated: one rank runs, and the others' messages lie in its boxes already, as they would have sent them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tegula/cuda/handwritten/plain_all_reduce.h"
#include "tests/support/emulator.h"

namespace tegula::gpu {
namespace {

struct Line {
  std::uint32_t low, low_number, high, high_number;
  bool operator==(const Line&) const = default;
};

template <class T>
std::vector<Line> lines_of(const std::vector<T>& values, std::uint32_t number) {
  std::vector<Line> lines((values.size() * sizeof(T) + 7) / 8);
  std::vector<std::uint32_t> words(2 * lines.size(), 0);
  std::memcpy(words.data(), values.data(), values.size() * sizeof(T));
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = {words[2 * i], number, words[2 * i + 1], number};
  return lines;
}

/// A rank of several, whose others are played by the test.
struct Played {
  Played(int rank, int ranks, std::int64_t box_bytes) : rank(rank), ranks(ranks), box_bytes(box_bytes) {
    state.rank = static_cast<std::uint32_t>(rank);
    state.stop = &stop;
    for (int r = 0; r < ranks; ++r) {
      sent.emplace_back(2 * all_reduce_box(box_bytes) / sizeof(Line), Line{7, 7, 7, 7});
      come.emplace_back(sent.back());
    }
    for (int r = 0; r < ranks; ++r)
      state.to[r] = sent[static_cast<std::size_t>(r)].data(), state.from[r] = come[static_cast<std::size_t>(r)].data();
  }

  /// An exchange of small whole numbers, whose sums are exact.
  template <class T>
  void exchange(DType dtype, std::int64_t count, bool mean, std::size_t shift = 0) {
    const std::uint32_t number = state.exchange + 1;
    const std::size_t box = number % 2 * all_reduce_box(box_bytes) / sizeof(Line);
    std::vector<T> expected(static_cast<std::size_t>(count), T(0)), mine;
    for (int r = 0; r < ranks; ++r) {
      std::vector<T> values;
      for (std::int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<T>(draw() % 64 * static_cast<unsigned>(mean ? ranks : 1)));
        expected[static_cast<std::size_t>(i)] += values.back() / static_cast<T>(mean ? ranks : 1);
      }
      if (r == rank) mine = values;
      else std::ranges::copy(lines_of(values, number), come[static_cast<std::size_t>(r)].begin() + static_cast<std::ptrdiff_t>(box));
    }
    std::vector<T> in(shift, T(-1)), out(shift + mine.size() + 4, T(-2));
    in.insert(in.end(), mine.begin(), mine.end());
    const PlainKernel kernel = all_reduce_kernel({.dtype = dtype, .count = count, .ranks = ranks, .mean = mean, .box_bytes = box_bytes});
    emulate(kernel, std::vector<void*>{in.data() + shift, out.data() + shift, &state});
    EXPECT_EQ(std::vector<T>(out.begin() + static_cast<std::ptrdiff_t>(shift), out.end() - 4), expected);
    EXPECT_EQ(std::vector<T>(out.end() - 4, out.end()), std::vector<T>(4, T(-2))) << "nothing behind the end";
    EXPECT_EQ(state.exchange, number);
    EXPECT_EQ(state.finished, 0u);
    const std::vector<Line> expected_lines = lines_of(mine, number);
    for (int r = 0; r < ranks; ++r) {
      if (r == rank) continue;
      const auto begin = sent[static_cast<std::size_t>(r)].begin() + static_cast<std::ptrdiff_t>(box);
      EXPECT_EQ(std::vector<Line>(begin, begin + static_cast<std::ptrdiff_t>(expected_lines.size())), expected_lines) << "to rank " << r;
    }
  }
  std::uint32_t draw() { return random(); }

  int rank, ranks;
  std::int64_t box_bytes;
  std::uint32_t stop = 0;
  AllReduceState state;
  std::vector<std::vector<Line>> sent, come;
  std::mt19937 random{5};
};

TEST(AllReduceKernel, AddsUpWhatComesAndSendsItsOwn) {
  Played first(0, 2, 16384), middle(1, 3, 16384), last(7, 8, 8192);
  for (int turn = 0; turn < 3; ++turn) {  // both boxes, and the first again
    first.exchange<float>(DType::f32, 4096, false);
    middle.exchange<double>(DType::f64, 1500, true);
    last.exchange<float>(DType::f32, 1025, true);
  }
  first.exchange<float>(DType::f32, 1, false);
  middle.exchange<double>(DType::f64, 1, false);
  last.exchange<float>(DType::f32, 2, false);
}

TEST(AllReduceKernel, TakesWhatBeginsBetweenWords) {
  Played played(1, 2, 4096);
  for (const std::int64_t count : {1, 603}) played.exchange<float>(DType::f32, count, false, 1);
}

// A rank that waits for one that has gone ends when it is told to.
TEST(AllReduceKernel, StopsWhenNobodyComes) {
  Played played(0, 2, 4096);
  played.stop = 1;
  std::vector<float> in(10, 1), out(10, -2);
  const PlainKernel kernel = all_reduce_kernel({.dtype = DType::f32, .count = 10, .ranks = 2, .box_bytes = 4096});
  emulate(kernel, std::vector<void*>{in.data(), out.data(), &played.state});
  EXPECT_EQ(out, std::vector<float>(10, -2)) << "nothing was added up";
}

// A part that the copy engines carried: the received values are added up, and the other rank is told.
template <class T>
void add(DType dtype, std::int64_t count, bool mean, std::size_t shift) {
  std::mt19937 random{7};
  std::vector<T> in(shift, T(-1)), box, out(shift + static_cast<std::size_t>(count) + 4, T(-2)), expected = out;
  for (std::int64_t i = 0; i < count; ++i) {
    in.push_back(static_cast<T>(random() % 64)), box.push_back(static_cast<T>(random() % 64));
    expected[shift + static_cast<std::size_t>(i)] = (in.back() + box.back()) / static_cast<T>(mean ? 2 : 1);
  }
  std::uint32_t stop = 0, told = 0;
  CopyMeeting meeting{.next = 9, .arrived = 9, .theirs = 8, .stop = &stop, .tell = &told};
  emulate(wait_for_box_kernel(), std::vector<void*>{&meeting});
  emulate(add_arrived_kernel(dtype, count, mean), std::vector<void*>{in.data() + shift, out.data() + shift, box.data(), &meeting});
  EXPECT_EQ(out, expected);
  EXPECT_EQ(meeting.next, 10u);
  EXPECT_EQ(told, 9u);
  EXPECT_EQ(meeting.blocks, 0u);
}

TEST(AllReduceKernel, AddsUpWhatWasCopied) {
  for (const bool mean : {false, true}) {
    for (const std::size_t shift : {0u, 1u}) {
      for (const std::int64_t count : {1, 5, 4099}) add<float>(DType::f32, count, mean, shift), add<double>(DType::f64, count, mean, shift);
    }
  }
}

// Parts lie as those of an all-gather, at places that do not lie at whole words for either rank.
TEST(AllReduceKernel, JoinsWhatWasCopied) {
  for (const int rank : {0, 1}) {
    for (const std::size_t shift : {0u, 3u}) {
      for (const std::int64_t bytes : {1, 77, 9000}) {
        std::vector<std::uint8_t> halves[2], box, out(shift + 2 * static_cast<std::size_t>(bytes) + 4, 9), expected = out;
        for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(bytes); ++i) {
          expected[shift + i] = static_cast<std::uint8_t>(i * 37 % 251);
          halves[i / static_cast<std::size_t>(bytes)].push_back(expected[shift + i]);
        }
        std::uint32_t stop = 0, told = 0;
        CopyMeeting meeting{.next = 9, .arrived = 9, .theirs = 8, .stop = &stop, .tell = &told};
        emulate(join_arrived_kernel(bytes, rank),
                std::vector<void*>{halves[rank].data(), out.data() + shift, halves[1 - rank].data(), &meeting});
        EXPECT_EQ(out, expected) << bytes << " bytes on rank " << rank;
        EXPECT_EQ(meeting.next, 10u);
        EXPECT_EQ(told, 9u);
      }
    }
  }
}

TEST(AllReduceKernel, WhatNeverComesIsWaitedForUntilTold) {
  std::uint32_t stop = 1, told = 0;
  CopyMeeting meeting{.next = 9, .arrived = 8, .theirs = 7, .stop = &stop, .tell = &told};
  std::vector<float> in(10, 1), box(10, 1);
  emulate(wait_for_box_kernel(), std::vector<void*>{&meeting});
  emulate(add_arrived_kernel(DType::f32, 10, false), std::vector<void*>{in.data(), in.data(), box.data(), &meeting});
  EXPECT_EQ(told, 9u) << "it ended";
}

}  // namespace
}  // namespace tegula::gpu

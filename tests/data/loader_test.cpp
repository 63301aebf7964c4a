#include "tegula/data/loader.h"

#include <gtest/gtest.h>

#include <exception>
#include <numeric>
#include <set>
#include <stdexcept>

#include "tests/io/files.h"

namespace tegula::data {
namespace {

/// Inputs (n, 2) f32 {i, -i}, targets (n,) i64 i.
ArrayDataset counting(std::int64_t n) {
  ArrayDataset set(HostArray::empty(f32, {n, 2}), HostArray::empty(i64, {n}));
  for (std::int64_t i = 0; i < n; ++i) {
    set.inputs.values<float>()[static_cast<std::size_t>(2 * i)] = static_cast<float>(i);
    set.inputs.values<float>()[static_cast<std::size_t>(2 * i + 1)] = static_cast<float>(-i);
    set.targets.values<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  }
  return set;
}

std::vector<std::int64_t> epoch(Loader& loader) {
  std::vector<std::int64_t> rows;
  for (const auto& [x, y] : loader) {
    const auto inputs = x.to_host<float>();
    const auto targets = y.to_host<std::int64_t>();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      EXPECT_EQ(inputs[2 * i], static_cast<float>(targets[i]));
      EXPECT_EQ(inputs[2 * i + 1], -static_cast<float>(targets[i]));
      rows.push_back(targets[i]);
    }
  }
  return rows;
}

TEST(Loader, InOrderGivesEveryRowOnceAndKeepsTheRest) {
  std::vector<Shape> shapes;
  std::vector<std::int64_t> rows;
  for (const auto& [x, y] : Loader(counting(10), {.batch = 4})) {
    shapes.push_back(x.shape());
    EXPECT_EQ(y.dtype(), i64);
    for (auto row : y.to_host<std::int64_t>()) rows.push_back(row);
  }
  EXPECT_EQ(shapes, (std::vector<Shape>{{4, 2}, {4, 2}, {2, 2}}));
  std::vector<std::int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(rows, expected);
}

TEST(Loader, ShufflingDropsTheRestUnlessToldOtherwise) {
  Loader drops(counting(10), {.batch = 4, .shuffle = true});
  EXPECT_EQ(epoch(drops).size(), 8u);
  Loader keeps(counting(10), {.batch = 4, .shuffle = true, .last = Last::Keep});
  const auto rows = epoch(keeps);
  EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 10u);
}

TEST(Loader, TheSameSeedGivesTheSameEpochsAndEpochsDiffer) {
  Loader a(counting(64), {.batch = 8, .shuffle = true, .seed = 3}), b(counting(64), {.batch = 8, .shuffle = true, .seed = 3});
  Loader c(counting(64), {.batch = 8, .shuffle = true, .seed = 4});
  const auto first = epoch(a), second = epoch(a);
  EXPECT_EQ(first, epoch(b));
  EXPECT_EQ(second, epoch(b));
  EXPECT_NE(first, second);
  EXPECT_NE(first, epoch(c));
}

TEST(Loader, GoesOnFromASavedPosition) {
  const LoaderOptions options{.batch = 8, .shuffle = true, .seed = 3};
  Loader whole(counting(64), options), part(counting(64), options), resumed(counting(64), options);
  epoch(whole);
  const auto expected = epoch(whole);
  epoch(part);
  std::vector<std::int64_t> rows;
  for (const auto& [x, y] : part) {
    for (auto row : y.to_host<std::int64_t>()) rows.push_back(row);
    if (part.position().batch == 3) break;
  }
  resumed.seek(part.position());
  for (auto row : epoch(resumed)) rows.push_back(row);
  EXPECT_EQ(rows, expected);
}

TEST(Loader, TakesThePrefixOfASet) {
  EXPECT_EQ(counting(10).first(3).size(), 3);
  EXPECT_EQ(counting(2).first(3).size(), 2);
  Loader loader(counting(10).first(3), {.batch = 2});
  EXPECT_EQ(epoch(loader), (std::vector<std::int64_t>{0, 1, 2}));
}

/// Row 5 cannot be read while `broken`.
struct Broken {
  const bool* broken;
  bool of_library = false;
  std::int64_t size() const { return 20; }
  Sample get(std::int64_t i) const {
    if (*broken && i == 5 && of_library) throw Error({.op = "read_png", .got = "a damaged file"});
    if (*broken && i == 5) throw std::out_of_range("no such pixel");
    return {number(static_cast<float>(i)), number(i)};
  }
};

TEST(Loader, ALoopThatAnExceptionEndedBeginsItsEpochAnew) {
  for (const int workers : {0, 2}) {
    bool broken = true;
    Loader loader(Broken{&broken}, {.batch = 3, .shuffle = true, .seed = 3, .workers = workers});
    Loader whole(Broken{&broken}, {.batch = 3, .shuffle = true, .seed = 3});
    const auto rows_of = [](Loader& of) {
      std::vector<std::int64_t> rows;
      for (const auto& [x, y] : of) {
        for (auto row : y.to_host<std::int64_t>()) rows.push_back(row);
      }
      return rows;
    };
    EXPECT_THROW(rows_of(loader), Error) << workers;
    broken = false;
    const auto first = rows_of(whole), second = rows_of(whole);
    EXPECT_EQ(rows_of(loader), first) << workers;
    EXPECT_EQ(rows_of(loader), second) << workers;
  }
}

TEST(Loader, WhatASampleThrowsHasItsNumber) {
  bool broken = true;
  for (const int workers : {0, 2}) {
    const std::string message = testing::message_of([&] { Loader(Broken{&broken}, {.batch = 20, .workers = workers}).next(); });
    EXPECT_NE(message.find("sample 5, whose get throws: no such pixel"), std::string::npos) << message;
    EXPECT_NE(message.find("loader_test.cpp:"), std::string::npos) << message;
    EXPECT_ERROR(Loader(Broken{&broken, true}, {.batch = 20, .workers = workers}).next(), "read_png: got a damaged file, in sample 5");
    try {
      Loader(Broken{&broken}, {.batch = 20, .workers = workers}).next();
    } catch (const Error& error) { EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range); }
  }
}

TEST(Loader, RefusesWhatCannotBeBatches) {
  EXPECT_ERROR(ArrayDataset(HostArray::empty(f32, {3, 2}), HostArray::empty(i64, {4})), "inputs (3, 2) and targets (4,)");
  EXPECT_ERROR(Loader(counting(3), {.batch = 4, .shuffle = true}), "3 rows and batches of 4");
  EXPECT_ERROR(Loader(counting(3), {.batch = 0}), "batch 0");
}

}  // namespace
}  // namespace tegula::data

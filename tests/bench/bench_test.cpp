// Words for measuring and comparing.

#include "tegula/bench.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/random.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

const auto message = &message_of;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(DoBench, TimesAreMillisecondsOfOneRun) {
  int runs = 0;
  const auto work = [&] {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  const BenchTimes times = do_bench(work, {.warmup = 1, .rep = 20});
  EXPECT_GE(times.min(), 2.0);
  EXPECT_GE(times.times().size(), 5u);
  EXPECT_LE(times.times().size(), 10u);
  EXPECT_EQ(static_cast<std::size_t>(runs), times.times().size() + 2);  // one to compile, one to warm up
}

TEST(DoBench, QuantilesLieBetweenTimes) {
  const BenchTimes times({4, 1, 3, 2});
  EXPECT_EQ(times.min(), 1);
  EXPECT_EQ(times.max(), 4);
  EXPECT_EQ(times.median(), 2.5);
  EXPECT_EQ(times.mean(), 2.5);
  const std::vector<double> wanted{1, 1.75, 4};
  EXPECT_EQ(times.quantiles({0, 0.25, 1}), wanted);
  EXPECT_NE(message([&] { times.quantile(1.5); }).find("expected 0 to 1"), std::string::npos);
}

TEST(DoBench, AsksForTheValuesThatAFunctionGives) {
  const Tensor x = uniform({64});
  int calls = 0;
  const auto one = [&] { return ++calls, exp(x); };
  EXPECT_GT(do_bench(one, {.warmup = 0, .rep = 0, .clear_cache = false}).min(), 0);
  EXPECT_GE(calls, 5);
  const auto several = [&] { return std::vector<Tensor>{exp(x), x + 1}; };
  EXPECT_GT(do_bench(several, {.warmup = 0, .rep = 1}).min(), 0);
}

TEST(DoBench, AFunctionIsRecordedOnceAndReplayed) {
  int traced = 0;
  const auto f = [&](const std::vector<Tensor>& in) { return ++traced, std::vector<Tensor>{exp(in[0])}; };
  EXPECT_GT(do_bench_cudagraph(f, {uniform({64})}, {.warmup = 1, .rep = 5}).min(), 0);
  EXPECT_LE(traced, 8);  // among thousands of runs: a jit-ed function is traced again now and then, to check that it still does the same
}

TEST(PerfReport, ATableGoesToFilesWithAPicture) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "tegula_perf_report";
  const auto value = [](const BenchmarkPoint& at) {
    if (at.line == "ours") return Measured(at["N"] * at["scale"], at["N"], 3 * at["N"]);
    return Measured(at["N"]);
  };
  const auto report = perf_report({.x_names = {"N", "M"},
                                   .x_values = {2, 4},
                                   .lines = {"ours", "theirs"},
                                   .line_names = {"Ours", "Theirs, too"},
                                   .plot_name = "speed",
                                   .y_label = "GB/s",
                                   .x_log = true,
                                   .arguments = {{"scale", 2}}},
                                  value);
  const auto tables = report.run({.print = false, .folder = folder.string(), .picture = ".svg"});
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].csv(), "N,Ours,\"Theirs, too\",Ours (min),Ours (max)\n2,4,2,2,6\n4,8,4,4,12\n");
  EXPECT_EQ(tables[0].text(),
            "N  Ours  Theirs, too  Ours (min)  Ours (max)\n2     4            2           2           6\n"
            "4     8            4           4          12\n");
  EXPECT_EQ(text_of(folder / "speed.csv"), tables[0].csv());
  const std::string picture = text_of(folder / "speed.svg");
  if (!picture.empty()) {  // gnuplot is there
    for (const char* const word : {"Ours", "Theirs, too", "GB/s", ">N<"}) EXPECT_NE(picture.find(word), std::string::npos) << word;
  }
  std::filesystem::remove_all(folder);
}

TEST(PerfReport, SizesAndLinesAreDemanded) {
  const auto one = [](const BenchmarkPoint&) { return Measured(1); };
  EXPECT_NE(message([&] { perf_report({.plot_name = "p"}, one); }).find("no sizes in \"p\""), std::string::npos);
  EXPECT_NE(message([&] { perf_report({.x_names = {"N"}, .x_values = {1}, .plot_name = "p"}, one); }).find("no lines"), std::string::npos);
  const auto wrong = [](const BenchmarkPoint& at) { return Measured(at["K"]); };
  const auto report = perf_report({.x_names = {"N"}, .x_values = {1}, .lines = {"a"}, .plot_name = "p"}, wrong);
  EXPECT_NE(message([&] { report.run({.print = false}); }).find("expected one of N"), std::string::npos);
}

TEST(AssertClose, SaysHowManyDifferAndWhere) {
  const Tensor a = tensor({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {2, 3});
  const Tensor b = tensor({1.0f, 2.0f, 3.5f, 4.0f, 5.0f, 8.0f}, {2, 3});
  assert_close(a, a + 1e-6f);
  const std::string said = message([&] { assert_close(a, b, {.message = "layer 3"}); });
  EXPECT_NE(
      said.find(
          "layer 3: 2 of 6 elements that differ: 6 where 8 was expected, at (1, 2); the first one 3 where 3.5 was expected, at (0, 2)"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("at most by 2, or 0.25 of what was expected"), std::string::npos) << said;
  EXPECT_NE(said.find("bench_test.cpp"), std::string::npos) << said;
  assert_close(a, b, {.rtol = 0.25});
  assert_close(a, b, {.atol = 2});
  EXPECT_NE(message([&] { assert_close(a, ones({3})); }).find("expected (3,)"), std::string::npos);
}

TEST(AssertClose, TolerancesFollowTheDtypeWithFewerDigits) {
  const Tensor a = full({4}, 1.0, f32), b = full({4}, 1.005, f32);
  EXPECT_NE(message([&] { assert_close(a, b); }), "");
  assert_close(cast(a, bf16), b);
  EXPECT_NE(message([&] { assert_close(cast(a, f16), b); }), "");
  EXPECT_NE(message([&] { assert_close(full({4}, 1, i32), full({4}, 2, i32)); }), "");
}

TEST(AssertClose, NanIsCloseToNothingUnlessAsked) {
  const float nan = std::nanf(""), inf = INFINITY;
  const Tensor a = tensor({nan, inf, -inf}), b = tensor({nan, inf, inf});
  EXPECT_NE(message([&] { assert_close(a, a); }).find("1 of 3"), std::string::npos);
  assert_close(a, a, {.equal_nan = true});
  EXPECT_NE(message([&] { assert_close(a, b, {.rtol = 10, .atol = 10, .equal_nan = true}); }).find("1 of 3"), std::string::npos);
}

}  // namespace
}  // namespace tegula

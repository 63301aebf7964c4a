// tegula bench from outside: each command at its smallest.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tegula/io/child.h"
#include "tegula/io/file.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;
using testing::text_of;

/// A command of tegula bench at its smallest: table, plot and file. `curve` is a name in the plot, `y` a column whose numbers are positive.
void bench(std::vector<std::string> arguments, const std::string& curve, const std::string& y, std::size_t rows) {
  const TemporaryFolder folder;
  const std::string name = arguments[0];
  arguments.insert(arguments.begin(), "bench");
  for (const std::string& more : {std::string("--quick"), std::string("--device"), std::string("cpu"), std::string("--out"),
                                  folder / "plot.svg", std::string("--json"), folder / "numbers.json"})
    arguments.push_back(more);
  const Ran ran = tegula_cli(arguments);
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_HAS(ran.out, "\ndevice ");
  if (io::run_child({"gnuplot", "--version"}, {}).found) {
    const std::string plot = text_of(io::read_file(folder / "plot.svg"));
    EXPECT_HAS(plot, curve);
  }
  const auto file = nlohmann::json::parse(text_of(io::read_file(folder / "numbers.json")));
  EXPECT_EQ(file["benchmark"], name);
  EXPECT_EQ(file["devices"][0]["name"], "cpu");
  ASSERT_EQ(file["rows"].size(), rows);
  for (const auto& row : file["rows"]) {
    EXPECT_EQ(row["device"], "cpu");
    EXPECT_GT(row["seconds"].get<double>(), 0);
    EXPECT_GT(row[y].get<double>(), 0);
  }
}

TEST(App, BenchGemm) { bench({"gemm", "--precision", "fp32", "bf16", "--sizes", "16,48"}, "cpu bf16", "flops", 4); }
TEST(App, BenchGemmInDoublesOverARangeOfSizes) { bench({"gemm", "--precision", "fp64", "--sizes", "16:48:16"}, "cpu fp64", "flops", 3); }
TEST(App, BenchGemmBesideAKernelInTiles) { bench({"gemm", "--tile", "--sizes", "16,48"}, "cpu bf16 tile", "flops", 4); }
TEST(App, BenchLU) { bench({"lu", "--precision", "fp64", "fp32", "--sizes", "16:48:16"}, "cpu fp64", "flops", 6); }
TEST(App, BenchAttentionBesideTilePrograms) { bench({"attention", "--sizes", "16,48"}, "cpu bf16 forward tile", "flops", 8); }
TEST(App, BenchBatchedGemm) { bench({"batched-gemm", "--count", "5"}, "cpu fp32 batched", "speedup", 4); }
TEST(App, BenchMlp) { bench({"mlp", "--batch", "8"}, "seconds for an epoch", "epoch", 2); }
TEST(App, BenchSaxpy) { bench({"saxpy"}, "y = a x + y", "bandwidth", 2); }
TEST(App, BenchScaling) { bench({"scaling", "--ranks", "1,2", "--batch", "8"}, "images/s", "rate", 2); }
TEST(App, BenchConvolutionHasSevenRungs) { bench({"conv"}, "implicit-gemm", "flops", 7); }

}  // namespace
}  // namespace tegula

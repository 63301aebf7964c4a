// The tuning file chooses the program of a call that the device's library and tile programs both compute.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tegula/compile/sizes.h"
#include "tegula/runtime/tuning.h"
#include "tegula/tegula.h"
#include "tests/support/message.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::drawn;
using test::expect_close;

/// A tuning file of this process's own, before anybody has asked for it.
const std::string kFile = [] {
  const std::string path = testing::TempDir() + "tegula_ways_" + std::to_string(getpid()) + ".json";
  setenv("TEGULA_TUNING_FILE", path.c_str(), 1);
  return path;
}();

/// TEGULA_TUNE while it lives.
class Tune {
 public:
  explicit Tune(const char* word) { setenv("TEGULA_TUNE", word, 1); }
  ~Tune() { unsetenv("TEGULA_TUNE"); }
  Tune(const Tune&) = delete;
  Tune& operator=(const Tune&) = delete;
};

class ChooseWay : public testing::Test {
 protected:
  void SetUp() override {
    if (compile::forced_ladder().on) GTEST_SKIP() << "a program for each size is to be avoided";
  }
  static void TearDownTestSuite() {
    std::filesystem::remove(kFile);
    std::filesystem::remove(kFile + ".lock");
  }
  /// Returns true if no call was run for a product of so many rows: each test has sizes of its own.
  bool multiplies_in_tiles(std::int64_t rows) {
    const test::OnDevice here(device_);
    const int before = device_.counters.calls;
    const Tensor x = drawn({rows, 256}, bf16), w = drawn({256, 264}, bf16), bias = drawn({264}, bf16);
    auto layer = jit([](const Tensor& a, const Tensor& b, const Tensor& c) { return relu(matmul(a, b) + c); });
    const Tensor found = layer(x, w, bias);
    const std::vector<double> numbers = cast(found, f32).to_host<double>();
    const bool in_tiles = device_.counters.calls == before;
    expect_close(numbers, relu(matmul(cast(x, f32), cast(w, f32)) + cast(bias, f32)), 0.5);  // of sums of about 16
    return in_tiles;
  }
  /// Returns the choice that the file has learnt or been asked since.
  static runtime::Findings::Choice choice_since(std::uint64_t moment) {
    for (const auto& one : runtime::tuning_file().since(moment))
      if (one.key.starts_with("call matmul")) return one;
    return {};
  }

  test::QueuedDevice& device_ = test::QueuedDevice::create();
};

TEST_F(ChooseWay, TheLibraryComputesWhatNobodyHasMeasured) {
  EXPECT_FALSE(multiplies_in_tiles(200));
  const Tune off("0");
  EXPECT_FALSE(multiplies_in_tiles(201));
}
TEST_F(ChooseWay, TilesDoWhereTheyAreAskedFor) {
  const Tune tiles("tiles");
  EXPECT_TRUE(multiplies_in_tiles(202));
}
TEST_F(ChooseWay, TheFastestIsMeasuredOnceAndRemembered) {
  const std::uint64_t before = runtime::next_moment();
  {
    const Tune all("all");
    multiplies_in_tiles(203);
  }
  const runtime::Findings::Choice found = choice_since(before);
  EXPECT_TRUE(found.choice == "library" || found.choice.starts_with("tiles ")) << found.choice;
  EXPECT_TRUE(contains(found.key, "bf16(203, 256)")) << found.key;
  // The file alone decides from now on, and nothing is run for it.
  const bool in_tiles = found.choice != "library";
  const std::uint64_t later = runtime::next_moment();
  EXPECT_EQ(multiplies_in_tiles(203), in_tiles);
  EXPECT_EQ(choice_since(later).choice, found.choice);
}
TEST_F(ChooseWay, TheFileDecides) {
  const std::uint64_t before = runtime::next_moment();
  {
    const Tune all("all");
    multiplies_in_tiles(204);
  }
  const runtime::Findings::Choice found = choice_since(before);
  ASSERT_FALSE(found.key.empty());
  runtime::tuning_file().store(found.section, found.key, "library", 1);
  EXPECT_FALSE(multiplies_in_tiles(204));
  runtime::tuning_file().store(found.section, found.key, "tiles 128x128x64", 1);
  EXPECT_TRUE(multiplies_in_tiles(204));
  runtime::tuning_file().store(found.section, found.key, "of another version", 1);
  EXPECT_FALSE(multiplies_in_tiles(204));
}
TEST_F(ChooseWay, AnotherWordIsAnError) {
  const Tune wrong("everything");
  EXPECT_TRUE(contains(message_of([&] { multiplies_in_tiles(205); }), "TEGULA_TUNE=everything"));
}

}  // namespace
}  // namespace tegula

// The constants that a kernel is launched with: configurations, heuristics, the tuning file.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tegula/compile/jit.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/random.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/runtime/tuning.h"
#include "tests/support/message.h"

namespace kernels {
using namespace tegula::tile;

constexpr auto kScaled = [](Ptr<float> x, Out<float> y, Named<Int, "N"> N, Out<std::int64_t> used, Const<int, "BLOCK"> BLOCK,
                            Const<bool, "EVEN"> EVEN, Const<int, "SLOW"> SLOW) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto v = EVEN ? load(x + i) : load(x + i, i < N);
  auto w = v;
  for (auto k : range(SLOW)) w = w + v * cast<float>(k & 3);
  for (auto k : range(SLOW)) w = w - v * cast<float>(k & 3);
  store(y + i, w * 2, i < N);
  store(used, BLOCK * 10 + (EVEN ? 1 : 0), program_id(0) == 0);
};
const auto scaled = jit("scaled", kScaled);
const auto counted = jit("counted", [](InOut<float> total, Ptr<float> x, Named<Int, "N"> N, Const<int, "BLOCK"> BLOCK) {
  auto i = arange(0, BLOCK);
  for (auto first : range(0, N, BLOCK))
    store(total + first + i, load(total + first + i, first + i < N) + load(x + first + i, first + i < N), first + i < N);
});
}  // namespace kernels

namespace tegula {
namespace {

using tile::cdiv, tile::Config, tile::Launch, tile::out, tile::tuned;

/// A number of turns that takes longer than a launch, also while other programs use the card.
const int kSlow = [] {
  const char* device = std::getenv("TEGULA_TEST_DEVICE");
  return device && std::string_view(device).starts_with("cuda") ? 30'000 : 1000;
}();
const std::vector<Config> kConfigs{{.constants = {{"BLOCK", 64}, {"SLOW", kSlow}}},
                                   {.constants = {{"BLOCK", 128}, {"SLOW", 0}}, .num_warps = 4},
                                   {.constants = {{"BLOCK", 128}, {"SLOW", 0}}, .num_warps = 8}};
const auto blocks = [](const Launch& l) { return Dims{cdiv(l["N"], l["BLOCK"])}; };
const auto even = [](const Launch& l) { return l["N"] % l["BLOCK"] == 0; };

std::string file_text() {
  std::ifstream file(runtime::tuning_file().path());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A tuning file of this process's own, before anybody has asked for it.
const std::string kFile = [] {
  const std::string path = testing::TempDir() + "tegula_tuning_" + std::to_string(getpid()) + ".json";
  setenv("TEGULA_TUNING_FILE", path.c_str(), 1);
  return path;
}();

class TileTune : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    std::filesystem::remove(kFile);
    std::filesystem::remove(kFile + ".lock");
  }
  // Each test has sizes of its own: a measured choice is kept and not measured again.
  std::int64_t run(const auto& kernel, std::int64_t n) {
    const Tensor x = floor(8 * uniform({n}));  // sums of these are exact
    const auto r = kernel(blocks, x, out({n}), n, out({1}), tuned, tuned, tuned);
    EXPECT_EQ(r[0].to_host(), (x * 2).to_host());
    return r[1].template item<std::int64_t>();
  }
};

TEST_F(TileTune, TheFastestConfigurationIsFoundOnceAndRemembered) {
  int asked = 0;
  const auto counts = [&](const Launch& l) { return ++asked, even(l); };
  const auto kernel = kernels::scaled.tune(kConfigs, {.seconds = 2}).given("EVEN", counts);
  EXPECT_EQ(run(kernel, 20'001), 1280);
  const int measured = asked;
  EXPECT_GE(measured, 3);
  EXPECT_EQ(run(kernel, 20'001), 1280);
  EXPECT_EQ(asked, measured + 2);  // the key, and the launch
  const std::string text = file_text();
  EXPECT_TRUE(contains(text, "tile scaled")) << text;
  EXPECT_TRUE(contains(text, "N=20001")) << text;
  EXPECT_TRUE(contains(text, "BLOCK=128 SLOW=0 num_warps=")) << text;  // the GPU may prefer either number
}

TEST_F(TileTune, AHeuristicComputesAConstantFromTheLaunch) {
  const auto kernel = kernels::scaled.tune({{.constants = {{"BLOCK", 128}, {"SLOW", 0}}}}).given("EVEN", even);
  EXPECT_EQ(run(kernel, 1280), 1281);
  EXPECT_EQ(run(kernel, 1290), 1280);
}

TEST_F(TileTune, WhatTheCallSaysStays) {
  const auto kernel = kernels::scaled.tune(kConfigs).given("EVEN", even);
  const Tensor x = uniform({640});
  EXPECT_EQ(kernel(blocks, x, out({640}), 640, out({1}), 64, false, tuned)[1].item<std::int64_t>(), 640);
  EXPECT_EQ(kernel(blocks, x, out({640}), 640, out({1}), 64)[1].item<std::int64_t>(), 641);  // the rest is tuned
}

TEST_F(TileTune, PruningLeavesWhatIsWorthATry) {
  const auto first = [](const std::vector<Config>& configs, const Launch& l) {
    return l["N"] == 777 ? std::vector<Config>{configs.front()} : configs;
  };
  EXPECT_EQ(run(kernels::scaled.tune(kConfigs, {.prune = first}).given("EVEN", even), 777), 640);
}

TEST_F(TileTune, OnlyTheKeyDecides) {
  int asked = 0;
  const auto counts = [&](const std::vector<Config>& configs, const Launch&) { return configs; };
  const auto kernel =
      kernels::scaled.tune(kConfigs, {.key = {"BLOCK"}, .prune = counts}).given("EVEN", [&](const Launch& l) { return ++asked, even(l); });
  run(kernel, 20'003);
  const int measured = asked;
  run(kernel, 20'005);  // another size, not in the key
  EXPECT_EQ(asked, measured + 2);
}

TEST_F(TileTune, ItIsDecidedWhenAFunctionIsTraced) {
  const auto kernel = kernels::scaled.tune(kConfigs).given("EVEN", even);
  auto f = jit([&](const Tensor& x) {
    const auto r = kernel(blocks, x, out({20'007}), 20'007, out({1}), tuned, tuned, tuned);
    return std::vector<Tensor>{r[0], r[1]};
  });
  const Tensor x = floor(8 * uniform({20'007}));
  const auto r = f(x);
  EXPECT_EQ(r[0].to_host(), (x * 2).to_host());
  EXPECT_EQ(r[1].item<std::int64_t>(), 1280);
}

TEST_F(TileTune, MeasuringChangesNothingThatTheProgramSees) {
  const auto kernel = kernels::counted.tune({{.constants = {{"BLOCK", 32}}}, {.constants = {{"BLOCK", 64}}}});
  Variable total(zeros({1003}));
  const Tensor x = ones({1003});
  kernel({1}, total, x, 1003);
  EXPECT_EQ(total.read().to_host(), x.to_host());
}

TEST_F(TileTune, TimeHasABound) {
  std::vector<Config> many;  // a launch of any takes longer than a hundredth of the time there is
  for (int k = 1; k <= 400; ++k) many.push_back({.constants = {{"BLOCK", 32}, {"SLOW", kSlow + k}}});
  int asked = 0;
  const auto counts = [&](const Launch& l) { return ++asked, even(l); };
  eval(kernels::scaled.tune(many, {.seconds = 0.5}).given("EVEN", counts)(blocks, uniform({50'009}), out({50'009}), 50'009, out({1}))[0]);
  EXPECT_LT(asked, 300) << "of 400 configurations";
}

TEST_F(TileTune, WrongNamesAreSaid) {
  const Tensor x = uniform({64});
  const auto call = [&](const auto& kernel) { kernel(blocks, x, out({64}), 64, out({1})); };
  EXPECT_HAS_MESSAGE((call(kernels::scaled), 0), "no number for the constant \"BLOCK\"");
  EXPECT_HAS_MESSAGE((call(kernels::scaled.tune({{.constants = {{"BLOK", 64}}}})), 0), "expected one of BLOCK, EVEN, SLOW");
  EXPECT_HAS_MESSAGE((call(kernels::scaled.tune(kConfigs, {.key = {"M"}}).given("EVEN", even)), 0), "the key \"M\"");
  EXPECT_HAS_MESSAGE((call(kernels::scaled.tune(kConfigs).given("EVEN", [](const Launch& l) { return l["K"]; })), 0),
                     "the number \"K\" of a launch");
  EXPECT_HAS_MESSAGE((call(kernels::scaled.tune({})), 0), "no number for the constant");
}

TEST_F(TileTune, ConfigurationsThatCannotBeBuiltAreLeftOut) {
  const auto kernel = kernels::scaled.tune({{.constants = {{"BLOCK", 0}, {"SLOW", 0}}}, {.constants = {{"BLOCK", 128}, {"SLOW", 0}}}})
                          .given("EVEN", [](const Launch&) { return 0; });
  const Tensor x = uniform({333});
  EXPECT_EQ(kernel({3}, x, out({333}), 333, out({1}))[1].item<std::int64_t>(), 1280);
}

}  // namespace
}  // namespace tegula

// Power and energy, of a library in NVML's place (fake_nvml.cpp), and of counters in a folder.

#include "tegula/bench/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tegula/runtime/registry.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::TemporaryFolder;

/// The fake, which lies beside the tests.
std::string fake_nvml() { return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so").string(); }

TEST(Power, ACardSaysWhatItDoes) {
  const auto state = detail::nvml_state(fake_nvml(), "1");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->name, "Fake card 1");
  EXPECT_DOUBLE_EQ(state->watts, 123.456);
  EXPECT_DOUBLE_EQ(state->limit_watts, 700);
  EXPECT_EQ(state->celsius, 45);
  EXPECT_DOUBLE_EQ(state->busy, 0.5);
  EXPECT_EQ(state->memory_used, 1 << 20);
  EXPECT_EQ(detail::nvml_state(fake_nvml(), "GPU-abc")->name, "Fake card 1");
  const double before = *detail::nvml_joules(fake_nvml(), "1");
  EXPECT_DOUBLE_EQ(*detail::nvml_joules(fake_nvml(), "1"), before + 2.5);  // it counts on at each question
}

TEST(Power, WhatACardDoesNotSayIsNoNumber) {
  const auto state = detail::nvml_state(fake_nvml(), "0");  // an old one
  ASSERT_TRUE(state);
  EXPECT_TRUE(std::isnan(state->limit_watts));
  EXPECT_FALSE(detail::nvml_joules(fake_nvml(), "0"));
  EXPECT_FALSE(detail::nvml_state(fake_nvml(), "2"));
  EXPECT_FALSE(detail::nvml_state(fake_nvml(), "GPU-other"));
  EXPECT_FALSE(detail::nvml_state("libnot-there.so", "0"));
  EXPECT_FALSE(card_state(cpu()));
  EXPECT_FALSE(card_limits(cpu()));
}

TEST(Power, VisibleCardsAreCounted) {
  EXPECT_EQ(detail::visible_card(2, nullptr), "2");
  EXPECT_EQ(detail::visible_card(1, "3,GPU-abc"), "GPU-abc");
  EXPECT_EQ(detail::visible_card(0, "3,GPU-abc"), "3");
  EXPECT_FALSE(detail::visible_card(2, "3,GPU-abc"));
  EXPECT_FALSE(detail::visible_card(0, ""));
  EXPECT_FALSE(detail::visible_card(1, "0,-1,2"));
}

TEST(Power, ThePackagesOfAProcessorAreAdded) {
  const TemporaryFolder folder;
  EXPECT_FALSE(detail::rapl_joules(folder / "none"));
  EXPECT_FALSE(detail::rapl_joules(folder.path()));
  for (const auto& [zone, text] :
       {std::pair("intel-rapl:0", "1500000\n"), {"intel-rapl:1", "2500000\n"}, {"intel-rapl:0:0", "9\n"}, {"other", "7\n"}}) {
    std::filesystem::create_directory(folder / zone);
    io::write_atomically(folder / (std::string(zone) + "/energy_uj"), testing::bytes_of(text));
  }
  EXPECT_DOUBLE_EQ(*detail::rapl_joules(folder.path()), 4.0);
}

TEST(Power, ACallTakesJoulesOrNoNumber) {
  int calls = 0;
  const double joules = joules_a_call(cpu(), [&] { ++calls; }, 0.01);
  EXPECT_EQ(std::isnan(joules), !joules_of(cpu()).has_value());
  EXPECT_TRUE(std::isnan(joules) || joules >= 0);
}

}  // namespace
}  // namespace tegula

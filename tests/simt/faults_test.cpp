// Faults that are put into kernels' texts: a barrier that is missing, a copy that is not waited for, a stage of a ring that is filled while it is
// read, a mask that is off by one. The emulator must show each of them as another number, or as threads that wait for each other; what it cannot
// show at an even pace of warps it must show at an uneven one.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tegula/core/error.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

struct Fault {
  std::string name;
  std::regex what;  // in the text of a kernel, at each place
  std::string by;
};

std::vector<Fault> faults() {
  return {{"a barrier is missing", std::regex(R"(__syncthreads\(\);(\s*__syncthreads\(\);)*)"), ";"},
          {"a copy is not waited for", std::regex(R"(wait_for_copies<\d+>\(\);|await_copies\(\);)"), ";"},
          {"a stage is filled while it is read", std::regex(R"(\(stage < \d+ \? stage \+ \d+ : stage - \d+\))"), "stage"},
          {"threads do not meet before memory is used again", std::regex(R"((combine_columns<[^(]*), true)"), "$1, false"},
          {"parts lie in one place", std::regex(R"(shared \+ parts \+ \d+, shared)"), "shared + parts, shared"},
          {"a mask is one too short", std::regex(R"(row < bounded\(n0\)|col < bounded\(n1\))"), "$& - 1"}};
}

Sample sample_of(const std::string& name) {
  const std::vector<Sample> all = samples();
  return *std::ranges::find(all, name, &Sample::name);
}

std::size_t places(const std::string& text, const Fault& fault) {
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), fault.what), std::sregex_iterator()));
}

/// The text with the fault at its k-th place.
std::string broken(std::string text, const Fault& fault, std::size_t k) {
  auto at = std::sregex_iterator(text.begin(), text.end(), fault.what);
  std::advance(at, static_cast<std::ptrdiff_t>(k));
  const auto begin = static_cast<std::size_t>(at->position()), length = static_cast<std::size_t>(at->length());
  return text.replace(begin, length, at->format(fault.by));
}

/// Whether one of three launches gives another number, or never ends, or leaves its memory; in a process of its own.
bool shows(const Sample& sample, const Fault& fault, std::size_t k) {
  const pid_t child = fork();
  if (child == 0) {
    bool shown = false;
    try {
      const EmulationOptions options{.pace = Pace::Uneven, .change = [&](std::string text) { return broken(std::move(text), fault, k); }};
      for (int launch = 0; launch < 3; ++launch) shown = shown || !emulation_agrees(sample.program, sample.arguments, sample.run, options);
    } catch (const Error& error) { shown = std::string(error.what()).find("that wait for each other") != std::string::npos; }
    _exit(shown ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

/// Faults of a sample that no launch could show, by name of the fault: the barrier orders nothing in this kernel, or the memory is not shared.
struct Broken {
  std::string sample;
  std::map<std::string, std::set<std::size_t>> harmless = {};
};

class Faults : public testing::TestWithParam<Broken> {};

TEST_P(Faults, Show) {
  const Sample sample = sample_of(GetParam().sample);
  std::string text;
  const auto noted = [&](std::string source) { return text = std::move(source); };
  EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = Pace::Uneven, .change = noted}));
  std::size_t shown = 0;
  for (const Fault& fault : faults()) {
    const auto harmless = GetParam().harmless.find(fault.name);
    for (std::size_t k = 0; k < places(text, fault); ++k) {
      if (harmless != GetParam().harmless.end() && harmless->second.contains(k)) continue;
      EXPECT_TRUE(shows(sample, fault, k)) << fault.name << ", place " << k << " of " << sample.name << "\n" << broken(text, fault, k);
      ++shown;
    }
  }
  EXPECT_GT(shown, 0u);
}

const std::string kBarrier = "a barrier is missing", kMeeting = "threads do not meet before memory is used again";

INSTANTIATE_TEST_SUITE_P(
    , Faults,
    testing::Values(Broken{"dot_f32", {{kBarrier, {1}}}},        // between the two operands, which lie apart
                    Broken{"scans", {{kBarrier, {0, 2, 6, 8}}}},  // ahead of the first use; a thread's own elements; results that lie apart
                    Broken{"ordered_sums_f32"}, Broken{"staged_row_bf16"}, Broken{"walked_row_f32"},
                    Broken{"walked_rows_bf16", {{kBarrier, {0}}, {kMeeting, {0}}}},  // results that lie apart; sums that stay in a warp
                    Broken{"column_sums_in_chunks", {{kBarrier, {0}}}}, Broken{"carried_lines", {{kBarrier, {0, 1}}}},  // results that lie apart
                    Broken{"branches", {{kMeeting, {0}}}}),                                                              // one warp
    [](const auto& info) { return info.param.sample; });

}  // namespace
}  // namespace tegula::gpu

// Modes agree: random graphs give the same values, gradients and second gradients however they are run.
//
//   TEGULA_GRAPHS=n TEGULA_SEED=s   n graphs from seed s on (default: 500 from 1)
//   TEGULA_SECONDS=n                stops after so long, with the counts
//   TEGULA_MODES=lazy,jit           only these modes
//   TEGULA_FAILURES=n               stops after n failures (default 3); with TEGULA_SHRINK=0 they are not made smaller
//   TEGULA_SHOW=1                   prints the program of each seed
//   TEGULA_PROGRAM=file             for ProgramOfAFile: one program as it was printed
//   TEGULA_STEADY=1                 every graph has parts made of unchanged Variables and captured tensors alone, 0: none (default: two of five)
//   TEGULA_LARGE=1                  few ops on large tensors, which several threads share

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "tegula/core/error.h"
#include "tegula/core/warning.h"
#include "tegula/graph/evaluate.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tests/property/generate.h"
#include "tests/property/kept.h"
#include "tests/property/modes.h"
#include "tests/property/ops.h"
#include "tests/property/shrink.h"
#include "tests/support/paper.h"
#include "tests/support/setting.h"

namespace tegula::property {
namespace {

/// The modes that $TEGULA_MODES names, or all of full precision that this device has: queued ones stand on the CPU.
std::vector<Mode> chosen_modes() {
  std::vector<Mode> out;
  if (const char* list = std::getenv("TEGULA_MODES"); list && *list) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) out.push_back(mode(name));
    return out;
  }
  for (const Mode& one : modes()) {
    if (one.precision == Precision::fp32 && (!one.queued || &default_device() == &cpu())) out.push_back(one);
  }
  return out;
}

Weights chosen_weights() {
  const std::uint64_t asked = test::number_of("TEGULA_STEADY", 2);
  return asked == 0 ? Weights::None : asked == 1 ? Weights::Some : Weights::Drawn;
}

struct Tally {
  std::map<std::string, std::int64_t> graphs, failures;  // by mode
  Expectation::Counts counts, of_halves;
  std::int64_t with_gradients = 0, with_second = 0, with_state = 0, with_weights = 0;
};

/// Nothing, or the program's error in this mode.
std::string wrong_in(const Program& program, const Mode& one, Expectation& expectation) {
  const int calls = has_state(program) ? 2 : 1;
  for (const auto& [call, outcome] : run(program, one, calls)) {
    const std::string wrong = expectation.compare(outcome, call, one.checkpoints);
    if (!wrong.empty()) return "call " + std::to_string(call + 1) + ": " + wrong;
  }
  return "";
}

/// A program that says nothing by itself (the reference refuses it) does not fail.
std::string wrong_in(const Program& program, const Mode& one) {
  try {
    Expectation expectation(program, one.precision);
    return wrong_in(program, one, expectation);
  } catch (const std::exception&) { return ""; } catch (const Unfit&) {
    return "";
  }
}

/// The expected results in a precision; nothing if the program means nothing in it (an op that takes f64 alone).
std::optional<Expectation> expectation_of(const Program& program, Precision precision) {
  try {
    return Expectation(program, precision);
  } catch (const Error&) { return {}; } catch (const Unfit&) {
    return {};
  }
}

void add(Expectation::Counts& all, const Expectation::Counts& some) {
  all.values += some.values;
  all.elements += some.elements;
  all.undecided += some.undecided;
}

bool threw(const std::string& wrong) { return wrong.find("threw") != std::string::npos; }

Program smaller(const Program& program, const Mode& one, const std::string& wrong) {
  return shrink(program, [&](const Program& candidate) {
    const std::string now = wrong_in(candidate, one);
    return !now.empty() && threw(now) == threw(wrong);
  });
}

std::string report(const Program& program, const Mode& one, const std::string& wrong) {
  std::string text = "mode '" + one.name + "': " + wrong + "\n";
  if (test::number_of("TEGULA_SHRINK", 1) == 0) return text;
  const Program small = smaller(program, one, wrong);
  return text + "made smaller: " + wrong_in(small, one) + "\n" + to_string(small);
}

class Graphs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    prepare_process();
    if (!std::getenv("TEGULA_PRINT")) set_warning_handler([](const std::string&, const std::string&) {});
  }
  static void TearDownTestSuite() { set_warning_handler({}); }
};

TEST_F(Graphs, ModesAgree) {
  const std::uint64_t first = test::number_of("TEGULA_SEED", 1), count = test::number_of("TEGULA_GRAPHS", 500);
  const std::uint64_t most = test::number_of("TEGULA_FAILURES", 3);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(test::number_of("TEGULA_SECONDS", 1'000'000));
  const bool large = test::number_of("TEGULA_LARGE", 0) != 0;
  const bool show = test::number_of("TEGULA_SHOW", 0) != 0;
  std::printf("%llu graphs from TEGULA_SEED=%llu on %s\n", static_cast<unsigned long long>(count), static_cast<unsigned long long>(first),
              default_device().name().c_str());
  Tally tally;
  std::uint64_t failures = 0, done = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < most && std::chrono::steady_clock::now() < end; ++seed, ++done) {
    set_current(seed, "none");
    const Program program = generate(seed, large || seed % 100 == 99 ? Size::Large : Size::Small, chosen_weights());
    if (show) std::printf("--- %llu\n%s", static_cast<unsigned long long>(seed), to_string(program).c_str());
    Expectation expectation(program);
    tally.with_state += has_state(program);
    tally.with_weights += std::ranges::any_of(program, [](const Instruction& each) { return each.op == "weight"; });
    tally.with_gradients += program.back().op == "gradients";
    tally.with_second += program.back().op == "gradients" && program.back().knobs[0] == 2;
    std::map<Precision, std::optional<Expectation>> of_precision;
    for (const Mode& one : chosen_modes()) {
      set_current(seed, one.name);
      const bool exact = one.precision == Precision::fp32;
      if (!exact && !of_precision.contains(one.precision)) of_precision[one.precision] = expectation_of(program, one.precision);
      if (!exact && !of_precision[one.precision]) continue;
      tally.graphs[one.name]++;
      const std::string wrong = wrong_in(program, one, exact ? expectation : *of_precision[one.precision]);
      if (wrong.empty()) continue;
      tally.failures[one.name]++;
      failures++;
      ADD_FAILURE() << "TEGULA_SEED=" << seed << " TEGULA_GRAPHS=1 TEGULA_STEADY=" << test::number_of("TEGULA_STEADY", 2) << ", "
                    << report(program, one, wrong);
      if (failures >= most) break;
    }
    add(tally.counts, expectation.counts);
    for (const auto& [precision, each] : of_precision) {
      if (each) add(tally.of_halves, each->counts);
    }
  }
  std::printf("%llu graphs (%lld with gradients, %lld with second ones, %lld with state, %lld with weights)\n",
              static_cast<unsigned long long>(done), static_cast<long long>(tally.with_gradients),
              static_cast<long long>(tally.with_second), static_cast<long long>(tally.with_state),
              static_cast<long long>(tally.with_weights));
  std::printf("%lld values compared, %lld elements, %lld of them decided by rounding\n", static_cast<long long>(tally.counts.values),
              static_cast<long long>(tally.counts.elements), static_cast<long long>(tally.counts.undecided));
  std::printf("with halves: %lld values, %lld elements, %lld of them decided by rounding\n", static_cast<long long>(tally.of_halves.values),
              static_cast<long long>(tally.of_halves.elements), static_cast<long long>(tally.of_halves.undecided));
  for (const auto& [name, graphs] : tally.graphs) {
    std::printf("%-16s %8lld graphs, %lld wrong\n", name.c_str(), static_cast<long long>(graphs),
                static_cast<long long>(tally.failures[name]));
  }
  add(tally.counts, tally.of_halves);
  EXPECT_LT(tally.counts.undecided * 20, tally.counts.elements) << "most elements must be decided";
}

/// Many graphs are one plan: the pending ops of a program of some size, and on a GPU one compilation.
TEST_F(Graphs, AgreeTogether) {
  const std::uint64_t first = test::number_of("TEGULA_SEED", 1), count = test::number_of("TEGULA_TOGETHER", 100);
  const std::size_t size = test::number_of("TEGULA_BATCH", 20);
  std::int64_t compared = 0;
  for (std::uint64_t seed = first; seed < first + count;) {
    std::vector<Program> programs;
    std::vector<std::uint64_t> seeds;
    for (; programs.size() < size && seed < first + count; ++seed) {
      programs.push_back(generate(seed, Size::Small, chosen_weights()));
      seeds.push_back(seed);
    }
    for (const char* name : {"lazy", "jit"}) {
      set_current(seeds[0], name);
      const auto calls = run_together(programs, mode(name));
      for (std::size_t call = 0; call < calls.size(); ++call) {
        for (std::size_t i = 0; i < programs.size(); ++i, ++compared) {
          Expectation expectation(programs[i]);
          const std::string wrong = expectation.compare(calls[call].size() == 1 ? calls[call][0] : calls[call][i], static_cast<int>(call));
          if (wrong.empty()) continue;
          FAIL() << "TEGULA_SEED=" << seeds[0] << " TEGULA_TOGETHER=" << seeds.size() << ", in one plan ('" << name << "'), graph "
                 << seeds[i] << ", call " << call + 1 << ": " << wrong << "\n"
                 << to_string(programs[i]);
        }
      }
    }
  }
  std::printf("%lld outcomes of %llu graphs, %zu in a plan\n", static_cast<long long>(compared), static_cast<unsigned long long>(count),
              size);
}

/// For devices whose kernels do nothing (tests/support/paper.h): everything can be made, each graph by itself in every mode and many in one plan.
TEST_F(Graphs, AreMadeOnPaper) {
  if (!test::on_paper()) GTEST_SKIP() << "this device computes";
  const std::uint64_t first = test::number_of("TEGULA_SEED", 1), count = test::number_of("TEGULA_GRAPHS", 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = generate(seed, seed % 100 == 99 ? Size::Large : Size::Small);
    for (const Mode& one : chosen_modes()) {
      set_current(seed, one.name);
      const auto outcomes = run(program, one, has_state(program) ? 2 : 1);
      EXPECT_FALSE(outcomes.empty());
      for (const auto& [call, outcome] : outcomes)
        EXPECT_EQ(outcome.error, "") << "TEGULA_SEED=" << seed << ", mode '" << one.name << "', call " << call + 1 << "\n"
                                     << to_string(program);
    }
  }
  constexpr std::uint64_t kInAPlan = 20;
  for (std::uint64_t seed = first; seed < first + count; seed += kInAPlan) {
    std::vector<Program> programs;
    for (std::uint64_t each = seed; each < std::min(seed + kInAPlan, first + count); ++each) programs.push_back(generate(each));
    for (const char* name : {"lazy", "jit"}) {
      set_current(seed, name);
      for (const auto& outcomes : run_together(programs, mode(name))) {
        for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, "") << "graphs from TEGULA_SEED=" << seed << " on in one plan";
      }
    }
  }
  std::printf("%llu graphs made\n", static_cast<unsigned long long>(count));
}

TEST_F(Graphs, FoundBefore) {
  for (const Kept& one : kept_programs()) {
    const Program program = parse(one.text);
    for (const Mode& each : chosen_modes()) {
      set_current(0, each.name);
      Expectation expectation(program, each.precision);
      EXPECT_EQ(wrong_in(program, each, expectation), "") << one.what << ", mode '" << each.name << "'\n" << one.text;
    }
  }
}

/// $TEGULA_PROGRAM: a file with one program, run in every mode; the results of each are printed.
TEST_F(Graphs, ProgramOfAFile) {
  const char* file = std::getenv("TEGULA_PROGRAM");
  if (!file) GTEST_SKIP() << "TEGULA_PROGRAM names none";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const Program program = parse(text.str());
  for (const bool checkpoints : {false, true})
    for (const std::uint64_t noise : {0, 1, 2})
      std::printf("reference:\n%s", to_string(reference_outcomes(program, 1, noise, Precision::fp32, checkpoints)[0]).c_str());
  for (const Mode& one : chosen_modes()) {
    set_current(0, one.name);
    const auto outcomes = run(program, one, 1);
    std::printf("%s:\n%s", one.name.c_str(), to_string(outcomes.back().second).c_str());
    Expectation of_mode(program, one.precision);
    EXPECT_EQ(wrong_in(program, one, of_mode), "") << "mode '" << one.name << "'";
  }
}

TEST_F(Graphs, ProgramsAreReadAsTheyArePrinted) {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    const std::string text = to_string(generate(seed));
    EXPECT_EQ(to_string(parse(text)), text);
    EXPECT_EQ(to_string(generate(seed)), text) << "one seed, one program";
  }
}

TEST_F(Graphs, AFaultIsFoundAndMadeSmall) {
  const Mode faulty{.name = "faulty", .faulty = true};
  int found = 0;
  for (std::uint64_t seed = 1; seed < 400 && found < 3; ++seed) {
    const Program program = generate(seed);
    const bool fault = std::any_of(program.begin(), program.end(), [](const Instruction& one) { return one.op == "tanh"; });
    const std::string wrong = wrong_in(program, faulty);
    if (wrong.empty()) continue;
    ASSERT_TRUE(fault) << wrong << "\n" << to_string(program);
    ++found;
    const Program small = smaller(program, faulty, wrong);
    EXPECT_LE(small.size(), 3u) << to_string(small);
  }
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace tegula::property

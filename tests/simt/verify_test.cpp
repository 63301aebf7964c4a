// The verifier of kernels accepts what the generator makes, and finds what is taken out of it. What is decided can be read.

#include "tegula/simt/verify/verify.h"

#include <gtest/gtest.h>

#include <iostream>

#include "tegula/core/error.h"
#include "tegula/simt/kernel/visit.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

using simt::Block;
using simt::Kernel;
using simt::Statement;

Specialisation known_of(const Sample& sample) {
  return {.facts = std::vector<std::uint8_t>(sample.program.parameters.size(), 4),
          .many_sets = sample.run.grids.size() > 1,
          .guarded = sample.guarded};
}
Kernel kernel_of(const Sample& sample, int architecture = 90) { return make_kernel(sample.program, known_of(sample), architecture); }

std::string joined(const std::vector<std::string>& sentences) {
  std::string all;
  for (const std::string& one : sentences) all += one + "\n";
  return all;
}

class VerifiedSamples : public testing::TestWithParam<Sample> {};

TEST_P(VerifiedSamples, HaveNoFaults) {
  for (const int architecture : {80, 90}) {
    try {
      EXPECT_EQ(joined(simt::faults(kernel_of(GetParam(), architecture))), "") << architecture;
    } catch (const Error&) { EXPECT_EQ(architecture, 80) << "clusters need sm_90"; }
  }
}

/// Takes the n-th statement out for which `takes` holds; false where there are fewer.
template <class F>
bool take_out(Block& block, int& n, const F& takes) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (takes(block[i]) && n-- == 0) return block.erase(block.begin() + static_cast<std::ptrdiff_t>(i)), true;
    bool done = false;
    simt::for_each_block(block[i], [&](Block& inner) { done = done || take_out(inner, n, takes); });
    if (done) return true;
  }
  return false;
}

/// How many kernels there are of the samples that lack one of those statements, and how many of them the verifier refuses.
template <class F>
std::pair<int, int> refused_without(const F& takes) {
  int mutants = 0, refused = 0;
  for (const Sample& sample : samples()) {
    const Kernel kernel = kernel_of(sample);
    for (int which = 0;; ++which) {
      Kernel mutant = kernel;
      int n = which;
      if (!take_out(mutant.body, n, takes)) break;
      ++mutants;
      refused += !simt::faults(mutant).empty();
    }
  }
  return {mutants, refused};
}

TEST(Verifier, RefusesKernelsWithoutADeclaration) {
  const auto [mutants, refused] = refused_without([](const Statement& statement) {
    const auto* const declare = statement.as<simt::Declare>();
    return declare && declare->what.name != "row" && declare->what.name != "col" && declare->what.name != "e" &&
           declare->what.name != "first";
  });
  std::cout << refused << " of " << mutants << " kernels without a declaration are refused\n";
  EXPECT_GT(mutants, 200);
  EXPECT_GE(refused, mutants * 9 / 10) << "the others declare what nothing names";
}

TEST(Verifier, RefusesKernelsWithoutABarrierAroundSharedMemory) {
  const auto [mutants, refused] = refused_without([](const Statement& statement) {
    const auto* const barrier = statement.as<simt::Barrier>();
    return barrier && barrier->kind == simt::Barrier::Kind::Block;
  });
  std::cout << refused << " of " << mutants << " kernels without a barrier are refused\n";
  EXPECT_GT(mutants, 20);
  EXPECT_GE(refused, mutants / 2) << "the others: the first of a kernel, and those around memory of tensors and rings (place_barriers)";
}

TEST(Verifier, RefusesReadsOfARingBeforeItsCopiesHaveArrived) {
  int rings = 0;
  for (const Sample& sample : samples()) {
    Kernel kernel = kernel_of(sample);
    bool changed = false;
    simt::for_each_statement(kernel.body, [&](Statement& statement) {
      if (auto* wait = statement.as<simt::WaitForCopies>()) wait->unfinished += 2, changed = true;
    });
    rings += changed;
    EXPECT_EQ(!simt::faults(kernel).empty(), changed) << sample.name;
  }
  EXPECT_GT(rings, 0);
}

/// Changes the copies that loops with a ring begin; whether there were any.
template <class F>
bool change_copies(Kernel& kernel, const F& change) {
  bool changed = false;
  simt::for_each_statement(kernel.body, [&](Statement& statement) {
    auto* const loop = statement.as<simt::For>();
    if (!loop || !loop->program || loop->program->ring.empty()) return;
    simt::for_each_statement(loop->body, [&](Statement& inner) {
      if (auto* copy = inner.as<simt::CopyAhead>()) change(*copy), changed = true;
    });
  });
  return changed;
}

TEST(Verifier, RefusesAStageOfARingThatIsFilledAnewWhileItIsRead) {
  using simt::Expression;
  int rings = 0;
  const auto into = [](simt::CopyAhead& copy, const Expression& stage) {
    simt::for_each_part(copy.place, [&](Expression& part) {
      if (part.kind == Expression::Kind::Choose) part = stage;
    });
  };
  for (const Sample& sample : samples()) {
    const Kernel kernel = kernel_of(sample);
    for (const Expression& stage : {Expression("stage"), Expression(0)}) {
      Kernel mutant = kernel;
      const bool changed = change_copies(mutant, [&](simt::CopyAhead& copy) { into(copy, stage); });
      rings += changed;
      EXPECT_EQ(!simt::faults(mutant).empty(), changed) << sample.name;
    }
  }
  EXPECT_GT(rings, 0);
}

TEST(Verifier, RefusesMoreThanAThreadCanHold) {
  Kernel kernel{.parameters = {}, .entry = {}, .body = {simt::Declare{.what = {"v1", simt::computed(DType::f32), {1 << 17}}}}};
  EXPECT_TRUE(simt::faults(kernel).empty());
  kernel.body.push_back(simt::Declare{.what = {"v2", simt::computed(DType::i32), {1}}});
  EXPECT_FALSE(simt::faults(kernel).empty());
}

TEST(Verifier, RefusesLoopsBeyondTheirRegisters) {
  int loops = 0, refused = 0;
  for (const Sample& sample : samples()) {
    Kernel kernel = kernel_of(sample);
    bool changed = false;
    simt::for_each_statement(kernel.body, [&](Statement& statement) {
      auto* const loop = statement.as<simt::Loop>();
      if (loop && loop->name == "c" && !changed) ++loop->end, changed = true;
    });
    loops += changed;
    refused += changed && !simt::faults(kernel).empty();
  }
  std::cout << refused << " of " << loops << " loops that go too far are refused\n";
  EXPECT_GE(refused, loops * 3 / 4) << "the others are over rows in shared memory, or hold one number";
}

TEST(Verifier, RefusesMarksThatAPassShouldHaveReplaced) {
  for (const Statement& mark :
       {Statement(simt::Touch{}), Statement(simt::MeetCluster{}), Statement(simt::UseScratch{}), Statement(simt::OpenRing{})}) {
    Kernel kernel{.parameters = {}, .entry = {}, .body = {mark}};
    EXPECT_THROW(simt::verify(kernel), Error);
  }
}

TEST(Verifier, CountsRegisters) {
  Kernel kernel{.parameters = {}, .entry = {}, .body = {}};
  kernel.body.push_back(simt::Declare{.what = {"v1", simt::computed(DType::f32), {2, 4}}});
  kernel.body.push_back(simt::Scope{{simt::Declare{.what = {"x", simt::wide(DType::bf16, 8), {}}}}});
  kernel.body.push_back(simt::Scope{{simt::Declare{.what = {"y", simt::computed(DType::i64), {}}}}});
  EXPECT_EQ(simt::register_bytes(kernel), 32u + 16u);
}

TEST(Decisions, CanBeRead) {
  const auto of = [](const tile::Program& program, std::vector<std::uint8_t> facts) {
    return decisions_of(program, {.facts = std::move(facts)}, 90);
  };
  const std::string rows = of(softmax({1, 1024}, bf16), {4, 4, 0, 3});
  EXPECT_NE(rows.find("vector      8 elements\n"), std::string::npos) << rows;
  EXPECT_NE(rows.find("digits      8 bits: v"), std::string::npos) << rows;
  EXPECT_NE(rows.find("packed      v"), std::string::npos) << rows;
  EXPECT_NE(rows.find("again       v"), std::string::npos) << rows;
  EXPECT_NE(rows.find("together    v"), std::string::npos) << rows;
  const tile::Program walk = walked_rows(4, 1024, bf16);
  std::vector<std::uint8_t> facts;
  for (const tile::Parameter& parameter : walk.parameters) facts.push_back(parameter.pointer ? 4 : 4 | kShort);
  const std::string walked = of(walk, facts);
  EXPECT_NE(walked.find(" iterations ahead: v"), std::string::npos) << walked;
  EXPECT_NE(walked.find("is brought together behind the loop"), std::string::npos) << walked;
}

/// f(x) of halves, rounded or as it is; the larger of it and x where `compares`, else its sum with x.
std::string decisions_about(tile::Word word, DType dtype, bool rounded, bool compares) {
  tile::Builder b("f");
  const tile::Value from = b.pointer("x", dtype, false), to = b.pointer("y", dtype, true);
  const tile::Value at = tile::row(b.program_id(0) * b.constant(std::int64_t{1024}, i64) + b.arange(0, 1024)), x = b.load(from + at);
  const tile::Value y = word == tile::Word::Div ? tile::binary(word, x, b.full(x.shape(), 3.0, f32)) : tile::unary(word, x);
  const tile::Value z = rounded ? tile::narrow(y, dtype) : y;
  b.store(to + at, compares ? tile::select(z > x, z, x) : z + x);
  return decisions_of(b.finish(), {.facts = {4, 4}}, 90);
}

TEST(Decisions, RoundedValuesHaveTheSameDigitsInKernelsThatCompare) {
  using tile::Word;
  for (const Word word : {Word::Exp, Word::Sigmoid, Word::Tanh, Word::Erf, Word::Div}) {
    for (const DType dtype : {f16, bf16}) {
      const std::string digits = dtype == f16 ? "digits      11 bits: v" : "digits      8 bits: v";
      for (const bool compares : {false, true}) {
        const std::string found = decisions_about(word, dtype, true, compares);
        EXPECT_NE(found.find(digits), std::string::npos) << tile::name(word) << " " << compares << "\n" << found;
      }
      EXPECT_NE(decisions_about(word, dtype, false, false).find(digits), std::string::npos) << tile::name(word);
      EXPECT_EQ(decisions_about(word, dtype, false, true).find("digits"), std::string::npos) << tile::name(word);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, VerifiedSamples, testing::ValuesIn(samples()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tegula::gpu

// The verifier of kernels accepts the generator's kernels, and finds missing statements. Decisions can be read.

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
  for (const auto& [architecture, early] : {std::pair(80, false), {90, false}, {90, true}}) {
    Sample sample = GetParam();
    sample.program.early = sample.program.early || early;
    try {
      EXPECT_EQ(joined(simt::faults(kernel_of(sample, architecture))), "") << architecture << early;
    } catch (const Error& error) { EXPECT_EQ(architecture, 80) << "clusters need sm_90: " << error.what(); }
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

/// The number of kernels of the samples that lack one of those statements, and of those among them that the verifier refuses.
template <class F>
std::pair<int, int> refused_without(const F& takes) {
  int mutants = 0, refused = 0;
  for (const Sample& sample : samples()) {
    const bool changes_memory = sample.name.starts_with("atomics");  // most of whose barriers are around memory of tensors
    if (changes_memory) continue;
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

TEST(Verifier, RefusesKernelsThatDoNotBringSharesTogether) {
  const auto [mutants, refused] = refused_without([](const Statement& statement) {
    const auto* const combine = statement.as<simt::Combine>();
    if (!combine) return false;
    const bool columns = combine->how == simt::Combine::How::Columns;
    return (columns ? combine->column_threads * combine->cluster : combine->row_threads) > 1;
  });
  std::cout << refused << " of " << mutants << " kernels that leave shares apart are refused\n";
  EXPECT_GT(mutants, 20);
  EXPECT_EQ(refused, mutants);
}

TEST(Verifier, RefusesKernelsWithoutAWriteOfARegister) {
  const auto [mutants, refused] = refused_without([](const Statement& statement) {
    const auto* const assign = statement.as<simt::Assign>();
    return statement.as<simt::LoadWide>() || (assign && assign->target.kind == simt::Expression::Kind::Held && !assign->adds);
  });
  std::cout << refused << " of " << mutants << " kernels without a write of a register are refused\n";
  EXPECT_GT(mutants, 150);
  EXPECT_GE(refused, mutants * 4 / 5) << "the others write it a second time: what is added to, carried on, or read from a ring";
}

/// In a block of 4 rows of 8 threads.
Kernel of_threads(Block body) {
  Kernel kernel{.row_threads = 4, .column_threads = 8, .parameters = {}, .entry = {}, .body = std::move(body)};
  kernel.parameters.push_back({.name = "y", .declared = {.name = "y", .dtype = f32, .pointer = true}});
  return kernel;
}
simt::Register alike_in_rows(const char* name) {
  return {.name = name, .type = simt::computed(DType::f32), .sizes = {}, .alike_in_rows = true};
}
Statement stored(const char* name, simt::Condition when = {}, const char* place = "tr") {
  return {simt::StoreOne{.computed = DType::f32, .value = name, .pointer = simt::Expression("y") + place}, std::move(when)};
}

TEST(Verifier, RefusesARegisterThatOnePathDoesNotWrite) {
  using simt::Assign, simt::Branch, simt::Declare, simt::Expression;
  const auto kernel = [](bool both) {
    Branch branch{.when = simt::binary("g0", "==", 1), .then = {Assign{"v", 1}}, .otherwise = {}, .of_program = true};
    branch.otherwise = both ? Block{Assign{"v", 2}} : Block{simt::Note{"nothing"}};
    return of_threads({Declare{.what = alike_in_rows("v")}, branch, stored("v", simt::binary("tc", "==", 0))});
  };
  EXPECT_EQ(joined(simt::faults(kernel(true))), "");
  EXPECT_EQ(joined(simt::faults(kernel(false))), "v is read before it is written on every path\n");
  const auto loop = [](Block ahead) {
    simt::For counting{
        .type = simt::computed(DType::i32), .name = "i", .begin = 0, .end = "g0", .step = 1, .body = {Assign{"v", 2}}, .program = {}};
    Block body{Declare{.what = alike_in_rows("v")}};
    body.insert(body.end(), ahead.begin(), ahead.end());
    body.push_back(counting);
    body.push_back(stored("v", simt::binary("tc", "==", 0)));
    return of_threads(body);
  };
  EXPECT_EQ(joined(simt::faults(loop({Assign{"v", 1}}))), "");
  EXPECT_EQ(joined(simt::faults(loop({}))), "v is read before it is written on every path\n");
}

TEST(Verifier, RefusesANameThatOneBlockDeclaresTwice) {
  using simt::Assign, simt::Declare;
  const Declare one{.what = {"v", simt::computed(DType::f32), {}}};
  const simt::Scope within{.body = {one, Assign{"v", 2}}};
  EXPECT_EQ(joined(simt::faults(of_threads({one, Assign{"v", 1}, within, stored("v", simt::binary("tc", "==", 0))}))), "");
  EXPECT_EQ(joined(simt::faults(of_threads({one, one, Assign{"v", 1}, stored("v", simt::binary("tc", "==", 0))}))),
            "v is declared twice in one block\n");
}

TEST(Verifier, RefusesNumbersThatAnotherThreadHolds) {
  using simt::Assign, simt::Declare, simt::Expression;
  const simt::Condition first_column = simt::binary("tc", "==", 0), first_row = simt::binary("tr", "==", 0);
  // One thread of a row stores what differs in the row.
  EXPECT_EQ(joined(simt::faults(
                of_threads({Declare{.what = {"v", simt::computed(DType::f32), {}}}, Assign{"v", "tr"}, stored("v", first_column)}))),
            "");
  EXPECT_EQ(joined(simt::faults(
                of_threads({Declare{.what = {"v", simt::computed(DType::f32), {}}}, Assign{"v", "tc"}, stored("v", first_column)}))),
            "what one thread stores for others, v, differs among them\n");
  // A value that is alike in rows is computed from one that is not.
  EXPECT_EQ(joined(simt::faults(of_threads({Declare{.what = alike_in_rows("v")}, Assign{"v", "tc"}, stored("v")}))),
            "v is read before the shares of threads have been brought together\n");
  // A sum that is only the first row's.
  const auto sum = [&](simt::Condition when) {
    simt::Combine combine{.how = simt::Combine::How::RowsForFirst,
                          .row_threads = 4,
                          .column_threads = 8,
                          .registers = {simt::unary("&", "v")},
                          .counter = {}};
    return of_threads(
        {Declare{.what = {"v", simt::computed(DType::f32), {}}}, Assign{"v", "threadIdx.x"}, combine, stored("v", std::move(when), "tc")});
  };
  EXPECT_EQ(joined(simt::faults(sum(first_row))), "");
  EXPECT_EQ(joined(simt::faults(sum({}))), "v is read by threads that do not hold it\n");
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

/// Loops over registers that go one step too far, or stop one short.
TEST(Verifier, RefusesLoopsOfAnotherLayoutThanTheirRegisters) {
  int loops = 0, refused = 0;
  for (const Sample& sample : samples()) {
    for (const int further : {1, -1}) {
      Kernel kernel = kernel_of(sample);
      bool changed = false;
      simt::for_each_statement(kernel.body, [&](Statement& statement) {
        auto* const loop = statement.as<simt::Loop>();
        if (loop && loop->name == "c" && !changed && loop->end + further > 0) loop->end += further, changed = true;
      });
      loops += changed;
      refused += changed && !simt::faults(kernel).empty();
    }
  }
  std::cout << refused << " of " << loops << " loops of another layout are refused\n";
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

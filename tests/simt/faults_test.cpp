// Faults that are put into kernels: a barrier that is missing, a copy that is not waited for, a stage of a ring that is filled while it is read, a mask
// that is off by one. The machine must show each of them: as something that a kernel must not do, as another number, or as threads that wait for each
// other.

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tegula/core/error.h"
#include "tegula/simt/kernel/visit.h"
#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

using simt::Block;
using simt::Expression;
using simt::Kernel;
using simt::Statement;

struct Fault {
  std::string name;
  std::function<void(Kernel&, std::size_t& places, std::size_t at)> put;  // in its place number `at`; counts the places
};

/// Takes out statements of one kind that stand behind each other, as one place.
template <class F>
void take_out(Block& block, std::size_t& places, std::size_t at, const F& takes) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (takes(block[i])) {
      std::size_t end = i;
      while (end < block.size() && takes(block[end])) ++end;
      if (places++ == at) block.erase(block.begin() + static_cast<std::ptrdiff_t>(i), block.begin() + static_cast<std::ptrdiff_t>(end));
      else i = end - 1;
      continue;
    }
    simt::for_each_block(block[i], [&](Block& inner) { take_out(inner, places, at, takes); });
  }
}
template <class F>
Fault without(std::string name, F takes) {
  return {std::move(name), [takes](Kernel& kernel, std::size_t& places, std::size_t at) { take_out(kernel.body, places, at, takes); }};
}
/// `change` changes what it is given, and says whether it was a place.
template <class T, class F>
Fault changed(std::string name, F change) {
  return {std::move(name), [change](Kernel& kernel, std::size_t& places, std::size_t at) {
            simt::for_each_statement(kernel.body, [&](Statement& statement) {
              auto* const what = statement.as<T>();
              if (what == nullptr) return;
              T other = *what;
              if (change(other) && places++ == at) *what = std::move(other);
            });
          }};
}

bool is_limit(const Expression& e) {
  return e.kind == Expression::Kind::Binary && e.name == "<" && (e.operands[0].is_name("row") || e.operands[0].is_name("col")) &&
         e.operands[1].kind == Expression::Kind::Call && e.operands[1].name == "bounded";
}

std::vector<Fault> faults() {
  using namespace simt;
  return {
      without("a barrier is missing",
              [](const Statement& one) {
                const auto* const barrier = one.as<Barrier>();
                return barrier && (barrier->kind == Barrier::Kind::Block || barrier->kind == Barrier::Kind::Cluster);
              }),
      without("blocks do not know that the others run",
              [](const Statement& one) {
                const auto* const barrier = one.as<Barrier>();
                return barrier && barrier->kind == Barrier::Kind::ClusterWait;
              }),
      without("a copy is not waited for", [](const Statement& one) { return one.as<WaitForCopies>() || one.as<AwaitCopies>(); }),
      changed<CopyAhead>("a stage is filled while it is read",
                         [](CopyAhead& copy) {
                           bool found = false;
                           for_each_part(copy.place, [&](Expression& e) {
                             if (e.kind != Expression::Kind::Choose || found) return;
                             e = Expression("stage");
                             found = true;
                           });
                           return found;
                         }),
      changed<Combine>("threads do not meet before memory is used again",
                       [](Combine& combine) {
                         return combine.how == Combine::How::Columns && combine.place == Combine::Place::Parts &&
                                std::exchange(combine.again, false);
                       }),
      changed<Combine>("parts lie in one place", [](Combine& combine) { return std::exchange(combine.offset, 0) > 0 && combine.counted; }),
      {"a mask is one too short", [](Kernel& kernel, std::size_t& places, std::size_t at) {
         for_each_statement(kernel.body, [&](Statement& statement) {
           for_each_expression(statement, [&](Expression& whole) {
             for_each_part(whole, [&](Expression& e) {
               if (is_limit(e) && places++ == at) e.operands[1] = e.operands[1] - 1;
             });
           });
         });
       }}};
}

Sample sample_of(const std::string& name) {
  const std::vector<Sample> all = samples();
  return *std::ranges::find(all, name, &Sample::name);
}

/// The visible effects of the fault in two launches; nothing if there are none.
std::string shown(const Sample& sample, const Fault& fault, std::size_t at) {
  std::string found;
  for (const Pace pace : {Pace::Even, Pace::Uneven}) {
    const auto change = [&](Kernel& kernel) {
      std::size_t places = 0;
      fault.put(kernel, places, at);
    };
    try {
      if (!emulation_agrees(sample.program, sample.arguments, sample.run, {.pace = pace, .change_kernel = change}))
        found += "another number\n";
    } catch (const Error& error) { found += error.what(); }
  }
  return found;
}

/// Faults of a sample that no launch could show, by name of the fault: the barrier orders nothing in this kernel, or the memory is not shared.
struct Broken {
  std::string sample;
  std::map<std::string, std::set<std::size_t>> harmless = {};
};

class Faults : public testing::TestWithParam<Broken> {};

TEST_P(Faults, Show) {
  const Sample sample = sample_of(GetParam().sample);
  Kernel kernel{.parameters = {}, .entry = {}, .body = {}};
  EXPECT_TRUE(emulation_agrees(sample.program, sample.arguments, sample.run,
                               {.pace = Pace::Uneven, .change_kernel = [&](const Kernel& made) { kernel = made; }}));
  std::size_t seen = 0;
  for (const Fault& fault : faults()) {
    const auto harmless = GetParam().harmless.find(fault.name);
    std::size_t places = 0;
    Kernel counted = kernel;
    fault.put(counted, places, ~std::size_t{0});
    for (std::size_t at = 0; at < places; ++at) {
      const bool expected = harmless == GetParam().harmless.end() || !harmless->second.contains(at);
      EXPECT_EQ(!shown(sample, fault, at).empty(), expected) << fault.name << ", place " << at << " of " << sample.name << "\n"
                                                             << shown(sample, fault, at);
      seen += expected;
    }
  }
  EXPECT_GT(seen, 0u);
}

const std::string kBarrier = "a barrier is missing", kMask = "a mask is one too short",
                  kMeeting = "threads do not meet before memory is used again";

INSTANTIATE_TEST_SUITE_P(
    , Faults,
    testing::Values(Broken{"dot_f32", {{kBarrier, {1}}}},  // between the two operands, which lie apart
                    Broken{"scans", {{kBarrier, {0, 2, 6, 8}}}},  // ahead of the first use; a thread's own elements; results that lie apart
                    Broken{"ordered_sums_f32"}, Broken{"staged_row_bf16"}, Broken{"walked_row_f32"},
                    Broken{"walked_rows_bf16", {{kBarrier, {0}}, {kMeeting, {0}}}},  // results that lie apart; sums that stay in a warp
                    Broken{"column_sums_in_chunks", {{kBarrier, {0}}, {kMask, {0}}}},
                    Broken{"carried_lines", {{kBarrier, {0, 1}}}},  // results that lie apart
                    Broken{"branches", {{kMeeting, {0}}}},  // one warp
                    Broken{"cluster_row"}, Broken{"cluster_rows_bf16", {{kBarrier, {0}}}}),  // results that lie apart
    [](const auto& info) { return info.param.sample; });

}  // namespace
}  // namespace tegula::gpu

// The plan checker: it takes every plan that the compiler makes (all tests run under it), and finds each fault that is put into one.

#include "tegula/compile/plan/check_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "tegula/compile/pipeline.h"
#include "tegula/compile/run/executable.h"
#include "tegula/compile/run/poison.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/tegula.h"
#include "tests/support/queued_device.h"
#include "tests/support/values.h"

namespace tegula::compile {
namespace {

using test::leaf;

using Updates = std::vector<std::pair<Tensor, Tensor>>;  // (a Variable's value, its next value)

/// The finished plan of these results and updates.
Plan plan_of(const std::vector<Tensor>& results, const Updates& updates, runtime::Device& device) {
  std::vector<const Node*> outputs, roots;
  std::vector<std::pair<const Node*, const Node*>> writes;
  for (const Tensor& t : results) outputs.push_back(t.node().get());
  roots = outputs;
  for (const auto& [leaf, next] : updates) {
    writes.emplace_back(leaf.node().get(), next.node().get());
    roots.push_back(next.node().get());
  }
  Graph graph = flatten(read(roots), outputs, writes);
  optimize(graph, device);
  return make_plan(std::move(graph), device);
}
Plan plan_of(const std::vector<Tensor>& results, const Updates& updates = {}) { return plan_of(results, updates, runtime::cpu()); }
runtime::Device& queue() {
  static test::QueuedDevice& device = test::QueuedDevice::create();
  return device;
}

/// The checker's complaint about a plan; "" if it is proved.
std::string complaint(const Plan& plan, bool asynchronous = false) {
  try {
    check_plan(plan, asynchronous);
  } catch (const Error& error) { return error.what(); }
  return "";
}
/// The plan is proved as it is, and refused with these words once `fault` has been at it.
void expect_found(Plan plan, const std::string& words, const std::function<void(Plan&)>& fault, bool asynchronous = false) {
  ASSERT_EQ(complaint(plan, asynchronous), "") << to_string(plan);
  fault(plan);
  const std::string text = complaint(plan, asynchronous);
  EXPECT_NE(text, "") << "not found\n" << to_string(plan);
  EXPECT_NE(text.find(words), std::string::npos) << text << to_string(plan);
}

std::size_t at(int i) { return static_cast<std::size_t>(i); }
int item_named(const Plan& plan, std::string_view op) {
  for (int i = 0; i < plan.graph.size(); ++i) {
    if (plan.graph[i].op->name() == op) return i;
  }
  ADD_FAILURE() << "no " << op << " in\n" << to_string(plan);
  return 0;
}
Step& step_named(Plan& plan, std::string_view part) {
  for (Step& step : plan.steps) {
    if (step.name.find(part) != std::string::npos) return step;
  }
  ADD_FAILURE() << "no step " << part << " in\n" << to_string(plan);
  return plan.steps[0];
}

// Products between elementwise work: values that go through the arena.
Plan chain() {
  const Tensor x = leaf({64, 64}), a = sin(matmul(x, x)), b = cos(matmul(a, x)), c = matmul(b, a);
  return plan_of({matmul(tanh(c), b) + a});
}
Plan one_row() {
  const Tensor x = leaf({1, 64, 64}), a = leaf({64, 64});
  const Tensor z = matmul(a, a), y1 = sin(x), y2 = sum(cos(x), 0) * z;
  return plan_of({matmul(y2, reshape(y1, {64, 64}))});
}
Plan state_with_labels() {
  const Tensor x = leaf({64, 64}), w = leaf({64, 64}), state = leaf({64, 64}), labels = leaf({64}, i64);
  const Tensor h = tanh(matmul(x, w) + state);
  return plan_of({cross_entropy(matmul(h * sigmoid(matmul(h, w)), w), labels)}, {{state, h}});
}
Plan descent(runtime::Device& device = runtime::cpu()) {
  const Tensor w = leaf({64, 64}), v = leaf({64, 64}), x = leaf({64, 64});
  return plan_of({}, {{w, w - 0.1 * matmul(x, w)}, {v, v - 0.1 * matmul(x, v)}}, device);
}

/// The copies of the last step into Variables: the value first, then the update.
std::vector<LaunchSet>& late_copies(Plan& plan) {
  EXPECT_EQ(plan.steps.back().name, "keep") << to_string(plan);
  return plan.steps.back().launch()->sets;
}

// ---- Memory that is needed longer.

// Every value of the arena put where another one lies that is needed at the same time, pair by pair.
TEST(CheckPlan, FindsEveryPairOfValuesThatLieInOnePlaceTooSoon) {
  for (const auto& make : {chain, one_row, state_with_labels}) {
    const Plan plan = make();
    ASSERT_EQ(complaint(plan), "");
    std::vector<int> first(plan.graph.items.size(), -1), last = first;
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
      for (const auto* list : {&plan.steps[at(s)].writes, &plan.steps[at(s)].reads}) {
        for (const int i : *list) {
          if (first[at(i)] < 0) first[at(i)] = s;
          last[at(i)] = s;
        }
      }
    }
    int pairs = 0;
    for (int a = 0; a < plan.graph.size(); ++a) {
      for (int b = 0; b < plan.graph.size(); ++b) {
        if (plan.storage[at(a)].kind != Storage::Kind::Arena || plan.storage[at(b)].kind != Storage::Kind::Arena || a == b) continue;
        // b is made while a is needed; a launch that needs a last may take its place, which other tests look at.
        const bool may = last[at(a)] == first[at(b)] && !plan.steps[at(first[at(b)])].is_call();
        if (first[at(a)] > first[at(b)] || last[at(a)] < first[at(b)] || may) continue;
        ++pairs;
        Plan& faulty = const_cast<Plan&>(plan);
        const Storage before = plan.storage[at(b)];
        faulty.storage[at(b)] = plan.storage[at(a)];
        faulty.arena_bytes += 1 << 20;
        EXPECT_NE(complaint(plan), "") << "%" << b << " on %" << a << "\n" << to_string(plan);
        faulty.arena_bytes -= 1 << 20;
        faulty.storage[at(b)] = before;
      }
    }
    EXPECT_GE(pairs, 2);
  }
}

TEST(CheckPlan, FindsAnOperandThatIsLoadedBehindTheStoreOfAResultInItsPlace) {
  expect_found(one_row(), "every element to be read where and before it is written", [](Plan& plan) {
    const int y1 = item_named(plan, "sin"), z = item_named(plan, "matmul");
    plan.storage[at(y1)] = plan.storage[at(z)];
  });
}

TEST(CheckPlan, FindsALateCopyWhoseBlockWasTaken) {
  expect_found(state_with_labels(), "it there", [](Plan& plan) {
    const int state = late_copies(plan).at(0).arguments[0].index;
    // The last value in the arena, that nothing needs after the loss.
    for (int i = plan.graph.size(); i-- > 0;) {
      if (plan.storage[at(i)].kind != Storage::Kind::Arena || i == state || bytes_of(plan.graph[i]) != bytes_of(plan.graph[state]))
        continue;
      plan.storage[at(i)] = plan.storage[at(state)];
      return;
    }
  });
}

Plan long_sum() {
  const Tensor x = leaf({512, 512});
  return plan_of({sum(sin(matmul(x, x)))});
}
TEST(CheckPlan, FindsScratchThatIsFreedTooSoon) {
  const Plan plan = long_sum();
  ASSERT_EQ(plan.scratch_offsets.size(), 1u) << to_string(plan);
  expect_found(long_sum(), "scratch 0", [](Plan& plan) { plan.scratch_offsets[0] = plan.storage[at(item_named(plan, "matmul"))].offset; });
  expect_found(long_sum(), "a place in the arena", [](Plan& plan) { plan.scratch_offsets[0] = plan.arena_bytes; });
}

TEST(CheckPlan, FindsAnArenaThatIsTooSmall) {
  expect_found(chain(), "of the arena", [](Plan& plan) { plan.arena_bytes -= 1; });
}

TEST(CheckPlan, FindsTwoResultsInThePlaceOfOneOperand) {
  const auto make = [] {
    const Tensor x = leaf({64, 64}), z = matmul(x, x), a = sin(z), b = cos(z);
    return plan_of({matmul(a, b)});
  };
  expect_found(make(), "written too", [](Plan& plan) {
    plan.storage[at(item_named(plan, "sin"))] = plan.storage[at(item_named(plan, "cos"))] = plan.storage[at(item_named(plan, "matmul"))];
  });
}

// ---- Variables.
void write_where_it_lives(Plan& plan) {
  const LaunchSet copy = late_copies(plan).at(0);
  plan.storage[at(copy.arguments[0].index)] = {Storage::Kind::Update, copy.arguments[1].index, 0};
  plan.steps.pop_back();
}

TEST(CheckPlan, FindsAVariableThatIsWrittenWhileItsOldValueIsNeeded) {
  const auto make = [] {
    const Tensor x = leaf({64, 64}), w = leaf({64, 64});
    return plan_of({matmul(matmul(sin(x), x), w)}, {{w, cos(x)}});
  };
  expect_found(make(), "not %", write_where_it_lives);
}
TEST(CheckPlan, FindsAVariableThatTheProgramReadsTwiceInAnotherOrder) {
  const auto make = [] {
    const Tensor w = leaf({64, 64});
    return plan_of({}, {{w, w * 2.0 + transpose(w)}});
  };
  expect_found(make(), "every element to be read where and before it is written", write_where_it_lives);
}
TEST(CheckPlan, FindsAVariableThatTheProgramReadsInAnotherOrder) {
  const auto make = [] {
    const Tensor w = leaf({64, 64});
    return plan_of({}, {{w, transpose(w) + 1.0}});
  };
  expect_found(make(), "every element to be read where and before it is written", write_where_it_lives);
}
TEST(CheckPlan, FindsAVariableThatACallReadsAndWrites) {
  const auto make = [] {
    const Tensor w = leaf({64, 64});
    return plan_of({}, {{w, matmul(w, w)}});
  };
  expect_found(make(), "places apart", write_where_it_lives);
}
TEST(CheckPlan, FindsAVariableThatIsWrittenBeforeTheLastCheck) {
  expect_found(state_with_labels(), "to come after the checks", write_where_it_lives);
}
TEST(CheckPlan, FindsCopiesThatAreForgottenOrGoElsewhere) {
  const auto make = [] {
    const Tensor w = leaf({64, 64}), v = leaf({64, 64});
    return plan_of({}, {{w, matmul(v, v)}, {v, matmul(w, w)}});
  };
  expect_found(make(), "it there at the end", [](Plan& plan) { plan.steps.pop_back(); });
  expect_found(make(), "that Variable's new value", [](Plan& plan) {
    int& update = late_copies(plan).at(0).arguments[1].index;
    update = 1 - update;
  });
}
TEST(CheckPlan, FindsAResultThatNothingWrites) {
  expect_found(chain(), "it there at the end", [](Plan& plan) { plan.steps.pop_back(); });
  expect_found(chain(), "that result", [](Plan& plan) { plan.storage[0] = {Storage::Kind::Output, 0, 0}; });
}

// ---- Steps.
TEST(CheckPlan, FindsLaunchesMergedAcrossAStepBetweenThem) {
  const auto make = [] {
    const Tensor x = leaf({64, 64}), a = sin(matmul(x, x)), b = sin(matmul(a, x));
    return plan_of({matmul(b, x)});
  };
  expect_found(make(), "expected it there", [](Plan& plan) {
    Step *first = nullptr, *second = nullptr;
    for (Step& step : plan.steps) {
      if (step.name == "sin") (first ? second : first) = &step;
    }
    ASSERT_TRUE(second) << to_string(plan);
    ASSERT_EQ(first->launch()->structure, second->launch()->structure);
    auto &sets = second->launch()->sets, &from = first->launch()->sets;
    sets.insert(sets.begin(), from.begin(), from.end());
    for (const auto list : {&Step::reads, &Step::writes})
      (second->*list).insert((second->*list).end(), (first->*list).begin(), (first->*list).end());
    plan.steps.erase(plan.steps.begin() + (first - plan.steps.data()));
  });
}
TEST(CheckPlan, FindsStepsInTheWrongOrder) {
  expect_found(chain(), "not nothing", [](Plan& plan) { std::swap(plan.steps[0], plan.steps[1]); });
}
TEST(CheckPlan, FindsListsThatDoNotSayWhatTheArgumentsDo) {
  expect_found(chain(), "Step::reads", [](Plan& plan) { step_named(plan, "sin").reads.clear(); });
  expect_found(chain(), "Step::writes", [](Plan& plan) { step_named(plan, "sin").writes.clear(); });
  expect_found(chain(), "Step::writes", [](Plan& plan) { step_named(plan, "sin").writes.push_back(0); });
  expect_found(long_sum(), "Step::scratch", [](Plan& plan) { step_named(plan, "sum").scratch.clear(); });
  expect_found(state_with_labels(), "Step::checks", [](Plan& plan) {
    for (Step& step : plan.steps) step.checks = false;
  });
}
TEST(CheckPlan, FindsArgumentsThatPointElsewhere) {
  expect_found(chain(), "where it or one of its views begins",
               [](Plan& plan) { step_named(plan, "sin").launch()->sets[0].arguments[0].integer += 4; });
  expect_found(chain(), "from its byte 64 on", [](Plan& plan) { step_named(plan, "matmul").called()->buffers[0].integer = 64; });
  expect_found(chain(), "is computed from byte", [](Plan& plan) {
    for (Step& step : plan.steps) {
      if (Called* const call = step.called(); call && call->buffers[0].index != call->buffers[1].index)
        return std::swap(call->buffers[0], call->buffers[1]);
    }
  });
  expect_found(chain(), "not nothing", [](Plan& plan) {
    Step& sin = step_named(plan, "sin");
    for (Reference& argument : sin.launch()->sets[0].arguments) {
      if (argument.kind == Reference::Kind::Value && argument.index == sin.reads[0]) argument.index = item_named(plan, "cos");
    }
    sin.reads[0] = item_named(plan, "cos");
  });
}
// A load behind the store of a program that writes in place.
TEST(CheckPlan, FindsAProgramThatLoadsAgainWhatItHasStored) {
  const auto make = [] {
    const Tensor w = leaf({64, 64});
    return plan_of({}, {{w, sin(w)}});
  };
  expect_found(make(), "every element to be read where and before it is written", [](Plan& plan) {
    tile::Program& program = plan.steps[0].launch()->program.edit();
    for (tile::Id id = 0; id < static_cast<tile::Id>(program.instructions.size()); ++id) {
      if (program[id].word == tile::Word::Load) return program.body.body.push_back(id);
    }
  });
}
// A loop's turns, and the plan of their body, are proved with the plan around them.
Plan loop() {
  const auto body = [](const std::vector<Tensor>& carry, const std::vector<Tensor>& x) {
    const Tensor next = tanh(matmul(carry[0], x[0]) + carry[1]);
    return Scanned{{next, carry[0]}, {next * 2.0}};
  };
  const Scanned all = scan(body, {leaf({8, 8}), leaf({8, 8})}, {leaf({6, 8, 8})});
  return plan_of({all.carry[0], all.ys[0]});
}
SubPlan& loop_of(Plan& plan) {
  for (Step& step : plan.steps)
    if (auto* const found = std::get_if<SubPlan>(&step.what)) return *found;
  throw std::runtime_error("no loop in\n" + to_string(plan));
}
TEST(CheckPlan, FindsATurnOfALoopThatWritesWhatItReads) {
  expect_found(loop(), "turn 0 of the loop scan",
               [](Plan& plan) { loop_of(plan).schedule.output_places[0] = loop_of(plan).schedule.carry_places[1]; });
  expect_found(loop(), "turn 0 of the loop scan", [](Plan& plan) { loop_of(plan).schedule.arena = 0; });
}
TEST(CheckPlan, FindsAFaultInTheBodyOfALoop) {
  expect_found(loop(), "step 1 (matmul", [](Plan& plan) {
    auto& body = const_cast<Plan&>(loop_of(plan).body->plan());  // NOLINT: of the plan that is here
    step_named(body, "matmul").called()->buffers[0].integer = 64;
  });
}
// The values of a group that lie along another axis of it than the one they are combined along.
TEST(CheckPlan, FindsAFusedValueThatIsReadAcross) {
  const auto make = [] {
    const Tensor x = leaf({32, 32});
    return plan_of({x - mean(x, 0)});
  };
  expect_found(make(), "as its views say", [](Plan& plan) {
    for (int i = 0; i < plan.graph.size(); ++i) {
      Membership& place = plan.fusion.members[at(i)];
      if (place.space == Space::Reduced) std::replace(place.axes.begin(), place.axes.end(), 1, 0);
    }
  });
}

// The places of items are kept by the passes: verify compares each with what its inputs say.
TEST(VerifyPlaces, FindsOneThatDoesNotFollowFromItsInputs) {
  if (!checking(Check::Plan)) GTEST_SKIP() << "places are compared with TEGULA_CHECK=plan";
  const Tensor x = leaf({8, 16}), view = slice(x, 1, {4, 12});
  const Tensor y = matmul(view, transpose(view));
  const Plan plan = plan_of({y});
  EXPECT_NO_THROW(verify(plan.graph, "test"));
  for (int i = 0; i < plan.graph.size(); ++i) {
    Graph graph = plan.graph;
    ++graph.places[at(i)].layout.offset;
    EXPECT_THROW(verify(graph, "test"), Error) << to_string(graph) << "item " << i;
  }
  Graph graph = plan.graph;
  graph.places.pop_back();
  EXPECT_THROW(verify(graph, "test"), Error);
}

// ---- Devices that queue.
TEST(CheckPlan, FindsEveryMissingDependency) {
  const Tensor x = leaf({64, 64}), a = sin(matmul(x, x)), b = cos(matmul(a, x)), c = matmul(b, a);
  const Plan plans[] = {plan_of({matmul(tanh(c), b) + a}, {}, queue()), descent(queue())};
  int edges = 0;
  for (const Plan& plan : plans) {
    ASSERT_EQ(complaint(plan, true), "");
    const auto after = dependencies(plan);
    EXPECT_NO_THROW(check_order(plan, after));
    for (std::size_t s = 0; s < after.size(); ++s) {
      for (std::size_t e = 0; e < after[s].size(); ++e, ++edges) {
        auto fewer = after;
        fewer[s].erase(fewer[s].begin() + static_cast<std::ptrdiff_t>(e));
        EXPECT_THROW(check_order(plan, fewer), Error) << s << " after " << after[s][e] << "\n" << to_string(plan);
      }
    }
  }
  EXPECT_GT(edges, 5);
}
TEST(CheckPlan, FindsAStepThatIsNotGuarded) {
  const auto make = [] {
    const Tensor table = leaf({64, 64}), index = leaf({8}, i64), w = leaf({8, 64});
    return plan_of({}, {{w, w + take(table, index, 0)}}, queue());
  };
  expect_found(
      make(), "a guarded step",
      [](Plan& plan) {
        for (Step& step : plan.steps) step.guarded = false;
      },
      true);
}
TEST(CheckPlan, FindsKeptValuesThatAreNotWhatThePlanReads) {
  const Tensor x = leaf({8, 8}), w = leaf({8, 8});
  const Plan plan = plan_of({matmul(x, w)}), once = plan_of({transpose(x) + 1.0}), narrow = plan_of({sum(x, 0)});
  EXPECT_NO_THROW(check_kept(plan, once.graph));
  EXPECT_THROW(check_kept(plan, narrow.graph), Error);
  EXPECT_THROW(check_kept(plan_of({}, {{w, w + 1.0}}), once.graph), Error);
}

// ---- What kernels and calls really touch.

// The largest number that a plan of one result (64, 64) from one leaf of ones leaves there; NaN counts as larger.
double largest_of(Plan plan, bool poisoned) {
  const Checking memory(Check::Memory, poisoned);
  Executable executable(std::move(plan), runtime::cpu());
  std::vector<float> ones(64 * 64, 1.f), result(64 * 64, -7.f);
  void *leaves[] = {ones.data()}, *outputs[] = {result.data()};
  for (int run = 0; run < 2; ++run) executable.run({.leaves = leaves, .constants = {}, .outputs = outputs, .updates = {}});
  double largest = 0;
  for (const float x : result) largest = std::isnan(x) ? std::numeric_limits<double>::infinity() : std::max<double>(largest, x);
  return largest;
}
Plan sine_of_product() {
  const Tensor x = leaf({64, 64}), a = sin(matmul(x, x));
  return plan_of({matmul(matmul(a, x), a)});
}
TEST(CheckMemory, ChangesNothingInAPlanThatIsRight) {
  EXPECT_TRUE(std::isfinite(largest_of(sine_of_product(), true)));
  EXPECT_EQ(largest_of(sine_of_product(), true), largest_of(sine_of_product(), false));
}
TEST(CheckMemory, WhatIsReadAfterItWasGivenUpIsNotANumber) {
  const auto make = [] {
    Plan plan = sine_of_product();
    plan.steps.back().reads.clear();  // as if no step needed it that long
    return plan;
  };
  EXPECT_TRUE(std::isfinite(largest_of(make(), false)));
  EXPECT_TRUE(std::isinf(largest_of(make(), true)));
}
TEST(CheckMemory, WhatIsNotWrittenIsNotANumber) {
  const Tensor x = leaf({64, 64}), z = matmul(x, x);
  Plan plan = plan_of({matmul(matmul(sin(z), x), z)});
  for (Step& step : plan.steps) {
    if (step.launch()) step.launch()->sets[0].grid = {0, 1, 1};  // as if the program did nothing
  }
  EXPECT_TRUE(std::isinf(largest_of(std::move(plan), true)));
}
// At the end of the last step nothing is left, and nothing is given up that a later step reads.
TEST(CheckMemory, EveryByteIsGivenUpOnceAndAfterItsLastReader) {
  for (const auto& make : {chain, one_row, long_sum}) {
    const Plan plan = make();
    const auto dead = dead_after(plan);
    std::vector<bool> used(plan.arena_bytes);
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const auto each = [&](int item, const auto& what) {
        const Storage& storage = plan.storage[at(item)];
        if (storage.kind != Storage::Kind::Arena) return;
        for (std::size_t b = storage.offset; b < storage.offset + bytes_of(plan.graph[item]); ++b) what(b);
      };
      for (const int item : plan.steps[s].reads) each(item, [&](std::size_t b) { EXPECT_TRUE(used[b]) << s; });
      for (const int item : plan.steps[s].writes) each(item, [&](std::size_t b) { used[b] = true; });
      for (const int scratch : plan.steps[s].scratch) {
        for (std::size_t b = 0; b < plan.scratch_bytes[at(scratch)]; ++b) used[plan.scratch_offsets[at(scratch)] + b] = true;
      }
      for (const auto& [begin, end] : dead[s]) {
        for (std::size_t b = begin; b < end; ++b) used[b] = false;
      }
    }
    EXPECT_EQ(std::count(used.begin(), used.end(), true), 0);
  }
}

// ---- The words of TEGULA_CHECK.
TEST(CheckPlan, TheListOfChecksIsReadWordByWord) {
  static std::string unknown;
  const auto note = [](std::string_view word) { unknown += word; };
  EXPECT_EQ(parse_checks("", note), 0u);
  EXPECT_EQ(parse_checks("jit", note), 1u);
  EXPECT_EQ(parse_checks("memory,jit", note), 5u);
  EXPECT_EQ(parse_checks("plan,,plan", note), 2u);
  EXPECT_EQ(parse_checks("tile,nan", note), 24u);
  EXPECT_EQ(unknown, "");
  EXPECT_EQ(parse_checks("jits,plan", note), 2u);
  EXPECT_EQ(unknown, "jits");
}
TEST(CheckPlan, IsOnInEveryTest) { EXPECT_TRUE(checking(Check::Plan)); }

}  // namespace
}  // namespace tegula::compile

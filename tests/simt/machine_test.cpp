// The machine finds what kernels must not do, and counts conflicts of banks: kernels of a few statements each.

#include "tegula/simt/machine/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

#include "tegula/core/error.h"

namespace tegula::simt {
namespace {

constexpr std::int64_t kThreads = 64;

/// A kernel of two warps with an array of floats in shared memory, `tile`, and tensors x and y.
Kernel kernel_of(Block body, std::size_t shared_bytes = 8192) {
  Kernel kernel{.program = "hand made", .row_threads = 1, .column_threads = kThreads, .parameters = {}, .entry = {}, .body = {}};
  for (const char* const name : {"x", "y"}) kernel.parameters.push_back({.name = name, .declared = {.name = name, .dtype = DType::f32}});
  kernel.scratch_bytes = shared_bytes;
  const Type floats = pointer_to(computed(DType::f32));
  kernel.body.push_back(Declare{.what = {"tile", floats, {}}, .value = reinterpret(floats, "shared"), .constant = true});
  kernel.body.insert(kernel.body.end(), body.begin(), body.end());
  return kernel;
}
Expression x_at(Expression i) { return load(group(Expression("x") + std::move(i))); }
Statement store(Expression value, Expression i) {
  return StoreOne{.computed = DType::f32, .value = std::move(value), .pointer = Expression("y") + std::move(i)};
}

struct Ran {
  std::vector<float> x = std::vector<float>(1024), y = std::vector<float>(1024, -1);
  Observed observed;
};

Ran run(const Kernel& kernel, bool uneven = false, unsigned order = 0, std::int64_t instances = 1) {
  Ran result;
  std::iota(result.x.begin(), result.x.end(), 0.0f);
  const std::array<runtime::Argument, 2> arguments{{{.pointer = result.x.data()}, {.pointer = result.y.data()}}};
  const runtime::ArgumentSet set{arguments.data(), {instances, 1, 1}};
  const std::array<std::span<const std::byte>, 2> memory{std::as_bytes(std::span(result.x)), std::as_bytes(std::span(result.y))};
  result.observed = Machine(kernel).run({.sets = {&set, 1}}, {.uneven = uneven, .order = order, .memory = memory});
  return result;
}

/// The kinds of what is found at every pace and in every order.
std::set<Finding::Kind> found(const Kernel& kernel, std::int64_t instances = 1) {
  std::set<Finding::Kind> always, once;
  for (const bool uneven : {false, true}) {
    for (const unsigned order : {0u, 1u}) {
      std::set<Finding::Kind> now, both;
      for (const Finding& finding : run(kernel, uneven, order, instances).observed.findings) now.insert(finding.kind);
      if (once.empty() && !uneven && order == 0) always = now;
      std::ranges::set_intersection(always, now, std::inserter(both, both.end()));
      always = both;
      once.insert(now.begin(), now.end());
    }
  }
  EXPECT_EQ(always.empty(), once.empty()) << "found in some runs alone";
  return always;
}
using Kinds = std::set<Finding::Kind>;

const Expression kThread = thread_index();

TEST(Machine, HandsNumbersToOtherWarps) {
  const Kernel kernel = kernel_of(
      {Assign{.target = element("tile", kThread), .value = x_at(kThread)}, Barrier{}, store(element("tile", 63 - kThread), kThread)});
  EXPECT_EQ(found(kernel), Kinds{});
  const Ran result = run(kernel);
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_EQ(result.y[i], static_cast<float>(63 - i));
  EXPECT_EQ(result.y[kThreads], -1);
}

TEST(Machine, FindsReadsThatNoBarrierOrders) {
  EXPECT_EQ(
      found(kernel_of({Assign{.target = element("tile", kThread), .value = x_at(kThread)}, store(element("tile", kThread), kThread)})),
      Kinds{});
  // Threads of the same warp, too.
  for (const int distance : {1, 32}) {
    const Kernel kernel = kernel_of({Assign{.target = element("tile", kThread), .value = x_at(kThread)},
                                     Statement(Assign{.target = element("tile", kThread + 64), .value = x_at(kThread)}),
                                     store(element("tile", group(kThread + distance)), kThread)});
    EXPECT_TRUE(found(kernel).contains(Finding::Kind::Race));
  }
}

TEST(Machine, FindsWritesOverWhatOthersStillRead) {
  const Kernel kernel =
      kernel_of({Assign{.target = element("tile", kThread), .value = x_at(kThread)}, Barrier{},
                 store(element("tile", 63 - kThread), kThread), Assign{.target = element("tile", kThread), .value = x_at(kThread)}});
  EXPECT_EQ(found(kernel), Kinds{Finding::Kind::Race});
}

TEST(Machine, FindsRacesInTensors) {
  const auto place = [](Expression i) {
    return StoreOne{.computed = DType::f32, .value = "tr", .pointer = Expression("y") + std::move(i)};
  };
  EXPECT_EQ(found(kernel_of({place(kThread)})), Kinds{});
  EXPECT_EQ(found(kernel_of({place(kThread / 2)})), Kinds{Finding::Kind::Race});
}

/// No barrier orders instances.
TEST(Machine, FindsRacesBetweenInstances) {
  const auto place = [](Expression i) {
    return StoreOne{.computed = DType::f32, .value = "tr", .pointer = Expression("y") + std::move(i)};
  };
  const Expression first = group("id0" * Expression(kThreads));
  EXPECT_EQ(found(kernel_of({place(first + kThread)}), 3), Kinds{});
  EXPECT_EQ(found(kernel_of({place(first / 2 + kThread)}), 3), Kinds{Finding::Kind::Race});
  const Statement reads(Assign{.target = element("tile", kThread), .value = load(group(Expression("y") + (first + kThread + 64)))});
  EXPECT_EQ(found(kernel_of({reads, place(first + kThread)}), 3), Kinds{Finding::Kind::Race});
  const Statement adds(Atomic{.dtype = DType::i32, .pointer = Expression("y") + kThread, .value = 1, .compared = {}, .target = {}});
  EXPECT_EQ(found(kernel_of({adds}), 3), Kinds{});
}

TEST(Machine, ChangesElementsOneAfterAnother) {
  const Kernel kernel = kernel_of({Declare{.what = {"old", computed(DType::i32), {}}},
                                   Atomic{.dtype = DType::i32, .pointer = Expression("x") + 0, .value = 1, .compared = {}, .target = "old"},
                                   store("old", kThread)});
  EXPECT_EQ(found(kernel), Kinds{});
  std::vector<float> olds = run(kernel, true).y;
  olds.resize(kThreads);
  std::ranges::sort(olds);
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_EQ(olds[i], static_cast<float>(i));
}

/// An instance's effects before a fence and an atomic word are before those of another one behind an atomic word there and a fence.
TEST(Machine, KnowsInstancesThatAtomicWordsAndFencesOrder) {
  const auto kernel = [](bool releases, bool acquires) {
    const Statement meets(Atomic{.dtype = DType::i32, .pointer = Expression("x") + 1000, .value = 1, .compared = {}, .target = {}},
                          binary(kThread, "==", 0));
    Block body{meets};
    if (acquires) body.push_back(Fence{});
    for (const Statement& one : {Statement(Barrier{}), Statement(store(x_at(kThread), kThread)), Statement(Barrier{})}) body.push_back(one);
    if (releases) body.push_back(Fence{});
    body.push_back(meets);
    return kernel_of(body);
  };
  EXPECT_EQ(found(kernel(true, true), 3), Kinds{});
  EXPECT_EQ(found(kernel(false, true), 3), Kinds{Finding::Kind::Race});
  EXPECT_EQ(found(kernel(true, false), 3), Kinds{Finding::Kind::Race});
}

TEST(Machine, FindsWhatNobodyHasWritten) {
  EXPECT_EQ(found(kernel_of({store(element("tile", kThread), kThread)})), Kinds{Finding::Kind::Undefined});
  const Declare variable{.what = {"v", computed(DType::f32), {}}};
  EXPECT_EQ(found(kernel_of({variable, store("v", kThread)})), Kinds{Finding::Kind::Undefined});
  // A variable may be undefined in threads that do not read it.
  const Statement half(Assign{.target = "v", .value = x_at(kThread)}, kThread < 40);
  EXPECT_EQ(
      found(kernel_of(
          {variable, half, Statement(StoreOne{.computed = DType::f32, .value = "v", .pointer = Expression("y") + kThread}, kThread < 40)})),
      Kinds{});
  EXPECT_EQ(found(kernel_of({variable, half, Branch{.when = Expression("v") < 1, .then = {}}})), Kinds{Finding::Kind::Undefined});
}

TEST(Machine, FindsAddressesOutsideOfMemory) {
  EXPECT_EQ(found(kernel_of({store(0, kThread * 16)})), Kinds{});
  EXPECT_EQ(found(kernel_of({store(0, kThread * 17)})), Kinds{Finding::Kind::Outside});
  EXPECT_EQ(found(kernel_of({Assign{.target = element("tile", kThread * 33), .value = 0}})), Kinds{Finding::Kind::Outside});
  EXPECT_EQ(found(kernel_of({Assign{.target = element("tile", kThread * 32), .value = 0}})), Kinds{});
}

TEST(Machine, FindsWideAccessesThatAreNotAligned) {
  const auto loads = [](int first) {
    return kernel_of({Declare{.what = {"v", computed(DType::f32), {4}}},
                      LoadWide{.wide = 4, .count = 4, .pointer = group(Expression("x") + (kThread * 4 + first)), .target = "v"},
                      StoreWide{.wide = 4, .count = 4, .pointer = group(Expression("y") + kThread * 4), .source = "v"}});
  };
  EXPECT_EQ(found(loads(4)), Kinds{});
  EXPECT_EQ(found(loads(2)), Kinds{Finding::Kind::Misaligned});
}

TEST(Machine, FindsBarriersThatNotAllThreadsReach) {
  EXPECT_EQ(found(kernel_of({Branch{.when = kThread < 16, .then = {Barrier{}}}})), (Kinds{Finding::Kind::Apart}));
  EXPECT_TRUE(run(kernel_of({Branch{.when = kThread < 32, .then = {Barrier{.kind = Barrier::Kind::Cluster}}, .otherwise = {Barrier{}}}}))
                  .observed.stuck);
}

TEST(Machine, FindsReadsOfCopiesThatAreOnTheirWay) {
  const auto copies = [](bool waits, int unfinished) {
    Block body{CopyAhead{.wide = 4,
                         .count = 4,
                         .place = Expression("shared") + kThread * 16,
                         .source = group(Expression("x") + kThread * 4),
                         .inside = 4},
               CloseCopies{}, CloseCopies{}};
    if (waits) body.push_back(WaitForCopies{unfinished});
    body.push_back(store(element("tile", kThread * 4 + 1), kThread));
    return kernel_of(std::move(body));
  };
  EXPECT_EQ(found(copies(true, 1)), Kinds{});
  EXPECT_EQ(run(copies(true, 1), true).y[3], 13.0f);
  EXPECT_TRUE(found(copies(true, 2)).contains(Finding::Kind::OnItsWay));
  EXPECT_TRUE(found(copies(false, 0)).contains(Finding::Kind::OnItsWay));
}

/// 32 x 32 numbers, read as rows and written as columns of lines of `pitch` numbers.
Kernel transposed(std::int64_t pitch) {
  const auto rows = [](const char* name, Statement statement) { return Loop{.name = name, .end = 16, .body = {std::move(statement)}}; };
  const Expression lane = group(kThread % 32), line = group("i" * Expression(2) + kThread / 32);
  return kernel_of({rows("i", Assign{.target = element("tile", line * pitch + lane), .value = x_at(line * 32 + lane)}), Barrier{},
                    rows("i", store(element("tile", lane * pitch + line), line * 32 + lane))});
}

TEST(Machine, CountsConflictsOfBanks) {
  for (const std::int64_t pitch : {32, 33}) {
    const Ran result = run(transposed(pitch));
    EXPECT_TRUE(result.observed.findings.empty()) << to_string(result.observed);
    for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(result.y[i], static_cast<float>(i % 32 * 32 + i / 32));
    EXPECT_EQ(result.observed.banks.accesses, 64);
    EXPECT_EQ(result.observed.banks.conflicts, pitch == 32 ? 32 * 31 : 0);  // a column is in one bank, or in all
  }
  EXPECT_NE(to_string(run(transposed(32)).observed).find("64 accesses, 992 conflicts of banks"), std::string::npos);
}

TEST(Machine, RefusesWhatItDoesNotKnow) {
  for (const Statement& statement : {Statement(Touch{}), Statement(Assign{.target = "tr", .value = call("no_such_function", 1)}),
                                     Statement(Assign{.target = "no_such_register", .value = 1})}) {
    try {
      const Machine machine(kernel_of({statement}));
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("hand made"), std::string::npos) << error.what(); }
  }
}

}  // namespace
}  // namespace tegula::simt

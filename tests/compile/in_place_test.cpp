// An op that overwrites its input does so in place, and only where no reader can see the difference.

#include <gtest/gtest.h>

#include <functional>

#include "tegula/graph/structural.h"
#include "tegula/ops/rows/row_kernel.h"
#include "tegula/tegula.h"
#include "tests/io/files.h"
#include "tests/support/occurrences.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// On the CPU, and on a device that queues its work.
class InPlace : public ::testing::TestWithParam<bool> {
 protected:
  InPlace() : before_(default_device()) {
    static test::QueuedDevice& queued = test::QueuedDevice::create();
    if (GetParam()) set_default_device(queued);
  }
  ~InPlace() override { set_default_device(before_); }

  /// Rows 0, 1, 2, … of a cache of (2, 8, 3), each filled with its number.
  static Tensor rows(int count, double first = 1) {
    Tensor x = zeros({2, 8, 3});
    for (int i = 0; i < count; ++i) x = where(expand_dims(arange(8), 1) == i, first + i, x);
    return x;
  }
  static Tensor row(double value) { return full({2, 1, 3}, value); }
  static void expect_equal(const Tensor& got, const Tensor& want) { EXPECT_EQ(got.to_host<double>(), want.to_host<double>()); }

 private:
  runtime::Device& before_;
};
INSTANTIATE_TEST_SUITE_P(Devices, InPlace, ::testing::Bool(), [](const auto& info) { return info.param ? "Queued" : "Cpu"; });

TEST_P(InPlace, ARowIsWrittenWhereTheVariableLies) {
  Variable cache(zeros({2, 8, 3})), at(tensor({std::int64_t{0}}));
  auto step = jit([&](Tensor x) {
    cache = update_slice(cache.read(), x, at.read(), 1);
    at = at.read() + 1;
    return sum(cache.read(), 2);
  });
  for (int i = 0; i < 5; ++i) {
    const Tensor sums = step(row(1 + i));
    expect_equal(sums, sum(rows(i + 1), 2));
    expect_equal(cache.read(), rows(i + 1));
  }
  const std::string plan = step.print_plan();
  EXPECT_EQ(test::occurrences(plan, "tile update_slice"), 1) << plan;
  EXPECT_EQ(test::occurrences(plan, "copy"), 0) << plan;
}

TEST_P(InPlace, WhoHoldsTheOldValueKeepsIt) {
  Variable cache(rows(2));
  auto step = jit([&](Tensor x) { cache = update_slice(cache.read(), x, 2, 1); });
  const Tensor old = cache.read();
  step(row(3));
  expect_equal(old, rows(2));
  expect_equal(cache.read(), rows(3));
}

TEST_P(InPlace, TheOldValueMayBeReadInTheSameStep) {
  Variable cache(rows(2));
  auto step = jit([&](Tensor x) {
    const Tensor old = cache.read();
    cache = update_slice(old, x, 2, 1);
    return sum(old * 2) + sum(cache.read());
  });
  EXPECT_EQ(step(row(3)).item(), 2 * 18 + 36);
  expect_equal(cache.read(), rows(3));
}

TEST_P(InPlace, TwoUpdatesOfOneValueAreTwoValues) {
  Variable cache(rows(2));
  auto step = jit([&](Tensor x) {
    const Tensor old = cache.read(), other = update_slice(old, x * 10, 0, 1);
    cache = update_slice(old, x, 2, 1);
    return other;
  });
  const Tensor other = step(row(3));
  expect_equal(cache.read(), rows(3));
  expect_equal(other, where(expand_dims(arange(8), 1) == 0, 30.0, rows(2)));
}

TEST_P(InPlace, SeveralUpdatesLieOverOneAnother) {
  Variable cache(zeros({2, 8, 3}));
  auto step = jit([&](Tensor x) {
    Tensor y = cache.read();
    for (int i = 0; i < 4; ++i) y = update_slice(y, x + i, i, 1);
    cache = y;
    return max(y);
  });
  EXPECT_EQ(step(row(1)).item(), 4);
  expect_equal(cache.read(), rows(4));
  EXPECT_EQ(test::occurrences(step.print_plan(), "copy"), 0) << step.print_plan();
}

TEST_P(InPlace, AResultThatIsReturnedTooIsItsOwn) {
  Variable cache(rows(1));
  auto step = jit([&](Tensor x) {
    cache = update_slice(cache.read(), x, 1, 1);
    return cache.read();
  });
  const Tensor first = step(row(2));
  const Tensor second = step(row(7));
  expect_equal(first, rows(2));
  expect_equal(second, cache.read());
  EXPECT_EQ(slice(second, 1, {.begin = 1, .end = 2}).to_host()[0], 7);
}

TEST_P(InPlace, ViewsOfTheVariableAreUpdatedToo) {
  Variable cache(rows(2)), table(zeros({4, 3}));
  auto step = jit([&](Tensor x) {
    cache = reshape(update_slice(reshape(cache.read(), {16, 3}), reshape(x, {2, 3}), 2, 0), {2, 8, 3});
    table = transpose(update_slice(transpose(table.read()), ones({3, 1}), 3, 1));
  });
  step(row(3));
  const std::vector<double> host = cache.read().to_host<double>();
  EXPECT_EQ(host[6], 3);
  EXPECT_EQ(host[11], 3);
  EXPECT_EQ(host[12], 0);
  EXPECT_EQ(sum(cache.read()).item(), 18 + 18);
  EXPECT_EQ(table.read().to_host<double>(), (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST_P(InPlace, OfWhatIsComputedNothingIsCopied) {
  auto f = jit([](Tensor x, Tensor y) { return update_slice(exp(x), y, 1, 0) * 2; });
  const Tensor x = normal({64, 32}), y = normal({3, 32});
  for (int call = 0; call < 3; ++call) {
    const Tensor e = exp(x) * 2;
    expect_equal(f(x, y), concat({slice(e, 0, {.end = 1}), y * 2, slice(e, 0, {.begin = 4})}, 0));
  }
  EXPECT_EQ(test::occurrences(f.print_plan(), "copy"), 0) << f.print_plan();
}

TEST_P(InPlace, NumbersAndConstantsStayWhatTheyAre) {
  const Tensor constant = rows(2);
  eval(constant);
  auto f = jit([&](Tensor x) { return update_slice(constant, x, 2, 1) + update_slice(zeros({2, 8, 3}), x, 0, 1); });
  for (int i = 1; i < 4; ++i)
    expect_equal(f(row(i)),
                 where(expand_dims(arange(8), 1) == 2, double(i), rows(2)) + where(expand_dims(arange(8), 1) == 0, double(i), 0.0));
  expect_equal(constant, rows(2));
}

TEST_P(InPlace, AFailedCheckChangesNothing) {
  Variable cache(rows(2));
  auto step = jit([&](Tensor x, Tensor at) {
    cache = update_slice(cache.read(), x, at, 1);
    return sum(x);
  });
  const auto fails = [&](std::int64_t at) {
    try {
      step(row(9), tensor({at})).item();
      return std::string();
    } catch (const Error& error) { return std::string(error.what()); }
  };
  step(row(3), tensor({std::int64_t{2}}));
  for (const std::int64_t at : {8, 100, -9}) {
    const std::string text = fails(at);
    EXPECT_NE(text.find("update_slice: got index " + std::to_string(at) + " for axis 1 of size 8"), std::string::npos) << text;
    expect_equal(cache.read(), rows(3));
  }
  step(row(4), tensor({std::int64_t{-5}}));
  expect_equal(cache.read(), rows(4));
}

TEST_P(InPlace, WhatFailsBehindItChangesNothing) {
  Variable cache(rows(2)), table(normal({4, 3}));
  auto step = jit([&](Tensor x, Tensor token) {
    cache = update_slice(cache.read(), x, 2, 1);
    return take(table.read(), token + cast(sum(cache.read()), i64) * 0, 0);
  });
  EXPECT_THROW(step(row(9), tensor({std::int64_t{4}})).to_host(), Error);
  expect_equal(cache.read(), rows(2));
  step(row(3), tensor({std::int64_t{3}}));
  expect_equal(cache.read(), rows(3));
}

TEST_P(InPlace, KernelsThatCannotFailMayFollow) {
  Variable cache(rows(2));
  auto step = jit([&](Tensor x) {
    cache = update_slice(cache.read(), x, 2, 1);
    return std::vector<Tensor>{argmax(x, 2), concat({x, x}, 1), cumsum(x, 2), sort(x, 2).values};
  });
  const std::vector<Tensor> all = step(row(3));
  EXPECT_EQ(all[2].to_host(), (std::vector<float>{3, 6, 9, 3, 6, 9}));
  expect_equal(cache.read(), rows(3));
  EXPECT_EQ(test::occurrences(step.print_plan(), "copy"), 0) << step.print_plan();
  EXPECT_EQ(test::occurrences(step.print_plan(), "tile keep"), 0) << step.print_plan();
}

/// Checks its operand and does not say so.
class Quiet final : public KernelOp {
 public:
  std::string_view name() const override { return "quiet"; }
  void lower(KernelContext& context) const override {
    ops::RowKernel kernel(context, "quiet", 1, numel(context.input(0).shape));
    tile::Builder& b = kernel.builder();
    const tile::Value x = b.load(kernel.input(0) + kernel.column(), kernel.mask());
    b.check(x >= 0.0, tile::cast(x, i64), 0);
    b.store(kernel.output(0) + kernel.column(), x, kernel.mask());
    kernel.launch();
  }
};

TEST_P(InPlace, AnOpWithACheckMustSaySo) {
  const Tensor x = ones({3});
  const Tensor y = make_node(make<const Quiet>(), {x}, x.shape(), x.dtype(), Line::current());
  const std::string message = testing::message_of([&] { static_cast<void>(y.to_host()); });
  EXPECT_NE(message.find("quiet"), std::string::npos) << message;
  EXPECT_NE(message.find("has_check() of the op to say so"), std::string::npos) << message;
}

TEST_P(InPlace, ScatterIntoAVariableWritesWhereItLies) {
  Variable table(zeros({4, 6}));
  auto step = jit([&](Tensor at, Tensor x) { table = scatter(table.read(), 1, at, x); });
  const Tensor at = reshape(tensor({std::int64_t{0}, std::int64_t{5}, std::int64_t{2}, std::int64_t{-1}}), {4, 1});
  for (int i = 1; i < 4; ++i) step(at, full({4, 1}, i));
  Tensor want = zeros({4, 6});
  want = scatter(want, 1, at, 3);
  expect_equal(table.read(), want);
  EXPECT_EQ(test::occurrences(step.print_plan(), "copy"), 0) << step.print_plan();
}

TEST_P(InPlace, PlainAndEagerModesAgree) {
  Variable cache(zeros({2, 8, 3}));
  for (int i = 0; i < 3; ++i) cache = update_slice(cache.read(), row(1 + i), i, 1);
  expect_equal(cache.read(), rows(3));
  const Tensor before = cache.read();
  Tensor after = update_slice(before, row(4), tensor({std::int64_t{3}}), 1);
  expect_equal(after, rows(4));
  expect_equal(before, rows(3));
  expect_equal(dynamic_slice(after, tensor({std::int64_t{-6}}), 2, 1), slice(rows(4), 1, {.begin = 2, .end = 4}));
}

}  // namespace
}  // namespace tegula

// Slices of a product of few rows that are inserted into larger tensors, where the program stores them: the same numbers as by two programs.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "tegula/simt/decide/layout.h"
#include "tegula/tegula.h"
#include "tests/support/close_values.h"
#include "tests/support/emulator.h"
#include "tests/support/occurrences.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

/// A decoder's projection and its caches: x (B, T, 150) -> q, k, v (B, T, heads, width).
struct Decoder {
  Decoder(DType dtype, const Shape& leading, std::int64_t heads, std::int64_t width)
      : heads(heads),
        width(width),
        weight(cast(normal({3 * heads * width, 150}, 0, 0.1, {.dtype = f64}), dtype)),
        bias(cast(normal({3 * heads * width}, 0, 1, {.dtype = f64}), dtype)),
        keys(cast(normal({leading[0], 9, heads, width}, 0, 1, {.dtype = f64}), dtype)),
        values(keys.read() * 2.0),
        at(tensor({std::int64_t{0}}, Shape{})) {}

  struct Qkv {
    Tensor q, k, v;
  };
  Qkv project(const Tensor& x) const {
    const Tensor all = reshape(linear(x, weight.read(), bias.read()), {x.size(0), x.size(1), 3, heads, width});
    const auto part = [&](std::int64_t k) { return reshape(slice(all, 2, {k, k + 1}), {x.size(0), x.size(1), heads, width}); };
    return {part(0), part(1), part(2)};
  }

  std::int64_t heads, width;
  Variable weight, bias, keys, values, at;
};

using Step = std::function<std::vector<Tensor>(Decoder&, const Tensor&)>;

using test::Ran;

/// The results of several runs, with the caches after each.
Ran ran(const Step& step, DType dtype, const Shape& leading, std::int64_t width, const std::vector<std::int64_t>& places,
        runtime::Device& device) {
  manual_seed(21);
  const test::OnDevice here(device);
  Decoder decoder(dtype, leading, 3, width);
  auto run = jit([&](Tensor x) { return step(decoder, x); });
  Ran out;
  for (const std::int64_t place : places) {
    decoder.at = tensor({place}, Shape{});
    const Tensor x = cast(normal({leading[0], leading[1], 150}, 0, 1, {.dtype = f64}), dtype);
    eval(x);
    for (const Tensor& y : run(x)) out.values.push_back(y.to_host<double>());
    out.values.push_back(decoder.keys.read().to_host<double>());
    out.values.push_back(decoder.values.read().to_host<double>());
  }
  out.plan = run.print_plan();
  return out;
}

/// On a device that queues against the CPU; so many slices are left to programs of their own, and so many copies are made.
void expect_same(const Step& step, DType dtype, const Shape& leading, std::int64_t width, int updates, int copies = 0,
                 runtime::Device& device = test::QueuedDevice::create(), const std::vector<std::int64_t>& places = {0, 3, 6, -4}) {
  const Ran got = ran(step, dtype, leading, width, places, device), want = ran(step, dtype, leading, width, places, cpu());
  EXPECT_EQ(test::occurrences(got.plan, "tile row_product"), 1) << got.plan;
  EXPECT_EQ(test::occurrences(got.plan, "tile update_slice"), updates) << got.plan;
  const auto each = got.plan.find("every time:");  // behind the steps that run once and are kept
  const std::string plan = each == std::string::npos ? got.plan : got.plan.substr(each);
  EXPECT_EQ(test::occurrences(plan, "tile copy") + test::occurrences(plan, "tile keep"), copies) << got.plan;
  test::expect_close_values(got, want, dtype);
}

std::vector<Tensor> decode(Decoder& d, const Tensor& x) {
  const auto [q, k, v] = d.project(x);
  d.keys = update_slice(d.keys.read(), k, d.at.read(), 1);
  d.values = update_slice(d.values.read(), v, d.at.read(), 1);
  return {q * 2.0, sum(d.keys.read() * d.values.read(), {1})};
}

TEST(RowSlices, LieInTheCachesAtOnce) {
  for (const DType dtype : test::kFloats) {
    for (const Shape& leading : {Shape{1, 1}, Shape{3, 1}, Shape{1, 3}, Shape{2, 2}}) {
      expect_same(decode, dtype, leading, 16, 0);
      expect_same(decode, dtype, leading, 15, 0);  // no tile ends where a part does
    }
  }
}

TEST(RowSlices, APlaceMayBeANumber) {
  const Step step = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    d.keys = update_slice(d.keys.read(), k, -3, 1);
    d.values = update_slice(d.values.read(), v, 2, 1);
    return std::vector<Tensor>{q * 2.0};
  };
  for (const DType dtype : test::kFloats) expect_same(step, dtype, {2, 1}, 15, 0);
}

/// If all reads of the product are of its place in a larger tensor, it has no result of its own.
TEST(RowSlices, TheWholeResultMayBeASlice) {
  const Step step = [](Decoder& d, const Tensor& x) {
    const Tensor all = linear(x, d.weight.read(), d.bias.read());  // (B, T, C)
    return std::vector<Tensor>{update_slice(full({x.size(0), 8, all.size(2)}, 3, all.dtype()), all, d.at.read(), 1)};
  };
  for (const DType dtype : test::kFloats) expect_same(step, dtype, {2, 2}, 15, 0, 1, test::QueuedDevice::create(), {0, 3});
}

TEST(RowSlices, WhatIsStillNeededIsCopiedFirst) {
  const Step old = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    const Tensor before = d.keys.read();
    d.keys = update_slice(before, k, d.at.read(), 1);
    return std::vector<Tensor>{q * 2.0, before + d.keys.read()};
  };
  const Step twice = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    const Tensor before = d.keys.read();
    return std::vector<Tensor>{q * 2.0, update_slice(before, k, d.at.read(), 1), update_slice(before, v, d.at.read(), 1)};
  };
  const Step computed = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    return std::vector<Tensor>{q * 2.0, update_slice(exp(d.keys.read()), k, d.at.read(), 1)};
  };
  for (const DType dtype : test::kFloats) {
    expect_same(old, dtype, {2, 1}, 15, 0, 2);
    expect_same(twice, dtype, {2, 1}, 15, 0, 1);  // two copies, one launch
    expect_same(computed, dtype, {2, 1}, 15, 0);
  }
}

/// Neither the tensor nor the place may come of the product itself; and one of two products that wait for each other's is left.
TEST(RowSlices, WhatWaitsForTheProductComesBehindIt) {
  const Step chained = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    d.keys = update_slice(update_slice(d.keys.read(), k, d.at.read(), 1), v, 8, 1);
    return std::vector<Tensor>{q * 2.0};
  };
  const Step place = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    d.keys = update_slice(d.keys.read(), k, cast(sum(q * 0.0), i64) + d.at.read(), 1);
    d.values = update_slice(d.values.read(), v, d.at.read(), 1);
    return std::vector<Tensor>{q * 2.0};
  };
  for (const DType dtype : test::kFloats) {
    expect_same(chained, dtype, {2, 1}, 15, 1);
    expect_same(place, dtype, {2, 1}, 15, 1, 2);  // both in one launch
  }
}

/// The program has no columns other than whole ones of each row, and no other dtypes.
TEST(RowSlices, OthersAreLeft) {
  const Step strided = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    d.keys = update_slice(d.keys.read(), permute(reshape(k, {x.size(0), 1, d.width, d.heads}), {0, 1, 3, 2}), d.at.read(), 1);
    return std::vector<Tensor>{q * 2.0};
  };
  const Step by_heads = [](Decoder& d, const Tensor& x) {
    const auto [q, k, v] = d.project(x);
    return std::vector<Tensor>{q * 2.0, update_slice(zeros({x.size(0), 1, 20, d.width}, k.dtype()), k, d.at.read(), 2)};
  };
  for (const DType dtype : test::kFloats) {
    expect_same(strided, dtype, {2, 1}, 15, 1, 1);
    expect_same(by_heads, dtype, {1, 1}, 15, 1, 1);
  }
}

TEST(RowSlices, AFailedCheckChangesNothing) {
  const test::OnDevice here(test::QueuedDevice::create());
  Decoder decoder(f32, {1, 1}, 3, 16);
  auto run = jit([&](Tensor x) { return decode(decoder, x); });
  const Tensor x = ones({1, 1, 150});
  run(x);
  EXPECT_EQ(test::occurrences(run.print_plan(), "tile update_slice"), 0) << run.print_plan();
  const auto keys = decoder.keys.read().to_host(), values = decoder.values.read().to_host();
  for (const std::int64_t at : {9, 100, -10}) {
    decoder.at = tensor({at}, Shape{});
    try {
      run(x * 2.0)[0].to_host();
      ADD_FAILURE() << at;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("got index " + std::to_string(at)), std::string::npos) << error.what();
    }
    EXPECT_EQ(decoder.keys.read().to_host(), keys);
    EXPECT_EQ(decoder.values.read().to_host(), values);
  }
}

/// A check that waits for the product, ahead of the step that inserts a slice of it.
TEST(RowSlices, ChecksAheadOfThemStayAhead) {
  const test::OnDevice here(test::QueuedDevice::create());
  Decoder decoder(f32, {1, 1}, 3, 16);
  Variable table(normal({4, 3}));
  auto run = jit([&](Tensor x, Tensor token) {
    const auto [q, k, v] = decoder.project(x);
    const Tensor row = take(table.read(), token + cast(sum(q * 0.0), i64), 0);
    decoder.keys = update_slice(decoder.keys.read(), k, 2, 1);
    return row;
  });
  const Tensor x = ones({1, 1, 150});
  const auto keys = decoder.keys.read().to_host();
  EXPECT_THROW(run(x, tensor({std::int64_t{4}})).to_host(), Error);
  EXPECT_EQ(decoder.keys.read().to_host(), keys);
  run(x, tensor({std::int64_t{3}})).to_host();
  EXPECT_NE(decoder.keys.read().to_host(), keys);
}

/// Programs are cut and generated for an H200, and run on emulated threads.
TEST(RowSlices, AreTheSameAsTextForAGpu) {
  auto& device = test::QueuedDevice::create();
  device.make_kernel = [](const tile::Program& program) { return gpu::emulated_kernel(program); };
  device.preference = gpu::tiles_for({.architecture = 90, .multiprocessors = 132});
  for (const Shape& leading : {Shape{1, 1}, Shape{2, 2}}) {
    expect_same(decode, bf16, leading, 16, 0, 0, device, {0, 6});
    expect_same(decode, f32, leading, 15, 0, 0, device, {0, 6});
  }
}

}  // namespace
}  // namespace tegula

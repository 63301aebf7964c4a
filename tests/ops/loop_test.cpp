// scan: a recurrence written once is the same recurrence written out.

#include "tegula/ops/loop.h"
#include "tegula/core/line.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

using Tensors = std::vector<Tensor>;

void expect_equal(const Tensor& got, const Tensor& want, double tolerance = 0) {
  ASSERT_EQ(got.shape(), want.shape());
  const auto a = got.to_host<double>(), b = want.to_host<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

struct Cell {
  Tensor w = normal({3, 4}) * 0.5, u = normal({4, 4}) * 0.5;
  Tensor operator()(const Tensor& h, const Tensor& x) const { return tanh(matmul(x, w) + matmul(h, u)); }
};

Tensor at(const Tensor& xs, std::int64_t t) { return reshape(slice(xs, 0, {.begin = t, .end = t + 1}), {2, 3}); }

class Lengths : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Scan, Lengths, testing::Values(0, 1, 2, 3, 7, 17));

TEST_P(Lengths, IsTheLoopWrittenOut) {
  const std::int64_t length = GetParam();
  const Cell cell;
  const Tensor xs = normal({length, 2, 3}), start = normal({2, 4});
  eval(cell.w, cell.u, xs, start);
  for (const bool reverse : {false, true}) {
    const auto scanned = [&](const Tensors& in) {
      const Scanned out = scan(
          [&](const Tensors& carry, const Tensors& x) {
            const Tensor h = cell(carry[0], x[0]);
            return Scanned{{h}, {h * 2, sum(x[0])}};
          },
          {in[1]}, {in[0]}, {.reverse = reverse});
      EXPECT_EQ(out.ys[0].shape(), (Shape{length, 2, 4}));
      EXPECT_EQ(out.ys[1].shape(), (Shape{length}));
      return sum(out.carry[0] * out.carry[0]) + sum(sin(out.ys[0])) + sum(out.ys[1]);
    };
    const auto written_out = [&](const Tensors& in) {
      Tensor h = in[1], total = Tensor(0.f);
      for (std::int64_t k = 0; k < length; ++k) {
        const Tensor x = at(in[0], reverse ? length - 1 - k : k);
        h = cell(h, x);
        total = total + sum(sin(h * 2)) + sum(x);
      }
      return sum(h * h) + total;
    };
    const Tensors in{xs, start};
    auto jitted = jit([&](Tensor a, Tensor b) {
      const Tensor y = scanned({a, b});
      return Tensors{y, grad(y, b), length > 0 ? grad(y, cell.u) : y};
    });
    const Tensor y = scanned(in), want = written_out(in);
    expect_equal(y, want, 1e-4);
    expect_equal(grad(y, start), grad(want, start), 1e-4);
    for (int call = 0; call < 2; ++call) {
      const Tensors results = jitted(xs, start);
      expect_equal(results[0], want, 1e-4);
      expect_equal(results[1], grad(want, start), 1e-4);
      if (length > 0) expect_equal(results[2], grad(want, cell.u), 1e-3);
    }
    if (length > 0) {
      expect_equal(grad(y, xs), grad(want, xs), 1e-4);
      expect_equal(grad(sum(grad(y, start)), start), grad(sum(grad(want, start)), start), 1e-3);
    }
  }
}

TEST(Scan, CarriedValuesMaySwapPassThroughAndStayUnused) {
  const Scanned out = scan([](const Tensors& c, const Tensors& x) { return Scanned{{c[1], c[0], c[2], c[3] + x[0]}, {c[0], c[3]}}; },
                           {Tensor(1.f), Tensor(2.f), Tensor(3.f), Tensor(0.f)}, {arange(0.f, 5.f), zeros({5, 7})});
  EXPECT_EQ(out.carry[0].item(), 2);
  EXPECT_EQ(out.carry[1].item(), 1);
  EXPECT_EQ(out.carry[2].item(), 3);
  EXPECT_EQ(out.carry[3].item(), 10);
  EXPECT_EQ(out.ys[0].to_host(), (std::vector<float>{1, 2, 1, 2, 1}));
  EXPECT_EQ(out.ys[1].to_host(), (std::vector<float>{0, 0, 1, 3, 6}));
}

TEST(Scan, NestsAndCounts) {  // powers of a matrix of ones, row by row
  const Scanned out = scan(
      [](const Tensors& outer, const Tensors&) {
        const Scanned inner =
            scan([](const Tensors& c, const Tensors& x) { return Scanned{{c[0] + x[0]}, {c[0]}}; }, {outer[0]}, {arange(0.f, 4.f)});
        return Scanned{inner.carry, inner.ys};
      },
      {Tensor(0.f)}, {}, {.length = 3});
  EXPECT_EQ(out.carry[0].item(), 18);
  EXPECT_EQ(out.ys[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(out.ys[0].to_host(), (std::vector<float>{0, 0, 1, 3, 6, 6, 7, 9, 12, 12, 13, 15}));
}

// Found by random graphs: the gradient by a number was left out, and one in half within a loop within a loop was refused.
TEST(Scan, NumbersHaveGradientsAndGoThroughLoopsWithinLoops) {
  const Tensor x = tensor({1.f, 2.f});
  const Tensor a = 0.5f;
  const auto powers = [&](const auto& repeated) {
    return repeated([&](const Tensors& c, const Tensors&) { return Scanned{{c[0] * a}, {}}; }, {x}, {}, {.length = 3});
  };
  const auto whole = [](const ScanBody& body, const Tensors& start, const Tensors& xs, ScanOptions options) {
    return scan(body, start, xs, options).carry[0];
  };
  const auto chunks = [](const ScanBody& body, const Tensors& start, const Tensors& xs, ScanOptions options) {
    options.length = 5;
    return scan_in_chunks(body, start, xs, options).carry[0];
  };
  EXPECT_EQ(grad(sum(powers(whole)) + a, a).item(), 3 * 3 * 0.25f + 1);
  EXPECT_EQ(grad(sum(powers(chunks)) + a, a).item(), 3 * 5 * 0.0625f + 1);
  EXPECT_EQ(grad(grad(sum(powers(whole)), a), a).item(), 3 * 3 * 2 * 0.5f);
  for (const DType dtype : {bf16, f32}) {
    const Tensor third = full({}, 1.0 / 3, dtype);
    const auto rows = [&](const Tensors& in) {
      return scan(
                 [&](const Tensors& outer, const Tensors& row) {
                   const auto inner = [&](const Tensors& c, const Tensors& one) { return Scanned{{tanh(c[0] * third + one[0])}, {}}; };
                   return Scanned{scan(inner, outer, row).carry, {expand(third, {2})}};
                 },
                 {in[0]}, {in[1]})
          .carry[0];
    };
    const auto by_hand = [&](const Tensors& in) {
      Tensor h = in[0];
      for (int i = 0; i < 6; ++i) h = tanh(h * third + select(select(in[1], 0, i / 2), 0, i % 2));
      return h;
    };
    const Tensor h = full({2}, 0.25, dtype), xs = cast(reshape(arange(0.f, 12.f), {3, 2, 2}) * 0.125f, dtype);
    eval(h, xs);
    const double allowed = dtype == bf16 ? 0.02 : 1e-6;
    const auto both = [&](const auto& f) {
      const Tensor y = f({h, xs});
      return Tensors{y, grad(sum(y), h), grad(sum(y), third)};
    };
    const Tensors got = both(rows), want = both(by_hand);
    for (std::size_t i = 0; i < got.size(); ++i) expect_equal(got[i], want[i], allowed);
  }
}

TEST(Scan, VariablesAreReadAndWrittenAndRandomNumbersDiffer) {
  Variable count(Tensor(0.f)), scale(Tensor(2.f));
  Generator generator(7);
  auto run = jit([&](Tensor xs) {
    const Scanned out = scan(
        [&](const Tensors& c, const Tensors& x) {
          count = count.read() + 1;
          const Tensor mask = dropout(ones({64}), 0.5, &generator);
          return Scanned{{c[0] + x[0] * scale.read()}, {mask, count.read()}};
        },
        {Tensor(0.f)}, {xs});
    return Tensors{out.carry[0], out.ys[0], out.ys[1]};
  });
  for (int call = 0; call < 3; ++call) {
    const Tensors results = run(ones({4}));
    EXPECT_EQ(results[0].item(), 8);
    EXPECT_EQ(count.read().item(), 4 * (call + 1));
    const auto masks = results[1].to_host();
    for (int t = 1; t < 4; ++t)
      EXPECT_FALSE(std::equal(masks.begin(), masks.begin() + 64, masks.begin() + 64 * t)) << "step " << t << " has the mask of step 0";
    EXPECT_EQ(results[2].to_host()[0], 4 * call + 1);
  }
}

TEST(Scan, ADropoutInItIsTheSameInItsGradient) {
  Generator generator(3);
  const Tensor x = ones({5, 32});
  const Scanned out = scan(
      [&](const Tensors& c, const Tensors& in) {
        const Tensor y = dropout(in[0], 0.5, &generator);
        return Scanned{{c[0] + y}, {y}};
      },
      {zeros({32})}, {x});
  const Tensor dx = grad(sum(out.carry[0]), x);
  expect_equal(dx, out.ys[0]);  // for a dy of ones, a mask times 2 is its own gradient
}

// A recurrent net trained in a loop of steps inside a scan: weights are Variables that the body reads and writes.
TEST(Scan, TrainingStepsAreStepsOfALoop) {
  const auto train = [](bool scanned, bool jitted) {
    manual_seed(4);
    nn::Linear net(3, 2);
    optim::Adam adam(parameters(net), {.lr = 0.1});
    const Tensor xs = normal({6, 5, 3}), ys = normal({6, 5, 2});
    eval(xs, ys);
    const auto step = [&](const Tensor& x, const Tensor& y) {
      const Tensor loss = mse_loss(net(x), y);
      adam.step(grad(loss, parameters(net)));
      return loss;
    };
    const auto all = [&](const Tensor& x, const Tensor& y) {
      if (scanned) return scan([&](const Tensors&, const Tensors& in) { return Scanned{{}, {step(in[0], in[1])}}; }, {}, {x, y}).ys[0];
      Tensors losses;
      for (int t = 0; t < 6; ++t) losses.push_back(step(select(x, 0, t), select(y, 0, t)));
      return stack(losses);
    };
    auto in_jit = jit(all);
    Tensors results;
    for (int call = 0; call < 2; ++call) results.push_back(jitted ? in_jit(xs, ys) : all(xs, ys));
    results.push_back(net.weight.read());
    results.push_back(net.bias.read());
    return results;
  };
  const Tensors want = train(false, false);
  for (const bool jitted : {false, true}) {
    const Tensors got = train(true, jitted);
    for (std::size_t k = 0; k < want.size(); ++k) expect_equal(got[k], want[k], 1e-5);
  }
}

TEST(Scan, RandomNumbersAreThoseOfTheStepsWrittenOut) {
  const auto run = [](bool scanned) {
    Generator generator(11);
    const auto step = [&](const Tensor& c, const Tensor& x) { return dropout(c, 0.4, &generator) + x * bernoulli(0.5, {8}, &generator); };
    const Tensor xs = arange(0.f, 24.f);
    const Tensor rows = reshape(xs, {3, 8});
    Tensor c = ones({8});
    if (scanned) c = scan([&](const Tensors& in, const Tensors& x) { return Scanned{{step(in[0], x[0])}, {}}; }, {c}, {rows}).carry[0];
    else
      for (int t = 0; t < 3; ++t) c = step(c, select(rows, 0, t));
    return Tensors{c, uniform({4}, 0, 1, {.generator = &generator})};  // and the ones that come later
  };
  const Tensors want = run(false), got = run(true);
  for (std::size_t k = 0; k < want.size(); ++k) expect_equal(got[k], want[k]);
}

TEST(Scan, AFailedCheckNamesTheBodysLineAndLeavesVariables) {
  Variable total(Tensor(0.f)), count(zeros({}, i64));
  const Tensor table = arange(0.f, 5.f);
  unsigned line = 0;
  auto run = jit([&](Tensor indices) {
    const Scanned out = scan(
        [&](const Tensors& c, const Tensors& i) {
          total = total.read() + 1;
          line = Line::current().line() + 1;
          return Scanned{{c[0] + take(table, i[0], 0)}, {}};
        },
        {Tensor(0.f)}, {indices});
    count = count.read() + 1;
    return out.carry[0];
  });
  EXPECT_EQ(run(tensor({std::int64_t{1}, std::int64_t{2}, std::int64_t{4}})).item(), 7);
  std::string what;
  try {
    run(tensor({std::int64_t{1}, std::int64_t{9}, std::int64_t{4}})).item();
  } catch (const Error& error) { what = error.what(); }
  EXPECT_NE(what.find("take"), std::string::npos) << what;
  EXPECT_NE(what.find("9"), std::string::npos) << what;
  EXPECT_NE(what.find("loop_test.cpp:" + std::to_string(line)), std::string::npos) << what << line;
  EXPECT_EQ(total.read().item(), 3);
  EXPECT_EQ(count.read().item<std::int64_t>(), 1);
  EXPECT_EQ(run(tensor({std::int64_t{0}, std::int64_t{1}, std::int64_t{1}})).item(), 2);
  EXPECT_EQ(total.read().item(), 6);
}

TEST(Scan, ALookInTheBodyIsRefused) {
  const auto look = [](const Tensors& c, const Tensors&) {
    c[0].item();
    return Scanned{c, {}};
  };
  try {
    scan(look, {Tensor(1.f)}, {}, {.length = 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("still being traced by the body of the scan at"), std::string::npos) << error.what();
  }
  EXPECT_EQ((Tensor(1.f) + 1).item(), 2);  // the body's trace is over
  EXPECT_THROW(scan([](const Tensors& c, const Tensors&) { return Scanned{{c[0] + Variable(Tensor(1.f)).read()}, {}}; }, {Tensor(1.f)}, {},
                    {.length = 2}),
               Error);
}

TEST(Scan, WhatIsCarriedIsNotRoundedToHalf) {
  const PrecisionScope half(Precision::bf16);
  const Tensor w = full({4, 4}, 0.f), start = zeros({2, 4});
  auto run = jit([&](Tensor c) {
    return scan([&](const Tensors& in, const Tensors&) { return Scanned{{in[0] + 0.0004 + matmul(tanh(in[0]), w)}, {}}; }, {c}, {},
                {.length = 512})
        .carry[0];
  });
  expect_equal(run(start), full({2, 4}, 0.2048f), 0.002);
}

TEST(Scan, APlanDoesNotGrowWithTheNumberOfSteps) {
  if (default_device().traits().launches_are_dear) GTEST_SKIP() << "this device writes all steps out";
  const Tensor w = normal({8, 8}) * 0.3;
  const auto steps = [&](std::int64_t length) {
    auto run = jit([&](Tensor xs) {
      const Scanned out = scan(
          [&](const Tensors& c, const Tensors& x) {
            const Tensor h = tanh(matmul(c[0], w) + x[0]);
            return Scanned{{h}, {h}};
          },
          {zeros({2, 8})}, {xs});
      return grad(mean(square(out.ys[0])), xs);
    });
    run(ones({length, 2, 8}));
    const std::string plan = run.print_plan();
    return std::count(plan.begin(), plan.end(), '\n');
  };
  EXPECT_EQ(steps(8), steps(512));
}

TEST(Scan, EvaluatesItselfInAnyOrderOfLooks) {
  const Tensor x = normal({6, 4});
  eval(x);
  const auto body = [](const Tensors& c, const Tensors& in) { return Scanned{{tanh(c[0] + in[0])}, {c[0] * 2}}; };
  const Scanned out = scan(body, {zeros({4})}, {x});
  const auto ys = out.ys[0].to_host();
  const auto last = out.carry[0].to_host();
  const Tensor after = grad(sum(out.carry[0]) + sum(out.ys[0]), x);  // behind the looks
  const Scanned again = scan(body, {zeros({4})}, {x});
  const Tensor before = grad(sum(again.carry[0]) + sum(again.ys[0]), x);
  expect_equal(after, before, 1e-6);
  EXPECT_EQ(again.carry[0].to_host(), last);
  EXPECT_EQ(again.ys[0].to_host(), ys);
}

TEST(Scan, ABodyThatIsAnotherTheSecondTimeIsNamed) {
  bool other = false;
  auto run = jit([&](Tensor x) {
    return scan([&](const Tensors& c, const Tensors& in) { return Scanned{{other ? cos(c[0]) + in[0] : sin(c[0]) + in[0]}, {}}; },
                {Tensor(0.f)}, {x})
        .carry[0];
  });
  run(ones({3}));
  other = true;
  try {
    run(ones({3}));
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("in a loop sin at "), std::string::npos) << what;
    EXPECT_NE(what.find("then cos at "), std::string::npos) << what;
  }
}

class Chunks : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Scan, Chunks, testing::Values(0, 1, 2, 3, 4, 15, 16, 17, 24));

TEST_P(Chunks, AreTheSameLoop) {
  const std::int64_t length = GetParam();
  const Cell cell;
  const Tensor xs = normal({length, 2, 3}), start = normal({2, 4});
  eval(cell.w, cell.u, xs, start);
  for (const bool reverse : {false, true}) {
    const auto results = [&](bool chunks) {
      Generator generator(3);
      Variable count(Tensor(0.f));
      const auto body = [&](const Tensors& carry, const Tensors& x) {
        count += 1;
        const Tensor h = dropout(cell(carry[0], x[0]), 0.2, &generator);
        return Scanned{{h}, {h * 2, sum(x[0])}};
      };
      const ScanOptions options{.reverse = reverse};
      const Scanned out = chunks ? scan_in_chunks(body, {start}, {xs}, options) : scan(body, {start}, {xs}, options);
      const Tensor y = sum(out.carry[0] * out.carry[0]) + sum(sin(out.ys[0])) + sum(out.ys[1]);
      Tensors all{y, out.carry[0], out.ys[0], out.ys[1], grad(y, start)};
      if (length > 0)
        for (const Tensor& g : grad(y, {xs, cell.w, cell.u})) all.push_back(g);
      if (length > 0) all.push_back(count.read());
      return all;
    };
    const Tensors want = results(false), got = results(true);
    for (std::size_t k = 0; k < want.size(); ++k) expect_equal(got[k], want[k], 1e-4);
    auto in_jit = jit([&](Tensor x) {
      const Scanned out = scan_in_chunks(
          [&](const Tensors& c, const Tensors& in) {
            const Tensor h = cell(c[0], in[0]);
            return Scanned{{h}, {h}};
          },
          {start}, {x}, {.reverse = reverse});
      return Tensors{out.ys[0], grad(sum(out.carry[0]) + sum(out.ys[0]), start)};
    });
    const Scanned plain = scan(
        [&](const Tensors& c, const Tensors& in) {
          const Tensor h = cell(c[0], in[0]);
          return Scanned{{h}, {h}};
        },
        {start}, {xs}, {.reverse = reverse});
    const Tensors once = in_jit(xs);
    expect_equal(once[0], plain.ys[0], 1e-5);
    expect_equal(once[1], grad(sum(plain.carry[0]) + sum(plain.ys[0]), start), 1e-4);
  }
}

TEST(Scan, ChunksNeedTheMemoryOfFewSteps) {
  if (default_device().traits().launches_are_dear) GTEST_SKIP() << "this device writes all steps out";
  const Tensor w = normal({16, 16}) * 0.2, x = normal({256, 8, 16});
  eval(w, x);
  const auto mebibytes = [&](bool chunks) {
    auto gradient = jit([&](Tensor weight) {
      const auto body = [&](const Tensors& c, const Tensors& in) {
        Tensor h = c[0];
        for (int k = 0; k < 4; ++k) h = tanh(matmul(h, weight) + in[0]);
        return Scanned{{h}, {}};
      };
      const Scanned out = chunks ? scan_in_chunks(body, {zeros({8, 16})}, {x}) : scan(body, {zeros({8, 16})}, {x});
      return grad(sum(out.carry[0]), weight);
    });
    gradient(w);
    const std::string text = gradient.print_memory();  // "531.5 KiB at the peak: …"
    return std::stod(text) / (text.find("KiB") < text.find("MiB") ? 1024 : 1);
  };
  EXPECT_LT(mebibytes(true), 0.4 * mebibytes(false));
}

}  // namespace
}  // namespace tegula

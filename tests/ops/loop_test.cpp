// scan: a recurrence written once is the same recurrence written out.

#include "tegula/ops/loop.h"

#include <gtest/gtest.h>

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
  expect_equal(dx, out.ys[0]);  // of ones, a mask times 2 is its own gradient
}

}  // namespace
}  // namespace tegula

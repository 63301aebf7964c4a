// logsumexp, softmax, log_softmax and the losses of classes at the ends of their rows: -inf, +inf, NaN, numbers beside which others vanish.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tegula/tegula.h"

namespace tegula::row_ends {
namespace {

constexpr float kFloatInf = std::numeric_limits<float>::infinity(), kFloatNaN = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;

/// A row, the values of a function of it, and the gradient of their sum with the weights 1, 2, 3.
struct Row {
  Floats x, value, gradient;
};

void expect_equal(const Floats& got, const Floats& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << what << ", " << i << ": " << got[i];
    else if (std::isinf(want[i])) EXPECT_EQ(got[i], want[i]) << what << ", " << i;
    else EXPECT_NEAR(got[i], want[i], 2e-6 * std::max(1.f, std::abs(want[i]))) << what << ", " << i;
  }
}

/// In every mode, alone and as one of several rows.
void expect_rows(const std::string& name, const std::function<Tensor(const Tensor&)>& f, const std::vector<Row>& rows) {
  auto compiled = jit([&](Tensor x) {
    const Tensor y = f(x), weight = y.rank() == x.rank() ? 1.f + cast(iota(x.shape(), -1), f32) : ones({});
    return std::pair(y, grad(sum(y * weight), x));
  });
  for (const Row& row : rows) {
    std::string what = name + " of";
    for (const float x : row.x) what += " " + std::to_string(x);
    const Tensor x = tensor(row.x, {1, 3});
    const Tensor y = f(x), weight = y.rank() == x.rank() ? tensor({1.f, 2.f, 3.f}) : ones({});
    expect_equal(y.to_host(), row.value, what);
    expect_equal(grad(sum(y * weight), x).to_host(), row.gradient, what + ", gradient");
    for (int call = 0; call < 2; ++call) {
      const auto [value, gradient] = compiled(x);
      expect_equal(value.to_host(), row.value, what + " in a jit");
      expect_equal(gradient.to_host(), row.gradient, what + " in a jit, gradient");
    }
    const Tensor kept = checkpoint([&](const std::vector<Tensor>& in) { return f(in[0]); }, {x});
    expect_equal(grad(sum(kept * weight), x).to_host(), row.gradient, what + " in a checkpoint, gradient");
    const Tensor two = concat({x, tensor({1.f, 2.f, 3.f}, {1, 3})}, 0);
    expect_equal(slice(grad(sum(f(two) * weight), two), 0, {0, 1}).to_host(), row.gradient, what + " beside another row");
  }
}

TEST(RowEnds, OfLogSumExp) {
  expect_rows("logsumexp", [](const Tensor& x) { return logsumexp(x, -1); },
              {{{-kFloatInf, -kFloatInf, -kFloatInf}, {-kFloatInf}, {0, 0, 0}},
               {{kFloatInf, 0, 1000}, {kFloatInf}, {kFloatNaN, 0, 0}},
               {{kFloatInf, kFloatInf, -kFloatInf}, {kFloatInf}, {kFloatNaN, kFloatNaN, 0}},
               {{kFloatNaN, 0, 1}, {kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}},
               {{-1e9f, -1e9f, -1e9f}, {-1e9f}, {1 / 3.f, 1 / 3.f, 1 / 3.f}},
               {{-1e9f, 0, -kFloatInf}, {0}, {0, 1, 0}},
               {{3e38f, 3e38f, -3e38f}, {3e38f}, {0.5f, 0.5f, 0}},
               {{1e-38f, -1e-38f, 0}, {std::log(3.f)}, {1 / 3.f, 1 / 3.f, 1 / 3.f}}});
}

TEST(RowEnds, OfSoftmax) {
  expect_rows("softmax", [](const Tensor& x) { return softmax(x); },
              {{{-kFloatInf, -kFloatInf, -kFloatInf}, {kFloatNaN, kFloatNaN, kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}},
               {{kFloatInf, 0, 1000}, {kFloatNaN, kFloatNaN, kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}},
               {{kFloatNaN, 0, 1}, {kFloatNaN, kFloatNaN, kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}},
               {{-1e9f, -1e9f, -1e9f}, {1 / 3.f, 1 / 3.f, 1 / 3.f}, {-1 / 3.f, 0, 1 / 3.f}},
               {{-1e9f, 0, -kFloatInf}, {0, 1, 0}, {0, 0, 0}},
               {{3e38f, 3e38f, -3e38f}, {0.5f, 0.5f, 0}, {-0.25f, 0.25f, 0}}});
}

TEST(RowEnds, OfLogSoftmax) {
  const float third = -std::log(3.f), half = -std::log(2.f);
  expect_rows("log_softmax", [](const Tensor& x) { return log_softmax(x); },
              {{{-kFloatInf, -kFloatInf, -kFloatInf}, {kFloatNaN, kFloatNaN, kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}},
               {{kFloatNaN, 0, 1}, {kFloatNaN, kFloatNaN, kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}},
               {{-1e9f, -1e9f, -1e9f}, {third, third, third}, {-1, 0, 1}},
               {{-1e9f, 0, -kFloatInf}, {-1e9f, 0, -kFloatInf}, {1, -4, 3}},
               {{3e38f, 3e38f, -kFloatInf}, {half, half, -kFloatInf}, {-2, -1, 3}}});
}

TEST(RowEnds, OfCrossEntropy) {
  const auto of = [](std::int64_t label) {
    return [label](const Tensor& x) { return cross_entropy(x, label + zeros({x.size(0)}, i64), {.reduction = LossReduction::None}); };
  };
  expect_rows("cross_entropy at 1", of(1),
              {{{-1e9f, 0, -kFloatInf}, {0}, {0, 0, 0}},
               {{-1e9f, -1e9f, -1e9f}, {std::log(3.f)}, {1 / 3.f, -2 / 3.f, 1 / 3.f}},
               {{3e38f, 3e38f, -3e38f}, {std::log(2.f)}, {0.5f, -0.5f, 0}},
               {{-kFloatInf, -kFloatInf, 0}, {kFloatInf}, {0, -1, 1}},
               {{kFloatNaN, 0, 1}, {kFloatNaN}, {kFloatNaN, kFloatNaN, kFloatNaN}}});
  const Tensor share = tensor({0.f, 0.25f, 0.75f}, {1, 3});
  expect_rows("cross_entropy with a share of 0",
              [&](const Tensor& x) { return cross_entropy(x, expand(share, x.shape()), {.reduction = LossReduction::None}); },
              {{{-kFloatInf, 0, 0}, {std::log(2.f)}, {0, 0.25f, -0.25f}}, {{-1e9f, 0, 0}, {std::log(2.f)}, {0, 0.25f, -0.25f}}});
  // The derivative by a share of 0 follows the formula.
  const Tensor x = tensor({1.f, 1.f, 1.f}, {1, 3});
  expect_equal(grad(cross_entropy(x, share), share).to_host(), Floats(3, std::log(3.f)), "by the shares");
}

}  // namespace
}  // namespace tegula::row_ends

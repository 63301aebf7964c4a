// Elements that are not chosen give no gradient, whatever they hold (graph/autodiff/absorb.h): every declared elementwise op, behind `where`, through
// ops that may lie in between, plain and in a jit, at first and second order.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tegula/ops/case.h"
#include "tegula/tegula.h"
#include "tests/support/op_check.h"

namespace tegula::not_chosen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kFinite{0, 1, -1, 2, 0.5, -0.5, -2, 3, -3};
const std::vector<double> kAny{0, 1, -1, kInfinity, -kInfinity, kNaN, 2, -0.5, 1e30, -1e30, -3};

/// The ops between an op and the choice: a function of its result, and of a product's other operand.
struct Way {
  const char* name;
  std::function<Tensor(const Tensor& y)> through;
  bool finite = false;  // a product: its operands must be finite
  bool rows = true;  // needs an axis
};

Tensor weight_for(const Tensor& y) { return cos(cast(reshape(arange(y.size(-1) * 3), {y.size(-1), 3}), y.dtype())); }

std::vector<Way> ways() {
  return {
      {.name = "nothing", .through = [](const Tensor& y) { return y; }, .rows = false},
      {.name = "sum", .through = [](const Tensor& y) { return sum(y, -1); }},
      {.name = "mean", .through = [](const Tensor& y) { return mean(y, -1, Keep::Yes); }},
      {.name = "max", .through = [](const Tensor& y) { return max(y, -1); }},
      {.name = "norm", .through = [](const Tensor& y) { return norm(y, 2, -1); }},
      {.name = "softmax", .through = [](const Tensor& y) { return softmax(y); }},
      {.name = "layer_norm", .through = [](const Tensor& y) { return layer_norm(y, {y.size(-1)}); }},
      {.name = "chain", .through = [](const Tensor& y) { return sum(log(sum(square(sqrt(y)) * y, -1)), -1); }},
      {.name = "clamp", .through = [](const Tensor& y) { return sum(clamp(y, 7e3, 8e3), -1); }},
      {.name = "matmul", .through = [](const Tensor& y) { return matmul(y, weight_for(y)); }, .finite = true},
      {.name = "checkpoint",
       .through = [](const Tensor& y) { return checkpoint([](const std::vector<Tensor>& x) { return sum(x[0] * x[0], -1); }, {y}); }},
  };
}

/// The inputs of a case, all of whose differentiable elements hold what `values` has, in all pairs.
std::vector<Tensor> inputs_of(const OpCase& one, const std::vector<double>& values, DType dtype) {
  std::vector<Tensor> out;
  std::size_t stride = 1;
  for (const CaseInput& input : one.inputs) {
    std::vector<double> held(static_cast<std::size_t>(numel(input.shape)));
    const bool special = is_float(input.dtype.value_or(dtype));
    for (std::size_t e = 0; e < held.size(); ++e) held[e] = special ? values[e / stride % values.size()] : static_cast<double>(e % 2);
    if (special) stride *= values.size();
    out.push_back(cast(tensor(held, input.shape), input.dtype.value_or(dtype)));
    eval(out.back());
  }
  return out;
}

/// The gradients of Σ where(chosen, through(op(x)), 0), and those of their sum, at the inputs that have any.
std::vector<Tensor> gradients(const OpCase& one, const Way& way, const std::vector<Tensor>& x, const Tensor& chosen, bool shared) {
  const auto loss = [&] {
    const Tensor y = one.function(x), t = way.through(y);
    Tensor out = sum(where(chosen, t, 0.0));
    if (shared) out = out + sum(where(chosen, 3 * way.through(way.finite ? y : y * y), 0.0));
    return out;
  };
  std::vector<Tensor> wrt;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (is_float(x[k].dtype()) && one.inputs[k].differentiable) wrt.push_back(x[k]);
  }
  std::vector<Tensor> out = grad(loss(), wrt);
  if (!one.second) return out;
  Tensor total = zeros({}, out[0].dtype());
  for (const Tensor& g : out) total = total + sum(g * (g.rank() > 0 ? 1 + iota(g.shape(), -1) : ones({}, i64)));
  try {
    for (const Tensor& g : grad(total, wrt)) out.push_back(g);
  } catch (const Error& error) {  // linear ones
    if (std::string_view(error.what()).find("depends on none of") == std::string_view::npos) throw;
  }
  return out;
}

void expect_zeros(const std::vector<Tensor>& all, const std::string& what) {
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::vector<double> got = all[k].to_host<double>();
    const auto bad = std::find_if(got.begin(), got.end(), [](double g) { return g != 0; });
    EXPECT_EQ(bad, got.end()) << what << ", gradient " << k << ": " << *bad << " at " << bad - got.begin();
  }
}

class NotChosen : public testing::TestWithParam<OpCase> {};

TEST_P(NotChosen, GivesNoGradient) {
  const OpCase& one = GetParam();
  const bool scalar = one.inputs[0].shape.empty();
  for (const Way& way : ways()) {
    if (way.rows && scalar) continue;
    const std::vector<Tensor> x = inputs_of(one, way.finite ? kFinite : kAny, f32);
    const Tensor none = zeros({}, boolean);
    const std::string what = one.op + " through " + way.name;
    expect_zeros(gradients(one, way, x, none, false), what);
    expect_zeros(gradients(one, way, x, none, true), what + ", used twice");
    auto compiled = jit([&](const std::vector<Tensor>& in, Tensor chosen) { return gradients(one, way, in, chosen, true); });
    for (int call = 0; call < 2; ++call) expect_zeros(compiled(x, none), what + " in a jit");
  }
}

/// A row that is chosen has the gradients that it has alone, beside one that is not.
TEST_P(NotChosen, LeavesWhatIsChosenAsItIs) {
  const OpCase& one = GetParam();
  const auto fits = [&](const CaseInput& input) { return input.shape == Shape{7, 33} && !input.dtype; };
  OpCase rows = one;
  const std::vector<std::vector<Shape>>& more = one.more_shapes;
  if (!std::all_of(one.inputs.begin(), one.inputs.end(), fits)) {
    for (CaseInput& input : rows.inputs) input.shape = {7, 33};
    const auto same = [](const std::vector<Shape>& shapes) {
      return std::all_of(shapes.begin(), shapes.end(), [&](const Shape& shape) { return shape == shapes[0]; });
    };
    std::vector<Shape> own;
    for (const CaseInput& input : one.inputs) own.push_back(input.shape);
    if (!same(own) && std::none_of(more.begin(), more.end(), same)) GTEST_SKIP() << "operands of shapes of their own";
    if (std::any_of(one.inputs.begin(), one.inputs.end(), [](const CaseInput& input) { return input.dtype.has_value(); }))
      GTEST_SKIP() << "operands that are no numbers";
  }
  const Tensor chosen = iota({7}, 0) % 2 == 0, whole = expand(unsqueeze(chosen, 1), {7, 33});
  for (const Way& way : ways()) {
    const std::vector<Tensor> held = inputs_of(rows, way.finite ? kFinite : kAny, f64);
    std::vector<Tensor> good, mixed;
    Generator generator(5);
    for (std::size_t k = 0; k < held.size(); ++k) {
      good.push_back(uniform({7, 33}, rows.inputs[k].low, rows.inputs[k].high, {.dtype = f64, .generator = &generator}));
      mixed.push_back(where(whole, good[k], held[k]));
      eval(good[k], mixed[k]);
    }
    const Tensor y = way.through(one.function(good));
    if (y.shape() == Shape{} || y.size(0) != 7) continue;
    const Tensor here = y.rank() > 1 ? unsqueeze(chosen, 1) : chosen;
    const auto want = gradients(one, way, good, here, false), got = gradients(one, way, mixed, here, false);
    for (std::size_t g = 0; g < want.size(); ++g) {
      const auto a = want[g].to_host<double>(), b = got[g].to_host<double>();
      for (std::size_t e = 0; e < a.size(); ++e) {
        const double right = e / 33 % 2 == 0 ? a[e] : 0;
        if (std::isnan(right)) continue;  // out of the way's own domain
        EXPECT_NEAR(b[e], right, 1e-9 * std::max(1.0, std::abs(right)))
            << one.op << " through " << way.name << ", gradient " << g << ", " << e;
      }
    }
  }
}

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> out;
  for (const auto& family : {arithmetic_cases(), math_cases(), logic_cases(), activation_cases()}) {
    for (const OpCase& one : family) {
      if (one.gradient) out.push_back(one);
    }
  }
  return out;
}

std::string name_of(const testing::TestParamInfo<OpCase>& info) {
  std::string name = info.param.op + "_" + std::to_string(info.index);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Elementwise, NotChosen, testing::ValuesIn(elementwise_cases()), name_of);

using Doubles = std::vector<double>;
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();

TEST(Choices, OfARowThatTheLossIgnores) {
  const Tensor scores = tensor({1.f, 2.f, 3.f, NAN, INFINITY, 0.f, -1.f, 0.f, 1.f}, {3, 3}), labels = tensor<std::int64_t>({1, 7, 0});
  const CrossEntropyOptions plain{.ignore_index = 7}, smooth{.ignore_index = 7, .label_smoothing = 0.1};
  const Tensor rest = tensor({1.f, 2.f, 3.f, -1.f, 0.f, 1.f}, {2, 3}), rest_labels = tensor<std::int64_t>({1, 0});
  const auto row = [](const Tensor& g, std::int64_t r) { return select(g, 0, r).to_host<double>(); };
  for (const CrossEntropyOptions& options : {plain, smooth}) {
    CrossEntropyOptions alone = options;
    alone.ignore_index = {};
    const Tensor got = grad(cross_entropy(scores, labels, options), scores), want = grad(cross_entropy(rest, rest_labels, alone), rest);
    auto compiled = jit([&](Tensor s, Tensor l) { return grad(cross_entropy(s, l, options), s); });
    for (const Tensor& g : {got, compiled(scores, labels)}) {
      EXPECT_EQ(row(g, 0), row(want, 0));
      EXPECT_EQ(row(g, 1), (Doubles{0, 0, 0}));
      EXPECT_EQ(row(g, 2), row(want, 1));
    }
  }
  const Tensor logs = grad(nll_loss(log_softmax(scores), labels, {.ignore_index = 7}), scores);
  EXPECT_EQ(row(logs, 1), (Doubles{0, 0, 0}));
  const Tensor x = tensor({1.f, 2.f, NAN, NAN, 0.5f, -1.f}, {3, 2}), w = tensor({0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f}, {3, 2});
  const auto dxw = grad(linear_cross_entropy(x, w, labels, {.ignore_index = 7}), {x, w});
  EXPECT_EQ(row(dxw[0], 1), (Doubles{0, 0}));
  for (const double g : dxw[1].to_host<double>()) EXPECT_TRUE(std::isfinite(g));
}

TEST(Choices, OfAMaskedSoftmaxAndOfSteps) {
  const Tensor scores = tensor({1.f, NAN, 2.f, 3.f}, {2, 2}), mask = tensor({true, false, true, true}, {2, 2});
  const Doubles g = grad(sum(square(masked_softmax(square(sqrt(scores)), {.mask = mask}))), scores).to_host<double>();
  EXPECT_EQ(g[1], 0);
  for (const double one : g) EXPECT_TRUE(std::isfinite(one));
  // A step that is left out of a recurrence.
  const Tensor inputs = tensor({1.0, kNaN, 4.0, 0.0}), seen = tensor({true, false, true, false}), start = ones({}, f64);
  const auto last = [](const Tensor& start, const Tensor& inputs, const Tensor& seen) {
    return scan([](const std::vector<Tensor>& h,
                   const std::vector<Tensor>& x) { return Scanned{{where(x[1], h[0] + sqrt(x[0]), h[0])}, {}}; },
                {start}, {inputs, seen})
        .carry[0];
  };
  EXPECT_EQ(grad(last(start, inputs, seen), inputs).to_host<double>(), (Doubles{0.5, 0, 0.25, 0}));
  auto compiled = jit([&](Tensor s, Tensor i, Tensor m) { return grad(last(s, i, m), i); });
  EXPECT_EQ(compiled(start, inputs, seen).to_host<double>(), (Doubles{0.5, 0, 0.25, 0}));
}

TEST(Choices, KeepTheDerivativesOfZerosThatAreChosen) {
  // The first derivative is 0 at x = 0 though all is chosen; the second is 2.
  const Tensor x = tensor({0.0, 0.0}), chosen = tensor({true, false});
  const Tensor first = grad(sum(square(sum(reshape(where(chosen, exp(x), 0.0), {2, 1}), 1) - cast(chosen, f64))), x);
  EXPECT_EQ(first.to_host<double>(), (Doubles{0, 0}));
  EXPECT_EQ(grad(sum(first), x).to_host<double>(), (Doubles{2, 0}));
}

TEST(Choices, HoldInEveryMode) {
  const Tensor x = tensor({0.f, kNanF, 4.f, 16.f, -1.f, INFINITY, 1.f, 9.f}, {4, 2}), chosen = tensor({false, true, false, true});
  const auto both = [](const Tensor& x, const Tensor& chosen) {
    const Tensor roots = sqrt(x), rows = sum(roots * x + log(x), 1);
    const Tensor first = grad(sum(where(chosen, norm(stack({rows, rows * rows}, 1), 2, 1), 0.0)), x);
    return stack({first, grad(sum(first * first), x)});
  };
  const std::vector<float> want = both(x, chosen).to_host();
  for (std::size_t e = 0; e < want.size(); ++e) {
    if (e / 2 % 2 == 0) EXPECT_EQ(want[e], 0) << e;
    else EXPECT_TRUE(std::isfinite(want[e]) && want[e] != 0) << e;
  }
  const auto expect = [&](const Tensor& got, const char* mode) {
    const std::vector<float> values = got.to_host();
    for (std::size_t e = 0; e < want.size(); ++e) EXPECT_NEAR(values[e], want[e], 1e-5 * std::abs(want[e])) << mode << ", " << e;
  };
  set_eager(true);
  const Tensor eager = both(x, chosen);
  set_eager(false);
  expect(eager, "eager");
  auto compiled = jit([&](Tensor x, Tensor chosen) { return both(x, chosen); });
  for (int call = 0; call < 3; ++call) expect(compiled(x, chosen), "jit");
  Variable kept(zeros(Shape{2, 4, 2}));
  auto step = jit([&](Tensor x, Tensor chosen) { kept = both(x, chosen); });
  step.repeat(3, x, chosen);
  expect(kept.read(), "repeat");
  const Tensor again = checkpoint([&](const std::vector<Tensor>& in) { return sum(sqrt(in[0]) * in[0], 1); }, {x});
  const std::vector<float> rows = grad(sum(where(chosen, again, 0.0)), x).to_host();
  for (std::size_t e = 0; e < rows.size(); ++e) EXPECT_EQ(rows[e], e / 2 % 2 == 0 ? 0 : 1.5f * std::sqrt(x.to_host()[e])) << e;
}

TEST(Choices, KeepNaNThatIsChosen) {
  const Tensor x = tensor({kNaN, 4.0}, {2, 1});
  const Doubles g = grad(sum(where(tensor({true, true}), sum(x * x, 1), 0.0)), x).to_host<double>();
  EXPECT_TRUE(std::isnan(g[0]));
  EXPECT_EQ(g[1], 8);
}

// The limits, as docs/differences.md says them.
TEST(Choices, DoNotReachTheOtherOperandOfAProduct) {
  const Tensor x = tensor({kNaN, 1.0, 2.0, 3.0}, {2, 2}), w = tensor({1.0, 2.0}, {2, 1}), chosen = tensor({false, true}, {2, 1});
  const auto g = grad(sum(where(chosen, matmul(x, w), 0.0)), {x, w});
  EXPECT_EQ(g[0].to_host<double>(), (Doubles{0, 0, 1, 2}));
  EXPECT_TRUE(std::isnan(g[1].to_host<double>()[0]));
  const auto masked = grad(sum(where(chosen, matmul(where(chosen, x, 0.0), w), 0.0)), {x, w});
  EXPECT_EQ(masked[1].to_host<double>(), (Doubles{2, 3}));
}

TEST(Choices, LeaveAZeroFactorAlone) {
  const Tensor x = tensor({0.0, 4.0});
  const Doubles g = grad(sum(sqrt(x) * tensor({0.0, 1.0})), x).to_host<double>();  // no choice: 0 * inf
  EXPECT_TRUE(std::isnan(g[0]));
  EXPECT_EQ(g[1], 0.25);
  EXPECT_TRUE(std::isnan(grad(select(log(x), 0, 1), x).to_host<double>()[0]));  // nor is a slice
}

TEST(Choices, OfActivationsAbsorbInfiniteDerivatives) {
  const Tensor x = tensor({0.0, std::exp(1.0)});
  const auto all = {relu(log(x)), hardtanh(log(x), 0, 6), threshold(log(x), 0, 0)};
  for (const Tensor& y : all) EXPECT_EQ(grad(sum(y), x).to_host<double>(), (Doubles{0, 1 / std::exp(1.0)}));
}

}  // namespace
}  // namespace tegula::not_chosen

#include "tegula/ops/elementwise/activation.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/elementwise.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula {
namespace formula {

struct Relu {
  static constexpr OpInfo info{"relu", "max(x, 0)", Operands::Numbers};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static auto forward(Numeric auto x) { return known::relu(x); }
  template <Numeric T>
  static auto pullback(T, T y, T dy) {  // by y, so that x need not be kept
    return where(y <= 0.0, 0.0, dy);
  }
};

struct LeakyRelu {
  static constexpr OpInfo info{"leaky_relu", "x, or slope * x below 0"};
  template <Numeric T>
  static auto forward(T x, T slope) {
    return where(x > 0.0, x, slope * x);
  }
};

struct Elu {
  static constexpr OpInfo info{"elu", "x, or alpha * (exp(x) - 1) below 0"};
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T alpha) {
    return where(x > 0.0, x, alpha * expm1(x));
  }
};

struct Selu {
  static constexpr OpInfo info{"selu", "elu scaled to keep mean 0 and variance 1"};
  static constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  static auto forward(Numeric auto x) { return kScale * where(x > 0.0, x, kAlpha * expm1(x)); }
};

struct Celu {
  static constexpr OpInfo info{"celu", "x, or alpha * (exp(x / alpha) - 1) below 0"};
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T alpha) {
    return where(x > 0.0, x, alpha * expm1(x / alpha));
  }
};

struct Gelu {
  static constexpr OpInfo info{"gelu", "x * Phi(x), the Gaussian error linear unit"};
  static auto forward(Numeric auto x) { return known::gelu(x); }
};

struct GeluTanh {
  static constexpr OpInfo info{"gelu_tanh", "0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³)))"};
  static auto forward(Numeric auto x) { return known::gelu_tanh(x); }
  template <Numeric T>
  static auto derivative(T x, T) {
    return known::gelu_tanh_slope(x);
  }
};

struct Softplus {
  static constexpr OpInfo info{"softplus", "log(1 + exp(beta * x)) / beta", Operands::Floats, Numerics::Full};
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T beta, T threshold) {
    return where(beta * x > threshold, x, softplus(T(beta * x)) / beta);
  }
  template <Numeric T>
  static auto derivative(Input<0>, T x, T beta, T threshold, T) {
    return where(beta * x > threshold, 1.0, sigmoid(beta * x));
  }
};

struct Softsign {
  static constexpr OpInfo info{"softsign", "x / (1 + |x|)"};
  static auto forward(Numeric auto x) { return x / (1.0 + abs(x)); }
};

struct Silu {
  static constexpr OpInfo info{"silu", "x * sigmoid(x)"};
  static auto forward(Numeric auto x) { return x * sigmoid(x); }
};

struct Mish {
  static constexpr OpInfo info{"mish", "x * tanh(softplus(x))"};
  static auto forward(Numeric auto x) { return x * tanh(softplus(x)); }
};

struct LogSigmoid {
  static constexpr OpInfo info{"log_sigmoid", "log(sigmoid(x))", Operands::Floats, Numerics::Full};
  template <Numeric T>
  static auto forward(T x) {
    return -softplus(T(-x));
  }
};

struct Tanhshrink {
  static constexpr OpInfo info{"tanhshrink", "x - tanh(x)"};
  static auto forward(Numeric auto x) { return x - tanh(x); }
};

struct Hardtanh {
  static constexpr OpInfo info{"hardtanh", "x limited to [low, high]"};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T low, T high) {  // two words, which calls have as limits
    return minimum(T(maximum(x, low)), high);
  }
  template <Numeric T>
  static auto pullback(T x, T low, T high, T, T dy) {
    return where(x <= low || x >= high, 0.0, dy);
  }
};

struct Hardsigmoid {
  static constexpr OpInfo info{"hardsigmoid", "relu6(x + 3) / 6"};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static auto forward(Numeric auto x) { return where(x <= -3.0, 0.0, where(x >= 3.0, 1.0, (x + 3.0) / 6.0)); }
};

struct Hardswish {
  static constexpr OpInfo info{"hardswish", "x * relu6(x + 3) / 6"};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static auto forward(Numeric auto x) { return where(x <= -3.0, 0.0, where(x >= 3.0, x, x * (x + 3.0) / 6.0)); }
};

struct Hardshrink {
  static constexpr OpInfo info{"hardshrink", "0 where |x| <= lambda, else x"};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T lambda) {
    return where(abs(x) <= lambda, 0.0, x);
  }
};

struct Softshrink {
  static constexpr OpInfo info{"softshrink", "x moved toward 0 by lambda"};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T lambda) {
    return where(abs(x) <= lambda, 0.0, where(x > 0.0, x - lambda, x + lambda));
  }
};

struct Threshold {
  static constexpr OpInfo info{"threshold", "x where it is above the bound, else value"};
  static constexpr auto zeros = Zeros::AbsorbPoles;
  static constexpr int inputs = 1;
  template <Numeric T>
  static auto forward(T x, T bound, T value) {
    return where(x <= bound, value, x);
  }
};

}  // namespace formula

Tensor relu(Arg x) { return elementwise<formula::Relu>(x); }
Tensor relu6(Arg x) { return hardtanh(x, 0, 6); }
Tensor leaky_relu(Arg x, double slope) { return elementwise<formula::LeakyRelu>(x, slope); }

Tensor prelu(Arg x, Arg slope) {
  const Tensor input = x.tensor("prelu"), weight = slope.tensor("prelu");
  if (slope.is_number() || weight.numel() == 1)
    return elementwise<formula::LeakyRelu>(x, slope.is_number() ? slope : Arg(graph::reshape(weight, {}, x.loc), x.loc));
  const std::int64_t channels = input.rank() > 1 ? input.shape()[1] : 1;
  if (weight.rank() != 1 || weight.numel() != channels) {
    throw Error({.op = "prelu",
                 .got = "a slope of shape " + to_string(weight.shape()) + " for an input of shape " + to_string(input.shape()),
                 .expected = "one slope, or one for each of the " + std::to_string(channels) + " channels (axis 1)",
                 .where = origin_at(x.loc).where});
  }
  Shape shape = Dims::filled(input.rank() - 1, 1);
  shape[0] = channels;
  return elementwise<formula::LeakyRelu>(x, Arg(graph::reshape(weight, shape, x.loc), x.loc));
}

Tensor elu(Arg x, double alpha) { return elementwise<formula::Elu>(x, alpha); }
Tensor selu(Arg x) { return elementwise<formula::Selu>(x); }
Tensor celu(Arg x, double alpha) { return elementwise<formula::Celu>(x, alpha); }
Tensor gelu(Arg x, Approximate approximate) {
  return approximate == Approximate::Tanh ? elementwise<formula::GeluTanh>(x) : elementwise<formula::Gelu>(x);
}
Tensor softplus(Arg x, double beta, double threshold) { return elementwise<formula::Softplus>(x, beta, threshold); }
Tensor softsign(Arg x) { return elementwise<formula::Softsign>(x); }
Tensor swish(Arg x) { return silu(x); }
Tensor silu(Arg x) { return elementwise<formula::Silu>(x); }
Tensor mish(Arg x) { return elementwise<formula::Mish>(x); }
Tensor log_sigmoid(Arg x) { return elementwise<formula::LogSigmoid>(x); }
Tensor tanhshrink(Arg x) { return elementwise<formula::Tanhshrink>(x); }
Tensor hardtanh(Arg x, double low, double high) { return elementwise<formula::Hardtanh>(x, low, high); }
Tensor hardsigmoid(Arg x) { return elementwise<formula::Hardsigmoid>(x); }
Tensor hardswish(Arg x) { return elementwise<formula::Hardswish>(x); }
Tensor hardshrink(Arg x, double lambda) { return elementwise<formula::Hardshrink>(x, lambda); }
Tensor softshrink(Arg x, double lambda) { return elementwise<formula::Softshrink>(x, lambda); }
Tensor threshold(Arg x, double bound, double value) { return elementwise<formula::Threshold>(x, bound, value); }

Tensor maxout(Arg x, int groups, int axis) {
  const Tensor input = x.tensor("maxout");
  const auto at = normalize_axis(axis, input.rank());
  if (!at || groups < 1 || input.shape()[*at] % groups != 0) {
    throw Error({.op = "maxout",
                 .got = "shape " + to_string(input.shape()) + ", axis " + std::to_string(axis) + ", groups of " + std::to_string(groups),
                 .expected = "an axis whose size is a multiple of the group's",
                 .where = origin_at(x.loc).where});
  }
  const In frame("maxout", x.loc);
  Shape shape = input.shape();  // (…, channels / groups, groups, …)
  shape[*at] /= groups;
  shape.insert(*at + 1, groups);
  return max(graph::reshape(input, shape, x.loc), Dims{*at + 1});
}

std::vector<OpCase> activation_cases() {
  std::vector<OpCase> cases{
      unary_case("relu", relu, -4, 4, {0}),
      unary_case("relu6", relu6, -4, 9, {0, 6}),
      unary_case("leaky_relu", [](Arg x) { return leaky_relu(x, 0.1); }, -4, 4, {0}),
      unary_case("elu", [](Arg x) { return elu(x, 0.7); }, -4, 4, {0}),
      unary_case("selu", selu, -4, 4, {0}),
      unary_case("celu", [](Arg x) { return celu(x, 2); }, -4, 4, {0}),
      unary_case(
          "gelu", [](Arg x) { return gelu(x); }, -4, 4),
      unary_case(
          "gelu_tanh", [](Arg x) { return gelu(x, Approximate::Tanh); }, -4, 4),
      unary_case("softplus", [](Arg x) { return softplus(x, 2, 6); }, -4, 4, {3}),
      unary_case("softsign", softsign, -4, 4),
      unary_case("silu", silu, -5, 5),
      unary_case("mish", mish, -5, 5),
      unary_case("log_sigmoid", log_sigmoid, -6, 6),
      unary_case("tanhshrink", tanhshrink, -3, 3),
      unary_case("hardtanh", [](Arg x) { return hardtanh(x); }, -3, 3, {-1, 1}),
      unary_case("hardsigmoid", hardsigmoid, -5, 5, {-3, 3}),
      unary_case("hardswish", hardswish, -5, 5, {-3, 3}),
      unary_case("hardshrink", [](Arg x) { return hardshrink(x); }, -2, 2, {-0.5, 0.5}),
      unary_case("softshrink", [](Arg x) { return softshrink(x); }, -2, 2, {-0.5, 0.5}),
      unary_case("threshold", [](Arg x) { return threshold(x, 0.1, 20); }, -2, 2, {0.1}),
  };
  for (OpCase& one : cases) one.jumps = one.op == "hardshrink" || one.op == "threshold";
  cases.push_back({.op = "prelu",
                   .function = [](const auto& x) { return prelu(x[0], x[1]); },
                   .inputs = {{{3, 5, 4}, -4, 4, {}, true, {0}}, {{5}, 0, 1}},
                   .more_shapes = {{{33}, {1}}, {{7, 3}, {3}}, {{0, 3}, {3}}}});
  cases.push_back({.op = "maxout",
                   .function = [](const auto& x) { return maxout(x[0], 3); },
                   .inputs = {{{5, 12, 2}, -4, 4}},
                   .more_shapes = {{{33, 3}}}});
  return cases;
}

void add_activation_ops(OpTable& table) {
  add_formulas<formula::Relu, formula::LeakyRelu, formula::Elu, formula::Selu, formula::Celu, formula::Gelu, formula::GeluTanh,
               formula::Softplus, formula::Softsign, formula::Silu, formula::Mish, formula::LogSigmoid, formula::Tanhshrink,
               formula::Hardtanh, formula::Hardsigmoid, formula::Hardswish, formula::Hardshrink, formula::Softshrink, formula::Threshold>(
      table);
}

}  // namespace tegula

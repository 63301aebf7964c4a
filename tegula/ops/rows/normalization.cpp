#include "tegula/ops/rows/normalization.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/frame.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

double count_over(const Shape& shape, const Dims& axes) {
  double n = 1;
  for (auto axis : axes) n *= static_cast<double>(shape[static_cast<int>(axis)]);
  return n;
}

/// Values that a normalisation and its gradient have in common: the same nodes, so that computations on them are shared.
///
/// Squares are taken of multiples by `scale`, a power of two, so that sums of 1e5 squares of 1e30 fit into f32: "scaled" means times scale, or times scale² for a
/// variance. A value that underflows then is negligible beside an eps of 1e-12 and more. With a smaller eps, and in f64, scale is 1.
struct Constants {
  Dims axes;
  double scale;
  Tensor factor, inverse, square;  // scale, 1 / scale and scale²
  Tensor share;  // 1 / how many values a mean is over
  Tensor zero;
  Tensor eps;  // scaled as a variance
  double epsilon;

  Constants(const Tensor& x, const Dims& over, double given_eps, const Line& where)
      : axes(over),
        scale(x.dtype() == f64 || given_eps < 1e-12 ? 1 : 0x1p-44),
        factor(graph::scalar(scale, x.dtype(), where)),
        inverse(graph::scalar(1 / scale, x.dtype(), where)),
        square(graph::scalar(scale * scale, x.dtype(), where)),
        share(graph::scalar(1 / count_over(x.shape(), over), x.dtype(), where)),
        zero(graph::scalar(0, x.dtype(), where)),
        eps(graph::scalar(given_eps * scale * scale, x.dtype(), where)),
        epsilon(given_eps) {}
  /// The options of a normalisation, for code that examines its node.
  NamedOptions options() const { return {{"axes", std::vector<std::int64_t>(axes.begin(), axes.end())}, {"eps", epsilon}}; }
  Tensor scaled(const Tensor& x) const { return scale == 1 ? x : x * factor; }
  Tensor unscaled(const Tensor& x) const { return scale == 1 ? x : x * inverse; }
  /// x - y, scaled, for as many operations as it has without.
  Tensor scaled_difference(const Tensor& x, const Tensor& y) const { return scale == 1 ? x - y : multiply_add(x, factor, -scaled(y)); }
  /// Over axes that stay with size 1.
  Tensor mean(const Tensor& x) const { return sum(x, axes, Keep::Yes) * share; }
  /// x², scaled, of an unscaled x: a product, which is rounded once with the sum that it is added to.
  Tensor squared(const Tensor& x) const { return (scale == 1 ? x : x * square) * x; }
  /// 1 / sqrt(variance + eps) of a scaled variance.
  Tensor reciprocal_root(const Tensor& variance) const { return scaled(rsqrt(variance + eps)); }
};

struct Moments {
  Tensor mean;
  Tensor variance;  // the biased one, scaled
  Tensor centered;  // x - mean
};

/// Moments along axes whose values a program instance holds: exact, in two passes over them.
Moments moments(const Tensor& x, const Constants& c) {
  const Tensor mean = c.mean(x), scaled = c.scaled_difference(x, mean);
  return {mean, c.mean(scaled * scaled), x - mean};
}

/// Moments of channels, whose values are spread over all of memory: one pass, sums of differences from the first value of each channel (Chan, Golub
/// and LeVeque, "Algorithms for computing the sample variance", 1983). The variance loses digits only if that value is many standard
/// deviations off the mean.
/// `origin` (1, C, 1, …) is that value. The summands depend on x and the origin alone, with no computation on the origin first, so everything is
/// one program.
Moments channel_moments(const Tensor& x, const Tensor& origin, const Constants& c) {
  const Tensor shifted = x - origin, offset = c.mean(shifted);
  const Tensor variance = c.mean(c.squared(shifted)) - c.squared(offset);
  const Tensor mean = origin + offset;
  return {mean, where(variance < c.zero, c.zero, variance), x - mean};
}

/// r = 1 / sqrt(variance + eps) of the moments of x, as a function of x: dr/dx = -r³ (x - mean) / n is made of r alone. Through the scaled variance it
/// would be made of the cube of r / scale, which is no number of f32 where all values are equal.
template <class MomentsOf>
Tensor inverse_deviation(const Tensor& x, const Constants& c, MomentsOf moments_of, const Line& where) {
  const auto forward = [=](const std::vector<Tensor>& in) { return c.reciprocal_root(moments_of(in[0]).variance); };
  const auto backward = [=](const std::vector<Tensor>& in, const Tensor& r, const Tensor& dr) {
    return std::vector<Tensor>{moments_of(in[0]).centered * (-r * (r * (r * (dr * c.share))))};
  };
  return custom_function("inverse_deviation", c.options(), forward, backward, {x}, where);
}

/// mean(dy * (x - mean(x))), of the scaled differences that the variance is made of. Its gradients are not scaled: of cotangents of 1e30 they would be no numbers.
Tensor mean_product(const Tensor& dy, const Tensor& x, const Constants& c, const Line& where) {
  const auto forward = [=](const std::vector<Tensor>& in) { return c.unscaled(c.mean(in[0] * c.scaled_difference(in[1], c.mean(in[1])))); };
  const auto backward = [=](const std::vector<Tensor>& in, const Tensor&, const Tensor& g) {
    const Tensor each = g * c.share;
    return std::vector<Tensor>{each * (in[1] - c.mean(in[1])), each * (in[0] - c.mean(in[0]))};
  };
  return custom_function("mean_product", c.options(), forward, backward, {dy, x}, where);
}

/// (x - mean) * rsqrt(variance + eps). The gradient is dx = r * (dy - mean(dy) - y * mean(dy*y)) with y = r * (x - mean). r goes in front of
/// the last mean: then what it is over does not wait for the variance, and both are one pass over the row. All of it is a function of x, so
/// that it differentiates again.
Tensor standardize(const Tensor& x, const Dims& axes, double eps, const Line& where) {
  if (x.numel() == 0) return graph::identity(x, where);
  const Constants c(x, axes, eps, where);
  const auto forward = [=](const std::vector<Tensor>& in) {
    const Moments m = moments(in[0], c);
    return m.centered * c.reciprocal_root(m.variance);
  };
  const auto backward = [=](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
    const Moments m = moments(in[0], c);
    const Tensor r = inverse_deviation(in[0], c, [=](const Tensor& t) { return moments(t, c); }, where);
    return std::vector<Tensor>{r * multiply_add(m.centered, -(r * (r * mean_product(dy, in[0], c, where))), dy - c.mean(dy))};
  };
  return custom_function("standardize", c.options(), forward, backward, {x}, where);
}

Tensor scaled_by_root_mean_square(const Tensor& x, const Dims& axes, double eps, const Line& where) {
  if (x.numel() == 0) return graph::identity(x, where);
  const Constants c(x, axes, eps, where);
  const auto about_zero = [=](const Tensor& t) { return Moments{c.zero, c.mean(c.squared(t)), t}; };
  const auto forward = [=](const std::vector<Tensor>& in) { return in[0] * c.reciprocal_root(about_zero(in[0]).variance); };
  const auto backward = [=](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
    const Tensor r = inverse_deviation(in[0], c, about_zero, where);
    return std::vector<Tensor>{r * multiply_add(in[0], -(r * (r * c.mean(dy * in[0]))), dy)};
  };
  return custom_function("root_mean_square", c.options(), forward, backward, {x}, where);
}

/// (x - mean) * rsqrt(variance + eps) * weight + bias over all axes but the channels; weight and bias (1, C, 1, …). The sums that the
/// gradients of weight and bias are give the gradient of x as well.
Tensor standardize_channels(const Tensor& x, const Tensor& origin, const Tensor& weight, const Tensor& bias, const Constants& c,
                            const Line& where) {
  const auto forward = [=](const std::vector<Tensor>& in) {
    const Moments m = channel_moments(in[0], origin, c);
    return multiply_add(m.centered, c.reciprocal_root(m.variance) * in[1], in[2]);
  };
  const auto backward = [=](const std::vector<Tensor>& in, const Tensor&, const Tensor& dy) {
    const Moments m = channel_moments(in[0], origin, c);
    const Tensor r = inverse_deviation(in[0], c, [=](const Tensor& t) { return channel_moments(t, origin, c); }, where);
    const Tensor standard = m.centered * r;
    const Tensor dbias = sum(dy, c.axes, Keep::Yes), dweight = sum(dy * standard, c.axes, Keep::Yes);
    return std::vector<Tensor>{r * in[1] * multiply_add(standard, -(dweight * c.share), dy - dbias * c.share), dweight, dbias};
  };
  return custom_function("standardize_channels", c.options(), forward, backward, {x, weight, bias}, where);
}

/// `parameter` (weight, bias, …) in the dtype of the computation. Throws unless it has this shape.
Tensor parameter(std::string_view op, std::string_view what, const Tensor& given, const Shape& shape, DType dtype, const Line& where) {
  if (given.shape() != shape) {
    throw Error({.op = std::string(op),
                 .got = "a " + std::string(what) + " of shape " + to_string(given.shape()),
                 .expected = "shape " + to_string(shape),
                 .where = origin_at(where).where});
  }
  return graph::cast(given, dtype, where);
}

/// y * weight + bias, of those that are given; `vector(what, given)` is one that broadcasts to y.
template <class Vector>
Tensor affine(const Tensor& y, const NormOptions& options, Vector&& vector) {
  if (!options.weight.defined()) return options.bias.defined() ? y + vector("bias", options.bias) : y;
  const Tensor weight = vector("weight", options.weight);
  return options.bias.defined() ? multiply_add(y, weight, vector("bias", options.bias)) : y * weight;
}

/// y * weight + bias, both (C) along axis 1.
Tensor affine_channels(std::string_view op, const Tensor& y, const NormOptions& options, const Line& where) {
  const Shape shape{y.shape()[1]};
  return affine(y, options, [&](std::string_view what, const Tensor& given) {
    return ops::along_channels(parameter(op, what, given, shape, y.dtype(), where), y.rank());
  });
}

void expect_eps(std::string_view op, double eps, const Line& where) {
  if (!(eps >= 0)) ops::refuse(op, "eps = " + number_text(eps), "a number of at least 0", where);
}

Tensor input_of(std::string_view op, const Arg& arg, int least_rank, std::string_view expected) {
  const Tensor x = ops::float_tensor(op, arg);
  if (x.rank() < least_rank) ops::refuse(op, "shape " + to_string(x.shape()), std::string(expected), arg.loc);
  return x;
}

Dims all_but_channels(int rank) {
  Dims axes{0};
  for (int i = 2; i < rank; ++i) axes.push_back(i);
  return axes;
}

Dims last_axes(std::string_view op, const Tensor& x, const Shape& shape, const Line& where) {
  bool fits = !shape.empty() && shape.rank() <= x.rank();
  Dims axes;
  for (int i = 0; fits && i < shape.rank(); ++i) {
    axes.push_back(x.rank() - shape.rank() + i);
    fits = x.shape()[static_cast<int>(axes.back())] == shape[i];
  }
  if (!fits) ops::refuse(op, "shape " + to_string(x.shape()), "one that ends in " + to_string(shape), where);
  return axes;
}

}  // namespace

BatchNormResult batch_norm_training(Arg arg, const NormOptions& options) {
  const In frame("batch_norm", arg.loc);
  expect_eps("batch_norm", options.eps, arg.loc);
  const Tensor given = input_of("batch_norm", arg, 2, "(batch, channels, spatial…)");
  const Tensor x = ops::widen(given);
  const Dims axes = all_but_channels(x.rank());
  const double n = count_over(x.shape(), axes);
  if (n < 2) ops::refuse("batch_norm", "shape " + to_string(x.shape()), "more than one value for each channel while training", arg.loc);
  const Constants constants(x, axes, options.eps, arg.loc);
  const Shape channels{x.shape()[1]};
  const auto vector = [&](std::string_view what, const Tensor& given_vector, double otherwise) {
    if (!given_vector.defined()) return graph::full(channels, otherwise, x.dtype(), arg.loc);
    return parameter("batch_norm", what, given_vector, channels, x.dtype(), arg.loc);
  };
  Shape lying = Dims::filled(x.rank(), 1);
  lying[1] = channels[0];
  const Tensor weight = graph::reshape(vector("weight", options.weight, 1), lying),
               bias = graph::reshape(vector("bias", options.bias, 0), lying);
  std::vector<Slice> first(static_cast<std::size_t>(x.rank()), Slice{0, 1});
  first[1] = Slice{};
  const Tensor origin = graph::stop_gradient(ops::widen(slice(given, first)));
  const Tensor y = standardize_channels(x, origin, weight, bias, constants, arg.loc);
  const Moments m = channel_moments(graph::stop_gradient(x), origin, constants);
  const double scale = constants.scale;
  return {ops::narrow(y, given.dtype()), graph::reshape(m.mean, channels),
          graph::reshape(m.variance, channels) * (n / (n - 1) / (scale * scale))};
}

Tensor batch_norm(Arg arg, Arg mean, Arg variance, const NormOptions& options) {
  const In frame("batch_norm", arg.loc);
  expect_eps("batch_norm", options.eps, arg.loc);
  const Tensor given = input_of("batch_norm", arg, 2, "(batch, channels, spatial…)");
  const Tensor x = ops::widen(given);
  const Shape channels{x.shape()[1]};
  const auto vector = [&](std::string_view what, const Tensor& t) {
    return parameter("batch_norm", what, t, channels, x.dtype(), arg.loc);
  };
  Tensor scale = rsqrt(vector("variance", variance.tensor("batch_norm")) + options.eps);  // (C)
  if (options.weight.defined()) scale = scale * vector("weight", options.weight);
  Tensor shift = -vector("mean", mean.tensor("batch_norm")) * scale;
  if (options.bias.defined()) shift = shift + vector("bias", options.bias);
  return ops::narrow(x * ops::along_channels(scale, x.rank()) + ops::along_channels(shift, x.rank()), given.dtype());
}

Tensor layer_norm(Arg arg, const Shape& normalized_shape, const NormOptions& options) {
  const In frame("layer_norm", arg.loc);
  expect_eps("layer_norm", options.eps, arg.loc);
  const Tensor given = ops::float_tensor("layer_norm", arg);
  const Dims axes = last_axes("layer_norm", given, normalized_shape, arg.loc);
  const Tensor y = standardize(ops::widen(given), axes, options.eps, arg.loc);
  const auto vector = [&](std::string_view what, const Tensor& t) {
    return parameter("layer_norm", what, t, normalized_shape, y.dtype(), arg.loc);
  };
  return ops::narrow(affine(y, options, vector), given.dtype());
}

Tensor rms_norm(Arg arg, const Shape& normalized_shape, const NormOptions& options) {
  const In frame("rms_norm", arg.loc);
  expect_eps("rms_norm", options.eps, arg.loc);
  const Tensor given = ops::float_tensor("rms_norm", arg);
  const Dims axes = last_axes("rms_norm", given, normalized_shape, arg.loc);
  if (options.bias.defined()) ops::refuse("rms_norm", "a bias", "none", arg.loc, "add it to the result");
  Tensor y = scaled_by_root_mean_square(ops::widen(given), axes, options.eps, arg.loc);
  if (options.weight.defined()) y = y * parameter("rms_norm", "weight", options.weight, normalized_shape, y.dtype(), arg.loc);
  return ops::narrow(y, given.dtype());
}

Tensor group_norm(Arg arg, std::int64_t groups, const NormOptions& options) {
  const In frame("group_norm", arg.loc);
  expect_eps("group_norm", options.eps, arg.loc);
  Tensor given = input_of("group_norm", arg, 2, "(batch, channels, …)");
  const std::int64_t channels = given.shape()[1];
  if (groups < 1 || channels % groups != 0) {
    ops::refuse("group_norm", std::to_string(groups) + " groups for shape " + to_string(given.shape()),
                "a number that divides the " + std::to_string(channels) + " channels", arg.loc);
  }
  if (given.numel() == 0) return graph::identity(given, arg.loc);
  const Shape grouped{given.shape()[0], groups, given.numel() / (given.shape()[0] * groups)};
  const Tensor y = standardize(graph::reshape(ops::widen(given), grouped), {2}, options.eps, arg.loc);
  return ops::narrow(affine_channels("group_norm", graph::reshape(y, given.shape()), options, arg.loc), given.dtype());
}

Tensor instance_norm(Arg arg, const NormOptions& options) {
  const In frame("instance_norm", arg.loc);
  expect_eps("instance_norm", options.eps, arg.loc);
  const Tensor given = input_of("instance_norm", arg, 3, "(batch, channels, spatial…)");
  Dims axes;
  for (int i = 2; i < given.rank(); ++i) axes.push_back(i);
  return ops::narrow(affine_channels("instance_norm", standardize(ops::widen(given), axes, options.eps, arg.loc), options, arg.loc),
                     given.dtype());
}

Tensor local_response_norm(Arg arg, const LocalResponseNormOptions& options) {
  const In frame("local_response_norm", arg.loc);
  Tensor given = input_of("local_response_norm", arg, 2, "(batch, channels, …)");
  if (options.size < 1) ops::refuse("local_response_norm", "size " + std::to_string(options.size), "at least 1", arg.loc);
  if (given.numel() == 0) return graph::identity(given, arg.loc);
  const Tensor x = ops::widen(given);
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[1] = {options.size / 2, (options.size - 1) / 2};
  const Tensor neighbours = windows(pad(x * x, widths), {1}, {options.size});  // (N, C, …, size)
  const Tensor sums = sum(neighbours, -1);
  return ops::narrow(x * pow(sums * (options.alpha / static_cast<double>(options.size)) + options.k, -options.beta), given.dtype());
}

Tensor l2_normalize(Arg arg, int axis, double eps) {
  const In frame("l2_normalize", arg.loc);
  expect_eps("l2_normalize", eps, arg.loc);
  const Tensor given = ops::float_tensor("l2_normalize", arg);
  axis = ops::axis_of("l2_normalize", axis, given.shape(), arg.loc);
  const Tensor x = ops::widen(given);
  return ops::narrow(x / clamp_min(norm(x, 2, axis, Keep::Yes), eps), given.dtype());
}

std::vector<OpCase> normalization_cases() {
  constexpr double kRows = 64;
  std::vector<OpCase> cases{
      {.op = "batch_norm_training",
       .function = [](const auto& x) { return batch_norm_training(x[0], {.weight = x[1], .bias = x[2]}).y; },
       .inputs = {{{4, 3, 5, 2}}, {{3}}, {{3}}},
       .more_shapes = {{{7, 4}, {4}, {4}}, {{3, 5, 4}, {5}, {5}}}},
      {.op = "batch_norm_mean",
       .function = [](const auto& x) { return batch_norm_training(x[0]).mean; },
       .inputs = {{{4, 3, 5}}},
       .gradient = false},
      {.op = "batch_norm_variance",
       .function = [](const auto& x) { return batch_norm_training(x[0]).variance; },
       .inputs = {{{4, 3, 5}}},
       .gradient = false},
      {.op = "batch_norm",
       .function = [](const auto& x) { return batch_norm(x[0], x[1], x[2], {.weight = x[3], .bias = x[4]}); },
       .inputs = {{{4, 3, 5, 2}}, {{3}}, {{3}, 0.2, 2}, {{3}}, {{3}}}},
      {.op = "layer_norm",
       .function = [](const auto& x) { return layer_norm(x[0], x[1].shape(), {.weight = x[1], .bias = x[2]}); },
       .inputs = {{{5, 33}}, {{33}}, {{33}}},
       .more_shapes = {{{2, 3, 4, 5}, {4, 5}, {4, 5}}, {{7}, {7}, {7}}, {{0, 3}, {3}, {3}}}},
      {.op = "rms_norm",
       .function = [](const auto& x) { return rms_norm(x[0], x[1].shape(), {.weight = x[1]}); },
       .inputs = {{{5, 33}}, {{33}}},
       .more_shapes = {{{2, 3, 4, 5}, {4, 5}}}},
      {.op = "group_norm",
       .function = [](const auto& x) { return group_norm(x[0], 2, {.weight = x[1], .bias = x[2]}); },
       .inputs = {{{3, 4, 5, 2}}, {{4}}, {{4}}}},
      {.op = "instance_norm",
       .function = [](const auto& x) { return instance_norm(x[0], {.weight = x[1], .bias = x[2]}); },
       .inputs = {{{3, 4, 5, 2}}, {{4}}, {{4}}}},
      {.op = "local_response_norm",
       .function = [](const auto& x) { return local_response_norm(x[0], {.size = 3, .alpha = 0.3, .k = 2}); },
       .inputs = {{{2, 6, 3}}}},
      {.op = "l2_normalize",
       .function = [](const auto& x) { return l2_normalize(x[0]); },
       .inputs = {{{5, 7}}},
       .more_shapes = {{{2, 3, 4}}}},
  };
  for (OpCase& one : cases) one.tolerance = kRows;
  return cases;
}

}  // namespace tegula

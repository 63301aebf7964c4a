#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tests/support/library.h"

namespace tegula::test {

using runtime::Convolution;
using runtime::ConvolutionPass;
using Source = runtime::Expression::Source;

Layout activations(const Shape& shape, Memory order, std::int64_t room) {
  Layout layout{shape, Dims::filled(shape.rank(), 1)};
  std::vector<int> axes;  // from the innermost
  if (order == Memory::ChannelsLast) axes.push_back(1);
  for (int axis = shape.rank() - 1; axis > 1; --axis) axes.push_back(axis);
  if (order != Memory::ChannelsLast) axes.push_back(1);
  axes.push_back(0);
  if (order == Memory::Reversed) std::reverse(axes.begin(), axes.end());
  std::int64_t step = 1;
  for (const int axis : axes) {
    layout.strides[axis] = step;
    step *= axis == 1 ? shape[axis] + room : shape[axis];
  }
  return layout;
}

namespace {

runtime::Expression epilogue_of(const ConvolutionOptions& o) {
  runtime::Expression rest = o.relu ? runtime::relu(o.dtype) : runtime::Expression();
  for (const tile::Word word : o.limits) {
    const int number = rest.read(runtime::Expression::Source::Number);
    rest.values.push_back({.word = word, .operands = {number - 1, number, -1}});
  }
  return runtime::expression_of({.channel = o.bias, .tensor = o.addend, .rest = rest});
}

}  // namespace

Convolution describe(const ConvolutionOptions& o, ConvolutionPass pass) {
  Shape x{o.n, o.c}, w{o.k, o.c / o.groups}, y{o.n, o.k};
  for (int i = 0; i < o.in.rank(); ++i) {
    x.push_back(o.in[i]), w.push_back(o.kernel[i]);
    const std::int64_t room = o.in[i] + o.low[i] + o.high[i] - o.dilation[i] * (o.kernel[i] - 1) - 1;
    y.push_back(room < 0 ? 0 : room / o.stride[i] + 1);
  }
  return {.pass = pass,
          .input = {o.dtype, activations(x, o.input, o.input_room)},
          .weight = {o.dtype, activations(w, o.weight)},
          .output = {o.dtype, activations(y, o.output, o.output_room)},
          .stride = o.stride,
          .dilation = o.dilation,
          .pad_low = o.low,
          .pad_high = o.high,
          .groups = o.groups,
          .bias_gradient = pass == ConvolutionPass::BackwardWeight && o.bias,
          .epilogue = pass == ConvolutionPass::Forward ? epilogue_of(o) : runtime::Expression(),
          .arithmetic = o.arithmetic};
}

namespace {

/// Calls visit(input index, weight index, output index) for every product of the convolution (the naive loops of the CNN lecture).
template <class F>
void for_each_product(const Convolution& d, F&& visit) {
  const int rank = d.input.layout.shape.rank();
  Dims y = Dims::filled(rank, 0);
  const std::int64_t outputs = numel(d.output.layout.shape),
                     taps = numel(d.weight.layout.shape) / std::max<std::int64_t>(1, d.weight.layout.shape[0]);
  for (std::int64_t i = 0; i < outputs; ++i) {
    std::int64_t rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) y[axis] = rest % d.output.layout.shape[axis], rest /= d.output.layout.shape[axis];
    Dims w = Dims::filled(rank, 0), x = w;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t left = tap;
      for (int axis = rank - 1; axis >= 1; --axis) w[axis] = left % d.weight.layout.shape[axis], left /= d.weight.layout.shape[axis];
      w[0] = y[1];
      x[0] = y[0];
      x[1] = y[1] / (d.output.layout.shape[1] / d.groups) * d.weight.layout.shape[1] + w[1];
      bool inside = true;
      for (int axis = 2; axis < rank; ++axis) {
        x[axis] = y[axis] * d.stride[axis - 2] + w[axis] * d.dilation[axis - 2] - d.pad_low[axis - 2];
        inside = inside && x[axis] >= 0 && x[axis] < d.input.layout.shape[axis];
      }
      if (inside) visit(x, w, y);
    }
  }
}

std::string text(const Convolution& d) {
  return to_string(d.input.layout.shape) + to_string(d.input.layout.strides) + " * " + to_string(d.weight.layout.shape) + " -> " +
         to_string(d.output.layout.strides) + " stride " + to_string(d.stride) + " dilation " + to_string(d.dilation) + " pad " +
         to_string(d.pad_low) + to_string(d.pad_high) + " groups " + std::to_string(d.groups) + " bias gradient " +
         std::to_string(d.bias_gradient) + " epilogue" + runtime::to_string(d.epilogue) + " blocks " + to_string(d.weight.blocks.sizes);
}

/// The results in f64, in row-major order of the result's shape.
std::vector<double> reference(const Convolution& d, const Tensor& x, const Tensor& w, const Tensor& y, const Tensor& bias) {
  const Shape shape = d.pass == ConvolutionPass::Forward        ? d.output.layout.shape
                      : d.pass == ConvolutionPass::BackwardData ? d.input.layout.shape
                                                                : d.weight.layout.shape;
  const Strides dense = dense_strides(shape);
  const auto at = [&](const Dims& index) {
    std::int64_t offset = 0;
    for (int i = 0; i < index.rank(); ++i) offset += index[i] * dense[i];
    return static_cast<std::size_t>(offset);
  };
  std::vector<double> result(static_cast<std::size_t>(numel(shape)), 0.0);
  for_each_product(d, [&](const Dims& i, const Dims& j, const Dims& o) {
    if (d.pass == ConvolutionPass::Forward) result[at(o)] += x(i) * w(j);
    else if (d.pass == ConvolutionPass::BackwardData) result[at(i)] += y(o) * w(j);
    else result[at(j)] += x(i) * y(o);
  });
  if (d.pass == ConvolutionPass::Forward) {
    y.for_each([&](const Dims& o) {
      double& value = result[at(o)];
      std::vector<double> reads;
      std::size_t numbers = 0;
      for (const auto source : d.epilogue.reads())
        reads.push_back(source == Source::Channel ? bias({o[1]}) : source == Source::Tensor ? y(o) : limit(numbers++));
      value = evaluate(d.epilogue, value, reads);
    });
  }
  return result;
}

}  // namespace

void expect_convolution(runtime::Device& device, const Convolution& d, const std::vector<std::unique_ptr<runtime::Call>>& calls,
                        int threads) {
  Tensor x(d.dtype(), d.input.layout), w(d.dtype(), d.weight.layout), y(d.dtype(), d.output.layout),
      bias(d.dtype(), Layout::dense({d.output.layout.shape[1]}));
  x.randomize(), w.randomize(), y.randomize(), bias.randomize();
  const auto expected = reference(d, x, w, y, bias);
  std::vector<double> expected_bias(static_cast<std::size_t>(d.output.layout.shape[1]), 0.0);
  y.for_each([&](const Dims& o) { expected_bias[static_cast<std::size_t>(o[1])] += y(o); });
  Tensor& source = d.pass == ConvolutionPass::Forward ? y : d.pass == ConvolutionPass::BackwardData ? x : w;
  const double weights = static_cast<double>(numel(d.weight.layout.shape)), outputs = static_cast<double>(numel(d.output.layout.shape));
  const double channels = std::max(1.0, static_cast<double>(d.output.layout.shape[1]));
  const double terms = d.pass == ConvolutionPass::BackwardWeight ? outputs / channels
                       : d.pass == ConvolutionPass::Forward      ? weights / channels
                                                                 : weights;

  std::deque<Tensor> numbers;
  for (const auto source : d.epilogue.reads())
    if (source == Source::Number) {
      const double number = limit(numbers.size());
      numbers.emplace_back(d.dtype(), Layout::dense({1})).set({0}, number);
    }
  Tensor weight = in_blocks(device, w, Layout::dense(d.weight.blocks.shape), d.weight.blocks, threads);

  for (const auto& call : calls) {
    Tensor result(d.dtype(), source.layout()), bias_gradient(d.dtype(), bias.layout());
    std::vector<Tensor*> tensors;
    if (d.pass == ConvolutionPass::Forward) tensors = {&x, &weight};
    else if (d.pass == ConvolutionPass::BackwardData) tensors = {&y, &weight, &result};
    else tensors = {&x, &y, &result};
    if (d.bias_gradient) tensors.push_back(&bias_gradient);
    std::size_t next = 0;
    for (const auto source : d.epilogue.reads())
      tensors.push_back(source == Source::Channel ? &bias : source == Source::Tensor ? &y : &numbers[next++]);
    if (d.pass == ConvolutionPass::Forward) tensors.push_back(&result);
    const std::string what = call->describe() + ' ' + text(d) + " threads " + std::to_string(threads);
    ASSERT_TRUE(run_guarded(device, *call, tensors, threads)) << "wrote behind its scratch: " << what;
    EXPECT_TRUE(result.untouched_outside()) << what;
    double worst = 0;
    std::size_t i = 0;
    result.for_each([&](const Dims& index) {
      const double error = std::abs(result(index) - expected[i++]);
      worst = std::isnan(error) || worst < error ? error : worst;
    });
    EXPECT_LE(worst, tolerance(d.dtype(), d.arithmetic, terms)) << what;
    if (!d.bias_gradient) continue;
    for (std::int64_t k = 0; k < d.output.layout.shape[1]; ++k) {
      EXPECT_NEAR(bias_gradient({k}), expected_bias[static_cast<std::size_t>(k)], tolerance(d.dtype(), d.arithmetic, terms)) << what;
    }
  }
}

namespace {

ConvolutionOptions any_convolution(DType dtype) {
  ConvolutionOptions o{.dtype = dtype};
  const int spatial = pick(1, 3);
  o.groups = pick(0, 3) ? 1 : pick(2, 4);
  const bool depthwise = pick(0, 5) == 0;
  o.n = pick(0, 4) ? pick(1, 4) : pick(14, 35);
  o.c = o.groups * pick(1, 6);
  o.k = o.groups * pick(1, 9);
  if (depthwise) o.groups = o.c, o.k = o.c * pick(1, 2);
  for (int i = 0; i < spatial; ++i) {
    o.kernel.push_back(pick(1, 4));
    o.dilation.push_back(pick(0, 3) ? 1 : 2);
    o.stride.push_back(pick(1, 3));
    const int reach = static_cast<int>(o.dilation[i] * (o.kernel[i] - 1));
    o.low.push_back(pick(0, reach)), o.high.push_back(pick(0, reach));
    o.in.push_back(reach + pick(1, spatial == 3 ? 4 : 8));
  }
  o.input = static_cast<Memory>(pick(0, 20) ? pick(0, 1) : 2);
  o.output = pick(0, 3) ? o.input : static_cast<Memory>(pick(0, 1));
  if (o.input != Memory::Reversed && pick(0, 3) == 0) o.input_room = pick(1, 9);
  if (o.output != Memory::Reversed && pick(0, 3) == 0) o.output_room = pick(1, 9);
  o.bias = pick(0, 1) == 1;
  o.relu = pick(0, 1) == 1;
  return o;
}

double products(const ConvolutionOptions& o) {
  const Convolution d = describe(o, ConvolutionPass::Forward);
  return static_cast<double>(numel(d.output.layout.shape)) * static_cast<double>(numel(d.weight.layout.shape)) / static_cast<double>(o.k);
}

}  // namespace

ConvolutionOptions random_convolution(DType dtype) {
  ConvolutionOptions o = any_convolution(dtype);
  while (products(o) > 1e6) o = any_convolution(dtype);
  return o;
}

ConvolutionOptions square(std::int64_t n, std::int64_t c, std::int64_t hw, std::int64_t k, std::int64_t f, std::int64_t s, std::int64_t low,
                          std::int64_t high) {
  return {.n = n,
          .c = c,
          .k = k,
          .in = {hw, hw},
          .kernel = {f, f},
          .stride = {s, s},
          .dilation = {1, 1},
          .low = {low, low},
          .high = {high, high},
          .bias = true};
}

}  // namespace tegula::test

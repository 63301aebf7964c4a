// tegula bench conv: the ladder of algorithms for a convolution, each checked against the library before it is timed.

#include <cmath>
#include <memory>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "app/progress.h"
#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/products/convolution_ladder.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"

namespace tegula::app {
namespace {

struct ConvChoice : BenchChoice {
  std::int64_t batch = 16;
};

struct Layer {
  std::string name;
  std::int64_t channels, size, filters, window, stride, padding;
};
const std::vector<Layer> kLayers{
    {"lenet5.conv2", 6, 14, 16, 5, 1, 0},
    {"mnist-cnn.conv2", 12, 28, 24, 6, 2, 2},
    {"resnet50.conv2.3x3", 64, 56, 64, 3, 1, 1},
    {"resnet50.conv4.3x3", 256, 14, 256, 3, 1, 1},
};
const std::vector<Layer> kQuickLayers{{"tiny", 3, 8, 4, 3, 1, 1}};

/// max |y - expected| / max |expected|.
double difference(const Tensor& y, const Tensor& expected) {
  const Tensor a = cast(y, f32), b = cast(expected, f32);
  return (max(abs(a - b)) / max(abs(b))).item<double>();
}

void measure_layer(Report& report, Device& device, const Layer& layer, const BenchPrecision& precision, const ConvChoice& choice) {
  const Tensor x = uniform({choice.batch, layer.channels, layer.size, layer.size}, -1, 1, {.dtype = precision.dtype});
  const Tensor weight = uniform({layer.filters, layer.channels, layer.window, layer.window}, -1, 1, {.dtype = precision.dtype});
  const ConvolutionOptions options{.stride = layer.stride, .padding = layer.padding};
  const Tensor expected = conv2d(x, weight, options);
  eval(x, weight, expected);
  const double operations = 2.0 * static_cast<double>(expected.numel() * layer.channels * layer.window * layer.window);
  const double ratio = expansion_ratio(x.shape(), weight.shape(), expected.shape());
  const double allowed = precision.dtype == f32 && precision.arithmetic == Precision::fp32 ? 1e-4 : 2e-2;
  double rung = 0;
  const PrecisionScope arithmetic(precision.arithmetic);
  for (const ConvolutionAlgorithm algorithm : convolution_algorithms()) {
    if (!takes_convolution(algorithm, weight.shape(), options)) {
      ++rung;
      continue;
    }
    auto convolve = jit([&](const Tensor& image, const Tensor& filter) { return conv2d_with(algorithm, image, filter, options); });
    const double error = difference(convolve(x, weight), expected);
    if (!(error <= allowed)) {
      throw Error({.op = "tegula bench conv",
                   .got = format("%s on %s: results that differ from the library's by %.2g", std::string(name(algorithm)).c_str(),
                                 layer.name.c_str(), error),
                   .expected = format("at most %.2g of the largest", allowed)});
    }
    const double seconds = runtime::measure(device, [&] { convolve(x, weight); }, choice.measuring()).median;
    const double rate = operations / seconds;
    report.add({device.name(), precision.name, layer.name, std::string(name(algorithm)), rung++, ratio, seconds, rate,
                share_of(rate, peak_of(device, precision)), error});
  }
}

void run(const ConvChoice& choice) {
  Report report("conv", {{"device", "device", 7},
                         {"precision", "precision", 9},
                         {"layer", "layer", 19},
                         {"algorithm", "algorithm", 13},
                         {"rung", "rung", 4, 0},
                         {"expansion", "im2col grows by", 15, 2},
                         {"seconds", "time ms", 10, 3, 1e3},
                         {"flops", "GFLOP/s", 9, 1, 1e-9},
                         {"share", "% of peak", 9, 2, 100},
                         {"error", "error 1e-6", 10, 2, 1e6}});
  const std::int64_t batch = choice.quick ? 2 : choice.batch;
  report.note("batch", std::to_string(batch) + " images; the error is relative to the library's largest result");
  ConvChoice sized = choice;
  sized.batch = batch;
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (const auto& precision : chosen_precisions(choice, {"fp32"}, *device)) {
      for (const Layer& layer : choice.quick ? kQuickLayers : kLayers) measure_layer(report, *device, layer, precision, sized);
    }
  }
  io::Figure figure{
      .title = "One convolution, seven algorithms",
      .panels = {
          {.y_label = "GFLOP/s", .series = report.curves("rung", "flops", {"device", "precision", "layer"}), .y_scale = io::Scale::Log10}}};
  for (const ConvolutionAlgorithm algorithm : convolution_algorithms()) figure.x_names.emplace_back(name(algorithm));
  finish(choice, report, figure);
}

}  // namespace

void add_bench_conv(Command& bench) {
  auto choice = std::make_shared<ConvChoice>();
  Command command = bench.command("conv", "one convolution by seven algorithms, from the plain sum to the library");
  add_options(command, *choice, WithPrecision::Yes);
  command.option("--batch", choice->batch, "images at once").check(positive()).shows_default().type("N");
  command.runs([choice] {
    require_files(*choice);
    run(*choice);
  });
}

}  // namespace tegula::app

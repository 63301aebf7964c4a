// tegula bench mlp: how long training takes on each device, over network sizes.

#include <cmath>
#include <memory>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "tegula/bench/power.h"
#include "tegula/compile/jit.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/module.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"

namespace tegula::app {
namespace {

constexpr std::int64_t kPixels = 28 * 28, kClasses = 10;
constexpr double kImages = 60'000;  // images of an epoch of MNIST

struct MlpChoice : BenchChoice {
  std::vector<std::int64_t> hidden;
  std::int64_t batch = 64;
};

struct Mlp {
  std::int64_t width;
  nn::Linear first{kPixels, width}, second{width, width}, head{width, kClasses};
  Tensor operator()(const Tensor& x) { return head(relu(second(relu(first(x))))); }
};

/// The cost of one step with plain gradient descent: forward, backward, update.
struct StepCost {
  double seconds, joules;  // NaN where there is no counter
};
StepCost step_cost(Device& device, std::int64_t width, const MlpChoice& choice) {
  Mlp net{width};
  optim::SGD sgd(parameters(net), {.lr = 1e-3});
  const Tensor x = normal({choice.batch, kPixels}), labels = randint(0, kClasses, {choice.batch});
  eval(x, labels);
  auto step = jit([&] {
    const Tensor loss = cross_entropy(net(x), labels);
    sgd.step(grad(loss, sgd.parameters()));
    return loss;
  });
  const auto run_step = [&] { step(); };
  const double seconds = runtime::measure(device, run_step, choice.measuring()).median;
  return {seconds, joules_a_call(device, run_step, choice.quick ? 0.1 : 1.0)};
}

void run(MlpChoice choice) {
  if (choice.hidden.empty())
    choice.hidden = choice.quick ? std::vector<std::int64_t>{4, 8} : std::vector<std::int64_t>{16, 64, 256, 1024, 4096};
  Report report("mlp", {{"device", "device", 7},
                        {"network", "network", 19},
                        {"hidden", "hidden", 6, 0},
                        {"parameters", "parameters", 11, 0},
                        {"seconds", "step µs", 11, 1, 1e6},
                        {"epoch", "epoch s", 9, 3},
                        {"joules", "epoch J", 9, 1},
                        {"flops", "GFLOP/s", 9, 1, 1e-9},
                        {"share", "% of peak", 9, 1, 100},
                        {"speedup", "times the CPU", 13, 2}});
  report.note("batch", std::to_string(choice.batch) + " images a step, " + std::to_string(static_cast<int>(kImages)) + " an epoch");
  std::vector<double> on_cpu(choice.hidden.size(), NAN);
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (std::size_t i = 0; i < choice.hidden.size(); ++i) {
      const std::int64_t h = choice.hidden[i];
      const auto [seconds, joules] = step_cost(*device, h, choice);
      if (device == &cpu()) on_cpu[i] = seconds;
      const auto weights = static_cast<double>(kPixels * h + h * h + h * kClasses);
      // Forward, gradient of the weights, gradient of the inputs; the first layer's input needs none.
      const double operations = 2.0 * static_cast<double>(choice.batch) * (3 * weights - static_cast<double>(kPixels * h));
      const double rate = operations / seconds;
      const std::string network = "784-" + std::to_string(h) + "-" + std::to_string(h) + "-10";
      report.add({device->name(), network, static_cast<double>(h), weights + static_cast<double>(2 * h + kClasses), seconds,
                  seconds * kImages / static_cast<double>(choice.batch), joules * kImages / static_cast<double>(choice.batch), rate,
                  share_of(rate, device->properties().f32), on_cpu[i] / seconds});
    }
  }
  finish(choice, report,
         {.title = "Training 784-h-h-10, batch " + std::to_string(choice.batch),
          .x_label = "h",
          .panels = {{.y_label = "seconds for an epoch of 60000 images",
                      .series = report.curves("hidden", "epoch", {"device"}),
                      .y_scale = io::Scale::Log10}},
          .x_scale = io::Scale::Log2});
}

}  // namespace

void add_bench_mlp(Command& bench) {
  auto choice = std::make_shared<MlpChoice>();
  Command command =
      bench.command("mlp", "training time, and energy where it is counted, of multi-layer perceptrons over their size, on each device");
  add_options(command, *choice, WithPrecision::No);
  command.option("--hidden", choice->hidden, "widths of the two hidden layers, as in 64,256").commas().check(positive()).type("N");
  command.option("--batch", choice->batch, "images per step").check(positive()).shows_default().type("N");
  command.runs([choice] {
    require_files(*choice);
    run(*choice);
  });
}

}  // namespace tegula::app

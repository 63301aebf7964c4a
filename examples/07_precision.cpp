// Lesson 7: precision.
//
// Tensor cores multiply small formats many times faster than f32. A Precision chooses the formats: the program, its
// dtypes, its parameters and its optimiser stay as they are. This lesson trains one network in each of the four.

#include <tegula/tegula.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace tegula;

struct Net {
  nn::Conv2d conv{1, 8, 5, {.stride = 2, .padding = Same}};
  nn::Linear hidden{14 * 14 * 8, 64};
  nn::Linear out{64, 10};
  Tensor operator()(Tensor x) {  // (N, 1, 28, 28) -> (N, 10)
    return out(relu(hidden(flatten(relu(conv(x)), 1))));
  }
};

struct Run {
  std::vector<float> losses;
  std::string table;         // which op computes how
  std::int64_t skipped = 0;  // steps left out for an overflow (fp16)
};

static Run train_in(Precision precision, const data::ArrayDataset& digits, double scale = 65536) {
  const PrecisionScope scope(precision);  // until it goes, nodes made on this thread have this precision, their gradients too
  manual_seed(3);
  Net net;
  optim::Adam adam(parameters(net), {.lr = 2e-3});
  // In f16 gradients below 6e-8 are zero. The loss is therefore multiplied by a large number before it is differentiated, and the gradients are
  // divided by it afterwards. If that overflows, the step is skipped and the number halved, all on the device.
  optim::LossScaler scaler({.scale = scale, .maximum = 1e9});
  auto step = jit([&](Tensor x, Tensor y) {
    Tensor loss = cross_entropy(net(x), y);
    if (precision == Precision::fp16) {
      auto [gradients, finite] = scaler.unscale(grad(scaler.scaled(loss), parameters(net)));
      scaler.step(adam, gradients, finite);
    } else {
      adam.step(grad(loss, parameters(net)));
    }
    return loss;
  });
  Run run;
  std::vector<Tensor> losses;  // read at the end: a look at a number waits for the device
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& [x, y] : data::Loader(digits, {.batch = 64, .shuffle = true, .seed = 5})) losses.push_back(step(x, y));
  }
  for (const Tensor& loss : losses) run.losses.push_back(loss.item());
  run.table = step.print_precision();
  run.skipped = Tensor(scaler.skipped()).item<std::int64_t>();
  for (const Parameter& p : parameters(net)) assert(p.read().dtype() == f32);  // master weights, in every precision
  return run;
}

static float mean_of_last(const std::vector<float>& losses, std::size_t count) {
  float sum = 0;
  for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<float>(count);
}

int main() {
  if (cuda_count() > 0) set_default_device(cuda());

  // The range of the formats. bf16 has the range of f32 and three digits; f16 has four digits, and ends at 65504 and at 6e-8.
  const Tensor numbers = tensor({1.001f, 70000.f, 1e-8f});
  std::printf("f32   %s\nbf16  %s\nf16   %s\n\n", numbers.print().c_str(), cast(cast(numbers, bf16), f32).print().c_str(),
              cast(cast(numbers, f16), f32).print().c_str());
  const std::vector<float> halves = cast(cast(numbers, f16), f32).to_host();
  assert(std::isinf(halves[1]) && halves[2] == 0);
  assert((cast(cast(numbers * 65536, f16), f32) / 65536).to_host()[2] > 0);  // the purpose of scaling

  const data::ArrayDataset digits = data::draw_digits(1280, 1);
  std::map<Precision, Run> runs;
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    runs[precision] = train_in(precision, digits);
  }

  // The curves lie on top of each other: only the operands of products are rounded; sums are f32.
  std::printf("step ");
  for (const auto& [precision, run] : runs) std::printf("%10s", std::string(name(precision)).c_str());
  std::printf("\n");
  for (std::size_t i = 0; i < runs[Precision::fp32].losses.size(); i += 10) {
    std::printf("%4zu ", i);
    for (const auto& [precision, run] : runs) std::printf("%10.4f", run.losses[i]);
    std::printf("\n");
  }
  const float exact = mean_of_last(runs[Precision::fp32].losses, 10);
  for (const auto& [precision, run] : runs) {
    assert(run.losses.back() < 0.5f * run.losses.front());
    assert(std::abs(mean_of_last(run.losses, 10) - exact) < 0.1f);
  }
  if (cuda_count() == 0) assert(runs[Precision::tf32].losses == runs[Precision::fp32].losses);  // tf32 exists in tensor cores only

  // The table says which op reads which dtype, multiplies how, stores what. Convolutions, products and the activations between them are halves: half the
  // memory, half the traffic. The loss, sums over rows and everything of the optimiser are f32. A GPU keeps a net as small as this one in f32, as TF32:
  // casts would take longer than halves save.
  std::printf("\nfp32:\n%s\nbf16:\n%s\n", runs[Precision::fp32].table.c_str(), runs[Precision::bf16].table.c_str());
  assert(runs[Precision::fp32].table.find("bf16") == std::string::npos);
  assert(runs[Precision::bf16].table.find(cuda_count() == 0 ? "bf16" : "tf32") != std::string::npos);

  // Too large a scale is found out: the first steps overflow, are left out, and halve it until gradients fit.
  const Run bold = train_in(Precision::fp16, digits, 1e9);
  std::printf("a scale of 1e9: %lld steps left out, loss %.4f at the end\n", static_cast<long long>(bold.skipped), bold.losses.back());
  assert(std::isfinite(bold.losses.back()));
  if (cuda_count() == 0) assert(bold.skipped > 0);  // TF32 does not overflow

  // `tegula train mnist-cnn --precision bf16 --print-precision` does this for the models.
}

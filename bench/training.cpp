// Whole training steps (forward, backward, Adam) of the small networks, against the sgemm rate.

#include "bench/measure.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

struct Mlp {
  int hidden;
  nn::Linear fc1{784, hidden}, fc2{hidden, 10};
  Tensor operator()(Tensor x) { return fc2(relu(fc1(x))); }
};

struct Cnn {  // 3x3x12 same; 6x6x24 stride 2; 6x6x32 stride 2; dense 200; dense 10
  nn::Conv2d conv1{1, 12, 3, {.padding = 1}};
  nn::Conv2d conv2{12, 24, 6, {.stride = 2, .padding = 2}};
  nn::Conv2d conv3{24, 32, 6, {.stride = 2, .padding = 2}};
  nn::Linear fc1{1568, 200}, fc2{200, 10};
  Tensor operator()(Tensor x) { return fc2(relu(fc1(flatten(relu(conv3(relu(conv2(relu(conv1(x)))))), 1)))); }
};

// Multiplications and additions of one step: forward once, backward twice, less the first layer's input gradient.
double mlp_flops(double batch, double hidden) { return 2 * batch * (2 * 784 * hidden + 3 * hidden * 10); }
double cnn_flops(double batch) {
  const double conv1 = 28 * 28 * 12 * 9, conv2 = 14 * 14 * 24 * 12 * 36, conv3 = 7 * 7 * 32 * 24 * 36;
  return 2 * batch * (2 * conv1 + 3 * (conv2 + conv3 + 1568 * 200 + 200 * 10));
}

double rate;

template <class Net>
void train(const std::string& name, Net net, const Shape& shape, double flops) {
  Tensor x = normal(shape), y = randint(0, 10, {shape[0]});
  eval(x, y);
  auto adam = optim::Adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x, Tensor y) {
    Tensor loss = cross_entropy(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  const double time = bench::wall([&] { step(x, y); }, 2.0, 10);
  bench::report(name, time * 1e6, "us/step", flops / time / rate, "sgemm");
  if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", step.print_plan().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  rate = bench::sgemm_rate();
  bench::report("sgemm.2048", rate / 1e9, "GFLOP/s");
  for (const std::int64_t batch : {1, 64, 1024}) {
    const std::string b = ".train.b" + std::to_string(batch);
    const auto n = static_cast<double>(batch);
    if (bench::selected(argc, argv, "mlp784-128-10" + b)) train("mlp784-128-10" + b, Mlp{.hidden = 128}, {batch, 784}, mlp_flops(n, 128));
    if (bench::selected(argc, argv, "mlp784-16-10" + b)) train("mlp784-16-10" + b, Mlp{.hidden = 16}, {batch, 784}, mlp_flops(n, 16));
    if (bench::selected(argc, argv, "mnist-cnn" + b)) train("mnist-cnn" + b, Cnn{}, {batch, 1, 28, 28}, cnn_flops(n));
  }
}

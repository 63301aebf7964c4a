// The GPU's work against its floors: what moves bytes against a device copy, products against the tensor cores' rate, small networks in
// time. `bench_gpu [prefix…]`; on another device with TEGULA_BENCH_DEVICE (the CPU runs everything at a hundredth of the size).

#include <chrono>
#include <thread>

#include "bench/measure.h"
#include "bench/support/gpu_times.h"
#include "tegula/models/mnist.h"
#include "tegula/models/resnet.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

bool small;              // a dry run on the CPU
double copy_rate = 0;    // bytes/s, read + written
int count;
char** names;

using bench::repeated;
using bench::Runs;
using bench::timed;

bool wanted(const std::string& name) { return bench::selected(count, names, name); }

/// Two rates: ten runs after a rest (median of five), as the peers' script times them, before the card is at its power limit; and half a
/// second, after as much.
void product_rates(const std::string& name, double operations, const Runs& run) {
  Device& device = default_device();
  const auto rate = [&](int runs) {
    const auto begin = std::chrono::steady_clock::now();
    run(runs);
    device.synchronize();
    return operations * runs / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  run(10), run(10);
  std::vector<double> rates(5);
  for (double& one : rates) {
    device.synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    one = rate(10);
  }
  std::ranges::nth_element(rates, rates.begin() + 2);
  bench::report(name, rates[2] / 1e12, "TFLOP/s");
  const int many = std::clamp(static_cast<int>(0.5 * rates[2] / operations), 1, 10000);
  rate(many);
  bench::report(name + ".sustained", rate(many) / 1e12, "TFLOP/s");
}

void memory(const std::string& name, double bytes, const Runs& run) {
  if (!wanted(name)) return;
  const double time = timed(run);
  bench::report(name, bytes / time / 1e9, "GB/s", copy_rate > 0 ? bytes / time / copy_rate : 0, "copy");
}

void copy_ceiling() {
  const std::size_t bytes = std::size_t{small ? 1u : 4096u} << 20;
  Device& device = default_device();
  const auto a = device.allocate(bytes), b = device.allocate(bytes);
  copy_rate = 2.0 * static_cast<double>(bytes) / timed([&](int times) {
                for (int i = 0; i < times; ++i) device.copy(a->data(), b->data(), bytes);
              });
  bench::report("copy", copy_rate / 1e9, "GB/s");
}

std::int64_t scaled(std::int64_t n) { return small ? std::max<std::int64_t>(n / 128, 2) : n; }
std::string shape_text(std::int64_t rows, std::int64_t cols) { return std::to_string(rows) + "x" + std::to_string(cols); }

void rowwise() {
  // The last six move four times as much: the start and the end of a kernel count for less.
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1 << 20, 64},  {1 << 18, 256}, {65536, 1024}, {16384, 4096}, {8192, 8192},   {8192, 12288}, {4096, 32768},  {2048, 65536},
      {1024, 131072}, {512, 262144},  {65536, 4096}, {32768, 8192}, {16384, 32768}, {8192, 65536}, {4096, 131072}, {2048, 262144}};
  for (auto [rows, cols] : shapes) {
    rows = scaled(rows);
    const std::string at = "." + shape_text(rows, cols);
    Tensor x = cast(normal({rows, cols}), bf16), w = cast(normal({cols}), bf16), b = cast(normal({cols}), bf16);
    eval(x, w, b);
    const double bytes = 4.0 * static_cast<double>(rows * cols);
    auto soft = jit([&](Tensor x) { return softmax(x); });
    memory("softmax" + at, bytes, repeated(soft, x));
    auto layer = jit([&](Tensor x, Tensor w, Tensor b) { return layer_norm(x, {cols}, {.weight = w, .bias = b}); });
    memory("layer_norm" + at, bytes, repeated(layer, x, w, b));
    auto plain = jit([&](Tensor x) { return layer_norm(x, {cols}); });  // as the peers' scripts time it
    memory("layer_norm.plain" + at, bytes, repeated(plain, x));
    auto rms = jit([&](Tensor x, Tensor w) { return rms_norm(x, {cols}, {.weight = w}); });
    memory("rms_norm" + at, bytes, repeated(rms, x, w));
    if (cols == 8192) {
      auto activation = jit([](Tensor x) { return gelu(x); });
      memory("gelu" + at, bytes, repeated(activation, x));
      auto tanh_form = jit([](Tensor x) { return gelu(x, Approximate::Tanh); });
      memory("gelu_tanh" + at, bytes, repeated(tanh_form, x));
    }
  }
}

void backward() {
  for (auto [rows, cols] : {std::pair<std::int64_t, std::int64_t>{16384, 4096}, {65536, 1024}, {32768, 768}}) {
    rows = scaled(rows);
    const std::string at = ".backward." + shape_text(rows, cols);
    Tensor x = cast(normal({rows, cols}), bf16), dy = cast(normal({rows, cols}), bf16), w = cast(normal({cols}), bf16),
           b = cast(normal({cols}), bf16);
    eval(x, dy, w, b);
    const double bytes = 6.0 * static_cast<double>(rows * cols);
    auto layer = jit(
        [&](Tensor x, Tensor dy, Tensor w, Tensor b) { return vjp({layer_norm(x, {cols}, {.weight = w, .bias = b})}, {dy}, {x, w, b}); });
    memory("layer_norm" + at, bytes, repeated(layer, x, dy, w, b));
    auto rms = jit([&](Tensor x, Tensor dy, Tensor w) { return vjp({rms_norm(x, {cols}, {.weight = w})}, {dy}, {x, w}); });
    memory("rms_norm" + at, bytes, repeated(rms, x, dy, w));
  }
  for (const std::int64_t classes : {32768, 50304, 131072}) {
    const std::int64_t rows = scaled(8192);
    Tensor x = cast(normal({rows, classes}), bf16), y = randint(0, classes, {rows});
    eval(x, y);
    auto loss = jit([](Tensor x, Tensor y) {
      Tensor l = cross_entropy(cast(x, f32), y);
      return std::pair(l, grad(l, x));
    });
    memory("cross_entropy.both." + shape_text(rows, classes), 4.0 * static_cast<double>(rows * classes), repeated(loss, x, y));
  }
}

/// Sums over rows, and batch normalisation of channels-last activations while training.
void columns() {
  for (auto [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{256 * 56 * 56, 64}, {256 * 14 * 14, 1024}, {256 * 7 * 7, 2048}, {64, 128}}) {
    if (rows > 64) rows = scaled(rows);
    for (const DType dtype : {bf16, f32}) {
      Tensor x = cast(normal({rows, cols}), dtype);
      eval(x);
      auto total = jit([](Tensor x) { return sum(x, 0); });
      const std::string at = std::string(tegula::name(dtype)) + "." + shape_text(rows, cols);
      memory("column_sum." + at, static_cast<double>(x.numel()) * static_cast<double>(size_of(dtype)), repeated(total, x));
      if (rows == 64) continue;
      auto mean_of = jit([](Tensor x) { return mean(x); });
      memory("mean." + at, static_cast<double>(x.numel()) * static_cast<double>(size_of(dtype)), repeated(mean_of, x));
    }
  }
  for (auto [size, channels] : {std::pair<std::int64_t, std::int64_t>{56, 64}, {56, 256}, {14, 1024}, {7, 2048}}) {
    const Shape shape{small ? 2 : 256, size, size, channels};  // (N, H, W, C) in memory
    const std::string at = "." + std::to_string(size) + "x" + std::to_string(channels);
    if (!wanted("batch_norm.forward" + at) && !wanted("batch_norm.both" + at)) continue;
    Tensor x = cast(normal(shape), bf16), z = cast(normal(shape), bf16), w = normal({channels}), b = normal({channels});
    eval(x, z, w, b);
    const auto forward = [](Tensor x, Tensor z, Tensor w, Tensor b) {  // with the sum and activation that end a residual block
      const Dims nchw{0, 3, 1, 2};
      const auto result = batch_norm_training(permute(x, nchw), {.weight = w, .bias = b});
      return std::vector<Tensor>{permute(relu(result.y + permute(z, nchw)), Dims{0, 2, 3, 1}), result.mean, result.variance};
    };
    const double elements = static_cast<double>(x.numel());
    auto train = jit(forward);
    memory("batch_norm.forward" + at, 8 * elements, repeated(train, x, z, w, b));  // x twice, z, y
    auto both = jit([&](Tensor x, Tensor z, Tensor w, Tensor b, Tensor dy) {
      auto y = forward(x, z, w, b);
      auto all = vjp({y[0]}, {dy}, {x, z, w, b});
      all.insert(all.end(), y.begin(), y.end());
      return all;
    });
    memory("batch_norm.both" + at, 22 * elements, repeated(both, x, z, w, b, z));  // and x, y, dy -> dz; x, dz -> dx
  }
}

void updates() {
  const std::int64_t rows = scaled(3072);
  std::vector<Variable> weights;
  std::vector<Tensor> gradients;
  Parameters list;
  for (int i = 0; i < 4; ++i) {
    weights.emplace_back(normal({rows, 10752}));
    gradients.push_back(normal({rows, 10752}));
    eval(gradients.back());
    list.push_back({"w" + std::to_string(i), weights.back().cell()});
  }
  auto adam = optim::AdamW(list, {.lr = 1e-3});
  auto step = jit([&] { adam.step(gradients); });
  memory("adamw.132M", 28.0 * 4 * static_cast<double>(rows * 10752), repeated(step));

  if (wanted("embedding.backward")) {
    const std::int64_t vocabulary = scaled(50304), tokens = scaled(65536);
    Tensor e = cast(normal({vocabulary, 768}), bf16), i = randint(0, vocabulary, {tokens}), same = zeros({tokens}, i64),
           dy = cast(normal({tokens, 768}), bf16);
    eval(e, i, same, dy);
    auto back = jit([](Tensor e, Tensor i, Tensor dy) { return vjp({embedding(i, e)}, {dy}, {e})[0]; });
    bench::report("embedding.backward.65536x768", timed(repeated(back, e, i, dy)) * 1e3, "ms");
    bench::report("embedding.backward.one_token", timed(repeated(back, e, same, dy)) * 1e3, "ms");
  }
}

struct Mlp {
  nn::Linear a{784, 128}, b{128, 10};
  Tensor operator()(Tensor x) { return b(relu(a(flatten(x, 1)))); }
};

template <class Net>
void network(const std::string& name, std::int64_t batch) {
  const std::string full = name + ".b" + std::to_string(batch);
  if (!wanted(full)) return;
  const PrecisionScope arithmetic(Precision::tf32);
  Net net;
  const std::int64_t samples = small ? 1024 : 8192;
  Tensor images = normal({samples, 1, 28, 28}), labels = randint(0, 10, {samples});
  eval(images, labels);
  Variable position(Tensor(0));
  auto adam = optim::Adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&] {  // the batch is gathered on the device
    Tensor at = remainder(position.read() + arange(batch), samples);
    position = remainder(position.read() + batch, samples);
    Tensor loss = cross_entropy(net(take(images, at, 0)), take(labels, at, 0));
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  bench::report(full, timed(repeated(step)) * 1e6, "us/step");
  const auto call_by_call = [&](int times) {
    for (int i = 0; i < times; ++i) step();
  };
  bench::report(full + ".call_by_call", timed(call_by_call) * 1e6, "us/step");
  if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", step.print_plan().c_str());
  if (std::getenv("TEGULA_BENCH_KERNELS")) std::printf("%s", step.print_kernels().c_str());
}

void products() {
  for (const std::int64_t n : {2048, 4096, 8192}) {
    for (const DType dtype : {f32, bf16, f16}) {
      const std::string at = "gemm." + std::string(tegula::name(dtype)) + "." + std::to_string(n);
      if (!wanted(at)) continue;
      const std::int64_t size = scaled(n);
      Tensor a = cast(normal({size, size}), dtype), b = cast(normal({size, size}), dtype);
      eval(a, b);
      auto product = jit([](Tensor a, Tensor b) { return matmul(a, b); });
      const auto s = static_cast<double>(size);
      product_rates(at, 2 * s * s * s, repeated(product, a, b));
    }
    const std::string at = "gemm.fp8." + std::to_string(n);
    if (!wanted(at)) continue;
    const std::int64_t size = scaled(n);
    Tensor a = cast(normal({size, size}), bf16), b = cast(normal({size, size}), bf16);
    eval(a, b);
    auto product = jit([](Tensor a, Tensor b) {  // finding the factors and rounding included
      const PrecisionScope scope(Precision::fp8);
      return linear(a, b);
    });
    const auto s = static_cast<double>(size);
    product_rates(at, 2 * s * s * s, repeated(product, a, b));
    if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", product.print_plan().c_str());
  }
}

void resnet() {
  const std::int64_t batch = small ? 2 : 256, size = small ? 64 : 224;
  const std::string name = "resnet50.train.b" + std::to_string(batch);
  if (wanted(name)) {
    const PrecisionScope arithmetic(Precision::bf16);
    models::ResNet50 net;
    Tensor x = normal({batch, 3, size, size}), y = randint(0, 1000, {batch});
    eval(x, y);
    auto sgd = optim::SGD(parameters(net), {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
    auto step = jit([&](Tensor x, Tensor y) {
      Tensor loss = cross_entropy(cast(net(x), f32), y);
      sgd.step(grad(loss, parameters(net)));
      return loss;
    });
    bench::report(name, static_cast<double>(batch) / timed(repeated(step, x, y)), "img/s");
    if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", step.print_plan().c_str());
  }
  for (const std::int64_t n : {std::int64_t{1}, batch}) {
    const std::string at = "resnet50.infer.b" + std::to_string(n);
    if (!wanted(at)) continue;
    const PrecisionScope arithmetic(Precision::fp16);
    models::ResNet50 net;
    eval(net);
    Tensor x = normal({n, 3, size, size});
    eval(x);
    auto run = jit([&](Tensor x) { return net(x); });
    bench::report(at, timed(repeated(run, x)) * 1e3, "ms");
    if (std::getenv("TEGULA_BENCH_PLAN")) std::printf("%s", run.print_plan().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  count = argc, names = argv;
  bench::choose_device();
  small = default_device().number() == 0;
  using bench::attempt;
  attempt("copy", copy_ceiling);
  for (const std::int64_t batch : {64, 1024}) {
    attempt("mlp", [&] { network<Mlp>("mlp", batch); });
    attempt("mnist-cnn", [&] { network<models::MnistCnn>("mnist-cnn", batch); });
  }
  attempt("rowwise", rowwise);
  attempt("backward", backward);
  attempt("columns", columns);
  attempt("updates", updates);
  attempt("products", products);
  attempt("resnet", resnet);
}

// Linear algebra, transforms and a message-passing net: milliseconds a call, f32. bench_linalg [PREFIX…], names as bench/peers/linalg_torch.py prints them.
// On $TEGULA_BENCH_DEVICE (cuda); on the CPU processor time of one thread, which other programs do not change, or wall time of $TEGULA_BENCH_THREADS. The message-passing net: 10,000 nodes, 80,000 edges, two layers of 64 features, one step of training.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>

#include "bench/measure.h"
#include "tegula/runtime/measure.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

int count;
char** names;

bool on_cpu() { return default_device().number() == 0; }

/// Threads whose wall time is measured on the CPU; 0: processor time of one.
int threads() {
  const char* const asked = std::getenv("TEGULA_BENCH_THREADS");
  return asked ? std::atoi(asked) : 0;
}

/// The median of five batches, in ms.
double processor_time(const std::function<void()>& f) {
  const auto timed = [&](int runs) {
    const std::clock_t begin = std::clock();
    for (int i = 0; i < runs; ++i) f();
    return 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / runs;
  };
  timed(2);
  const int runs = static_cast<int>(std::clamp(100 / std::max(timed(1), 1e-3), 1.0, 20000.0));
  std::array<double, 5> times;
  for (double& time : times) time = timed(runs);
  std::ranges::sort(times);
  return times[2];
}

void row(const std::string& name, const std::function<void()>& f) {
  if (!bench::selected(count, names, name)) return;
  const runtime::MeasureOptions options{.seconds = 1.0, .batches = 5, .warm_up = 2};
  bench::report(name, on_cpu() && threads() == 0 ? processor_time(f) : 1e3 * runtime::measure(default_device(), f, options).median, "ms");
}

Tensor made(const Tensor& x) {
  eval(x);
  return x;
}

void factors(const std::string& size, const Shape& shape) {
  const auto any = [&](const char* name) { return bench::selected(count, names, name + ("." + size)); };
  if (std::ranges::none_of(std::array{"lu", "cholesky", "solve", "qr", "eigh", "svd"}, any)) return;
  const Tensor a = made(normal(shape)), s = made(matmul(a, transpose(a)) + static_cast<double>(shape.back()) * eye(shape.back()));
  const Tensor b = made(normal(shape));
  // The matrices are arguments: what depends on captured tensors alone is computed once and kept.
  const auto each = [&](const std::string& name, const Tensor& x, auto f) {
    auto compiled = jit([f](const Tensor& in, const Tensor& right) { return f(in, right); });
    row(name + "." + size, [&] { compiled(x, b); });
  };
  using Parts = std::vector<Tensor>;
  each("lu", a, [](const Tensor& x, const Tensor&) { return lu_factor(x).packed; });
  each("cholesky", s, [](const Tensor& x, const Tensor&) { return cholesky(x); });
  each("solve", s, [](const Tensor& x, const Tensor& right) { return solve(x, right); });
  each("qr", a, [](const Tensor& x, const Tensor&) {
    const auto [q, r] = qr(x);
    return Parts{q, r};
  });
  each("eigh", s, [](const Tensor& x, const Tensor&) {
    const auto [values, vectors] = eigh(x);
    return Parts{values, vectors};
  });
  each("svd", a, [](const Tensor& x, const Tensor&) {
    const auto [u, d, v] = svd(x);
    return Parts{u, d, v};
  });
}

void transforms() {
  const auto each = [&](const std::string& name, const Shape& shape, auto f) {
    if (!bench::selected(count, names, name)) return;
    const Tensor x = made(normal(shape));
    auto compiled = jit([f](const Tensor& in) { return f(in); });
    row(name, [&] { compiled(x); });
  };
  each("rfft.4096x4096", {4096, 4096}, [](const Tensor& x) { return rfft(x); });
  each("fft.1000x1000", {1000, 1000, 2}, [](const Tensor& x) { return fft(x); });
  each("fft.1048576", {1 << 20, 2}, [](const Tensor& x) { return fft(x); });
  each("rfft2.64x512x512", {64, 512, 512}, [](const Tensor& x) { return rfft(x, {.axes = {-2, -1}}); });
  const Tensor window = made(hann_window(400));
  each("stft.16x160000", {16, 160000}, [&](const Tensor& x) { return stft(x, {.size = 400, .hop = 160, .window = window}); });
  // Its parts.
  each("stft_pieces.16x160000", {16, 160400}, [&](const Tensor& x) { return windows(x, {1}, {400}, {.stride = {160}}) * window; });
  each("stft_rfft.16016x400", {16, 1001, 400}, [](const Tensor& x) { return rfft(x); });
  each("spectrogram.16x160000", {16, 160000}, [&](const Tensor& x) {
    const Tensor y = stft(x, {.size = 400, .hop = 160, .window = window});
    return square(real_part(y)) + square(imaginary_part(y));
  });
}

/// Messages along edges, which depend on both ends; a node takes the mean of what comes in.
struct Layer {
  nn::Linear sent{64, 64}, received{64, 64, {.bias = false}}, own{64, 64}, update{64, 64, {.bias = false}};
  Tensor operator()(const Tensor& h, const Segments& from, const Segments& to) const {
    const Tensor message = relu(segment_take(sent(h), from) + segment_take(received(h), to));
    return relu(own(h) + update(segment_mean(message, to)));
  }
};
struct MessagePassing {
  Layer first, second;
  nn::Linear score{64, 10};
  Tensor operator()(const Tensor& h, const Segments& from, const Segments& to) const { return score(second(first(h, from, to), from, to)); }
};

void message_passing() {
  if (!bench::selected(count, names, "messages.80000x64") && !bench::selected(count, names, "segment_sum.80000x64")) return;
  constexpr std::int64_t kNodes = 10000, kEdges = 80000;
  const Tensor h = made(normal({kNodes, 64})), labels = made(randint(0, 10, {kNodes}));
  const auto ends = [&] {
    const Segments s = segments(randint(0, kNodes, {kEdges}), kNodes);
    eval(s.starts, s.order, s.index);
    return s;
  };
  const Segments from = ends(), to = ends();
  MessagePassing net;
  optim::SGD sgd(parameters(net), {.lr = 0.01});
  auto step = jit([&] {
    const Tensor loss = cross_entropy(net(h, from, to), labels);
    sgd.step(grad(loss, parameters(net)));
    return loss;
  });
  row("messages.80000x64", [&] { step(); });
  const Tensor lines = made(normal({kEdges, 64}));
  auto sums = jit([&](const Tensor& x) { return segment_sum(x, to); });
  row("segment_sum.80000x64", [&] { sums(lines); });
}

}  // namespace

int main(int argc, char** argv) {
  count = argc, names = argv;
  bench::choose_device();
  if (on_cpu()) set_num_threads(std::max(threads(), 1));
  factors("64x1000", {1000, 64, 64});
  for (const std::int64_t n : {std::int64_t{512}, std::int64_t{1024}, std::int64_t{4096}}) factors(std::to_string(n), {n, n});
  transforms();
  message_passing();
}

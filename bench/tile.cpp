// The tile language on the CPU: a product in tiles beside oneDNN's sgemm, softmax beside a copy, and what a launch outside of jit costs the host.
// Times are the process's processor time, the least of 25 batches: what other processes do only adds to it. Usage: OMP_NUM_THREADS=1 bench_tile [dot] [softmax] [launch]
// On a GPU, TEGULA_BENCH_DEVICE=cuda bench_tile launch compile: what a launch costs the host, and wall times from a kernel's first launch to its result. Run it twice:
// $TEGULA_CACHE_DIR is cold, then it has the code.

#include <tegula/tile.h>

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "bench/measure.h"
#include "tegula/bench/tile_product.h"
#include "tegula/graph/evaluate.h"
#include "tegula/runtime/device.h"

namespace kernels {
using namespace tegula::tile;

const auto product = jit("product", [](Ptr<float> a, Ptr<float> b, Out<float> c, Named<Int, "M"> M, Named<Int, "N"> N, Named<Int, "K"> K,
                                       Const<int, "BM"> BM, Const<int, "BN"> BN, Const<int, "BK"> BK) {
  auto m = col(program_id(0) * BM + arange(0, BM)), n = row(program_id(1) * BN + arange(0, BN));
  auto acc = zeros<float>({BM, BN});
  for (auto k0 : range(0, K, BK)) {
    auto k = k0 + arange(0, BK);
    acc = dot(load(a + m * K + row(k), m < M && row(k) < K), load(b + col(k) * N + n, col(k) < K && n < N), acc);
  }
  store(c + m * N + n, acc, m < M && n < N);
});
const auto softmax = jit("softmax", [](Ptr<float> x, Out<float> y, Int columns, Const<int, "BLOCK"> BLOCK) {
  auto j = arange(0, BLOCK);
  auto at = program_id(0) * columns + j;
  auto v = load(x + at, j < columns, -INFINITY);
  auto e = exp(v - max(v, 0));
  store(y + at, e / sum(e, 0), j < columns);
});
const auto add = jit("add", [](Ptr<float> x, Ptr<float> y, Out<float> z, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(z + i, load(x + i, i < n) + load(y + i, i < n), i < n);
});
}  // namespace kernels

using namespace tegula;
using tile::cdiv, tile::out;

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The least over batches of about a hundredth of a second.
double seconds_of(const std::function<void()>& f) {
  const auto batch = [&](int runs) {
    const double begin = processor_seconds();
    for (int i = 0; i < runs; ++i) f();
    return (processor_seconds() - begin) / runs;
  };
  batch(3);
  const int runs = static_cast<int>(std::clamp(0.01 / std::max(batch(1), 1e-7), 1.0, 1e5));
  double least = batch(runs);
  for (int i = 1; i < 25; ++i) least = std::min(least, batch(runs));
  return least;
}

double sgemm_seconds(std::int64_t n) {
  auto& device = runtime::cpu();
  const Layout square = Layout::dense({n, n});
  const auto call = device.make(runtime::Matmul::of(DType::f32, square, square, square));
  const Ref<Buffer> a = device.allocate(static_cast<std::size_t>(n * n) * 4), b = device.allocate(static_cast<std::size_t>(n * n) * 4),
                    c = device.allocate(static_cast<std::size_t>(n * n) * 4), scratch = device.allocate(call->scratch_bytes() + 64);
  std::memset(a->data(), 1, static_cast<std::size_t>(n * n) * 4);
  std::memset(b->data(), 1, static_cast<std::size_t>(n * n) * 4);
  void* buffers[] = {a->data(), b->data(), c->data()};
  return seconds_of([&] { call->run(buffers, {.scratch = scratch->data(), .threads = device.max_threads()}); });
}

void dot() {
  const std::int64_t n = 1024;
  const Tensor a = uniform({n, n}), b = uniform({n, n});
  eval(a, b);
  const double library = sgemm_seconds(n), operations = 2.0 * static_cast<double>(n) * n * n;
  bench::report("sgemm 1024³", operations / library * 1e-9, "GFLOP/s");
  for (const auto& [bm, bn, bk] :
       std::vector<std::array<int, 3>>{{32, 32, 32}, {64, 64, 64}, {64, 64, 256}, {128, 128, 128}, {128, 256, 256}}) {
    const double seconds =
        seconds_of([&] { eval(kernels::product({cdiv(n, bm), cdiv(n, bn)}, a, b, out({n, n}), n, n, n, bm, bn, bk)[0]); });
    char name[80];
    std::snprintf(name, sizeof name, "dot in tiles of %d x %d x %d", bm, bn, bk);
    bench::report(name, operations / seconds * 1e-9, "GFLOP/s", library / seconds, "sgemm");
  }
}

void softmax_rows() {
  for (const std::int64_t columns : {1000, 4096}) {
    const std::int64_t rows = (std::int64_t{1} << 24) / columns;
    const Tensor x = uniform({rows, columns});
    eval(x);
    const std::size_t bytes = static_cast<std::size_t>(rows * columns) * 4;
    const Ref<Buffer> from = runtime::cpu().allocate(bytes), to = runtime::cpu().allocate(bytes);
    std::memset(from->data(), 1, bytes);
    const double copy = seconds_of([&] { std::memcpy(to->data(), from->data(), bytes); });
    const double seconds =
        seconds_of([&] { eval(kernels::softmax({rows}, x, out({rows, columns}), columns, columns <= 1024 ? 1024 : 4096)[0]); });
    bench::report("softmax of rows of " + std::to_string(columns), 2e-9 * static_cast<double>(bytes) / seconds, "GB/s", copy / seconds,
                  "copy");
    const double library = seconds_of([&] { eval(softmax(x, 1)); });
    bench::report("the library's", 2e-9 * static_cast<double>(bytes) / library, "GB/s", copy / library, "copy");
  }
}

void launch() {
  const std::int64_t n = 16;
  const Tensor x = uniform({n}), y = uniform({n});
  eval(x, y);
  const double built = seconds_of([&] { kernels::add({1}, x, y, out({n}), n, 16); });
  bench::report("launch outside of jit, node alone", built * 1e6, "us");
  const double run = seconds_of([&] { eval(kernels::add({1}, x, y, out({n}), n, 16)[0]); });
  bench::report("launch outside of jit, with its value", run * 1e6, "us");
  const double op = seconds_of([&] { eval(x + y); });
  bench::report("x + y, with its value", op * 1e6, "us");
  auto recorded = jit([&](const Tensor& a, const Tensor& b) { return kernels::add({1}, a, b, out({n}), n, 16)[0]; });
  const double replayed = seconds_of([&] { eval(recorded(x, y)); });
  bench::report("a replay of it in jit", replayed * 1e6, "us");
}

/// From the first launch of a kernel to its result.
void first_launches() {
  const auto first = [](const std::string& name, const std::function<Tensor()>& f) {
    const auto begin = std::chrono::steady_clock::now();
    eval(f());
    default_device().synchronize();
    bench::report(name, 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), "ms");
  };
  const std::int64_t n = 1024, square = 4096;
  const Tensor x = uniform({n, n}), a = cast(uniform({square, square}), bf16);
  eval(x, a);
  default_device().synchronize();
  first("add, first launch", [&] { return kernels::add({1}, x, x, out({n}), n, 1024)[0]; });
  first("softmax, first launch", [&] { return kernels::softmax({n}, x, out({n, n}), n, 1024)[0]; });
  first("product of halves, first launch", [&] { return tile_product(a, a, false, {}); });
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("TEGULA_BENCH_DEVICE")) bench::choose_device();
  if (bench::asked(argc, argv, "compile")) first_launches();  // before others compile
  if (bench::selected(argc, argv, "dot")) dot();
  if (bench::selected(argc, argv, "softmax")) softmax_rows();
  if (bench::selected(argc, argv, "launch")) launch();
}

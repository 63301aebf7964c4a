// The tile executor against the copy bandwidth of the same run: an elementwise chain, softmax, an optimiser step, and the cost of a launch.
//   bench_executor [threads] [name…]

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tegula/cpu/executor/executor.h"
#include "tegula/tile/builder.h"

using namespace tegula;
using namespace tegula::tile;

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds. With TEGULA_BENCH_CPU_TIME set, time that the process was given: for one thread on a machine that is busy otherwise.
double now() {
  static const bool own = std::getenv("TEGULA_BENCH_CPU_TIME") != nullptr;
  timespec t{};
  clock_gettime(own ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The best and the median time of f in seconds, over about `seconds`.
struct Time {
  double best, median;
};
Time measure(const std::function<void()>& f, double seconds = 0.6) {
  f();
  f();
  std::vector<double> times;
  for (const auto start = Clock::now();
       times.size() < 9 || (std::chrono::duration<double>(Clock::now() - start).count() < seconds && times.size() < 20000);) {
    const double before = now();
    f();
    times.push_back(now() - before);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

struct Floats {
  explicit Floats(std::size_t count) : data(static_cast<float*>(std::aligned_alloc(4096, (count * 4 + 4095) / 4096 * 4096))) {
    for (std::size_t i = 0; i < count; ++i) data.get()[i] = static_cast<float>((i * 2654435761u % 4096) / 1024.0 - 2.0);
  }
  float* get() const { return data.get(); }
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data;
};

std::vector<std::string> wanted;
int threads = 2;
bool want(const std::string& name) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(), [&](const std::string& w) { return name.find(w) != std::string::npos; });
}

double copy_rate = 1e9;  // bytes per second, read and written
void report(const std::string& name, Time time, double bytes) {
  std::printf("%-44s %9.3f ms  %6.1f GB/s  %4.2f of copy (median %4.2f)\n", name.c_str(), time.best * 1e3, bytes / time.best / 1e9,
              bytes / time.best / copy_rate, bytes / time.median / copy_rate);
  std::fflush(stdout);
}

Program copy_program(std::int64_t tile) {
  Builder b("copy");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), n = b.scalar("n", i64);
  const Value i = b.program_id(0) * tile + b.arange(0, tile);
  b.store(y + i, b.load(x + i, i < n), i < n);
  return b.finish();
}

/// tanh((x*1.1 + 0.3).abs().sqrt()*x - 0.5).clamp(-0.9, 0.9)*2 + x
Program chain_program(std::int64_t tile) {
  Builder b("chain");
  const Value p = b.pointer("x", f32, false), y = b.pointer("y", f32, true), n = b.scalar("n", i64);
  const Value i = b.program_id(0) * tile + b.arange(0, tile);
  const Value x = b.load(p + i, i < n);
  Value t = unary(Word::Tanh, unary(Word::Sqrt, unary(Word::Abs, x * 1.1 + 0.3)) * x - 0.5);
  t = select(t < -0.9, number(-0.9, t), t);
  t = select(t > 0.9, number(0.9, t), t);
  b.store(y + i, t * 2 + x, i < n);
  return b.finish();
}

Program cheap_program(std::int64_t tile) {
  Builder b("cheap");
  const Value p = b.pointer("x", f32, false), y = b.pointer("y", f32, true), n = b.scalar("n", i64);
  const Value i = b.program_id(0) * tile + b.arange(0, tile);
  const Value x = b.load(p + i, i < n);
  Value t = unary(Word::Abs, x * 1.1 + 0.3) * x - 0.5;
  t = select(t > 0.0, t, t * 0.1);
  t = select(t < -0.9, number(-0.9, t), t);
  b.store(y + i, t * 2 + x, i < n);
  return b.finish();
}

Program unary_program(Word word, std::int64_t tile) {
  Builder b(std::string(name(word)));
  const Value p = b.pointer("x", f32, false), y = b.pointer("y", f32, true);
  const Value i = b.program_id(0) * tile + b.arange(0, tile);
  b.store(y + i, unary(word, b.load(p + i)));
  return b.finish();
}

/// rows x columns in one tile.
Program softmax_program(std::int64_t rows, std::int64_t columns) {
  Builder b("softmax");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), n = b.scalar("n", i64);
  const Value row_number = b.program_id(0) * rows + b.arange(0, rows);
  const Value place = col(row_number * columns) + row(b.arange(0, columns));
  const Value mask = broadcast(col(row_number < n), {rows, columns});
  const Value v = b.load(x + place, mask);
  const Value e = unary(Word::Exp, v - reduce(v, 1, Reduction::Max));
  b.store(y + place, e / reduce(e, 1, Reduction::Sum), mask);
  return b.finish();
}

/// One row, in pieces: the maximum and the sum are found in a first pass, the second one writes.
Program long_softmax_program(std::int64_t columns, std::int64_t piece) {
  Builder b("softmax_looped");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true);
  const Value start = b.program_id(0) * columns;
  const Value zero = b.constant(std::int64_t{0}, i64), end = b.constant(columns, i64), step = b.constant(piece, i64);
  const auto state = b.for_(zero, end, step, {b.full({1}, -HUGE_VAL, f32), b.full({1}, 0, f32)},
                            [&](Value j, std::span<const Value> carried) -> std::vector<Value> {
                              const Value v = b.load(x + (start + j) + b.arange(0, piece));
                              const Value largest = binary(Word::Max, carried[0], reduce(v, 0, Reduction::Max));
                              const Value sum = carried[1] * unary(Word::Exp, carried[0] - largest) +
                                                reduce(unary(Word::Exp, v - largest), 0, Reduction::Sum);
                              return {largest, sum};
                            });
  b.for_(zero, end, step, {}, [&](Value j, std::span<const Value>) -> std::vector<Value> {
    const Value place = (start + j) + b.arange(0, piece);
    b.store(y + place, unary(Word::Exp, b.load(x + place) - state[0]) / state[1]);
    return {};
  });
  return b.finish();
}

Program layer_norm_program(std::int64_t rows, std::int64_t columns) {
  Builder b("layer_norm");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, true), weight = b.pointer("w", f32, false),
              bias = b.pointer("b", f32, false);
  const Value row_number = b.program_id(0) * rows + b.arange(0, rows), column = b.arange(0, columns);
  const Value place = col(row_number * columns) + row(column);
  const Value v = b.load(x + place);
  const Value mean = reduce(v, 1, Reduction::Sum) * (1.0 / static_cast<double>(columns));
  const Value d = v - mean;
  const Value variance = reduce(d * d, 1, Reduction::Sum) * (1.0 / static_cast<double>(columns));
  const Value scale = unary(Word::Rsqrt, variance + 1e-5);
  b.store(y + place, d * scale * b.load(weight + row(column)) + b.load(bias + row(column)));
  return b.finish();
}

Program adam_program(std::int64_t tile) {
  Builder b("adam");
  const Value p = b.pointer("p", f32, true), m = b.pointer("m", f32, true), v = b.pointer("v", f32, true), g = b.pointer("g", f32, false);
  const Value n = b.scalar("n", i64), rate = b.scalar("rate", f32), t = b.scalar("t", f32);
  const Value i = b.program_id(0) * tile + b.arange(0, tile), mask = i < n;
  const Value gradient = b.load(g + i, mask), mean = b.load(m + i, mask), square = b.load(v + i, mask), weight = b.load(p + i, mask);
  const Value mean_next = mean * 0.9 + gradient * 0.1;
  const Value square_next = square * 0.999 + gradient * gradient * 0.001;
  const Value first = 1.0 - binary(Word::Pow, number(0.9, t), t), second = 1.0 - binary(Word::Pow, number(0.999, t), t);
  const Value step = rate / first * mean_next / (unary(Word::Sqrt, square_next / second) + 1e-8);
  b.store(m + i, mean_next, mask);
  b.store(v + i, square_next, mask);
  b.store(p + i, weight - step, mask);
  return b.finish();
}

void bandwidth(const Floats& x, const Floats& y, std::size_t count) {
  const auto best = [&](auto&& f) { return 2.0 * static_cast<double>(count) * 4 / measure(f).best; };
  const double plain = best([&] {
#pragma omp parallel num_threads(threads)
    {
      const std::size_t part = count / static_cast<std::size_t>(threads), begin = part * static_cast<std::size_t>(omp_get_thread_num());
      std::memcpy(y.get() + begin, x.get() + begin, part * 4);
    }
  });
  const auto kernel = host::compile_program(copy_program(4096));
  runtime::Argument arguments[3];
  arguments[0].pointer = x.get(), arguments[1].pointer = y.get(), arguments[2].integer = static_cast<std::int64_t>(count);
  const runtime::ArgumentSet set{arguments, {static_cast<std::int64_t>(count) / 4096, 1, 1}};
  const double streamed = best([&] { kernel->launch({&set, 1}, {threads, true, nullptr}); });
  copy_rate = std::max(plain, streamed);
  std::printf("copy: memcpy %.1f GB/s, past the caches %.1f GB/s, %d threads\n", plain / 1e9, streamed / 1e9, threads);
}

void run(const std::string& name, const Program& program, std::vector<runtime::Argument> arguments, std::int64_t grid, bool streaming,
         double bytes, int with_threads) {
  if (!want(name)) return;
  const auto kernel = host::compile_program(program);
  if (std::getenv("TEGULA_LISTING")) std::printf("%s\n", kernel->listing().c_str());
  const runtime::ArgumentSet set{arguments.data(), {grid, 1, 1}};
  report(name, measure([&] { kernel->launch({&set, 1}, {with_threads, streaming, nullptr}); }), bytes);
}

runtime::Argument pointer(float* p) { return {.pointer = p}; }
runtime::Argument integer(std::int64_t i) { return {.integer = i}; }
runtime::Argument real(double x) { return {.real = x}; }

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) threads = std::atoi(argv[1]);
  for (int i = 2; i < argc; ++i) wanted.emplace_back(argv[i]);
  constexpr std::int64_t kCount = 32 << 20;  // 128 MiB
  const Floats x(kCount), y(kCount);
  if (std::getenv("TEGULA_BENCH_NO_COPY") == nullptr) bandwidth(x, y, kCount);
  const double bytes = 2.0 * kCount * 4;

  for (const std::int64_t tile : {512, 1024, 2048, 4096, 8192}) {
    run("chain of nine, 128 MiB, tile " + std::to_string(tile), chain_program(tile), {pointer(x.get()), pointer(y.get()), integer(kCount)},
        kCount / tile, true, bytes, threads);
  }
  run("nine cheap words, 128 MiB", cheap_program(2048), {pointer(x.get()), pointer(y.get()), integer(kCount)}, kCount / 2048, true, bytes,
      threads);
  constexpr std::int64_t kSmall = 256 << 10;  // 1 MiB
  run("chain of nine, 1 MiB", chain_program(2048), {pointer(x.get()), pointer(y.get()), integer(kSmall)}, kSmall / 2048, false,
      2.0 * kSmall * 4, threads);
  run("copy, 1 MiB", copy_program(2048), {pointer(x.get()), pointer(y.get()), integer(kSmall)}, kSmall / 2048, false, 2.0 * kSmall * 4,
      threads);
  for (const std::int64_t rows : {1, 2, 4, 8}) {
    run("softmax 8192x1024, rows " + std::to_string(rows), softmax_program(rows, 1024), {pointer(x.get()), pointer(y.get()), integer(8192)},
        8192 / rows, true, 2.0 * 8192 * 1024 * 4, threads);
  }
  for (const std::int64_t rows : {8, 16, 32, 64}) {
    run("softmax 131072x64, rows " + std::to_string(rows), softmax_program(rows, 64), {pointer(x.get()), pointer(y.get()), integer(131072)},
        131072 / rows, true, 2.0 * 131072 * 64 * 4, threads);
  }
  for (const std::int64_t piece : {1024, 2048, 4096}) {
    run("softmax 512x32768 looped, piece " + std::to_string(piece), long_softmax_program(32768, piece),
        {pointer(x.get()), pointer(y.get())}, 512, true, 2.0 * 512 * 32768 * 4, threads);
  }
  run("softmax 512x32768, whole rows", softmax_program(1, 32768), {pointer(x.get()), pointer(y.get()), integer(512)}, 512, true,
      2.0 * 512 * 32768 * 4, threads);
  for (const std::int64_t rows : {1, 2, 4}) {
    run("layer norm 8192x1024, rows " + std::to_string(rows), layer_norm_program(rows, 1024),
        {pointer(x.get()), pointer(y.get()), pointer(x.get()), pointer(x.get())}, 8192 / rows, true, 2.0 * 8192 * 1024 * 4, threads);
  }
  run("layer norm 131072x64", layer_norm_program(32, 64), {pointer(x.get()), pointer(y.get()), pointer(x.get()), pointer(x.get())},
      131072 / 32, true, 2.0 * 131072 * 64 * 4, threads);
  constexpr std::int64_t kParameters = 784 * 16 + 16 + 160 + 10;
  for (const std::int64_t tile : {256, 512, 1024, 2048, 4096}) {
    const Floats p(kParameters), m(kParameters), v(kParameters), g(kParameters);
    for (std::int64_t i = 0; i < kParameters; ++i) v.get()[i] = 1e-3f;
    run("adam, 12.7k parameters, one thread, tile " + std::to_string(tile), adam_program(tile),
        {pointer(p.get()), pointer(m.get()), pointer(v.get()), pointer(g.get()), integer(kParameters), real(1e-3), real(10)},
        (kParameters + tile - 1) / tile, false, 7.0 * kParameters * 4, 1);
  }
  run("launch: copy of 16 floats", copy_program(16), {pointer(x.get()), pointer(y.get()), integer(16)}, 1, false, 128, 1);
  run("instances: copy of 16 floats 65536 times", copy_program(16), {pointer(x.get()), pointer(y.get()), integer(1 << 20)}, 65536, false,
      2.0 * 65536 * 64, 1);
  for (const Word word : {Word::Neg, Word::Sqrt, Word::Exp, Word::Expm1, Word::Log, Word::Log1p, Word::Tanh, Word::Sigmoid, Word::Erf,
                          Word::Sin, Word::Rsqrt}) {
    run("word: " + std::string(name(word)) + ", 32 KiB, one thread", unary_program(word, 2048), {pointer(x.get()), pointer(y.get())}, 4,
        false, 2.0 * 32768, 1);
  }
}

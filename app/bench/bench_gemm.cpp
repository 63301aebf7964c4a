// tegula bench gemm, batched-gemm, lu: products of square matrices, large ones alone and small ones together; factors.

#include <cstdio>
#include <memory>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "tegula/bench/tile_product.h"
#include "tegula/compile/jit.h"
#include "tegula/graph/evaluate.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/linalg/factors.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::app {
namespace {

struct GemmChoice : BenchChoice {
  std::vector<std::string> given;  // sizes
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1000;  // matrices of a batch
  bool tile = false;  // beside a kernel in the tile language
};

Tensor random_matrices(const Shape& shape, DType dtype) {
  const Tensor x = uniform(shape, -1, 1, {.dtype = dtype});
  eval(x);
  return x;
}

/// The distance of some rows of c from a b, relative to the sizes of what is added up: max |c - a b| / (N max |a| max |b|).
double product_error(const Tensor& a, const Tensor& b, const Tensor& c) {
  const std::int64_t rows = std::min<std::int64_t>(a.size(0), 8);
  const Tensor fine_a = cast(slice(a, 0, {0, rows}), f64), fine_b = cast(b, f64);
  const Tensor off = max(abs(cast(slice(c, 0, {0, rows}), f64) - matmul(fine_a, fine_b)));
  return (off / (static_cast<double>(a.size(0)) * max(abs(fine_a)) * max(abs(fine_b)))).item<double>();
}

/// ‖P A - L U‖ / (N ‖A‖ ε), as LAPACK's tests have it: of the order of 1 at most.
double lu_residual(const Tensor& a) {
  const auto [p, l, u] = lu(a);
  const Tensor fine = cast(a, f64);
  const double epsilon = a.dtype() == f64 ? 0x1p-52 : 0x1p-23, n = static_cast<double>(a.size(0));
  const Tensor off = norm(matmul(cast(p, f64), matmul(cast(l, f64), cast(u, f64))) - fine);
  return (off / (n * epsilon * norm(fine))).item<double>();
}

/// Sizes a step apart are an axis of their own; powers are not.
io::Scale scale_of(const std::vector<std::int64_t>& sizes) {
  return sizes.size() > 1 && sizes.back() < 16 * sizes.front() ? io::Scale::Linear : io::Scale::Log2;
}

void gemm(GemmChoice choice) {
  if (choice.sizes.empty())
    choice.sizes = choice.quick ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{128, 256, 512, 1000, 2000, 4000, 6000};
  Report report("gemm", {{"device", "device", 7},
                         {"precision", "precision", 9},
                         {"n", "N", 6, 0},
                         {"seconds", "time ms", 10, 3, 1e3},
                         {"flops", "GFLOP/s", 10, 1, 1e-9},
                         {"share", "% of peak", 9, 1, 100},
                         {"error", "error 1e-8", 11, 3, 1e8}});
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (const auto& precision : chosen_precisions(choice, {"fp32", "tf32", "bf16", "fp16", "fp8"}, *device)) {
      for (const std::int64_t n : choice.sizes) {
        const Tensor a = random_matrices({n, n}, precision.dtype), b = random_matrices({n, n}, precision.dtype);
        const PrecisionScope arithmetic(precision.arithmetic);
        auto product = jit([&] { return matmul(a, b); });
        const double seconds = runtime::measure(*device, [&] { product(); }, choice.measuring()).median;
        const auto size = static_cast<double>(n);
        const double rate = 2 * size * size * size / seconds;
        report.add({device->name(), precision.name, size, seconds, rate, share_of(rate, peak_of(*device, precision)),
                    product_error(a, b, product())});
      }
    }
  }
  finish(choice, report,
         {.title = "C = A B of N x N matrices",
          .x_label = "N",
          .panels = {{.y_label = "GFLOP/s", .series = report.curves("n", "flops", {"device", "precision"}), .y_scale = io::Scale::Log10}},
          .x_scale = scale_of(choice.sizes)});
}

/// Tiles that the kernel is measured with; on the CPU one is as good as another.
std::vector<TileOfProduct> tiles_on(const Device& device, DType dtype) {
  const int terms = dtype == f32 ? 32 : 64;
  if (device.name() == "cpu") return {{64, 64, terms}};
  return {{128, 256, terms}, {128, 128, terms}, {64, 128, terms}, {64, 64, terms}};
}

void tile_gemm(GemmChoice choice) {
  if (choice.sizes.empty())
    choice.sizes = choice.quick ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{256, 512, 1024, 2048, 4096, 8192};
  Report report("gemm", {{"device", "device", 7},
                         {"precision", "precision", 9},
                         {"n", "N", 6, 0},
                         {"form", "form", 8},
                         {"tile", "tile", 12},
                         {"seconds", "time ms", 10, 3, 1e3},
                         {"flops", "GFLOP/s", 10, 1, 1e-9},
                         {"share", "of library", 10, 3},
                         {"error", "error 1e-6", 11, 1, 1e6}});
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (const auto& precision : chosen_precisions(choice, {"bf16"}, *device)) {
      if (!is_half(precision.dtype) && precision.arithmetic != Precision::tf32) {
        std::fprintf(stderr, "tegula: the kernel in tiles multiplies in tf32, bf16 and fp16, not in %s\n", precision.name.c_str());
        continue;
      }
      for (const std::int64_t n : choice.sizes) {
        const Tensor a = random_matrices({n, n}, precision.dtype), b = random_matrices({n, n}, precision.dtype);
        const PrecisionScope arithmetic(precision.arithmetic);
        const auto size = static_cast<double>(n);
        double library = 0;
        const auto seconds_of = [&](auto& product) { return runtime::measure(*device, [&] { product(a, b); }, choice.measuring()).median; };
        const auto line = [&](const char* form, const std::string& tile, double seconds, const Tensor& product) {
          const double rate = 2 * size * size * size / seconds;
          if (library == 0) library = rate;
          report.add({device->name(), precision.name, size, form, tile, seconds, rate, rate / library, product_error(a, b, product)});
        };
        auto called = jit([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
        line("library", "", seconds_of(called), called(a, b));
        double best = 0;
        TileOfProduct fastest;
        for (const TileOfProduct& tile : tiles_on(*device, precision.dtype)) {
          auto own = jit([tile](const Tensor& x, const Tensor& y) { return tile_product(x, y, false, tile); });
          const double seconds = seconds_of(own);
          if (best == 0 || seconds < best) best = seconds, fastest = tile;
        }
        line("tile", to_string(fastest), best, tile_product(a, b, false, fastest));
      }
    }
  }
  finish(choice, report,
         {.title = "C = A B of N x N matrices: the library, and a kernel in the tile language",
          .x_label = "N",
          .panels = {{.y_label = "GFLOP/s",
                      .series = report.curves("n", "flops", {"device", "precision", "form"}),
                      .y_scale = io::Scale::Log10}},
          .x_scale = scale_of(choice.sizes)});
}

void factor(GemmChoice choice) {
  if (choice.sizes.empty())
    choice.sizes = choice.quick ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{123, 1000, 2000, 3000, 4000, 5000, 6000};
  Report report("lu", {{"device", "device", 7},
                       {"precision", "precision", 9},
                       {"n", "N", 6, 0},
                       {"seconds", "time ms", 10, 3, 1e3},
                       {"flops", "GFLOP/s", 10, 1, 1e-9},
                       {"residual", "|PA-LU|/(N|A|eps)", 18, 4}});
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (const auto& precision : chosen_precisions(choice, {"fp64"}, *device)) {
      if (is_half(precision.dtype)) {
        std::fprintf(stderr, "tegula: lu computes in fp32 and fp64, not in %s\n", precision.name.c_str());
        continue;
      }
      for (const std::int64_t n : choice.sizes) {
        const Tensor a = random_matrices({n, n}, precision.dtype);
        auto factors = jit([](const Tensor& x) { return lu_factor(x).packed; });  // what only depends on captured tensors is computed once
        const double seconds = runtime::measure(*device, [&] { factors(a); }, choice.measuring()).median;
        const auto size = static_cast<double>(n);
        report.add({device->name(), precision.name, size, seconds, 2.0 / 3 * size * size * size / seconds, lu_residual(a)});
      }
    }
  }
  finish(choice, report,
         {.title = "P A = L U of N x N matrices",
          .x_label = "N",
          .panels = {{.y_label = "GFLOP/s", .series = report.curves("n", "flops", {"device", "precision"})}},
          .x_scale = scale_of(choice.sizes)});
}

void batched_gemm(GemmChoice choice) {
  if (choice.sizes.empty())
    choice.sizes = choice.quick ? std::vector<std::int64_t>{4, 8} : std::vector<std::int64_t>{4, 8, 16, 32, 64, 128};
  if (choice.quick) choice.count = std::min<std::int64_t>(choice.count, 10);
  Report report("batched-gemm", {{"device", "device", 7},
                                 {"precision", "precision", 9},
                                 {"n", "N", 5, 0},
                                 {"count", "matrices", 8, 0},
                                 {"form", "form", 8},
                                 {"seconds", "time ms", 10, 3, 1e3},
                                 {"flops", "GFLOP/s", 9, 2, 1e-9},
                                 {"share", "% of peak", 9, 2, 100},
                                 {"speedup", "times the loop", 14, 1}});
  for (Device* device : choice.chosen_devices()) {
    note_device(report, *device);
    set_default_device(*device);
    for (const auto& precision : chosen_precisions(choice, {"fp32"}, *device)) {
      for (const std::int64_t n : choice.sizes) {
        const Tensor a = random_matrices({choice.count, n, n}, precision.dtype), b = random_matrices({choice.count, n, n}, precision.dtype);
        std::vector<std::pair<Tensor, Tensor>> pairs;
        for (std::int64_t i = 0; i < choice.count; ++i)
          pairs.emplace_back(random_matrices({n, n}, precision.dtype), random_matrices({n, n}, precision.dtype));
        const PrecisionScope arithmetic(precision.arithmetic);
        auto one = jit([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
        auto all = jit([&] { return matmul(a, b); });
        const auto size = static_cast<double>(n), count = static_cast<double>(choice.count);
        double loop = 0;
        const auto line = [&](const std::string& form, double seconds) {
          if (loop == 0) loop = seconds;
          const double rate = 2 * size * size * size * count / seconds;
          report.add({device->name(), precision.name, size, count, form, seconds, rate, share_of(rate, peak_of(*device, precision)),
                      loop / seconds});
        };
        line("loop", runtime::measure(
                         *device,
                         [&] {
                           for (const auto& [x, y] : pairs) one(x, y);
                         },
                         choice.measuring())
                         .median);
        line("batched", runtime::measure(*device, [&] { all(); }, choice.measuring()).median);
      }
    }
  }
  finish(choice, report,
         {.title = std::to_string(choice.count) + " products of N x N matrices",
          .x_label = "N",
          .panels = {{.y_label = "GFLOP/s",
                      .series = report.curves("n", "flops", {"device", "precision", "form"}),
                      .y_scale = io::Scale::Log10}},
          .x_scale = io::Scale::Log2});
}

Command add(Command& bench, const std::string& name, const std::string& text, const std::shared_ptr<GemmChoice>& choice) {
  Command command = bench.command(name, text);
  add_options(command, *choice, WithPrecision::Yes);
  add_sizes(command, choice->given);
  return command;
}

}  // namespace

void add_bench_gemm(Command& bench) {
  auto choice = std::make_shared<GemmChoice>();
  Command command = add(bench, "gemm", "GFLOP/s of a matrix product against its size, on each device and in each precision", choice);
  command.flag("--tile", choice->tile, "beside a kernel in the tile language, the fastest of some tiles");
  command.runs([choice] {
    require_files(*choice);
    choice->sizes = sizes_of(choice->given);
    choice->tile ? tile_gemm(*choice) : gemm(*choice);
  });
}

void add_bench_lu(Command& bench) {
  auto choice = std::make_shared<GemmChoice>();
  add(bench, "lu", "GFLOP/s of an LU factorisation against its size, with the residual, on each device", choice).runs([choice] {
    require_files(*choice);
    choice->sizes = sizes_of(choice->given);
    factor(*choice);
  });
}

void add_bench_batched_gemm(Command& bench) {
  auto choice = std::make_shared<GemmChoice>();
  Command command = add(bench, "batched-gemm", "many small matrix products: one after another, and as one batch", choice);
  command.option("--count", choice->count, "matrices of a batch").check(positive()).shows_default().type("N");
  command.runs([choice] {
    require_files(*choice);
    choice->sizes = sizes_of(choice->given);
    batched_gemm(*choice);
  });
}

}  // namespace tegula::app

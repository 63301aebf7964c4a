// Attention in the tile language (ops/products/attention_tiles.h) beside cuDNN's, on a GPU: first whether it is right, then rates. Rates are medians of
// replays, ours and the library's in turn. Usage: bench_tile_attention [check|rates] [quick], where check is values alone and rates is speeds alone; or
// bench_tile_attention gradients: forward and backward together by what TEGULA_TUNE says (tiles, or 1 for the library's); or backward: the gradients alone, by the
// rows of blocks, beside what they add to the library's forward pass; or forms: windows, masks, biases and lengths, by the rows of blocks.

#include <tegula/tegula.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <tegula/bench.h>

#include "bench/measure.h"
#include "tegula/ops/products/attention_tiles.h"

using namespace tegula;

namespace {

struct Problem {
  std::int64_t batch, heads, length, width;
  bool causal;
};

/// (B, H, T, D)
struct Blocks {
  std::int64_t keys = 0, queries = 0;
};
/// (B, H, T, D)
Tensor ours(const Problem& p, const std::vector<Tensor>& x, const Blocks& blocks = {}) {
  const ops::AttentionForm form{.causal = p.causal, .scale = 1 / std::sqrt(static_cast<double>(p.width))};
  return permute(ops::attention_tiles_nodes(form, x, blocks.keys, blocks.queries)[0], {0, 2, 1, 3});
}
Tensor library(const Problem& p, const std::vector<Tensor>& x) {
  return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = p.causal});
}

/// (B, T, H, D), as both leave it: a plan's result is copied where it is another view.
Tensor as_stored(const Tensor& result) { return permute(result, {0, 2, 1, 3}); }

std::vector<Tensor> inputs_of(const Problem& p, DType dtype) {
  std::vector<Tensor> x;
  for (int i = 0; i < 3; ++i) x.push_back(normal({p.batch, p.heads, p.length, p.width}, 0, 1, {.dtype = dtype}));
  return x;
}

bool is_right(const Problem& p, DType dtype) {
  const std::vector<Tensor> x = inputs_of(p, dtype);
  std::vector<Tensor> wide;
  for (const Tensor& one : x) wide.push_back(cast(one, f32));
  const Tensor wanted = library(p, wide);
  const auto error = [&](const Tensor& found) -> double { return max(abs(cast(found, f32) - wanted)).item(); };
  const double peer = error(library(p, x));
  double own = 0;
  bool right = true;
  for (const std::int64_t queries : {64, 128}) {
    for (const std::int64_t keys : {64, 128}) {
      const double one = error(ours(p, x, {keys, queries}));
      right = right && one <= (dtype == bf16 ? 2e-2 : 3e-3), own = std::max(own, one);
    }
  }
  std::printf("%s T %lld D %lld %s: error %.2e, the library's %.2e, %s\n", std::string(name(dtype)).c_str(),
              static_cast<long long>(p.length), static_cast<long long>(p.width), p.causal ? "causal" : "full", own, peer,
              right ? "right" : "WRONG");
  return right;
}

void measure(const Problem& p) {
  const std::vector<Tensor> x = inputs_of(p, bf16);
  const auto n = [](std::int64_t i) { return static_cast<double>(i); };
  const double flops = (p.causal ? 0.5 : 1) * 4 * n(p.batch) * n(p.heads) * n(p.length) * n(p.length) * n(p.width);
  const BenchOptions options{.warmup = 30, .rep = 150, .clear_cache = false};
  const auto rate = [&](auto&& f) {
    return flops /
           (do_bench_cudagraph([&](const std::vector<Tensor>& y) { return std::vector<Tensor>{f(p, y)}; }, x, options).median() * 1e-3) /
           1e12;
  };
  constexpr Blocks kChoices[] = {{64, 64}, {128, 64}, {64, 128}, {128, 128}, {64, 256}};
  const auto fits = [&](const Blocks& one) { return one.queries < 256 || p.width <= 64; };  // registers
  double own = 0, peer = 0, rates[std::size(kChoices)] = {};
  for (int turn = 0; turn < 2; ++turn) {
    peer = std::max(peer, rate([](const Problem& one, const std::vector<Tensor>& y) { return as_stored(library(one, y)); }));
    for (std::size_t i = 0; i < std::size(kChoices); ++i) {
      if (!fits(kChoices[i])) continue;
      rates[i] =
          std::max(rates[i], rate([&](const Problem& one, const std::vector<Tensor>& y) { return as_stored(ours(one, y, kChoices[i])); }));
      own = std::max(own, rates[i]);
    }
  }
  std::printf("B %lld H %lld T %5lld D %3lld %s  library %.0f TFLOP/s, ours %.0f, ratio %.3f (keys x queries",
              static_cast<long long>(p.batch), static_cast<long long>(p.heads), static_cast<long long>(p.length),
              static_cast<long long>(p.width), p.causal ? "causal" : "full  ", peer, own, own / peer);
  for (std::size_t i = 0; i < std::size(kChoices); ++i)
    if (fits(kChoices[i]))
      std::printf(" %lldx%lld %.0f", static_cast<long long>(kChoices[i].keys), static_cast<long long>(kChoices[i].queries), rates[i]);
  std::printf(")\n");
  std::fflush(stdout);
}

void measure_gradients(const Problem& p) {
  std::vector<Tensor> x = inputs_of(p, bf16);
  x.push_back(normal({p.batch, p.heads, p.length, p.width}, 0, 1, {.dtype = bf16}));
  const auto gradients = [&](const std::vector<Tensor>& y) { return grad(sum(cast(library(p, y) * y[3], f32)), {y[0], y[1], y[2]}); };
  const auto n = [](std::int64_t i) { return static_cast<double>(i); };
  const double flops = (p.causal ? 0.5 : 1) * 14 * n(p.batch) * n(p.heads) * n(p.length) * n(p.length) * n(p.width);
  const double seconds = do_bench_cudagraph(gradients, x, {.warmup = 30, .rep = 150, .clear_cache = false}).median() * 1e-3;
  double size = 0;
  for (const Tensor& one : gradients(x)) size += mean(abs(cast(one, f32))).item();
  std::printf("gradients: B %lld H %lld T %5lld D %3lld %s  %.0f TFLOP/s, mean of magnitudes %.6f\n", static_cast<long long>(p.batch),
              static_cast<long long>(p.heads), static_cast<long long>(p.length), static_cast<long long>(p.width),
              p.causal ? "causal" : "full  ", flops / seconds / 1e12, size);
  std::fflush(stdout);
}

double seconds_of(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& x) {
  return do_bench_cudagraph(f, x, {.warmup = 20, .rep = 100, .clear_cache = false}).median() * 1e-3;
}
double operations_of(const Problem& p, double products) {
  const auto n = [](std::int64_t i) { return static_cast<double>(i); };
  return (p.causal ? 0.5 : 1) * 2 * products * n(p.batch) * n(p.heads) * n(p.length) * n(p.length) * n(p.width);
}

void measure_backward(const Problem& p) {
  const ops::AttentionForm form{.causal = p.causal, .scale = 1 / std::sqrt(static_cast<double>(p.width))};
  std::vector<Tensor> x = inputs_of(p, bf16);
  const Tensor g = normal({p.batch, p.length, p.heads, p.width}, 0, 1, {.dtype = bf16});
  const auto forward = [&](const std::vector<Tensor>& y) { return std::vector<Tensor>{as_stored(library(p, y))}; };
  const auto both = [&](const std::vector<Tensor>& y) { return grad(sum(cast(as_stored(library(p, y)) * y[3], f32)), {y[0], y[1], y[2]}); };
  std::vector<Tensor> given = x;
  given.push_back(g);
  const double peer = operations_of(p, 5) / (seconds_of(both, given) - seconds_of(forward, x)) / 1e12;
  std::vector<Tensor> made = ops::attention_tiles_nodes(form, x);
  x.push_back(made[0]), x.push_back(made[1]), x.push_back(g);
  std::vector<double> wanted;
  std::printf("backward: B %lld H %lld T %5lld D %3lld %s  library %.0f TFLOP/s, keys and queries of blocks",
              static_cast<long long>(p.batch), static_cast<long long>(p.heads), static_cast<long long>(p.length),
              static_cast<long long>(p.width), p.causal ? "causal" : "full  ", peer);
  for (const ops::AttentionBlocks& blocks : {ops::AttentionBlocks{64, 64}, {128, 64}, {64, 128}, {128, 128}}) {
    const auto gradients = [&](const std::vector<Tensor>& y) {
      std::vector<Tensor> all = ops::attention_tiles_gradients(form, y, blocks);
      all.pop_back();
      return all;
    };
    bool right = true;
    const std::vector<Tensor> found = gradients(x);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double size = mean(abs(cast(found[k], f32))).item();
      if (wanted.size() <= k) wanted.push_back(size);
      right = right && std::abs(size - wanted[k]) <= 1e-3 * wanted[k];
    }
    std::printf(", %lldx%lld %.0f%s", static_cast<long long>(blocks.keys), static_cast<long long>(blocks.queries),
                operations_of(p, 5) / seconds_of(gradients, x) / 1e12, right ? "" : " WRONG");
    std::fflush(stdout);
  }
  std::printf("\n");
}

void measure_forms(const Problem& p) {
  const double scale = 1 / std::sqrt(static_cast<double>(p.width));
  struct Named {
    const char* name;
    ops::AttentionForm form;
  };
  for (const auto& [name, form] :
       {Named{"window", {.causal = true, .window = 1024, .scale = scale}}, Named{"mask", {.scale = scale, .mask = true}},
        Named{"bias", {.causal = true, .scale = scale, .bias = true}}, Named{"mask and bias", {.scale = scale, .mask = true, .bias = true}},
        Named{"lengths", {.scale = scale, .lengths = true}}}) {
    std::vector<Tensor> x = inputs_of(p, bf16);
    const Shape scores{p.batch, p.heads, p.length, p.length};
    if (form.mask) x.push_back(expand(normal({1, 1, p.length, p.length}) > -1.0, scores));
    if (form.bias) x.push_back(expand(normal({1, p.heads, p.length, p.length}, 0, 1, {.dtype = bf16}), scores));
    if (form.lengths) x.push_back(iota({p.batch}, 0) * -100 + p.length);
    std::printf("%s: B %lld H %lld T %5lld D %3lld, milliseconds by keys x queries", name, static_cast<long long>(p.batch),
                static_cast<long long>(p.heads), static_cast<long long>(p.length), static_cast<long long>(p.width));
    for (const Blocks& blocks : {Blocks{64, 64}, {128, 64}, {64, 128}, {128, 128}})
      std::printf(" %lldx%lld %.3f", static_cast<long long>(blocks.keys), static_cast<long long>(blocks.queries),
                  1e3 * seconds_of(
                            [&, f = form](const std::vector<Tensor>& y) {
                              return std::vector<Tensor>{ops::attention_tiles_nodes(f, y, blocks.keys, blocks.queries)[0]};
                            },
                            x));
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = [&](const char* word) { return bench::asked(argc, argv, word); };
  bench::choose_device();
  if (asked("gradients")) {
    for (const Problem& p : {Problem{2, 3, 1000, 64, true}, {8, 16, 4096, 128, true}, {8, 32, 4096, 64, true}}) measure_gradients(p);
    return 0;
  }
  if (asked("backward")) {
    for (const Problem& p : {Problem{8, 16, 4096, 128, true}, {8, 32, 4096, 64, true}}) measure_backward(p);
    return 0;
  }
  if (asked("forms")) {
    for (const Problem& p : {Problem{4, 16, 4096, 128, true}, {4, 16, 4096, 64, true}}) measure_forms(p);
    return 0;
  }
  bool right = true;
  for (const bool causal : {true, false}) {
    if (asked("rates")) break;
    for (const std::int64_t width : {64, 128})
      for (const std::int64_t length : {130, 512, 1000})
        for (const DType dtype : {bf16, f16}) right = is_right({2, 3, length, width, causal}, dtype) && right;
  }
  if (!right) return 1;
  if (asked("check")) return 0;
  measure({8, 16, 4096, 128, true});
  measure({8, 32, 4096, 64, true});
  if (asked("quick")) return 0;
  measure({1, 16, 16384, 128, true});
  measure({1, 32, 16384, 64, true});
  measure({8, 16, 4096, 128, false});
  measure({8, 32, 4096, 64, false});
  measure({32, 12, 1024, 64, true});
  measure({64, 12, 128, 64, false});
}

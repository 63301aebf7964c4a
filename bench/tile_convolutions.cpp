// Convolutions in the tile language (ops/products/convolution_tiles.h) beside the library's, on a GPU, layers of ResNet-50 in bf16, channels-last: first whether they are
// right, then rates. Rates are medians of replays, ours and the library's in turn; the last line is the geometric mean of their ratios.
// Usage: bench_tile_convolutions [check] [quick] [tiles] [forward] [data] [weight] [batch=64]; tiles: those beside the chosen one

#include <tegula/tegula.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <tegula/bench.h>

#include "bench/measure.h"
#include "tegula/ops/products/convolution_tiles.h"

using namespace tegula;
using ops::ConvolutionTile;
using runtime::ConvolutionPass;

namespace {

struct Layer {
  std::int64_t in, out, size, window, stride = 1;
};
const Layer kLayers[] = {{64, 64, 56, 1},      {64, 64, 56, 3},      {64, 256, 56, 1},      {256, 64, 56, 1},       {256, 128, 56, 1},
                         {128, 128, 56, 3, 2}, {256, 512, 56, 1, 2}, {128, 512, 28, 1},     {512, 128, 28, 1},      {128, 128, 28, 3},
                         {512, 256, 28, 1},    {256, 256, 28, 3, 2}, {512, 1024, 28, 1, 2}, {256, 1024, 14, 1},     {1024, 256, 14, 1},
                         {256, 256, 14, 3},    {1024, 512, 14, 1},   {512, 512, 14, 3, 2},  {1024, 2048, 14, 1, 2}, {512, 2048, 7, 1},
                         {2048, 512, 7, 1},    {512, 512, 7, 3}};
constexpr std::int64_t kInstances = 4 * 132;  // an H200's (simt/card.cpp)

std::string text(const Layer& l) {
  char line[64];
  std::snprintf(line, sizeof line, "%4lld -> %4lld, %2lld, %lldx%lld/%lld", static_cast<long long>(l.in), static_cast<long long>(l.out),
                static_cast<long long>(l.size), static_cast<long long>(l.window), static_cast<long long>(l.window),
                static_cast<long long>(l.stride));
  return line;
}
std::string text(const ConvolutionTile& t) {
  const auto n = [](std::int64_t i) { return std::to_string(i); };
  return n(t.images) + "." + n(t.rows) + "." + n(t.columns) + "x" + n(t.channels) + "x" + n(t.terms) +
         (t.splits > 1 ? "|" + n(t.splits) : "") + (t.specialize ? *t.specialize ? "+" : "-" : "");
}

/// A layer's tensors as channels-last ones, which both see with the channels behind the batch.
struct Problem {
  Layer layer;
  std::int64_t batch;
  Window window;
  Shape x, weight, y;
  Problem(const Layer& l, std::int64_t count) : layer(l), batch(count) {
    const PerAxis one = l.stride;
    window = make_window({l.size, l.size}, {l.window, l.window}, one, l.window / 2, 1, "bench", {});
    const std::int64_t out = window.output(0, l.size);
    x = {count, l.in, l.size, l.size}, weight = {l.out, l.in, l.window, l.window}, y = {count, l.out, out, out};
  }
  static Tensor drawn(const Shape& s) { return normal({s[0], s[2], s[3], s[1]}, 0, 1, {.dtype = bf16}); }
  static Tensor inside(const Tensor& t) { return permute(t, {0, 3, 1, 2}); }
  static Tensor outside(const Tensor& t) { return permute(t, {0, 2, 3, 1}); }
  std::vector<Tensor> operands(ConvolutionPass pass) const {
    const Tensor a = drawn(pass == ConvolutionPass::BackwardData ? y : x), b = drawn(pass == ConvolutionPass::BackwardWeight ? y : weight);
    return {a, b};
  }
  const Shape& result(ConvolutionPass pass) const {
    return pass == ConvolutionPass::Forward ? y : pass == ConvolutionPass::BackwardData ? x : weight;
  }
  Tensor ours(ConvolutionPass pass, const std::vector<Tensor>& in, const ConvolutionTile& tile) const {
    return outside(ops::convolution_tiles(pass, window, inside(in[0]), inside(in[1]), result(pass), tile));
  }
  Tensor library(ConvolutionPass pass, const std::vector<Tensor>& in) const {
    const Tensor a = inside(in[0]), b = inside(in[1]);
    const ConvolutionOptions options{.stride = layer.stride, .padding = layer.window / 2};
    if (pass == ConvolutionPass::Forward) return outside(conv2d(a, b, options));
    const bool data = pass == ConvolutionPass::BackwardData;
    // Each is linear in what it has no gradient of: zeros stand for it.
    const Tensor of_x = data ? zeros(x, a.dtype()) : a, of_w = data ? b : zeros(weight, a.dtype());
    return outside(vjp({conv2d(of_x, of_w, options)}, {data ? a : b}, {data ? of_x : of_w})[0]);
  }
  ConvolutionTile chosen(ConvolutionPass pass) const { return ops::choose_convolution_tile(pass, window, x, weight, y, kInstances); }
};
constexpr ConvolutionPass kPasses[] = {ConvolutionPass::Forward, ConvolutionPass::BackwardData, ConvolutionPass::BackwardWeight};
constexpr const char* kNames[] = {"forward", "data", "weight"};

bool is_right(const Problem& p, ConvolutionPass pass, ConvolutionTile tile) {
  const std::vector<Tensor> in = p.operands(pass);
  const Tensor wanted = p.library(pass, {cast(in[0], f32), cast(in[1], f32)});
  const double error = max(abs(cast(p.ours(pass, in, tile), f32) - wanted)).item(), size = max(abs(wanted)).item();
  const bool right = error <= 8e-3 * size;
  std::printf("%s %s in %s: error %.2e of %.1f, %s\n", text(p.layer).c_str(), kNames[static_cast<int>(pass)], text(tile).c_str(), error,
              size, right ? "right" : "WRONG");
  std::fflush(stdout);
  return right;
}

/// Microseconds of other tiles beside the chosen one.
void measure_tiles(const Problem& p, ConvolutionPass pass) {
  const std::vector<Tensor> in = p.operands(pass);
  const BenchOptions options{.warmup = 5, .rep = 20, .clear_cache = false};
  const auto time = [&](auto&& f) {
    return do_bench_cudagraph([&](const std::vector<Tensor>& y) { return std::vector<Tensor>{f(y)}; }, in, options).median() * 1e3;
  };
  std::string all;
  const ConvolutionTile chosen = p.chosen(pass);
  std::vector<ConvolutionTile> tiles{chosen};
  for (const std::int64_t channels : {64, 128, 256}) {
    for (const bool half : {false, true}) {
      ConvolutionTile tile = chosen;
      tile.channels = channels;
      if (half) (tile.images > 1 ? tile.images : tile.rows > 1 ? tile.rows : tile.columns) /= 2;
      if (channels > p.result(pass)[1] || tile == chosen || tile.images * tile.rows * tile.columns < 64) continue;
      tiles.push_back(tile);
    }
  }
  tiles.push_back(chosen), tiles.back().stages = 2;
  for (const ConvolutionTile& tile : tiles) try {
      char part[80];
      std::snprintf(part, sizeof part, "  %s%s %.1f", text(tile).c_str(), tile.stages > 0 ? "/2" : "",
                    time([&](const std::vector<Tensor>& y) { return p.ours(pass, y, tile); }));
      all += part;
    } catch (const Error&) { all += "  refused"; }
  std::printf("%-7s %s  library %.1f us;%s\n", kNames[static_cast<int>(pass)], text(p.layer).c_str(),
              time([&](const std::vector<Tensor>& y) { return p.library(pass, y); }), all.c_str());
  std::fflush(stdout);
}

double measure(const Problem& p, ConvolutionPass pass) {
  const std::vector<Tensor> in = p.operands(pass);
  const BenchOptions options{.warmup = 10, .rep = 40, .clear_cache = false};
  const auto time = [&](auto&& f) {
    return do_bench_cudagraph([&](const std::vector<Tensor>& y) { return std::vector<Tensor>{f(y)}; }, in, options).median() * 1e3;
  };
  const auto library = [&] { return time([&](const std::vector<Tensor>& y) { return p.library(pass, y); }); };
  const double before = library();
  const ConvolutionTile tile = p.chosen(pass);
  const double own = time([&](const std::vector<Tensor>& y) { return p.ours(pass, y, tile); });
  const double peer = std::min(before, library()), ratio = peer / own;
  std::printf("%-7s %s  library %.1f us, ours %.1f, %.3f; %s\n", kNames[static_cast<int>(pass)], text(p.layer).c_str(), peer, own, ratio,
              text(tile).c_str());
  std::fflush(stdout);
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = [&](const char* word) { return bench::asked(argc, argv, word); };
  bench::choose_device();
  std::int64_t batch = 64;
  for (int i = 1; i < argc; ++i)
    if (long long n = 0; std::sscanf(argv[i], "batch=%lld", &n) == 1) batch = n;
  const bool all_passes = !asked("forward") && !asked("data") && !asked("weight");
  bool right = true;
  for (const Layer& layer : {Layer{64, 72, 20, 3}, {40, 64, 13, 3, 2}, {64, 128, 15, 1}, {128, 64, 14, 1, 2}}) {
    const Problem p(layer, 3);
    for (const ConvolutionPass pass : kPasses) {
      for (const bool specialize : {false, true}) {
        ConvolutionTile tile = p.chosen(pass);
        tile.specialize = specialize;
        right = is_right(p, pass, tile) && right;
      }
    }
  }
  if (!right) return 1;
  if (asked("check")) return 0;
  for (const ConvolutionPass pass : kPasses) {
    if (!all_passes && !asked(kNames[static_cast<int>(pass)])) continue;
    double logs = 0, count = 0;
    for (const Layer& layer : kLayers) {
      if (asked("tiles")) {
        measure_tiles(Problem(layer, batch), pass);
        continue;
      }
      if (asked("quick") && count >= 3) break;
      logs += std::log(measure(Problem(layer, batch), pass)), ++count;
    }
    if (count > 0)
      std::printf("%s: geometric mean of %.0f layers %.3f of the library\n", kNames[static_cast<int>(pass)], count, std::exp(logs / count));
    std::fflush(stdout);
  }
}

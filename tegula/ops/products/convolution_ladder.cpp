#include "tegula/ops/products/convolution_ladder.h"

#include <algorithm>
#include <bit>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/ops/case.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/convolution_problem.h"
#include "tegula/ops/products/convolution_transforms.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/tile_launch.h"

namespace tegula {
namespace {

using ops::TileLaunch, tile::Tile, tile::arange, tile::program_id, tile::range;

constexpr ConvolutionAlgorithm kAlgorithms[] = {
    ConvolutionAlgorithm::Direct,   ConvolutionAlgorithm::Tiled, ConvolutionAlgorithm::Unrolled, ConvolutionAlgorithm::ImplicitGemm,
    ConvolutionAlgorithm::Winograd, ConvolutionAlgorithm::Fft,   ConvolutionAlgorithm::Library};

// The blocks of the products: (64, 32) · (32, 64) at most, smaller for small problems, 16 at least (what tensor cores take).
constexpr std::int64_t kLongest = 64, kDeepest = 32, kLeast = 16;
std::int64_t block(std::int64_t extent, std::int64_t most) {
  return std::clamp(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)))), kLeast, most);
}
std::int64_t blocks(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

class LadderOp final : public KernelOp {
 public:
  LadderOp(ConvolutionAlgorithm algorithm, const Window& window, Ref<const Op> library)
      : algorithm_(algorithm),
        window_(window),
        library_(std::move(library)) {}

  std::string_view name() const override {
    constexpr std::string_view names[] = {"convolution_direct", "convolution_tiled", "convolution_unrolled", "convolution_implicit_gemm"};
    return names[static_cast<int>(algorithm_)];
  }
  void attributes(Attributes& a) override {
    a.told_by_name(algorithm_);
    window_.attributes(a);
    if (const Signature* node = a.made_for()) {
      const Result &x = node->inputs[0], &w = node->inputs[1], &y = node->results[0];
      a.require(x.dtype == y.dtype && w.dtype == y.dtype && x.shape.rank() == 4, "dtype");
      a.require(ops::fits_convolution(window_, 1, x.shape, w.shape, y.shape), "window");
      library_ = ops::convolution_op(window_);
    }
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>& wanted) const override {
    return library_->gradient(y, dy, wanted);
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override {
    static_cast<const LibraryOp&>(*library_).reference(x, shapes, y, shape);
  }

  void lower(KernelContext& context) const override {
    switch (algorithm_) {
      case ConvolutionAlgorithm::Direct: return direct(context);
      case ConvolutionAlgorithm::Tiled: return tiled(context);
      case ConvolutionAlgorithm::Unrolled: return unrolled(context);
      default: return implicit_gemm(context);
    }
  }

 private:
  struct Sizes {
    std::int64_t n, c, h, w, o, kh, kw, p, q;
    explicit Sizes(const KernelContext& context) {
      const Shape &x = context.input(0).shape, &weight = context.input(1).shape, &y = context.output().shape;
      n = x[0], c = x[1], h = x[2], w = x[3], o = weight[0], kh = weight[2], kw = weight[3], p = y[2], q = y[3];
    }
    std::int64_t pixels() const { return p * q; }
    std::int64_t taps() const { return c * kh * kw; }
    double operations() const { return 2.0 * static_cast<double>(n * o * pixels()) * static_cast<double>(taps()); }
  };

  // The functions below are written in the tile language. Extents are arguments of a launch; the window is part of the program.
  static Tile inside(const Tile& at, const Tile& size) { return at >= 0 && at < size; }

  /// The input's index under the window's tap, along spatial axis 0 or 1.
  Tile input_place(int axis, const Tile& output, const Tile& tap) const {
    return output * window_.stride[axis] + (tap * window_.dilation[axis] - window_.low[axis]);
  }

  /// Terms of a product at a time, as many bytes of each dtype.
  static std::int64_t deepest(const KernelContext& context) { return context.output().dtype == f64 ? kDeepest / 2 : kDeepest; }

  /// The tile of pixels that an instance of `direct` and `unroll` works on: rows and columns of one map.
  static std::pair<std::int64_t, std::int64_t> pixel_tile(const KernelContext& context, const Sizes& s) {
    const std::int64_t columns = block(s.q, kLongest);
    return {std::clamp<std::int64_t>(context.tile_elements() / columns, 1, block(s.p, kLongest)), columns};
  }

  // y[n, o, p, q] += x[n, c, …] * w[o, c, i, j], for one tap after the other.
  void direct(KernelContext& context) const {
    const Sizes s(context);
    const auto [rows, columns] = pixel_tile(context, s);
    TileLaunch k(context, "convolution_direct");
    auto x = k.input(0), weight = k.input(1), y = k.output();
    auto c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), o = k.number(s.o), p = k.number(s.p), q = k.number(s.q);
    auto map = program_id(0), image = map / o, filter = map % o;
    auto at_p = col(k.positions(1, rows)), at_q = row(k.positions(2, columns));  // (rows, 1), (1, columns)
    auto total = k.zeros({rows, columns});
    for (auto channel : range(0, c)) {
      for (auto i : range(0, s.kh)) {
        for (auto j : range(0, s.kw)) {
          auto at_h = input_place(0, at_p, i), at_w = input_place(1, at_q, j);
          auto factor = load(weight + (((filter * c + channel) * s.kh + i) * s.kw + j));
          auto values = load(x + (((image * c + channel) * h + at_h) * w + at_w), inside(at_h, h) && inside(at_w, w));
          total = fma(values, factor, total);
        }
      }
    }
    store(y + ((map * p + at_p) * q + at_q), total, at_p < p && at_q < q);
    k.launch({s.n * s.o, blocks(s.p, rows), blocks(s.q, columns)}, s.operations());
  }

  // For each tap a product of blocks, (filters, channels) · (channels, pixels of one row); both lie where all threads of an instance see them.
  void tiled(KernelContext& context) const {
    const Sizes s(context);
    const std::int64_t filters = block(s.o, kLongest), channels = block(s.c, deepest(context)), columns = block(s.q, kLongest);
    TileLaunch k(context, "convolution_tiled");
    auto x = k.input(0), weight = k.input(1), y = k.output();
    auto c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), o = k.number(s.o), p = k.number(s.p), q = k.number(s.q);
    auto image = program_id(0) / p, at_p = program_id(0) % p;
    auto at_q = row(k.positions(1, columns)), filter = col(k.positions(2, filters));  // (1, columns), (filters, 1)
    auto total = k.zeros({filters, columns});
    for (auto i : range(0, s.kh)) {
      auto at_h = input_place(0, at_p, i), inside_h = inside(at_h, h);
      for (auto j : range(0, s.kw)) {
        auto at_w = input_place(1, at_q, j), inside_w = inside(at_w, w);
        for (auto first : range(0, c, channels)) {
          auto channel = first + arange(0, channels);  // (channels)
          auto factors = load(weight + (((filter * c + row(channel)) * s.kh + i) * s.kw + j), filter < o && row(channel) < c);
          auto values = load(x + (((image * c + col(channel)) * h + at_h) * w + at_w), col(channel) < c && inside_w && inside_h);
          total = dot(factors, values, total);
        }
      }
    }
    store(y + (((image * o + filter) * p + at_p) * q + at_q), total, filter < o && at_q < q);
    k.launch({s.n * s.p, blocks(s.q, columns), blocks(s.o, filters)}, s.operations());
  }

  // Image after image: the matrix (C*KH*KW, P*Q) of its windows, then weight (O, C*KH*KW) times that.
  void unrolled(KernelContext& context) const {
    const Sizes s(context);
    const int matrix = context.scratch(s.taps() * s.pixels() * static_cast<std::int64_t>(size_of(context.output().dtype)));
    for (std::int64_t image = 0; image < s.n; ++image) {
      unroll(context, s, image, matrix);
      multiply(context, s, image, matrix);
    }
  }

  void unroll(KernelContext& context, const Sizes& s, std::int64_t image, int matrix) const {
    const auto [rows, columns] = pixel_tile(context, s);
    TileLaunch k(context, "unroll");
    auto x = k.input(0), out = k.scratch(matrix, context.output().dtype, true);
    auto n = k.number(image), c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), p = k.number(s.p), q = k.number(s.q);
    auto channel = program_id(0), at_p = col(k.positions(1, rows)), at_q = row(k.positions(2, columns));
    for (auto i : range(0, s.kh)) {
      for (auto j : range(0, s.kw)) {
        auto at_h = input_place(0, at_p, i), at_w = input_place(1, at_q, j);
        auto values = load(x + (((n * c + channel) * h + at_h) * w + at_w), inside(at_h, h) && inside(at_w, w));
        store(out + ((((channel * s.kh + i) * s.kw + j) * p + at_p) * q + at_q), values, at_p < p && at_q < q);
      }
    }
    k.launch({s.c, blocks(s.p, rows), blocks(s.q, columns)}, static_cast<double>(s.taps() * s.pixels()));
  }

  void multiply(KernelContext& context, const Sizes& s, std::int64_t image, int matrix) const {
    const std::int64_t filters = block(s.o, kLongest), depth = block(s.taps(), deepest(context)), width = block(s.pixels(), kLongest);
    TileLaunch k(context, "gemm");
    auto weight = k.input(1), windows = k.scratch(matrix, context.output().dtype, false), y = k.output();
    auto n = k.number(image), o = k.number(s.o), taps = k.number(s.taps()), pixels = k.number(s.pixels());
    auto pixel = row(k.positions(0, width)), filter = col(k.positions(1, filters));
    auto total = k.zeros({filters, width});
    for (auto first : range(0, taps, depth)) {
      auto tap = first + arange(0, depth);
      auto factors = load(weight + (filter * taps + row(tap)), filter < o && row(tap) < taps);
      total = dot(factors, load(windows + (col(tap) * pixels + pixel), col(tap) < taps && pixel < pixels), total);
    }
    store(y + ((n * o + filter) * pixels + pixel), total, filter < o && pixel < pixels);
    k.launch({blocks(s.pixels(), width), blocks(s.o, filters), 1}, s.operations() / static_cast<double>(s.n));
  }

  // (O, C*KH*KW) · (C*KH*KW, N*P*Q); row and column of the second factor say where in x its element lies.
  void implicit_gemm(KernelContext& context) const {
    const Sizes s(context);
    const std::int64_t all = s.n * s.pixels();
    const std::int64_t filters = block(s.o, kLongest), depth = block(s.taps(), deepest(context)), width = block(all, kLongest);
    TileLaunch k(context, "convolution_implicit_gemm");
    auto x = k.input(0), weight = k.input(1), y = k.output();
    auto c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), o = k.number(s.o), q = k.number(s.q);
    auto pixels = k.number(s.pixels()), end = k.number(all), taps = k.number(s.taps());
    auto column = k.positions(0, width), filter = col(k.positions(1, filters));  // (width), (filters, 1)
    auto image = column / pixels, pixel = column % pixels;
    auto corner_h = input_place(0, pixel / q, 0), corner_w = input_place(1, pixel % q, 0);
    auto corner = row((image * c * h + corner_h) * w + corner_w);
    auto total = k.zeros({filters, width});
    for (auto first : range(0, taps, depth)) {
      auto tap = first + arange(0, depth), channel = tap / (s.kh * s.kw);
      auto down = tap / s.kw % s.kh * window_.dilation[0], right = tap % s.kw * window_.dilation[1];
      auto factors = load(weight + (filter * taps + row(tap)), filter < o && row(tap) < taps);
      auto inside_x = inside(row(corner_h) + col(down), h) && inside(row(corner_w) + col(right), w);
      auto values = load(x + (corner + col((channel * h + down) * w + right)), inside_x && (col(tap) < taps && row(column) < end));
      total = dot(factors, values, total);
    }
    store(y + (row(image * o * pixels + pixel) + filter * pixels), total, filter < o && row(column) < end);
    k.launch({blocks(all, width), blocks(s.o, filters), 1}, s.operations());
  }

  ConvolutionAlgorithm algorithm_;
  Window window_;
  Ref<const Op> library_;
};

}  // namespace

std::span<const ConvolutionAlgorithm> convolution_algorithms() { return kAlgorithms; }

std::string_view name(ConvolutionAlgorithm algorithm) {
  constexpr std::string_view names[] = {"direct", "tiled", "unrolled", "implicit-gemm", "winograd", "fft", "library"};
  return names[static_cast<int>(algorithm)];
}

bool takes_convolution(ConvolutionAlgorithm algorithm, const Shape& weight, const ConvolutionOptions& options) {
  if (algorithm != ConvolutionAlgorithm::Winograd) return options.groups == 1 || algorithm == ConvolutionAlgorithm::Library;
  Window window{.size = {weight[weight.rank() - 2], weight[weight.rank() - 1]}, .stride = {}, .dilation = {}, .low = {}, .high = {}};
  window.stride = options.stride.expand(2, 1, "conv2d_with", "stride", {});
  window.dilation = options.dilation.expand(2, 1, "conv2d_with", "dilation", {});
  return options.groups == 1 && ops::suits_winograd(window);
}

Tensor conv2d_with(ConvolutionAlgorithm algorithm, Arg x, Arg weight, const ConvolutionOptions& options) {
  if (algorithm == ConvolutionAlgorithm::Library) return conv2d(x, weight, options);
  constexpr std::string_view op = "conv2d_with";
  const In frame(op, x.loc);
  if (options.groups != 1) {
    throw Error({.op = std::string(op),
                 .got = std::to_string(options.groups) + " groups with the algorithm " + std::string(name(algorithm)),
                 .expected = "one group",
                 .advice = "conv2d takes groups",
                 .where = origin_at(x.loc).where});
  }
  const ops::ConvolutionProblem p = ops::convolution_problem(op, 2, x, weight, options);
  if (algorithm == ConvolutionAlgorithm::Winograd && !ops::suits_winograd(p.window)) {
    throw Error({.op = std::string(op),
                 .got = "a window " + to_string(p.window.size) + " with stride " + to_string(p.window.stride) + " and dilation " +
                        to_string(p.window.dilation) + " with the algorithm winograd",
                 .expected = "3 x 3 with stride and dilation 1",
                 .advice = "fft takes any window",
                 .where = origin_at(x.loc).where});
  }
  if (algorithm == ConvolutionAlgorithm::Winograd || algorithm == ConvolutionAlgorithm::Fft) {
    const Tensor y = algorithm == ConvolutionAlgorithm::Fft ? ops::by_fourier(p, x.loc) : ops::winograd(p, x.loc);
    return p.batched ? y : without_batch(y, x.loc);
  }
  const Ref<const Op> ladder(new LadderOp(algorithm, p.window, p.library));
  const Tensor y = make_node(ladder, {p.x, p.weight}, p.shape, p.x.dtype(), x.loc);
  return p.batched ? y : without_batch(y, x.loc);
}

double expansion_ratio(const Shape& x, const Shape& weight, const Shape& y) {
  const auto last_two = [](const Shape& shape) { return static_cast<double>(shape[shape.rank() - 2] * shape[shape.rank() - 1]); };
  return last_two(weight) * last_two(y) / last_two(x);
}

std::vector<OpCase> convolution_ladder_cases() {
  std::vector<OpCase> cases;
  for (const ConvolutionAlgorithm algorithm : kAlgorithms) {
    const auto with = [algorithm](const ConvolutionOptions& options) {
      return [=](const std::vector<Tensor>& x) { return conv2d_with(algorithm, x[0], x[1], options); };
    };
    const std::string op = "conv2d " + std::string(name(algorithm));
    if (algorithm == ConvolutionAlgorithm::Winograd) {
      cases.push_back(
          {.op = op,
           .function = with({.padding = 1}),
           .inputs = {{{2, 3, 5, 7}}, {{4, 3, 3, 3}}},
           .more_shapes = {
               {{3, 5, 7}, {4, 3, 3, 3}}, {{1, 1, 1, 1}, {1, 1, 3, 3}}, {{1, 35, 2, 17}, {67, 35, 3, 3}}, {{0, 3, 5, 7}, {4, 3, 3, 3}}}});
      cases.push_back(
          {.op = op, .function = with({.padding = Padding::sides({1, 0}, {2, 1})}), .inputs = {{{2, 3, 6, 7}}, {{2, 3, 3, 3}}}});
      continue;
    }
    cases.push_back({.op = op,
                     .function = with({}),
                     .inputs = {{{2, 3, 5, 7}}, {{4, 3, 3, 2}}},
                     .more_shapes = {{{3, 5, 7}, {4, 3, 3, 2}},
                                     {{1, 1, 1, 1}, {1, 1, 1, 1}},
                                     {{1, 35, 2, 70}, {67, 35, 1, 1}},
                                     {{1, 3, 70, 5}, {3, 3, 3, 3}},
                                     {{0, 3, 5, 7}, {4, 3, 3, 2}}}});
    cases.push_back({.op = op,
                     .function = with({.stride = {2, 1}, .padding = Padding::sides({1, 0}, {2, 1}), .dilation = {1, 2}}),
                     .inputs = {{{2, 3, 6, 7}}, {{2, 3, 3, 2}}}});
    cases.push_back({.op = op, .function = with({.stride = 2, .padding = Same}), .inputs = {{{2, 4, 7, 6}}, {{6, 4, 3, 3}}}});
  }
  // Sums. Winograd's transforms cancel (Barabasz et al., "Error analysis and improving the accuracy of Winograd convolution", 2020): a result may be off by the
  // product of the transforms' norms, (3 · 3/2 · 2)² for Aᵀ, G and Bᵀ, where the direct sum of nine products is by 9: 9 times as much at worst, and twice by
  // root mean square (√3, 1 and √2). The latter is allowed.
  for (OpCase& one : cases) one.tolerance = one.op == "conv2d winograd" ? 128 : 64;
  return cases;
}

void add_convolution_ladder_ops(OpTable& table) {
  for (const ConvolutionAlgorithm algorithm : std::span(kAlgorithms).first(4))
    table.add_class<LadderOp>(std::string(LadderOp(algorithm, {}, {}).name()), 2, algorithm, Window(), Ref<const Op>());
}

}  // namespace tegula

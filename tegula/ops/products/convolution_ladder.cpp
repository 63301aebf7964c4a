#include "tegula/ops/products/convolution_ladder.h"

#include <algorithm>
#include <bit>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/op_table.h"
#include "tegula/ops/case.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/convolution_problem.h"
#include "tegula/ops/products/spatial.h"
#include "tegula/ops/rows/row_kernel.h"

namespace tegula {
namespace {

using tile::col;
using tile::row;
using tile::Value;

constexpr ConvolutionAlgorithm kAlgorithms[] = {ConvolutionAlgorithm::Direct, ConvolutionAlgorithm::Tiled, ConvolutionAlgorithm::Unrolled,
                                                ConvolutionAlgorithm::ImplicitGemm, ConvolutionAlgorithm::Library};

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

  /// A launch with what all of these need. Extents are its arguments; the window is part of the program.
  struct Kernel : ops::KernelLaunch {
    Kernel(KernelContext& context, const std::string& name) : KernelLaunch(context, name) {}
    Value constant(std::int64_t value) { return builder_.constant(value, DType::i64); }
    Value zeros(const Shape& shape) { return builder_.full(shape, 0, tile::compute_type(context_.output().dtype)); }
    /// position = id * size + [0, size)
    Value positions(int axis, std::int64_t size) { return builder_.program_id(axis) * constant(size) + builder_.arange(0, size); }
    /// body(i, sum) for i = 0, step, … below `end`.
    template <class F>
    Value sum(Value end, std::int64_t step, Value initial, F&& body) {
      return builder_.for_(constant(0), end, constant(step), {initial},
                           [&](Value i, std::span<const Value> carried) { return std::vector<Value>{body(i, carried[0])}; })[0];
    }
  };
  static Value inside(Value at, Value size) { return at >= 0 && at < size; }

  /// Where the window's tap meets the input, along spatial axis 0 or 1.
  Value input_place(int axis, Value output, Value tap) const {
    return output * static_cast<double>(window_.stride[axis]) +
           (tap * static_cast<double>(window_.dilation[axis]) - static_cast<double>(window_.low[axis]));
  }

  /// The tile of pixels that an instance of `direct` and `unroll` works on: rows and columns of one map.
  static std::pair<std::int64_t, std::int64_t> pixel_tile(const KernelContext& context, const Sizes& s) {
    const std::int64_t columns = block(s.q, kLongest);
    return {std::clamp<std::int64_t>(context.tile_elements() / columns, 1, block(s.p, kLongest)), columns};
  }

  // y[n, o, p, q] += x[n, c, …] * w[o, c, i, j], for one tap after the other.
  void direct(KernelContext& context) const {
    const Sizes s(context);
    const auto [rows, columns] = pixel_tile(context, s);
    Kernel k(context, "convolution_direct");
    tile::Builder& b = k.builder();
    const Value x = k.input(0), weight = k.input(1), y = k.output();
    const Value c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), o = k.number(s.o), p = k.number(s.p), q = k.number(s.q);
    const Value kh = k.constant(s.kh), kw = k.constant(s.kw);
    const Value map = b.program_id(0), image = map / o, filter = map % o;
    const Value at_p = col(k.positions(1, rows)), at_q = row(k.positions(2, columns));  // (rows, 1), (1, columns)
    const Value total = k.sum(c, 1, k.zeros({rows, columns}), [&](Value channel, Value sum) {
      return k.sum(kh, 1, sum, [&](Value i, Value sum_c) {
        return k.sum(kw, 1, sum_c, [&](Value j, Value sum_i) {
          const Value at_h = input_place(0, at_p, i), at_w = input_place(1, at_q, j);
          const Value factor = b.load(weight + (((filter * c + channel) * kh + i) * kw + j));
          const Value values = b.load(x + (((image * c + channel) * h + at_h) * w + at_w), inside(at_h, h) && inside(at_w, w));
          return tile::fma(values, factor, sum_i);
        });
      });
    });
    b.store(y + ((map * p + at_p) * q + at_q), total, at_p < p && at_q < q);
    k.launch({s.n * s.o, blocks(s.p, rows), blocks(s.q, columns)}, s.operations());
  }

  // For each tap a product of blocks, (filters, channels) · (channels, pixels of one row); both lie where all threads of an instance see them.
  void tiled(KernelContext& context) const {
    const Sizes s(context);
    const std::int64_t filters = block(s.o, kLongest), channels = block(s.c, kDeepest), columns = block(s.q, kLongest);
    Kernel k(context, "convolution_tiled");
    tile::Builder& b = k.builder();
    const Value x = k.input(0), weight = k.input(1), y = k.output();
    const Value c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), o = k.number(s.o), p = k.number(s.p), q = k.number(s.q);
    const Value kh = k.constant(s.kh), kw = k.constant(s.kw);
    const Value image = b.program_id(0) / p, at_p = b.program_id(0) % p;
    const Value at_q = row(k.positions(1, columns)), filter = col(k.positions(2, filters));  // (1, columns), (filters, 1)
    const Value total = k.sum(kh, 1, k.zeros({filters, columns}), [&](Value i, Value sum) {
      const Value at_h = input_place(0, at_p, i), inside_h = inside(at_h, h);
      return k.sum(kw, 1, sum, [&](Value j, Value sum_i) {
        const Value at_w = input_place(1, at_q, j), inside_w = inside(at_w, w);
        return k.sum(c, channels, sum_i, [&](Value first, Value sum_j) {
          const Value channel = first + b.arange(0, channels);  // (channels)
          const Value factors = b.load(weight + (((filter * c + row(channel)) * kh + i) * kw + j), filter < o && row(channel) < c);
          const Value values = b.load(x + (((image * c + col(channel)) * h + at_h) * w + at_w), col(channel) < c && inside_w && inside_h);
          return tile::dot(factors, values, sum_j);
        });
      });
    });
    b.store(y + (((image * o + filter) * p + at_p) * q + at_q), total, filter < o && at_q < q);
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
    Kernel k(context, "unroll");
    tile::Builder& b = k.builder();
    const Value x = k.input(0), out = k.scratch(matrix, context.output().dtype, true);
    const Value n = k.number(image), c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), p = k.number(s.p), q = k.number(s.q);
    const Value channel = b.program_id(0), at_p = col(k.positions(1, rows)), at_q = row(k.positions(2, columns));
    const Value kh = k.constant(s.kh), kw = k.constant(s.kw), zero = k.constant(0), one = k.constant(1);
    b.for_(zero, kh, one, {}, [&](Value i, std::span<const Value>) {
      b.for_(zero, kw, one, {}, [&](Value j, std::span<const Value>) {
        const Value at_h = input_place(0, at_p, i), at_w = input_place(1, at_q, j);
        const Value values = b.load(x + (((n * c + channel) * h + at_h) * w + at_w), inside(at_h, h) && inside(at_w, w));
        b.store(out + ((((channel * kh + i) * kw + j) * p + at_p) * q + at_q), values, at_p < p && at_q < q);
        return std::vector<Value>{};
      });
      return std::vector<Value>{};
    });
    k.launch({s.c, blocks(s.p, rows), blocks(s.q, columns)}, static_cast<double>(s.taps() * s.pixels()));
  }

  void multiply(KernelContext& context, const Sizes& s, std::int64_t image, int matrix) const {
    const std::int64_t filters = block(s.o, kLongest), depth = block(s.taps(), kDeepest), width = block(s.pixels(), kLongest);
    Kernel k(context, "gemm");
    tile::Builder& b = k.builder();
    const Value weight = k.input(1), windows = k.scratch(matrix, context.output().dtype, false), y = k.output();
    const Value n = k.number(image), o = k.number(s.o), taps = k.number(s.taps()), pixels = k.number(s.pixels());
    const Value pixel = row(k.positions(0, width)), filter = col(k.positions(1, filters));
    const Value total = k.sum(taps, depth, k.zeros({filters, width}), [&](Value first, Value sum) {
      const Value tap = first + b.arange(0, depth);
      const Value factors = b.load(weight + (filter * taps + row(tap)), filter < o && row(tap) < taps);
      return tile::dot(factors, b.load(windows + (col(tap) * pixels + pixel), col(tap) < taps && pixel < pixels), sum);
    });
    b.store(y + ((n * o + filter) * pixels + pixel), total, filter < o && pixel < pixels);
    k.launch({blocks(s.pixels(), width), blocks(s.o, filters), 1}, s.operations() / static_cast<double>(s.n));
  }

  // (O, C*KH*KW) · (C*KH*KW, N*P*Q); row and column of the second factor say where in x its element lies.
  void implicit_gemm(KernelContext& context) const {
    const Sizes s(context);
    const std::int64_t all = s.n * s.pixels();
    const std::int64_t filters = block(s.o, kLongest), depth = block(s.taps(), kDeepest), width = block(all, kLongest);
    Kernel k(context, "convolution_implicit_gemm");
    tile::Builder& b = k.builder();
    const Value x = k.input(0), weight = k.input(1), y = k.output();
    const Value c = k.number(s.c), h = k.number(s.h), w = k.number(s.w), o = k.number(s.o), q = k.number(s.q);
    const Value pixels = k.number(s.pixels()), end = k.number(all), taps = k.number(s.taps());
    const auto kh = static_cast<double>(s.kh), kw = static_cast<double>(s.kw);
    const Value column = k.positions(0, width), filter = col(k.positions(1, filters));  // (width), (filters, 1)
    const Value image = column / pixels, pixel = column % pixels, zero = k.constant(0);
    const Value corner_h = input_place(0, pixel / q, zero), corner_w = input_place(1, pixel % q, zero);
    const Value corner = row((image * c * h + corner_h) * w + corner_w);
    const Value total = k.sum(taps, depth, k.zeros({filters, width}), [&](Value first, Value sum) {
      const Value tap = first + b.arange(0, depth), channel = tap / (kh * kw);
      const Value down = tap / kw % kh * static_cast<double>(window_.dilation[0]),
                  right = tap % kw * static_cast<double>(window_.dilation[1]);
      const Value factors = b.load(weight + (filter * taps + row(tap)), filter < o && row(tap) < taps);
      const Value inside_x = inside(row(corner_h) + col(down), h) && inside(row(corner_w) + col(right), w);
      const Value values = b.load(x + (corner + col((channel * h + down) * w + right)), inside_x && (col(tap) < taps && row(column) < end));
      return tile::dot(factors, values, sum);
    });
    b.store(y + (row(image * o * pixels + pixel) + filter * pixels), total, filter < o && row(column) < end);
    k.launch({blocks(all, width), blocks(s.o, filters), 1}, s.operations());
  }

  ConvolutionAlgorithm algorithm_;
  Window window_;
  Ref<const Op> library_;
};

}  // namespace

std::span<const ConvolutionAlgorithm> convolution_algorithms() { return kAlgorithms; }

std::string_view name(ConvolutionAlgorithm algorithm) {
  constexpr std::string_view names[] = {"direct", "tiled", "unrolled", "implicit-gemm", "library"};
  return names[static_cast<int>(algorithm)];
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
  for (OpCase& one : cases) one.tolerance = 64;  // sums
  return cases;
}

void add_convolution_ladder_ops(OpTable& table) {
  for (const ConvolutionAlgorithm algorithm : std::span(kAlgorithms).first(4))
    table.add_class<LadderOp>(std::string(LadderOp(algorithm, {}, {}).name()), 2, algorithm, Window(), Ref<const Op>());
}

}  // namespace tegula

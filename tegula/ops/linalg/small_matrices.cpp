#include "tegula/ops/linalg/small_matrices.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tegula/graph/structural.h"
#include "tegula/ops/rows/tile_launch.h"
#include "tegula/tile/language/shapes.h"

namespace tegula::ops {
namespace {

using runtime::MatrixRoutine;
using runtime::Routine;
using tile::Axis;
using tile::Tile;

constexpr std::int64_t kMost = 64;  // rows: the tile and its q take 64 registers of 128 threads in f32
constexpr std::int64_t kFewest = 16;  // matrices
constexpr std::int64_t kMostSweeps = 30;  // of an iteration that mostly needs eight

std::int64_t rounded_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 2))));
}

/// The words of one launch over a batch of matrices, an instance for each.
struct Matrices {
  TileLaunch& kernel;
  DType dtype;
  std::int64_t m, n;  // the matrix
  std::int64_t rows = rounded_up(m), columns = rounded_up(n);  // its tile: zeros around it
  Tile i = tile::col(tile::arange(0, rows)), j = tile::row(tile::arange(0, columns));  // (rows, 1), (1, columns)
  Tile height = kernel.number(m), width = kernel.number(n), id = tile::program_id(0);

  Tile number(double value) const { return tile::full_of({}, value, dtype); }
  /// This matrix within a batch of `lines` lines each, from one of its elements to the one behind it by `step`.
  Tile at(const Tile& first, const Tile& line, const Tile& place, const Tile& lines, const Tile& length) const {
    return first + (id * lines + line) * length + place;
  }

  /// a (batch, n, m) by columns.
  Tile load(const Tile& a) const { return tile::load(at(a, j, i, width, height), i < height && j < width); }

  /// The greatest size in the matrix, or 1 where it is 0: squares of its multiples neither overflow nor vanish.
  Tile scale_of(const Tile& x) const {
    Tile most = tile::max(tile::max(tile::abs(x), 1), 0);
    return tile::where(most > 0, most, number(1));
  }

  /// x becomes r on and above the diagonal; below it reflectors, whose first element is 1 and is left out. Their factors (1, columns).
  Tile reflect(Tile& x, std::int64_t count) const {
    const double least =
        dtype == f64 ? 1e-280 : 1e-30;  // below it squares lose digits; its root is far below a rounding error of the matrix
    Tile factors = tile::full_of({1, columns}, 0, dtype);
    for (auto k : tile::range(0, kernel.number(count))) {
      Tile column = tile::sum(tile::where(j == k, x, number(0)), 1, Axis::Keep), below = tile::where(i > k, column, number(0));
      Tile alpha = tile::sum(tile::where(i == k, column, number(0)), 0, Axis::Keep), rest = tile::sum(below * below, 0, Axis::Keep);
      Tile length = tile::sqrt(alpha * alpha + rest), beta = tile::where(alpha < 0, length, -length), none = rest <= least;
      Tile factor = tile::where(none, number(0), (beta - alpha) / tile::where(none, number(1), beta));
      Tile v = tile::where(i == k, number(1), below / tile::where(none, number(1), alpha - beta));
      Tile along = tile::sum(v * x, 0, Axis::Keep);
      Tile kept = tile::where(i < k, x, tile::where(i == k, tile::where(none, alpha, beta), v));
      x = tile::where(j == k, kept, tile::where(j > k, x - factor * v * along, x));
      factors = tile::where(j == k, factor, factors);
    }
    return factors;
  }

  /// The first columns of the product of `count` reflectors: (rows, wanted).
  Tile q_of(const Tile& x, const Tile& factors, std::int64_t count, std::int64_t wanted) const {
    Tile place = tile::row(tile::arange(0, wanted));
    Tile q = tile::cast_to(i == place, dtype);
    for (auto k : tile::range(kernel.number(count - 1), -1, -1)) {
      Tile column = tile::sum(tile::where(j == k, x, number(0)), 1, Axis::Keep),
           factor = tile::sum(tile::where(j == k, factors, number(0)), 1, Axis::Keep);
      Tile v = tile::where(i == k, number(1), tile::where(i > k, column, number(0)));
      q = q - factor * v * tile::sum(v * q, 0, Axis::Keep);
    }
    return q;
  }
};

class SmallMatrixOp final : public KernelOp {
 public:
  explicit SmallMatrixOp(const MatrixRoutine& form) : form_(form) {}
  std::string_view name() const override { return form_.routine == Routine::QR ? "small_qr" : "small_svd"; }
  void attributes(Attributes& a) override {
    a.told_by_name(form_.routine);
    a("full", form_.full);
  }
  void lower(KernelContext& context) const override {
    const Shape& a = context.input(0).shape;
    const std::int64_t n = a[a.rank() - 2], m = a[a.rank() - 1], batch = numel(a, 0, a.rank() - 2);
    if (form_.routine == Routine::QR) lower_qr(context, batch, m, n);
    else lower_svd(context, batch, m, n);
  }
  void reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                 const Shape& shape) const override;

 private:
  void lower_qr(KernelContext& context, std::int64_t batch, std::int64_t m, std::int64_t n) const {
    const std::int64_t k = std::min(m, n), wanted = form_.full ? m : k;
    TileLaunch kernel(context, "small_qr");
    const Tile a = kernel.input(0);
    std::optional<Tile> q, r;
    if (context.wanted(0)) q = kernel.output(0);
    if (context.wanted(1)) r = kernel.output(1);
    const Matrices all{kernel, context.input(0).dtype, m, n};
    Tile x = all.load(a), scale = all.scale_of(x);
    x = x / scale;
    const Tile factors = all.reflect(x, k), count = kernel.number(wanted);
    if (r)
      tile::store(all.at(*r, all.j, all.i, all.width, count), tile::where(all.i <= all.j, x * scale, all.number(0)),
                  all.i < count && all.j < all.width);
    if (q) {
      const std::int64_t columns = rounded_up(wanted);
      const Tile place = tile::row(tile::arange(0, columns));
      tile::store(all.at(*q, place, all.i, count, all.height), all.q_of(x, factors, k, columns), all.i < all.height && place < count);
    }
    kernel.launch({batch, 1, 1}, static_cast<double>(batch) * static_cast<double>(m * n * k * 8));
  }

  void lower_svd(KernelContext& context, std::int64_t batch, std::int64_t m, std::int64_t n) const {
    TileLaunch kernel(context, "small_svd");
    const Tile a = kernel.input(0);
    std::array<std::optional<Tile>, 4> results;  // u, values, v, state
    for (int k = 0; k < 4; ++k)
      if (context.wanted(k)) results[static_cast<std::size_t>(k)] = kernel.output(k);
    const bool vectors = results[0] || results[2];
    const DType dtype = context.input(0).dtype;
    const Matrices all{kernel, dtype, m, n};
    const Tile& j = all.j;
    Tile x = all.load(a), scale = all.scale_of(x);
    x = x / scale;
    Tile down = tile::col(tile::arange(0, all.columns)), v = tile::cast_to(down == j, dtype);
    // Rounds of a tournament: in round t columns whose numbers add up to t, modulo an odd number, are partners; one is left over for the last column.
    const std::int64_t even = n + n % 2;
    Tile last = kernel.number(even - 1), half = kernel.number(even / 2);
    const double epsilon = dtype == f64 ? 0x1p-52 : 0x1p-23, tolerance = std::sqrt(static_cast<double>(m)) * epsilon;
    const double noise = std::pow(static_cast<double>(n) * epsilon, 2);  // the greatest singular value is 1 at least
    Tile turning = tile::full_of({}, 1, i64), sweeps = tile::full_of({}, 0, i64);
    tile::while_(
        [&] { return turning > 0 && sweeps < kMostSweeps; },
        [&] {
          turning = tile::full_of({}, 0, i64);
          for (auto t : tile::range(0, last)) {
            Tile other = (t - j + last) % last;
            Tile partner = tile::where(j < last, tile::where(other == j, last, other), tile::where(j == last, (t * half) % last, j));
            Tile p = tile::gather(x, tile::broadcast_to(partner, {all.rows, all.columns}), 1);
            Tile own = tile::sum(x * x, 0, Axis::Keep), theirs = tile::sum(p * p, 0, Axis::Keep), product = tile::sum(x * p, 0, Axis::Keep);
            Tile rotates = tile::abs(product) > tolerance * (tile::sqrt(own) * tile::sqrt(theirs)) && partner != j;
            rotates = rotates && own > noise && theirs > noise;  // rounding errors have no direction
            Tile zeta = (theirs - own) / tile::where(rotates, 2 * product, all.number(1)), size = tile::abs(zeta);
            // Both partners see the same numbers with other signs; of two columns of one length the first one is told by its number.
            Tile sign = tile::where(zeta > 0 || (zeta == 0 && j < partner), all.number(1), all.number(-1));
            Tile tangent = sign / (size + tile::sqrt(1 + size * size));
            Tile cosine = tile::where(rotates, 1 / tile::sqrt(1 + tangent * tangent), all.number(1));
            Tile sine = tile::where(rotates, tangent * cosine, all.number(0));
            x = cosine * x - sine * p;
            if (vectors) v = cosine * v - sine * tile::gather(v, tile::broadcast_to(partner, {all.columns, all.columns}), 1);
            turning = turning + tile::sum(tile::sum(tile::cast_to(rotates, i64), 1), 0);
          }
          sweeps = sweeps + 1;
        });
    // In descending order; columns beside the matrix come last.
    Tile length = tile::where(j < all.width, tile::sqrt(tile::sum(x * x, 0, Axis::Keep)), all.number(-1)), lengths = tile::trans(length);
    Tile before = lengths > length || (lengths == length && down < j);
    Tile rank = tile::trans(tile::sum(tile::cast_to(before, i64), 0, Axis::Keep));  // (columns, 1)
    Tile order =
        tile::sum(tile::where(rank == j, down, tile::full_of({}, 0, i64)), 0, Axis::Keep);  // (1, columns): which column comes there
    Tile values = tile::gather(length, order, 1);
    Tile unknown = tile::sum(tile::sum(x * 0, 1), 0);  // 0, or NaN where one is in the matrix
    const Tile each = tile::row(tile::arange(0, 1));
    if (results[1]) tile::store(*results[1] + (all.id * all.width + j), values * scale + unknown, j < all.width);
    if (results[3])
      tile::store(*results[3] + (all.id + each), tile::where(turning > 0, tile::full_of({}, 1, i32), tile::full_of({}, 0, i32)));
    if (results[2]) {
      Tile sorted = tile::gather(v, tile::broadcast_to(order, {all.columns, all.columns}), 1) + unknown;
      tile::store(all.at(*results[2], down, j, all.width, all.width), sorted, down < all.width && j < all.width);
    }
    if (results[0]) {
      Tile u = tile::gather(x, tile::broadcast_to(order, {all.rows, all.columns}), 1) / tile::where(values > 0, values, all.number(1));
      const Tile factors = all.reflect(u, n);
      Tile diagonal = tile::sum(tile::where(all.i == j, u, all.number(0)), 0, Axis::Keep);
      Tile q = all.q_of(u, factors, n, all.columns) * tile::where(diagonal < 0, all.number(-1), all.number(1)) + unknown;
      tile::store(all.at(*results[0], j, all.i, all.width, all.height), q, all.i < all.height && j < all.width);
    }
    kernel.launch({batch, 1, 1}, static_cast<double>(batch) * static_cast<double>(m * n * n * 60));
  }

  MatrixRoutine form_;
};

void SmallMatrixOp::reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const {
  throw std::logic_error("it stands for a MatrixOp, which has the reference");
}

}  // namespace

bool suits_tiles(const runtime::Device& device, const MatrixRoutine& d) {
  if (!device.traits().many_instances || d.batch < kFewest || std::max(d.rows, d.columns) > kMost || d.least() == 0) return false;
  return d.routine == Routine::QR || (d.routine == Routine::SVD && !d.full);
}

std::vector<Tensor> by_tiles(const MatrixRoutine& routine, const Tensor& a, std::span<const Result> results, const Line& where) {
  return make_nodes(Ref<const Op>(new SmallMatrixOp(routine)), std::span(&a, 1), results, where);
}

}  // namespace tegula::ops

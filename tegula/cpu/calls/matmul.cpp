// Matrix products of the CPU: small ones and f64 by our own gemm, large f32 ones by oneDNN, halves by widening.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/signals.h"
#include "tegula/cpu/calls/gemm.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/calls/ways.h"
#include "tegula/cpu/costs.h"
#include "tegula/cpu/onednn/onednn.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/checks.h"

namespace tegula::host {
namespace {

/// A matrix in memory: element (i, j) at i*row + j*column.
struct Matrix {
  std::int64_t row = 0, column = 1;
};

/// One product per batch entry, C's rows contiguous: a C that lies by columns was turned into the transposed product.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c;
  bool transposed = false;  // the described bias (N) runs along our rows
  std::int64_t panel = 0;  // columns that lie together, of B in panels
  std::vector<std::int64_t> a_offset, b_offset, c_offset;  // one entry per product of the batch

  std::int64_t batch() const { return static_cast<std::int64_t>(c_offset.size()); }
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// Strides of axes of size 1 mean nothing: give them a value that suits the kernels.
Matrix matrix_of(const Layout& layout) {
  const int rank = layout.shape.rank();
  Matrix matrix{layout.strides[rank - 2], layout.strides[rank - 1]};
  if (layout.shape[rank - 2] <= 1) matrix.row = matrix.column == 1 ? layout.shape[rank - 1] : 1;
  if (layout.shape[rank - 1] <= 1) matrix.column = matrix.row == 1 ? layout.shape[rank - 2] : 1;
  return matrix;
}

void check_layouts(const runtime::Matmul& d) {
  runtime::check(d);
  for (const Layout* layout : {&d.a.layout, &d.b.layout, &d.c.layout}) {
    const Matrix matrix = matrix_of(*layout);
    if (matrix.row != 1 && matrix.column != 1) {
      throw Error({.op = "matmul", .got = "strides " + to_string(layout->strides), .expected = "one of the last two to be 1"});
    }
  }
}

/// Batch axes that continue the rows of A and C while B stays the same become rows: one large product instead of many.
int fold_batch_into_rows(const runtime::Matmul& d, Product& p) {
  int axes = d.c.layout.shape.rank() - 2;
  if (p.c.column != 1) return axes;
  for (; axes > 0; --axes) {
    const std::int64_t size = d.c.layout.shape[axes - 1], a = d.a.layout.strides[axes - 1], c = d.c.layout.strides[axes - 1];
    if (size == 1) continue;
    if (d.b.layout.strides[axes - 1] != 0 && d.b.layout.shape[axes - 1] != 1) break;
    if (p.m == 1 && p.a.column == 1 && a >= p.k) p.a.row = a, p.c.row = c;
    else if (a != p.m * p.a.row || c != p.m * p.c.row) break;
    p.m *= size;
  }
  return axes;
}

Product normalize(const runtime::Matmul& d) {
  const int rank = d.c.layout.shape.rank();
  Product p{.m = d.c.layout.shape[rank - 2], .n = d.c.layout.shape[rank - 1], .k = d.a.layout.shape[rank - 1]};
  p.a = matrix_of(d.a.layout), p.b = matrix_of(d.b.layout), p.c = matrix_of(d.c.layout);
  const int axes = p.m > 0 && p.n > 0 ? fold_batch_into_rows(d, p) : rank - 2;
  // A single column is a row of the transposed product: one long row suits the kernels.
  if (p.c.column != 1 || (p.n == 1 && p.c.row == 1 && p.m > 1)) {
    std::swap(p.m, p.n);
    std::swap(p.a, p.b);
    for (Matrix* matrix : {&p.a, &p.b, &p.c}) std::swap(matrix->row, matrix->column);
    p.transposed = true;
  }
  std::int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) count *= d.c.layout.shape[axis];
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, a = 0, b = 0, c = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::int64_t index = rest % d.c.layout.shape[axis];
      rest /= d.c.layout.shape[axis];
      a += d.a.layout.shape[axis] == 1 ? 0 : index * d.a.layout.strides[axis];
      b += d.b.layout.shape[axis] == 1 ? 0 : index * d.b.layout.strides[axis];
      c += index * d.c.layout.strides[axis];
    }
    if (p.transposed) std::swap(a, b);
    p.a_offset.push_back(a), p.b_offset.push_back(b), p.c_offset.push_back(c);
  }
  return p;
}

/// The addresses of one product's operands.
template <class T>
struct Operands {
  const T *a, *b;
  T* c;
  Epilogue<T> epilogue;
};

/// Rows and columns of C that belong to one of `threads`: a grid of blocks whose borders lie between the kernel's tiles, chosen so
/// that the threads together read the least.
struct Cut {
  Range rows, columns;
};
Cut cut(std::int64_t m, std::int64_t n, int thread, int threads, std::int64_t columns = kGemmColumns) {
  int best = 1;
  double least = 1e300;
  for (int down = 1; down <= threads; ++down) {
    if (threads % down) continue;
    const double tall = static_cast<double>(m) / down, wide = static_cast<double>(n) * down / threads;
    // A part narrower than a tile leaves registers idle.
    const double cost = std::max(tall, double{kGemmRows}) + std::max(wide, double{kGemmColumns});
    if (cost < least) least = cost, best = down;
  }
  const int across = threads / best;
  const auto border = [](std::int64_t size, std::int64_t unit, int part, int parts) {
    const Range r = share((size + unit - 1) / unit, part, parts);
    return Range{std::min(size, r.begin * unit), std::min(size, r.end * unit)};
  };
  return {border(m, kGemmRows, thread / across, best), border(n, columns, thread % across, across)};
}

template <class T>
void own_product(const Product& p, const Operands<T>& o, const Cut& part, void* scratch) {
  const std::int64_t row = part.rows.begin, column = part.columns.begin;
  Epilogue<T> epilogue = o.epilogue;
  if (epilogue.column_bias) epilogue.column_bias += column;
  if (epilogue.row_bias) epilogue.row_bias += row;
  gemm(Gemm<T>{.m = part.rows.end - row,
               .n = part.columns.end - column,
               .k = p.k,
               .a = o.a + row * p.a.row,
               .a_row = p.a.row,
               .a_column = p.a.column,
               .b = o.b + (p.panel == 0 ? column * p.b.column : column * p.k),
               .b_row = p.b.row,
               .b_column = p.b.column,
               .b_panel = p.panel * p.k,
               .c = o.c + row * p.c.row + column,
               .c_row = p.c.row,
               .epilogue = epilogue},
       scratch);
}

constexpr std::int64_t kTransposedDepth = 128;

/// oneDNN's cost of a call is paid back from about here on.
bool prefers_onednn(const Product& p) { return p.m > 3 && p.n > 3 && p.flops() >= costs().library_operations; }

/// A block of the product by oneDNN, on the calling thread.
void onednn_block(const Product& p, const Operands<float>& o, const Cut& part) {
  const std::int64_t row = part.rows.begin, column = part.columns.begin, rows = part.rows.end - row, columns = part.columns.end - column;
  if (rows == 0 || columns == 0) return;
  float* c = o.c + row * p.c.row + column;
  // Rows of a transposed A lie far apart, and oneDNN copies them for long K at 0.7 of the speed of short ones (1024 x 256 x 2048 on a Xeon).
  const bool transposed = p.a.column != 1;
  const std::int64_t step = transposed && p.k >= 2 * kTransposedDepth ? kTransposedDepth : p.k;
  for (std::int64_t k = 0; k < p.k; k += step) {
    sgemm({.m = rows,
           .n = columns,
           .k = std::min(step, p.k - k),
           .a = o.a + row * p.a.row + k * p.a.column,
           .a_stride = transposed ? p.a.column : p.a.row,
           .a_transposed = transposed,
           .b = o.b + column * p.b.column + k * p.b.row,
           .b_stride = p.b.column == 1 ? p.b.row : p.b.column,
           .b_transposed = p.b.column != 1,
           .c = c,
           .c_stride = p.c.row,
           .accumulate = k > 0});
  }
  if (o.epilogue.empty()) return;
  Epilogue<float> epilogue = o.epilogue;
  if (epilogue.column_bias) epilogue.column_bias += column;
  if (epilogue.row_bias) epilogue.row_bias += row;
  apply_epilogue(epilogue, c, rows, columns, p.c.row);
}

void onednn_product(const Product& p, const Operands<float>& o, int threads) {
  parallel(threads, [&](int thread, int count) {
    // Measured: tall shares are best while they are tall enough.
    const bool tall = count <= 4 && p.m >= 32 * count;
    onednn_block(p, o, tall ? Cut{share(p.m, thread, count), {0, p.n}} : cut(p.m, p.n, thread, count));
  });
}

class MatmulCall : public runtime::Call {
 public:
  explicit MatmulCall(const runtime::Matmul& d)
      : dtype_(d.dtype()),
        bias_(runtime::sums_of(d.epilogue).channel),
        product_(normalize(d)),
        most_threads_(library_threads()) {
    const runtime::Expression rest = runtime::sums_of(d.epilogue).rest;
    relu_ = rest == runtime::relu(dtype_);
    if (!relu_ && !rest.is_empty()) rest_.emplace(rest, tile::compute_type(dtype_));
    if (d.b.blocks) product_.panel = d.b.blocks.sizes[0];
    onednn_ = dtype_ != f64 && prefers_onednn(product_);
    const std::size_t element = dtype_ == f64 ? 8 : 4;
    if (dtype_ == bf16 && onednn_) {
      const auto matrix = [](const Matrix& m) { return OneDnnMatrix{m.row, m.column}; };
      bf16_ = Bf16Product::make(product_.m, product_.n, product_.k, matrix(product_.a), matrix(product_.b));
    }
    gemm_bytes_ = bf16_ ? bf16_->scratch_bytes() : onednn_ ? 0 : gemm_scratch_bytes(product_.m, product_.n, product_.k, element);
    // Widened copies of one A, B and C, and of the bias.
    if (is_half(dtype_)) {
      const std::int64_t operands = bf16_ ? 0 : a_elements() + b_elements();
      widened_bytes_ = align(4 * (operands + c_elements() + (bias_ ? product_.m + product_.n : 0)) + 4 * 64);
    }
  }

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(most_threads_) * (gemm_bytes_ + widened_bytes_); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (product_.m == 0 || product_.n == 0 || product_.batch() == 0) return;
    const int threads = std::clamp(options.threads, 1, most_threads_);
    std::optional<HeldSignals> held;  // once for all products of this call
    if (onednn_) held.emplace();
    if (dtype_ == f64) run_as<double>(buffers, static_cast<char*>(options.scratch), threads);
    else if (dtype_ == f32) run_as<float>(buffers, static_cast<char*>(options.scratch), threads);
    else run_half(buffers, static_cast<char*>(options.scratch), threads);
  }

  std::string describe() const override {
    std::string text = (bf16_ ? "oneDNN " + bf16_->implementation() + " " : std::string(onednn_ ? "oneDNN sgemm " : "gemm ")) +
                       std::string(name(dtype_)) + " ";
    if (product_.batch() != 1) text += std::to_string(product_.batch()) + " of ";
    return text + std::to_string(product_.m) + "x" + std::to_string(product_.n) + "x" + std::to_string(product_.k);
  }

 private:
  static std::size_t align(std::int64_t bytes) { return static_cast<std::size_t>((bytes + 63) / 64 * 64); }
  std::int64_t a_elements() const { return product_.m * product_.k; }
  std::int64_t b_elements() const { return product_.k * product_.n; }
  std::int64_t c_elements() const { return product_.m * product_.n; }
  /// Returns true if every thread takes whole products, as there are enough; else all threads work on one after the other.
  bool whole_products(int threads) const {
    return threads > 1 && (product_.batch() >= 4 * threads || (product_.batch() > 1 && product_.batch() % threads == 0));
  }

  template <class T>
  Operands<T> operands(const T* a, const T* b, const T* bias, T* c) const {
    Epilogue<T> epilogue{.relu = relu_, .rest = rest_ ? &*rest_ : nullptr};
    if (bias) (product_.transposed ? epilogue.row_bias : epilogue.column_bias) = bias;
    return {a, b, c, epilogue};
  }

  template <class T>
  void multiply(const Product& p, const Operands<T>& o, char* scratch, int threads) const {
    if constexpr (std::is_same_v<T, float>) {
      if (onednn_) return onednn_product(p, o, threads);
    }
    parallel(threads, [&](int thread, int count) {
      own_product(p, o, cut(p.m, p.n, thread, count, p.panel == 0 ? kGemmColumns : p.panel),
                  scratch + gemm_bytes_ * static_cast<std::size_t>(thread));
    });
  }

  template <class T>
  void run_as(std::span<void* const> buffers, char* scratch, int threads) const {
    const T* a = static_cast<const T*>(buffers[product_.transposed ? 1 : 0]);
    const T* b = static_cast<const T*>(buffers[product_.transposed ? 0 : 1]);
    const T* bias = bias_ ? static_cast<const T*>(buffers[2]) : nullptr;
    T* c = static_cast<T*>(buffers[bias_ ? 3 : 2]);
    const auto one = [&](std::int64_t i, char* space, int count) {
      multiply(product_, operands(a + product_.a_offset[i], b + product_.b_offset[i], bias, c + product_.c_offset[i]), space, count);
    };
    if (!whole_products(threads)) {
      for (std::int64_t i = 0; i < product_.batch(); ++i) one(i, scratch, threads);
      return;
    }
    parallel(threads, [&](int thread, int count) {
      const Range mine = share(product_.batch(), thread, count);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) one(i, scratch + gemm_bytes_ * static_cast<std::size_t>(thread), 1);
    });
  }

  /// A widened copy of one matrix, dense in the orientation it has.
  void widen_matrix(const std::uint16_t* from, Matrix& matrix, std::int64_t rows, std::int64_t columns, float* to, int threads) const {
    const bool by_rows = matrix.column == 1;
    const std::int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
    const std::int64_t stride = by_rows ? matrix.row : matrix.column;
    parallel(threads, [&](int thread, int count) {
      const Range mine = share(lines, thread, count);
      if (stride == length) return widen(dtype_, from + mine.begin * length, to + mine.begin * length, (mine.end - mine.begin) * length);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) widen(dtype_, from + i * stride, to + i * length, length);
    });
    matrix = by_rows ? Matrix{length, 1} : Matrix{1, length};
  }

  void half_product(std::int64_t i, std::span<void* const> buffers, char* scratch, int threads) const {
    Product p = product_;
    const auto* a = static_cast<const std::uint16_t*>(buffers[p.transposed ? 1 : 0]) + p.a_offset[i];
    const auto* b = static_cast<const std::uint16_t*>(buffers[p.transposed ? 0 : 1]) + p.b_offset[i];
    auto* c = static_cast<std::uint16_t*>(buffers[bias_ ? 3 : 2]) + p.c_offset[i];
    const std::int64_t c_row = p.c.row;
    p.c = {p.n, 1};
    float* wide_c = reinterpret_cast<float*>(scratch);
    float* wide_bias = wide_c + align(c_elements() * 4) / 4;
    float* wide_a = wide_bias + (bias_ ? align((p.transposed ? p.m : p.n) * 4) / 4 : 0);
    float* wide_b = wide_a + align(a_elements() * 4) / 4;
    char* rest = scratch + widened_bytes_;
    if (bias_) widen(dtype_, buffers[2], wide_bias, p.transposed ? p.m : p.n);
    Operands<float> o = operands<float>(wide_a, wide_b, bias_ ? wide_bias : nullptr, wide_c);
    const Epilogue<float> epilogue = std::exchange(o.epilogue, {});
    if (bf16_) {
      bf16_->run(a, b, wide_c, rest, threads);
    } else {
      widen_matrix(a, p.a, p.m, p.k, wide_a, threads);
      widen_matrix(b, p.b, p.k, p.n, wide_b, threads);
      multiply(p, o, rest, threads);
    }
    parallel(threads, [&](int thread, int count) {
      const Range rows = share(p.m, thread, count);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        Epilogue<float> own = epilogue;
        if (own.row_bias) own.row_bias += row;
        if (!own.empty()) apply_epilogue(own, wide_c + row * p.n, 1, p.n, p.n);
        narrow(dtype_, wide_c + row * p.n, c + row * c_row, p.n);
      }
    });
  }

  void run_half(std::span<void* const> buffers, char* scratch, int threads) const {
    if (!whole_products(threads)) {
      for (std::int64_t i = 0; i < product_.batch(); ++i) half_product(i, buffers, scratch, threads);
      return;
    }
    parallel(threads, [&](int thread, int count) {
      const Range mine = share(product_.batch(), thread, count);
      char* space = scratch + static_cast<std::size_t>(thread) * (gemm_bytes_ + widened_bytes_);
      for (std::int64_t i = mine.begin; i < mine.end; ++i) half_product(i, buffers, space, 1);
    });
  }

  DType dtype_;
  bool bias_;
  bool relu_ = false;
  std::optional<RowWords> rest_;
  Product product_;
  int most_threads_;
  bool onednn_ = false;
  std::unique_ptr<Bf16Product> bf16_;
  std::size_t gemm_bytes_ = 0, widened_bytes_ = 0;  // per thread
};

}  // namespace

// A product of one row reads its weight once, from memory: best one element after the other, whatever lies before it.
runtime::Blocked weight_blocks(const runtime::Matmul& d) {
  const Product p = normalize(d);
  if (d.dtype() != f32 || p.transposed || p.m != 1 || p.batch() != 1 || p.k == 0 || numel(d.b.layout.shape) != p.k * p.n) return {};
  const std::int64_t panel = gemm_panel_columns(p.n);
  return {.shape = {p.k, p.n}, .strides = {panel, panel * p.k}, .axes = {1}, .sizes = {panel}};
}

namespace {

/// True if our product copies its column-major second operand into rows in each call.
bool wants_rows(const runtime::Matmul& description) {
  if (is_half(description.dtype())) return false;
  const Product p = normalize(description);
  return !p.transposed && p.batch() == 1 && p.m > 3 && p.b.column != 1;
}

std::vector<runtime::Candidate> own_forms(const runtime::Matmul& d) {
  if (d.b.blocks.any) return with_blocks(d, &runtime::Matmul::b);
  if (!wants_rows(d)) return {{d}};
  runtime::Matmul rows = d;
  rows.b.layout = Layout::dense(d.b.layout.shape);
  return {{rows, 0.0}, {d, costs().packed_element_seconds * static_cast<double>(numel(d.b.layout.shape))}};
}

}  // namespace

constexpr Way<runtime::Matmul> kWays[] = {
    {[](const runtime::Matmul&) { return true; },
     [](const runtime::Matmul& d) -> std::unique_ptr<runtime::Call> { return std::make_unique<MatmulCall>(d); }, own_forms},
};

std::vector<runtime::Candidate> matmul_candidates(const runtime::Matmul& description) {
  return forms_of_first<runtime::Matmul>(kWays, description);
}

std::unique_ptr<runtime::Call> make_matmul(const runtime::Matmul& description) {
  check_layouts(description);
  runtime::Matmul plain = description;
  plain.b.blocks = {};
  if (description.b.blocks && description.b.blocks != weight_blocks(plain))
    throw Error({.op = "matmul", .got = "a B in other blocks", .expected = "those that were asked for"});
  return make_first<runtime::Matmul>(kWays, description);
}

}  // namespace tegula::host

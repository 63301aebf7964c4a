// Routines of linear algebra: many small matrices are shared out between the threads, a large one is worked on by all.

#include "tegula/cpu/linalg/routine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/fourier/side_by_side.h"
#include "tegula/cpu/linalg/lapack.h"
#include "tegula/cpu/linalg/spectra.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/matrix_buffers.h"

namespace tegula::host {
namespace {

using runtime::MatrixRoutine;
using runtime::Routine;

constexpr std::int64_t kAlone = 192;  // rows of a matrix that is one thread's work where there are several

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

bool has_spectrum(Routine routine) { return routine == Routine::SymmetricEigen || routine == Routine::Eigen || routine == Routine::SVD; }

/// True where the first result is the matrix after the routine: it is worked on there.
bool in_place(const MatrixRoutine& d) { return (d.routine == Routine::LU && d.transposed) || d.routine == Routine::Cholesky; }

/// Elements of the work for one matrix.
template <class T>
std::int64_t work_of(const MatrixRoutine& d) {
  switch (d.routine) {
    case Routine::LU: return lu_work<T>(d.rows) + static_cast<std::int64_t>(sizeof(std::int64_t) / sizeof(T)) * d.least() + 64;
    case Routine::Cholesky: return lu_work<T>(d.rows);
    case Routine::TriangularSolve: return 0;
    case Routine::QR: return d.least() + qr_work(d.rows, d.full ? std::max(d.rows, d.columns) : d.columns);
    case Routine::SymmetricEigen: return symmetric_eigen_work(d.columns);
    case Routine::Eigen: return general_eigen_work<T>(d.columns, d.vectors);
    case Routine::SVD: return singular_values_work(d.rows, d.columns);
  }
  return 0;
}

template <class T>
void run_one(const MatrixRoutine& d, const Products<T>& products, T* a, std::span<void* const> buffers, T* work) {
  const std::int64_t m = d.rows, n = d.columns, k = d.least();
  const auto values = [&](std::size_t index) { return static_cast<T*>(buffers[index]); };
  const auto state = [&]() -> std::int32_t& { return *static_cast<std::int32_t*>(buffers.back()); };
  switch (d.routine) {
    case Routine::LU: {
      T* const pivots = work + rounded(static_cast<std::size_t>(lu_work<T>(m)));
      state() = factor_lu(products, a, m, n, reinterpret_cast<std::int64_t*>(pivots), static_cast<std::int64_t*>(buffers[2]), work);
      if (!d.transposed) turn_matrix(a, n, m, n, values(1), m);
      return;
    }
    case Routine::Cholesky:
      state() = factor_cholesky(products, a, n, work);
      for (std::int64_t i = 0; i < n && d.full; ++i) std::fill(a + i * n + i + 1, a + (i + 1) * n, T(0));
      return;
    case Routine::TriangularSolve: {
      Strided<const T> t{values(0), n, 1};
      if (d.transposed) t = t.transposed();
      if (values(1) != values(2)) std::copy_n(values(1), n * d.right, values(2));
      const Strided<T> x{values(2), d.right, 1};
      const Diagonal diagonal = d.unit ? Diagonal::Ones : Diagonal::Stored;
      if (d.upper == d.transposed) solve_lower(products, t, diagonal, n, x, d.right);
      else solve_upper(products, t, diagonal, n, x, d.right);
      return;
    }
    case Routine::QR: {
      const std::int64_t count = d.full ? m : k;
      factor_qr(products, a, m, n, work, work + k);
      for (std::int64_t j = 0; j < n; ++j) std::copy_n(a + j * m, count, values(2) + j * count);
      form_q(products, a, m, k, 0, work, values(1), count, work + k);
      return;
    }
    case Routine::SymmetricEigen: state() = symmetric_eigen(products, a, n, values(1), d.vectors ? values(2) : nullptr, work); return;
    case Routine::Eigen: state() = general_eigen(a, n, values(1), d.vectors ? values(2) : nullptr, work); return;
    case Routine::SVD:
      state() = singular_values(products, a, m, n, values(1), d.full ? m : n, values(2), d.vectors ? values(3) : nullptr, work);
      return;
  }
}

template <class T>
class RoutineCall final : public runtime::Call {
 public:
  explicit RoutineCall(const MatrixRoutine& d)
      : d_(d),
        parts_(runtime::buffers_of(d)),
        most_threads_(library_threads()),
        work_(rounded(sizeof(T) * static_cast<std::size_t>(work_of<T>(d)))),
        copy_(d.routine == Routine::TriangularSolve || in_place(d) ? 0 : rounded(parts_.bytes[0])) {}

  std::size_t scratch_bytes() const override { return workers(most_threads_) * one() + products_bytes(); }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (d_.batch == 0) return;
    const int threads = std::clamp(options.threads, 1, most_threads_);
    auto* const scratch = static_cast<std::byte*>(options.scratch);
    const Products<T> products(scratch + workers(most_threads_) * one(), largest(), threads);
    // Results that nobody reads are stored all the same.
    std::vector<std::vector<std::byte>> unread;
    std::vector<void*> all(buffers.begin(), buffers.end());
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!all[i] && wants(i)) all[i] = unread.emplace_back(parts_.bytes[i] * static_cast<std::size_t>(d_.batch)).data();
    const int sharing = static_cast<int>(workers(threads));
    parallel(sharing, [&](int part, int parts) {
      const Range mine = share(d_.batch, part, parts);
      std::byte* const own = scratch + static_cast<std::size_t>(part) * one();
      std::vector<void*> of_matrix(all.size());
      for (std::int64_t i = mine.begin; i < mine.end; ++i) {
        for (std::size_t k = 0; k < all.size(); ++k)
          of_matrix[k] = all[k] ? static_cast<std::byte*>(all[k]) + static_cast<std::size_t>(i) * parts_.bytes[k] : nullptr;
        matrix(parts > 1 ? products.of_part(part) : products, of_matrix, own);
      }
    });
  }

  std::string describe() const override {
    const bool system = d_.routine == Routine::TriangularSolve;
    return std::string(runtime::name(d_.routine)) + " " + std::string(name(d_.dtype)) + " " +
           (d_.batch == 1 ? "" : std::to_string(d_.batch) + " of ") + std::to_string(system ? d_.columns : d_.rows) + "x" +
           std::to_string(d_.columns) + (system ? " for " + std::to_string(d_.right) + " columns" : "") + ", by " +
           (d_.routine == Routine::Eigen && lapack() ? lapack()->name
                                                     : "our own blocks" + (fast_lapack<T>() ? " over " + lapack()->name : ""));
  }

 private:
  bool wants(std::size_t buffer) const {
    const bool of_vectors = (buffer == 2 && d_.routine != Routine::SVD) || (d_.routine == Routine::SVD && (buffer == 1 || buffer == 3));
    return !has_spectrum(d_.routine) || d_.vectors || !of_vectors;
  }
  std::int64_t largest() const { return std::max({d_.rows, d_.columns, d_.right, kReflectors}); }
  std::size_t one() const { return work_ + copy_; }
  std::size_t products_bytes() const { return Products<T>::scratch_bytes(largest(), most_threads_); }
  /// The number of threads that have matrices of their own.
  std::size_t workers(int threads) const {
    const bool alone = d_.batch >= 2 * threads || std::max(d_.rows, d_.columns) <= kAlone;
    return alone ? static_cast<std::size_t>(std::clamp<std::int64_t>(d_.batch, 1, threads)) : 1;
  }

  void matrix(const Products<T>& products, std::span<void* const> buffers, std::byte* scratch) const {
    T* const work = reinterpret_cast<T*>(scratch);
    T* const a = in_place(d_) ? static_cast<T*>(buffers[1]) : reinterpret_cast<T*>(scratch + work_);
    if (d_.routine == Routine::LU && !d_.transposed)
      turn_matrix(static_cast<const T*>(buffers[0]), d_.rows, d_.columns, d_.rows, a, d_.columns);
    else if ((copy_ > 0 || (in_place(d_) && a != buffers[0])) && parts_.bytes[0] > 0) std::memcpy(a, buffers[0], parts_.bytes[0]);
    if (has_spectrum(d_.routine)) {
      const T* const input = static_cast<const T*>(buffers[0]);
      if (!std::all_of(input, input + parts_.bytes[0] / sizeof(T), [](T x) { return std::isfinite(x); })) return no_numbers(buffers);
    }
    run_one(d_, products, a, buffers, work);
  }

  /// Iterations would not end.
  void no_numbers(std::span<void* const> buffers) const {
    for (std::size_t i = 1; i + 1 < buffers.size(); ++i)
      if (buffers[i]) std::fill_n(static_cast<T*>(buffers[i]), parts_.bytes[i] / sizeof(T), std::numeric_limits<T>::quiet_NaN());
    *static_cast<std::int32_t*>(buffers.back()) = 0;
  }

  MatrixRoutine d_;
  runtime::MatrixBuffers parts_;
  int most_threads_;
  std::size_t work_, copy_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_matrix_routine(const MatrixRoutine& d) {
  const bool square = d.routine != Routine::LU && d.routine != Routine::QR && d.routine != Routine::SVD;
  const bool fits = std::min({d.batch, d.rows, d.columns, d.right}) >= 0 && (!square || d.rows == d.columns) &&
                    (d.routine != Routine::SVD || d.rows >= d.columns);
  if (!fits || (d.dtype != f32 && d.dtype != f64))
    throw Error({.op = runtime::name(d.routine),
                 .got = std::string(name(d.dtype)) + " of " + std::to_string(d.rows) + "x" + std::to_string(d.columns),
                 .expected = "f32 or f64, and extents of the routine"});
  if (d.dtype == f64) return std::make_unique<RoutineCall<double>>(d);
  return std::make_unique<RoutineCall<float>>(d);
}

}  // namespace tegula::host

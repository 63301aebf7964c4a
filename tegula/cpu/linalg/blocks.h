#pragma once
// Factors of one matrix by blocks, in products of our own (calls/gemm.h): what runs where no fast LAPACK is found. A matrix by columns is its transpose by
// rows: rows of memory are its columns.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tegula/cpu/calls/gemm.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {

/// body(piece, pieces, part) of each, the parts side by side.
template <class Body>
void by_pieces(int threads, int pieces, const Body& body) {
  parallel(std::min(threads, pieces), [&](int part, int parts) {
    const Range mine = share(pieces, part, parts);
    for (std::int64_t piece = mine.begin; piece < mine.end; ++piece) body(piece, pieces, part);
  });
}

/// Element (i, j) of a matrix in memory.
template <class T>
struct Strided {
  T* data = nullptr;
  std::int64_t row = 0, column = 1;
  T& operator()(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
  Strided from(std::int64_t i, std::int64_t j) const { return {data + i * row + j * column, row, column}; }
  Strided transposed() const { return {data, column, row}; }
  operator Strided<const T>() const
  requires(!std::is_const_v<T>)
  {
    return {data, row, column};
  }
};

/// Products of matrices, on several threads where they are large.
template <class T>
class Products {
 public:
  /// Memory for products with at most these extents.
  static std::size_t scratch_bytes(std::int64_t largest, int threads);
  Products(void* scratch, std::int64_t largest, int threads);

  /// C (m, n), whose rows are contiguous: C = A B, or C - A B.
  void assign(std::int64_t m, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<const T> b, Strided<T> c) const;
  void subtract(std::int64_t m, std::int64_t n, std::int64_t k, Strided<const T> a, Strided<const T> b, Strided<T> c) const;
  int threads() const { return threads_; }
  /// The same on the calling thread alone, with the scratch memory of this part.
  Products of_part(int part) const;

 private:
  Products() = default;
  void run(Gemm<T> problem) const;
  std::byte* scratch_ = nullptr;
  std::size_t each_ = 0;
  int threads_ = 1;
};

enum class Diagonal : std::uint8_t { Stored, Ones };

/// X (n, right), with contiguous rows: T X = B in place, T (n, n) the lower triangle of `t`, or the upper one.
template <class T>
void solve_lower(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t n, Strided<T> x, std::int64_t right);
template <class T>
void solve_upper(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t n, Strided<T> x, std::int64_t right);
/// X (m, n), with contiguous rows: X T = B in place, T the upper triangle of `t`.
template <class T>
void solve_behind(const Products<T>& products, Strided<const T> t, Diagonal diagonal, std::int64_t m, std::int64_t n, Strided<T> x);

/// P A = L U in place, A (m, n) by rows in `a`. pivots (min(m, n)): in step i row i changes places with row pivots[i]; order (m): row i of L U is row order[i]
/// of A. Returns how many rows changed places.
template <class T>
std::int32_t factor_lu(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, std::int64_t* pivots, std::int64_t* order,
                       T* work);
/// A = L Lᵀ in the lower triangle of `a`, by rows. Returns 0, or the order of the first leading block that is not positive definite.
template <class T>
std::int32_t factor_cholesky(const Products<T>& products, T* a, std::int64_t n, T* work);
/// Elements of `work` for both, which is aligned to 64 bytes: of m rows.
template <class T>
std::int64_t lu_work(std::int64_t m);

/// Householder's reflectors in blocks: H = I - V T Vᵀ (Schreiber and Van Loan, 1989).
inline constexpr std::int64_t kReflectors = 32;  // of a block of a small matrix
/// The number of reflectors of a block: enough that threads need not wait for the matrix they are applied to.
inline std::int64_t reflectors_of(std::int64_t m, std::int64_t n) { return m < 1024 || n < 1024 ? kReflectors : 4 * kReflectors; }

/// A = Q R in place, A (m, n) by columns: R, and below its diagonal the reflectors, whose first elements are 1. factors (min(m, n)): τ of each.
template <class T>
void factor_qr(const Products<T>& products, T* a, std::int64_t m, std::int64_t n, T* factors, T* work);
/// The first `count` columns of Q (m, count), by columns, of `reflectors` as factor_qr left them, each beginning `shift` rows below the diagonal.
template <class T>
void form_q(const Products<T>& products, const T* a, std::int64_t m, std::int64_t reflectors, std::int64_t shift, const T* factors, T* q,
            std::int64_t count, T* work);
/// Columns of X (m, rows), which are rows of memory, become Q times them; reflectors as in form_q.
template <class T>
void apply_q(const Products<T>& products, const T* a, std::int64_t m, std::int64_t reflectors, std::int64_t shift, const T* factors, T* x,
             std::int64_t rows, T* work);
/// Elements of `work` for all three; n columns or rows at most.
inline std::int64_t qr_work(std::int64_t m, std::int64_t n) {
  const std::int64_t most = m > n ? m : n, block = reflectors_of(most, most);
  return block * (m + most * 2 + 3 * block);
}

}  // namespace tegula::host

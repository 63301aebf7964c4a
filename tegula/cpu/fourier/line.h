#pragma once
// Discrete Fourier transforms of lines, several side by side: Stockham's algorithm in steps of 2, 3, 4, 5, 8 and small primes (Cochran et al., 1967), and
// Bluestein's for sizes with a large prime (1970).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tegula::host {

template <class T>
class LineTransform {
 public:
  explicit LineTransform(std::int64_t size);
  ~LineTransform();
  LineTransform(const LineTransform&) = delete;
  LineTransform& operator=(const LineTransform&) = delete;

  std::int64_t size() const { return size_; }
  /// The number of elements of run()'s work for a number of lines.
  std::size_t work(std::int64_t lines) const;
  /// X[k] = Σ x[j] exp(-2πi jk / n) in place: element j of line l is at j * lines + l of both parts. With the parts exchanged it is the inverse, not divided.
  void run(T* re, T* im, std::int64_t lines, T* work) const;

 private:
  void pass(int radix, std::int64_t length, std::int64_t stride, const T* re, const T* im, T* to_re, T* to_im) const;
  void bluestein(T* re, T* im, std::int64_t lines, T* work) const;

  std::int64_t size_;
  std::vector<int> radices_;  // empty: Bluestein's
  std::vector<T> cos_, sin_;  // of 2π k / n
  std::unique_ptr<LineTransform> longer_;
  std::vector<T> chirp_re_, chirp_im_, filter_re_, filter_im_;
};

/// One long line as a matrix of rows and columns (Bailey, "FFTs in external or hierarchical memory", 1990): transforms of its columns, factors, transforms of
/// its rows.
struct LongLine {
  std::int64_t rows = 0, columns = 0;
};
/// The most even way to cut a long size in two; nothing for sizes that fit into a cache or have no such factors.
LongLine cut_long(std::int64_t size);
/// exp(-2πi k / n), k in [0, n).
void circle_part(std::int64_t k, std::int64_t n, double& re, double& im);

}  // namespace tegula::host

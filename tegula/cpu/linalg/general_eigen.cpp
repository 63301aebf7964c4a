// Eigenvalues of any square matrix, by plain loops: EISPACK's orthes and hqr2 (Smith et al., 1976; Francis, 1961).

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>

#include "tegula/cpu/linalg/lapack.h"
#include "tegula/cpu/linalg/spectra.h"

namespace tegula::host {
namespace {

constexpr int kMostTurns = 300;  // for one eigenvalue

template <class T>
class QRAlgorithm {
 public:
  QRAlgorithm(T* a, std::int64_t n, T* vectors, T* re, T* im, T* work) : h_(a), v_(vectors), re_(re), im_(im), work_(work), size_(n) {}

  std::int32_t run() {
    to_hessenberg();
    const std::int32_t state = to_triangle();
    if (state == 0 && norm_ != T(0)) find_vectors();
    return state;
  }

 private:
  T& h(std::int64_t i, std::int64_t j) { return h_[j * size_ + i]; }
  T& v(std::int64_t i, std::int64_t j) { return v_[j * size_ + i]; }

  void to_hessenberg() {
    const std::int64_t n = size_, high = n - 1;
    T* const ort = work_;
    std::fill_n(ort, n, T(0));
    for (std::int64_t m = 1; m < high; ++m) {
      T scale = 0;
      for (std::int64_t i = m; i <= high; ++i) scale += std::abs(h(i, m - 1));
      if (scale == T(0)) continue;
      T sum = 0;
      for (std::int64_t i = high; i >= m; --i) ort[i] = h(i, m - 1) / scale, sum += ort[i] * ort[i];
      const T g = ort[m] > 0 ? -std::sqrt(sum) : std::sqrt(sum);
      sum -= ort[m] * g, ort[m] -= g;
      for (std::int64_t j = m; j < n; ++j) {
        T f = 0;
        for (std::int64_t i = m; i <= high; ++i) f += ort[i] * h(i, j);
        f /= sum;
        for (std::int64_t i = m; i <= high; ++i) h(i, j) -= f * ort[i];
      }
      T* const f = work_ + n;  // a column at a time
      std::fill_n(f, n, T(0));
      for (std::int64_t j = m; j <= high; ++j)
        for (std::int64_t i = 0; i <= high; ++i) f[i] += ort[j] * h(i, j);
      for (std::int64_t j = m; j <= high; ++j)
        for (std::int64_t i = 0; i <= high; ++i) h(i, j) -= f[i] / sum * ort[j];
      ort[m] *= scale, h(m, m - 1) = scale * g;
    }
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) v(i, j) = i == j ? T(1) : T(0);
    for (std::int64_t m = high - 1; m >= 1; --m) {
      if (h(m, m - 1) == T(0)) continue;
      for (std::int64_t i = m + 1; i <= high; ++i) ort[i] = h(i, m - 1);
      for (std::int64_t j = m; j <= high; ++j) {
        T g = 0;
        for (std::int64_t i = m; i <= high; ++i) g += ort[i] * v(i, j);
        g = (g / ort[m]) / h(m, m - 1);
        for (std::int64_t i = m; i <= high; ++i) v(i, j) += g * ort[i];
      }
    }
  }

  /// The first row of the block that ends with row n and does not fall apart.
  std::int64_t small_beside(std::int64_t n) {
    std::int64_t l = n;
    for (; l > 0; --l) {
      T s = std::abs(h(l - 1, l - 1)) + std::abs(h(l, l));
      if (s == T(0)) s = norm_;
      if (!(std::abs(h(l, l - 1)) > eps_ * s)) break;
    }
    return l;
  }

  void split_pair(std::int64_t n, T shift) {
    const T w = h(n, n - 1) * h(n - 1, n);
    T p = (h(n - 1, n - 1) - h(n, n)) / 2, q = p * p + w, z = std::sqrt(std::abs(q));
    h(n, n) += shift, h(n - 1, n - 1) += shift;
    T x = h(n, n);
    if (q < 0) {
      re_[n - 1] = re_[n] = x + p;
      im_[n - 1] = z, im_[n] = -z;
      return;
    }
    z = p >= 0 ? p + z : p - z;
    re_[n - 1] = re_[n] = x + z;
    if (z != T(0)) re_[n] = x - w / z;
    im_[n - 1] = im_[n] = 0;
    x = h(n, n - 1);
    const T s = std::abs(x) + std::abs(z);
    p = x / s, q = z / s;
    const T r = std::sqrt(p * p + q * q);
    p /= r, q /= r;
    const auto turn = [&](T& left, T& right) {
      const T kept = left;
      left = q * kept + p * right;
      right = q * right - p * kept;
    };
    for (std::int64_t j = n - 1; j < size_; ++j) turn(h(n - 1, j), h(n, j));
    for (std::int64_t i = 0; i <= n; ++i) turn(h(i, n - 1), h(i, n));
    for (std::int64_t i = 0; i < size_; ++i) turn(v(i, n - 1), v(i, n));
  }

  std::int32_t to_triangle() {
    norm_ = 0;
    for (std::int64_t i = 0; i < size_; ++i)
      for (std::int64_t j = std::max<std::int64_t>(i - 1, 0); j < size_; ++j) norm_ += std::abs(h(i, j));
    T shift = 0;
    int turn = 0;
    for (std::int64_t n = size_ - 1; n >= 0;) {
      const std::int64_t l = small_beside(n);
      if (l == n) {
        h(n, n) += shift;
        re_[n] = h(n, n), im_[n] = 0;
        --n, turn = 0;
      } else if (l == n - 1) {
        split_pair(n, shift);
        n -= 2, turn = 0;
      } else {
        if (turn == kMostTurns) return static_cast<std::int32_t>(n + 1);
        step(l, n, turn++, shift);
      }
    }
    return 0;
  }

  /// A double step of QR on rows [l, n].
  void step(std::int64_t l, std::int64_t n, int turn, T& shift) {
    T x = h(n, n), y = h(n - 1, n - 1), w = h(n, n - 1) * h(n - 1, n);
    if (turn % 20 == 10) {  // Wilkinson's shift
      shift += x;
      for (std::int64_t i = 0; i <= n; ++i) h(i, i) -= x;
      const T s = std::abs(h(n, n - 1)) + std::abs(h(n - 1, n - 2));
      x = y = T(0.75) * s, w = T(-0.4375) * s * s;
    }
    T p = 0, q = 0, r = 0;
    std::int64_t m = n - 2;
    for (; m >= l; --m) {
      const T z = h(m, m);
      r = x - z;
      T s = y - z;
      p = (r * s - w) / h(m + 1, m) + h(m, m + 1);
      q = h(m + 1, m + 1) - z - r - s;
      r = h(m + 2, m + 1);
      s = std::abs(p) + std::abs(q) + std::abs(r);
      p /= s, q /= s, r /= s;
      if (m == l) break;
      if (std::abs(h(m, m - 1)) * (std::abs(q) + std::abs(r)) <
          eps_ * (std::abs(p) * (std::abs(h(m - 1, m - 1)) + std::abs(z) + std::abs(h(m + 1, m + 1)))))
        break;
    }
    for (std::int64_t i = m + 2; i <= n; ++i) {
      h(i, i - 2) = 0;
      if (i > m + 2) h(i, i - 3) = 0;
    }
    for (std::int64_t k = m; k < n; ++k) {
      const bool three = k != n - 1;
      if (k != m) {
        p = h(k, k - 1), q = h(k + 1, k - 1), r = three ? h(k + 2, k - 1) : T(0);
        x = std::abs(p) + std::abs(q) + std::abs(r);
        if (x == T(0)) continue;
        p /= x, q /= x, r /= x;
      }
      T s = std::sqrt(p * p + q * q + r * r);
      if (p < 0) s = -s;
      if (s == T(0)) continue;
      if (k != m) h(k, k - 1) = -s * x;
      else if (l != m) h(k, k - 1) = -h(k, k - 1);
      p += s;
      x = p / s, y = q / s;
      const T z = r / s;
      q /= p, r /= p;
      for (std::int64_t j = k; j < size_; ++j) {
        p = h(k, j) + q * h(k + 1, j);
        if (three) p += r * h(k + 2, j), h(k + 2, j) -= p * z;
        h(k, j) -= p * x, h(k + 1, j) -= p * y;
      }
      const auto columns = [&](auto&& at, std::int64_t rows) {
        for (std::int64_t i = 0; i < rows; ++i) {
          T f = x * at(i, k) + y * at(i, k + 1);
          if (three) f += z * at(i, k + 2), at(i, k + 2) -= f * r;
          at(i, k) -= f, at(i, k + 1) -= f * q;
        }
      };
      columns([this](std::int64_t i, std::int64_t j) -> T& { return h(i, j); }, std::min(n, k + 3) + 1);
      columns([this](std::int64_t i, std::int64_t j) -> T& { return v(i, j); }, size_);
    }
  }

  T row_times(std::int64_t i, std::int64_t from, std::int64_t to, std::int64_t column) {
    T sum = 0;
    for (std::int64_t j = from; j <= to; ++j) sum += h(i, j) * h(j, column);
    return sum;
  }
  void limit(std::int64_t i, std::int64_t n, std::int64_t first) {
    T t = 0;
    for (std::int64_t c = first; c <= n; ++c) t = std::max(t, std::abs(h(i, c)));
    if (!(eps_ * t * t > T(1))) return;
    for (std::int64_t c = first; c <= n; ++c)
      for (std::int64_t j = i; j <= n; ++j) h(j, c) /= t;
  }

  void real_vector(std::int64_t n) {
    const T p = re_[n];
    T z = 0, s = 0;
    std::int64_t l = n;
    h(n, n) = 1;
    for (std::int64_t i = n - 1; i >= 0; --i) {
      const T w = h(i, i) - p, r = row_times(i, l, n, n);
      if (im_[i] < 0) {
        z = w, s = r;
        continue;
      }
      l = i;
      if (im_[i] == T(0)) {
        h(i, n) = -r / (w != T(0) ? w : eps_ * norm_);
      } else {
        const T x = h(i, i + 1), y = h(i + 1, i), q = (re_[i] - p) * (re_[i] - p) + im_[i] * im_[i], t = (x * s - z * r) / q;
        h(i, n) = t;
        h(i + 1, n) = std::abs(x) > std::abs(z) ? (-r - w * t) / x : (-s - y * t) / z;
      }
      limit(i, n, n);
    }
  }

  /// Columns n - 1 and n: real and imaginary parts.
  void complex_vector(std::int64_t n) {
    using C = std::complex<T>;
    const T p = re_[n], q = im_[n];
    const auto put = [&](std::int64_t i, C value) { h(i, n - 1) = value.real(), h(i, n) = value.imag(); };
    std::int64_t l = n - 1;
    if (std::abs(h(n, n - 1)) > std::abs(h(n - 1, n))) put(n - 1, {q / h(n, n - 1), -(h(n, n) - p) / h(n, n - 1)});
    else put(n - 1, C(0, -h(n - 1, n)) / C(h(n - 1, n - 1) - p, q));
    h(n, n - 1) = 0, h(n, n) = 1;
    T z = 0, r = 0, s = 0;
    for (std::int64_t i = n - 2; i >= 0; --i) {
      const T ra = row_times(i, l, n, n - 1), sa = row_times(i, l, n, n), w = h(i, i) - p;
      if (im_[i] < 0) {
        z = w, r = ra, s = sa;
        continue;
      }
      l = i;
      if (im_[i] == T(0)) {
        put(i, C(-ra, -sa) / C(w, q));
      } else {
        const T x = h(i, i + 1), y = h(i + 1, i);
        T vr = (re_[i] - p) * (re_[i] - p) + im_[i] * im_[i] - q * q;
        const T vi = (re_[i] - p) * 2 * q;
        if (vr == T(0) && vi == T(0)) vr = eps_ * norm_ * (std::abs(w) + std::abs(q) + std::abs(x) + std::abs(y) + std::abs(z));
        put(i, C(x * r - z * ra + q * sa, x * s - z * sa - q * ra) / C(vr, vi));
        const T a = h(i, n - 1), b = h(i, n);
        if (std::abs(x) > std::abs(z) + std::abs(q)) put(i + 1, {(-ra - w * a + q * b) / x, (-sa - w * b - q * a) / x});
        else put(i + 1, C(-r - y * a, -s - y * b) / C(z, q));
      }
      limit(i, n, n - 1);
    }
  }

  void find_vectors() {
    for (std::int64_t n = size_ - 1; n >= 0; --n) {
      if (im_[n] == T(0)) real_vector(n);
      else if (im_[n] < 0) complex_vector(n);
    }
    T* const column = work_;
    for (std::int64_t j = size_ - 1; j >= 0; --j) {
      std::fill_n(column, size_, T(0));
      for (std::int64_t k = 0; k <= j; ++k)
        for (std::int64_t i = 0; i < size_; ++i) column[i] += v(i, k) * h(k, j);
      std::copy_n(column, size_, &v(0, j));
    }
  }

  static constexpr T eps_ = std::numeric_limits<T>::epsilon();
  T *h_, *v_, *re_, *im_, *work_;
  std::int64_t size_;
  T norm_ = 0;
};

/// LAPACK's form of the results, real and imaginary parts and packed vectors by columns, as pairs; each vector of norm 1.
template <class T>
void pairs_of(const T* re, const T* im, const T* packed, std::int64_t n, T* values, T* vectors) {
  for (std::int64_t j = 0; j < n; ++j) {
    values[2 * j] = re[j], values[2 * j + 1] = im[j];
    if (!vectors) continue;
    const T* const real = packed + (im[j] < 0 ? j - 1 : j) * n;  // LAPACK's order: the vector of a pair stands at its first number
    const T* const imaginary = im[j] == T(0) ? nullptr : real + n;
    T* const to = vectors + 2 * j * n;
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      to[2 * i] = real[i], to[2 * i + 1] = !imaginary ? T(0) : im[j] < 0 ? -imaginary[i] : imaginary[i];
      sum = std::hypot(sum, std::hypot(to[2 * i], to[2 * i + 1]));
    }
    for (std::int64_t i = 0; i < 2 * n && sum > T(0); ++i) to[i] /= sum;
  }
}

/// LAPACK's integers hold the extents.
const Lapack* lapack_for(std::int64_t n) { return n > 0 && n < std::numeric_limits<int>::max() ? lapack() : nullptr; }

/// Elements of geev's own work, as it tells.
template <class T>
int library_size(const Lapack& library, int n, bool vectors) {
  const int asked = -1, one = 1;
  int info = 0;
  T best = 1;
  library.functions<T>().geev("N", vectors ? "V" : "N", &n, nullptr, &n, nullptr, nullptr, nullptr, &one, nullptr, &n, &best, &asked, &info,
                              1, 1);
  return static_cast<int>(best) + static_cast<int>(best) / (1 << 22) + 64;  // f32 has 24 bits
}

}  // namespace

template <class T>
std::int64_t general_eigen_work(std::int64_t n, bool vectors) {
  const Lapack* const library = lapack_for(n);
  return n * n + 2 * n + (library ? library_size<T>(*library, static_cast<int>(n), vectors) : 2 * n);
}

template <class T>
std::int32_t general_eigen(T* a, std::int64_t n, T* values, T* vectors, T* work) {
  T *const packed = work, *const re = work + n * n, *const im = re + n, *const more = im + n;
  std::int32_t state = 0;
  if (const Lapack* const library = lapack_for(n)) {
    const int order = static_cast<int>(n), one = 1, size = library_size<T>(*library, order, vectors != nullptr);
    int info = 0;
    library->functions<T>().geev("N", vectors ? "V" : "N", &order, a, &order, re, im, nullptr, &one, packed, &order, more, &size, &info, 1,
                                 1);
    state = std::abs(info);
  } else {
    state = QRAlgorithm<T>(a, n, packed, re, im, more).run();
  }
  pairs_of(re, im, packed, n, values, vectors);
  return state;
}

#define TEGULA_EIGEN(T)                                            \
  template std::int64_t general_eigen_work<T>(std::int64_t, bool); \
  template std::int32_t general_eigen(T*, std::int64_t, T*, T*, T*);
TEGULA_EIGEN(float)
TEGULA_EIGEN(double)
#undef TEGULA_EIGEN

}  // namespace tegula::host

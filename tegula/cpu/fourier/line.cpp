#include "tegula/cpu/fourier/line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

constexpr int kLargestRadix = 31;

/// The n-th part of a circle, k times: exact where the circle is cut into eighths.
std::pair<double, double> turn(std::int64_t k, std::int64_t n) {
  k %= n;
  const std::int64_t eighths = 8 * k / n;
  const auto angle = [&](std::int64_t numerator) {
    return std::numbers::pi / 4 * (static_cast<double>(numerator) / static_cast<double>(n));
  };
  const std::int64_t rest = 8 * k - eighths * n;  // in eighths of n
  const double c = std::cos(angle(rest)), s = std::sin(angle(rest)), c2 = std::cos(angle(n - rest)), s2 = std::sin(angle(n - rest));
  switch (eighths) {
    case 0: return {c, s};
    case 1: return {s2, c2};
    case 2: return {-s, c};
    case 3: return {-c2, s2};
    case 4: return {-c, -s};
    case 5: return {-s2, -c2};
    case 6: return {s, -c};
    default: return {c2, -s2};
  }
}

std::vector<int> radices_of(std::int64_t n) {
  std::vector<int> out;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (; twos >= 3 && twos != 4; twos -= 3) out.push_back(8);  // the fewer steps, the less goes through the caches
  for (; twos >= 2; twos -= 2) out.push_back(4);
  if (twos == 1) out.push_back(2);
  for (int radix = 3; radix <= kLargestRadix; radix += 2)
    for (; n % radix == 0; n /= radix) out.push_back(radix);
  if (n > 1) out.clear();
  return out;
}

// ---- Steps of one radix at a time: `apart` numbers between what is combined, `stride` between what it becomes; of V numbers side by side, which is a vector
// or a number. Result k is multiplied by (c[k], -s[k]).

typedef float Floats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(32)));
template <class T>
struct Side;
template <>
struct Side<float> {
  using Vector = Floats;
};
template <>
struct Side<double> {
  using Vector = Doubles;
};

template <class V, class T>
TEGULA_WIDE inline V taken(const T* from) {
  V x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}
template <class V, class T>
TEGULA_WIDE inline void put(V x, T* to) {
  __builtin_memcpy(to, &x, sizeof x);
}

/// The numbers that a step reads and writes at one place.
template <class V, class T>
struct Place {
  const T *xr, *xi;
  T *yr, *yi;
  std::int64_t apart, stride;
  const T *c, *s;
  TEGULA_WIDE V re(int j) const { return taken<V>(xr + j * apart); }
  TEGULA_WIDE V im(int j) const { return taken<V>(xi + j * apart); }
  TEGULA_WIDE void first(V r, V i) const { put(r, yr), put(i, yi); }
  TEGULA_WIDE void result(int k, V r, V i) const {
    put<V>(r * c[k] + i * s[k], yr + k * stride);
    put<V>(i * c[k] - r * s[k], yi + k * stride);
  }
};

struct Step2 {
  static constexpr int kRadix = 2;
  template <class V, class T>
  TEGULA_WIDE static void at(const Place<V, T>& p) {
    const V ar = p.re(0), ai = p.im(0), br = p.re(1), bi = p.im(1);
    p.first(ar + br, ai + bi);
    p.result(1, ar - br, ai - bi);
  }
};

struct Step3 {
  static constexpr int kRadix = 3;
  template <class V, class T>
  TEGULA_WIDE static void at(const Place<V, T>& p) {
    constexpr T kSine = static_cast<T>(0.86602540378443864676), kHalf = static_cast<T>(0.5);  // of 2π / 3
    const V ar = p.re(0), ai = p.im(0), br = p.re(1), bi = p.im(1), cr = p.re(2), ci = p.im(2);
    const V sr = br + cr, si = bi + ci, dr = kSine * (br - cr), di = kSine * (bi - ci);
    const V mr = ar - kHalf * sr, mi = ai - kHalf * si;
    p.first(ar + sr, ai + si);
    p.result(1, mr + di, mi - dr);
    p.result(2, mr - di, mi + dr);
  }
};

struct Step4 {
  static constexpr int kRadix = 4;
  template <class V, class T>
  TEGULA_WIDE static void at(const Place<V, T>& p) {
    const V ar = p.re(0), ai = p.im(0), br = p.re(1), bi = p.im(1), cr = p.re(2), ci = p.im(2), dr = p.re(3), di = p.im(3);
    const V sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci, ur = br + dr, ui = bi + di;
    const V vr = bi - di, vi = dr - br;  // -i (b - d)
    p.first(sr + ur, si + ui);
    p.result(1, tr + vr, ti + vi);
    p.result(2, sr - ur, si - ui);
    p.result(3, tr - vr, ti - vi);
  }
};

struct Step5 {
  static constexpr int kRadix = 5;
  template <class V, class T>
  TEGULA_WIDE static void at(const Place<V, T>& p) {
    constexpr T c1 = static_cast<T>(0.30901699437494742410), c2 = static_cast<T>(-0.80901699437494742410);  // of 2π / 5 and 4π / 5
    constexpr T s1 = static_cast<T>(0.95105651629515357212), s2 = static_cast<T>(0.58778525229247312917);
    const V ar = p.re(0), ai = p.im(0), br = p.re(1), bi = p.im(1), cr = p.re(2), ci = p.im(2), dr = p.re(3), di = p.im(3);
    const V er = p.re(4), ei = p.im(4);
    const V pr = br + er, pi = bi + ei, qr = cr + dr, qi = ci + di, ur = br - er, ui = bi - ei, vr = cr - dr, vi = ci - di;
    const V mr = ar + c1 * pr + c2 * qr, mi = ai + c1 * pi + c2 * qi, nr = ar + c2 * pr + c1 * qr, ni = ai + c2 * pi + c1 * qi;
    const V gr = s1 * ur + s2 * vr, gi = s1 * ui + s2 * vi, hr = s2 * ur - s1 * vr, hi = s2 * ui - s1 * vi;
    p.first(ar + pr + qr, ai + pi + qi);
    p.result(1, mr + gi, mi - gr);
    p.result(2, nr + hi, ni - hr);
    p.result(3, nr - hi, ni + hr);
    p.result(4, mr - gi, mi + gr);
  }
};

/// Two steps of 4, of what is even and odd, and one of 2.
struct Step8 {
  static constexpr int kRadix = 8;
  template <class V, class T>
  TEGULA_WIDE static void at(const Place<V, T>& p) {
    constexpr T kHalf = static_cast<T>(0.70710678118654752440);  // of the square root of 2
    const V fr = p.re(1) + p.re(5), fi = p.im(1) + p.im(5), gr = p.re(1) - p.re(5), gi = p.im(1) - p.im(5);
    const V hr = p.re(3) + p.re(7), hi = p.im(3) + p.im(7), kr = p.re(3) - p.re(7), ki = p.im(3) - p.im(7);
    const V o0r = fr + hr, o0i = fi + hi, o2r = fi - hi, o2i = hr - fr;  // the latter times -i
    const V pr = gr + ki, pi = gi - kr, qr = gr - ki, qi = gi + kr;
    const V o1r = kHalf * (pr + pi), o1i = kHalf * (pi - pr), o3r = kHalf * (qi - qr), o3i = -kHalf * (qr + qi);
    const V ar = p.re(0) + p.re(4), ai = p.im(0) + p.im(4), cr = p.re(2) + p.re(6), ci = p.im(2) + p.im(6);
    const V e0r = ar + cr, e0i = ai + ci, e2r = ar - cr, e2i = ai - ci;
    p.first(e0r + o0r, e0i + o0i);
    p.result(4, e0r - o0r, e0i - o0i);
    p.result(2, e2r + o2r, e2i + o2i);
    p.result(6, e2r - o2r, e2i - o2i);
    const V br = p.re(0) - p.re(4), bi = p.im(0) - p.im(4), dr = p.re(2) - p.re(6), di = p.im(2) - p.im(6);
    const V e1r = br + di, e1i = bi - dr, e3r = br - di, e3i = bi + dr;
    p.result(1, e1r + o1r, e1i + o1i);
    p.result(5, e1r - o1r, e1i - o1i);
    p.result(3, e3r + o3r, e3i + o3i);
    p.result(7, e3r - o3r, e3i - o3i);
  }
};

/// A step of all pieces: piece p of `stride` numbers has the factors of p * k / length of a circle, which the table of the whole size has.
template <class Step, class T>
TEGULA_WIDE void all_pieces(std::int64_t m, std::int64_t stride, const T* xr, const T* xi, T* yr, T* yi, std::int64_t step_of_table,
                            const T* cosines, const T* sines) {
  using V = typename Side<T>::Vector;
  constexpr std::int64_t kWide = sizeof(V) / sizeof(T);
  constexpr int kRadix = Step::kRadix;
  const std::int64_t apart = m * stride;
  for (std::int64_t p = 0; p < m; ++p) {
    T c[kRadix], s[kRadix];
    for (int k = 1; k < kRadix; ++k) c[k] = cosines[p * k * step_of_table], s[k] = sines[p * k * step_of_table];
    const T *const from_re = xr + p * stride, *const from_im = xi + p * stride;
    T *const to_re = yr + p * kRadix * stride, *const to_im = yi + p * kRadix * stride;
    std::int64_t q = 0;
    for (; q + kWide <= stride; q += kWide) Step::at(Place<V, T>{from_re + q, from_im + q, to_re + q, to_im + q, apart, stride, c, s});
    for (; q < stride; ++q) Step::at(Place<T, T>{from_re + q, from_im + q, to_re + q, to_im + q, apart, stride, c, s});
  }
}

/// Any radix: y[k] = w^k Σ x[j] exp(-2πi jk / radix); the sums by their table.
template <class T>
TEGULA_WIDE void step(int radix, std::int64_t stride, std::int64_t apart, const T* xr, const T* xi, T* yr, T* yi, const T* c, const T* s,
                      const T* table_c, const T* table_s) {
  for (int k = 0; k < radix; ++k) {
    T *const to_re = yr + k * stride, *const to_im = yi + k * stride;
    for (std::int64_t q = 0; q < stride; ++q) to_re[q] = xr[q], to_im[q] = xi[q];
    for (int j = 1; j < radix; ++j) {
      const T tc = table_c[j * k % radix], ts = table_s[j * k % radix];
      const T *const from_re = xr + j * apart, *const from_im = xi + j * apart;
#pragma omp simd
      for (std::int64_t q = 0; q < stride; ++q) {
        to_re[q] += from_re[q] * tc + from_im[q] * ts;
        to_im[q] += from_im[q] * tc - from_re[q] * ts;
      }
    }
    const T wc = c[k], ws = s[k];
#pragma omp simd
    for (std::int64_t q = 0; q < stride; ++q) {
      const T r = to_re[q], i = to_im[q];
      to_re[q] = r * wc + i * ws, to_im[q] = i * wc - r * ws;
    }
  }
}

/// (re, im) times (c, s), for each element the same number of all lines.
template <class T>
TEGULA_WIDE void multiply(std::int64_t count, std::int64_t lines, const T* c, const T* s, T* re, T* im) {
  for (std::int64_t j = 0; j < count; ++j)
#pragma omp simd
    for (std::int64_t l = j * lines; l < (j + 1) * lines; ++l) {
      const T r = re[l], i = im[l];
      re[l] = r * c[j] - i * s[j], im[l] = r * s[j] + i * c[j];
    }
}

}  // namespace

template <class T>
LineTransform<T>::LineTransform(std::int64_t size) : size_(size),
                                                     radices_(radices_of(size)) {
  if (size_ <= 1) return;
  if (!radices_.empty()) {
    for (std::int64_t k = 0; k < size_; ++k) {
      const auto [c, s] = turn(k, size_);
      cos_.push_back(static_cast<T>(c)), sin_.push_back(static_cast<T>(s));
    }
    return;
  }
  std::int64_t padded = 1;
  while (padded < 2 * size_ - 1) padded *= 2;
  if (padded / 4 * 3 >= 2 * size_ - 1) padded = padded / 4 * 3;
  longer_ = std::make_unique<LineTransform>(padded);
  filter_re_.assign(static_cast<std::size_t>(padded), 0), filter_im_.assign(static_cast<std::size_t>(padded), 0);
  for (std::int64_t j = 0; j < size_; ++j) {
    // j² mod 2n, without a product that overflows.
    const auto square = static_cast<std::int64_t>(static_cast<unsigned __int128>(j) * static_cast<unsigned __int128>(j) %
                                                  static_cast<unsigned __int128>(2 * size_));
    const auto [c, s] = turn(square, 2 * size_);
    chirp_re_.push_back(static_cast<T>(c)), chirp_im_.push_back(static_cast<T>(-s));
    for (const std::int64_t at : {j, (padded - j) % padded}) {
      filter_re_[static_cast<std::size_t>(at)] = static_cast<T>(c / static_cast<double>(padded));
      filter_im_[static_cast<std::size_t>(at)] = static_cast<T>(s / static_cast<double>(padded));
    }
  }
  std::vector<T> work(longer_->work(1));
  longer_->run(filter_re_.data(), filter_im_.data(), 1, work.data());
}

template <class T>
LineTransform<T>::~LineTransform() = default;

template <class T>
std::size_t LineTransform<T>::work(std::int64_t lines) const {
  if (longer_) return 2 * static_cast<std::size_t>(longer_->size() * lines) + longer_->work(lines);
  return 2 * static_cast<std::size_t>(size_ * lines);
}

template <class T>
void LineTransform<T>::pass(int radix, std::int64_t length, std::int64_t stride, const T* re, const T* im, T* to_re, T* to_im) const {
  const std::int64_t m = length / radix, step_of_table = size_ / length;
  const auto with = [&](auto step) {
    all_pieces<decltype(step)>(m, stride, re, im, to_re, to_im, step_of_table, cos_.data(), sin_.data());
  };
  switch (radix) {
    case 2: return with(Step2());
    case 3: return with(Step3());
    case 4: return with(Step4());
    case 5: return with(Step5());
    case 8: return with(Step8());
    default: break;
  }
  std::array<T, kLargestRadix> c{}, s{}, table_c{}, table_s{};
  for (int k = 0; k < radix; ++k) {
    const auto at = static_cast<std::size_t>(size_ / radix * k);
    table_c[static_cast<std::size_t>(k)] = cos_[at], table_s[static_cast<std::size_t>(k)] = sin_[at];
  }
  for (std::int64_t p = 0; p < m; ++p) {
    for (int k = 0; k < radix; ++k) {
      const auto at = static_cast<std::size_t>(p * k * step_of_table);
      c[static_cast<std::size_t>(k)] = cos_[at], s[static_cast<std::size_t>(k)] = sin_[at];
    }
    step(radix, stride, m * stride, re + p * stride, im + p * stride, to_re + p * radix * stride, to_im + p * radix * stride, c.data(),
         s.data(), table_c.data(), table_s.data());
  }
}

template <class T>
void LineTransform<T>::run(T* re, T* im, std::int64_t lines, T* work) const {
  if (size_ <= 1) return;
  if (longer_) return bluestein(re, im, lines, work);
  T *from_re = re, *from_im = im, *to_re = work, *to_im = work + size_ * lines;
  std::int64_t length = size_, stride = lines;
  for (const int radix : radices_) {
    pass(radix, length, stride, from_re, from_im, to_re, to_im);
    std::swap(from_re, to_re), std::swap(from_im, to_im);
    length /= radix, stride *= radix;
  }
  if (from_re == re) return;
  std::copy_n(from_re, size_ * lines, re), std::copy_n(from_im, size_ * lines, im);
}

template <class T>
void LineTransform<T>::bluestein(T* re, T* im, std::int64_t lines, T* work) const {
  const std::int64_t padded = longer_->size();
  T *const a = work, *const b = work + padded * lines, *const more = b + padded * lines;
  std::copy_n(re, size_ * lines, a), std::copy_n(im, size_ * lines, b);
  std::fill(a + size_ * lines, a + padded * lines, T(0)), std::fill(b + size_ * lines, b + padded * lines, T(0));
  multiply(size_, lines, chirp_re_.data(), chirp_im_.data(), a, b);
  longer_->run(a, b, lines, more);
  multiply(padded, lines, filter_re_.data(), filter_im_.data(), a, b);
  longer_->run(b, a, lines, more);  // the inverse
  std::copy_n(a, size_ * lines, re), std::copy_n(b, size_ * lines, im);
  multiply(size_, lines, chirp_re_.data(), chirp_im_.data(), re, im);
}

LongLine cut_long(std::int64_t size) {
  constexpr std::int64_t kLong = 1 << 15;
  if (size < kLong || radices_of(size).empty()) return {};
  for (std::int64_t rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(size))); rows >= 64; --rows)
    if (size % rows == 0) return {rows, size / rows};
  return {};
}

void circle_part(std::int64_t k, std::int64_t n, double& re, double& im) {
  const auto [c, s] = turn(k, n);
  re = c, im = -s;
}

template class LineTransform<float>;
template class LineTransform<double>;

}  // namespace tegula::host

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
  for (; n % 4 == 0; n /= 4) out.push_back(4);
  for (int radix = 2; radix <= kLargestRadix; ++radix)
    for (; n % radix == 0; n /= radix) out.push_back(radix);
  if (n > 1) out.clear();
  return out;
}

/// A step of radix 2: pieces of `stride` numbers.
template <class T>
TEGULA_WIDE void step2(std::int64_t stride, const T* ar, const T* ai, const T* br, const T* bi, T* yr, T* yi, T c, T s) {
#pragma omp simd
  for (std::int64_t q = 0; q < stride; ++q) {
    const T dr = ar[q] - br[q], di = ai[q] - bi[q];
    yr[q] = ar[q] + br[q], yi[q] = ai[q] + bi[q];
    yr[stride + q] = dr * c + di * s, yi[stride + q] = di * c - dr * s;
  }
}

template <class T>
TEGULA_WIDE void step4(std::int64_t stride, std::int64_t apart, const T* xr, const T* xi, T* yr, T* yi, const T* c, const T* s) {
#pragma omp simd
  for (std::int64_t q = 0; q < stride; ++q) {
    const T ar = xr[q], ai = xi[q], br = xr[q + apart], bi = xi[q + apart];
    const T cr = xr[q + 2 * apart], ci = xi[q + 2 * apart], dr = xr[q + 3 * apart], di = xi[q + 3 * apart];
    const T sr = ar + cr, si = ai + ci, tr = ar - cr, ti = ai - ci, ur = br + dr, ui = bi + di;
    const T vr = bi - di, vi = dr - br;  // -i (b - d)
    const T er = tr + vr, ei = ti + vi, fr = sr - ur, fi = si - ui, gr = tr - vr, gi = ti - vi;
    yr[q] = sr + ur, yi[q] = si + ui;
    yr[q + stride] = er * c[1] + ei * s[1], yi[q + stride] = ei * c[1] - er * s[1];
    yr[q + 2 * stride] = fr * c[2] + fi * s[2], yi[q + 2 * stride] = fi * c[2] - fr * s[2];
    yr[q + 3 * stride] = gr * c[3] + gi * s[3], yi[q + 3 * stride] = gi * c[3] - gr * s[3];
  }
}

template <class T>
TEGULA_WIDE void step3(std::int64_t stride, std::int64_t apart, const T* xr, const T* xi, T* yr, T* yi, const T* c, const T* s) {
  constexpr T kSine = static_cast<T>(0.86602540378443864676);  // of 2π / 3
#pragma omp simd
  for (std::int64_t q = 0; q < stride; ++q) {
    const T ar = xr[q], ai = xi[q], br = xr[q + apart], bi = xi[q + apart], cr = xr[q + 2 * apart], ci = xi[q + 2 * apart];
    const T sr = br + cr, si = bi + ci, dr = kSine * (br - cr), di = kSine * (bi - ci);
    const T mr = ar - sr / 2, mi = ai - si / 2, er = mr + di, ei = mi - dr, fr = mr - di, fi = mi + dr;
    yr[q] = ar + sr, yi[q] = ai + si;
    yr[q + stride] = er * c[1] + ei * s[1], yi[q + stride] = ei * c[1] - er * s[1];
    yr[q + 2 * stride] = fr * c[2] + fi * s[2], yi[q + 2 * stride] = fi * c[2] - fr * s[2];
  }
}

template <class T>
TEGULA_WIDE void step5(std::int64_t stride, std::int64_t apart, const T* xr, const T* xi, T* yr, T* yi, const T* c, const T* s) {
  constexpr T c1 = static_cast<T>(0.30901699437494742410), c2 = static_cast<T>(-0.80901699437494742410);  // of 2π / 5 and 4π / 5
  constexpr T s1 = static_cast<T>(0.95105651629515357212), s2 = static_cast<T>(0.58778525229247312917);
#pragma omp simd
  for (std::int64_t q = 0; q < stride; ++q) {
    const T ar = xr[q], ai = xi[q], br = xr[q + apart], bi = xi[q + apart], cr = xr[q + 2 * apart], ci = xi[q + 2 * apart];
    const T dr = xr[q + 3 * apart], di = xi[q + 3 * apart], er = xr[q + 4 * apart], ei = xi[q + 4 * apart];
    const T pr = br + er, pi = bi + ei, qr = cr + dr, qi = ci + di, ur = br - er, ui = bi - ei, vr = cr - dr, vi = ci - di;
    const T mr = ar + c1 * pr + c2 * qr, mi = ai + c1 * pi + c2 * qi, nr = ar + c2 * pr + c1 * qr, ni = ai + c2 * pi + c1 * qi;
    const T gr = s1 * ur + s2 * vr, gi = s1 * ui + s2 * vi, hr = s2 * ur - s1 * vr, hi = s2 * ui - s1 * vi;
    const T y1r = mr + gi, y1i = mi - gr, y4r = mr - gi, y4i = mi + gr, y2r = nr + hi, y2i = ni - hr, y3r = nr - hi, y3i = ni + hr;
    yr[q] = ar + pr + qr, yi[q] = ai + pi + qi;
    yr[q + stride] = y1r * c[1] + y1i * s[1], yi[q + stride] = y1i * c[1] - y1r * s[1];
    yr[q + 2 * stride] = y2r * c[2] + y2i * s[2], yi[q + 2 * stride] = y2i * c[2] - y2r * s[2];
    yr[q + 3 * stride] = y3r * c[3] + y3i * s[3], yi[q + 3 * stride] = y3i * c[3] - y3r * s[3];
    yr[q + 4 * stride] = y4r * c[4] + y4i * s[4], yi[q + 4 * stride] = y4i * c[4] - y4r * s[4];
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
    const std::int64_t from = p * stride, to = p * radix * stride, apart = m * stride;
    if (radix == 3) step3(stride, apart, re + from, im + from, to_re + to, to_im + to, c.data(), s.data());
    else if (radix == 5) step5(stride, apart, re + from, im + from, to_re + to, to_im + to, c.data(), s.data());
    else if (radix == 4) step4(stride, apart, re + from, im + from, to_re + to, to_im + to, c.data(), s.data());
    else if (radix == 2) step2(stride, re + from, im + from, re + from + apart, im + from + apart, to_re + to, to_im + to, c[1], s[1]);
    else step(radix, stride, apart, re + from, im + from, to_re + to, to_im + to, c.data(), s.data(), table_c.data(), table_s.data());
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

// Axis by axis: some lines at a time are brought side by side, so that vectors run across them, and put back. Two real lines are one complex one.

#include "tegula/cpu/fourier/fourier.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/fourier/line.h"
#include "tegula/cpu/fourier/side_by_side.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

using runtime::Fourier;
using runtime::Spectrum;

/// Lines along one axis of (outer, length, inner) pairs.
struct Lines {
  std::int64_t outer, length, inner;
  std::int64_t count() const { return outer * inner; }
  std::int64_t begin(std::int64_t line) const { return line / inner * length * inner + line % inner; }
};

template <class T>
class FourierCall final : public runtime::Call {
 public:
  explicit FourierCall(const Fourier& d) : d_(d), most_threads_(library_threads()) {
    const LongLine cut = d.sizes.rank() == 1 && d.spectrum == Spectrum::Complex ? cut_long(d.sizes[0]) : LongLine{};
    const Dims sizes = cut.rows > 0 ? Dims{cut.rows, cut.columns} : d.sizes;
    for (const std::int64_t size : sizes) lines_.push_back(std::make_unique<LineTransform<T>>(size));
    if (cut.rows > 0) {
      long_ = true;
      copy_ = sizeof(T) * 2 * static_cast<std::size_t>(d.sizes[0]);
      for (std::int64_t k = 0; k < cut.rows; ++k)
        for (std::int64_t j = 0; j < cut.columns; ++j) {
          double re = 0, im = 0;
          circle_part(k * j, d.sizes[0], re, im);
          factors_.push_back(static_cast<T>(re)), factors_.push_back(static_cast<T>(im));
        }
    }
    const std::int64_t last = d.sizes.back();
    half_ = d.spectrum == Spectrum::Complex ? last : last / 2 + 1;
    for (const auto& line : lines_)
      each_ = std::max(each_, sizeof(T) * (2 * static_cast<std::size_t>(line->size() * kSide) + line->work(kSide)));
    each_ = (each_ + 63) / 64 * 64;
    if (d.spectrum == Spectrum::ToReal && lines_.size() > 1)
      copy_ = sizeof(T) * 2 * static_cast<std::size_t>(d.batch * numel(d.sizes) / last * half_);
  }

  std::size_t scratch_bytes() const override { return (copy_ + 63) / 64 * 64 + static_cast<std::size_t>(most_threads_) * each_; }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const int threads = std::clamp(options.threads, 1, most_threads_);
    const T* x = static_cast<const T*>(buffers[0]);
    T* const y = static_cast<T*>(buffers[1]);
    auto* const scratch = static_cast<std::byte*>(options.scratch);
    std::byte* const work = scratch + (copy_ + 63) / 64 * 64;
    if (long_) {
      for (std::int64_t i = 0; i < d_.batch; ++i)
        one_long(x + 2 * i * d_.sizes[0], y + 2 * i * d_.sizes[0], reinterpret_cast<T*>(scratch), threads, work);
      return;
    }
    const std::int64_t rows = d_.batch * numel(d_.sizes) / d_.sizes.back();  // lines along the last axis
    const int axes = static_cast<int>(lines_.size());
    T* pairs = y;
    if (d_.spectrum == Spectrum::FromReal) {
      shared((rows + 1) / 2, threads, work,
             [&](std::int64_t first, std::int64_t count, T* memory) { from_real(x, y, rows, first, count, memory); });
    } else if (d_.spectrum == Spectrum::ToReal) {
      if (axes > 1) {
        pairs = reinterpret_cast<T*>(scratch);
        std::copy_n(x, 2 * rows * half_, pairs);
      }
    } else {
      if (x != y) std::copy_n(x, 2 * rows * half_, y);
      along(pairs, axes - 1, threads, work);
    }
    for (int axis = axes - 2; axis >= 0; --axis) along(pairs, axis, threads, work);
    if (d_.spectrum != Spectrum::ToReal) return;
    const T* const from = axes > 1 ? pairs : x;
    shared((rows + 1) / 2, threads, work,
           [&](std::int64_t first, std::int64_t count, T* memory) { to_real(from, y, rows, first, count, memory); });
  }

  std::string describe() const override {
    const char* const kind = d_.spectrum == Spectrum::Complex ? "complex" : d_.spectrum == Spectrum::FromReal ? "from real" : "to real";
    return std::string("transform ") + kind + " " + std::string(name(d_.dtype)) + " " + std::to_string(d_.batch) + " of " +
           to_string(d_.sizes) + (d_.inverse ? ", inverse" : "");
  }

 private:
  static constexpr std::int64_t kSide = 64 / static_cast<std::int64_t>(sizeof(T));  // lines side by side

  /// f(first, count, memory) over groups of kSide.
  template <class F>
  void shared(std::int64_t lines, int threads, std::byte* work, const F& f) const {
    const std::int64_t groups = (lines + kSide - 1) / kSide;
    parallel(static_cast<int>(std::min<std::int64_t>(threads, groups)), [&](int part, int parts) {
      T* const memory = reinterpret_cast<T*>(work + static_cast<std::size_t>(part) * each_);
      const Range mine = share(groups, part, parts);
      for (std::int64_t g = mine.begin; g < mine.end; ++g) f(g * kSide, std::min(kSide, lines - g * kSide), memory);
    });
  }

  void along(T* pairs, int axis, int threads, std::byte* work) const {
    const LineTransform<T>& line = *lines_[static_cast<std::size_t>(axis)];
    Lines all{d_.batch, line.size(), 1};
    for (int i = 0; i < axis; ++i) all.outer *= d_.sizes[i];
    for (int i = axis + 1; i < d_.sizes.rank(); ++i) all.inner *= i + 1 == d_.sizes.rank() ? half_ : d_.sizes[i];
    shared(all.count(), threads, work, [&](std::int64_t first, std::int64_t count, T* memory) {
      T *const re = memory, *const im = re + all.length * count, *const more = im + all.length * count;
      std::int64_t at[kSide];
      for (std::int64_t l = 0; l < count; ++l) at[l] = all.begin(first + l);
      take_pairs<T>(pairs, at, count, all.length, all.inner, re, im);
      d_.inverse ? line.run(im, re, count, more) : line.run(re, im, count, more);
      put_pairs<T>(pairs, at, count, all.length, all.inner, re, im);
    });
  }

  /// The inverse is the transform of numbers whose parts are exchanged, exchanged again.
  void one_long(const T* x, T* y, T* between, int threads, std::byte* work) const {
    const LineTransform<T>&down = *lines_[0], &across = *lines_[1];
    const std::int64_t rows = down.size(), columns = across.size();
    const auto neighbours = [](std::int64_t first, std::int64_t apart, std::int64_t* at) {
      for (std::int64_t l = 0; l < kSide; ++l) at[l] = first + l * apart;
    };
    shared(columns, threads, work, [&](std::int64_t first, std::int64_t count, T* memory) {
      T *const re = memory, *const im = re + rows * count, *const more = im + rows * count;
      std::int64_t at[kSide];
      neighbours(first, 1, at);
      take_pairs<T>(x, at, count, rows, columns, d_.inverse ? im : re, d_.inverse ? re : im);
      down.run(re, im, count, more);
      for (std::int64_t k = 0; k < rows; ++k)
        put_with_factors(re + k * count, im + k * count, factors_.data() + 2 * (k * columns + first), between + 2 * (k * columns + first),
                         count);
    });
    shared(rows, threads, work, [&](std::int64_t first, std::int64_t count, T* memory) {
      T *const re = memory, *const im = re + columns * count, *const more = im + columns * count;
      std::int64_t at[kSide];
      neighbours(first * columns, columns, at);
      take_pairs<T>(between, at, count, columns, 1, re, im);
      across.run(re, im, count, more);
      neighbours(first, 1, at);
      put_pairs<T>(y, at, count, columns, rows, d_.inverse ? im : re, d_.inverse ? re : im);
    });
  }
  TEGULA_WIDE static void put_with_factors(const T* re, const T* im, const T* factors, T* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t l = 0; l < count; ++l) {
      const T c = factors[2 * l], s = factors[2 * l + 1];
      to[2 * l] = re[l] * c - im[l] * s, to[2 * l + 1] = re[l] * s + im[l] * c;
    }
  }

  /// Where the lines of couples begin that are `apart` from each other; of a last couple without a second line -1.
  struct Couples {
    std::int64_t a[kSide], b[kSide];
    bool is_whole;
    Couples(std::int64_t first, std::int64_t count, std::int64_t rows, std::int64_t apart) : is_whole(2 * (first + count) <= rows) {
      for (std::int64_t l = 0; l < count; ++l) a[l] = 2 * (first + l) * apart, b[l] = a[l] + apart;
      if (!is_whole) b[count - 1] = -1;
    }
  };

  /// Couples [first, first + count) of real rows: the spectrum of a + i b holds both.
  void from_real(const T* x, T* y, std::int64_t rows, std::int64_t first, std::int64_t count, T* memory) const {
    const LineTransform<T>& line = *lines_.back();
    const std::int64_t n = line.size();
    T *const re = memory, *const im = re + n * count, *const more = im + n * count;
    Couples real(first, count, rows, n);
    const Couples halves(first, count, rows, half_);
    take_lines<T>(x, real.a, count, n, re);
    if (!real.is_whole) real.b[count - 1] = real.a[count - 1];
    take_lines<T>(x, real.b, count, n, im);
    for (std::int64_t j = 0; j < n && !real.is_whole; ++j) im[j * count + count - 1] = 0;
    line.run(re, im, count, more);
    put_halves<T>(y, halves.a, halves.b, count, n, re, im);
  }

  void to_real(const T* x, T* y, std::int64_t rows, std::int64_t first, std::int64_t count, T* memory) const {
    const LineTransform<T>& line = *lines_.back();
    const std::int64_t n = line.size();
    T *const re = memory, *const im = re + n * count, *const more = im + n * count;
    const Couples real(first, count, rows, n), halves(first, count, rows, half_);
    take_halves<T>(x, halves.a, halves.b, count, n, re, im);
    line.run(im, re, count, more);
    put_lines<T>(y, real.a, count, n, re);
    if (real.is_whole) return put_lines<T>(y, real.b, count, n, im);
    for (std::int64_t l = 0; l + 1 < count; ++l)
      for (std::int64_t j = 0; j < n; ++j) y[real.b[l] + j] = im[j * count + l];
  }

  Fourier d_;
  int most_threads_;
  std::vector<std::unique_ptr<LineTransform<T>>> lines_;  // of each axis
  std::int64_t half_ = 0;  // complex numbers along the last axis
  std::size_t each_ = 0, copy_ = 0;
  bool long_ = false;  // one axis, cut in two
  std::vector<T> factors_;  // of a long line, as they are asked for
};

}  // namespace

std::unique_ptr<runtime::Call> make_fourier(const Fourier& d) {
  if ((d.dtype != f32 && d.dtype != f64) || d.sizes.rank() < 1 || !std::ranges::all_of(d.sizes, [](std::int64_t size) { return size > 0; }))
    throw Error({.op = "transform",
                 .got = std::string(name(d.dtype)) + " of sizes " + to_string(d.sizes),
                 .expected = "f32 or f64, and sizes of at least 1"});
  if (d.dtype == f64) return std::make_unique<FourierCall<double>>(d);
  return std::make_unique<FourierCall<float>>(d);
}

}  // namespace tegula::host

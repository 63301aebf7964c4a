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
      add_factors(cut);
    }
    const std::int64_t last = d.sizes.back();
    half_ = d.spectrum == Spectrum::Complex ? last : last / 2 + 1;
    const std::int64_t side = long_ ? kColumns : kSide;
    for (const auto& line : lines_)
      each_ = std::max(each_, sizeof(T) * (2 * static_cast<std::size_t>(line->size() * side) + line->work(side)));
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
      along(x, pairs, axes - 1, threads, work);
    }
    for (int axis = axes - 2; axis >= 0; --axis) along(pairs, pairs, axis, threads, work);
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
  // Lines side by side: a vector of them, whose steps stay in the caches; of a long line's columns, which are far apart in memory, a few cache lines' worth.
  static constexpr std::int64_t kSide = 32 / static_cast<std::int64_t>(sizeof(T)), kColumns = 128 / static_cast<std::int64_t>(sizeof(T));

  /// f(first, count, memory) over groups of `kSide`.
  template <std::int64_t kSide = FourierCall::kSide, class F>
  void shared(std::int64_t lines, int threads, std::byte* work, const F& f) const {
    const std::int64_t groups = (lines + kSide - 1) / kSide;
    parallel(static_cast<int>(std::min<std::int64_t>(threads, groups)), [&](int part, int parts) {
      T* const memory = reinterpret_cast<T*>(work + static_cast<std::size_t>(part) * each_);
      const Range mine = share(groups, part, parts);
      for (std::int64_t g = mine.begin; g < mine.end; ++g) f(g * kSide, std::min(kSide, lines - g * kSide), memory);
    });
  }

  /// From pairs to pairs, which may be the same.
  void along(const T* from, T* to, int axis, int threads, std::byte* work) const {
    const LineTransform<T>& line = *lines_[static_cast<std::size_t>(axis)];
    Lines all{d_.batch, line.size(), 1};
    for (int i = 0; i < axis; ++i) all.outer *= d_.sizes[i];
    for (int i = axis + 1; i < d_.sizes.rank(); ++i) all.inner *= i + 1 == d_.sizes.rank() ? half_ : d_.sizes[i];
    shared(all.count(), threads, work, [&](std::int64_t first, std::int64_t count, T* memory) {
      T *const re = memory, *const im = re + all.length * count, *const more = im + all.length * count;
      std::int64_t at[kSide];
      for (std::int64_t l = 0; l < count; ++l) at[l] = all.begin(first + l);
      take_pairs<T>(from, at, count, all.length, all.inner, re, im);
      d_.inverse ? line.run(im, re, count, more) : line.run(re, im, count, more);
      put_pairs<T>(to, at, count, all.length, all.inner, re, im);
    });
  }

  /// exp(-2πi k j / n) of row k and column j = kColumns * g + l is the product of one that depends on l and one that depends on g.
  void add_factors(const LongLine& cut) {
    const std::int64_t n = d_.sizes[0];
    const auto add = [n](std::int64_t power, std::vector<T>& to_re, std::vector<T>& to_im) {
      double re = 0, im = 0;
      circle_part(power % n, n, re, im);
      to_re.push_back(static_cast<T>(re)), to_im.push_back(static_cast<T>(im));
    };
    for (std::int64_t k = 0; k < cut.rows; ++k)
      for (std::int64_t l = 0; l < kColumns; ++l) add(k * l, near_re_, near_im_);
    for (std::int64_t g = 0; g * kColumns < cut.columns; ++g)
      for (std::int64_t k = 0; k < cut.rows; ++k) add(k * g * kColumns, far_re_, far_im_);
  }

  /// In between, kColumns columns are a block: of each row their real parts, then the imaginary ones. The inverse is the transform of numbers whose parts are
  /// exchanged, exchanged again.
  void one_long(const T* x, T* y, T* between, int threads, std::byte* work) const {
    const LineTransform<T>&down = *lines_[0], &across = *lines_[1];
    const std::int64_t rows = down.size(), columns = across.size();
    shared<kColumns>(columns, threads, work, [&](std::int64_t first, std::int64_t count, T* memory) {
      T *const re = memory, *const im = re + rows * count, *const more = im + rows * count;
      std::int64_t at[kColumns];
      for (std::int64_t l = 0; l < kColumns; ++l) at[l] = first + l;
      take_pairs<T>(x, at, count, rows, columns, d_.inverse ? im : re, d_.inverse ? re : im);
      down.run(re, im, count, more);
      put_with_factors(re, im, first / kColumns, rows, count, between + 2 * first * rows);
    });
    shared<kColumns>(rows, threads, work, [&](std::int64_t first, std::int64_t count, T* memory) {
      T *const re = memory, *const im = re + columns * count, *const more = im + columns * count;
      std::int64_t at[kColumns];
      for (std::int64_t begin = 0; begin < columns; begin += kColumns) {
        const std::int64_t wide = std::min(kColumns, columns - begin);
        for (std::int64_t l = 0; l < count; ++l) at[l] = 2 * (begin * rows + (first + l) * wide);
        take_lines<T>(between, at, count, wide, re + begin * count);
        take_lines<T>(between + wide, at, count, wide, im + begin * count);
      }
      across.run(re, im, count, more);
      for (std::int64_t l = 0; l < kColumns; ++l) at[l] = first + l;
      put_pairs<T>(y, at, count, columns, rows, d_.inverse ? im : re, d_.inverse ? re : im);
    });
  }
  TEGULA_WIDE void put_with_factors(const T* re, const T* im, std::int64_t group, std::int64_t rows, std::int64_t count, T* to) const {
    const T *const far_re = far_re_.data() + group * rows, *const far_im = far_im_.data() + group * rows;
    for (std::int64_t k = 0; k < rows; ++k) {
      const T *const r = re + k * count, *const i = im + k * count, *const near_re = near_re_.data() + k * kColumns;
      const T *const near_im = near_im_.data() + k * kColumns, fr = far_re[k], fi = far_im[k];
      T *const to_re = to + 2 * k * count, *const to_im = to_re + count;
#pragma omp simd
      for (std::int64_t l = 0; l < count; ++l) {
        const T c = near_re[l] * fr - near_im[l] * fi, s = near_re[l] * fi + near_im[l] * fr;
        to_re[l] = r[l] * c - i[l] * s, to_im[l] = r[l] * s + i[l] * c;
      }
    }
  }

  /// The beginnings of the lines of couples that are `apart` from each other; -1 for the missing line of a last couple.
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
  std::vector<T> near_re_, near_im_, far_re_, far_im_;  // factors of a long line: of rows and columns of a group, of groups and rows
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

// Sums by index: the lines of the source are grouped by their row (a counting sort), then each row adds its lines up in cache and is
// written once. Halves are therefore summed in f32 without a copy of the result, and no two threads write the same row.

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/parallel.h"

namespace tegula::host {
namespace {

using runtime::ScatterSum;

constexpr std::int64_t kColumns = 512;  // that a thread adds up together

/// The type in which a T is summed; integers wrap around.
template <class T>
using SumOf = std::conditional_t<std::is_integral_v<T>, std::uint64_t, std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class Sum, class T>
void accumulate(Sum* sums, const T* values, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<Sum>(values[i]);
}

template <class T>
constexpr bool kHalf = kIsStoredFloat<T>;

/// T: stored, Number: what counts the lines of the source.
template <class T, class Number>
class ScatterSumCall final : public runtime::Call {
 public:
  explicit ScatterSumCall(const ScatterSum& d)
      : d_(d),
        column_blocks_((d.width + kColumns - 1) / kColumns),
        most_threads_(library_threads()) {}

  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(d_.length + d_.count) * sizeof(Number); }

  std::string describe() const override {
    return "counting sort " + std::to_string(d_.count) + " lines of " + std::to_string(d_.width) + " into " + std::to_string(d_.length);
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* index = static_cast<const std::int64_t*>(buffers[0]);
    const T* source = static_cast<const T*>(buffers[1]);
    T* sums = static_cast<T*>(buffers[2]);
    auto* ends = static_cast<Number*>(options.scratch);  // (length): where each row's part of `lines` ends
    auto* lines = ends + d_.length;              // (count): grouped by row, in ascending order
    const int threads = std::clamp(options.threads, 1, most_threads_);
    parallel(threads, [&](int thread, int team) { group(index, ends, lines, share(d_.length, thread, team)); });
    const std::int64_t pieces = d_.outer * column_blocks_;
    parallel(threads, [&](int thread, int team) {
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const Range rows = rows_of(ends, piece, pieces, thread, team);
        const std::int64_t outer = piece / column_blocks_, column = piece % column_blocks_ * kColumns;
        const T* from = source + outer * d_.count * d_.width + column;
        T* to = sums + outer * d_.length * d_.width + column;
        const std::int64_t columns = std::min(kColumns, d_.width - column);
        for (std::int64_t row = rows.begin; row < rows.end; ++row) {
          add(from, lines + (row == 0 ? 0 : ends[row - 1]), lines + ends[row], to + row * d_.width, columns);
        }
      }
    });
  }

 private:
  /// Each thread reads all of the index and places what belongs to its own rows.
  void group(const std::int64_t* index, Number* ends, Number* lines, Range rows) const {
    std::fill(ends + rows.begin, ends + rows.end, Number(0));
    Number next = 0;
    for (std::int64_t k = 0; k < d_.count; ++k) {
      if (index[k] >= rows.end || index[k] < 0) continue;
      if (index[k] < rows.begin) ++next;
      else ++ends[index[k]];
    }
    for (std::int64_t row = rows.begin; row < rows.end; ++row) next += std::exchange(ends[row], next);
    for (std::int64_t k = 0; k < d_.count; ++k) {
      if (index[k] >= rows.begin && index[k] < rows.end) lines[ends[index[k]]++] = static_cast<Number>(k);
    }
  }

  /// The part of piece `piece` that is this thread's when rows and lines of all pieces together are shared out evenly.
  Range rows_of(const Number* ends, std::int64_t piece, std::int64_t pieces, int thread, int team) const {
    const std::int64_t work = d_.length + static_cast<std::int64_t>(d_.length == 0 ? 0 : ends[d_.length - 1]);
    const Range mine = share(work * pieces, thread, team);
    const auto first_row = [&](std::int64_t at) {  // the first whose work begins at or behind `at`
      std::int64_t low = 0, high = d_.length;
      while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        const std::int64_t before = middle + static_cast<std::int64_t>(middle == 0 ? 0 : ends[middle - 1]);
        if (before < at) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return {first_row(mine.begin - piece * work), first_row(mine.end - piece * work)};
  }

  void add(const T* from, const Number* line, const Number* end, T* to, std::int64_t columns) const {
    std::array<SumOf<T>, kColumns> sum;
    std::fill_n(sum.data(), columns, SumOf<T>(0));
    for (; line != end; ++line) {
      const T* values = from + static_cast<std::int64_t>(*line) * d_.width;
      if constexpr (kHalf<T>) {
        std::array<float, kColumns> wide;
        widen(d_.dtype, values, wide.data(), columns);
        accumulate(sum.data(), wide.data(), columns);
      } else {
        accumulate(sum.data(), values, columns);
      }
    }
    if constexpr (kHalf<T>) narrow(d_.dtype, sum.data(), to, columns);
    else std::transform(sum.begin(), sum.begin() + columns, to, [](SumOf<T> value) { return static_cast<T>(value); });
  }

  ScatterSum d_;
  std::int64_t column_blocks_;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_scatter_sum(const ScatterSum& d) {
  if (d.dtype == boolean) throw Error({.op = "scatter_sum", .got = "dtype bool", .expected = "numbers to add"});
  return visit(d.dtype, [&](auto zero) -> std::unique_ptr<runtime::Call> {
    using T = decltype(zero);
    if (d.count > std::numeric_limits<std::uint32_t>::max()) return std::make_unique<ScatterSumCall<T, std::uint64_t>>(d);
    return std::make_unique<ScatterSumCall<T, std::uint32_t>>(d);
  });
}

}  // namespace tegula::host

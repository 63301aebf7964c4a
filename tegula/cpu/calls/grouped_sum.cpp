// Sums of lines by groups that are known: each row adds its lines up in cache and is written once. No two threads write the same row.

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

using runtime::GroupedSum;

constexpr std::int64_t kTogether = 256;  // columns that a thread adds up at once
constexpr std::int64_t kAhead = 8;  // lines that the cache is asked for: no processor foresees where they lie

template <class T>
void ask_for(const T* line, std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < columns; i += kLine) __builtin_prefetch(line + i);
}

template <class Sum, class T>
TEGULA_WIDE void add_line(Sum* sum, const T* line, std::int64_t columns) {
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i) sum[i] += static_cast<Sum>(line[i]);
}

/// The type in which a T is summed; integers wrap around.
template <class T>
using GroupSum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T>
class GroupedSumCall final : public runtime::Call {
 public:
  explicit GroupedSumCall(const GroupedSum& d) : d_(d), most_threads_(library_threads()) {}

  std::string describe() const override {
    return std::to_string(d_.count) + (d_.weighted ? " weighted" : "") + " lines of " + std::to_string(d_.width) + " into " +
           std::to_string(d_.length) + " groups";
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    const auto* const starts = static_cast<const std::int64_t*>(buffers[0]);
    const auto* const lines = static_cast<const std::int64_t*>(buffers[1]);
    const T* const source = static_cast<const T*>(buffers[2]);
    const T* const weights = d_.weighted ? static_cast<const T*>(buffers[3]) : nullptr;
    T* const sums = static_cast<T*>(buffers.back());
    // Rows and lines together are shared out evenly.
    const std::int64_t work = d_.length + d_.count;
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int part, int parts) {
      const Range mine = share(work, part, parts);
      const auto first_row = [&](std::int64_t at) {
        std::int64_t low = 0, high = d_.length;
        while (low < high) {
          const std::int64_t middle = (low + high) / 2;
          if (middle + std::clamp<std::int64_t>(starts[middle], 0, d_.count) < at) low = middle + 1;
          else high = middle;
        }
        return low;
      };
      const std::int64_t begin = part == 0 ? 0 : first_row(mine.begin), end = part + 1 == parts ? d_.length : first_row(mine.end);
      for (std::int64_t outer = 0; outer < d_.outer; ++outer)
        for (std::int64_t row = begin; row < end; ++row)
          for (std::int64_t column = 0; column < d_.width; column += kTogether)
            add(source + outer * d_.rows * d_.width + column, lines, weights, std::max<std::int64_t>(starts[row], 0),
                std::min(starts[row + 1], d_.count), sums + (outer * d_.length + row) * d_.width + column,
                std::min(kTogether, d_.width - column));
    });
  }

 private:
  void add(const T* from, const std::int64_t* lines, const T* weights, std::int64_t begin, std::int64_t end, T* to,
           std::int64_t columns) const {
    using Sum = GroupSum<T>;
    std::array<Sum, kTogether> sum;
    std::fill_n(sum.data(), columns, Sum(0));
    for (std::int64_t k = begin; k < end; ++k) {
      if (k + kAhead < d_.count && lines[k + kAhead] >= 0 && lines[k + kAhead] < d_.rows)
        ask_for(from + lines[k + kAhead] * d_.width, columns);
      if (lines[k] < 0 || lines[k] >= d_.rows) continue;
      const T* const line = from + lines[k] * d_.width;
      if constexpr (kIsStoredFloat<T>) {
        std::array<float, kTogether> wide;
        widen(d_.dtype, line, wide.data(), columns);
        float weight = 1;
        if (weights) widen(d_.dtype, weights + k, &weight, 1);
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) sum[static_cast<std::size_t>(i)] += weight * wide[static_cast<std::size_t>(i)];
      } else if (weights) {
        const Sum weight = static_cast<Sum>(weights[k]);
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) sum[static_cast<std::size_t>(i)] += weight * static_cast<Sum>(line[i]);
      } else {
        add_line(sum.data(), line, columns);
      }
    }
    if constexpr (kIsStoredFloat<T>) narrow(d_.dtype, sum.data(), to, columns);
    else std::transform(sum.begin(), sum.begin() + columns, to, [](Sum value) { return static_cast<T>(value); });
  }

  GroupedSum d_;
  int most_threads_;
};

}  // namespace

std::unique_ptr<runtime::Call> make_grouped_sum(const GroupedSum& d) {
  if (d.dtype == boolean) throw Error({.op = "grouped_sum", .got = "dtype bool", .expected = "numbers to add"});
  return visit(d.dtype, [&](auto zero) -> std::unique_ptr<runtime::Call> { return std::make_unique<GroupedSumCall<decltype(zero)>>(d); });
}

}  // namespace tegula::host

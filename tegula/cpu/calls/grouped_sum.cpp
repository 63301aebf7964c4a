// Sums of lines by groups that are known: each row adds its lines up in cache and is written once. No two threads write the same row.

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/calls/library.h"
#include "tegula/cpu/calls/row_words.h"
#include "tegula/cpu/parallel.h"
#include "tegula/cpu/wide.h"

namespace tegula::host {
namespace {

using runtime::GroupedSum;

constexpr std::int64_t kTogether = 256;  // columns that a thread adds up at once
constexpr std::size_t kMostMatrices = 8;  // of terms
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

/// The groups of a part of the threads' work: groups and entries together are shared out evenly.
Range groups_of(const GroupedSum& d, const std::int64_t* starts, int part, int parts) {
  const Range mine = share(d.length + d.count, part, parts);
  const auto first = [&](std::int64_t at) {
    std::int64_t low = 0, high = d.length;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (middle + std::clamp<std::int64_t>(starts[middle], 0, d.count) < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {part == 0 ? 0 : first(mine.begin), part + 1 == parts ? d.length : first(mine.end)};
}

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
    parallel(std::clamp(options.threads, 1, most_threads_), [&](int part, int parts) {
      const auto [begin, end] = groups_of(d_, starts, part, parts);
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

/// Sums of terms that are computed where they are added, entry by entry, while the cache is asked for the lines of later ones. A group belongs to one thread, and
/// its terms are added in the order of its entries: the bits are those of stored terms, whatever the number of threads.
template <class T>
class TermSumCall final : public runtime::Call {
 public:
  explicit TermSumCall(const GroupedSum& d) : d_(d), words_(d.terms, d.dtype), most_threads_(library_threads()) {
    for (const runtime::Expression::Value& value : d.terms.values) {
      const bool matrix = value.source == Source::Result || value.source == Source::Tensor;
      if (matrix || value.source == Source::Number) reads_.push_back(matrix);
    }
    for (const GroupedSum::Lines& one : d.reads) buffers_ += one.named ? 1 : 0;
    buffers_ += 3 + reads_.size();
  }

  std::string describe() const override {
    return std::to_string(d_.count) + " terms" + to_string(d_.terms) + " of " + std::to_string(d_.width) + " into " +
           std::to_string(d_.length) + " groups";
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    if (buffers.size() != buffers_)
      throw Error({.op = "grouped_sum", .got = std::to_string(buffers.size()) + " buffers", .expected = std::to_string(buffers_)});
    Given given{static_cast<const std::int64_t*>(buffers[0]),
                static_cast<const std::int64_t*>(buffers[1]),
                static_cast<T*>(buffers.back()),
                {},
                {}};
    std::size_t at = 2;
    for (const bool is_matrix : reads_) {
      if (!is_matrix) {
        given.numbers.push_back(buffers[at++]);
        continue;
      }
      const GroupedSum::Lines& lines = d_.reads[given.matrices.size()];
      const auto* const index = lines.named ? static_cast<const std::int64_t*>(buffers[at++]) : nullptr;
      given.matrices.push_back({index, static_cast<const T*>(buffers[at++]), lines.rows});
    }
    std::vector<Outside> outside(static_cast<std::size_t>(std::clamp(options.threads, 1, most_threads_)));
    parallel(static_cast<int>(outside.size()), [&](int part, int parts) {
      const Range groups = groups_of(d_, given.starts, part, parts);
      const std::int64_t most = std::min(kTogether, words_.longest());
      for (std::int64_t column = 0; column < d_.width && groups.begin < groups.end; column += most)
        Part(*this, given, groups, column, std::min(most, d_.width - column), outside[static_cast<std::size_t>(part)]).run();
    });
    for (const Outside& one : outside)
      if (one.matrix >= 0) report(options.failure, one.matrix, one.index);
  }

 private:
  using Source = runtime::Expression::Source;
  struct Matrix {
    const std::int64_t* index;
    const T* elements;
    std::int64_t rows;
  };
  struct Given {
    const std::int64_t *starts, *lines;
    T* sums;
    std::vector<Matrix> matrices;
    std::vector<const void*> numbers;
  };
  struct Outside {
    std::int64_t matrix = -1, index = 0;
  };
  /// The lines of an entry, of which some may be left out.
  struct Entry {
    std::array<const T*, kMostMatrices> lines;
    bool whole;
  };

  /// The sums of some groups, a few columns of them.
  class Part {
   public:
    Part(const TermSumCall& call, const Given& given, const Range& groups, std::int64_t column, std::int64_t columns, Outside& outside)
        : d_(call.d_),
          given_(given),
          groups_(groups),
          column_(column),
          columns_(columns),
          outside_(outside),
          space_(call.words_) {
      for (std::size_t m = 0; m < given.matrices.size(); ++m) {
        const Matrix& own = given.matrices[m];
        const auto same = [&](const Matrix& other) { return other.index == own.index && other.rows == own.rows; };
        twin_[m] = static_cast<std::size_t>(std::ranges::find_if(given.matrices, same) - given.matrices.begin());
      }
      std::size_t matrix = 0, number = 0;
      for (const bool is_matrix : call.reads_)
        reads_.push_back(is_matrix ? nullptr : given.numbers[number++]), of_.push_back(is_matrix ? matrix++ : kMostMatrices);
    }

    void run() {
      const std::int64_t begin = start(groups_.begin), end = std::max(start(groups_.end), begin);
      for (std::int64_t k = begin; k < std::min(begin + kAhead, end); ++k) find(k, end);
      std::int64_t group = groups_.begin, end_of_group = start(group + 1);
      T* sum = begin_sum(group);
      for (std::int64_t k = begin; k < end; ++k) {
        while (end_of_group <= k) {
          if (++group == groups_.end) return;
          sum = begin_sum(group), end_of_group = start(group + 1);
        }
        if (const Entry& entry = entries_[static_cast<std::size_t>(k % kAhead)]; entry.whole) {
          for (std::size_t i = 1; i < reads_.size(); ++i)  // the first one is the row that the words begin with
            if (of_[i] < kMostMatrices) reads_[i] = entry.lines[of_[i]];
          space_.run(entry.lines[0], term_.data(), columns_, std::span(reads_).subspan(1));
          add_line(sum, term_.data(), columns_);
        }
        if (k + kAhead < end) find(k + kAhead, end);
      }
      while (++group < groups_.end) begin_sum(group);
    }

   private:
    static constexpr std::int64_t kIndexAhead = 16;  // entries more, of which the cache is asked for the index

    std::int64_t start(std::int64_t group) const { return std::clamp<std::int64_t>(given_.starts[group], 0, d_.count); }
    T* begin_sum(std::int64_t group) const {
      T* const sum = given_.sums + group * d_.width + column_;
      std::fill_n(sum, columns_, T(0));
      return sum;
    }

    /// Finds the lines of entry k and asks the cache for them.
    void find(std::int64_t k, std::int64_t end) {
      Entry& entry = entries_[static_cast<std::size_t>(k % kAhead)];
      entry.whole = false;
      const std::int64_t row = given_.lines[k], later = k + kIndexAhead < end ? given_.lines[k + kIndexAhead] : -1;
      if (row < 0 || row >= d_.rows) return;
      std::array<std::int64_t, kMostMatrices> found;
      for (std::size_t m = 0; m < given_.matrices.size(); ++m) {
        const Matrix& matrix = given_.matrices[m];
        if (twin_[m] == m) {
          if (matrix.index && later >= 0 && later < d_.rows) __builtin_prefetch(matrix.index + later);
          const std::int64_t named = matrix.index ? matrix.index[row] : row;
          found[m] = named < 0 ? named + matrix.rows : named;
          if (found[m] < 0 || found[m] >= matrix.rows) {
            if (outside_.matrix < 0) outside_ = {static_cast<std::int64_t>(m), named};
            return;
          }
        }
        entry.lines[m] = matrix.elements + found[twin_[m]] * d_.width + column_;
        ask_for(entry.lines[m], columns_);
      }
      entry.whole = true;
    }

    const GroupedSum& d_;
    const Given& given_;
    const Range groups_;
    const std::int64_t column_, columns_;
    Outside& outside_;
    RowWords::Space space_;
    std::array<std::size_t, kMostMatrices> twin_;  // the first matrix with the same index
    std::vector<const void*> reads_;
    std::vector<std::size_t> of_;  // the matrix of each
    std::array<Entry, kAhead> entries_;
    alignas(64) std::array<T, kTogether> term_;
  };

  GroupedSum d_;
  RowWords words_;
  std::vector<bool> reads_;  // of each value that reads, in their order: true for a matrix
  std::size_t buffers_ = 0;
  int most_threads_;
};

}  // namespace

bool sums_terms(const GroupedSum& d) {
  using Source = runtime::Expression::Source;
  if (d.terms.is_empty()) return d.reads.empty();
  const std::vector<runtime::Expression::Value>& values = d.terms.values;
  const auto count = [&](Source source) {
    return static_cast<std::size_t>(std::ranges::count(values, source, &runtime::Expression::Value::source));
  };
  const bool matrices = values[0].source == Source::Result && values.back().source == Source::Word && count(Source::Result) == 1 &&
                        count(Source::Channel) == 0 && d.reads.size() == count(Source::Tensor) + 1 && d.reads.size() <= kMostMatrices;
  return matrices && (d.dtype == f32 || d.dtype == f64) && !d.weighted && d.outer == 1 && d.width > 0 && RowWords::has(d.terms, d.dtype);
}

std::unique_ptr<runtime::Call> make_grouped_sum(const GroupedSum& d) {
  if (d.dtype == boolean) throw Error({.op = "grouped_sum", .got = "dtype bool", .expected = "numbers to add"});
  if (!sums_terms(d))
    throw Error({.op = "grouped_sum", .got = "terms" + to_string(d.terms), .expected = "words that the CPU has, in f32 or f64"});
  if (!d.terms.is_empty() && d.dtype == f64) return std::make_unique<TermSumCall<double>>(d);
  if (!d.terms.is_empty()) return std::make_unique<TermSumCall<float>>(d);
  return visit(d.dtype, [&](auto zero) -> std::unique_ptr<runtime::Call> { return std::make_unique<GroupedSumCall<decltype(zero)>>(d); });
}

}  // namespace tegula::host

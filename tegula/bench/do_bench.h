#pragma once
// The time that a function takes: Triton's do_bench. Times are in milliseconds, as there.

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

struct BenchOptions {
  double warmup = 25, rep = 100;  // milliseconds: how long it runs before, and while it is measured
  bool clear_cache = true;  // the last-level cache before each run
};

/// Times of runs, in milliseconds, the shortest first.
class BenchTimes {
 public:
  explicit BenchTimes(std::vector<double> times);
  const std::vector<double>& times() const { return times_; }
  double mean() const;
  double median() const { return quantile(0.5); }
  double min() const { return times_.front(); }
  double max() const { return times_.back(); }
  /// The quantile, with linear interpolation between two times. Throws Error for q outside of 0 … 1.
  double quantile(double q, Line where = Line::current()) const;
  std::vector<double> quantiles(const std::vector<double>& qs, Line where = Line::current()) const;

 private:
  std::vector<double> times_;
};

/// Times of single runs on the default device: with a queue between two marks in it, else by the clock. Runs so often as options.rep allows, at least 5 times,
/// and with cleared caches no longer than ten times that. A function that returns tensors is asked for their values.
///
///     const double ms = do_bench([&] { return matmul(a, b); }).median();
BenchTimes do_bench_calls(const std::function<void()>& work, const BenchOptions& options = {});
/// The same of a function of tensors that is compiled as a whole, with its inputs' values as they are: replays, in a CUDA graph on a GPU, one behind the other
/// without a look from the host between them. Caches are not cleared. Times of batches, for one run.
BenchTimes do_bench_cudagraph(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f, const std::vector<Tensor>& inputs,
                              const BenchOptions& options = {}, Line where = Line::current());

namespace bench_detail {
void ask(const std::vector<Tensor>& results);
}  // namespace bench_detail

template <class F>
BenchTimes do_bench(F&& f, const BenchOptions& options = {}) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) return do_bench_calls(f, options);
  else if constexpr (std::is_convertible_v<Result, Tensor>) return do_bench_calls([&] { bench_detail::ask({Tensor(f())}); }, options);
  else return do_bench_calls([&] { bench_detail::ask(f()); }, options);
}

}  // namespace tegula

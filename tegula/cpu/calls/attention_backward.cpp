// The scores once more, block by block: P = exp(S - sum), dV += Pᵀ dO, dS = P (dO Vᵀ - dO·O), dQ += dS K, dK += dSᵀ Q (algorithm 2 of
// FlashAttention-2, Dao 2023).

#include <array>

#include "tegula/cpu/calls/attention_blocks.h"

namespace tegula::host {
namespace {

template <class T>
class Backward {
 public:
  Backward(const AttentionRun<T>& run, Gradients wanted, void* memory) : run_(run), d_(run.d) {
    const std::size_t first = d_.sum_gradient ? 4 : 3;
    if (d_.sum_gradient) sum_gradient_ = static_cast<const T*>(run.rest[3]);
    const auto by_place = [&](std::size_t k) {
      const Layout x = d_.gradient(static_cast<int>(k));
      return Result{run.rest[first + k], x.strides[0], x.strides[2], x.strides[1]};
    };
    if (wanted != Gradients::Keys) dq_ = by_place(0), ds_ = run.rest[first + 3];
    if (wanted != Gradients::Queries) dk_ = by_place(1), dv_ = by_place(2);
    Scratch scratch(memory);
    p_ = scratch.take<T>(kQueries * kKeys), dp_ = scratch.take<T>(kQueries * kKeys);
    if (d_.dropout > 0) factors_ = scratch.take<T>(kQueries * kKeys);
    if (!run.is_wide()) {
      q_copy_ = scratch.take<T>(kQueries * run.width), k_copy_ = scratch.take<T>(kKeys * run.width);
      v_copy_ = scratch.take<T>(kKeys * run.features), dy_copy_ = scratch.take<T>(kQueries * run.features);
      o_copy_ = scratch.take<T>(kQueries * run.features), wide_q_ = scratch.take<T>(kQueries * run.width);
      wide_k_ = scratch.take<T>(run.keys * run.width), wide_v_ = scratch.take<T>(run.keys * run.features);
    }
    asked_q_ = scratch.take<T>(kQueries * run.width);
    gemm_ = scratch.take<std::byte>(0);
  }
  static std::size_t bytes(const runtime::Attention& d) {
    const std::int64_t keys = d.k.layout.shape[2], width = d.q.layout.shape[3], features = d.v.layout.shape[3], one = sizeof(T);
    std::size_t bytes = 3 * Scratch::bytes(kQueries * kKeys * one) + Scratch::bytes(kQueries * width * one);
    for (const std::int64_t count : {kQueries * width, kKeys * width, kKeys * features, kQueries * features, kQueries * features,
                                     kQueries * width, keys * width, keys * features})
      bytes += is_half(d.dtype()) ? Scratch::bytes(count * one) : 0;
    return bytes + block_scratch_bytes<T>(std::max(width, features));
  }

  bool nothing_wanted() const { return !dq_.data && !ds_ && !dk_.data && !dv_.data; }

  /// The gradients of keys and values [j.begin, j.end) of a group, from queries of all its heads; with those of these queries where they are wanted.
  void keys(std::int64_t b, std::int64_t group, Range j) {
    const Target dk = target(dk_, wide_k_, b, group, j, run_.width), dv = target(dv_, wide_v_, b, group, j, run_.features);
    for (std::int64_t h = group * run_.share(); h < (group + 1) * run_.share(); ++h) {
      for (std::int64_t i = 0; i < run_.queries; i += kQueries) queries(b, h, i, j, dk, dv);
    }
    finish(dk_, dk, b, group, j, run_.width);
    finish(dv_, dv, b, group, j, run_.features);
  }
  /// The gradients of queries [i, i + kQueries) alone.
  void queries(std::int64_t b, std::int64_t h, std::int64_t i) { queries(b, h, i, {0, run_.keys}, {}, {}); }

 private:
  /// A gradient (B, rows, heads, features): where it lies, strides in elements.
  struct Result {
    void* data = nullptr;  // null: not wanted
    std::int64_t sample = 0, head = 0, row = 0;
    template <class E>
    E* at(std::int64_t b, std::int64_t h, std::int64_t r) const {
      return static_cast<E*>(data) + b * sample + h * head + r * row;
    }
  };

  /// The destination of the gradient of a run of keys: the result, or a widened copy.
  struct Target {
    T* data = nullptr;  // address for the first key; null: not wanted
    std::int64_t row = 0;
  };

  Target target(const Result& result, T* wide, std::int64_t b, std::int64_t group, Range j, std::int64_t features) const {
    if (!result.data) return {};
    const Target to = run_.is_wide() ? Target{result.template at<T>(b, group, j.begin), result.row} : Target{wide, features};
    for (std::int64_t r = 0; r < j.end - j.begin; ++r) std::fill_n(to.data + r * to.row, features, T(0));
    return to;
  }
  void finish(const Result& result, const Target& from, std::int64_t b, std::int64_t group, Range j, std::int64_t features) const {
    if (!result.data || run_.is_wide()) return;
    if constexpr (std::is_same_v<T, float>) {
      for (std::int64_t r = 0; r < j.end - j.begin; ++r)
        narrow(d_.dtype(), from.data + r * from.row, result.template at<std::uint16_t>(b, group, j.begin + r), features);
    }
  }

  void queries(std::int64_t b, std::int64_t h, std::int64_t i, Range all, const Target& dk, const Target& dv) {
    const std::int64_t count = std::min(kQueries, run_.queries - i), group = h / run_.share();
    const T* q = run_.load(run_.q, b, h, i, count, q_copy_, q_row_);
    const T* const dy = run_.load(run_.o_gradient, b, h, i, count, dy_copy_, dy_row_);
    std::int64_t o_row = 0;
    const T* const o = run_.load(run_.o, b, h, i, count, o_copy_, o_row);
    const std::int64_t at = (b * run_.heads + h) * run_.queries + i;
    has_sums_ = false;
    bool some_idle = false;
    for (std::int64_t r = 0; r < count; ++r) {
      const auto e = static_cast<std::size_t>(r);
      const T* const row = dy + r * dy_row_;
      idle_[e] = !(sum_gradient_ && sum_gradient_[at + r] != 0) && std::all_of(row, row + run_.features, [](T x) { return x == 0; });
      some_idle = some_idle || idle_[e];
      means_[e] = inner_product(dy + r * dy_row_, o + r * o_row, run_.features) - (sum_gradient_ ? sum_gradient_[at + r] : T(0));
      const T log = static_cast<const T*>(run_.rest[1])[at + r];
      logs_[e] = log == SoftmaxSum<T>::kNothing ? T(0) : log;
      has_sums_ = has_sums_ || std::abs(logs_[e]) > kExactLog;
    }
    if (some_idle) q = without_idle(q, count);
    if (has_sums_) find_sums(b, h, i, count, q);
    Target dq{wide_q_, run_.width};
    if (dq_.data && run_.is_wide()) dq = {dq_.template at<T>(b, h, i), dq_.row};
    if (dq_.data)
      for (std::int64_t r = 0; r < count; ++r) std::fill_n(dq.data + r * dq.row, run_.width, T(0));
    if (ds_) clear_scores(at, count);
    const Range seen = run_.intersection(run_.seen(b, i, count), all);
    for (std::int64_t j = seen.begin; j < seen.end; j += kKeys) {
      const std::int64_t n = std::min(kKeys, seen.end - j);
      std::int64_t k_row = 0, v_row = 0;
      const T* const k = run_.load(run_.k, b, group, j, n, k_copy_, k_row);
      const T* const v = run_.load(run_.v, b, group, j, n, v_copy_, v_row);
      block_product<T>(count, n, run_.width, q, q_row_, 1, k, 1, k_row, p_, kKeys, false, gemm_);
      for (std::int64_t r = 0; r < count; ++r) probabilities(b, h, i + r, {j, j + n}, r);
      if (dv.data) {
        block_product<T>(n, run_.features, count, dropped(count, n), 1, kKeys, dy, dy_row_, 1, dv.data + (j - all.begin) * dv.row, dv.row,
                         true, gemm_);
      }
      if (!dk.data && !dq_.data && !ds_) continue;
      block_product<T>(count, n, run_.features, dy, dy_row_, 1, v, 1, v_row, dp_, kKeys, false, gemm_);
      for (std::int64_t r = 0; r < count; ++r) score_gradients(r, n, at + r, j);
      if (dq_.data) block_product<T>(count, run_.width, n, dp_, kKeys, 1, k, k_row, 1, dq.data, dq.row, true, gemm_);
      if (dk.data) {
        block_product<T>(n, run_.width, count, dp_, 1, kKeys, q, q_row_, 1, dk.data + (j - all.begin) * dk.row, dk.row, true, gemm_);
      }
    }
    for (std::int64_t r = 0; dq_.data && (some_idle || run_.hides()) && r < count; ++r) {
      if (idle_[static_cast<std::size_t>(r)]) std::fill_n(dq.data + r * dq.row, run_.width, T(0));
      else if (run_.hides() && holds_nan(dq.data + r * dq.row, run_.width)) without_hidden(b, h, i, r, q, dy, dq.data + r * dq.row);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (dq_.data && !run_.is_wide()) {
        for (std::int64_t r = 0; r < count; ++r)
          narrow(d_.dtype(), wide_q_ + r * run_.width, dq_.template at<std::uint16_t>(b, h, i + r), run_.width);
      }
    }
  }

  /// The sums of these rows, which their logarithms are too large to say: beside 1e8 an f32 has no place for the logarithm of a number of keys.
  void find_sums(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t count, const T* q) {
    std::fill_n(sums_.begin(), count, SoftmaxSum<T>());
    const Range seen = run_.seen(b, i, count);
    for (std::int64_t j = seen.begin; j < seen.end; j += kKeys) {
      const std::int64_t n = std::min(kKeys, seen.end - j);
      std::int64_t k_row = 0;
      const T* const k = run_.load(run_.k, b, h / run_.share(), j, n, k_copy_, k_row);
      block_product<T>(count, n, run_.width, q, q_row_, 1, k, 1, k_row, p_, kKeys, false, gemm_);
      for (std::int64_t r = 0; r < count; ++r) {
        const auto [from, seen_by_row, scale] = run_.row(b, h, i + r, {j, j + n}, p_ + r * kKeys);
        sums_[static_cast<std::size_t>(r)].take(from, seen_by_row, scale);
      }
    }
  }

  /// Queries whose results need no gradient get zeros instead of their values, which may be NaN.
  const T* without_idle(const T* q, std::int64_t count) {
    for (std::int64_t r = 0; r < count; ++r) {
      if (idle_[static_cast<std::size_t>(r)]) std::fill_n(asked_q_ + r * run_.width, run_.width, T(0));
      else std::copy_n(q + r * q_row_, run_.width, asked_q_ + r * run_.width);
    }
    q_row_ = run_.width;
    return asked_q_;
  }

  void probabilities(std::int64_t b, std::int64_t h, std::int64_t i, Range block, std::int64_t r) {
    T* const s = p_ + r * kKeys;
    const auto [from, n, scale] = run_.row(b, h, i, block, s);
    if (idle_[static_cast<std::size_t>(r)]) std::fill_n(from, n, T(0));
    else if (const SoftmaxSum<T>& found = sums_[static_cast<std::size_t>(r)]; has_sums_ && !found.empty()) {
      exponentials(from, n, scale, found.greatest);
      multiply(from, n, 1 / found.sum);
    } else {
      exponentials(from, n, scale, logs_[static_cast<std::size_t>(r)]);
    }
    if (d_.dropout > 0) run_.drop(b, h, i, block.begin, block.end - block.begin, factors_ + r * kKeys);
  }

  /// The gradient of query i + r once more, key by key: 0 times a hidden key may be NaN. q and dy begin at query i.
  void without_hidden(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t r, const T* q, const T* dy, T* dq) {
    const std::int64_t group = h / run_.share();
    std::fill_n(dq, run_.width, T(0));
    const Range seen = run_.seen(b, i + r, 1);
    for (std::int64_t j = seen.begin; j < seen.end; j += kKeys) {
      const std::int64_t n = std::min(kKeys, seen.end - j), row = r * kKeys;
      std::int64_t k_row = 0, v_row = 0;
      const T* const k = run_.load(run_.k, b, group, j, n, k_copy_, k_row);
      const T* const v = run_.load(run_.v, b, group, j, n, v_copy_, v_row);
      block_product<T>(1, n, run_.width, q + r * q_row_, q_row_, 1, k, 1, k_row, p_ + row, kKeys, false, gemm_);
      block_product<T>(1, n, run_.features, dy + r * dy_row_, dy_row_, 1, v, 1, v_row, dp_ + row, kKeys, false, gemm_);
      probabilities(b, h, i + r, {j, j + n}, r);
      score_gradients(r, n, (b * run_.heads + h) * run_.queries + i + r, j);
      for (std::int64_t c = 0; c < n; ++c) {
        if (run_.shows(b, h, i + r, j + c)) add_multiple(dp_[row + c], k + c * k_row, dq, run_.width);
      }
    }
  }

  /// The probabilities as the values were weighted with them; into dp_, which is written next.
  const T* dropped(std::int64_t count, std::int64_t n) {
    if (d_.dropout == 0) return p_;
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t c = 0; c < n; ++c) dp_[r * kKeys + c] = p_[r * kKeys + c] * factors_[r * kKeys + c];
    }
    return dp_;
  }

  void score_gradients(std::int64_t r, std::int64_t n, std::int64_t row, std::int64_t j) {
    T* const dp = dp_ + r * kKeys;
    if (d_.dropout > 0)
      for (std::int64_t c = 0; c < n; ++c) dp[c] *= factors_[r * kKeys + c];
    softmax_gradient(p_ + r * kKeys, dp, n, means_[static_cast<std::size_t>(r)]);
    if (ds_) {
      if (run_.is_wide()) std::copy_n(dp, n, static_cast<T*>(ds_) + row * run_.keys + j);
      else if constexpr (std::is_same_v<T, float>) narrow(d_.dtype(), dp, static_cast<std::uint16_t*>(ds_) + row * run_.keys + j, n);
    }
    if (d_.scale != 1) multiply(dp, n, static_cast<T>(d_.scale));
  }

  void clear_scores(std::int64_t row, std::int64_t count) const {
    const std::size_t one = size_of(d_.dtype()), keys = static_cast<std::size_t>(run_.keys);
    std::fill_n(static_cast<std::byte*>(ds_) + static_cast<std::size_t>(row) * keys * one, static_cast<std::size_t>(count) * keys * one,
                std::byte{0});
  }

  const AttentionRun<T>& run_;
  const runtime::Attention& d_;
  Result dq_, dk_, dv_;
  void* ds_ = nullptr;  // null: not wanted
  const T* sum_gradient_ = nullptr;
  T *p_ = nullptr, *dp_ = nullptr, *factors_ = nullptr;  // (kQueries, kKeys)
  T *q_copy_ = nullptr, *k_copy_ = nullptr, *v_copy_ = nullptr, *dy_copy_ = nullptr, *o_copy_ = nullptr;  // widened copies of halves
  T* asked_q_ = nullptr;
  T *wide_q_ = nullptr, *wide_k_ = nullptr, *wide_v_ = nullptr;  // gradients that become halves
  std::byte* gemm_ = nullptr;
  std::int64_t q_row_ = 0, dy_row_ = 0;
  /// Rows of such logarithms are normalised by their sums: the weights of others are off by 2^-16 at most.
  static constexpr T kExactLog = 256;
  std::array<T, kQueries> means_{}, logs_{};
  bool has_sums_ = false;
  std::array<bool, kQueries> idle_{};
  std::array<SoftmaxSum<T>, kQueries> sums_{};
};

}  // namespace

std::size_t backward_scratch_bytes(const runtime::Attention& d) {
  return d.dtype() == f64 ? Backward<double>::bytes(d) : Backward<float>::bytes(d);
}

template <class T>
void attend_backward(const AttentionRun<T>& run, Gradients wanted, int part, int parts, void* scratch) {
  Backward<T> backward(run, wanted, scratch);
  if (backward.nothing_wanted()) return;
  if (wanted == Gradients::Both) {
    const Range mine = share(run.samples * run.groups, part, parts);
    for (std::int64_t g = mine.begin; g < mine.end; ++g) backward.keys(g / run.groups, g % run.groups, {0, run.keys});
    return;
  }
  // Blocks in turns: how many queries see a key, and keys a query, depends on where they are.
  const bool of_keys = wanted == Gradients::Keys;
  const std::int64_t size = of_keys ? kKeys : kQueries, length = of_keys ? run.keys : run.queries, heads = of_keys ? run.groups : run.heads;
  const std::int64_t blocks = (length + size - 1) / size;
  for (std::int64_t task = part; task < run.samples * heads * blocks; task += parts) {
    const std::int64_t head = task / blocks, first = task % blocks * size;
    if (of_keys) backward.keys(head / heads, head % heads, {first, std::min(length, first + size)});
    else backward.queries(head / heads, head % heads, first);
  }
}

template void attend_backward(const AttentionRun<float>&, Gradients, int, int, void*);
template void attend_backward(const AttentionRun<double>&, Gradients, int, int, void*);

}  // namespace tegula::host

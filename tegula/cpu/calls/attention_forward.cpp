// O_i = Σ_j exp(S_ij - m_i) V_j / l_i, block by block of keys, with the greatest score m_i and the sum l_i so far (algorithm 1 of
// FlashAttention-2, Dao 2023).

#include <array>

#include "tegula/cpu/calls/attention_blocks.h"

namespace tegula::host {
namespace {

template <class T>
class Forward {
 public:
  Forward(const AttentionRun<T>& run, void* memory) : run_(run), d_(run.d) {
    Scratch scratch(memory);
    scores_ = scratch.take<T>(kQueries * kKeys);
    if (d_.dropout > 0) factors_ = scratch.take<T>(kKeys);
    if (!run.is_wide()) {
      q_ = scratch.take<T>(kQueries * run.width), k_ = scratch.take<T>(kKeys * run.width);
      v_ = scratch.take<T>(kKeys * run.features), o_ = scratch.take<T>(kQueries * run.features);
    }
    gemm_ = scratch.take<std::byte>(0);
  }
  static std::size_t bytes(const runtime::Attention& d) {
    const std::int64_t width = d.q.layout.shape[3], features = d.v.layout.shape[3], one = sizeof(T);
    std::size_t bytes = Scratch::bytes(kQueries * kKeys * one) + Scratch::bytes(kKeys * one);
    for (const std::int64_t count : {kQueries * width, kKeys * width, kKeys * features, kQueries * features})
      bytes += is_half(d.dtype()) ? Scratch::bytes(count * one) : 0;
    return bytes + block_scratch_bytes<T>(std::max(width, features));
  }

  /// Queries [i, i + count) of one head.
  void block(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t count) {
    const std::int64_t group = h / run_.share(), features = run_.features;
    std::int64_t q_row = 0, o_row = features;
    const T* const q = run_.load(run_.q, b, h, i, count, q_, q_row);
    T* o = o_;
    const bool wanted = run_.rest[0];  // or the sums alone
    if (wanted && run_.is_wide())
      o_row = run_.heads * features, o = static_cast<T*>(run_.rest[0]) + ((b * run_.queries + i) * run_.heads + h) * features;
    std::fill_n(sums_.begin(), count, SoftmaxSum<T>());
    const Range seen = run_.seen(b, i, count);
    for (std::int64_t j = seen.begin; j < seen.end; j += kKeys) {
      const std::int64_t n = std::min(kKeys, seen.end - j);
      std::int64_t k_row = 0, v_row = 0;
      const T* const k = run_.load(run_.k, b, group, j, n, k_, k_row);
      block_product<T>(count, n, run_.width, q, q_row, 1, k, 1, k_row, scores_, kKeys, false, gemm_);
      const bool first = j == seen.begin;
      for (std::int64_t r = 0; r < count; ++r) weigh(b, h, i + r, {j, j + n}, r, first || !wanted ? nullptr : o + r * o_row);
      if (!wanted) continue;
      const T* const v = run_.load(run_.v, b, group, j, n, v_, v_row);
      block_product<T>(count, features, n, scores_, kKeys, 1, v, v_row, 1, o, o_row, !first, gemm_);
    }
    const std::int64_t at = (b * run_.heads + h) * run_.queries + i;
    for (std::int64_t r = 0; r < count; ++r) {
      const SoftmaxSum<T>& found = sums_[static_cast<std::size_t>(r)];
      if (auto* const sums = static_cast<T*>(run_.rest[1])) sums[at + r] = found.empty() ? kNothing : found.greatest + std::log(found.sum);
      if (!wanted) continue;
      T* const row = o + r * o_row;
      if (found.empty()) std::fill_n(row, features, T(0));
      else multiply(row, features, 1 / found.sum);
      if (run_.hides() && holds_nan(row, features)) without_hidden(b, h, i + r, q + r * q_row, r, row);
    }
    if (wanted && !run_.is_wide()) store(b, h, i, count);
  }

 private:
  static constexpr T kNothing = SoftmaxSum<T>::kNothing;

  /// A row of scores becomes weights before they are divided by their sum; what there is of the result follows the new greatest score.
  void weigh(std::int64_t b, std::int64_t h, std::int64_t i, Range block, std::int64_t r, T* so_far) {
    T* const s = scores_ + r * kKeys;
    const auto [from, n, scale] = run_.row(b, h, i, block, s);
    const T factor = sums_[static_cast<std::size_t>(r)].take(from, n, scale);
    if (so_far && factor != 1) multiply(so_far, run_.features, factor);
    drop(b, h, i, block.begin + (from - s), n, from);
  }
  void drop(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n, T* weights) {
    if (d_.dropout == 0) return;
    run_.drop(b, h, i, j, n, factors_);
    for (std::int64_t c = 0; c < n; ++c) weights[c] *= factors_[c];
  }

  /// The result of one query once more, key by key: 0 times a hidden key may be NaN.
  void without_hidden(std::int64_t b, std::int64_t h, std::int64_t i, const T* q, std::int64_t r, T* row) {
    const std::int64_t group = h / run_.share();
    const SoftmaxSum<T>& found = sums_[static_cast<std::size_t>(r)];
    std::fill_n(row, run_.features, T(0));
    const Range seen = run_.seen(b, i, 1);
    for (std::int64_t j = seen.begin; j < seen.end; j += kKeys) {
      const Range block{j, std::min(j + kKeys, seen.end)};
      std::int64_t k_row = 0, v_row = 0;
      const T* const k = run_.load(run_.k, b, group, j, block.end - j, k_, k_row);
      const T* const v = run_.load(run_.v, b, group, j, block.end - j, v_, v_row);
      block_product<T>(1, block.end - j, run_.width, q, run_.width, 1, k, 1, k_row, scores_, kKeys, false, gemm_);
      const auto [from, n, scale] = run_.row(b, h, i, block, scores_);
      exponentials(from, n, scale, found.greatest);
      drop(b, h, i, j, n, from);
      for (std::int64_t c = 0; c < n; ++c) {
        if (run_.shows(b, h, i, j + c)) add_multiple(from[c], v + c * v_row, row, run_.features);
      }
    }
    multiply(row, run_.features, 1 / found.sum);
  }

  void store(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      auto* const to = static_cast<std::uint16_t*>(run_.rest[0]);
      for (std::int64_t r = 0; r < count; ++r)
        narrow(d_.dtype(), o_ + r * run_.features, to + ((b * run_.queries + i + r) * run_.heads + h) * run_.features, run_.features);
    }
  }

  const AttentionRun<T>& run_;
  const runtime::Attention& d_;
  T *scores_ = nullptr, *factors_ = nullptr, *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *o_ = nullptr;
  std::byte* gemm_ = nullptr;
  std::array<SoftmaxSum<T>, kQueries> sums_{};
};

}  // namespace

std::size_t forward_scratch_bytes(const runtime::Attention& d) {
  return d.dtype() == f64 ? Forward<double>::bytes(d) : Forward<float>::bytes(d);
}

template <class T>
void attend_forward(const AttentionRun<T>& run, int part, int parts, void* scratch) {
  if (!run.rest[0] && !run.rest[1]) return;
  Forward<T> forward(run, scratch);
  const std::int64_t blocks = (run.queries + kQueries - 1) / kQueries, heads = run.samples * run.heads;
  const auto one = [&](std::int64_t task) {
    const std::int64_t head = task / blocks, i = task % blocks * kQueries;
    forward.block(head / run.heads, head % run.heads, i, std::min(kQueries, run.queries - i));
  };
  if (heads % parts == 0 || heads >= 8 * parts) {  // whole heads: their keys stay in the caches
    const Range mine = share(heads * blocks, part, parts);
    for (std::int64_t task = mine.begin; task < mine.end; ++task) one(task);
  } else {  // later queries see more keys
    for (std::int64_t task = part; task < heads * blocks; task += parts) one(task);
  }
}

template void attend_forward(const AttentionRun<float>&, int, int, void*);
template void attend_forward(const AttentionRun<double>&, int, int, void*);

}  // namespace tegula::host

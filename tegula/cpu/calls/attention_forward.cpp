// O_i = Σ_j exp(S_ij - m_i) V_j / l_i, block by block of keys, with the greatest score m_i and the sum l_i so far (algorithm 1 of
// FlashAttention-2, Dao 2023).

#include <array>
#include <cmath>
#include <limits>

#include "tegula/cpu/calls/attention_blocks.h"
#include "tegula/cpu/calls/attention_rows.h"

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
    const std::int64_t width = d.q.shape[3], features = d.v.shape[3], one = sizeof(T);
    std::size_t bytes = Scratch::bytes(kQueries * kKeys * one) + Scratch::bytes(kKeys * one);
    for (const std::int64_t count : {kQueries * width, kKeys * width, kKeys * features, kQueries * features})
      bytes += is_half(d.dtype) ? Scratch::bytes(count * one) : 0;
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
    std::fill_n(greatest_.begin(), count, kNothing);
    std::fill_n(sums_.begin(), count, T(0));
    const Range seen = run_.seen(b, i, count);
    for (std::int64_t j = seen.begin; j < seen.end; j += kKeys) {
      const std::int64_t n = std::min(kKeys, seen.end - j);
      std::int64_t k_row = 0, v_row = 0;
      const T* const k = run_.load(run_.k, b, group, j, n, k_, k_row);
      block_product<T>(count, n, run_.width, q, q_row, 1, k, 1, k_row, scores_, kKeys, false, gemm_);
      const bool first = j == seen.begin;
      for (std::int64_t r = 0; r < count; ++r)
        weigh(b, h, i + r, {j, j + n}, scores_ + r * kKeys, r, first || !wanted ? nullptr : o + r * o_row);
      if (!wanted) continue;
      const T* const v = run_.load(run_.v, b, group, j, n, v_, v_row);
      block_product<T>(count, features, n, scores_, kKeys, 1, v, v_row, 1, o, o_row, !first, gemm_);
    }
    const std::int64_t at = (b * run_.heads + h) * run_.queries + i;
    for (std::int64_t r = 0; r < count; ++r) {
      T* const row = wanted ? o + r * o_row : nullptr;
      const auto e = static_cast<std::size_t>(r);
      const bool none = greatest_[e] == kNothing && sums_[e] == 0;
      if (wanted && none) std::fill_n(row, features, T(0));
      else if (wanted) multiply(row, features, 1 / sums_[e]);
      if (auto* const sums = static_cast<T*>(run_.rest[1])) sums[at + r] = none ? kNothing : greatest_[e] + std::log(sums_[e]);
    }
    if (wanted && !run_.is_wide()) store(b, h, i, count);
  }

 private:
  static constexpr T kNothing = -std::numeric_limits<T>::infinity();

  /// A row of scores becomes weights before they are divided by their sum; what there is of the result follows the new greatest score.
  void weigh(std::int64_t b, std::int64_t h, std::int64_t i, Range block, T* s, std::int64_t r, T* so_far) {
    const auto [from, n, scale] = run_.row(b, h, i, block, s);
    T& most = greatest_[static_cast<std::size_t>(r)];
    T& sum = sums_[static_cast<std::size_t>(r)];
    const T here = greatest(from, n, scale);
    if (here > most || here != here) {
      const T factor = std::exp(most - here);  // 0 from -inf
      if (so_far) multiply(so_far, run_.features, factor);
      sum *= factor;
      most = here;
    }
    if (most == kNothing && std::none_of(from, from + n, [](T x) { return x != x; })) {
      std::fill_n(from, n, T(0));
      return;
    }
    sum += exponentials(from, n, scale, most);
    if (d_.dropout == 0) return;
    run_.drop(b, h, i, block.begin + (from - s), n, factors_);
    for (std::int64_t c = 0; c < n; ++c) from[c] *= factors_[c];
  }

  void store(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      auto* const to = static_cast<std::uint16_t*>(run_.rest[0]);
      for (std::int64_t r = 0; r < count; ++r)
        narrow(d_.dtype, o_ + r * run_.features, to + ((b * run_.queries + i + r) * run_.heads + h) * run_.features, run_.features);
    }
  }

  const AttentionRun<T>& run_;
  const runtime::Attention& d_;
  T *scores_ = nullptr, *factors_ = nullptr, *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *o_ = nullptr;
  std::byte* gemm_ = nullptr;
  std::array<T, kQueries> greatest_{}, sums_{};
};

}  // namespace

std::size_t forward_scratch_bytes(const runtime::Attention& d) {
  return d.dtype == f64 ? Forward<double>::bytes(d) : Forward<float>::bytes(d);
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

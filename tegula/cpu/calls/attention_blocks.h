#pragma once
// Shared by attention's forward and backward: the operands' layouts, the keys that a query sees, and a block of scores.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "tegula/cpu/calls/attention_rows.h"
#include "tegula/cpu/calls/epilogue.h"
#include "tegula/cpu/calls/gemm.h"
#include "tegula/cpu/parallel.h"
#include "tegula/runtime/attention.h"

namespace tegula::host {

/// Queries and keys of a block of scores. Measured: a block of scores and its operands stay in the second-level cache.
inline constexpr std::int64_t kQueries = 64, kKeys = 256;

/// A tensor (B, H, rows, features) whose features are dense; strides in elements.
struct Rows {
  const void* data = nullptr;
  std::int64_t sample = 0, head = 0, row = 0, features = 0;
};

/// Memory of one thread, handed out piece by piece.
class Scratch {
 public:
  explicit Scratch(void* memory) : next_(static_cast<std::byte*>(memory)) {}
  template <class T>
  T* take(std::int64_t count) {
    auto* const piece = reinterpret_cast<T*>(next_);
    next_ += bytes(count * static_cast<std::int64_t>(sizeof(T)));
    return piece;
  }
  static std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>((count + 63) / 64 * 64); }

 private:
  std::byte* next_;
};

/// The sizes and the operands of one run. T is the type of the arithmetic: f64, or f32 for the others.
template <class T>
struct AttentionRun {
  const runtime::Attention& d;
  std::int64_t samples, heads, groups, queries, keys, width, features;
  Rows q, k, v, o, o_gradient;
  const bool* mask = nullptr;
  const void* bias = nullptr;
  const std::int64_t *lengths = nullptr, *start = nullptr, *seed = nullptr, *position = nullptr;
  std::span<void* const> rest;  // behind these

  AttentionRun(const runtime::Attention& description, std::span<void* const> buffers);

  bool is_wide() const { return d.dtype() == f32 || d.dtype() == f64; }
  std::int64_t share() const { return heads / groups; }

  /// Rows of one head as T: where they lie, or a copy. `stride` becomes the distance between rows.
  const T* load(const Rows& x, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count, T* copy, std::int64_t& stride) const;
  /// The keys that queries [i, i + count) of a sample see, at most.
  Range seen(std::int64_t b, std::int64_t i, std::int64_t count) const;
  /// A block of scores as the softmax takes them, s (count, n) with rows kKeys apart: scaled and with hidden keys at -inf if `plain` is
  /// false; otherwise they are still to be multiplied by the scale, and row r sees all keys in seen_by(b, i + r).
  bool plain() const { return !d.mask && !d.bias; }
  Range seen_by(std::int64_t b, std::int64_t i, Range block) const { return intersection(seen(b, i, 1), block); }
  /// The visible part of a row s of scores of query i, with bias and mask; the rest of s becomes 0. `scale` is still to be multiplied in.
  struct Row {
    T* first;
    std::int64_t count;
    T scale;
  };
  Row row(std::int64_t b, std::int64_t h, std::int64_t i, Range block, T* s) const {
    const Range all = seen_by(b, i, block);
    const Row out{s + (all.begin - block.begin), all.end - all.begin, plain() ? static_cast<T>(d.scale) : T(1)};
    std::fill(s, out.first, T(0));
    std::fill(out.first + out.count, s + (block.end - block.begin), T(0));
    if (!plain()) add_bias_and_mask(b, h, i, all.begin, out.count, out.first);
    return out;
  }
  void add_bias_and_mask(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n, T* s) const;
  /// True if some queries of a block may see keys that others do not.
  bool hides() const { return d.mask || d.causal || d.window > 0; }
  /// True if the mask shows key j to query i.
  bool shows(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    if (!d.mask) return true;
    const Strides& x = d.mask->layout.strides;
    return mask[b * x[0] + h * x[1] + i * x[2] + j * x[3]];
  }
  /// The factors of the weights of query i and keys [j, j + n): 0 or 1 / (1 - dropout).
  void drop(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n, T* factors) const;

  /// Within b, also where it is empty.
  static Range intersection(Range a, Range b) {
    const std::int64_t begin = std::min(std::max(a.begin, b.begin), b.end);
    return {begin, std::max(begin, std::min(a.end, b.end))};
  }
};

extern template struct AttentionRun<float>;
extern template struct AttentionRun<double>;

/// The greatest of some scores and Σ exp(score - greatest), run after run of them.
template <class T>
struct SoftmaxSum {
  static constexpr T kNothing = -std::numeric_limits<T>::infinity();
  T greatest = kNothing, sum = 0;

  /// Replaces s[i] by exp(scale * s[i] - greatest) and adds it to `sum`. Values made with the previous `greatest` must be multiplied by the result.
  T take(T* s, std::int64_t count, T scale) {
    T factor = 1;
    const T here = host::greatest(s, count, scale);
    if (here > greatest || here != here) {
      factor = std::exp(greatest - here);  // 0 from -inf
      sum *= factor;
      greatest = here;
    }
    if (greatest == kNothing && std::none_of(s, s + count, [](T x) { return x != x; })) std::fill_n(s, count, T(0));
    else sum += exponentials(s, count, scale, greatest);
    return factor;
  }
  bool empty() const { return greatest == kNothing && sum == 0; }
};

/// C (m, n) = or += A · B on the calling thread; a and b have any two strides.
template <class T>
void block_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b,
                   std::int64_t b_row, std::int64_t b_column, T* c, std::int64_t c_row, bool accumulate, void* scratch) {
  gemm(Gemm<T>{.m = m,
               .n = n,
               .k = k,
               .a = a,
               .a_row = a_row,
               .a_column = a_column,
               .b = b,
               .b_row = b_row,
               .b_column = b_column,
               .c = c,
               .c_row = c_row,
               .accumulate = accumulate},
       scratch);
}

/// Scratch for the largest of those products.
template <class T>
std::size_t block_scratch_bytes(std::int64_t features) {
  return std::max({gemm_scratch_bytes(kQueries, kKeys, features, sizeof(T)), gemm_scratch_bytes(kQueries, features, kKeys, sizeof(T)),
                   gemm_scratch_bytes(kKeys, features, kQueries, sizeof(T))});
}

/// The parts of a call, each for one thread with its scratch.
std::size_t forward_scratch_bytes(const runtime::Attention& d);
std::size_t backward_scratch_bytes(const runtime::Attention& d);
template <class T>
void attend_forward(const AttentionRun<T>& run, int part, int parts, void* scratch);
/// The gradients of all keys, or of the queries, where one sample's heads are fewer than the threads; else of both at once.
enum class Gradients : std::uint8_t { Both, Keys, Queries };
template <class T>
void attend_backward(const AttentionRun<T>& run, Gradients wanted, int part, int parts, void* scratch);

}  // namespace tegula::host

#pragma once
// What both passes of attention in tiles know of scores: which keys a query sees, and what is added to its products.

#include <cstdint>
#include <limits>
#include <numbers>

#include "tegula/ops/products/attention_op.h"
#include "tegula/ops/products/typed_launch.h"

namespace tegula::ops {

/// Of a head of a sample. Query m lies at position m, or start + m; keys are counted from 0.
class TileScores {
 public:
  using Tile = tile::Tile;
  static constexpr double kNothing = -std::numeric_limits<double>::infinity();  // the score of a key that is not seen

  TileScores(TypedLaunch& kernel, const KernelContext& context, const AttentionForm& form)
      : form_(form),
        keys_(kernel.number(context.input(1).shape[2])) {
    int next = 3;
    const auto take = [&](bool there, Tile& to, Strides* strides) {
      if (!there) return;
      const auto& operand = context.input(next);
      for (int axis = 0; strides && axis < operand.shape.rank(); ++axis)
        strides->push_back(operand.shape[axis] == 1 ? 0 : operand.strides[axis]);
      to = strides ? kernel.typed_input(next) : kernel.input(next);
      ++next;
    };
    take(form.mask, mask_, &of_mask_), take(form.bias, bias_, &of_bias_);
    take(form.lengths, lengths_, nullptr), take(form.start, starts_, nullptr);
  }

  /// From here on it is about this head.
  void at(const Tile& sample, const Tile& head) {
    sample_ = sample, head_ = head;
    limit_ = keys_;
    if (form_.lengths) limit_ = smaller(keys_, load(lengths_ + sample));
    if (form_.start) start_ = between(load(starts_ + sample));
  }
  /// All keys that any query sees lie before it.
  const Tile& limit() const { return limit_; }
  /// The position of a query.
  Tile position(const Tile& m) const { return form_.start ? m + start_ : m; }
  /// The query at a position, which there may be none at.
  Tile query_at(const Tile& position) const { return form_.start ? position - start_ : position; }
  /// Whether a query sees only keys of some distance, in some direction.
  bool ends() const { return form_.causal || form_.window > 0; }
  /// A query at position p sees keys before p + behind().
  std::int64_t behind() const { return form_.causal ? 1 : form_.window; }
  /// Whether a row may have seen nothing.
  bool may_see_nothing() const { return form_.window > 0 || form_.mask || form_.bias || form_.lengths || form_.start; }

  /// Scores in units of ln 2, times unit(): products of rows and columns, queries (m) along one axis and keys (n) along the other. Bits of places beyond the ends are
  /// not told: see whole().
  double unit() const { return form_.bias ? 1 : form_.scale * std::numbers::log2e; }
  Tile scores(Tile products, const Tile& m, const Tile& n, const Tile& there) const {
    if (form_.bias)
      products =
          fma(products, form_.scale * std::numbers::log2e, cast_to(load(place(bias_, of_bias_, m, n), there), f32) * std::numbers::log2e);
    if (form_.mask) products = where(load(place(mask_, of_mask_, m, n), there), products, kNothing);
    return products;
  }
  /// Whether all queries of [m, m + rows) see all keys of [n, n + columns), but for the mask.
  Tile whole(const Tile& m, std::int64_t rows, const Tile& n, std::int64_t columns) const {
    Tile all = n + columns <= limit_;
    if (ends()) all = all && n + columns <= position(m) + behind();
    if (form_.window > 0) all = all && n + form_.window > position(m) + (rows - 1);
    return all;
  }
  /// Which queries see which keys, but for the mask.
  Tile seen(const Tile& m, const Tile& n) const {
    Tile all = n < limit_;
    if (ends()) all = all && n < position(m) + behind();
    if (form_.window > 0) all = all && n + form_.window > position(m);
    return all;
  }
  static Tile smaller(const Tile& a, const Tile& b) { return where(a < b, a, b); }
  static Tile larger(const Tile& a, const Tile& b) { return where(a < b, b, a); }

 private:
  /// Far from any key, and sums of two such do not overflow.
  static Tile between(const Tile& start) {
    constexpr std::int64_t kFar = std::int64_t{1} << 61;
    return smaller(larger(start, -kFar), kFar);
  }
  Tile place(const Tile& pointer, const Strides& strides, const Tile& m, const Tile& n) const {
    return pointer + (sample_ * strides[0] + head_ * strides[1]) + (m * strides[2] + n * strides[3]);
  }

  const AttentionForm& form_;
  Tile keys_, mask_, bias_, lengths_, starts_, sample_, head_, limit_, start_;
  Strides of_mask_, of_bias_;
};

}  // namespace tegula::ops

#pragma once
// A decoder's cache of earlier tokens: keys and values of every layer.

#include <vector>

#include "tegula/nn/module.h"
#include "tegula/ops/products/attention.h"

namespace tegula::nn {

struct CacheSize {
  int layers = 1;
  std::int64_t batch = 1, capacity = 0;  // sequences, and the most tokens of each
  std::int64_t heads = 1, width = 0;     // of the keys
  DType dtype = f32;
};

/// Keys and values (batch, capacity, heads, width) of each layer, of which the first length() are valid. In a jit-ed function new ones are written
/// into the Variables' memory, and one executable serves all lengths. A copy goes on by itself.
///   const auto [keys, values] = cache.extend(layer, k, v);
///   y = scaled_dot_product_attention(q, keys, values, cache.attention());     // in every layer
///   cache.advance(T);                                                         // once, behind the last
/// Sequences of different lengths begin together: their first tokens fill `width` columns, each as far as it goes (begin), later
/// tokens are written after those columns, and the columns in between are hidden.
class KeyValueCache {
 public:
  explicit KeyValueCache(const CacheSize& size, Line where = Line::current());

  struct Seen {
    Tensor keys,
        values;  // (batch, heads, capacity, width): with attention(), unwritten columns are hidden; from_empty() those of the T tokens
  };
  /// Writes keys and values (batch, T, heads, width) behind the first length(). An Error when it is run and there is no room for them.
  Seen extend(int layer, Arg keys, Arg values);
  /// causal, start = length(), and the mask of sequences that began with different lengths.
  AttentionOptions attention() const;
  /// The positions in their sequences of the next `count` tokens: (count), or (batch, count) where lengths differed.
  Tensor places(std::int64_t count, Line where = Line::current()) const;
  /// `count` tokens were written in every layer.
  void advance(std::int64_t count, Line where = Line::current());

  /// While it lives, the cache is empty, and in a jit-ed function it is at every call: new tokens are written to the front, and see each other
  /// alone, by the attention that is fastest for that (of sequences of different lengths, too: padding comes last, and is not seen).
  class Beginning {
   public:
    explicit Beginning(KeyValueCache& cache) : cache_(cache) { cache_.begins_ = true; }
    ~Beginning() { cache_.begins_ = false; }
    Beginning(const Beginning&) = delete;
    Beginning& operator=(const Beginning&) = delete;

   private:
    KeyValueCache& cache_;
  };
  [[nodiscard]] Beginning from_empty(Line where = Line::current());

  /// The number of columns that are written: () i64.
  Tensor length(Line where = Line::current()) const { return length_.read(where); }
  /// Forgets everything, or everything after the first `length` tokens.
  void truncate(std::int64_t length = 0, Line where = Line::current());
  /// The next `width` columns are the beginnings of sequences of these lengths, 1 to `width`; longer columns hold padding.
  void begin(const std::vector<std::int64_t>& lengths, std::int64_t width, Line where = Line::current());
  /// Sequence i becomes the former sequence order[i], an integer tensor (batch): the selection of a beam search.
  void reorder(Arg order);
  /// Makes room for this many tokens; the content stays. Functions that were compiled for less are compiled again.
  void reserve(std::int64_t capacity, Line where = Line::current());

  const CacheSize& size() const { return size_; }
  void visit(Visitor& visitor, const Path& path);

 private:
  CacheSize size_;
  std::vector<NonPersistentBuffer> keys_, values_;
  NonPersistentBuffer length_;  // () i64
  NonPersistentBuffer gap_begin_;  // (batch) i64: where a shorter sequence's padding begins …
  NonPersistentBuffer gap_end_;  // () i64: … and all of them end
  Flag ragged_{0};
  Flag capacity_;  // reserve() replaces the buffers in keys_ and values_: their readers read this, too, and are traced again then
  bool begins_ = false;  // not of a copy's concern: it lives as long as a call
};

}  // namespace tegula::nn

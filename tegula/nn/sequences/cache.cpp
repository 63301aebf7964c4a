#include "tegula/nn/sequences/cache.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/rows/label.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {
namespace {
constexpr std::string_view kName = "KeyValueCache";
}

KeyValueCache::KeyValueCache(const CacheSize& size, Line where) : size_(size), capacity_(static_cast<int>(size.capacity)) {
  const In frame(kName, where);
  require_positive(
      kName, {{"layers", size.layers}, {"batch", size.batch}, {"capacity", size.capacity}, {"heads", size.heads}, {"width", size.width}},
      where);
  const Shape shape{size.batch, size.capacity, size.heads, size.width};
  for (int i = 0; i < size.layers; ++i) {
    keys_.emplace_back(zeros(shape, size.dtype), where);
    values_.emplace_back(zeros(shape, size.dtype), where);
  }
  length_ = zeros({}, i64);
  gap_begin_ = zeros({size.batch}, i64);
  gap_end_ = zeros({}, i64);
}

KeyValueCache::Seen KeyValueCache::extend(int layer, Arg of_keys, Arg of_values) {
  const In frame(kName, of_keys.loc);
  const Tensor keys = of_keys.tensor(kName), values = of_values.tensor(kName);
  const bool fits = keys.rank() == 4 && keys.shape() == values.shape() && keys.shape()[0] == size_.batch &&
                    keys.shape()[2] == size_.heads && keys.shape()[3] == size_.width;
  if (!fits || layer < 0 || layer >= size_.layers) {
    ops::refuse(kName,
                "keys " + to_string(keys.shape()) + " and values " + to_string(values.shape()) + " of layer " + std::to_string(layer),
                "(" + std::to_string(size_.batch) + ", T, " + std::to_string(size_.heads) + ", " + std::to_string(size_.width) +
                    ") and one of " + std::to_string(size_.layers) + " layers",
                of_keys.loc);
  }
  if (const int capacity = capacity_; keys.shape()[1] > capacity) {
    ops::refuse(kName, std::to_string(keys.shape()[1]) + " tokens at once", "at most the capacity " + std::to_string(capacity), of_keys.loc,
                "make the cache larger, or cut the prompt");
  }
  const auto i = static_cast<std::size_t>(layer);
  const Tensor new_keys = cast(keys, size_.dtype), new_values = cast(values, size_.dtype);
  if (begins_) {
    keys_[i] = update_slice(keys_[i], new_keys, 0, 1);
    values_[i] = update_slice(values_[i], new_values, 0, 1);
    return {permute(new_keys, {0, 2, 1, 3}), permute(new_values, {0, 2, 1, 3})};
  }
  const std::int64_t count = keys.shape()[1], room = size_.capacity - count;
  const Tensor place =
      ops::check_range(kName, length_, 0, room,
                       "no room for " + std::to_string(count) + (count == 1 ? " more token" : " more tokens") + ": %d of its " +
                           std::to_string(size_.capacity) + " positions are taken, expected at most " + std::to_string(room),
                       of_keys.loc, "make the cache with a larger capacity, or reserve() more; truncate() forgets what it holds");
  keys_[i] = ops::update_at(keys_[i], new_keys, place, 1, of_keys.loc);
  values_[i] = ops::update_at(values_[i], new_values, place, 1, of_keys.loc);
  return {permute(keys_[i], {0, 2, 1, 3}), permute(values_[i], {0, 2, 1, 3})};
}

KeyValueCache::Beginning KeyValueCache::from_empty(Line where) {
  const In frame(kName, where);
  length_ = zeros({}, i64);
  return Beginning(*this);
}

AttentionOptions KeyValueCache::attention() const {
  if (begins_) return {.causal = true};
  AttentionOptions options{.causal = true, .start = length_.read()};
  if (ragged_) {
    const int capacity = capacity_;
    const Tensor column = arange(capacity);
    const Tensor seen = column < expand_dims(gap_begin_, 1) || column >= gap_end_;  // (batch, capacity)
    options.mask = reshape(seen, {size_.batch, 1, 1, capacity});
  }
  return options;
}

Tensor KeyValueCache::places(std::int64_t count, Line where) const {
  const In frame(kName, where);
  if (begins_) return arange(count, where);
  const Tensor column = arange(count, where) + length_;
  if (!ragged_) return column;
  return tegula::where(column < gap_end_, column, column - (gap_end_ - expand_dims(gap_begin_, 1)));
}

void KeyValueCache::advance(std::int64_t count, Line where) {
  const In frame(kName, where);
  length_ = length_ + count;
}

void KeyValueCache::truncate(std::int64_t length, Line where) {
  const In frame(kName, where);
  if (length < 0 || length > size_.capacity)
    ops::refuse(kName, "a length of " + std::to_string(length), "0 to the capacity " + std::to_string(size_.capacity), where);
  length_ = tensor({length}, Shape{});
  if (length == 0) ragged_ = 0;
}

void KeyValueCache::begin(const std::vector<std::int64_t>& lengths, std::int64_t width, Line where) {
  const In frame(kName, where);
  const bool fits = static_cast<std::int64_t>(lengths.size()) == size_.batch &&
                    std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t n) { return n >= 1 && n <= width; });
  if (!fits) {
    ops::refuse(kName, std::to_string(lengths.size()) + " lengths in " + std::to_string(width) + " columns",
                "one for each of " + std::to_string(size_.batch) + " sequences, from 1 to the columns", where);
  }
  truncate(0, where);
  gap_begin_ = tensor(lengths, {size_.batch});
  gap_end_ = tensor({width}, Shape{});
  ragged_ = 1;
}

void KeyValueCache::reorder(Arg order) {
  const In frame(kName, order.loc);
  const Tensor index = order.tensor(kName);
  if (index.shape() != Shape{size_.batch})
    ops::refuse(kName, "an order of shape " + to_string(index.shape()), to_string(Shape{size_.batch}), order.loc);
  capacity_.get();
  for (auto* list : {&keys_, &values_}) {
    for (NonPersistentBuffer& buffer : *list) buffer = take(buffer, index, 0);
  }
  gap_begin_ = take(gap_begin_, index, 0);
}

void KeyValueCache::reserve(std::int64_t capacity, Line where) {
  const In frame(kName, where);
  if (capacity <= size_.capacity) return;
  const std::int64_t more = capacity - size_.capacity;
  for (auto* list : {&keys_, &values_}) {
    for (NonPersistentBuffer& buffer : *list) {
      const Tensor longer = pad(buffer, {{0, 0}, {0, more}, {0, 0}, {0, 0}});
      buffer = NonPersistentBuffer(longer, where);
    }
  }
  size_.capacity = capacity;
  capacity_ = static_cast<int>(capacity);
}

void KeyValueCache::visit(Visitor& visitor, const Path& path) {
  const Path keys{&path, "keys"}, values{&path, "values"};
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    visitor.non_persistent_buffer(Path{&keys, {}, static_cast<std::int64_t>(i)}, keys_[i]);
    visitor.non_persistent_buffer(Path{&values, {}, static_cast<std::int64_t>(i)}, values_[i]);
  }
  visitor.non_persistent_buffer(Path{&path, "length"}, length_);
  visitor.non_persistent_buffer(Path{&path, "gap_begin"}, gap_begin_);
  visitor.non_persistent_buffer(Path{&path, "gap_end"}, gap_end_);
}

}  // namespace tegula::nn

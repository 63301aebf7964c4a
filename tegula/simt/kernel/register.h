#pragma once
// Arrays of registers.

#include <cstdint>
#include <initializer_list>

#include "tegula/simt/kernel/expression.h"

namespace tegula::simt {

/// The sizes of an array of registers, the outermost first.
class Sizes {
 public:
  Sizes() = default;
  Sizes(std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) push_back(size);
  }
  void push_back(std::int64_t size) { values_[count_++] = static_cast<std::int32_t>(size); }
  void pop_back() { --count_; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }
  const std::int32_t* begin() const { return values_; }
  const std::int32_t* end() const { return values_ + count_; }

 private:
  std::int32_t values_[4] = {};
  std::uint32_t count_ = 0;
};

struct Register {
  Name name;
  Type type;
  Sizes sizes;
  bool alike_in_rows = false;  // the threads of a row hold the same; of a column:
  bool alike_in_columns = false;
};

}  // namespace tegula::simt

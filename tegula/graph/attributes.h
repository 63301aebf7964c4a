#pragma once
// What tells two ops of one class apart: axes, windows, sizes. An op lists each once, by name, and every reader goes through that one list:
// the key of the structural cache, what is printed, the difference of two traces, files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tegula/core/number.h"
#include "tegula/core/shape.h"

namespace tegula {

class Op;

/// The structural key of a graph grows by each node's words.
using Words = std::vector<std::uint64_t>;

/// A reader of an op's attributes: `void attributes(Attributes& a) const override { a("axis", axis_); a("step", step_); }`. Names are the op's
/// own and unique within it; an op always names the same ones in the same order, whatever their values. Choices (enums) are given by their
/// name, so that what is written to a file does not depend on how they are numbered.
class Attributes {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void operator()(std::string_view name, T value) {
    if constexpr (std::is_same_v<T, bool>) flag(name, value);
    else integer(name, static_cast<std::int64_t>(value));
  }
  void operator()(std::string_view name, const Number& value) { number(name, value); }
  void operator()(std::string_view name, const Dims& value) { list(name, value.begin(), static_cast<std::size_t>(value.rank())); }
  void operator()(std::string_view name, const std::vector<std::int64_t>& value) { list(name, value.data(), value.size()); }
  void operator()(std::string_view name, std::string_view value) { text(name, value); }
  void operator()(std::string_view name, const std::string& value) { text(name, value); }
  void operator()(std::string_view name, const char* value) { text(name, value); }
  template <class T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (!presence(name, value.has_value())) return;
    (*this)(name, *value);
  }
  void operator()(std::string_view, double) = delete;  // a Number
  /// What the op's name already says ("max" or "min"), for keys, which hold no names.
  template <class T>
  requires std::is_enum_v<T> || std::is_same_v<T, bool>
  void told_by_name(T value) {
    variant(static_cast<std::uint64_t>(value));
  }

 protected:
  ~Attributes() = default;
  virtual void variant(std::uint64_t value) = 0;
  virtual void flag(std::string_view name, bool value) = 0;
  virtual void integer(std::string_view name, std::int64_t value) = 0;
  virtual void number(std::string_view name, const Number& value) = 0;
  virtual void list(std::string_view name, const std::int64_t* values, std::size_t count) = 0;
  virtual void text(std::string_view name, std::string_view value) = 0;
  /// Before an optional one; false: its value, if any, is not wanted.
  virtual bool presence(std::string_view name, bool present) = 0;
};

/// The sizes, after their number.
void append(Words& key, const Dims& dims);
/// The op's class and attributes as words of a key: equal for two ops exactly when they do the same to equal inputs and results. A key tells its
/// own end, holds no names, and lives as long as the process.
void append(Words& key, const Op& op);

struct Attribute {
  std::string name, value;
  bool operator==(const Attribute&) const = default;
};
/// The op's attributes as text, in its own order; an optional one that is not there is left out.
std::vector<Attribute> attributes_of(const Op& op);
/// "axis=1, step=(1, 2)"; a number's value ("0.5").
std::string description(const Op& op);
/// How `b` differs from `a`, two ops of one name: "stride: (1, 1), then (2, 2)". Empty where they do not.
std::string difference(const Op& a, const Op& b);

}  // namespace tegula

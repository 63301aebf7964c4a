#pragma once
// The attributes of an op, which tell two ops of one class apart: axes, windows, sizes. An op lists each once, by name, and every visitor goes
// through that one list: the key of the structural cache, printing, the difference of two traces, and the writer and reader of graph files.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tegula/core/number.h"
#include "tegula/core/ref.h"
#include "tegula/core/shape.h"

namespace tegula {

class Op;
class Region;

/// A choice that a function of one's own or a composite (softmax: its axis) was called with, for those who look at graphs and files.
struct NamedOption {
  std::string name;
  std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>> value;
  bool operator==(const NamedOption&) const = default;
};
using NamedOptions = std::vector<NamedOption>;

/// The structural key of a graph grows by each node's words.
using Words = std::vector<std::uint64_t>;

struct Signature;

/// Goes through an op's attributes: `void attributes(Attributes& a) override { a("axis", axis_); a("step", step_); }`. Names are the op's own and
/// unique within it; an op always names the same ones in the same order, whatever their values. Choices (enums) are given by their name, so that
/// the contents of a file do not depend on their numbers. One visitor reads the fields, another assigns them (assigns()): it turns an op
/// made with any values, and not shared yet, into the one that a file describes.
class Attributes {
 public:
  template <class T>
  requires std::is_integral_v<T>
  void operator()(std::string_view name, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      flag(name, value);
    } else {
      std::int64_t wide = static_cast<std::int64_t>(value);
      integer(name, wide);
      if (!assigns()) return;
      require(std::in_range<T>(wide), name);
      value = static_cast<T>(wide);
    }
  }
  void operator()(std::string_view name, double& value) {
    Number number(value);
    this->number(name, number);
    if (assigns()) value = number.real();
  }
  void operator()(std::string_view name, Number& value) { number(name, value); }
  void operator()(std::string_view name, Dims& value) { dims(name, value); }
  void operator()(std::string_view name, std::vector<std::int64_t>& value) { list(name, value); }
  void operator()(std::string_view name, std::string& value) { text(name, value); }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& value) {
    const bool present = presence(name, value.has_value());
    if (assigns()) value = present ? std::optional<T>(T()) : std::nullopt;
    if (present) (*this)(name, *value);
  }
  /// One of an enum's values, which are numbered from 0 and called so.
  template <class T, std::size_t N>
  requires std::is_enum_v<T> || std::is_same_v<T, bool>
  void choice(std::string_view name, T& value, const std::string_view (&names)[N]) {
    auto index = static_cast<std::size_t>(value);
    one_of(name, index, names);
    if (assigns()) value = static_cast<T>(index);
  }
  /// Visits an attribute that the op's name already says ("max" or "min"). Only keys need it, for keys hold no names.
  template <class T>
  requires std::is_enum_v<T> || std::is_same_v<T, bool>
  void told_by_name(T value) {
    variant(static_cast<std::uint64_t>(value));
  }
  /// The body of a loop.
  virtual void region(std::string_view name, Ref<const Region>& value) = 0;
  /// Attributes of which the op knows neither names nor number.
  virtual void options(std::string_view name, NamedOptions& values) = 0;

  /// True if this visitor assigns the fields (it makes an op from a file).
  virtual bool assigns() const { return false; }
  /// While fields are assigned: the operands and results of the node that the op is for; null while fields are read. The result's shape and dtype
  /// are no attributes; an op that stores them in a field takes them from here.
  virtual const Signature* made_for() const { return nullptr; }
  /// While fields are assigned: throws Error, which names the op and the attribute, if `holds` does not, which is a statement of the file.
  virtual void require(bool /*holds*/, std::string_view /*attribute*/) const {}

 protected:
  ~Attributes() = default;
  virtual void variant(std::uint64_t value) = 0;
  virtual void flag(std::string_view name, bool& value) = 0;
  virtual void integer(std::string_view name, std::int64_t& value) = 0;
  virtual void number(std::string_view name, Number& value) = 0;
  /// Sizes, at most kMaxRank of them.
  virtual void dims(std::string_view name, Dims& value) = 0;
  virtual void list(std::string_view name, std::vector<std::int64_t>& value) = 0;
  virtual void text(std::string_view name, std::string& value) = 0;
  virtual void one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) = 0;
  /// Before an optional one: whether its value comes next.
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
/// The differences of `b` from `a`, two ops of one name: "stride: (1, 1), then (2, 2)". Empty if they are alike.
std::string difference(const Op& a, const Op& b);

}  // namespace tegula

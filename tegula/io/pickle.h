#pragma once
// Python's pickles read as data: a stack machine of 36 opcodes that calls nothing.

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tegula::io {

/// Values of one or several pickles, which may refer to each other in circles: who walks over them counts how deep it is.
class Pickle {
 public:
  enum class Kind : std::uint8_t {
    None,
    Bool,
    Int,
    Float,
    Text,
    Global,      // a name of Python's: "collections.OrderedDict"
    List,
    Tuple,
    Dict,        // an OrderedDict, too
    Call,        // an allowed function and its arguments, which was not called
    Persistent,  // an object that the file keeps elsewhere, under an id
  };
  struct Value {
    Kind kind = Kind::None;
    std::int64_t number = 0;  // Bool, Int; the bits of a Float; else an index
  };

  /// `globals`: the functions and classes that a pickle may name. `op` and `file`: in messages.
  Pickle(std::span<const std::string_view> globals, std::string_view op, std::string_view file) : globals_(globals), op_(op), file_(file) {}

  /// The value of the pickle that begins at byte `at`, which then is the byte behind it. Protocols 2 to 4. Throws Error for a truncated pickle, an opcode that is not
  /// one of those that torch.save writes, an operand of the wrong kind, and for a global that is not allowed, which it names.
  Value read(std::span<const std::byte> bytes, std::size_t& at);

  static double real(Value value) { return std::bit_cast<double>(value.number); }
  /// The text of a Text or Global.
  std::string_view text(Value value) const { return texts_[static_cast<std::size_t>(value.number)]; }
  /// The items of a List or Tuple; keys and values in turn of a Dict; the function and the Tuple of arguments of a Call; the id of a Persistent.
  std::span<const Value> items(Value value) const { return lists_[static_cast<std::size_t>(value.number)]; }

 private:
  class Machine;
  Value text_value(Kind kind, std::string_view text);
  Value list_value(Kind kind, std::vector<Value> items);

  std::span<const std::string_view> globals_;
  std::string_view op_, file_;
  std::vector<std::string> texts_;
  std::vector<std::vector<Value>> lists_;
};

}  // namespace tegula::io

#include "tegula/io/pickle.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula::io {
namespace {

constexpr std::string_view kOrderedDict = "collections.OrderedDict";

std::string hexadecimal(std::uint8_t byte) {
  constexpr char digits[] = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4], digits[byte & 15]};
}

}  // namespace

Pickle::Value Pickle::text_value(Kind kind, std::string_view text) {
  texts_.emplace_back(text);
  return {kind, static_cast<std::int64_t>(texts_.size()) - 1};
}

Pickle::Value Pickle::list_value(Kind kind, std::vector<Value> items) {
  lists_.push_back(std::move(items));
  return {kind, static_cast<std::int64_t>(lists_.size()) - 1};
}

/// One run over one pickle. Memory stays in proportion to its bytes: an opcode makes one value at most.
class Pickle::Machine {
 public:
  Machine(Pickle& pickle, std::span<const std::byte> bytes, std::size_t& at) : p_(pickle), bytes_(bytes), at_(at) {}

  Value run() {
    for (;;) {
      const auto code = static_cast<std::uint8_t>(take(1)[0]);
      if (code == '.') break;
      step(code);
    }
    return pop();
  }

 private:
  [[noreturn]] void complain(const std::string& got, std::string expected = "a pickle as torch.save writes them",
                             std::string advice = "") const {
    throw Error({.op = std::string(p_.op_),
                 .got = printable(std::string(p_.file_) + ": " + got),
                 .expected = std::move(expected),
                 .advice = std::move(advice)});
  }

  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size() - at_)
      complain("a pickle that ends at byte " + std::to_string(bytes_.size()), "its end behind it", "the file is truncated");
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  /// A little-endian number without sign.
  std::uint64_t natural(std::size_t count) {
    std::uint64_t out = 0;
    std::memcpy(&out, take(count).data(), count);
    return out;
  }
  std::string_view chars(std::size_t count) {
    const auto some = take(count);
    return {reinterpret_cast<const char*>(some.data()), some.size()};
  }
  std::string_view line() {
    const std::size_t begin = at_;
    while (static_cast<char>(take(1)[0]) != '\n') {}
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin - 1};
  }

  void push(Value value) { stack_.push_back(value); }
  Value pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) complain("an opcode with too few operands at byte " + std::to_string(at_));
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value pop(Kind kind, const char* what) {
    const Value value = pop();
    if (value.kind != kind) complain("an operand at byte " + std::to_string(at_) + " that is not " + what);
    return value;
  }
  std::vector<Value> pop_to_mark() {
    if (marks_.empty()) complain("an opcode without its mark at byte " + std::to_string(at_));
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Value> out(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return out;
  }
  std::vector<Value> pop_some(std::size_t count) {
    std::vector<Value> out(count);
    for (std::size_t i = count; i-- > 0;) out[i] = pop();
    return out;
  }

  /// Appends to the List or Dict on top of the stack.
  void extend(Kind kind, const std::vector<Value>& items) {
    const Value into = pop(kind, kind == Kind::List ? "a list" : "a dict");
    if (kind == Kind::Dict && items.size() % 2 != 0) complain("a key without a value at byte " + std::to_string(at_));
    auto& list = p_.lists_[static_cast<std::size_t>(into.number)];
    list.insert(list.end(), items.begin(), items.end());
    push(into);
  }

  void global(std::string_view module, std::string_view name) {
    const std::string full = std::string(module) + "." + std::string(name);
    if (std::ranges::find(p_.globals_, full) == p_.globals_.end())
      complain("the Python object " + full, "tensors, numbers, texts, lists and dicts of them alone: nothing of a file is executed",
               "in Python: torch.save(model.state_dict(), path) keeps the weights alone");
    push(p_.text_value(Kind::Global, full));
  }

  /// An OrderedDict of nothing or of pairs.
  Value dict(Value arguments) {
    std::vector<Value> items;
    const auto given = p_.items(arguments);
    if (!given.empty() && given[0].kind == Kind::List) {
      for (const Value pair : p_.items(given[0])) {
        if ((pair.kind != Kind::List && pair.kind != Kind::Tuple) || p_.items(pair).size() != 2)
          complain("an OrderedDict of other than pairs");
        items.insert(items.end(), p_.items(pair).begin(), p_.items(pair).end());
      }
      copied_ += items.size();
      if (copied_ > bytes_.size()) complain("more OrderedDicts of the same pairs than it has bytes");
    } else if (!given.empty()) {
      complain("an OrderedDict of other than a list");
    }
    return p_.list_value(Kind::Dict, std::move(items));
  }
  void reduce() {
    const Value arguments = pop(Kind::Tuple, "a tuple of arguments"), function = pop(Kind::Global, "a function");
    push(p_.text(function) == kOrderedDict ? dict(arguments) : p_.list_value(Kind::Call, {function, arguments}));
  }

  void long1() {
    const auto count = static_cast<std::size_t>(natural(1));
    if (count > 8) complain("a whole number of " + std::to_string(count) + " bytes", "numbers of 64 bits");
    std::uint64_t bits = natural(count);
    if (count > 0 && count < 8 && bits >> (8 * count - 1)) bits |= ~std::uint64_t{0} << 8 * count;
    push({Kind::Int, static_cast<std::int64_t>(bits)});
  }
  void real() {
    std::uint64_t bits = 0;
    for (const std::byte byte : take(8)) bits = bits << 8 | static_cast<std::uint8_t>(byte);
    push({Kind::Float, static_cast<std::int64_t>(bits)});
  }

  void remember(std::uint64_t key) {
    const Value top = pop();
    memo_[key] = top;
    push(top);
  }
  void recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) complain("value " + std::to_string(key) + " before it is stored");
    push(found->second);
  }

  /// The opcodes by Python's names: see its pickletools.
  void step(std::uint8_t code) {
    switch (code) {
      case 0x80:  // PROTO
        if (const std::uint64_t version = natural(1); version < 2 || version > 4)
          complain("a pickle of protocol " + std::to_string(version), "protocols 2 to 4");
        return;
      case 0x95: natural(8); return;                                   // FRAME
      case '(': marks_.push_back(stack_.size()); return;               // MARK
      case '}': push(p_.list_value(Kind::Dict, {})); return;           // EMPTY_DICT
      case ']': push(p_.list_value(Kind::List, {})); return;           // EMPTY_LIST
      case ')': push(p_.list_value(Kind::Tuple, {})); return;          // EMPTY_TUPLE
      case 't': push(p_.list_value(Kind::Tuple, pop_to_mark())); return;  // TUPLE
      case 0x85:
      case 0x86:
      case 0x87: push(p_.list_value(Kind::Tuple, pop_some(code - 0x84u))); return;  // TUPLE1, 2, 3
      case 'J': push({Kind::Int, static_cast<std::int32_t>(natural(4))}); return;   // BININT
      case 'K': push({Kind::Int, static_cast<std::int64_t>(natural(1))}); return;   // BININT1
      case 'M': push({Kind::Int, static_cast<std::int64_t>(natural(2))}); return;   // BININT2
      case 0x8a: long1(); return;                                                   // LONG1
      case 'G': real(); return;                                                     // BINFLOAT
      case 'X': push(p_.text_value(Kind::Text, chars(natural(4)))); return;         // BINUNICODE
      case 'U':                                                                     // SHORT_BINSTRING
      case 0x8c: push(p_.text_value(Kind::Text, chars(natural(1)))); return;        // SHORT_BINUNICODE
      case 'N': push({Kind::None, 0}); return;                                      // NONE
      case 0x88: push({Kind::Bool, 1}); return;                                     // NEWTRUE
      case 0x89: push({Kind::Bool, 0}); return;                                     // NEWFALSE
      case 'q': remember(natural(1)); return;                                       // BINPUT
      case 'r': remember(natural(4)); return;                                       // LONG_BINPUT
      case 'h': recall(natural(1)); return;                                         // BINGET
      case 'j': recall(natural(4)); return;                                         // LONG_BINGET
      case 0x94: remember(memo_.size()); return;                                    // MEMOIZE
      case 'c': {                                                                   // GLOBAL
        const std::string_view module = line();
        global(module, line());
        return;
      }
      case 0x93: {  // STACK_GLOBAL
        const std::string name(p_.text(pop(Kind::Text, "a name"))), module(p_.text(pop(Kind::Text, "a module")));
        global(module, name);
        return;
      }
      case 'Q': push(p_.list_value(Kind::Persistent, pop_some(1))); return;  // BINPERSID
      case 'R': reduce(); return;                                            // REDUCE
      case 'b':  // BUILD: attributes of an OrderedDict, such as the versions of a state dict's modules
        pop();
        push(pop(Kind::Dict, "a dict"));
        return;
      case 's': extend(Kind::Dict, pop_some(2)); return;      // SETITEM
      case 'u': extend(Kind::Dict, pop_to_mark()); return;    // SETITEMS
      case 'a': extend(Kind::List, pop_some(1)); return;      // APPEND
      case 'e': extend(Kind::List, pop_to_mark()); return;    // APPENDS
      default: complain("the opcode " + hexadecimal(code) + " at byte " + std::to_string(at_ - 1));
    }
  }

  Pickle& p_;
  std::span<const std::byte> bytes_;
  std::size_t& at_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint64_t, Value> memo_;
  std::size_t copied_ = 0;  // items
};

Pickle::Value Pickle::read(std::span<const std::byte> bytes, std::size_t& at) { return Machine(*this, bytes, at).run(); }

}  // namespace tegula::io

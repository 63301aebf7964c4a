// Hints and inline assembly.

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/tile/language/shapes.h"
#include "tegula/tile/language/words.h"

namespace tegula::tile {
namespace {

[[noreturn]] void refuse(const char* word, std::string got, std::string expected, const Line& where, std::string advice = {}) {
  throw Error({.op = word, .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where});
}

/// Where the kernel runs at once.
language::Machine* machine_of(const Line& where) { return language::Trace::current(where).machine(); }

void expect_at_once(const char* word, const Tile& holds, const std::string& expected, const Line& where) {
  if (language::Machine* const machine = machine_of(where); machine && machine->integer(holds.get(where).value) == 0)
    refuse(word, "a value of which that does not hold", expected, where);
}

/// All of a tile of conditions, as a scalar.
Tile all_hold(TileArg conditions) {
  const language::Within line(conditions.where);
  return all(reshape(conditions, {numel(conditions.content.value.shape())}), 0);
}

/// Number of each element along the last axis.
Tile along_last(const Shape& shape, const Line& where) {
  Shape last = Dims::filled(shape.rank(), 1);
  last[shape.rank() - 1] = shape.back();
  return reshape(arange(0, shape.back(), where), last);
}

Tile with_hint(const char* word, const TileArg& x, HintKind kind, std::int64_t n) {
  x.builder();
  if (n < 1) refuse(word, "the number " + std::to_string(n), "at least 1", x.where);
  const language::Content content = x.alone();
  const bool integers = content.value.type().pointer || is_integer(content.dtype);
  if (!integers) refuse(word, to_string(content.value.type()), "integers or pointers", x.where);
  const Shape shape = content.value.shape();
  const language::Within line(x.where);
  const bool checks = machine_of(x.where) != nullptr && !content.value.type().pointer;
  if (checks && kind == HintKind::MultipleOf && shape.empty())
    expect_at_once(word, language::said(content, x.where) % n == 0, "a multiple of " + std::to_string(n), x.where);
  if (checks && kind == HintKind::MultipleOf && !shape.empty()) {
    const Tile first = gather(reshape(x, {numel(shape)}), arange(0, 1), 0);
    expect_at_once(word, reshape(first % n == 0, {}), "a multiple of " + std::to_string(n) + " to begin with", x.where);
  }
  if (checks && kind != HintKind::MultipleOf && !shape.empty()) {
    const Tile place = along_last(shape, x.where), begins = gather(x, broadcast_to(place / n * n, shape), -1);
    const bool counts = kind == HintKind::Contiguous;
    expect_at_once(word, all_hold(language::said(content, x.where) - begins == (counts ? place % n : place * 0)),
                   std::to_string(n) + (counts ? " elements that count up by 1" : " equal elements") + " from each multiple of it on",
                   x.where);
  }
  return language::said({hint(content.value, kind, n), content.dtype}, x.where);
}

}  // namespace

Tile multiple_of(TileArg x, std::int64_t n) { return with_hint("multiple_of", x, HintKind::MultipleOf, n); }
Tile max_contiguous(TileArg x, std::int64_t n) { return with_hint("max_contiguous", x, HintKind::Contiguous, n); }
Tile max_constancy(TileArg x, std::int64_t n) { return with_hint("max_constancy", x, HintKind::Constant, n); }

void assume(TileArg condition) {
  Builder& b = condition.builder();
  const language::Content content = condition.is_number() ? condition.as(boolean) : condition.content;
  if (content.value.type() != Type{boolean, false, {}})
    refuse("assume", "a condition of type " + to_string(content.value.type()), "a bool scalar", condition.where);
  expect_at_once("assume", language::said(content, condition.where), "what the kernel assumes", condition.where);
  b.assume(content.value);
}

namespace {

constexpr const char* kAssembly = "inline_asm_elementwise";

/// PTX with its operands, of which each is one lane of a tile, or a register in which several lie together.
class Assembly {
 public:
  Assembly(const std::string& text, const std::string& constraints, std::vector<DType> operands, std::vector<DType> results, int pack,
           const Line& where)
      : text_(text),
        pack_(pack),
        operands_(std::move(operands)),
        results_(std::move(results)),
        where_(where),
        letters_(1) {
    for (const char letter : constraints)
      if (letter == ',') letters_.emplace_back();
      else if (letter != ' ') letters_.back() += letter;
    check(constraints);
  }

  bool is_plain() const { return pack_ == 1 && results_.size() == 1; }

  /// The text that gives one lane of one result, from all lanes of all operands.
  std::string of(std::size_t result, int lane) const {
    std::string all = "{";
    std::size_t number = 0, wanted = 0;
    for (std::size_t k = 0; k < results_.size(); ++k) {
      if (k == result) wanted = number;
      for (int i = 0; i < registers(results_[k]); ++i, ++number) all += declared(number);
    }
    for (std::size_t k = 0; k < operands_.size(); ++k)
      for (int i = 0; i < registers(operands_[k]); ++i, ++number) all += declared(number) + filled(number, k, i);
    return all + " " + with_names() + (text_.ends_with(";") || text_.ends_with("}") ? "" : ";") + taken(wanted, results_[result], lane) +
           " }";
  }
  /// The constraints of that text.
  std::string constraints_of(std::size_t result) const {
    std::string all = "=" + std::string(1, lane_letter(results_[result]));
    for (const DType operand : operands_)
      for (int i = 0; i < pack_; ++i) all += std::string(",") + lane_letter(operand);
    return all;
  }

 private:
  static int lanes_of(DType dtype) { return size_of(dtype) >= 4 ? 1 : 4 / static_cast<int>(size_of(dtype)); }
  int registers(DType dtype) const { return pack_ / lanes_of(dtype); }
  static char letter_of(DType of) { return of == f32 ? 'f' : of == f64 ? 'd' : size_of(of) == 8 ? 'l' : 'r'; }
  static char lane_letter(DType of) { return letter_of(compute_type(of)); }

  void check(const std::string& constraints) const {
    std::size_t count = 0;
    for (const auto* list : {&results_, &operands_}) {
      for (const DType dtype : *list) {
        if (pack_ < 1 || pack_ % lanes_of(dtype) != 0 || dtype == boolean)
          refuse(kAssembly, "elements of " + std::string(name(dtype)) + ", " + std::to_string(pack_) + " at a time",
                 "f32, f64, i32, u32, i64 or u64, or a pack of " + std::to_string(std::max(lanes_of(dtype), 2)), where_, "cast them");
        count += static_cast<std::size_t>(registers(dtype));
      }
    }
    bool fits = letters_.size() == count;
    std::size_t number = 0;
    for (const auto* list : {&results_, &operands_})
      for (const DType dtype : *list)
        for (int i = 0; fits && i < registers(dtype); ++i, ++number)
          fits = letters_[number] == (list == &results_ ? "=" : "") + std::string(1, letter_of(dtype));
    if (!fits) {
      refuse(kAssembly,
             "the constraints \"" + constraints + "\" for " +
                 (results_.size() == 1 ? "one result" : std::to_string(results_.size()) + " results") + " and " +
                 std::to_string(operands_.size()) + " operands" + (pack_ > 1 ? ", " + std::to_string(pack_) + " elements at a time" : ""),
             expected(), where_, "r for i32, u32 and what is packed, l for i64 and u64, f for f32, d for f64");
    }
  }
  std::string expected() const {
    std::string all;
    for (const auto* list : {&results_, &operands_})
      for (const DType dtype : *list)
        for (int i = 0; i < registers(dtype); ++i)
          all += (all.empty() ? "" : ",") + std::string(list == &results_ ? "=" : "") + letter_of(dtype);
    return "\"" + all + "\"";
  }

  static std::string name_of(std::size_t number) { return "tegula" + std::to_string(number); }
  std::string declared(std::size_t number) const {
    const char letter = letters_[number].back();
    const char* const type = letter == 'r' ? ".b32 " : letter == 'f' ? ".f32 " : letter == 'l' ? ".b64 " : ".f64 ";
    return std::string(" .reg ") + type + name_of(number) + ";";
  }
  /// The user's text, with the names of registers.
  std::string with_names() const {
    std::string out;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != '$') out += text_[i];
      else if (i + 1 < text_.size() && text_[i + 1] == '$') out += "$$", ++i;
      else {
        std::size_t number = 0;
        for (; i + 1 < text_.size() && text_[i + 1] >= '0' && text_[i + 1] <= '9'; ++i)
          number = number * 10 + static_cast<std::size_t>(text_[i + 1] - '0');
        out += name_of(number);
      }
    }
    return out;
  }
  /// Puts the lanes of a register of operand k together.
  std::string filled(std::size_t number, std::size_t k, int part) const {
    const DType dtype = operands_[k];
    const int lanes = lanes_of(dtype);
    const auto lane = [&](int i) { return "$" + std::to_string(1 + static_cast<int>(k) * pack_ + part * lanes + i); };
    const std::string to = name_of(number), half = to + "h";
    const auto inserted = [&](int bits) {
      std::string all = " and.b32 " + to + ", " + lane(0) + ", " + std::to_string((1 << bits) - 1) + ";";
      for (int i = 1; i < lanes; ++i)
        all += " bfi.b32 " + to + ", " + lane(i) + ", " + to + ", " + std::to_string(bits * i) + ", " + std::to_string(bits) + ";";
      return all;
    };
    const auto pairs = [&](const std::string& of) {  // of floats of 8 bits
      return " .reg .b16 " + half + "0, " + half + "1; cvt.rn.satfinite." + of + "x2.f32 " + half + "0, " + lane(1) + ", " + lane(0) +
             "; cvt.rn.satfinite." + of + "x2.f32 " + half + "1, " + lane(3) + ", " + lane(2) + "; mov.b32 " + to + ", {" + half + "0, " +
             half + "1};";
    };
    switch (dtype) {
      case f16: return " cvt.rn.f16x2.f32 " + to + ", " + lane(1) + ", " + lane(0) + ";";
      case bf16: return " cvt.rn.bf16x2.f32 " + to + ", " + lane(1) + ", " + lane(0) + ";";
      case e4m3: return pairs("e4m3");
      case e5m2: return pairs("e5m2");
      default: return size_of(dtype) == 1 ? inserted(8) : size_of(dtype) == 2 ? inserted(16) : moved(dtype, to, lane(0));
    }
  }
  static std::string moved(DType dtype, const std::string& to, const std::string& from) {
    return std::string(" mov.") +
           (dtype == f32          ? "f32 "
            : dtype == f64        ? "f64 "
            : size_of(dtype) == 8 ? "b64 "
                                  : "b32 ") +
           to + ", " + from + ";";
  }
  /// $0 from a lane of a result whose registers begin at `first`.
  static std::string taken(std::size_t first, DType dtype, int lane) {
    const int lanes = lanes_of(dtype), within = lane % lanes;
    const std::string from = name_of(first + static_cast<std::size_t>(lane / lanes)), part = std::to_string(within % 2);
    const auto halves = [](const std::string& of) { return " .reg .b16 tegulah0, tegulah1; mov.b32 {tegulah0, tegulah1}, " + of + ";"; };
    const std::string one = "tegulah" + part;
    const auto extracted = [&] {
      return std::string(" bfe.") + (is_unsigned(dtype) ? "u32" : "s32") + " $0, " + from + ", " +
             std::to_string(within * 8 * static_cast<int>(size_of(dtype))) + ", " + std::to_string(8 * size_of(dtype)) + ";";
    };
    const auto of_pair = [&](const std::string& of) {
      return " .reg .b16 tegulap0, tegulap1; .reg .b32 tegulaw; mov.b32 {tegulap0, tegulap1}, " + from + "; cvt.rn.f16x2." + of +
             "x2 tegulaw, tegulap" + std::to_string(within / 2) + ";" + halves("tegulaw") + " cvt.f32.f16 $0, " + one + ";";
    };
    switch (dtype) {
      case f16: return halves(from) + " cvt.f32.f16 $0, " + one + ";";
      case bf16:
        return " .reg .b32 tegulaw; " +
               (within == 0 ? "shl.b32 tegulaw, " + from + ", 16;" : "and.b32 tegulaw, " + from + ", 0xffff0000;") +
               " mov.b32 $0, tegulaw;";
      case e4m3: return of_pair("e4m3");
      case e5m2: return of_pair("e5m2");
      default: return size_of(dtype) < 4 ? extracted() : moved(dtype, "$0", from);
    }
  }

  std::string text_;
  int pack_;
  std::vector<DType> operands_, results_;
  Line where_;
  std::vector<std::string> letters_;
};

/// Lane i of x: every `pack`-th element along the last axis, from the i-th on.
Tile lane_of(const Tile& x, int pack, int i) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] /= pack;
  Shape lanes = shape;
  lanes.push_back(pack);
  return reshape(slice(reshape(x, lanes), -1, i, 1), shape);
}

/// The fallback for one lane of one result.
decltype(Text::fallback) fallback_of(const AssemblyFallbacks& fallback, const std::vector<DType>& operands, std::size_t result, DType dtype,
                                     int pack, int lane) {
  if (!fallback) return {};
  return [=](std::span<const Text::Element> given) {
    std::vector<double> numbers;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Text::Element& one = given[k * static_cast<std::size_t>(pack) + static_cast<std::size_t>(lane)];
      numbers.push_back(is_float(operands[k]) ? one.real
                        : operands[k] == u64  ? static_cast<double>(static_cast<std::uint64_t>(one.integer))
                                              : static_cast<double>(one.integer));
    }
    const double number = fallback(numbers).at(result);
    const std::int64_t whole = dtype == u64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(number))
                                            : static_cast<std::int64_t>(is_float(dtype) ? 0 : number);
    return Text::Element{is_float(dtype) ? number : 0, whole};
  };
}

}  // namespace

std::vector<Tile> inline_asm_of(const std::string& text, const std::string& constraints, const std::vector<Tile>& operands,
                                const std::vector<DType>& dtypes, const AssemblyFallbacks& fallback, int pack, Line where) {
  const language::Within line(where);
  std::vector<DType> of_operands;
  Shape shape;
  for (const Tile& operand : operands) {
    const language::Content content = operand.get(where);
    const auto common = broadcast(shape, content.value.shape());
    if (content.value.type().pointer || !common)
      refuse(kAssembly, "the operand " + to_string(content.value.type()), "numbers in tiles that broadcast", where);
    of_operands.push_back(content.dtype);
    shape = *common;
  }
  const Assembly assembly(text, constraints, of_operands, dtypes, pack, where);
  if (pack > 1 && (shape.empty() || shape.back() % pack != 0))
    refuse(kAssembly, "tiles of " + to_string(shape), "a multiple of " + std::to_string(pack) + " elements along the last axis", where);

  std::vector<Value> lanes;
  for (const Tile& operand : operands)
    for (int i = 0; i < pack; ++i) lanes.push_back((pack == 1 ? operand : lane_of(broadcast_to(operand, shape), pack, i)).get(where).value);
  Builder& b = language::Trace::current(where).builder(where);
  const auto said_lane = [&](std::size_t k, int i) {
    const DType dtype = dtypes[k];
    Text one{.text = assembly.is_plain() ? text : assembly.of(k, i),
             .constraints = assembly.is_plain() ? constraints : assembly.constraints_of(k),
             .fallback = fallback_of(fallback, of_operands, k, dtype, pack, i)};
    const Value number = b.inline_asm(std::move(one), lanes, compute_type(dtype));
    return language::said({is_compute_type(dtype) ? number : narrow(number, dtype), dtype}, where);
  };
  std::vector<Tile> results;
  for (std::size_t k = 0; k < dtypes.size(); ++k) {
    Tile all = said_lane(k, 0);
    for (int i = 1; i < pack; ++i) all = cat(i == 1 ? expand_dims(all, -1) : all, expand_dims(said_lane(k, i), -1), -1);
    results.push_back(pack == 1 ? all : reshape(all, shape));
  }
  return results;
}

}  // namespace tegula::tile

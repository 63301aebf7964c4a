// Hints and inline assembly.

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

Tile inline_asm_of(std::string text, std::string constraints, const std::vector<Tile>& operands, DType dtype, AssemblyFallback fallback,
                   Line where) {
  constexpr const char* kWord = "inline_asm_elementwise";
  std::vector<std::string> kinds(1);
  for (const char letter : constraints)
    if (letter == ',') kinds.emplace_back();
    else if (letter != ' ') kinds.back() += letter;
  const auto letter_of = [](DType of) { return of == f32 ? "f" : of == f64 ? "d" : size_of(of) == 8 ? "l" : "r"; };
  if (!is_compute_type(dtype) || dtype == boolean)
    refuse(kWord, "a result of " + std::string(name(dtype)), "f32, f64, i32, u32, i64 or u64", where, "cast what it gives");
  if (kinds.size() != operands.size() + 1 || kinds[0] != std::string("=") + letter_of(dtype))
    refuse(kWord, "the constraints \"" + constraints + "\" for one result and " + std::to_string(operands.size()) + " operands",
           std::string("=") + letter_of(dtype) + " and one letter for each operand", where, "one result, and one element at a time");
  std::vector<Value> values;
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const language::Content content = operands[i].get(where);
    if (content.value.type().pointer || !is_compute_type(content.dtype) || content.dtype == boolean ||
        kinds[i + 1] != letter_of(content.dtype))
      refuse(kWord, "the operand " + to_string(content.value.type()) + " for \"" + kinds[i + 1] + "\"",
             "r for i32 and u32, l for i64 and u64, f for f32, d for f64", where, "cast it");
    values.push_back(content.value);
    dtypes.push_back(content.dtype);
  }
  Text all{.text = std::move(text), .constraints = std::move(constraints), .fallback = {}};
  if (fallback) {
    all.fallback = [fallback = std::move(fallback), dtypes, dtype](std::span<const Text::Element> given) {
      std::vector<double> numbers;
      for (std::size_t i = 0; i < given.size(); ++i)
        numbers.push_back(is_float(dtypes[i]) ? given[i].real
                          : dtypes[i] == u64  ? static_cast<double>(static_cast<std::uint64_t>(given[i].integer))
                                              : static_cast<double>(given[i].integer));
      const double result = fallback(numbers);
      const std::int64_t whole = dtype == u64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(result))
                                              : static_cast<std::int64_t>(is_float(dtype) ? 0 : result);
      return Text::Element{is_float(dtype) ? result : 0, whole};
    };
  }
  language::Trace& trace = language::Trace::current(where);
  return language::said({trace.builder(where).inline_asm(std::move(all), std::move(values), dtype), dtype}, where);
}

}  // namespace tegula::tile

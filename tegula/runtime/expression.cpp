#include "tegula/runtime/expression.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "tegula/core/text.h"
#include "tegula/tile/builder.h"
#include "tegula/tile/formulas.h"

namespace tegula::runtime {
namespace {

using Source = Expression::Source;
using Values = std::vector<Expression::Value>;

bool is_read(Source source) { return source == Source::Channel || source == Source::Tensor || source == Source::Number; }

/// The number of operands of a word in an expression; 0 for words that it cannot have.
std::size_t arity(const tile::Instruction& instruction) {
  using tile::Word;
  const Word word = instruction.word;
  const bool converts = word == Word::Cast || word == Word::Narrow || word == Word::Bitcast || word == Word::Hint;
  return tile::is_elementwise(word) && !converts && instruction.operands.size() <= 3 ? instruction.operands.size() : 0;
}

/// The values from `first` on, as an expression whose result is value `sum`; nothing if they use other values before `first`.
std::optional<Expression> rest_of(const Values& values, int sum, int first) {
  Expression out;
  if (first == static_cast<int>(values.size())) return out;
  out.values.push_back({.source = Source::Result});
  for (auto value = values.begin() + first; value != values.end(); ++value) {
    out.values.push_back(*value);
    for (std::int32_t& operand : out.values.back().operands) {
      if (operand < 0) continue;
      if (operand != sum && operand < first) return std::nullopt;
      operand = operand == sum ? 0 : operand - first + 1;
    }
  }
  return out;
}

void append(Values& to, int sum, const Expression& rest) {
  const int shift = static_cast<int>(to.size()) - 1;
  for (std::size_t i = 1; i < rest.values.size(); ++i) {
    to.push_back(rest.values[i]);
    for (std::int32_t& operand : to.back().operands)
      if (operand >= 0) operand = operand == 0 ? sum : operand + shift;
  }
}

/// True if value `at` is `word` of these two, in either order.
bool joins(const Expression::Value& value, tile::Word word, int a, int b) {
  const auto& [x, y, z] = value.operands;
  return value.source == Source::Word && value.word == word && z < 0 && ((x == a && y == b) || (x == b && y == a));
}

/// One for f32 (and halves), one for f64.
struct Known {
  Expression narrow, wide;
  Known(bool reads_tensor, const Formula& formula)
      : narrow(made(reads_tensor, formula, DType::f32)),
        wide(made(reads_tensor, formula, DType::f64)) {}
  const Expression& of(DType dtype) const { return dtype == DType::f64 ? wide : narrow; }
  static Expression made(bool reads_tensor, const Formula& formula, DType dtype) {
    Expression out{{{.source = Source::Result}}};
    std::vector<int> operands;
    if (reads_tensor) operands.push_back(out.read(Source::Tensor));
    operands.push_back(0);
    append(out, operands, dtype, formula);
    return out;
  }
};

}  // namespace

int Expression::read(Source source) {
  if (values.empty()) values.push_back({.source = Source::Result});
  values.push_back({.source = source});
  return static_cast<int>(values.size()) - 1;
}

std::vector<Source> Expression::reads() const {
  std::vector<Source> out;
  for (const Value& value : values)
    if (is_read(value.source)) out.push_back(value.source);
  return out;
}

std::string to_string(const Expression& expression) {
  constexpr const char* kNames[] = {"", "", "", "channel", "tensor", "number"};
  std::string text;
  for (const Expression::Value& value : expression.values) {
    if (value.source != Source::Word) continue;
    text += (text.empty() ? " " : ", ") + std::string(tile::name(value.word));
    for (const std::int32_t operand : value.operands) {
      const Expression::Value* const read = operand < 0 ? nullptr : &expression.values[static_cast<std::size_t>(operand)];
      if (read && read->source == Source::Constant) text += " " + number_text(read->constant);
      else if (read && is_read(read->source)) text += std::string(" ") + kNames[static_cast<int>(read->source)];
    }
  }
  return text;
}

bool append(Expression& to, std::span<const int> operands, DType dtype, const Formula& formula) {
  const DType type = tile::compute_type(dtype);
  tile::Builder builder("epilogue");
  std::vector<tile::Value> x;
  for (std::size_t k = 0; k < operands.size(); ++k) x.push_back(builder.scalar("x" + std::to_string(k), type));
  const tile::Id result = formula(builder, x).id();
  const auto& instructions = builder.program().instructions;
  std::vector<bool> needed(instructions.size());
  needed[static_cast<std::size_t>(result)] = true;
  for (std::size_t id = instructions.size(); id-- > 0;)
    for (const tile::Id operand : needed[id] ? std::span(instructions[id].operands) : std::span<const tile::Id>())
      needed[static_cast<std::size_t>(operand)] = true;
  std::vector<int> at(instructions.size(), -1);
  for (std::size_t k = 0; k < operands.size(); ++k) at[static_cast<std::size_t>(x[k].id())] = operands[k];
  Values values = to.values;
  for (std::size_t id = 0; id < instructions.size(); ++id) {
    if (!needed[id] || at[id] >= 0) continue;
    const tile::Instruction& instruction = instructions[id];
    if (instruction.type.dtype != type && instruction.type.dtype != DType::boolean) return false;
    Expression::Value value;
    if (instruction.word == tile::Word::Constant) {
      if (!is_float(instruction.type.dtype) || !std::isfinite(instruction.real)) return false;
      value.source = Source::Constant, value.constant = instruction.real;
    } else if (arity(instruction) > 0) {
      value.word = instruction.word;
      for (std::size_t k = 0; k < instruction.operands.size(); ++k)
        value.operands[k] = at[static_cast<std::size_t>(instruction.operands[k])];
    } else {
      return false;
    }
    at[id] = static_cast<int>(values.size());
    values.push_back(value);
  }
  if (at[static_cast<std::size_t>(result)] != static_cast<int>(values.size()) - 1 ||
      instructions[static_cast<std::size_t>(result)].type.dtype != type)
    return false;
  to.values = std::move(values);
  return true;
}

Sums sums_of(const Expression& expression) {
  const Values& values = expression.values;
  Sums out;
  int sum = 0, first = values.empty() ? 0 : 1;
  const auto takes = [&](Source source) {
    const int size = static_cast<int>(values.size());
    if (first + 1 >= size || values[static_cast<std::size_t>(first)].source != source) return false;
    if (!joins(values[static_cast<std::size_t>(first) + 1], tile::Word::Add, sum, first)) return false;
    if (!rest_of(values, first + 1, first + 2)) return false;
    sum = first + 1, first += 2;
    return true;
  };
  out.channel = takes(Source::Channel);
  out.tensor = takes(Source::Tensor);
  out.rest = rest_of(values, sum, first).value_or(expression);
  return out;
}

Expression expression_of(const Sums& sums) {
  Expression out;
  int sum = 0;
  const auto add = [&](Source source) {
    const int read = out.read(source);
    out.values.push_back({.word = tile::Word::Add, .operands = {sum, read, -1}});
    sum = read + 1;
  };
  if (sums.channel) add(Source::Channel);
  if (sums.tensor) add(Source::Tensor);
  if (out.values.empty()) return sums.rest;
  append(out.values, sum, sums.rest);
  return out;
}

bool are_limits(const Expression& expression, DType dtype, Limits& out) {
  const Values& values = expression.values;
  const Values& begin = relu(dtype).values;
  int value = 0;
  if (values.size() >= begin.size() && std::equal(begin.begin(), begin.end(), values.begin())) {
    value = static_cast<int>(begin.size()) - 1;
    out.relu = true;
  }
  std::vector<int> numbers;
  for (int i = value + 1; i < static_cast<int>(values.size()); ++i) {
    const Expression::Value& next = values[static_cast<std::size_t>(i)];
    if (next.source == Source::Number) {
      numbers.push_back(i);
      continue;
    }
    const bool limits = next.word == tile::Word::Max || next.word == tile::Word::Min;
    if (!limits || out.words.size() == numbers.size() || !joins(next, next.word, value, numbers[out.words.size()])) return false;
    out.words.push_back(next.word);
    value = i;
  }
  return out.words.size() == numbers.size();
}

const Expression& relu(DType dtype) {
  static const Known known(false, [](tile::Builder&, std::span<const tile::Value> x) { return formula::known::relu(x[0]); });
  return known.of(dtype);
}
const Expression& gelu(DType dtype) {
  static const Known known(false, [](tile::Builder&, std::span<const tile::Value> x) { return formula::known::gelu(x[0]); });
  return known.of(dtype);
}
const Expression& gelu_tanh(DType dtype) {
  static const Known known(false, [](tile::Builder&, std::span<const tile::Value> x) { return formula::known::gelu_tanh(x[0]); });
  return known.of(dtype);
}
const Expression& sigmoid(DType dtype) {
  static const Known known(false, [](tile::Builder&, std::span<const tile::Value> x) { return unary(tile::Word::Sigmoid, x[0]); });
  return known.of(dtype);
}
const Expression& tanh(DType dtype) {
  static const Known known(false, [](tile::Builder&, std::span<const tile::Value> x) { return unary(tile::Word::Tanh, x[0]); });
  return known.of(dtype);
}
const Expression& gelu_tanh_gradient(DType dtype) {
  static const Known known(true,
                           [](tile::Builder&, std::span<const tile::Value> x) { return x[1] * formula::known::gelu_tanh_slope(x[0]); });
  return known.of(dtype);
}

bool is_activation(const Expression& expression, DType dtype) {
  return std::ranges::any_of(std::array{&relu, &gelu, &gelu_tanh, &sigmoid, &tanh},
                             [&](const auto& known) { return expression == (*known)(dtype); });
}

}  // namespace tegula::runtime

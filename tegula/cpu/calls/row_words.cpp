#include "tegula/cpu/calls/row_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "tegula/core/error.h"
#include "tegula/cpu/simd/vector.h"

namespace tegula::host {
namespace {

using ValueSource = runtime::Expression::Source;

bool is_boolean(tile::Word word) {
  using tile::Word;
  return (word >= Word::Eq && word <= Word::Ge) || word == Word::IsNan || word == Word::IsInf || word == Word::Not || word == Word::And ||
         word == Word::Or;
}

bool compares(tile::Word word) { return word >= tile::Word::Eq && word <= tile::Word::Ge; }

using Values = std::vector<runtime::Expression::Value>;

bool is_word(const Values& values, std::int32_t at, bool (*what)(tile::Word)) {
  return at >= 0 && values[static_cast<std::size_t>(at)].source == ValueSource::Word && what(values[static_cast<std::size_t>(at)].word);
}

/// Per value: the select that alone reads this comparison of floats, and does its work; -1 for all others.
std::vector<int> selects_of(const Values& values) {
  std::vector<int> readers(values.size()), out(values.size(), -1);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const std::int32_t operand : values[i].operands)
      if (operand >= 0 && static_cast<std::size_t>(operand) < i)
        ++readers[static_cast<std::size_t>(operand)], out[static_cast<std::size_t>(operand)] = static_cast<int>(i);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [a, b, none] = values[i].operands;
    const bool floats = a >= 0 && b >= 0 && none < 0 && !is_word(values, a, is_boolean) && !is_word(values, b, is_boolean);
    const bool fits = floats && readers[i] == 1 && is_word(values, static_cast<std::int32_t>(i), compares) &&
                      is_word(values, out[i], [](tile::Word word) { return word == tile::Word::Select; });
    if (!fits || values[static_cast<std::size_t>(out[i])].operands[0] != static_cast<std::int32_t>(i) ||
        values[static_cast<std::size_t>(out[i])].operands[2] < 0)
      out[i] = -1;
  }
  return out;
}

[[noreturn]] void refuse(const std::string& got) {
  throw Error({.op = "epilogue", .got = got, .expected = "words that the CPU computes with floats"});
}

}  // namespace

RowWords::RowWords(const runtime::Expression& expression, DType dtype) : element_(static_cast<std::int64_t>(size_of(dtype))) {
  const auto& values = expression.values;
  if (values.size() > kMostValues) refuse(std::to_string(values.size()) + " values");
  slots_.resize(kFirst + values.size());
  constants_.resize(values.size());
  slots_[kRows].integer = 1;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const std::int32_t operand : values[i].operands)
      if (operand >= static_cast<std::int32_t>(i)) refuse("a value before it is there");
  std::vector<bool> varies(values.size(), true), boolean(values.size());
  const std::vector<int> selects = selects_of(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const runtime::Expression::Value& value = values[i];
    const auto own = static_cast<std::int32_t>(kFirst + i);
    switch (value.source) {
      case ValueSource::Result: break;
      case ValueSource::Constant:
        if (dtype == DType::f64) constants_[i].f64 = value.constant;
        else constants_[i].f32 = static_cast<float>(value.constant);
        varies[i] = false;
        break;
      case ValueSource::Channel:
      case ValueSource::Tensor: reads_.push_back({own, true}); break;
      case ValueSource::Number: reads_.push_back({own, false}), varies[i] = false; break;
      case ValueSource::Word: {
        boolean[i] = is_boolean(value.word);
        if (selects[i] >= 0) break;
        std::vector<std::int32_t> operands(value.operands.begin(), std::ranges::find(value.operands, -1));
        int word = static_cast<int>(value.word);
        const auto condition = static_cast<std::size_t>(operands.empty() ? 0 : operands[0]);
        if (selects[condition] == static_cast<int>(i)) {
          const runtime::Expression::Value& comparison = values[condition];
          const bool turned = comparison.word == tile::Word::Gt || comparison.word == tile::Word::Ge;
          operands = {comparison.operands[turned ? 1 : 0], comparison.operands[turned ? 0 : 1], operands[1], operands[2]};
          word = static_cast<int>(select_by(comparison.word));
        }
        MapStep step;
        step.rows = kRows, step.columns = kColumns, step.out = own;
        unsigned pattern = 0;
        for (std::size_t k = 0; k < operands.size(); ++k) {
          const auto operand = static_cast<std::size_t>(operands[k]);
          step.in[k] = static_cast<std::int32_t>(kFirst + operand);
          step.advances[k] = varies[operand] ? 1 : 0;
          pattern |= static_cast<unsigned>(step.advances[k]) << k;
        }
        const DType to = boolean[i] ? DType::boolean : dtype;
        const bool of_booleans = !operands.empty() && boolean[static_cast<std::size_t>(operands.back())];
        const MapTable* const table = operands.empty() || pattern == 0 ? nullptr : find_map(word, of_booleans ? DType::boolean : dtype, to);
        if (!table) refuse("the word " + std::string(tile::name(value.word)));
        step.run = table->run[pattern];
        steps_.push_back(step);
      }
    }
  }
}

bool RowWords::has(const runtime::Expression& expression, DType dtype) {
  try {
    const RowWords words(expression, dtype);
    return true;
  } catch (const Error&) { return false; }
}

RowWords::Space::Space(const RowWords& words) : words_(words) {
  frame_.slots = slots_.data();
  std::ranges::copy(words.slots_, slots_.begin());
  for (std::size_t i = 0; i < words.constants_.size(); ++i)
    slots_[kFirst + i].pointer = reinterpret_cast<std::byte*>(const_cast<Slot*>(&words.constants_[i]));
  for (const MapStep& step : words.steps_)
    slots_[static_cast<std::size_t>(step.out)].pointer = values_.data() + (step.out - kFirst) * kStripBytes;
}

void RowWords::Space::run(const void* row, void* out, std::int64_t count, std::span<const void* const> reads) {
  const auto at = [](const void* place) { return static_cast<std::byte*>(const_cast<void*>(place)); };
  slots_[kColumns].integer = count;
  slots_[kFirst].pointer = at(row);
  slots_[static_cast<std::size_t>(words_.steps_.back().out)].pointer = at(out);
  for (std::size_t k = 0; k < words_.reads_.size(); ++k) slots_[static_cast<std::size_t>(words_.reads_[k].slot)].pointer = at(reads[k]);
  for (const MapStep& step : words_.steps_) step.run(&step, frame_);
}

void RowWords::run(void* row, std::int64_t count, std::span<const void* const> reads) const {
  if (steps_.empty()) return;
  Space space(*this);
  std::array<const void*, kMostValues> moved;
  for (std::int64_t begin = 0; begin < count; begin += longest()) {
    std::byte* const strip = static_cast<std::byte*>(row) + begin * element_;
    for (std::size_t k = 0; k < reads_.size(); ++k)
      moved[k] = static_cast<const std::byte*>(reads[k]) + (reads_[k].moves ? begin * element_ : 0);
    space.run(strip, strip, std::min(longest(), count - begin), std::span(moved).first(reads_.size()));
  }
}

}  // namespace tegula::host

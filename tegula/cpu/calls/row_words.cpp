#include "tegula/cpu/calls/row_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "tegula/core/error.h"
#include "tegula/cpu/simd/vector.h"

namespace tegula::host {
namespace {

using ValueSource = runtime::Expression::Source;

constexpr std::int64_t kStripBytes = 1024;  // of a value, so that all of them stay in the first-level cache
constexpr std::size_t kMostValues = 32;
constexpr std::int32_t kRows = 0, kColumns = 1, kFirst = 2;  // slots

bool is_boolean(tile::Word word) {
  using tile::Word;
  return (word >= Word::Eq && word <= Word::Ge) || word == Word::IsNan || word == Word::IsInf || word == Word::Not || word == Word::And ||
         word == Word::Or;
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
  std::vector<bool> varies(values.size(), true), boolean(values.size());
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
        MapStep step;
        step.rows = kRows, step.columns = kColumns, step.out = own;
        unsigned pattern = 0;
        std::size_t count = 0;
        for (; count < value.operands.size() && value.operands[count] >= 0; ++count) {
          const auto operand = static_cast<std::size_t>(value.operands[count]);
          if (operand >= i) refuse("a value before it is there");
          step.in[count] = static_cast<std::int32_t>(kFirst + operand);
          step.advances[count] = varies[operand] ? 1 : 0;
          pattern |= static_cast<unsigned>(step.advances[count]) << count;
        }
        boolean[i] = is_boolean(value.word);
        const DType to = boolean[i] ? DType::boolean : dtype;
        const bool of_booleans = count > 0 && boolean[static_cast<std::size_t>(value.operands[count - 1])];
        const MapTable* const table =
            count == 0 || pattern == 0 ? nullptr : find_map(static_cast<int>(value.word), of_booleans ? DType::boolean : dtype, to);
        if (!table) refuse("the word " + std::string(tile::name(value.word)));
        step.run = table->run[pattern];
        steps_.push_back(step);
      }
    }
  }
}

void RowWords::run(void* row, std::int64_t count, std::span<const void* const> reads) const {
  if (steps_.empty()) return;
  alignas(64) std::array<std::byte, kMostValues * kStripBytes> space;
  std::array<Slot, kFirst + kMostValues> slots;
  std::ranges::copy(slots_, slots.begin());
  for (std::size_t i = 0; i < constants_.size(); ++i)
    slots[kFirst + i].pointer = reinterpret_cast<std::byte*>(const_cast<Slot*>(&constants_[i]));
  for (const MapStep& step : steps_) slots[static_cast<std::size_t>(step.out)].pointer = space.data() + (step.out - kFirst) * kStripBytes;
  Frame frame;
  frame.slots = slots.data();
  const std::int64_t longest = kStripBytes / element_;
  for (std::int64_t begin = 0; begin < count; begin += longest) {
    std::byte* const strip = static_cast<std::byte*>(row) + begin * element_;
    slots[kColumns].integer = std::min(longest, count - begin);
    slots[kFirst].pointer = slots[static_cast<std::size_t>(steps_.back().out)].pointer = strip;
    for (std::size_t k = 0; k < reads_.size(); ++k)
      slots[static_cast<std::size_t>(reads_[k].slot)].pointer =
          static_cast<std::byte*>(const_cast<void*>(reads[k])) + (reads_[k].moves ? begin * element_ : 0);
    for (const MapStep& step : steps_) step.run(&step, frame);
  }
}

}  // namespace tegula::host

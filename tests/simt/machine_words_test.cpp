// Every elementwise word and conversion in generated kernels, in every dtype, by the machine beside the reference interpreter.

#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

constexpr std::int64_t kCount = 300;
constexpr DType kComputed[] = {f64, f32, i64, i32, u64, u32, boolean};

bool takes(Word word, DType dtype) {
  // clang-format off: words of a kind on one line
  switch (word) {
    case Word::Neg: case Word::Abs: case Word::Sign: case Word::Add: case Word::Sub: case Word::Mul: case Word::Div: case Word::Rem:
    case Word::Min: case Word::Max: case Word::Lt: case Word::Le: case Word::Gt: case Word::Ge: return dtype != boolean;
    case Word::Not: case Word::And: case Word::Or: case Word::Xor: return !is_float(dtype);
    case Word::Shl: case Word::Shr: return is_integer(dtype);
    case Word::MulHi: case Word::Popcount: return is_integer(dtype);
    case Word::Eq: case Word::Ne: case Word::Select: return true;
    default: return is_float(dtype);
  }
  // clang-format on
}

/// The error in units in the last place; 0 for one correctly rounded operation.
double tolerance(Word word, DType dtype) {
  if (!is_float(dtype)) return 0;
  if (word == Word::Rsqrt) return 2;
  if (word == Word::Digamma) return 64;  // below 0 a difference of larger numbers
  return (word >= Word::Exp && word <= Word::Digamma) || word == Word::Pow || word == Word::Atan2 ? 8 : 0;
}

Value result_of(Word word, const std::vector<Value>& operands) {
  if (word == Word::Select) return select(operands[0], operands[1], operands[2]);
  if (word == Word::Fma) return fma(operands[0], operands[1], operands[2]);
  return operands.size() == 1 ? unary(word, operands[0]) : binary(word, operands[0], operands[1]);
}

/// The kernel in vectors, and element by element where nothing is known of the arguments.
void check(Word word, DType dtype, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(word));
  Builder b("word");
  std::vector<Value> operands;
  std::vector<TestArgument> arguments;
  const Value at = b.arange(0, kCount);
  for (std::size_t i = 0; i < count; ++i) {
    const DType own = word == Word::Select && i == 0 ? boolean : dtype;
    operands.push_back(b.load(b.pointer("p", own, false) + at));
    std::size_t k = i;
    const bool shifts = i == 1 && (word == Word::Shl || word == Word::Shr);
    arguments.push_back(TestArgument::filled(
        own, kCount, [&](std::size_t n) { return shifts ? static_cast<double>(n % 31) : host::test_number(own, k++, random); }));
  }
  const Value result = result_of(word, operands);
  const DType type = result.dtype();
  b.store(b.pointer("out", type, true) + at, result);
  arguments.push_back(TestArgument::empty(type, kCount));
  const Program program = b.finish();
  for (const bool aligned : {true, false})
    EXPECT_TRUE(emulation_agrees(program, arguments, {.tolerance = tolerance(word, type)}, {.aligned = aligned}))
        << name(word) << " of " << name(dtype);
}

TEST(MachineWords, MeanWhatTheInterpreterSays) {
  for (const DType dtype : kComputed) {
    const auto check_all = [&](Word first, Word last, std::size_t count) {
      for (int word = static_cast<int>(first); word <= static_cast<int>(last); ++word)
        if (takes(static_cast<Word>(word), dtype)) check(static_cast<Word>(word), dtype, count);
    };
    check_all(Word::Neg, Word::IsInf, 1);
    check_all(Word::Add, Word::Ge, 2);
    check_all(Word::Select, Word::Fma, 3);
  }
}

TEST(MachineWords, ConvertAsTheInterpreterDoes) {
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      Builder b("convert");
      const Value in = b.pointer("in", from, false), out = b.pointer("out", to, true), at = b.arange(0, kCount);
      b.store(out + at, cast(b.load(in + at), compute_type(to)));
      const bool to_integer =
          is_float(from) && is_integer(to);  // NaN is any number; of narrow ones only those of their range are the same everywhere
      const auto value = [&](std::size_t i) {
        return to_integer || is_unsigned(from) ? static_cast<double>(i % 101) : static_cast<double>(i) * 1.37 - 200;
      };
      EXPECT_TRUE(emulation_agrees(b.finish(), {TestArgument::filled(from, kCount, value), TestArgument::empty(to, kCount)}))
          << name(from) << " to " << name(to);
    }
  }
}

}  // namespace
}  // namespace tegula::gpu

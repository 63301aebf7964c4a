// Every elementwise word, dtype and kind of operand against the interpreter.

#include <algorithm>

#include "tests/support/executor_support.h"

namespace tegula::host {
namespace {

using namespace tegula::tile;

constexpr std::int64_t kRows = 5, kColumns = 77;

enum class Operand { Tile, Scalar, Constant, Row, Column };

bool takes(Word word, DType dtype) {
  const bool number = dtype != boolean;
  // clang-format off: words of a kind on one line
  switch (word) {
    case Word::Neg: case Word::Abs: case Word::Sign: case Word::Add: case Word::Sub: case Word::Mul: case Word::Div: case Word::Rem:
    case Word::Min: case Word::Max: case Word::Lt: case Word::Le: case Word::Gt: case Word::Ge: return number;
    case Word::Not: case Word::And: case Word::Or: case Word::Xor: return !is_float(dtype);
    case Word::Shl: case Word::Shr: return is_integer(dtype);
    case Word::MulHi: case Word::Popcount: return is_integer(dtype);
    case Word::Eq: case Word::Ne: return true;
    default: return is_float(dtype);
  }
  // clang-format on
}

/// The error in units in the last place; 0 for one correctly rounded operation.
double tolerance(Word word) {
  if (word == Word::Rsqrt) return 2;
  if (word == Word::Div) return 1;  // by one number for a row: through its reciprocal
  return word >= Word::Exp && word <= Word::Digamma ? 4 : word == Word::Pow || word == Word::Atan2 ? 4 : 0;
}

Value operand(Builder& b, Operand kind, DType dtype, Value pointer, Value scalar) {
  const Value row = b.arange(0, kRows), column = b.arange(0, kColumns);
  const Shape shape{kRows, kColumns};
  switch (kind) {
    case Operand::Tile: return b.load(pointer + col(row) * kColumns + tile::row(column));
    case Operand::Scalar: return broadcast(scalar, shape);
    case Operand::Constant: return b.full(shape, dtype == boolean ? 1 : 3, dtype);
    case Operand::Row: return broadcast(b.load(pointer + tile::row(column)), shape);
    default: return broadcast(b.load(pointer + col(row) * kColumns), shape);
  }
}

::testing::AssertionResult check_word(Word word, DType dtype, std::vector<Operand> kinds, unsigned seed, double tolerance) {
  std::mt19937 random(seed);
  Builder b("word");
  std::vector<Value> operands;
  std::vector<TestArgument> arguments;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const DType own = word == Word::Select && i == 0 ? boolean : dtype;
    const Value pointer = b.pointer("p", own, false), scalar = b.scalar("s", own);
    operands.push_back(operand(b, kinds[i], own, pointer, scalar));
    std::size_t at = i;
    arguments.push_back(TestArgument::filled(own, kRows * kColumns, [&](std::size_t) { return test_number(own, at++, random); }));
    arguments.push_back(TestArgument::scalar(own == boolean ? 1 : -2));
  }
  Value result;
  if (operands.size() == 1) result = unary(word, operands[0]);
  else if (operands.size() == 2) result = binary(word, operands[0], operands[1]);
  else if (word == Word::Select) result = select(operands[0], operands[1], operands[2]);
  else result = fma(operands[0], operands[1], operands[2]);
  const Value out = b.pointer("out", result.dtype(), true);
  b.store(out + col(b.arange(0, kRows)) * kColumns + row(b.arange(0, kColumns)), result);
  arguments.push_back(TestArgument::empty(result.dtype(), kRows * kColumns));
  return agrees(b.finish(), arguments, {.tolerance = tolerance});
}

TEST(ExecutorWords, OneOperand) {
  for (int word = static_cast<int>(Word::Neg); word <= static_cast<int>(Word::IsInf); ++word) {
    for (const DType dtype : {f64, f32, i64, i32, u64, u32, boolean}) {
      if (!takes(static_cast<Word>(word), dtype)) continue;
      for (const Operand kind : {Operand::Tile, Operand::Scalar, Operand::Row}) {
        EXPECT_TRUE(check_word(static_cast<Word>(word), dtype, {kind}, 1, tolerance(static_cast<Word>(word))))
            << name(static_cast<Word>(word)) << " " << name(dtype);
      }
    }
  }
}

TEST(ExecutorWords, TwoOperands) {
  for (int word = static_cast<int>(Word::Add); word <= static_cast<int>(Word::Ge); ++word) {
    for (const DType dtype : {f64, f32, i64, i32, u64, u32, boolean}) {
      if (!takes(static_cast<Word>(word), dtype)) continue;
      for (const Operand a : {Operand::Tile, Operand::Scalar, Operand::Row, Operand::Column}) {
        for (const Operand b : {Operand::Tile, Operand::Scalar, Operand::Constant, Operand::Row, Operand::Column}) {
          EXPECT_TRUE(check_word(static_cast<Word>(word), dtype, {a, b}, 2, tolerance(static_cast<Word>(word))))
              << name(static_cast<Word>(word)) << " " << name(dtype);
        }
      }
    }
  }
}

TEST(ExecutorWords, SelectAndFma) {
  const Operand kinds[] = {Operand::Tile, Operand::Scalar, Operand::Row, Operand::Column};
  for (const DType dtype : {f64, f32, i64, i32, u64, u32, boolean}) {
    for (const Operand a : kinds) {
      for (const Operand b : kinds) {
        for (const Operand c : kinds) {
          EXPECT_TRUE(check_word(Word::Select, dtype, {a, b, c}, 3, 0)) << name(dtype);
          if (is_float(dtype)) { EXPECT_TRUE(check_word(Word::Fma, dtype, {a, b, c}, 3, 0)) << name(dtype); }
        }
      }
    }
  }
}

TEST(ExecutorWords, ConversionsBetweenAllDTypes) {
  for (const DType from : {f64, f32, i64, i32, u64, u32, boolean}) {
    std::mt19937 random(4);
    const auto memory = TestArgument::filled(from, 101, [&](std::size_t i) {
      const double x = test_number(from, i, random);
      return std::isfinite(x) && std::abs(x) < 1e9 ? x : 7.0;
    });
    const auto check = [&](const char* what, DType to, const std::function<Value(Value)>& f) {
      Builder b("convert");
      const Value in = b.pointer("in", from, false), out = b.pointer("out", to, true), i = b.arange(0, 101);
      b.store(out + i, f(b.load(in + i)));
      EXPECT_TRUE(agrees(b.finish(), {memory, TestArgument::empty(to, 101)})) << what << name(from) << " to " << name(to);
    };
    for (const DType to : {f64, f32, i64, i32, u64, u32, boolean}) {
      check("cast ", to, [&](Value x) { return cast(x, to); });
      if (size_of(from) == size_of(to)) check("bitcast ", to, [&](Value x) { return bitcast(x, to); });
      check("scalar cast ", to, [&](Value x) {
        return broadcast(cast(reshape(reduce(x, 0, from == boolean ? Reduction::Any : Reduction::Max), {}), to), {101});
      });
    }
    for (const DType stored : {f16, bf16, e4m3, e5m2, i16, i8, u16, u8}) {
      if (compute_type(stored) == from) check("narrow ", from, [&](Value x) { return narrow(x * 37, stored); });
    }
  }
}

TEST(ExecutorWords, ComparisonAndChoiceInOneStep) {
  for (const DType dtype : {f32, f64}) {
    for (int word = static_cast<int>(Word::Eq); word <= static_cast<int>(Word::Ge); ++word) {
      for (int pattern = 0; pattern < 16; ++pattern) {
        std::mt19937 random(static_cast<unsigned>(pattern));
        Builder b("choice");
        std::vector<Value> x;
        std::vector<TestArgument> arguments;
        for (int i = 0; i < 4; ++i) {
          const Value pointer = b.pointer("p", dtype, false), scalar = b.scalar("s", dtype);
          x.push_back(operand(b, pattern >> i & 1 ? Operand::Tile : Operand::Scalar, dtype, pointer, scalar));
          std::size_t at = static_cast<std::size_t>(i);
          arguments.push_back(TestArgument::filled(dtype, kRows * kColumns, [&](std::size_t) { return test_number(dtype, at++, random); }));
          arguments.push_back(TestArgument::scalar(i));
        }
        const Value out = b.pointer("out", dtype, true);
        b.store(out + col(b.arange(0, kRows)) * kColumns + row(b.arange(0, kColumns)),
                select(binary(static_cast<Word>(word), x[0], x[1]), x[2], x[3]));
        arguments.push_back(TestArgument::empty(dtype, kRows * kColumns));
        EXPECT_TRUE(agrees(b.finish(), arguments));
      }
    }
  }
}

/// A product is rounded before a term is added to it, whatever other uses it has; fma rounds once.
TEST(ExecutorWords, AProductAndASumAreRoundedTwiceAndFmaOnce) {
  Builder b("products");
  const Value x = b.pointer("x", f32, false), y = b.pointer("y", f32, false), z = b.pointer("z", f32, false),
              out = b.pointer("out", f32, true);
  const Value i = b.arange(0, 50);
  const Value a = b.load(x + i), c = b.load(y + i), d = b.load(z + i);
  b.store(out + i, a * c + d);
  b.store(out + i + 50, a * d - c);
  b.store(out + i + 100, a - c * d);
  b.store(out + i + 150, fma(a, c, d));
  const Program program = b.finish();
  std::vector<float> memory[4];
  std::mt19937 random(5);
  for (auto& m : memory) {
    m.resize(200);
    for (float& v : m) v = static_cast<float>(random()) / 1e9f - 2;
  }
  runtime::Argument arguments[4];
  for (int k = 0; k < 4; ++k) arguments[k].pointer = memory[k].data();
  const runtime::ArgumentSet set{arguments, {1, 1, 1}};
  const auto kernel = compile_program(program);
  kernel->launch({&set, 1}, {});
  const auto product = [&](int m, int n, std::size_t k) {
    volatile float rounded = memory[m][k] * memory[n][k];  // which the compiler may not contract
    return static_cast<float>(rounded);
  };
  for (std::size_t k = 0; k < 50; ++k) {
    EXPECT_EQ(memory[3][k], product(0, 1, k) + memory[2][k]);
    EXPECT_EQ(memory[3][50 + k], product(0, 2, k) - memory[1][k]);
    EXPECT_EQ(memory[3][100 + k], memory[0][k] - product(1, 2, k));
    EXPECT_EQ(memory[3][150 + k], std::fma(memory[0][k], memory[1][k], memory[2][k]));
  }
}

}  // namespace
}  // namespace tegula::host

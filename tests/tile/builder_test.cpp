#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

TEST(Builder, TilesBroadcastAsInNumPy) {
  Builder b("broadcast");
  const Value x = b.arange(0, 8), y = b.arange(0, 4);
  EXPECT_EQ((col(y) + row(x)).shape(), (Shape{4, 8}));
  EXPECT_EQ((x + col(y)).shape(), (Shape{4, 8}));  // (8) is padded to (1, 8)
  EXPECT_EQ(select(x < 3, col(y), 0 * col(y)).shape(), (Shape{4, 8}));
}

TEST(Builder, ScalarsStayScalarsBesideTiles) {
  Builder b("scalars");
  const Value x = b.arange(0, 8);
  const Value sum = x + b.program_id(0);
  EXPECT_EQ(sum.shape(), (Shape{8}));
  EXPECT_EQ(count(b.program(), Word::Broadcast), 0);
}

TEST(Builder, NumbersTakeTheDtypeOfTheOtherOperand) {
  Builder b("numbers");
  const Value x = b.scalar("x", f32);
  const Value scaled = 0.1 * x;
  EXPECT_EQ(scaled.dtype(), f32);
  const Instruction& multiply = b.program()[scaled.id()];
  EXPECT_EQ(b.program()[multiply.operands[0]].real, static_cast<double>(0.1f));
}

TEST(Builder, PointersMoveByIntegers) {
  Builder b("pointers");
  const Value p = b.pointer("p", f16, false), offset = b.scalar("offset", i32);
  EXPECT_EQ((p + offset).type(), (Type{f16, true, {}}));
  EXPECT_EQ((col(b.arange(0, 4)) + p + row(b.arange(0, 2))).type(), (Type{f16, true, {4, 2}}));
  EXPECT_EQ((p - b.arange(0, 4)).type(), (Type{f16, true, {4}}));
  EXPECT_EQ(count(b.program(), Word::Cast), 1);  // the i32 offset
}

TEST(Builder, LoadsWidenToTheComputeType) {
  Builder b("widen");
  const Value index = b.arange(0, 8);
  EXPECT_EQ(b.load(b.pointer("half", bf16, false) + index).type(), (Type{f32, false, {8}}));
  EXPECT_EQ(b.load(b.pointer("byte", u8, false) + index, index < 5).type(), (Type{i32, false, {8}}));
}

TEST(Builder, ErrorsNameTheWordTheTypesAndTheLine) {
  Builder b("errors");
  const Value x = b.full({8}, 1, f32), i = b.arange(0, 8);
  b.set_location(Line::current());
  const std::string line = ":" + std::to_string(Line::current().line() - 1);

  const std::string mixed = message_of([&] { x + i; });
  EXPECT_MENTIONS(mixed, "tile.add: got f32[8], i64[8], expected operands of equal dtype");
  EXPECT_MENTIONS(mixed, "builder_test.cpp" + line);
  EXPECT_MENTIONS(message_of([&] { x + b.full({4}, 1, f32); }), "tile.add: got f32[8], f32[4], expected shapes that broadcast");
  EXPECT_MENTIONS(message_of([&] { unary(Word::Exp, i); }), "tile.exp: got i64[8], expected f32 or f64");
  EXPECT_MENTIONS(message_of([&] { x&& x; }), "tile.and: got f32[8], f32[8], expected an integer dtype or bool");
  EXPECT_MENTIONS(message_of([&] { select(x, x, x); }), "tile.select: got f32[8], f32[8], f32[8], expected a bool condition");
  EXPECT_MENTIONS(message_of([&] { reduce(x, 1, Reduction::Sum); }), "tile.reduce: got axis 1 for f32[8], expected an axis from -1 to 0");
  EXPECT_MENTIONS(message_of([&] { reduce(x, 0, Reduction::Any); }), "tile.reduce: got f32[8], expected a bool tile");
  EXPECT_MENTIONS(message_of([&] { arg_reduce(x, 0, Reduction::Sum); }), "expected the kind min or max");
  EXPECT_MENTIONS(message_of([&] { reshape(x, {3}); }), "expected a shape of 8 elements");
  EXPECT_MENTIONS(message_of([&] { dot(x, x, x); }), "expected shapes (M, K), (K, N) and an accumulator (M, N)");
  EXPECT_MENTIONS(message_of([&] { b.arange(0, 0); }), "expected sizes of at least 1");
  EXPECT_MENTIONS(message_of([&] { i + 0.5; }), "tile.constant: got 0.5 as i64, expected a whole number");
  EXPECT_MENTIONS(message_of([&] { bitcast(x, i64); }), "expected dtypes of one width");
  EXPECT_MENTIONS(message_of([&] { narrow(x, i8); }), "expected i32 to narrow to i8");
  EXPECT_MENTIONS(message_of([&] { b.scalar("h", f16); }), "parameter h, expected f64, f32, i64, i32, u64, u32 or bool");
  EXPECT_MENTIONS(message_of([&] { b.program_id(3); }), "expected a grid axis from 0 to 2");
  EXPECT_MENTIONS(message_of([&] { unary(Word::Neg, {}); }), "tile.neg: got an empty Value");
}

TEST(Builder, MemoryErrorsNameTheElementType) {
  Builder b("memory");
  const Value p = b.pointer("p", f16, true), places = p + b.arange(0, 8);
  EXPECT_MENTIONS(message_of([&] { b.store(places, b.full({8}, 1, f64)); }), "expected a value of f32 for a pointer to f16");
  EXPECT_MENTIONS(message_of([&] { b.store(places, b.full({4}, 1, f32)); }), "tile.broadcast: got f32[4] to shape (8,)");
  EXPECT_MENTIONS(message_of([&] { b.load(places, b.full({8}, 1, f32)); }), "expected a bool mask");
  EXPECT_MENTIONS(message_of([&] { b.load(b.arange(0, 8)); }), "expected a pointer as the first operand");
  EXPECT_MENTIONS(message_of([&] { b.load(places, {}, b.constant(0.0, f32)); }), "but no mask");
  EXPECT_MENTIONS(message_of([&] { places* places; }), "expected operands that are not pointers");
  EXPECT_MENTIONS(message_of([&] { places + 0.5; }), "expected a whole number");
  EXPECT_MENTIONS(message_of([&] { places + b.constant(0.5, f32); }), "expected a pointer and an integer offset");
}

TEST(Builder, ValuesOfTwoBuildersDoNotMix) {
  Builder a("a"), b("b");
  EXPECT_MENTIONS(message_of([&] { a.program_id(0) + b.program_id(0); }), "values of two programs");
}

TEST(Builder, EqualPureInstructionsAreOne) {
  Builder b("cse");
  const Value x = b.load(b.pointer("p", f32, false) + b.arange(0, 8));
  const auto formula = [&] { return unary(Word::Exp, -x) * 2.0 + reduce(x, 0, Reduction::Max); };
  const Value first = formula();
  const std::size_t size = b.program().instructions.size();
  EXPECT_EQ(formula().id(), first.id());
  EXPECT_EQ(b.program().instructions.size(), size);
  EXPECT_NE(reduce(x, 0, Reduction::Min).id(), reduce(x, 0, Reduction::Max).id());
  EXPECT_NE(number(0.0, x).id(), number(-0.0, x).id());
}

TEST(Builder, LoadsAreNotShared) {
  Builder b("loads");
  const Value p = b.pointer("p", f32, true);
  const Value before = b.load(p);
  b.store(p, before + 1.0);
  EXPECT_NE(b.load(p).id(), before.id());
}

TEST(Builder, InstructionsAreSharedWithRegionsInsideButNotWithSiblings) {
  Builder b("scopes");
  const Value x = b.scalar("x", f32), outside = unary(Word::Exp, x);
  Id in_then = -1, in_else = -1;
  b.if_(
      b.scalar("c", boolean),
      [&] {
        EXPECT_EQ(unary(Word::Exp, x).id(), outside.id());
        in_then = unary(Word::Sin, x).id();
        return std::vector<Value>{};
      },
      [&] {
        in_else = unary(Word::Sin, x).id();
        return std::vector<Value>{};
      });
  EXPECT_NE(in_then, in_else);
  EXPECT_NE(unary(Word::Sin, x).id(), in_then);
}

TEST(Builder, IntegerArithmeticIsFolded) {
  Builder b("fold");
  const Value n = b.scalar("n", i64), x = b.arange(0, 8);
  EXPECT_EQ((n + 0).id(), n.id());
  EXPECT_EQ((x * 1).id(), x.id());
  EXPECT_EQ((0 + x).id(), x.id());
  EXPECT_EQ(cast(x, i64).id(), x.id());
  const Value p = b.pointer("p", f32, false) + x;
  EXPECT_EQ((p + 0).id(), p.id());
  const auto folded = [&](Value value) { return b.program()[value.id()].word == Word::Constant ? b.program()[value.id()].integer : -1; };
  EXPECT_EQ(folded(number(7, n) / 2 * 3 + 1), 10);
  EXPECT_EQ(folded(number(7, n) / 0), 0);
  EXPECT_EQ(folded(b.constant(std::int64_t{0x7fffffff}, i32) + 1), -(std::int64_t{1} << 31));
  EXPECT_EQ(folded(number(3, n) < 4), 1);
  EXPECT_EQ((x * 0).shape(), (Shape{8}));
}

TEST(Builder, FloatArithmeticIsNeverFolded) {
  Builder b("floats");
  const Value x = b.scalar("x", f32);
  EXPECT_NE((x + 0.0).id(), x.id());
  EXPECT_NE((x * 1.0).id(), x.id());
  EXPECT_EQ(b.program()[(x * 0.0).id()].word, Word::Mul);
}

TEST(Builder, LoopsCheckWhatTheyCarry) {
  Builder b("loop");
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64), n = b.scalar("n", i32);
  const auto results = b.for_(zero, n, one, {b.full({8}, 0, f32)}, [&](Value i, std::span<const Value> carried) {
    EXPECT_EQ(i.type(), (Type{i64, false, {}}));
    return std::vector<Value>{carried[0] + cast(i, f32)};
  });
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].type(), (Type{f32, false, {8}}));

  const auto grow = [&] {
    b.for_(zero, n, one, {b.constant(0.0, f32)},
           [&](Value, std::span<const Value> carried) { return std::vector<Value>{carried[0] + b.full({8}, 1, f32)}; });
  };
  EXPECT_MENTIONS(message_of(grow), "carried value 0 that begins as f32 and comes back as f32[8]");
  const auto lose = [&] { b.for_(zero, n, one, {zero}, [&](Value, std::span<const Value>) { return std::vector<Value>{}; }); };
  EXPECT_MENTIONS(message_of(lose), "got 0 values from the body, expected 1");
  const auto fraction = [&] {
    b.for_(zero, b.constant(0.5, f32), one, {}, [&](Value, std::span<const Value>) { return std::vector<Value>{}; });
  };
  EXPECT_MENTIONS(message_of(fraction), "got a bound of type f32, expected an integer scalar");
}

TEST(Builder, AnErrorInsideARegionClosesIt) {
  Builder b("unwind");
  const Value p = b.pointer("p", i64, true), one = b.constant(std::int64_t{1}, i64);
  message_of([&] {
    b.for_(one, one, one, {}, [&](Value i, std::span<const Value>) {
      unary(Word::Exp, i);
      return std::vector<Value>{};
    });
  });
  b.store(p, one);
  const Program program = b.finish();
  EXPECT_EQ(count(program, Word::For), 0);
  EXPECT_EQ(count(program, Word::Store), 1);
}

TEST(Builder, BranchesGiveEqualTypes) {
  Builder b("branches");
  const Value c = b.scalar("c", boolean), x = b.scalar("x", f32);
  const auto results = b.if_(c, [&] { return std::vector{x + 1.0}; }, [&] { return std::vector{x}; });
  EXPECT_EQ(results.at(0).type(), x.type());
  const auto differ = [&] { b.if_(c, [&] { return std::vector{x}; }, [&] { return std::vector{cast(x, i32)}; }); };
  EXPECT_MENTIONS(message_of(differ), "branches that give (f32) and (i32), expected equal types");
  EXPECT_MENTIONS(message_of([&] { b.if_(b.full({4}, 1, boolean), {}, {}); }), "condition of type bool[4], expected a bool scalar");
}

TEST(Builder, FinishRefusesAValueThatLeftItsRegion) {
  Builder b("escape");
  const Value p = b.pointer("p", i64, true), one = b.constant(std::int64_t{1}, i64), n = b.scalar("n", i64);
  Value inside;
  b.for_(one, n, one, {}, [&](Value i, std::span<const Value>) {
    inside = i * 3;
    b.store(p, i);
    return std::vector<Value>{};
  });
  b.store(p, inside);
  EXPECT_MENTIONS(message_of([&] { b.finish(); }), "to be computed before, in this region or one around it");
}

}  // namespace
}  // namespace tegula::tile

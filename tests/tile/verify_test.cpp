#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

/// out[0] = sum over i of x[i], with a store in a branch; every test breaks one thing in it.
class Verify : public testing::Test {
 protected:
  Verify() : program(make()) {}

  static Program make() {
    Builder b("sum");
    const Value x = b.pointer("x", f32, false), out = b.pointer("out", f32, true), n = b.scalar("n", i64);
    const Value zero = number(0, n), one = number(1, n);
    const auto total = b.for_(zero, n, one, {b.full({8}, 0, f32), x + b.arange(0, 8)}, [&](Value i, std::span<const Value> carried) {
      return std::vector<Value>{carried[0] + b.load(carried[1]) * cast(i, f32), carried[1] + i};
    });
    const auto result =
        b.if_(n > 0, [&] { return std::vector{reduce(total[0], 0, Reduction::Sum)}; }, [&] { return std::vector{b.full({1}, 1, f32)}; });
    b.set_location(Line::current());
    store_line = std::to_string(Line::current().line() - 1);
    b.store(out + b.arange(0, 1), result[0]);
    return b.finish();
  }

  Id find(Word word, int skip = 0) const {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      if (program.instructions[i].word == word && skip-- == 0) return static_cast<Id>(i);
    }
    ADD_FAILURE() << "no " << name(word);
    return 0;
  }
  Instruction& at(Word word, int skip = 0) { return program.instructions[static_cast<std::size_t>(find(word, skip))]; }
  std::string message() const {
    return message_of([&] { verify(program); });
  }

  static inline std::string store_line;
  Program program;
};

TEST_F(Verify, TheProgramIsFineBeforeItIsBroken) { EXPECT_NO_THROW(verify(program)); }

TEST_F(Verify, TheMessageHasTheTextOfTheInstructionAndTheLine) {
  program.parameters[1].writable = false;
  const std::string text = message();
  EXPECT_MENTIONS(text, "tile.verify: got \"" + to_string(program, find(Word::Store)) + "\" in program sum");
  EXPECT_MENTIONS(text, "expected a pointer that may be written; parameter out is read-only");
  EXPECT_MENTIONS(text, "verify_test.cpp:" + store_line);
}

TEST_F(Verify, OperandsOutOfRange) {
  at(Word::Mul).operands[0] = 9999;
  EXPECT_MENTIONS(message(), "%9999 to be computed before");
  at(Word::Mul).operands[0] = -1;
  EXPECT_MENTIONS(message(), "%-1 to be computed before");
}

TEST_F(Verify, UseBeforeDefinition) {
  at(Word::Load).operands[0] = find(Word::Add, 2);
  at(Word::Mul).operands[0] = find(Word::Mul);
  EXPECT_MENTIONS(message(), "to be computed before");
}

TEST_F(Verify, ValuesOfAnInnerRegionAreNotSeenOutside) {
  at(Word::Store).operands[1] = find(Word::Cast);
  EXPECT_MENTIONS(message(), "to be computed before, in this region or one around it");
}

TEST_F(Verify, AnInstructionListedTwice) {
  program.body.body.push_back(program.body.body[0]);
  EXPECT_MENTIONS(message(), "to be listed once");
}

TEST_F(Verify, ABodyWithAnUnknownInstruction) {
  program.body.body.push_back(9999);
  EXPECT_MENTIONS(message(), "got %9999 in the body");
}

TEST_F(Verify, WrongOperandCount) {
  at(Word::Mul).operands.pop_back();
  EXPECT_MENTIONS(message(), "expected 2 operands");
}

TEST_F(Verify, WrongResultType) {
  at(Word::Mul).type.dtype = f64;
  EXPECT_MENTIONS(message(), "expected a result of type f32[8] (operands: f32[8], f32)");
}

TEST_F(Verify, OperandsOfDifferentDtype) {
  at(Word::Mul).operands[1] = find(Word::RegionParameter);
  EXPECT_MENTIONS(message(), "expected operands of equal dtype");
}

TEST_F(Verify, SizesOfZeroAndTooManyDimensions) {
  at(Word::Arange).type.shape = {0};
  EXPECT_MENTIONS(message(), "sizes of at least 1");
  program = make();
  at(Word::Broadcast).type.shape = {1, 1, 1, 1, 1, 8};
  EXPECT_MENTIONS(message(), "at most 5 dimensions");
}

TEST_F(Verify, ReduceAxisOutside) {
  at(Word::Reduce).attribute = 1;
  EXPECT_MENTIONS(message(), "expected an axis from 0 to 0");
  at(Word::Reduce).attribute = -1;
  EXPECT_MENTIONS(message(), "expected an axis from 0 to 0");
}

TEST_F(Verify, ParameterIndexAndType) {
  at(Word::Parameter).attribute = 3;
  EXPECT_MENTIONS(message(), "one of the program's 3 parameters");
  program = make();
  program.parameters[0].dtype = f16;
  EXPECT_MENTIONS(message(), "a result of type ptr<f16>");
  program = make();
  program.parameters[2].writable = true;
  EXPECT_MENTIONS(message(), "writable scalar parameter n");
}

TEST_F(Verify, LoopSignature) {
  Instruction& loop = at(Word::For);
  loop.operands.pop_back();
  EXPECT_MENTIONS(message(), "one region parameter for each carried value");
  program = make();
  at(Word::For).regions[0].results.pop_back();
  EXPECT_MENTIONS(message(), "regions that yield 2 values");
  program = make();
  at(Word::For).regions[0].results[0] = find(Word::Cast);
  EXPECT_MENTIONS(message(), "to be yielded as f32[8]");
  program = make();
  at(Word::RegionParameter, 1).type.shape = {4};
  EXPECT_NE(message(), "");
  program = make();
  at(Word::RegionParameter).type.dtype = i32;
  EXPECT_NE(message(), "");
  program = make();
  at(Word::For).regions.clear();
  EXPECT_MENTIONS(message(), "expected one region");
  program = make();
  at(Word::For).operands[1] = find(Word::Broadcast);
  EXPECT_MENTIONS(message(), "i64 scalars as begin, end and step");
  program = make();
  at(Word::For).operands[2] = at(Word::For).operands[0];
  EXPECT_MENTIONS(message(), "a step of at least 1, not 0");
}

TEST_F(Verify, BranchSignature) {
  at(Word::If).regions.pop_back();
  EXPECT_MENTIONS(message(), "expected two regions");
  program = make();
  at(Word::If).regions[1].results.clear();
  EXPECT_MENTIONS(message(), "regions that yield 1 values");
  program = make();
  at(Word::If).operands[0] = find(Word::Parameter, 2);
  EXPECT_MENTIONS(message(), "a bool scalar as condition");
}

TEST_F(Verify, ResultsOfControl) {
  at(Word::Result).attribute = 2;
  EXPECT_MENTIONS(message(), "one of 2 results");
  program = make();
  at(Word::Result).operands[0] = find(Word::Parameter);
  EXPECT_MENTIONS(message(), "a for, a while or an if as operand");
  program = make();
  at(Word::Result).type.shape = {4};
  EXPECT_MENTIONS(message(), "the type f32[8]");
}

TEST_F(Verify, WordsWithoutResultAreNoOperands) {
  at(Word::Reduce).operands[0] = find(Word::For);
  EXPECT_MENTIONS(message(), "operands that are values");
}

TEST(VerifyPointers, AReadOnlyPointerIsFoundThroughLoopsAndBranches) {
  const auto build = [](bool through_loop) {
    Builder b("indirect");
    const Value in = b.pointer("in", f32, false), out = b.pointer("out", f32, true), n = b.scalar("n", i64), one = number(1, n);
    const auto chosen = b.if_(n > 3, [&] { return std::vector{out}; }, [&] { return std::vector{through_loop ? out : in}; });
    const auto moved = b.for_(one, n, one, {through_loop ? in : chosen[0]}, [&](Value i, std::span<const Value> carried) {
      b.store(col(carried[0] + b.arange(0, 4)), col(cast(b.arange(0, 4) + i, f32)));
      return std::vector<Value>{carried[0] + 4};
    });
    b.atomic_add(moved[0], b.constant(1.0, f32));
    b.finish();
  };
  EXPECT_MENTIONS(message_of([&] { build(true); }), "parameter in is read-only");
  EXPECT_MENTIONS(message_of([&] { build(false); }), "parameter in is read-only");
}

}  // namespace
}  // namespace tegula::tile

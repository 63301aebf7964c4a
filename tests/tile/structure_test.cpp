#include <algorithm>

#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

struct Variation {
  std::string name = "program", parameter = "x";
  DType dtype = f32;
  bool writable = true;
  double factor = 2.0;
  std::int64_t size = 8, step = 1;
  Word word = Word::Exp;
  Reduction kind = Reduction::Sum;
  Line where{};
  bool unused = false;  // leaves ids behind before the program proper
};

Program make(const Variation& v) {
  Builder b(v.name);
  b.set_location(v.where);
  const Value p = b.pointer(v.parameter, v.dtype, v.writable);
  if (v.unused) unary(Word::Sin, b.constant(3.0, f32));
  const Value places = p + b.arange(0, v.size), zero = b.constant(std::int64_t{0}, i64), step = b.constant(v.step, i64);
  const auto sum = b.for_(zero, step, step, {b.load(places)}, [&](Value, std::span<const Value> carried) {
    return std::vector<Value>{unary(v.word, carried[0]) * v.factor + reduce(carried[0], 0, v.kind)};
  });
  if (v.writable) b.store(places, sum[0]);
  return b.finish();
}

TEST(Structure, NamesLinesAndLeftoversDoNotCount) {
  const auto reference = structure(make({}));
  EXPECT_EQ(structure(make({.name = "other", .parameter = "y"})), reference);
  EXPECT_EQ(structure(make({.where = Line::current()})), reference);
  EXPECT_EQ(structure(make({.unused = true})), reference);
}

TEST(Structure, IdsCountInOrderOfExecution) {
  const Program program = make({});
  Program shuffled = program;  // the same program with its instructions stored in reverse
  const Id last = static_cast<Id>(program.instructions.size()) - 1;
  const auto turn = [&](std::vector<Id>& ids) {
    for (Id& id : ids) id = last - id;
  };
  const auto turn_region = [&](Region& region) {
    for (auto* ids : {&region.parameters, &region.body, &region.results}) turn(*ids);
  };
  std::reverse(shuffled.instructions.begin(), shuffled.instructions.end());
  for (Instruction& instruction : shuffled.instructions) {
    turn(instruction.operands);
    for (Region& region : instruction.regions) turn_region(region);
  }
  turn_region(shuffled.body);
  verify(shuffled);
  EXPECT_EQ(structure(shuffled), structure(program));
}

TEST(Structure, EverythingThatIsComputedCounts) {
  const std::vector<Variation> variations{
      {},           {.dtype = f16}, {.writable = false},  {.factor = 3.0},         {.factor = 0.0}, {.factor = -0.0},
      {.size = 16}, {.step = 2},    {.word = Word::Exp2}, {.kind = Reduction::Max}};
  for (std::size_t i = 0; i < variations.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(structure(make(variations[i])), structure(make(variations[j]))) << i << " and " << j;
  }
}

TEST(Structure, OperandOrderCounts) {
  const auto difference = [](bool swap) {
    Builder b("difference");
    const Value p = b.pointer("p", f32, true), x = b.load(p), y = b.load(p + 1);
    b.store(p, swap ? y - x : x - y);
    return structure(b.finish());
  };
  EXPECT_NE(difference(false), difference(true));
}

TEST(Structure, BranchesCount) {
  const auto choice = [](double then, double otherwise) {
    Builder b("choice");
    const Value p = b.pointer("p", f32, true), c = b.scalar("c", boolean);
    b.store(p, b.if_(c, [&] { return std::vector{b.constant(then, f32)}; }, [&] { return std::vector{b.constant(otherwise, f32)}; })[0]);
    return structure(b.finish());
  };
  EXPECT_EQ(choice(1, 2), choice(1, 2));
  EXPECT_NE(choice(1, 2), choice(2, 1));
}

}  // namespace
}  // namespace tegula::tile

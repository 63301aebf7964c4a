#include <algorithm>

#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

TEST(Print, OneInstructionALineWithIndentedRegions) {
  Builder b("sum_rows");
  const Value x = b.pointer("x", bf16, false), out = b.pointer("out", f32, true), n = b.scalar("n", i64);
  const Value zero = number(0, n), one = number(1, n), index = b.arange(0, 8);
  const auto total = b.for_(zero, n, one, {b.full({8}, 0, f32)}, [&](Value i, std::span<const Value> carried) {
    const Value base = x + index;  // a statement each: C++ leaves the order of operands open
    const Value offset = i * 8;
    const Value places = base + offset;
    const Value mask = index < n;
    return std::vector<Value>{carried[0] + b.load(places, mask)};
  });
  b.if_(
      n > 4,
      [&] {
        b.store(out, reshape(reduce(total[0], 0, Reduction::Sum), {}) * 0.5);
        return std::vector<Value>{};
      },
      [&] {
        b.check(b.constant(std::int64_t{0}, boolean), n, 7);
        return std::vector<Value>{};
      });
  EXPECT_EQ(to_string(b.finish()), R"(program sum_rows(x: ptr<bf16>, out: writable ptr<f32>, n: i64) {
  %0 = parameter x : ptr<bf16>
  %1 = parameter out : ptr<f32>
  %2 = parameter n : i64
  %3 = constant 0 : i64
  %4 = constant 1 : i64
  %5 = arange 0 : i64[8]
  %6 = constant 0 : f32
  %7 = broadcast %6 : f32[8]
  %8 = for %3, %2, %4, %7 with (%9 : i64, %10 : f32[8]) {
    %11 = add %0, %5 : ptr<bf16>[8]
    %12 = constant 8 : i64
    %13 = mul %9, %12 : i64
    %14 = add %11, %13 : ptr<bf16>[8]
    %15 = lt %5, %2 : bool[8]
    %16 = load %14, %15 : f32[8]
    %17 = add %10, %16 : f32[8]
    yield %17
  }
  %18 = result 0 of %8 : f32[8]
  %19 = constant 4 : i64
  %20 = gt %2, %19 : bool
  %21 = if %20 {
    %22 = reduce sum axis 0 %18 : f32[1]
    %23 = reshape %22 : f32
    %24 = constant 0.5 : f32
    %25 = mul %23, %24 : f32
    store %1, %25
  } else {
    %27 = constant false : bool
    assert 7 %27, %2
  }
}
)");
}

TEST(Print, TheUsersLineFollowsAsAComment) {
  Builder b("located");
  const Value p = b.pointer("p", f64, true);
  b.set_location(Line::current());
  const std::string line = std::to_string(Line::current().line() - 1);
  b.store(p, b.constant(0.1, f64));
  EXPECT_MENTIONS(to_string(b.finish()), "  %1 = constant 0.1 : f64  // print_test.cpp:" + line + "\n");
}

TEST(Print, AttributesAreWords) {
  Builder b("attributes");
  const Value x = b.full({4, 8}, 1, f32);
  const auto text = [&](Value value) { return to_string(b.program(), value.id()); };
  EXPECT_MENTIONS(text(narrow(x, bf16)), "narrow bf16 %1 : f32[4, 8]");
  EXPECT_MENTIONS(text(argsort(x, -1, true)), "argsort descending axis 1 %1 : i64[4, 8]");
  EXPECT_MENTIONS(text(arg_reduce(x, 0, Reduction::Max)), "arg_reduce max axis 0 %1 : i64[1, 8]");
  EXPECT_MENTIONS(text(expand_dims(x, 1)), "expand_dims axis 1 %1 : f32[4, 1, 8]");
  EXPECT_MENTIONS(text(b.program_id(2)), "program_id 2 : i64");
}

TEST(Words, EveryWordHasItsOwnName) {
  std::vector<std::string_view> names;
  for (int word = 0; word <= static_cast<int>(Word::RegionParameter); ++word) names.push_back(name(static_cast<Word>(word)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(name(Word::Rsqrt), "rsqrt");
  EXPECT_EQ(name(Word::IsInf), "is_inf");
  EXPECT_EQ(name(Word::MulHi), "mul_hi");
  EXPECT_EQ(name(Word::Bitcast), "bitcast");
  EXPECT_EQ(name(Word::Dot), "dot");
}

}  // namespace
}  // namespace tegula::tile

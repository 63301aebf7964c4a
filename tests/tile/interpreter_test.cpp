#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "tegula/core/philox.h"
#include "tests/tile/support.h"

namespace tegula::tile {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// out[i] = formula(in[i]) for one tile.
template <class Out, class In, class F>
std::vector<Out> apply(const std::vector<In>& in, F&& formula) {
  Builder b("apply");
  const Value from = b.pointer("in", dtype_of<In>(), false), to = b.pointer("out", dtype_of<Out>(), true);
  const Value index = b.arange(0, static_cast<std::int64_t>(in.size()));
  const Value result = formula(b.load(from + index));
  std::vector<Out> out(static_cast<std::size_t>(numel(result.shape())));
  b.store(to + b.arange(0, numel(result.shape())), reshape(result, {numel(result.shape())}));
  interpret_with(b.finish(), 1, const_cast<In*>(in.data()), out.data());
  return out;
}

/// formula(a, b) of two scalars.
template <class T, class F>
T apply2(T a, T b, F&& formula) {
  return apply<T>(std::vector<T>{a, b}, [&](Value x) {
    Builder& builder = *x.builder();
    const Value first = reduce(select(builder.arange(0, 2) < 1, x, 0 * x), 0, Reduction::Sum);
    const Value second = reduce(select(builder.arange(0, 2) < 1, 0 * x, x), 0, Reduction::Sum);
    return formula(first, second);
  })[0];
}

TEST(Interpreter, MatrixProductOverAGridWithMasks) {
  const int M = 5, N = 7, K = 6, B = 4;
  Builder b("matmul");
  const Value pa = b.pointer("a", f32, false), pb = b.pointer("b", f32, false), pc = b.pointer("c", f32, true);
  const Value m = b.program_id(0) * B + b.arange(0, B), n = b.program_id(1) * B + b.arange(0, B), k = b.arange(0, B);
  const Value begin = b.constant(std::int64_t{0}, i64), end = b.constant(std::int64_t{K}, i64), step = b.constant(std::int64_t{B}, i64);
  const auto sum = b.for_(begin, end, step, {b.full({B, B}, 0, f32)}, [&](Value start, std::span<const Value> carried) {
    const Value at = start + k;
    const Value x = b.load(pa + col(m) * K + row(at), col(m) < M && row(at) < K);
    const Value y = b.load(pb + col(at) * N + row(n), col(at) < K && row(n) < N);
    return std::vector{dot(x, y, carried[0])};
  });
  b.store(pc + col(m) * N + row(n), sum[0], col(m) < M && row(n) < N);
  const Program program = b.finish();

  std::vector<float> a(M * K), w(K * N), c(M * N + 1, -1.0f);
  std::iota(a.begin(), a.end(), 1.0f);
  std::iota(w.begin(), w.end(), -8.0f);
  const runtime::Argument arguments[]{argument(a.data()), argument(w.data()), argument(c.data())};
  interpret(program, {arguments, {2, 2, 1}});
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float expected = 0;
      for (int l = 0; l < K; ++l) expected += a[i * K + l] * w[l * N + j];
      EXPECT_EQ(c[i * N + j], expected);
    }
  }
  EXPECT_EQ(c.back(), -1.0f);
}

TEST(Interpreter, LoadsWidenAndStoresNarrow) {
  const auto halves = apply<Half>(std::vector<float>{1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 70000.0f, kNaN}, [](Value x) { return x; });
  EXPECT_EQ(static_cast<float>(halves[0]), 1.0f);  // half way, to even
  EXPECT_EQ(static_cast<float>(halves[1]), 1.0f + 0x1p-9f);
  EXPECT_EQ(static_cast<float>(halves[2]), kInf);
  EXPECT_TRUE(std::isnan(static_cast<float>(halves[3])));
  EXPECT_EQ((apply<std::uint8_t>(std::vector<std::int32_t>{255, 256, -1}, [](Value x) { return x; })),
            (std::vector<std::uint8_t>{255, 0, 255}));
  EXPECT_EQ((apply<std::int32_t>(std::vector<std::int8_t>{-128, 127}, [](Value x) { return x * 2; })),
            (std::vector<std::int32_t>{-256, 254}));
  EXPECT_EQ((apply<float>(std::vector<BFloat16>{BFloat16(1.5f)}, [](Value x) { return x + 0x1p-20; })),
            (std::vector<float>{1.5f + 0x1p-20f}));
}

TEST(Interpreter, NarrowKeepsTheComputeType) {
  EXPECT_EQ((apply<float>(std::vector<float>{1.0f + 0x1p-20f, 1e-30f}, [](Value x) { return narrow(x, f16); })),
            (std::vector<float>{1, 0}));
  EXPECT_EQ((apply<std::int32_t>(std::vector<std::int32_t>{200, -129}, [](Value x) { return narrow(x, i8); })),
            (std::vector<std::int32_t>{-56, 127}));
  EXPECT_EQ((apply<std::int32_t>(std::vector<float>{300.7f, -1.5f}, [](Value x) { return cast(x, u8); })),
            (std::vector<std::int32_t>{44, 255}));
}

TEST(Interpreter, F32IsRoundedAfterEveryWord) {
  const auto out = apply<float>(std::vector<float>{1.0f}, [](Value x) { return (x + 0x1p-25) - 1.0; });
  EXPECT_EQ(out[0], 0.0f);
  const auto fused = apply<float>(std::vector<float>{1.0f + 0x1p-12f}, [](Value x) { return fma(x, x, number(-1.0, x)); });
  EXPECT_EQ(fused[0], std::fma(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f));
}

TEST(Interpreter, MinAndMaxPropagateNaN) {
  for (const Word word : {Word::Min, Word::Max}) {
    const auto out = apply<float>(std::vector<float>{kNaN, 1.0f}, [&](Value x) { return binary(word, x, number(0.0, x)); });
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], word == Word::Max ? 1.0f : 0.0f);
    const auto other = apply<float>(std::vector<float>{1.0f}, [&](Value x) { return binary(word, x, number(kNaN, x)); });
    EXPECT_TRUE(std::isnan(other[0]));
  }
  EXPECT_TRUE(std::isnan(apply<float>(std::vector<float>{1, kNaN, 2}, [](Value x) { return reduce(x, 0, Reduction::Max); })[0]));
}

TEST(Interpreter, IntegerArithmeticIsThatOfC) {
  const auto divide = [](std::int32_t a, std::int32_t b, Word word) {
    return apply2<std::int32_t>(a, b, [&](Value x, Value y) { return binary(word, x, y); });
  };
  EXPECT_EQ(divide(-7, 2, Word::Div), -3);
  EXPECT_EQ(divide(-7, 2, Word::Rem), -1);
  EXPECT_EQ(divide(7, 0, Word::Div), 0);
  EXPECT_EQ(divide(7, 0, Word::Rem), 0);
  EXPECT_EQ(divide(std::numeric_limits<std::int32_t>::min(), -1, Word::Div), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(divide(0x7fffffff, 1, Word::Add), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(divide(-8, 1, Word::Shr), -4);
  EXPECT_EQ(divide(-1, 2, Word::MulHi), 1);  // 0xffffffff * 2 = 0x1fffffffe
  EXPECT_EQ(divide(0x40000000, 2, Word::Shl), 0);
}

template <class T>
std::vector<T> bits_set(std::vector<T> x) {
  return apply<T>(x, [](Value v) { return unary(Word::Popcount, v); });
}

TEST(Interpreter, PopcountCountsTheBitsOfTheDType) {
  using Limits32 = std::numeric_limits<std::int32_t>;
  using Limits64 = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(bits_set<std::int32_t>({0, 1, 7, -1, -2, Limits32::min(), Limits32::max()}),
            (std::vector<std::int32_t>{0, 1, 3, 32, 31, 1, 31}));
  EXPECT_EQ(bits_set<std::int64_t>({0, 1, -1, -2, Limits64::min(), Limits64::max()}), (std::vector<std::int64_t>{0, 1, 64, 63, 1, 63}));
  EXPECT_EQ(bits_set<std::uint32_t>({0, 0x80000001u, 0xffffffffu}), (std::vector<std::uint32_t>{0, 2, 32}));
  EXPECT_EQ(bits_set<std::uint64_t>({0, std::uint64_t{1} << 63 | 1, ~std::uint64_t{0}}), (std::vector<std::uint64_t>{0, 2, 64}));
}

TEST(Interpreter, FloatWordsAtTheirEdges) {
  const auto of = [](Word word, float x) { return apply<float>(std::vector<float>{x}, [&](Value v) { return unary(word, v); })[0]; };
  EXPECT_EQ(of(Word::Round, 2.5f), 2.0f);
  EXPECT_EQ(of(Word::Round, -1.5f), -2.0f);
  EXPECT_EQ(of(Word::Sign, kNaN), 0.0f);
  EXPECT_EQ(of(Word::Sign, -3.0f), -1.0f);
  EXPECT_EQ(of(Word::Sigmoid, -1000.0f), 0.0f);
  EXPECT_EQ(of(Word::Sigmoid, 1000.0f), 1.0f);
  EXPECT_EQ(of(Word::Rsqrt, 0.0f), kInf);
  EXPECT_EQ(of(Word::Erfinv, 1.0f), kInf);
  EXPECT_TRUE(std::isnan(of(Word::Erfinv, 1.5f)));
  EXPECT_NEAR(of(Word::Digamma, 1.0f), -0.57721566f, 1e-7);
  EXPECT_NEAR(of(Word::Digamma, -0.5f), 0.03648998f, 1e-7);
  EXPECT_TRUE(std::isnan(of(Word::Digamma, -2.0f)));
}

TEST(Interpreter, ErfinvInvertsErf) {
  for (const double x : {-5.0, -2.0, -0.3, -1e-8, 1e-300, 0.4, 0.5, 1.0, 3.0, 5.5}) {
    const double y = std::erf(x);
    const double back = apply<double>(std::vector<double>{y}, [](Value v) { return unary(Word::Erfinv, v); })[0];
    EXPECT_NEAR(std::erf(back), y, 4e-16 * std::abs(y)) << x;
    if (std::abs(x) < 2) { EXPECT_NEAR(back, x, 1e-13 * std::abs(x)); }
  }
}

TEST(Interpreter, CastsTruncateTowardZero) {
  EXPECT_EQ((apply<std::int64_t>(std::vector<float>{-1.9f, 1.9f}, [](Value x) { return cast(x, i64); })),
            (std::vector<std::int64_t>{-1, 1}));
  EXPECT_EQ((apply<std::int32_t>(std::vector<float>{0.0f, 0.5f, kNaN}, [](Value x) { return cast(cast(x, boolean), i32); })),
            (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ((apply<std::int32_t>(std::vector<std::int64_t>{(std::int64_t{1} << 32) + 5}, [](Value x) { return cast(x, i32); }))[0], 5);
  EXPECT_EQ((apply<std::int32_t>(std::vector<float>{1.0f}, [](Value x) { return bitcast(x, i32); }))[0], 0x3f800000);
}

TEST(Interpreter, ArgReduceTakesTheFirstAndNaNWins) {
  const auto position = [](const std::vector<float>& values, Reduction kind) {
    return apply<std::int64_t>(values, [&](Value x) { return arg_reduce(x, 0, kind); })[0];
  };
  EXPECT_EQ(position({1, 3, 3, 0}, Reduction::Max), 1);
  EXPECT_EQ(position({1, 0, 3, 0}, Reduction::Min), 1);
  EXPECT_EQ(position({1, kNaN, 3, kNaN}, Reduction::Max), 1);
  EXPECT_EQ(position({-kInf, 2, kNaN, 0}, Reduction::Min), 2);
}

TEST(Interpreter, ReductionsFollowTheirAxis) {
  const std::vector<std::int32_t> values{1, 2, 3, 4, 5, 6};  // (2, 3)
  const auto over = [&](int axis, Reduction kind) {
    return apply<std::int32_t>(values, [&](Value x) { return reduce(reshape(x, {2, 3}), axis, kind); });
  };
  EXPECT_EQ(over(0, Reduction::Sum), (std::vector<std::int32_t>{5, 7, 9}));
  EXPECT_EQ(over(1, Reduction::Prod), (std::vector<std::int32_t>{6, 120}));
  const auto scanned = apply<std::int32_t>(values, [](Value x) { return scan(reshape(x, {2, 3}), 1, Reduction::Sum); });
  EXPECT_EQ(scanned, (std::vector<std::int32_t>{1, 3, 6, 4, 9, 15}));
  const auto any = apply<std::int32_t>(values, [](Value x) { return cast(reduce(reshape(x, {2, 3}) > 5, 1, Reduction::Any), i32); });
  EXPECT_EQ(any, (std::vector<std::int32_t>{0, 1}));
  const auto turned = apply<std::int32_t>(values, [](Value x) { return transpose(reshape(x, {2, 3})); });
  EXPECT_EQ(turned, (std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Interpreter, SortIsStableAndNaNIsLargest) {
  const std::vector<float> values{2, kNaN, 1, 2, -kInf, 1};
  EXPECT_EQ((apply<std::int64_t>(values, [](Value x) { return argsort(x, 0, false); })), (std::vector<std::int64_t>{4, 2, 5, 0, 3, 1}));
  EXPECT_EQ((apply<std::int64_t>(values, [](Value x) { return argsort(x, 0, true); })), (std::vector<std::int64_t>{1, 0, 3, 2, 5, 4}));
  const auto sorted = apply<float>(values, [](Value x) { return sort(x, 0, true); });
  EXPECT_TRUE(std::isnan(sorted[0]));
  EXPECT_EQ(sorted[1], 2.0f);
  EXPECT_EQ(sorted[5], -kInf);
}

TEST(Interpreter, MaskedLoadsGiveOtherAndTouchNothing) {
  Builder b("masked");
  const Value in = b.pointer("in", f32, false), out = b.pointer("out", f32, true), index = b.arange(0, 4);
  const Value far = in + index * (std::int64_t{1} << 40);  // only element 0 is memory
  b.store(out + index, b.load(far, index < 1, b.constant(7.0, f32)));
  b.store(out + 4 + index, b.load(far, index < 1), index < 2);
  float x = 3;
  std::vector<float> y(8, -1);
  interpret_with(b.finish(), 1, &x, y.data());
  EXPECT_EQ(y, (std::vector<float>{3, 7, 7, 7, 3, 0, -1, -1}));
}

TEST(Interpreter, AtomicAddsAccumulateOverElementsAndInstances) {
  Builder b("atomic");
  const Value out = b.pointer("out", i32, true), index = b.arange(0, 6);
  b.atomic_add(out + index % 2, cast(index + b.program_id(0), i32), index != 5);
  std::vector<std::int32_t> sums(2, 100);
  interpret_with(b.finish(), 2, sums.data());
  EXPECT_EQ(sums, (std::vector<std::int32_t>{100 + 2 * 6 + 3, 100 + 2 * 4 + 2}));
}

TEST(Interpreter, AtomicWordsGiveWhatWasThereBefore) {
  constexpr AtomicKind kKinds[] = {AtomicKind::Add, AtomicKind::Max, AtomicKind::Min,     AtomicKind::And,
                                   AtomicKind::Or,  AtomicKind::Xor, AtomicKind::Exchange};
  constexpr std::int32_t kLeft[] = {12 + 5 + 9, 12, 5, 12 & 5 & 9, 12 | 5 | 9, 12 ^ 5 ^ 9, 9}, kBetween[] = {17, 12, 5, 4, 13, 9, 5};
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    Builder b("atomic");
    const Value out = b.pointer("out", i32, true), olds = b.pointer("olds", i32, true), index = b.arange(0, 3);
    const Value old = b.atomic({kKinds[k]}, out + index * 0, cast(select(index == 0, number(5, index), number(9, index)), i32), index != 2);
    b.store(olds + index, old);
    std::vector<std::int32_t> memory{12}, before(3, -1);
    interpret_with(b.finish(), 1, memory.data(), before.data());
    EXPECT_EQ(memory[0], kLeft[k]) << k;
    EXPECT_EQ(before, (std::vector<std::int32_t>{12, kBetween[k], 0})) << k;
  }
}

TEST(Interpreter, OneOfSeveralTakesALock) {
  Builder b("lock");
  const Value lock = b.pointer("lock", i64, true), olds = b.pointer("olds", i64, true), index = b.arange(0, 4);
  b.store(olds + index, b.atomic({AtomicKind::CompareAndSwap}, lock + index / 2, index + 10, {}, number(0, index)));
  std::vector<std::int64_t> locks{0, 7}, before(4, -1);
  interpret_with(b.finish(), 1, locks.data(), before.data());
  EXPECT_EQ(locks, (std::vector<std::int64_t>{10, 7}));
  EXPECT_EQ(before, (std::vector<std::int64_t>{0, 10, 7, 7}));
}

TEST(Interpreter, AWhileGoesOnSoLongAsItsConditionHolds) {
  Builder b("collatz");
  const Value out = b.pointer("out", i64, true), n = b.scalar("n", i64);
  const auto last = b.while_(n != 1, {n, number(0, n)}, [&](std::span<const Value> c) {
    const Value next = select(c[0] % 2 == 0, c[0] / 2, c[0] * 3 + 1);
    return Builder::Next{next != 1, {next, c[1] + 1}};
  });
  b.store(out, last[1]);
  const Program program = b.finish();
  for (const auto& [from, steps] : {std::pair{1, 0}, {2, 1}, {27, 111}}) {
    std::vector<std::int64_t> result(1);
    interpret_with(program, 1, result.data(), std::int64_t{from});
    EXPECT_EQ(result[0], steps) << from;
  }
}

TEST(Interpreter, RandomBitsAreThoseOfPhilox) {
  const auto bits =
      apply<std::int32_t>(std::vector<std::int64_t>{0, 1, 5, std::int64_t{1} << 40}, [](Value x) { return random_bits(number(42, x), x); });
  EXPECT_EQ(static_cast<std::uint32_t>(bits[1]), philox_word(42, 1));
  EXPECT_EQ(static_cast<std::uint32_t>(bits[3]), philox_word(42, std::uint64_t{1} << 40));
}

TEST(Interpreter, TheFirstFailedAssertIsReported) {
  Builder b("assert");
  const Value index = b.arange(0, 8), limit = b.scalar("limit", i64);
  b.check(index < limit, index, 17);
  b.check(limit > 100, limit, 18);
  const Program program = b.finish();
  const auto run = [&](std::int64_t limit) {
    const runtime::Argument arguments[]{argument(limit)};
    runtime::Failure failure;
    interpret(program, {arguments, {1, 1, 1}}, &failure);
    return failure;
  };
  EXPECT_EQ(run(5).id, 17);
  EXPECT_EQ(run(5).value, 5);
  EXPECT_EQ(run(8).id, 18);
  EXPECT_EQ(run(101).id, -1);
  EXPECT_MENTIONS(message_of([&] { interpret_with(program, 1, std::int64_t{5}); }), "a failed assert, id 17");
}

TEST(Interpreter, LoopsCarryAndBranchesChoose) {
  Builder b("control");
  const Value out = b.pointer("out", i64, true), n = b.scalar("n", i64), one = number(1, n);
  const auto last = b.for_(one, n, number(2, n), {number(0, n), one}, [&](Value i, std::span<const Value> c) {
    const auto even = b.if_(i % 3 == 0, [&] { return std::vector{c[0] * 10}; }, [&] { return std::vector{c[0] + i}; });
    return std::vector<Value>{even[0], c[0]};
  });
  b.store(out, last[0]);
  b.store(out + 1, last[1]);
  const Program program = b.finish();
  std::vector<std::int64_t> result(2);
  interpret_with(program, 1, result.data(), std::int64_t{8});  // i = 1, 3, 5, 7
  EXPECT_EQ(result, (std::vector<std::int64_t>{22, 15}));
  interpret_with(program, 1, result.data(), std::int64_t{1});  // no iteration
  EXPECT_EQ(result, (std::vector<std::int64_t>{0, 1}));
}

}  // namespace
}  // namespace tegula::tile

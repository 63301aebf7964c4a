// Prefetches of loops into shared memory: against the reference interpreter, in either order of threads.

#include "tests/support/emulated_check.h"
#include "tests/support/tile_samples.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

/// Rows' sums of one loop's prefetched values, added to another's: numbers of other sizes, so that other bytes of the ring are a thread's own.
Program added_sums(std::int64_t rows, DType first, DType second) {
  Builder b("added_sums");
  const Value in = b.pointer("in0", first, false), more = b.pointer("in1", second, false), out = b.pointer("out2", f32, true),
              chunks = b.scalar("n0", i64);
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const auto place = [&](Value chunk) {
    return (chunk * b.constant(rows, i64) + col(b.arange(0, rows))) * b.constant(std::int64_t{4}, i64) + tile::row(b.arange(0, 4));
  };
  const Value sums =
      b.for_(zero, chunks, one, {b.full({rows, 1}, 0, f32)}, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
        return {carried[0] + reduce(cast(b.load(in + place(i)), f32), 1, Reduction::Sum)};
      })[0];
  b.for_(zero, chunks, one, {zero}, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
    const Value x = cast(b.load(more + place(i)), f32);
    const Value of_columns = reduce(x, 0, Reduction::Sum);  // threads wait for each other here
    b.store(out + place(i), x + broadcast(sums, x.shape()) + broadcast(of_columns, x.shape()));
    return {carried[0]};
  });
  return b.finish();
}

/// In either order of threads (which changes from launch to launch).
TEST(Prefetch, ALoopDoesNotFetchOverWhatOthersStillRead) {
  constexpr std::int64_t kChunks = 6;
  for (const std::int64_t rows : {5, 100}) {
    for (const auto& [first, second] : {std::pair{f32, bf16}, {bf16, f32}, {f32, f32}, {i64, bf16}}) {
      const auto count = static_cast<std::size_t>(kChunks * rows * 4);
      const Program program = added_sums(rows, first, second);
      for (int launch = 0; launch < 2; ++launch) {
        EXPECT_TRUE(emulation_agrees(program, {TestArgument::filled(first, count, whole), TestArgument::filled(second, count, wave),
                                               TestArgument::empty(f32, count), TestArgument::scalar(kChunks)}))
            << rows << " rows, " << name(first) << " and " << name(second);
      }
      const std::string source = generate(program, {{4, 4, 4, kShort}, false}, 90).source;
      const std::size_t fetched = source.find("// Fetched"), again = source.find("// Fetched", fetched + 1);
      ASSERT_NE(again, std::string::npos) << source;
      const std::size_t met = source.find("__syncthreads", fetched);
      EXPECT_EQ(met < again, size_of(first) != size_of(second))
          << source;  // each thread has bytes of its own where both loops lay them out alike
    }
  }
}

/// Rows times a number of each, of which only the first n1 are there, and the sum over all rows.
Program scaled_rows(std::int64_t rows, std::int64_t columns, DType numbers) {
  Builder b("scaled_rows");
  const Value in = b.pointer("in0", f32, false), factors = b.pointer("in1", numbers, false), out = b.pointer("out2", f32, true),
              sums = b.pointer("out3", f32, true), chunks = b.scalar("n0", i64), limit = b.scalar("n1", i64);
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const Value across = tile::row(b.arange(0, columns));
  const Value total =
      b.for_(zero, chunks, one, {b.full({1, columns}, 0, f32)}, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
        const Value row = i * b.constant(rows, i64) + col(b.arange(0, rows)), there = row < limit;
        const Value place = row * b.constant(columns, i64) + across;
        const Value mask = broadcast(there, {rows, columns});
        const Value x = b.load(in + place, mask) * cast(b.load(factors + row, there), f32);
        b.store(out + place, x, mask);
        return {carried[0] + reduce(x, 0, Reduction::Sum)};
      })[0];
  b.store(sums + across, total);
  return b.finish();
}

// A number for each row comes ahead with the rows: an iteration would wait for it, however far ahead the rows are.
TEST(Prefetch, NumbersOfRowsComeWithTheRows) {
  constexpr std::int64_t kChunks = 5, kColumns = 64;
  for (const std::int64_t rows : {4, 5, 8}) {
    for (const DType numbers : {f32, i64, bf16}) {
      const auto count = static_cast<std::size_t>(kChunks * rows);
      const Program program = scaled_rows(rows, kColumns, numbers);
      for (const std::int64_t limit : {kChunks * rows, kChunks * rows - 3}) {
        EXPECT_TRUE(
            emulation_agrees(program, {TestArgument::filled(f32, count * kColumns, wave), TestArgument::filled(numbers, count, whole),
                                       TestArgument::empty(f32, count * kColumns), TestArgument::empty(f32, kColumns),
                                       TestArgument::scalar(kChunks), TestArgument::scalar(limit)}))
            << rows << " rows, " << name(numbers) << ", " << limit;
      }
      const std::string source = generate(program, {{4, 4, 4, 4, kShort, kShort}, false}, 90).source;
      EXPECT_EQ(source.find("copy_ahead<1, 1>") != std::string::npos, numbers != bf16) << source;  // two bytes cannot be copied alone
    }
  }
}

}  // namespace
}  // namespace tegula::gpu

#include "tests/support/tile_samples.h"

#include "tegula/tile/builder.h"

namespace tegula::gpu {

using namespace tegula::tile;
using host::TestArgument;

Program softmax(Shape2 tile, DType dtype) {
  Builder b("softmax");
  const Value in = b.pointer("in0", dtype, false), out = b.pointer("out1", dtype, true), n = b.scalar("n0", i64),
              pitch = b.scalar("s0_0", i64);
  const Value row = col(b.program_id(0) * b.constant(tile.rows, i64) + b.arange(0, tile.rows)),
              column = tile::row(b.arange(0, tile.columns));
  const Value mask = row < n, x = b.load(in + (row * pitch + column), mask);
  const Value e = unary(Word::Exp2, x - reduce(x, 1, Reduction::Max));
  b.store(out + (row * pitch + column), e / reduce(e, 1, Reduction::Sum), mask);
  return b.finish();
}

Program weighted_rows(Shape2 tile, DType dtype) {
  Builder b("weighted_rows");
  const Value in = b.pointer("in0", dtype, false), weight = b.pointer("in1", dtype, false), labels = b.pointer("in2", i64, false),
              out = b.pointer("out3", dtype, true), squares = b.pointer("out4", f32, true), pitch = b.scalar("s0_0", i64);
  const Value row = col(b.program_id(0) * b.constant(tile.rows, i64) + b.arange(0, tile.rows)),
              column = tile::row(b.arange(0, tile.columns));
  const Value x = b.load(in + (row * pitch + column)), shifted = x - reduce(x, 1, Reduction::Max);
  const Value e = unary(Word::Exp2, shifted), sum = reduce(e, 1, Reduction::Sum), square = reduce(x * x, 1, Reduction::Sum);
  const Value here = select(column == b.load(labels + row), b.full({1, 1}, 1, f32), b.full({1, 1}, 0, f32));
  b.store(out + (row * pitch + column), narrow(x * (e / sum) * b.load(weight + column) - here, dtype));
  b.store(squares + row, square);
  return b.finish();
}

Program column_sums(std::int64_t rows, std::int64_t columns) {
  Builder b("column_sums");
  const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), n = b.scalar("n0", i64), width = b.scalar("n1", i64),
              chunks = b.scalar("chunks", i64);
  const Value column = tile::row(b.program_id(0) * b.constant(columns, i64) + b.arange(0, columns)), inside = column < width;
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const auto sums =
      b.for_(zero, chunks, one, {b.full({1, columns}, 0, f32)}, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
        const Value row = col(i * b.constant(rows, i64) + b.arange(0, rows));
        const Value mask = row < n && inside;
        const Value x = b.load(in + (row * width + column), mask);
        return {carried[0] + reduce(x, 0, Reduction::Sum)};
      });
  b.store(out + column, sums[0], inside);
  return b.finish();
}

Program weighted_softmax(std::int64_t columns, DType dtype) {
  Builder b("weighted_softmax");
  const Value in = b.pointer("in0", dtype, false), weight = b.pointer("in1", dtype, false), out = b.pointer("out2", dtype, true),
              squares = b.pointer("out3", f32, true), pitch = b.scalar("s0_0", i64);
  const Value row = b.program_id(0), column = b.arange(0, columns);
  const Value x = b.load(in + (row * pitch + column)), shifted = x - broadcast(reduce(x, 0, Reduction::Max), x.shape());
  const Value e = unary(Word::Exp2, shifted), sum = reduce(e, 0, Reduction::Sum), square = reduce(x * x, 0, Reduction::Sum);
  const Value y = x * (e / broadcast(sum, e.shape())) * b.load(weight + column);
  b.store(out + (row * pitch + column), narrow(y, dtype));
  b.store(squares + row, reshape(square, {}));
  return b.finish();
}

Program walked_rows(std::int64_t rows, std::int64_t columns, DType dtype) {
  Builder b("walked_rows");
  const Value in = b.pointer("in0", dtype, false), other = b.pointer("in1", dtype, false), out = b.pointer("out2", f32, true),
              first = b.pointer("out3", f32, true), second = b.pointer("out4", f32, true), pitch = b.scalar("s0_0", i64),
              tiles = b.scalar("n0", i64);
  const Value column = tile::row(b.arange(0, columns)), nothing = b.full({1, columns}, 0, f32);
  const Value zero = b.constant(std::int64_t{0}, i64), one = b.constant(std::int64_t{1}, i64);
  const auto sums = b.for_(zero, tiles, one, {nothing, nothing}, [&](Value i, std::span<const Value> carried) -> std::vector<Value> {
    const Value place = col(i * b.constant(rows, i64) + b.arange(0, rows)) * pitch + column;
    const Value x = b.load(in + place), y = b.load(other + place);
    const Value along = reduce(x, 1, Reduction::Sum), product = reduce(x * y, 1, Reduction::Sum);
    b.store(out + place, y * broadcast(along, y.shape()) + x * broadcast(product, x.shape()));
    return {carried[0] + reduce(y, 0, Reduction::Sum), carried[1] + reduce(x * y, 0, Reduction::Sum)};
  });
  b.store(first + column, sums[0]);
  b.store(second + column, sums[1]);
  return b.finish();
}

Program product_of_a_row(DType dtype, bool unwritten) {
  Builder builder("product");
  const Value x = builder.pointer("x", dtype, false), w = builder.pointer("w", dtype, false), b = builder.pointer("b", dtype, false),
              y = builder.pointer("y", dtype, true);
  const Value row = col(builder.arange(0, kProductRows)),
              column = tile::row(builder.program_id(0) * builder.constant(kProductColumns, i64) + builder.arange(0, kProductColumns));
  const Value factor = builder.load(x + row);
  const Value weight = builder.load(w + (row * builder.constant(2 * kProductColumns, i64) + column));
  const Value sum = reduce(factor * weight, 0, Reduction::Sum);
  builder.store(y + column, sum + builder.load(b + column));
  Program program = builder.finish();
  program.early = true;
  program.parameters[1].unwritten = program.parameters[2].unwritten = unwritten;
  return program;
}

namespace {

Value count_of(Builder& b, std::int64_t number) { return b.constant(number, i64); }

}  // namespace

Program tiled_product(Tile3 tile, DType stored, bool carried) {
  Builder b(carried ? "matmul_carried" : "matmul");
  const DType type = compute_type(stored);
  const Value pa = b.pointer("in0", stored, false), pb = b.pointer("in1", stored, false), pc = b.pointer("out2", type, true);
  const Value M = b.scalar("n0", i64), N = b.scalar("n1", i64), K = b.scalar("n2", i64), step = count_of(b, tile.k);
  const Value m = col(b.program_id(0) * count_of(b, tile.m) + b.arange(0, tile.m)),
              n = tile::row(b.program_id(1) * count_of(b, tile.n) + b.arange(0, tile.n));
  const Value k = b.arange(0, tile.k), nothing = b.full({tile.m, tile.n}, 0, type);
  std::vector<Value> initial{nothing};
  if (carried) initial.insert(initial.end(), {pa + (m * K + tile::row(k)), pb + (col(k) * N + n)});
  const Value sum = b.for_(count_of(b, 0), K, step, initial, [&](Value at, std::span<const Value> now) -> std::vector<Value> {
    const Value left = K - at;
    const Value a = carried ? now[1] : pa + (m * K + tile::row(at + k)), w = carried ? now[2] : pb + (col(at + k) * N + n);
    const Value next = dot(b.load(a, m < M && tile::row(k) < left), b.load(w, col(k) < left && n < N), now[0]);
    if (!carried) return {next};
    return {next, a + step, w + step * N};
  })[0];
  b.store(pc + (m * N + n), sum, m < M && n < N);
  return b.finish();
}

namespace {

Sample product(std::string name, DType stored, bool carried) {
  constexpr std::int64_t kM = 37, kN = 41, kK = 29;
  return {
      std::move(name),
      tiled_product({16, 32, 8}, stored, carried),
      {TestArgument::filled(stored, kM * kK, whole), TestArgument::filled(stored, kK * kN, whole),
       TestArgument::empty(compute_type(stored), kM * kN), TestArgument::scalar(kM), TestArgument::scalar(kN), TestArgument::scalar(kK)},
      {.grids = {{3, 2, 1}}}};
}

/// Causal attention of T queries to base 2, sixteen an instance, over keys that come eight at a time.
Program attention() {
  constexpr std::int64_t kDepth = 8, kQueries = 16, kKeys = 8;
  Builder b("attention");
  const Value q = b.pointer("in0", f32, false), keys = b.pointer("in1", f32, false), v = b.pointer("in2", f32, false),
              out = b.pointer("out3", f32, true), T = b.scalar("n0", i64), depth = count_of(b, kDepth);
  const Value m = b.program_id(0) * count_of(b, kQueries) + b.arange(0, kQueries), d = tile::row(b.arange(0, kDepth)), inside = col(m) < T;
  const Value query = b.load(q + (col(m) * depth + d), inside);
  const Value low = b.full({kQueries, 1}, -INFINITY, f32);
  const std::vector<Value> initial{low, b.full({kQueries, 1}, 0, f32), b.full({kQueries, kDepth}, 0, f32)};
  const auto done =
      b.for_(count_of(b, 0), T, count_of(b, kKeys), initial, [&](Value first, std::span<const Value> now) -> std::vector<Value> {
        const Value n = first + b.arange(0, kKeys), there = col(n) < T;
        const Value scores = dot(query, transpose(b.load(keys + (col(n) * depth + d), there)), b.full({kQueries, kKeys}, 0, f32));
        const Value seen = select(col(m) >= tile::row(n) && tile::row(n) < T, scores, b.full({kQueries, kKeys}, -INFINITY, f32));
        const Value top = binary(Word::Max, now[0], reduce(seen, 1, Reduction::Max)), p = unary(Word::Exp2, seen - top);
        const Value factor = unary(Word::Exp2, now[0] - top);
        return {top, now[1] * factor + reduce(p, 1, Reduction::Sum), dot(p, b.load(v + (col(n) * depth + d), there), now[2] * factor)};
      });
  b.store(out + (col(m) * depth + d), done[2] / done[1], inside);
  return b.finish();
}

/// A tile, transposed; its sums in groups of rows; and a line of another length: shapes beside the one that the program is about.
Program shapes() {
  constexpr std::int64_t kRows = 8, kColumns = 24;
  Builder b("shapes");
  const Value in = b.pointer("in0", f32, false), turned = b.pointer("out1", f32, true), groups = b.pointer("out2", f32, true),
              line = b.pointer("out3", i64, true), pitch = b.scalar("s0", i64);
  const Value place = col(b.arange(0, kRows)) * pitch + tile::row(b.arange(0, kColumns)), x = b.load(in + place);
  b.store(turned + (col(b.arange(0, kColumns)) * count_of(b, kRows) + tile::row(b.arange(0, kRows))), transpose(x));
  const Value three = reshape(x, {2, kRows / 2, kColumns}), sums = reduce(three, 1, Reduction::Sum);
  b.store(groups + (reshape(b.arange(0, 2), {2, 1, 1}) * count_of(b, kColumns) + reshape(b.arange(0, kColumns), {1, 1, kColumns})), sums);
  b.store(groups + (place + count_of(b, 2 * kColumns)), reshape(broadcast(sums, three.shape()) - three, {kRows, kColumns}));
  b.store(line + b.arange(0, 7), b.arange(0, 7) * pitch);
  return b.finish();
}

enum class Across : std::uint8_t { Sort, Scan };
Program across(Across what, DType dtype) {
  constexpr std::int64_t kRows = 5, kColumns = 37;
  Builder b(what == Across::Sort ? "sorts" : "scans");
  const Value in = b.pointer("in0", dtype, false), out = b.pointer("out1", dtype, true), places = b.pointer("out2", i64, true);
  const Value at = col(b.arange(0, kRows)) * count_of(b, kColumns) + tile::row(b.arange(0, kColumns)), x = b.load(in + at),
              size = count_of(b, kRows * kColumns);
  for (const int axis : {0, 1}) {
    if (what == Across::Sort) {
      b.store(out + (at + size * axis), sort(x, axis, axis == 1));
      b.store(places + (at + size * axis), argsort(x, axis, axis == 0));
    } else {
      b.store(out + (at + size * axis), scan(x, axis, Reduction::Sum) + scan(x, axis, Reduction::Max));
      b.store(places + (at + size * axis), broadcast(arg_reduce(x, axis, axis == 0 ? Reduction::Max : Reduction::Min), x.shape()));
    }
  }
  return b.finish();
}

Sample across_a_tile(std::string name, Across what, DType dtype) {
  const auto value = [=](std::size_t i) { return what == Across::Sort && i % 11 == 3 ? NAN : static_cast<double>(i * 29 % 17) - 8; };
  return {std::move(name),
          across(what, dtype),
          {TestArgument::filled(dtype, 5 * 37, value), TestArgument::empty(dtype, 2 * 5 * 37), TestArgument::empty(i64, 2 * 5 * 37)}};
}

/// Rows added to those that an index names; the last instance is not full.
Sample sums_by_index(std::string name, DType dtype) {
  Builder b("sums_by_index");
  const Value index = b.pointer("in0", i64, false), source = b.pointer("in1", dtype, false), out = b.pointer("out2", dtype, true),
              n = b.scalar("n0", i64);
  const Value row = col(b.program_id(0) * 8 + b.arange(0, 8)), column = tile::row(b.arange(0, 24)), mask = row < n;
  b.atomic_add(out + (b.load(index + row, mask) * 24 + column), b.load(source + (row * 24 + column), mask), mask);
  return {std::move(name),
          b.finish(),
          {TestArgument::filled(i64, 30, [](std::size_t i) { return static_cast<double>(i % 3); }),
           TestArgument::filled(dtype, 30 * 24, wave), TestArgument::filled(dtype, 3 * 24, wave), TestArgument::scalar(30)},
          {.grids = {{4, 1, 1}}}};
}

Sample stores_by_index() {
  Builder b("stores_by_index");
  const Value index = b.pointer("in0", i64, false), out = b.pointer("out1", f32, true), i = b.arange(0, 1000);
  b.store(out + b.load(index + i), cast(i, f32));
  return {"stores_by_index",
          b.finish(),
          {TestArgument::filled(i64, 1000, [](std::size_t k) { return static_cast<double>(k * 7 % 50); }), TestArgument::empty(f32, 50)}};
}

/// x = from * rate; several sets store the same numbers in the same places.
Sample scaled(std::string name, std::vector<std::array<std::int64_t, 3>> grids, bool guarded) {
  Builder b("scaled");
  const Value from = b.pointer("in0", bf16, false), x = b.pointer("out1", f32, true), n = b.scalar("n0", i64), rate = b.scalar("c0", f32);
  const Value at = tile::row(b.program_id(0) * 512 + b.arange(0, 512)), mask = at < n;
  b.store(x + at, b.load(from + at, mask) * rate, mask);
  return {std::move(name),
          b.finish(),
          {TestArgument::filled(bf16, 1300, wave), TestArgument::empty(f32, 1300), TestArgument::scalar(1300), TestArgument::scalar(0.5)},
          {.grids = std::move(grids)},
          guarded};
}

Sample softmax_of(std::string name, Shape2 tile, DType dtype, std::int64_t rows) {
  const auto count = static_cast<std::size_t>(rows * tile.columns);
  return {std::move(name),
          softmax(tile, dtype),
          {TestArgument::filled(dtype, count, whole), TestArgument::empty(dtype, count), TestArgument::scalar(static_cast<double>(rows)),
           TestArgument::scalar(static_cast<double>(tile.columns))},
          {.grids = {{(rows + tile.rows - 1) / tile.rows, 1, 1}}}};
}

Sample rows_of_a_cluster(std::string name, Shape2 tile, DType dtype) {
  const auto rows = static_cast<std::size_t>(2 * tile.rows), once = static_cast<std::size_t>(tile.columns), count = rows * once;
  return {std::move(name),
          weighted_rows(tile, dtype),
          {TestArgument::filled(dtype, count, whole), TestArgument::filled(dtype, once, wave),
           TestArgument::filled(i64, rows, [=](std::size_t i) { return static_cast<double>(7919 * i % once); }),
           TestArgument::empty(dtype, count), TestArgument::empty(f32, rows), TestArgument::scalar(static_cast<double>(tile.columns))},
          {.grids = {{2, 1, 1}}}};
}

Sample row_in_shared_memory(std::string name, std::int64_t columns, DType dtype, bool guarded) {
  const auto once = static_cast<std::size_t>(columns), count = 2 * once;
  return {std::move(name),
          weighted_softmax(columns, dtype),
          {TestArgument::filled(dtype, count, whole), TestArgument::filled(dtype, once, wave), TestArgument::empty(dtype, count),
           TestArgument::empty(f32, 2), TestArgument::scalar(static_cast<double>(columns))},
          {.grids = {{2, 1, 1}}},
          guarded};
}

Sample early_product(std::string name, DType dtype, bool guarded) {
  const auto small = [](int m) { return [=](std::size_t k) { return static_cast<double>(k % static_cast<std::size_t>(m)) - 2; }; };
  return {std::move(name),
          product_of_a_row(dtype, true),
          {TestArgument::filled(dtype, kProductRows, small(5)), TestArgument::filled(dtype, kProductRows * 2 * kProductColumns, small(7)),
           TestArgument::filled(dtype, 2 * kProductColumns, small(3)), TestArgument::empty(dtype, 2 * kProductColumns)},
          {.grids = {{2, 1, 1}}},
          guarded};
}

Sample sums_of_columns(std::string name, std::int64_t width, bool guarded) {
  constexpr std::int64_t kRows = 70;
  return {
      std::move(name),
      column_sums(16, 256),
      {TestArgument::filled(f32, static_cast<std::size_t>(kRows * width), whole), TestArgument::empty(f32, static_cast<std::size_t>(width)),
       TestArgument::scalar(kRows), TestArgument::scalar(static_cast<double>(width)), TestArgument::scalar(5)},
      {.grids = {{2, 1, 1}}},
      guarded};
}

Sample walk_over_rows(std::string name, Shape2 tile, DType dtype) {
  constexpr std::int64_t kTiles = 5;
  const auto count = static_cast<std::size_t>(kTiles * tile.rows * tile.columns), columns = static_cast<std::size_t>(tile.columns);
  return {std::move(name),
          walked_rows(tile.rows, tile.columns, dtype),
          {TestArgument::filled(dtype, count, whole),
           TestArgument::filled(dtype, count, [](std::size_t i) { return static_cast<double>(i % 5) - 1; }),
           TestArgument::empty(f32, count), TestArgument::empty(f32, columns), TestArgument::empty(f32, columns),
           TestArgument::scalar(static_cast<double>(tile.columns)), TestArgument::scalar(kTiles)}};
}

/// Lines copied one after another by pointers that are carried: forwards from the first, and, added to it, backwards from the last.
Sample carried_lines() {
  constexpr std::int64_t kLines = 9, kColumns = 300, kPitch = 304;
  Builder b("carried_lines");
  const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), lines = b.scalar("n0", i64),
              pitch = b.scalar("s0", i64), columns = b.scalar("n1", i64);
  const Value column = tile::row(b.arange(0, 512)), mask = column < columns, one = count_of(b, 1);
  const Value last = (lines - one) * pitch;
  const auto ends = b.for_(count_of(b, 0), lines, one, {in + column, in + (column + last), out + column, count_of(b, 7)},
                           [&](Value, std::span<const Value> now) -> std::vector<Value> {
                             b.store(now[2], b.load(now[0], mask) + b.load(now[1], mask) + cast(now[3], f32), mask);
                             return {now[0] + pitch, now[1] - pitch, now[2] + pitch, now[3] + 3};
                           });
  b.store(out + (lines * pitch + b.arange(0, 1)), broadcast(cast(ends[3], f32), {1}));
  return {"carried_lines",
          b.finish(),
          {TestArgument::filled(f32, kLines * kPitch, whole), TestArgument::empty(f32, kLines * kPitch + 8), TestArgument::scalar(kLines),
           TestArgument::scalar(kPitch), TestArgument::scalar(kColumns)}};
}

/// A branch in a loop in a loop, with values that each of them carries.
Sample branches() {
  Builder b("branches");
  const Value in = b.pointer("in0", f32, false), out = b.pointer("out1", f32, true), n = b.scalar("n0", i64), column = b.arange(0, 100);
  const Value zero = count_of(b, 0), one = count_of(b, 1);
  const auto sums = b.for_(zero, n, one, {b.full({100}, 0, f32), zero}, [&](Value i, std::span<const Value> outer) -> std::vector<Value> {
    const auto inner = b.for_(i, n, count_of(b, 2), {outer[0]}, [&](Value j, std::span<const Value> now) -> std::vector<Value> {
      const Value x = b.load(in + (j * 100 + column));
      return b.if_(
          i < j, [&] { return std::vector<Value>{now[0] + x}; },
          [&] { return std::vector<Value>{now[0] * 2 - broadcast(reduce(x, 0, Reduction::Max), x.shape())}; });
    });
    return {inner[0], outer[1] + i};
  });
  b.store(out + column, sums[0] + cast(sums[1], f32));
  return {"branches", b.finish(), {TestArgument::filled(f32, 1700, whole), TestArgument::empty(f32, 100), TestArgument::scalar(17)}};
}

/// Random words, a check that holds, and integers that are divided.
Sample words() {
  Builder b("words");
  const Value out = b.pointer("out0", i32, true), seed = b.scalar("n0", i64), n = b.scalar("n1", i64);
  const Value at = tile::row(b.program_id(0) * 1024 + b.arange(0, 1024)), mask = at < n, bits = random_bits(seed, at);
  b.check(at >= 0, at, 5);
  b.store(out + at, bits + cast(at / 3 + at % 3, i32), mask);
  return {
      "words", b.finish(), {TestArgument::empty(i32, 1500), TestArgument::scalar(77), TestArgument::scalar(1500)}, {.grids = {{2, 1, 1}}}};
}

Sample attention_sample() {
  constexpr std::int64_t kLength = 21;
  const auto small = [](std::size_t i) { return static_cast<double>(i * 37 % 3) - 1; };
  return {"attention",
          attention(),
          {TestArgument::filled(f32, kLength * 8, small), TestArgument::filled(f32, kLength * 8, small),
           TestArgument::filled(f32, kLength * 8, whole), TestArgument::empty(f32, kLength * 8), TestArgument::scalar(kLength)},
          {.grids = {{2, 1, 1}}}};
}

Sample shapes_sample() {
  return {"shapes",
          shapes(),
          {TestArgument::filled(f32, 8 * 28, whole), TestArgument::empty(f32, 8 * 24), TestArgument::empty(f32, 2 * 24 + 8 * 28),
           TestArgument::empty(i64, 7), TestArgument::scalar(28)}};
}

}  // namespace

std::vector<Sample> samples() {
  std::vector<Sample> all{product("dot_f32", f32, false),
                          product("dot_f64", f64, false),
                          product("dot_bf16", bf16, false),
                          product("dot_carried_pointers", f32, true),
                          attention_sample(),
                          shapes_sample(),
                          across_a_tile("sorts_f32", Across::Sort, f32),
                          across_a_tile("sorts_i64", Across::Sort, i64),
                          across_a_tile("scans", Across::Scan, f32),
                          sums_by_index("ordered_sums_f32", f32),
                          sums_by_index("ordered_sums_bf16", bf16),
                          sums_by_index("integer_sums_i32", i32),
                          sums_by_index("integer_sums_i64", i64),
                          stores_by_index(),
                          scaled("many_sets", {{1, 1, 1}, {3, 1, 1}, {2, 1, 1}}, false),
                          scaled("many_sets_guarded", {{3, 1, 1}, {1, 1, 1}}, true),
                          scaled("guarded", {{3, 1, 1}}, true),
                          softmax_of("masked_rows", {4, 1000}, f32, 9),
                          softmax_of("cluster_row", {1, 40000}, f32, 2),
                          rows_of_a_cluster("cluster_rows_bf16", {2, 40008}, bf16),
                          row_in_shared_memory("staged_row_bf16", 20000, bf16, false),
                          row_in_shared_memory("staged_row_guarded", 10008, f32, true),
                          early_product("early_bf16", bf16, false),
                          early_product("early_guarded", f32, true),
                          sums_of_columns("column_sums_in_chunks", 300, false),
                          sums_of_columns("column_sums_guarded", 37, true),
                          walk_over_rows("walked_rows_bf16", {8, 512}, bf16),
                          walk_over_rows("walked_row_f32", {1, 1536}, f32),
                          carried_lines(),
                          branches(),
                          words()};
  for (Sample& one : word_samples()) all.push_back(std::move(one));
  return all;
}

}  // namespace tegula::gpu

// Rows that end within a vector, or within the threads' step, in every dtype: the memory behind them is neither read nor changed.

#include <map>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tests/support/emulated_check.h"

namespace tegula::gpu {
namespace {

using namespace tegula::tile;

/// A row less its sum, times a weight that only the last pass reads: it is read as vectors of elements as they lie there.
Program weighted_row(std::int64_t columns, DType dtype, DType weights) {
  Builder b("weighted_row");
  const DType type = compute_type(dtype);
  const Value in = b.pointer("in0", dtype, false), weight = b.pointer("in1", weights, false), out = b.pointer("out2", dtype, true),
              pitch = b.scalar("s0_0", i64);
  const Value row = b.program_id(0), column = b.arange(0, columns);
  const Value x = b.load(in + (row * pitch + column)), factor = cast(b.load(weight + column), type);
  b.store(out + (row * pitch + column), (x - broadcast(reduce(x, 0, Reduction::Sum), x.shape())) * factor);
  return b.finish();
}

struct Row {
  DType dtype, weights;
  std::int64_t columns, pitch;
};

std::vector<Row> rows() {
  std::vector<Row> rows;
  for (const DType dtype : {f32, f64, f16, bf16})
    for (const DType weights : {dtype, boolean, i8, i64})
      for (const std::int64_t columns : {300, 1000, 1008, 1003}) rows.push_back({dtype, weights, columns, columns});
  return rows;
}

std::string name_of(const Row& row) {
  return std::string(name(row.dtype)) + " " + std::string(name(row.weights)) + " " + std::to_string(row.columns);
}

TEST(VectorTails, AreEmulated) {
  for (const Row& row : rows()) {
    const auto count = static_cast<std::size_t>(2 * row.pitch), once = static_cast<std::size_t>(row.columns);
    const auto whole = [](std::size_t i) { return static_cast<double>(i * 37 % 7) - 3; };
    EXPECT_TRUE(emulation_agrees(weighted_row(row.columns, row.dtype, row.weights),
                                 {TestArgument::filled(row.dtype, count, whole), TestArgument::filled(row.weights, once, whole),
                                  TestArgument::empty(row.dtype, count), TestArgument::scalar(static_cast<double>(row.pitch))},
                                 {.grids = {{2, 1, 1}}}))
        << name_of(row);
  }
}

TEST(VectorTails, Compile) {
  if (std::string why; !nvrtc_available(&why)) GTEST_SKIP() << "skipped: " << why;
  std::map<std::string, std::string> kernels;  // by name: equal ones are one
  bool has_tail = false;
  for (const Row& row : rows()) {
    const Program program = weighted_row(row.columns, row.dtype, row.weights);
    for (const std::uint8_t known : {4, 2, 0}) {
      const Generated code = generate(program, {{known, known, known, known}, false}, 90);
      has_tail = has_tail || code.source.find(", 4, true>((in1 + col), x") != std::string::npos;
      kernels.emplace(code.name, code.source);
    }
  }
  std::string all;
  for (const auto& [name, source] : kernels) all += source;
  EXPECT_TRUE(has_tail);
  EXPECT_GT(compile_cubin(with_prelude(all), 90).size(), 1000u);
}

}  // namespace
}  // namespace tegula::gpu

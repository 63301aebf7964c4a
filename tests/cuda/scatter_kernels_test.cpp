// The plain kernels of sums by index, emulated: without a GPU, and with every order of threads that barriers allow.

#include <gtest/gtest.h>

#include "tegula/cuda/handwritten/plain_scatter.h"
#include "tests/support/emulator.h"
#include "tests/support/library.h"

namespace tegula::gpu {
namespace {

using runtime::ScatterSum;
using test::Named;

class EmulatedScatterSum final : public runtime::Call {
 public:
  explicit EmulatedScatterSum(const ScatterSum& d) : kernels_(scatter_kernels(d)) {}
  std::size_t scratch_bytes() const override { return kernels_.scratch_bytes; }
  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    kernels_.run(buffers, options.scratch, [&](std::size_t k, std::initializer_list<void*> pointers) {
      if (kernels_.kernels[k].blocks > 0) emulate(kernels_.kernels[k], {pointers.begin(), pointers.size()});
    });
  }
  std::string describe() const override { return kernels_.kernels.back().source.substr(0, 400); }

 private:
  ScatterKernels kernels_;
};

void check(const ScatterSum& d, Named named) {
  const EmulatedScatterSum call(d);
  test::expect_scatter_sum(runtime::cpu(), call, d, test::random_rows(named, d.count, d.length), 1);
}

TEST(ScatterKernels, RowsOfAllLengthsInAnyOrder) {
  check({.dtype = f32, .outer = 1, .count = 2500, .length = 700, .width = 8}, Named::Anything);   // two passes, three tiles
  check({.dtype = f64, .outer = 1, .count = 1500, .length = 3, .width = 5}, Named::Anything);     // all rows reach over pieces
  check({.dtype = i8, .outer = 3, .count = 300, .length = 40, .width = 3}, Named::FewRows);
  check({.dtype = i64, .outer = 2, .count = 1100, .length = 1100, .width = 2}, Named::EachOnce);
  check({.dtype = f32, .outer = 1, .count = 200, .length = 70000, .width = 1}, Named::Anything);  // three passes
}

TEST(ScatterKernels, OneRowTakesAll) {
  check({.dtype = f32, .outer = 1, .count = 3000, .length = 50, .width = 4}, Named::OneRow);
  check({.dtype = i32, .outer = 1, .count = 64, .length = 1, .width = 16}, Named::OneRow);
  check({.dtype = i32, .outer = 1, .count = 128, .length = 2, .width = 1}, Named::OneRow);
}

TEST(ScatterKernels, NothingNamedGivesZeros) { check({.dtype = f32, .outer = 2, .count = 0, .length = 9, .width = 5}, Named::Anything); }

}  // namespace
}  // namespace tegula::gpu

// Library calls that every machine must refuse (runtime/checks.h).

#include "tegula/runtime/checks.h"

#include <gtest/gtest.h>

#include "tegula/core/error.h"
#include "tests/io/files.h"

namespace tegula::runtime {
namespace {

Matmul products(std::int64_t a, std::int64_t b, std::int64_t c) {
  return Matmul::of(f32, Layout::dense({a, 3, 4}), Layout::dense({b, 4, 5}), Layout::dense({c, 3, 5}));
}

TEST(LibraryChecks, OperandsHaveTheBatchOfTheResultOrOne) {
  EXPECT_NO_THROW(check(products(4, 4, 4)));
  EXPECT_NO_THROW(check(products(1, 4, 4)));
  EXPECT_NO_THROW(check(products(4, 1, 4)));
  EXPECT_ERROR(check(products(2, 4, 4)), "batch axes (2, 3, 4), expected those of (4, 3, 5)");
  EXPECT_ERROR(check(products(4, 3, 4)), "batch axes (3, 4, 5)");
  EXPECT_ERROR(check(products(8, 4, 4)), "batch axes (8, 3, 4)");
}

TEST(LibraryChecks, OperandsAreOfOneDtypeOrBothCodes) {
  Matmul d = Matmul::of(f32, Layout::dense({3, 4}), Layout::dense({4, 5}), Layout::dense({3, 5}));
  EXPECT_NO_THROW(check(d));
  d.a.dtype = bf16;
  EXPECT_ERROR(check(d), "operands of bf16 and f32 into f32, expected one dtype, or two operands in codes of E4M3");
  d.a = {u8, d.a.layout, Scale::Factor}, d.b = {u8, d.b.layout, Scale::Factor};
  EXPECT_NO_THROW(check(d));
  d.b.scale = Scale::None;
  EXPECT_ERROR(check(d), "operands of u8 and u8 into f32");
}

TEST(LibraryChecks, ADeviceWithoutTheCallSaysSo) {
  EXPECT_TRUE(cpu().candidates(HostTurn{}).empty());
  EXPECT_ERROR(cpu().make(HostTurn{}), "cpu: got a description of host_turn, expected one of a call that this device has");
  EXPECT_ERROR(cpu().make({}), "cpu: got a description of a call");
}

Convolution grouped(std::int64_t inputs, std::int64_t outputs, std::int64_t groups) {
  return {.input = {f32, Layout::dense({1, inputs, 9})},
          .weight = {f32, Layout::dense({outputs, inputs / groups, 3})},
          .output = {f32, Layout::dense({1, outputs, 7})},
          .stride = {1},
          .dilation = {1},
          .pad_low = {0},
          .pad_high = {0},
          .groups = groups};
}

TEST(LibraryChecks, OperandsAreOfOneDtype) {
  Convolution image = grouped(4, 6, 2);
  image.weight.dtype = bf16;
  EXPECT_ERROR(check(image), "convolution: got operands of several dtypes");
  Pooling pooling{.input = {f32, Layout::dense({1, 2, 4})},
                  .output = {f32, Layout::dense({1, 2, 2})},
                  .window = {2},
                  .stride = {2},
                  .dilation = {1},
                  .pad_low = {0},
                  .pad_high = {0}};
  EXPECT_NO_THROW(check(pooling));
  pooling.taps.dtype = f32;
  EXPECT_ERROR(check(pooling), "pooling: got operands of several dtypes");
  const Operand heads{f32, Layout::dense({1, 2, 4, 8})};
  Attention attention{.q = heads, .k = heads, .v = heads, .mask = Operand{boolean, Layout::dense({1, 2, 4, 4})}};
  EXPECT_NO_THROW(cpu().make(attention));
  attention.mask->dtype = f32;
  EXPECT_ERROR(cpu().make(attention), "attention: got operands of several dtypes");
}

TEST(LibraryChecks, EveryGroupHasAsManyOutputs) {
  EXPECT_NO_THROW(check(grouped(4, 6, 2)));
  EXPECT_ERROR(check(grouped(4, 3, 2)), "in 2 groups");
  EXPECT_ERROR(check(grouped(5, 6, 2)), "in 2 groups");
}

}  // namespace
}  // namespace tegula::runtime

// The types of words of two operands are Triton's.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tegula/tile/language/promotion.h"

namespace tegula::tile {
namespace {

// The results of triton.language.semantic (3.9), computation_type_impl, rows and columns in the order of kAllDTypes; "-": refused.
const char* const kTiles = R"(
    f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
    f64  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16
    f64  f32  f16  bf16 f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f16  f32  e4m3 f16  -    -    -    -    -    -    -    -    -
    f64  f32  f16  f32  f16  e5m2 -    -    -    -    -    -    -    -    -
    f64  f32  f16  f32  -    -    i64  i64  i64  i64  u64  i64  i64  i64  i64
    f64  f32  f16  f32  -    -    i64  i32  i32  i32  u64  u32  i32  i32  i32
    f64  f32  f16  f32  -    -    i64  i32  i16  i16  u64  u32  u16  i16  i16
    f64  f32  f16  f32  -    -    i64  i32  i16  i8   u64  u32  u16  u8   i8
    f64  f32  f16  f32  -    -    u64  u64  u64  u64  u64  u64  u64  u64  u64
    f64  f32  f16  f32  -    -    i64  u32  u32  u32  u64  u32  u32  u32  u32
    f64  f32  f16  f32  -    -    i64  i32  u16  u16  u64  u32  u16  u16  u16
    f64  f32  f16  f32  -    -    i64  i32  i16  u8   u64  u32  u16  u8   u8
    f64  f32  f16  f32  -    -    i64  i32  i16  i8   u64  u32  u16  u8   bool)";
const char* const kDivided = R"(
    f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
    f64  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f64  f32  f32  f32  f32  f32  i64  i64  i64  i64  -    -    -    -    -
    f64  f32  f32  f32  f32  f32  i64  i32  i32  i32  -    -    -    -    -
    f64  f32  f32  f32  f32  f32  i64  i32  i16  i16  -    -    -    -    -
    f64  f32  f32  f32  f32  f32  i64  i32  i16  i8   -    -    -    -    -
    f64  f32  f32  f32  f32  f32  -    -    -    -    u64  u64  u64  u64  u64
    f64  f32  f32  f32  f32  f32  -    -    -    -    u64  u32  u32  u32  u32
    f64  f32  f32  f32  f32  f32  -    -    -    -    u64  u32  u16  u16  u16
    f64  f32  f32  f32  f32  f32  -    -    -    -    u64  u32  u16  u8   u8
    f64  f32  f32  f32  f32  f32  -    -    -    -    u64  u32  u16  u8   bool)";
const char* const kScalars = R"(
    f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
    f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32
    f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f16
    bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16
    e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3 e4m3
    e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2 e5m2
    f64  f32  f16  f32  -    -    i64  i64  i64  i64  i64  i64  i64  i64  i64
    f64  f32  f16  f32  -    -    i32  i32  i32  i32  i32  i32  i32  i32  i32
    f64  f32  f16  f32  -    -    i16  i16  i16  i16  i16  i16  i16  i16  i16
    f64  f32  f16  f32  -    -    i8   i8   i8   i8   i8   i8   i8   i8   i8
    f64  f32  f16  f32  -    -    u64  u64  u64  u64  u64  u64  u64  u64  u64
    f64  f32  f16  f32  -    -    u32  u32  u32  u32  u32  u32  u32  u32  u32
    f64  f32  f16  f32  -    -    u16  u16  u16  u16  u16  u16  u16  u16  u16
    f64  f32  f16  f32  -    -    u8   u8   u8   u8   u8   u8   u8   u8   u8
    f64  f32  f16  f32  -    -    i64  i32  i16  i8   u64  u32  u16  u8   bool)";  // columns: a scalar beside the row's tile

void expect_table(const char* text, bool divides, bool scalar) {
  std::istringstream words(text);
  for (const DType a : kAllDTypes) {
    for (const DType b : kAllDTypes) {
      std::string triton;
      words >> triton;
      // f32 holds both; Triton says f16.
      if (!divides && !scalar && (a == f16 || a == bf16) && (b == f16 || b == bf16) && a != b) triton = "f32";
      const auto got = language::promoted({a, false}, {b, scalar}, divides);
      EXPECT_EQ(got ? std::string(name(*got)) : "-", triton) << name(a) << " with " << name(b);
      const auto turned = language::promoted({b, scalar}, {a, false}, divides);
      EXPECT_EQ(turned, got) << name(b) << " with " << name(a);
    }
  }
}

TEST(TilePromotion, OfTwoTilesIsTritons) { expect_table(kTiles, false, false); }
TEST(TilePromotion, OfDivisionsIsTritons) { expect_table(kDivided, true, false); }
TEST(TilePromotion, OfATileAndAScalarIsTritons) { expect_table(kScalars, false, true); }

}  // namespace
}  // namespace tegula::tile

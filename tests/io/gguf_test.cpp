// Tensors of GGUF files beside what the gguf package of llama.cpp makes of the same bytes (tests/golden/gguf, version 0.19).

#include "tegula/io/gguf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tegula/io/gzip.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

Bytes golden() {
  const std::string path = source_folder() + "/tests/golden/gguf/types.gguf.gz";
  return gunzip(read_file(path), path);
}

TEST(Gguf, PackedTensorsAreUnpackedAsLlamaCppDoes) {
  const NamedArrays arrays = parse_gguf(golden(), "types.gguf");
  const std::map<std::string, HostArray> tensors(arrays.begin(), arrays.end());
  for (const char* type : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"}) {
    const HostArray &own = tensors.at(type), &expected = tensors.at("expected " + std::string(type));
    ASSERT_EQ(own.shape, expected.shape) << type;
    const auto values = own.values<float>(), theirs = expected.values<float>();
    float worst = 0, largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      worst = std::max(worst, std::abs(values[i] - theirs[i])), largest = std::max(largest, std::abs(theirs[i]));
    EXPECT_GT(largest, 0.3F) << type;
    EXPECT_LE(worst, 1e-6F * largest) << type;
  }
  // The package writes no Q8_K: d = 0.5 in f32, then 0, 1, … 127, -128, … -1.
  const auto eight = tensors.at("Q8_K").values<float>();
  for (int i = 0; i < 256; ++i) EXPECT_EQ(eight[static_cast<std::size_t>(i)], 0.5F * static_cast<float>(static_cast<std::int8_t>(i))) << i;
  const HostArray& half = tensors.at("bf16");
  ASSERT_EQ(half.dtype, bf16);
  for (std::size_t i = 0; i < 18; ++i)
    EXPECT_EQ(static_cast<float>(half.values<BFloat16>()[i]), tensors.at("expected bf16").values<float>()[i]);
}

TEST(Gguf, PlainTensorsAreAsTheyLie) {
  const NamedArrays arrays = parse_gguf(golden(), "types.gguf");
  const std::map<std::string, HostArray> tensors(arrays.begin(), arrays.end());
  EXPECT_EQ(tensors.at("f32").shape, (Shape{3, 5}));
  EXPECT_EQ(tensors.at("f16").dtype, f16);
  EXPECT_EQ(tensors.at("f16").shape, (Shape{3, 6}));
  EXPECT_EQ(static_cast<float>(tensors.at("f16").values<Half>()[0]), static_cast<float>(Half(tensors.at("f32").values<float>()[0])));
  EXPECT_EQ(tensors.at("i32").values<std::int32_t>()[5], 5);
}

TEST(Gguf, DamagedFilesAreRefused) {
  const Bytes whole = golden();
  for (std::size_t length = 0; length < whole.size(); length += 31)
    EXPECT_THROW(parse_gguf(std::span(whole).first(length), "x.gguf"), Error) << length;
  // Another number for Q8_0 in the entry behind its name: 8.
  const std::string text = testing::text_of(whole);
  const std::size_t at = text.find("Q8_0") + 4 + 4 + 2 * 8;
  ASSERT_EQ(text[at], 8);
  const auto with = [&](char type) {
    std::string other = text;
    other[at] = type;
    return testing::message_of([&] { parse_gguf(testing::bytes_of(other), "x.gguf"); });
  };
  EXPECT_NE(with(16).find("Q8_0: a tensor of type IQ2_XXS, expected one of F32, F64"), std::string::npos) << with(16);
  EXPECT_NE(with(12).find("rows of whole blocks of 256"), std::string::npos) << with(12);
}

TEST(Gguf, SmallFilesTakeLittleMemory) {
  const std::string text = testing::text_of(golden());
  const long before = testing::peak_memory();
  for (std::size_t at = 24; at + 8 <= 1200; at += 4) {
    std::string damaged = text;
    const std::uint64_t value = std::uint64_t{1} << 44;
    std::memcpy(damaged.data() + at, &value, 8);
    try {
      parse_gguf(testing::bytes_of(damaged), "x.gguf");
    } catch (const Error& error) { EXPECT_EQ(error.report().op, "gguf"); }
  }
  EXPECT_LT(testing::peak_memory() - before, 64 << 20);
}

}  // namespace
}  // namespace tegula::io

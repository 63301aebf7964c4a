#include "tegula/data/idx.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/io/files.h"

namespace tegula::data {
namespace {

using tegula::testing::bytes_of;
using tegula::testing::TemporaryFolder;

/// An idx file: the magic's last two bytes, sizes, data.
std::string idx(int code, std::initializer_list<std::uint32_t> sizes, const std::string& data) {
  std::string text{'\0', '\0', static_cast<char>(code), static_cast<char>(sizes.size())};
  for (auto size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift);
  }
  return text + data;
}

HostArray parse(const std::string& text) { return parse_idx(bytes_of(text), "file"); }

TEST(Idx, ReadsEveryDtypeInTheMachinesByteOrder) {
  EXPECT_EQ(parse(idx(0x08, {2}, "\x01\xff")).values<std::uint8_t>()[1], 255);
  EXPECT_EQ(parse(idx(0x09, {2}, "\x01\xff")).values<std::int8_t>()[1], -1);
  EXPECT_EQ(parse(idx(0x0B, {1}, "\x01\x02")).values<std::int16_t>()[0], 0x0102);
  EXPECT_EQ(parse(idx(0x0C, {1}, std::string("\xff\xff\xff\xfe", 4))).values<std::int32_t>()[0], -2);
  EXPECT_EQ(parse(idx(0x0D, {1}, std::string("\x3f\xc0\x00\x00", 4))).values<float>()[0], 1.5f);
  EXPECT_EQ(parse(idx(0x0E, {1}, std::string("\xbf\xf8\x00\x00\x00\x00\x00\x00", 8))).values<double>()[0], -1.5);
}

TEST(Idx, ReadsShapesUpToRankEightAndEmptyOnes) {
  const HostArray array = parse(idx(0x08, {2, 1, 1, 1, 1, 1, 1, 3}, "abcdef"));
  EXPECT_EQ(array.shape, (Shape{2, 1, 1, 1, 1, 1, 1, 3}));
  EXPECT_EQ(array.values<std::uint8_t>()[5], 'f');
  EXPECT_EQ(parse(idx(0x0C, {0, 28, 28}, "")).shape, (Shape{0, 28, 28}));
}

TEST(Idx, RefusesWrongMagicDtypeAndRank) {
  EXPECT_ERROR(parse(""), "the magic number");
  EXPECT_ERROR(parse("PNG!"), "two zero bytes");
  EXPECT_ERROR(parse(idx(0x0A, {1}, "a")), "dtype code 10");
  EXPECT_ERROR(parse(idx(0x08, {}, "a")), "rank 0");
  EXPECT_ERROR(parse(idx(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "a")), "rank 9");
}

TEST(Idx, RefusesSizesThatDoNotFillTheFile) {
  EXPECT_ERROR(parse(idx(0x08, {2, 2}, "abc")), "3 bytes of data, expected 4 for shape (2, 2) of u8");
  EXPECT_ERROR(parse(idx(0x08, {2, 2}, "abcde")), "5 bytes of data");
  EXPECT_ERROR(parse(idx(0x0E, {1}, "abcd")), "expected 8");
  EXPECT_ERROR(parse(idx(0x08, {0xffffffff}, "abc")), "expected 4294967295");
  EXPECT_ERROR(parse(idx(0x0E, {0xffffffff, 0xffffffff, 0xffffffff}, "abc")), "more than 2^63");
}

TEST(Idx, EveryTruncationIsAnError) {
  const std::string whole = idx(0x08, {2, 3}, "abcdef");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_ERROR(parse(whole.substr(0, size)), "idx: got file: ");
}

/// The text `times` times, as a gzip file.
std::string packed(const std::string& text, int times = 1) {
  const testing::TemporaryFolder folder;
  gzFile file = ::gzopen((folder / "f.gz").c_str(), "wb9");
  for (int i = 0; i < times; ++i)
    EXPECT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ::gzclose(file);
  return testing::text_of(io::read_file(folder / "f.gz"));
}

TEST(Idx, ReadsCompressedFilesAndRefusesThemAsPlainOnes) {
  EXPECT_EQ(parse(packed(idx(0x08, {2, 3}, "abcdef"))).values<std::uint8_t>()[5], 'f');
  EXPECT_EQ(parse(packed(idx(0x0B, {20}, std::string(39, '\1') + "\2"))).values<std::int16_t>()[19], 0x0102);
  EXPECT_EQ(parse(packed(idx(0x0C, {0, 28, 28}, ""))).shape, (Shape{0, 28, 28}));
  EXPECT_ERROR(parse(packed(idx(0x08, {2, 20}, "abc"))), "3 bytes of data, expected 40 for shape (2, 20) of u8");
  EXPECT_ERROR(parse(packed(idx(0x08, {2, 20}, std::string(41, 'x')))), "more than 40 bytes of data, expected 40");
  EXPECT_ERROR(parse(packed(idx(0x08, {2}, "abc"))), "3 bytes of data, expected 2");
  EXPECT_ERROR(parse(packed(idx(0x0E, {0xffffffff, 0xffffffff, 0xffffffff}, "abc"))), "more than 2^63");
  EXPECT_ERROR(parse(packed("PNG!")), "two zero bytes");
}

TEST(Idx, ASmallFileTakesNoMoreMemoryThanItsHeaderPromises) {
  const std::string bomb = packed(idx(0x08, {10}, std::string((1 << 20) - 8, '\0')), 300);
  ASSERT_LT(bomb.size(), 400'000u);
  const long before = testing::peak_memory();
  EXPECT_ERROR(parse(bomb), "at least 28 bytes of data, expected 10");
  EXPECT_LT(testing::peak_memory() - before, 16 << 20);
}

TEST(Idx, NamesAMissingFile) {
  const TemporaryFolder folder;
  EXPECT_ERROR(read_idx(folder / "none"), "idx: got " + (folder / "none") + ": No such file");
}

}  // namespace
}  // namespace tegula::data

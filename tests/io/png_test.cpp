#include "tegula/io/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "tests/io/files.h"

namespace tegula::io {
namespace {

using tegula::testing::TemporaryFolder;

HostArray picture(const Shape& shape) {
  HostArray array = HostArray::empty(u8, shape);
  int next = 0;
  for (auto& v : array.values<std::uint8_t>()) v = static_cast<std::uint8_t>(next += 37);
  return array;
}

TEST(Png, GrayAndRgbComeBack) {
  const TemporaryFolder folder;
  for (const Shape& shape : {Shape{5, 7}, Shape{4, 3, 1}, Shape{6, 2, 3}, Shape{1, 1, 3}}) {
    const HostArray image = picture(shape);
    write_png(folder / "picture.png", image);
    const HostArray read = read_png(folder / "picture.png");
    EXPECT_EQ(read.dtype, u8);
    EXPECT_EQ(read.shape, (Shape{shape[0], shape[1], shape.rank() == 3 ? shape[2] : 1}));
    ASSERT_EQ(read.bytes(), image.bytes());
    EXPECT_EQ(std::memcmp(read.buffer->data(), image.buffer->data(), image.bytes()), 0);
  }
  EXPECT_EQ(folder.files(), 1);
}

TEST(Png, RefusesToWriteOtherShapesAndDtypes) {
  const TemporaryFolder folder;
  EXPECT_ERROR(write_png(folder / "p", HostArray::empty(f32, {2, 2})), "shape (2, 2) of f32");
  EXPECT_ERROR(write_png(folder / "p", picture({2, 2, 2})), "expected (H, W)");
  EXPECT_ERROR(write_png(folder / "p", picture({4})), "expected (H, W)");
  EXPECT_ERROR(write_png(folder / "p", HostArray::empty(u8, {0, 3})), "at least one pixel");
  EXPECT_ERROR(write_png(folder / "missing/p", picture({2, 2})), "create the folder");
  EXPECT_EQ(folder.files(), 0);
}

TEST(Png, EveryTruncationIsAnError) {
  const TemporaryFolder folder;
  write_png(folder / "p", picture({3, 5, 3}));
  const Bytes whole = read_file(folder / "p");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_ERROR(parse_png(std::span(whole).first(size), "p"), "png: got p: ");
  EXPECT_ERROR(read_png(folder / "none"), "No such file");
}

TEST(Png, AHeaderThatPromisesTooMuchTakesNoMemory) {
  const TemporaryFolder folder;
  write_png(folder / "p", picture({3, 5}));
  Bytes bytes = read_file(folder / "p");
  bytes[17] = std::byte{0xF};  // width 983045
  bytes[22] = std::byte{1};    // height 259: just below 2^28 pixels
  const auto crc = static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 12), 17));  // of type and header
  for (std::size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
  const long before = testing::peak_memory();
  EXPECT_ERROR(parse_png(bytes, "p"), std::to_string(bytes.size()) + " bytes for 983045 x 259 pixels");
  EXPECT_LT(testing::peak_memory() - before, 16 << 20);
}

TEST(Png, AChunkThatPromisesTooMuchTakesNoMemory) {
  const TemporaryFolder folder;
  write_png(folder / "p", picture({3, 5}));
  Bytes bytes = read_file(folder / "p");
  for (const char* type : {"iTXt", "zTXt", "iCCP", "xxXx"}) {
    std::string chunk("\x7f\x00\x00\x00", 4);  // 2 GB
    chunk += type + std::string(40, 'x');
    Bytes bad(bytes.begin(), bytes.begin() + 33);  // signature and header
    const auto text = testing::bytes_of(chunk);
    bad.insert(bad.end(), text.begin(), text.end());
    bad.insert(bad.end(), bytes.begin() + 33, bytes.end());
    const long before = testing::peak_memory();
    EXPECT_ERROR(parse_png(bad, "p"), "png: got p: the file ends too early");
    EXPECT_LT(testing::peak_memory() - before, 16 << 20) << type;
  }
}

TEST(Png, ReadsThePngSuite) {
  const std::string data = tegula::testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data";
  int good = 0, broken = 0;
  for (const auto& file : std::filesystem::directory_iterator(data + "/format-conformance/pngsuite/png")) {
    const std::string name = file.path().filename().string();
    if (file.path().extension() != ".png") continue;
    if (name[0] == 'x') {  // broken on purpose
      ++broken;
      EXPECT_ERROR(read_png(file.path().string()), "png: got ");
      continue;
    }
    ++good;
    const HostArray image = read_png(file.path().string());
    EXPECT_EQ(image.shape.rank(), 3) << name;
    if (name.starts_with("basn2c16") || name.starts_with("basi2c08")) { EXPECT_EQ(image.shape, (Shape{32, 32, 3})) << name; }
    if (name.starts_with("basn0g01")) { EXPECT_EQ(image.shape, (Shape{32, 32, 1})) << name; }
    if (name.starts_with("basn6a08")) { EXPECT_EQ(image.shape, (Shape{32, 32, 4})) << name; }
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(broken, 5);
}

TEST(Png, InterlacedPicturesReadAsTheirPlainTwins) {
  const std::string data = tegula::testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data";
  for (const char* kind : {"0g01", "0g08", "0g16", "2c08", "2c16", "3p04", "4a08", "6a16"}) {
    const std::string folder = data + "/format-conformance/pngsuite/png/";
    const HostArray plain = read_png(folder + "basn" + kind + ".png"), interlaced = read_png(folder + "basi" + kind + ".png");
    ASSERT_EQ(plain.shape, interlaced.shape) << kind;
    EXPECT_EQ(std::memcmp(plain.buffer->data(), interlaced.buffer->data(), plain.bytes()), 0) << kind;
  }
}

}  // namespace
}  // namespace tegula::io

// JPEG pictures. The seeds of the fuzzer were written by Pillow.

#include "tegula/io/jpeg.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tegula/io/png.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

std::string seed(const std::string& name) { return source_folder() + "/tests/fuzz/jpeg/" + name; }

// The seeds show 20 y + 5 x, and in colour that, its negative, and 90.
void expect_ramps(const HostArray& image, int tolerance) {
  const auto pixels = image.values<std::uint8_t>();
  for (std::int64_t y = 0; y < 9; ++y) {
    for (std::int64_t x = 0; x < 11; ++x) {
      const int ramp = static_cast<int>(20 * y + 5 * x), wanted[] = {ramp, 255 - ramp, 90};
      for (std::int64_t c = 0; c < image.shape[2]; ++c)
        EXPECT_NEAR(pixels[static_cast<std::size_t>((y * 11 + x) * image.shape[2] + c)], wanted[c], tolerance) << y << " " << x << " " << c;
    }
  }
}

TEST(Jpeg, ReadsGrayColourAndProgressivePictures) {
  const HostArray gray = read_jpeg(seed("gray"));
  EXPECT_EQ(gray.shape, (Shape{9, 11, 1}));
  EXPECT_EQ(gray.dtype, u8);
  expect_ramps(gray, 4);
  for (const char* name : {"rgb", "progressive"}) {
    const HostArray rgb = read_jpeg(seed(name));
    EXPECT_EQ(rgb.shape, (Shape{9, 11, 3}));
    expect_ramps(rgb, 25);  // colours are stored at half the resolution
  }
}

TEST(Jpeg, DamagedFilesAreRefused) {
  const Bytes whole = read_file(seed("rgb"));
  EXPECT_ERROR(parse_jpeg(std::span(whole).first(whole.size() - 40), "file"), "file: Premature end of JPEG file");
  EXPECT_ERROR(parse_jpeg(std::span(whole).first(20), "file"), "file: ");
  EXPECT_ERROR(parse_jpeg({}, "file"), "file: ");
  EXPECT_ERROR(parse_jpeg(testing::bytes_of("no picture"), "file"), "Not a JPEG file");
  EXPECT_ERROR(read_jpeg("/nowhere/x.jpg"), "/nowhere/x.jpg");
}

TEST(Jpeg, AHeaderThatPromisesTooMuchTakesNoMemory) {
  Bytes bytes = read_file(seed("gray"));
  const std::string text = testing::text_of(bytes);
  const std::size_t frame = text.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 5; i < 9; ++i) bytes[frame + i] = std::byte{0x3F};  // 16191 x 16191
  const long before = testing::peak_memory();
  EXPECT_ERROR(parse_jpeg(bytes, "file"), "16191 x 16191 pixels");
  EXPECT_LT(testing::peak_memory() - before, 64 << 20);
}

TEST(Jpeg, APictureIsReadByItsContents) {
  const testing::TemporaryFolder folder;
  HostArray image = HostArray::empty(u8, {2, 3, 3});
  for (std::size_t i = 0; i < 18; ++i) image.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  write_png(folder / "really.jpg", image);
  EXPECT_EQ(read_picture(folder / "really.jpg").shape, (Shape{2, 3, 3}));
  EXPECT_EQ(read_picture(seed("gray")).shape, (Shape{9, 11, 1}));
  EXPECT_ERROR(read_picture(source_folder() + "/README.md"), "README.md: a file of an unknown kind, expected a PNG or JPEG picture");
}

TEST(Jpeg, AgreesWithItsOwnReferencePicture) {
  const std::string shared = testing::shared_data();
  if (shared.empty()) GTEST_SKIP() << "skipped: no shared data";
  const std::string folder = shared + "/format-conformance/libjpeg-turbo-testimages/";
  const std::string ppm = testing::text_of(read_file(folder + "testorig.ppm"));
  ASSERT_TRUE(ppm.starts_with("P6\n227 149\n255\n"));
  const std::string wanted = ppm.substr(15);
  for (const char* name : {"testorig.jpg", "testimgint.jpg", "testimgari.jpg"}) {
    const HostArray image = read_jpeg(folder + name);
    ASSERT_EQ(image.shape, (Shape{149, 227, 3})) << name;
    double difference = 0;
    for (std::size_t i = 0; i < image.bytes(); ++i)
      difference += std::abs(int{image.values<std::uint8_t>()[i]} - int{static_cast<unsigned char>(wanted.at(i))});
    EXPECT_LT(difference / static_cast<double>(image.bytes()), 3) << name;
  }
}

}  // namespace
}  // namespace tegula::io

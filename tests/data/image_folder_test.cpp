// Folders of pictures by class.

#include "tegula/data/image_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/core/warning.h"
#include "tegula/data/loader.h"
#include "tegula/io/png.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

HostArray plain(std::int64_t height, std::int64_t width, std::vector<std::uint8_t> colour) {
  HostArray image = HostArray::empty(u8, {height, width, static_cast<std::int64_t>(colour.size())});
  for (std::size_t i = 0; i < image.bytes(); ++i) image.values<std::uint8_t>()[i] = colour[i % colour.size()];
  return image;
}

/// cats/{1.png, 2.JPG}, dogs/a.png, a folder without pictures, and files that are none.
struct Pets {
  testing::TemporaryFolder root;
  Pets() {
    for (const char* folder : {"dogs", "cats", "empty"}) std::filesystem::create_directory(root / folder);
    io::write_png(root / "cats/1.png", plain(4, 6, {255, 0, 51}));
    std::filesystem::copy(source_folder() + "/tests/fuzz/jpeg/gray", root / "cats/2.JPG");
    io::write_png(root / "dogs/a.png", plain(4, 6, {102}));
    io::write_atomically(root / "dogs/notes.txt", {});
    io::write_atomically(root / "readme.png", {});
  }
};

TEST(ImageFolder, ListsClassesAndFilesInOrderAndReadsThemLazily) {
  const Pets pets;
  const ImageFolder folder(pets.root.path());
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(folder.labels(), (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(folder.size(), 3);
  const Sample cat = folder.get(0), jpeg = folder.get(1), dog = folder.get(2);
  EXPECT_EQ(cat[0].shape, (Shape{3, 4, 6}));
  EXPECT_FLOAT_EQ(cat[0].values<float>()[0], 1);
  EXPECT_FLOAT_EQ(cat[0].values<float>()[24], 0);
  EXPECT_FLOAT_EQ(cat[0].values<float>()[48], 0.2f);
  EXPECT_EQ(jpeg[0].shape, (Shape{3, 9, 11}));
  EXPECT_FLOAT_EQ(dog[0].values<float>()[70], 0.4f);  // gray is the same in all channels
  EXPECT_EQ(dog[1].values<std::int64_t>()[0], 1);
  EXPECT_EQ(dog[1].shape, Shape{});
}

TEST(ImageFolder, WhatBeginsWithADotIsNoDataAndIsNamed) {
  const Pets pets;
  std::filesystem::create_directory(pets.root / ".ipynb_checkpoints");
  io::write_png(pets.root / ".ipynb_checkpoints/1.png", plain(4, 6, {102}));
  io::write_atomically(pets.root / "dogs/._a.png", {});
  std::string told;
  set_warning_handler([&](const std::string&, const std::string& text) { told += text; });
  const ImageFolder folder(pets.root.path());
  set_warning_handler({});
  EXPECT_EQ(folder.classes(), (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(folder.labels(), (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_NE(told.find((pets.root / ".ipynb_checkpoints") + ", " + (pets.root / "dogs/._a.png")), std::string::npos) << told;
}

TEST(ImageFolder, ALoopOfLinksIsAnErrorOrNoClass) {
  const Pets pets;
  std::filesystem::create_symlink(pets.root / "loop", pets.root / "loop");
  EXPECT_ERROR(ImageFolder(pets.root / "loop"), "which is no folder");
  EXPECT_EQ(ImageFolder(pets.root.path()).size(), 3);
}

TEST(ImageFolder, ResizedItGivesBatches) {
  const Pets pets;
  Loader loader(ImageFolder(pets.root.path(), {.colours = Colours::Gray, .size = {8, 8}}), {.batch = 3, .workers = 2});
  const auto batch = loader.next();
  EXPECT_EQ(batch->x.shape(), (Shape{3, 1, 8, 8}));
  EXPECT_EQ(batch->y.to_host<std::int64_t>(), (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_NEAR(batch->x.to_host()[0], 0.299 + 0.114 * 0.2, 1e-6);
  Loader uneven(ImageFolder(pets.root.path()), {.batch = 3});
  EXPECT_ERROR(uneven.next(), "sample 1 with f32(3, 9, 11), i64(), beside sample 0 with f32(3, 4, 6), i64()");
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const Pets pets;
  EXPECT_ERROR(ImageFolder("/nowhere"), "/nowhere, which is no folder");
  EXPECT_ERROR(ImageFolder(pets.root / "empty"), "without pictures");
  EXPECT_ERROR(ImageFolder(pets.root.path(), {.size = {8}}), "the size (8,)");
  const ImageFolder folder(pets.root.path());
  io::write_atomically(pets.root / "cats/1.png", testing::bytes_of("no picture"));
  EXPECT_ERROR(folder.get(0), "cats/1.png: ");
}

TEST(ImageFolder, ResizeKeepsConstantsRampsAndMeans) {
  HostArray ramp = HostArray::empty(f32, {2, 4, 8});
  for (std::size_t i = 0; i < 64; ++i) ramp.values<float>()[i] = static_cast<float>(i % 8);
  const HostArray same = resize(ramp, 4, 8);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_FLOAT_EQ(same.values<float>()[i], static_cast<float>(i % 8));
  const HostArray twice = resize(ramp, 8, 16);
  EXPECT_EQ(twice.shape, (Shape{2, 8, 16}));
  for (std::size_t x = 1; x < 15; ++x) EXPECT_NEAR(twice.values<float>()[x], (static_cast<double>(x) + 0.5) / 2 - 0.5, 1e-5);
  EXPECT_FLOAT_EQ(twice.values<float>()[0], 0);  // the edge is no ramp
  const HostArray half = resize(ramp, 1, 4);
  for (std::size_t x = 1; x < 3; ++x) EXPECT_NEAR(half.values<float>()[x], 2 * static_cast<double>(x) + 0.5, 1e-5);
  EXPECT_ERROR(resize(ramp, 0, 3), "0 x 3");
  EXPECT_ERROR(to_image(ramp, Colours::Rgb), "a picture u8");
}

}  // namespace
}  // namespace tegula::data

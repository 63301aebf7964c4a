#include "tegula/data/mnist.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/io/files.h"

namespace tegula::data {
namespace {

using tegula::testing::bytes_of;
using tegula::testing::TemporaryFolder;

/// u8 idx file of n items of `side` x `side` (or labels when side is 0) holding 0, 1, 2…
void write(const std::string& path, int n, int side, int first = 0) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(side ? 3 : 1), '\0', '\0', '\0', static_cast<char>(n)};
  for (int axis = 0; side && axis < 2; ++axis) text += {'\0', '\0', '\0', static_cast<char>(side)};
  for (int i = 0; i < n * (side ? side * side : 1); ++i) text += static_cast<char>(first + i);
  io::write_atomically(path, bytes_of(text));
}

void write_set(const TemporaryFolder& folder) {
  write(folder / "train-images-idx3-ubyte", 4, 3);
  write(folder / "train-labels-idx1-ubyte", 4, 0);
  write(folder / "t10k-images.idx3-ubyte", 2, 3);
  write(folder / "t10k-labels.idx1-ubyte", 2, 0, 8);
}

TEST(Mnist, GivesImagesFromZeroToOneWithOneChannelAndLabels) {
  const TemporaryFolder folder;
  write_set(folder);
  const auto [train, test] = mnist(folder.path());
  EXPECT_EQ(train.images.shape, (Shape{4, 1, 3, 3}));
  EXPECT_EQ(train.images.dtype, f32);
  EXPECT_EQ(train.images.values<float>()[35], 35.0f / 255.0f);
  EXPECT_EQ(train.labels.shape, (Shape{4}));
  EXPECT_EQ(train.labels.dtype, i64);
  EXPECT_EQ(train.size(), 4);
  EXPECT_EQ(test.labels.values<std::int64_t>()[1], 9);
}

TEST(Mnist, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_ERROR(mnist(folder.path()), "no file train-images-idx3-ubyte");
  write_set(folder);
  std::filesystem::remove(folder / "t10k-labels.idx1-ubyte");
  EXPECT_ERROR(mnist(folder.path()), "no file t10k-labels-idx1-ubyte");
}

TEST(Mnist, RefusesFilesThatDoNotFitTogether) {
  const TemporaryFolder folder;
  write_set(folder);
  write(folder / "train-labels-idx1-ubyte", 3, 0);
  EXPECT_ERROR(mnist(folder.path()), "3 labels, expected 4");
  write(folder / "train-labels-idx1-ubyte", 4, 0, 7);
  EXPECT_ERROR(mnist(folder.path()), "label 10 at 3, expected 0 to 9");
  write(folder / "train-labels-idx1-ubyte", 4, 3);
  EXPECT_ERROR(mnist(folder.path()), "expected rank 1 of u8");
  write(folder / "train-labels-idx1-ubyte", 4, 0);
  write(folder / "t10k-images.idx3-ubyte", 2, 5);
  EXPECT_ERROR(mnist(folder.path()), "images of one size");
}

TEST(Mnist, RefusesImagesWithoutPixelsAndSetsWithoutImages) {
  const TemporaryFolder folder;
  write_set(folder);
  const auto refused = [&](const std::string& sizes, const std::string& because) {
    io::write_atomically(folder / "train-images-idx3-ubyte", bytes_of(std::string("\0\0\x08\x03", 4) + sizes));
    write(folder / "train-labels-idx1-ubyte", sizes[3], 0);
    EXPECT_ERROR(mnist(folder.path()), because);
  };
  refused(std::string("\0\0\0\4\0\0\0\0\0\0\0\x1c", 12), "at least one image of at least one pixel");
  refused(std::string("\0\0\0\0\0\0\0\x1c\0\0\0\x1c", 12), "at least one image of at least one pixel");
  refused(std::string("\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12), "fewer than 2^60 elements");
}

TEST(Mnist, ReadsTheRealFiles) {
  const std::string data = tegula::testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data";
  const auto [train, test] = mnist(data + "/mnist");
  EXPECT_EQ(train.images.shape, (Shape{60000, 1, 28, 28}));
  EXPECT_EQ(test.images.shape, (Shape{10000, 1, 28, 28}));
  const std::int64_t first[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(train.labels.values<std::int64_t>()[i], first[i]);
  const auto pixels = train.images.values<float>();
  EXPECT_NEAR(std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size()), 0.1307, 1e-4);  // as published
}

}  // namespace
}  // namespace tegula::data

#include "tegula/data/cifar.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tegula/core/error.h"

namespace tegula {
namespace {

constexpr std::size_t kRecord = 3073;

std::vector<std::byte> records(int count) {
  std::vector<std::byte> bytes(kRecord * static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = i % kRecord == 0 ? static_cast<std::byte>(i / kRecord % 10) : static_cast<std::byte>(i * 7 % 256);
  }
  return bytes;
}

TEST(Cifar10, RecordsAreLabelsAndPlanes) {
  const auto bytes = records(3);
  const data::LabelledImages set = data::parse_cifar10(bytes, "three");
  EXPECT_EQ(set.images.shape, (Shape{3, 3, 32, 32}));
  EXPECT_EQ(set.labels.values<std::int64_t>()[2], 2);
  const std::size_t at = 2 * 3072 + 5;
  EXPECT_FLOAT_EQ(set.images.values<float>()[at], static_cast<float>(std::to_integer<int>(bytes[2 * kRecord + 6])) / 255.0f);
}

TEST(Cifar10, DamageIsAnError) {
  auto bytes = records(2);
  EXPECT_THROW(data::parse_cifar10(std::span(bytes).first(bytes.size() - 1), "short"), Error);
  EXPECT_THROW(data::parse_cifar10({}, "empty"), Error);
  bytes[kRecord] = std::byte{10};
  try {
    data::parse_cifar10(bytes, "labels");
    FAIL();
  } catch (const Error& error) { EXPECT_NE(std::string(error.what()).find("label 10 at 1"), std::string::npos) << error.what(); }
}

TEST(Cifar10, BatchesOfAFolderAreOneSet) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "tegula-cifar";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, int count) {
    const auto bytes = records(count);
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  EXPECT_THROW(data::cifar10((folder / "nowhere").string()), Error);
  write("data_batch_1.bin", 3);
  write("data_batch_2.bin", 2);
  write("test_batch.bin", 1);
  const auto [train, test] = data::cifar10(folder.string());
  EXPECT_EQ(train.size(), 5);
  EXPECT_EQ(test.size(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tegula

// Damaged files end in a result or a tegula::Error, whatever the damage. tests/fuzz has the same as fuzz targets.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/core/warning.h"
#include "tegula/data/idx.h"
#include "tegula/io/csv.h"
#include "tegula/io/gzip.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/npy.h"
#include "tegula/io/png.h"
#include "tegula/io/pytorch.h"
#include "tegula/io/safetensors.h"
#include "tests/fuzz/mutate.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

/// Reads mutations of every seed in tests/fuzz/<name>/; anything but a tegula::Error escapes and fails the test. Returns how many
/// were refused.
template <class Read>
int refused(const std::string& name, int count, Read read) {
  std::vector<std::string> seeds;
  for (const auto& file : std::filesystem::directory_iterator(source_folder() + "/tests/fuzz/" + name)) {
    seeds.push_back(testing::text_of(io::read_file(file.path().string())));
  }
  std::sort(seeds.begin(), seeds.end());
  set_warning_handler([](const std::string&, const std::string&) {});  // warns of left-out arrays
  for (const auto& seed : seeds) EXPECT_NO_THROW(read(testing::bytes_of(seed)));
  int errors = 0;
  for (int i = 0; i < count; ++i) {
    const std::string input = testing::mutate(seeds[static_cast<std::size_t>(i) % seeds.size()], static_cast<std::uint64_t>(i));
    try {
      read(testing::bytes_of(input));
    } catch (const Error& error) {
      ++errors;
      EXPECT_FALSE(error.report().op.empty());
      EXPECT_EQ(error.report().got.substr(0, 4), "file");
    }
  }
  set_warning_handler({});
  return errors;
}

TEST(HostileFiles, Idx) {
  EXPECT_GT(refused("idx", 20'000, [](auto bytes) { data::parse_idx(bytes, "file"); }), 10'000);
}
TEST(HostileFiles, Safetensors) {
  EXPECT_GT(refused("safetensors", 20'000, [](auto bytes) { io::parse_safetensors(bytes, "file"); }), 10'000);
}
TEST(HostileFiles, PyTorch) {
  EXPECT_GT(refused("pytorch", 20'000, [](auto bytes) { io::parse_pytorch(bytes, "file"); }), 10'000);
}
TEST(HostileFiles, Gzip) {
  EXPECT_GT(refused("gzip", 10'000, [](auto bytes) { io::gunzip(bytes, "file", {.limit = 1 << 16}); }), 5'000);
}
TEST(HostileFiles, Csv) {
  const auto read = [](std::span<const std::byte> bytes) {
    io::parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "file");
  };
  EXPECT_GT(refused("csv", 20'000, read), 3'000);  // most bytes are some text
}
TEST(HostileFiles, Npy) {
  EXPECT_GT(refused("npy", 20'000, [](auto bytes) { io::parse_npy(bytes, "file"); }), 10'000);
}
TEST(HostileFiles, Npz) {
  EXPECT_GT(refused("npz", 10'000, [](auto bytes) { io::parse_npz(bytes, "file"); }), 5'000);
}
TEST(HostileFiles, Jpeg) {
  EXPECT_GT(refused("jpeg", 10'000, [](auto bytes) { io::parse_jpeg(bytes, "file"); }), 3'000);  // damaged pixels are pixels
}
TEST(HostileFiles, Png) {
  EXPECT_GT(refused("png", 10'000, [](auto bytes) { io::parse_png(bytes, "file"); }), 5'000);
}

}  // namespace
}  // namespace tegula

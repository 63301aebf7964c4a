// TensorBoard's event files, read by the formats' definitions. TensorBoard 2.21 was seen to open them.

#include "tegula/io/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <map>

#include "tests/io/files.h"

namespace tegula::io {
namespace {

template <class T>
T number_at(const std::string& text, std::size_t at) {
  T value;
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

/// By its definition, bit by bit.
std::uint32_t slow_crc32c(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}
std::uint32_t masked(const std::string& bytes) {
  const std::uint32_t crc = slow_crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = number_at<std::uint64_t>(file, at);
    EXPECT_EQ(number_at<std::uint32_t>(file, at + 8), masked(file.substr(at, 8)));
    records.push_back(file.substr(at + 12, length));
    EXPECT_EQ(number_at<std::uint32_t>(file, at + 12 + length), masked(records.back()));
    at += 16 + length;
  }
  return records;
}

/// The fields of a protobuf message: numbers of a field -> its bytes, or a varint's eight bytes.
std::map<int, std::string> fields_of(const std::string& message) {
  std::map<int, std::string> out;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.size()) {
    const std::uint64_t key = varint();
    std::string& value = out[static_cast<int>(key >> 3)];
    if ((key & 7) == 0) {
      const std::uint64_t number = varint();
      value.assign(reinterpret_cast<const char*>(&number), 8);
    } else {
      const std::uint64_t length = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
      value = message.substr(at, length);
      at += length;
    }
  }
  return out;
}

TEST(EventFile, HoldsScalarsInCheckedRecords) {
  const testing::TemporaryFolder folder;
  const std::string tag(200, 't');  // a length of two bytes
  EventFile events(folder / "runs/first");
  events.scalar("loss/train", 0, 0.5);
  events.scalar(tag, 123'456, -2);
  EXPECT_TRUE(events.path().starts_with(folder / "runs/first/events.out.tfevents.")) << events.path();
  const auto records = records_of(testing::text_of(read_file(events.path())));  // while it is open
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(fields_of(records[0])[3], "brain.Event:2");
  auto first = fields_of(records[1]), second = fields_of(records[2]);
  EXPECT_NEAR(number_at<double>(first[1], 0), static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(number_at<std::uint64_t>(second[2], 0), 123'456U);
  auto value = fields_of(fields_of(first[5])[1]);
  EXPECT_EQ(value[1], "loss/train");
  EXPECT_EQ(number_at<float>(value[2], 0), 0.5f);
  value = fields_of(fields_of(second[5])[1]);
  EXPECT_EQ(value[1], tag);
  EXPECT_EQ(number_at<float>(value[2], 0), -2.0f);
}

TEST(EventFile, TwoInOneFolderAreTwoFiles) {
  const testing::TemporaryFolder folder;
  const EventFile a(folder.path()), b(folder.path());
  EXPECT_NE(a.path(), b.path());
  EXPECT_EQ(folder.files(), 2);
}

TEST(EventFile, SaysWhyItCannotBeWritten) {
  const testing::TemporaryFolder folder;
  write_atomically(folder / "file", {});
  EXPECT_ERROR(EventFile(folder / "file"), "EventFile: got ");
}

TEST(EventFile, TheChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // the check value of CRC-32C
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(""), 0U);
}

}  // namespace
}  // namespace tegula::io

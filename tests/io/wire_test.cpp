// Messages of protocol buffers, by the examples of their definition.

#include "tegula/io/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tegula/core/error.h"

namespace tegula::io {
namespace {

constexpr WireSource kSource{.op = "wire_test", .name = "m", .expected = "a message", .advice = "look"};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string complaint_of(std::string_view text) {
  try {
    WireReader reader(bytes_of(text), kSource);
    for (WireField field; reader.next(field);) {}
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(Wire, WritesTheExamplesOfTheDefinition) {
  EXPECT_EQ(WireWriter().varint(1, 150).text(), "\x08\x96\x01");
  EXPECT_EQ(WireWriter().bytes(2, "testing").text(), "\x12\x07testing");
  EXPECT_EQ(WireWriter().bytes(3, WireWriter().varint(1, 150).text()).text(), "\x1a\x03\x08\x96\x01");
}

TEST(Wire, ReadsWhatIsWritten) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::string text =
      WireWriter().varint(1, most).fixed64(536'870'911, -0.1).bytes(3, "").fixed32(4, 0.5f).bytes(5, "ab").varint(6, 0).text();
  WireReader reader(bytes_of(text), kSource);
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, most);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 536'870'911u);
  EXPECT_EQ(field.wire, Wire::Fixed64);
  EXPECT_EQ(std::bit_cast<double>(field.value), -0.1);
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.bytes.empty());
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.wire, Wire::Fixed32);
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(field.value)), 0.5f);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()), "ab");
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, 0u);
  EXPECT_FALSE(reader.next(field));
}

TEST(Wire, RefusesEveryMessageThatEndsWithinAField) {
  const std::string text = WireWriter().varint(300, 300).fixed64(2, 1).fixed32(3, 1).bytes(4, "abcdef").text();
  const std::size_t whole[] = {0, 4, 13, 18, text.size()};  // ends of fields
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_EQ(complaint_of(text.substr(0, size)).empty(), std::ranges::find(whole, size) != std::end(whole)) << size;
  }
}

TEST(Wire, SaysWhatIsWrongInTheWordsOfTheSource) {
  EXPECT_EQ(complaint_of(std::string(11, '\xff')), "wire_test: got m: a number of more than 64 bits, expected a message\n  hint: look");
  EXPECT_EQ(complaint_of("\x12\x07test"), "wire_test: got m: a field of 7 bytes where 4 are left, expected a message\n  hint: look");
  EXPECT_EQ(complaint_of("\x0b"), "wire_test: got m: a field of wire type 3, expected a message\n  hint: look");
}

}  // namespace
}  // namespace tegula::io

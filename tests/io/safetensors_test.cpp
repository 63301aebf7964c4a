#include "tegula/io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tegula/core/warning.h"
#include "tests/io/files.h"

namespace tegula::io {
namespace {

using tegula::testing::bytes_of;
using tegula::testing::TemporaryFolder;

std::string image(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string prefix(8, '\0');
  std::memcpy(prefix.data(), &length, 8);
  return prefix + header + data;
}

Safetensors parse(const std::string& header, const std::string& data = "") {
  return parse_safetensors(bytes_of(image(header, data)), "file");
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

HostArray counting(DType dtype, const Shape& shape) {
  HostArray array = HostArray::empty(dtype, shape);
  for (std::size_t i = 0; i < array.bytes(); ++i)
    static_cast<unsigned char*>(array.buffer->data())[i] = static_cast<unsigned char>(dtype == boolean ? i % 2 : i * 7);
  return array;
}

void expect_same(const Safetensors& got, const NamedArrays& want) {
  ASSERT_EQ(got.tensors.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto& [name, array] = got.tensors[i];
    EXPECT_EQ(name, want[i].first);
    ASSERT_EQ(array.dtype, want[i].second.dtype);
    ASSERT_EQ(array.shape, want[i].second.shape);
    EXPECT_EQ(std::memcmp(array.buffer->data(), want[i].second.buffer->data(), array.bytes()), 0);
  }
}

TEST(Safetensors, EveryDtypeAndShapeComesBackInOrder) {
  const TemporaryFolder folder;
  NamedArrays tensors;
  for (DType dtype : kAllDTypes) {
    const std::string type(name(dtype));
    tensors.emplace_back("z." + type, counting(dtype, {3, 1, 5}));
    tensors.emplace_back(type + " scalar", counting(dtype, {}));
    tensors.emplace_back(type + "\xc3\xa4\"\\\n", counting(dtype, {2, 0, 4}));
  }
  tensors.emplace_back("rank 8", counting(f32, {1, 2, 1, 2, 1, 2, 1, 2}));
  const Metadata metadata{{"format", "tegula"}, {"quote", "\"'"}};
  write_safetensors(folder / "model", tensors, metadata);
  const Safetensors read = read_safetensors(folder / "model");
  expect_same(read, tensors);
  EXPECT_EQ(read.metadata, metadata);
  expect_same(parse_safetensors(read_file(folder / "model"), "model"), tensors);
}

TEST(Safetensors, WritesAlignedDataAndTheSameBytesEachTime) {
  const TemporaryFolder folder;
  const NamedArrays tensors{{"flags", counting(boolean, {3})}, {"w", counting(f64, {2})}, {"h", counting(f16, {1})}};
  write_safetensors(folder / "a", tensors);
  write_safetensors(folder / "b", tensors);
  const Bytes bytes = read_file(folder / "a");
  EXPECT_EQ(bytes, read_file(folder / "b"));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const std::string header = tegula::testing::text_of(bytes).substr(8, length);
  EXPECT_NE(header.find(R"("w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]})"), std::string::npos) << header;
  EXPECT_NE(header.find(R"("h":{"dtype":"F16","shape":[1],"data_offsets":[16,18]})"), std::string::npos) << header;
}

TEST(Safetensors, ReadsAnEmptyFileAndPaddedHeaders) {
  EXPECT_TRUE(parse("{}").tensors.empty());
  EXPECT_TRUE(parse("{}      ").tensors.empty());
  const TemporaryFolder folder;
  write_safetensors(folder / "none", {});
  EXPECT_TRUE(read_safetensors(folder / "none").tensors.empty());
}

TEST(Safetensors, TensorsMayLieInAnyOrderAndTrueIsOne) {
  const Safetensors file =
      parse("{\"b\":" + entry("BOOL", "2", "2,4") + ",\"a\":" + entry("U8", "2", "0,2") + "}", std::string("\x05\x06\x00\xff", 4));
  EXPECT_EQ(file.tensors[0].first, "b");
  EXPECT_EQ(file.tensors[1].second.values<std::uint8_t>()[1], 6);
  EXPECT_EQ(file.tensors[0].second.values<std::uint8_t>()[0], 0);
  EXPECT_EQ(file.tensors[0].second.values<std::uint8_t>()[1], 1);
}

TEST(Safetensors, MessagesNameFileTensorAndRemedy) {
  const TemporaryFolder folder;
  write_atomically(folder / "f", bytes_of(image("{\"layer.w\":" + entry("F4", "2", "0,1") + "}", "x")));
  const std::string message = testing::message_of([&] { read_safetensors(folder / "f", "layer.w"); });
  EXPECT_NE(message.find("f: dtype 'F4' of tensor 'layer.w', expected F64"), std::string::npos) << message;
  EXPECT_NE(message.find("hint: convert"), std::string::npos) << message;
}

template <class T>
std::vector<T> values_of(const HostArray& array) {
  EXPECT_EQ(array.dtype, dtype_of<T>());
  return {array.values<T>().begin(), array.values<T>().end()};
}

TEST(Safetensors, ReadsUnsignedNumbersAndThoseOfEightBits) {
  const auto read = [](const char* type, const std::string& data, const std::string& count) {
    return parse("{\"a\":" + entry(type, count, "0," + std::to_string(data.size())) + "}", data).tensors.at(0).second;
  };
  EXPECT_EQ(values_of<std::uint16_t>(read("U16", std::string("\1\0\xff\xff", 4), "2")), (std::vector<std::uint16_t>{1, 65535}));
  EXPECT_EQ(values_of<std::uint32_t>(read("U32", "\xff\xff\xff\xff", "1")), (std::vector<std::uint32_t>{4294967295}));
  EXPECT_EQ(values_of<std::uint64_t>(read("U64", "\xff\xff\xff\xff\xff\xff\xff\xff", "1")),
            (std::vector<std::uint64_t>{18446744073709551615u}));
  const auto numbers = [&]<class T>(T, const char* type, const std::string& codes) {
    std::vector<float> out;
    for (const T one : values_of<T>(read(type, codes, std::to_string(codes.size())))) out.push_back(static_cast<float>(one));
    return out;
  };
  // 1, -1.5, the largest, the smallest, zero; then NaN
  EXPECT_EQ(numbers(E4M3(), "F8_E4M3", std::string("\x38\xbc\x7e\x01\0", 5)), (std::vector<float>{1, -1.5f, 448, 0x1p-9f, 0}));
  EXPECT_EQ(numbers(E5M2(), "F8_E5M2", std::string("\x3c\xbe\x7b\x01\0", 5)), (std::vector<float>{1, -1.5f, 57344, 0x1p-16f, 0}));
  EXPECT_TRUE(std::isnan(numbers(E4M3(), "F8_E4M3", "\x7f")[0]));
  EXPECT_TRUE(std::isnan(numbers(E5M2(), "F8_E5M2", "\x7f")[0]));
}

TEST(Safetensors, ATensorThatCannotBeReadSpoilsNoOther) {
  const TemporaryFolder folder;
  const std::string header = "{\"four\":" + entry("F4", "4", "0,2") + ",\"b\":" + entry("U8", "1", "2,3") +
                             ",\"deep\":" + entry("U8", "1,1,1,1,1,1,1,1,1", "3,4") + ",\"__metadata__\":{\"k\":\"v\"}}";
  write_atomically(folder / "f", bytes_of(image(header, "xy\5z")));
  std::vector<std::string> told;
  set_warning_handler([&](const std::string&, const std::string& text) { told.push_back(text); });
  const Safetensors read = read_safetensors(folder / "f");
  set_warning_handler({});
  ASSERT_EQ(read.tensors.size(), 1u);
  EXPECT_EQ(read.tensors[0].first, "b");
  EXPECT_EQ(told, (std::vector<std::string>{(folder / "f") + ": left out dtype 'F4', tensor 'four'",
                                            (folder / "f") + ": left out rank 9, tensor 'deep'"}));
  EXPECT_EQ(read_safetensors(folder / "f", "b").values<std::uint8_t>()[0], 5);
  EXPECT_ERROR(read_safetensors(folder / "f", "deep"), "rank 9 of tensor 'deep'");
  EXPECT_ERROR(read_safetensors(folder / "f", "c"), "no tensor 'c'");
  const SafetensorsHeader listed = read_safetensors_header(folder / "f");
  ASSERT_EQ(listed.tensors.size(), 3u);
  EXPECT_EQ(listed.tensors[0].type, "F4");
  EXPECT_EQ(listed.tensors[2].shape.size(), 9u);
  EXPECT_EQ(listed.tensors[2].bytes, 1u);
  EXPECT_EQ(listed.metadata, (Metadata{{"k", "v"}}));
}

TEST(Safetensors, RefusesBadLengths) {
  EXPECT_ERROR(parse_safetensors(bytes_of(""), "f"), "at least 8 bytes");
  EXPECT_ERROR(parse_safetensors(bytes_of("1234567"), "f"), "at least 8 bytes");
  EXPECT_ERROR(parse_safetensors(bytes_of(std::string(8, '\xff')), "f"), "at most 100000000");
  EXPECT_ERROR(parse_safetensors(bytes_of(image("{}").substr(0, 9)), "f"), "truncated");
  EXPECT_ERROR(parse(""), "does not begin with '{'");
}

TEST(Safetensors, RefusesHeadersOfAnotherForm) {
  const std::string good = entry("U8", "1", "0,1");
  EXPECT_ERROR(parse(" {}"), "does not begin with '{'");
  EXPECT_ERROR(parse("[]"), "does not begin with '{'");
  EXPECT_ERROR(parse("{\"a\":"), "not valid JSON");
  EXPECT_ERROR(parse("{} x"), "not valid JSON");
  EXPECT_ERROR(parse("{\"\xff\":1}"), "not valid JSON");
  EXPECT_ERROR(parse("{\"a\":1}"), "a number in the header at 'a'");
  EXPECT_ERROR(parse("{\"a\":[]}"), "an array");
  EXPECT_ERROR(parse("{\"a\":null}"), "null");
  EXPECT_ERROR(parse("{\"a\":{}}"), "an incomplete entry for tensor 'a'");
  EXPECT_ERROR(parse("{\"a\":{\"dtype\":{}}}"), "an object");
  EXPECT_ERROR(parse("{\"a\":{\"shape\":[[1]]}}"), "an array");
  EXPECT_ERROR(parse("{\"a\":{\"extra\":1}}"), "field 'extra' of tensor 'a'");
  EXPECT_ERROR(parse("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"), "twice");
  EXPECT_ERROR(parse("{\"a\":" + good + ",\"a\":" + good + "}", "x"), "the name 'a' twice");
  EXPECT_ERROR(parse("{\"__metadata__\":{\"a\":1}}"), "a number");
  EXPECT_ERROR(parse("{\"__metadata__\":\"a\"}"), "a string");
  EXPECT_ERROR(parse("{\"a\":" + std::string(100'000, '[')), "an array");
}

TEST(Safetensors, NothingHidesBehindAZeroByte) {
  EXPECT_ERROR(parse(std::string("{}\0 whatever", 12)), "a zero byte in the header at its byte 2");
  EXPECT_NO_THROW(parse("{}      "));
}

TEST(Safetensors, NamesCannotCommandATerminal) {
  const std::string message = tegula::testing::message_of(
      [] { parse("{\"\\u001b]0;title\\u0007\\u009b2J\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,0]}}"); });
  EXPECT_NE(message.find("'\\x1b]0;title\\x07\\x9b2J'"), std::string::npos) << message;
}

TEST(Safetensors, RefusesNumbersThatAreNoSizes) {
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "-1", "0,1") + "}"), "a negative number");
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "1.0", "0,1") + "}"), "a fraction");
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "1e3", "0,1") + "}"), "a fraction");
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "99999999999999999999", "0,1") + "}"), "a fraction");
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "18446744073709551615", "0,1") + "}"), "below 2^63");
  EXPECT_ERROR(parse("{\"a\":" + entry("F64", "4294967296,4294967296,0", "0,0") + "}"), "below 2^63");
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "1", "0,1,2") + "}"), "3 data_offsets");
  EXPECT_ERROR(parse("{\"a\":" + entry("U8", "1", "") + "}"), "0 data_offsets");
}

TEST(Safetensors, RefusesDataThatTheTensorsDoNotTile) {
  const auto two = [](const std::string& a, const std::string& b) {
    return "{\"a\":" + entry("U8", "2", a) + ",\"b\":" + entry("U8", "2", b) + "}";
  };
  EXPECT_EQ(parse(two("0,2", "2,4"), "abcd").tensors.size(), 2u);
  EXPECT_ERROR(parse(two("0,2", "3,5"), "abcde"), "no gaps, no overlap");
  EXPECT_ERROR(parse(two("0,2", "1,3"), "abc"), "no gaps, no overlap");
  EXPECT_ERROR(parse(two("0,2", "0,2"), "ab"), "no gaps, no overlap");
  EXPECT_ERROR(parse(two("1,3", "3,5"), "abcde"), "no gaps, no overlap");
  EXPECT_ERROR(parse(two("0,2", "2,4"), "abc"), "offsets inside the file");
  EXPECT_ERROR(parse(two("0,2", "2,4"), "abcde"), "5 bytes of data");
  EXPECT_ERROR(parse(two("0,3", "3,5"), "abcde"), "2 bytes for shape (2)");
  EXPECT_ERROR(parse(two("2,0", "2,4"), "abcd"), "2 bytes for shape (2)");
  EXPECT_ERROR(parse("{}", "a"), "1 bytes of data");
}

TEST(Safetensors, EveryTruncationOfAFileIsAnError) {
  const TemporaryFolder folder;
  write_safetensors(folder / "whole", {{"a", counting(f32, {2, 2})}, {"b", counting(i8, {3})}});
  const Bytes whole = read_file(folder / "whole");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_atomically(folder / "part", std::span(whole).first(size));
    EXPECT_ERROR(read_safetensors(folder / "part"), "safetensors: got " + (folder / "part"));
  }
  EXPECT_ERROR(read_safetensors(folder / "missing"), "No such file");
}

TEST(Safetensors, RefusesToWriteWhatItCouldNotRead) {
  const TemporaryFolder folder;
  const HostArray one = counting(u8, {1});
  EXPECT_ERROR(write_safetensors(folder / "f", {{"a", one}, {"a", one}}), "two tensors named 'a'");
  EXPECT_ERROR(write_safetensors(folder / "f", {{"__metadata__", one}}), "reserved");
  EXPECT_ERROR(write_safetensors(folder / "f", {{"\xff", one}}), "UTF-8");
  EXPECT_ERROR(write_safetensors(folder / "f", {{"a", one}}, {{"k", "\xc3"}}), "UTF-8");
  EXPECT_ERROR(write_safetensors(folder / "f", {{"a", HostArray{}}}), "without a buffer");
  EXPECT_EQ(folder.files(), 0);
}

TEST(Safetensors, ReadsFilesOfOtherPrograms) {
  const std::string data = tegula::testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "no shared data";
  const TemporaryFolder folder;
  for (const char* file :
       {"/models/mnist-burn/mnist.safetensors", "/format-conformance/safetensors/burn/multi_layer/multi_layer.safetensors"}) {
    const Safetensors read = read_safetensors(data + file);
    EXPECT_GT(read.tensors.size(), 4u);
    write_safetensors(folder / "copy", read.tensors, read.metadata);
    expect_same(read_safetensors(folder / "copy"), read.tensors);
  }
  for (const auto& [name, array] : read_safetensors(data + "/models/mnist-burn/mnist.safetensors").tensors) {
    if (name != "conv1.weight") continue;
    EXPECT_EQ(array.shape, (Shape{8, 1, 3, 3}));
    EXPECT_EQ(array.dtype, f32);
    return;
  }
  FAIL() << "no conv1.weight";
}

}  // namespace
}  // namespace tegula::io

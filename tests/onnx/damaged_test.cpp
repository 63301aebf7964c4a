// ONNX files of any content: cut, changed, deep, large, and with fields that nobody knows.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "tegula/onnx.h"
#include "tests/io/files.h"
#include "tests/onnx/writer.h"
#include "tests/support/values.h"

namespace tegula::testing {
namespace {

GraphText doubled() {
  return {.nodes = {{"Mul", {"x", "w"}, {"y"}, {}, "only"}},
          .inputs = {value_proto("x", {-1, 2})},
          .outputs = {value_proto("y", {-1, 2})},
          .initializers = {tensor_proto("w", {2}, {2, 2})}};
}

std::string file_of(const TemporaryFolder& folder, const std::string& name, std::string_view contents) {
  io::write_atomically(folder / name, bytes_of(contents));
  return folder / name;
}

TEST(OnnxDamaged, EveryFileThatEndsTooEarlySaysWhere) {
  const TemporaryFolder folder;
  const std::string whole = model_proto(doubled());
  int models = 0;
  for (std::size_t size = 8; size < whole.size(); ++size) {
    const std::string message = message_of([&] { parsed(whole.substr(0, size), "cut.onnx"); });
    if (message.empty()) {  // it ends between two fields of the model
      ++models;
      continue;
    }
    const std::string place = "before byte " + std::to_string(size) + " of " + std::to_string(size);
    EXPECT_TRUE(message.find("cut.onnx") != std::string::npos) << message;
    EXPECT_TRUE(message.find(place) != std::string::npos || message.find("no graph") != std::string::npos) << message;
    if (size % 16 == 0) { EXPECT_ERROR(onnx::read_file(file_of(folder, "cut.onnx", whole.substr(0, size))), "cut.onnx"); }
  }
  EXPECT_EQ(models, 1);  // without operator sets
}

TEST(OnnxDamaged, ThePlaceIsThatOfTheDamage) {
  const TemporaryFolder folder;
  GraphText graph = doubled();
  graph.initializers.push_back(tensor_proto("large", {100'000}, std::vector<float>(100'000, 1)));
  for (int i = 0; i < 1000; ++i) graph.initializers.push_back(tensor_proto("w" + std::to_string(i), {2}, {1, 2}));
  std::string model = model_proto(graph);
  const std::size_t at = model.find("w500") + 4;
  model[at] = '\x0f';  // a field of wire type 7
  for (const bool is_file : {false, true}) {
    const std::string message = message_of([&] {
      if (is_file) onnx::read_file(file_of(folder, "changed.onnx", model));
      else parsed(model, "changed.onnx");
    });
    const std::size_t text = message.find("before byte ");
    ASSERT_NE(text, std::string::npos) << message;
    const std::size_t place = std::stoul(message.substr(text + 12));
    EXPECT_GE(place, at);
    EXPECT_LE(place, at + 64);
  }
}

TEST(OnnxDamaged, FieldsThatNobodyKnowsAreSkipped) {
  const std::string group = std::string("\xe3\x3f", 2) + Text().varint(1, 7).bytes(2, "inner").text() + std::string("\xe4\x3f", 2);  // 1020
  const std::string unknown = Text().varint(1000, 5).fixed64(1001, 1).fixed32(1002, 2).bytes(1003, "text").text() + group;
  const std::string graph = graph_proto(doubled()) + unknown + Text().bytes(1, node_proto({"Neg", {"y"}, {"z"}}) + unknown).text() +
                            Text().bytes(5, tensor_proto("u", {1}, {3}) + unknown).text();
  const std::string model = unknown + Text().varint(1, 8).bytes(7, graph).bytes(8, opset_proto("", 17) + unknown).text() + unknown;
  const onnx::File file = parsed(model);
  EXPECT_EQ(file.opsets.at(""), 17);
  ASSERT_EQ(file.graph.nodes.size(), 2u);
  EXPECT_EQ(file.graph.nodes[1].type, "Neg");
  ASSERT_EQ(file.graph.initializers.size(), 2u);
  EXPECT_EQ(file.graph.initializers[1].array.values<float>()[0], 3);
}

TEST(OnnxDamaged, GraphsTooDeepWithinEachOtherAreRefused) {
  std::string graph = graph_proto(doubled());
  std::string model;
  for (int depth = 0; depth < 400; ++depth) {
    if (depth == 20) { EXPECT_EQ(parsed(Text().varint(1, 8).bytes(7, graph).text()).graph.nodes.size(), 1u); }
    graph = graph_proto({.nodes = {{"If", {"c"}, {"y"}, {graph_attribute("then_branch", graph)}}}, .inputs = {}, .outputs = {}});
  }
  EXPECT_ERROR(parsed(Text().varint(1, 8).bytes(7, graph).text()), "messages too deep within each other");
}

/// Two bytes each in the file, some hundred in memory.
TEST(OnnxDamaged, ManyEmptyMessagesTakeBoundedMemory) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  for (const char* tag : {"\x0a", "\x2a", "\x5a", "\x7a"}) {  // nodes, initializers, inputs, sparse initializers
    std::string graph;
    while (graph.size() < kBytes) graph.append(tag, 1).append(1, '\0');
    const long before = peak_memory();
    const std::string message = message_of([&] { parsed(Text().varint(1, 8).bytes(7, graph).text()); });
    EXPECT_TRUE(message.empty() || message.find("messages that take more than") != std::string::npos) << message;
    EXPECT_LT(peak_memory() - before, long{1} << 30);
  }
}

TEST(OnnxDamaged, SparseTensorsAreWrittenOutToABoundInAll) {
  const auto sparse = [](std::int64_t size) {
    return Text().bytes(1, tensor_proto("s", {1}, {5})).bytes(2, tensor_proto("", {0})).varint(3, static_cast<std::uint64_t>(size)).text();
  };
  const auto model_of = [&](int count, std::int64_t size) {
    std::string graph = graph_proto(doubled());
    for (int i = 0; i < count; ++i) graph += Text().bytes(15, sparse(size)).text();
    return Text().varint(1, 8).bytes(7, graph).text();
  };
  const onnx::File file = parsed(model_of(2, 1000));
  ASSERT_EQ(file.graph.initializers.size(), 3u);
  EXPECT_EQ(file.graph.initializers[2].array.values<float>()[0], 5);
  EXPECT_EQ(file.graph.initializers[2].array.values<float>()[999], 0);
  EXPECT_ERROR(parsed(model_of(1, std::int64_t{1} << 40)), "indices do not fit");
  EXPECT_ERROR(parsed(model_of(20, std::int64_t{1} << 24)), "indices do not fit");  // 64 MiB each
}

TEST(OnnxDamaged, AFileBesideIsReadAtMostEightTimes) {
  const TemporaryFolder folder;
  file_of(folder, "weights.bin", std::string(8, '\1'));
  const auto entry = [](std::string_view key, std::string_view value) { return Text().bytes(1, key).bytes(2, value).text(); };
  const auto model_of = [&](int count) {
    GraphText graph = doubled();
    for (int i = 0; i < count; ++i)
      graph.initializers.push_back(Text()
                                       .varint(1, 2)
                                       .varint(2, 1)
                                       .bytes(8, "e" + std::to_string(i))
                                       .bytes(13, entry("location", "weights.bin"))
                                       .varint(14, 1)
                                       .text());
    return model_proto(graph);
  };
  EXPECT_EQ(onnx::read_file(file_of(folder, "shared.onnx", model_of(8))).graph.initializers.size(), 9u);
  EXPECT_ERROR(onnx::read_file(file_of(folder, "shared.onnx", model_of(9))), "more than 8 times the bytes of weights.bin");
}

/// In pieces of 64 KiB from the file, at once from memory.
TEST(OnnxDamaged, FilesAndMemoryAreReadAlike) {
  const TemporaryFolder folder;
  GraphText graph = doubled();
  std::vector<float> values(70'000);
  std::iota(values.begin(), values.end(), 0.f);
  for (const std::string name : {"a", "b", "c"}) graph.initializers.push_back(tensor_proto(name, {7, 10'000}, values));
  const std::string text = model_proto(graph);
  const onnx::File memory = parsed(text), file = onnx::read_file(file_of(folder, "net.onnx", text));
  ASSERT_EQ(file.graph.initializers.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i)
    for (const onnx::File* one : {&memory, &file}) {
      const HostArray& array = one->graph.initializers[i].array;
      EXPECT_EQ(array.shape, (Shape{7, 10'000}));
      EXPECT_EQ(std::memcmp(array.buffer->data(), values.data(), array.bytes()), 0);
    }
}

/// Elements in the list of their type, packed and one by one.
TEST(OnnxDamaged, ListsOfNumbersAreReadInBothForms) {
  const auto number = [](int field, std::uint64_t value) { return Text().varint(static_cast<std::uint32_t>(field), value).text(); };
  const auto packed = [](std::initializer_list<int> bytes) { return std::string(bytes.begin(), bytes.end()); };
  const auto one = [&](onnx::Type type, const std::string& fields) {
    const std::string text = Text().varint(1, 2).varint(2, static_cast<std::uint64_t>(type)).text() + fields;
    return onnx::parse_tensor(bytes_of(text), "t").array;
  };
  const auto list = [](int field, const std::string& bytes) { return Text().bytes(static_cast<std::uint32_t>(field), bytes).text(); };
  EXPECT_EQ(one(onnx::Type::Int64, list(7, packed({1, 2}))).values<std::int64_t>()[1], 2);
  EXPECT_EQ(one(onnx::Type::Int64, number(7, 1) + number(7, ~std::uint64_t{0})).values<std::int64_t>()[1], -1);
  EXPECT_EQ(one(onnx::Type::Uint32, list(11, packed({1, 3}))).values<std::uint32_t>()[1], 3u);
  EXPECT_EQ(one(onnx::Type::Uint8, number(5, 200) + number(5, 7)).values<std::uint8_t>()[0], 200);
  EXPECT_EQ(one(onnx::Type::Bool, list(5, packed({0, 5}))).values<bool>()[1], true);
  EXPECT_EQ(one(onnx::Type::Float, Text().fixed32(4, 0.5f).fixed32(4, -1.5f).text()).values<float>()[1], -1.5f);
  EXPECT_EQ(one(onnx::Type::Double, Text().fixed64(10, 0.5).fixed64(10, -1.5).text()).values<double>()[0], 0.5);
  EXPECT_EQ(one(onnx::Type::Float16, number(5, 0x3c00) + number(5, 0)).values<Half>()[0].bits, 0x3c00);
  EXPECT_EQ(one(onnx::Type::Int4, number(5, 0x71)).values<std::int8_t>()[1], 7);
  EXPECT_ERROR(one(onnx::Type::Int64, number(7, 1)), "with 1 elements");
  EXPECT_ERROR(one(onnx::Type::Float, list(4, "12345678901")), "before byte");
}

TEST(OnnxDamaged, AttributesWithoutTheirValueAreNotWritten) {
  for (const int kind : {4, 5}) {  // a tensor, a graph
    GraphText graph = doubled();
    graph.nodes[0].attributes = {Text().bytes(1, "value").varint(20, static_cast<std::uint64_t>(kind)).text()};
    EXPECT_ERROR(onnx::bytes_of(parsed(model_proto(graph))), "the attribute value without a value");
  }
}

TEST(OnnxDamaged, TwoGigabytesAreWhatAMessageHas) {
  const TemporaryFolder folder;
  const std::string path = file_of(folder, "large.onnx", model_proto(doubled()));
  std::filesystem::resize_file(path, std::uintmax_t{1} << 31);
  EXPECT_ERROR(onnx::read_file(path), "large.onnx: 2147483648 bytes, expected less than 2 GiB");
  // 40 parameters of 64 MB, which share one: nothing is written.
  onnx::File file = parsed(model_proto(doubled()));
  const HostArray shared = HostArray::empty(u8, {64'000'000});
  for (int i = 0; i < 40; ++i) file.graph.initializers.push_back({"p" + std::to_string(i), onnx::Type::Uint8, shared});
  EXPECT_ERROR(onnx::write_file(file, folder / "out.onnx", {.external_above = std::uint64_t{1} << 40}), "less than 2 GiB");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
  EXPECT_ERROR(onnx::bytes_of(file), "less than 2 GiB");
}

}  // namespace
}  // namespace tegula::testing

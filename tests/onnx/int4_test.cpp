// Integers of 4 bits: read, held two in a byte, computed with, written again as what they were.

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "tegula/onnx.h"
#include "tegula/tegula.h"
#include "tests/io/files.h"
#include "tests/onnx/round_trip.h"
#include "tests/onnx/writer.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using onnx::StoredArray;
using onnx::Type;
using testing::attribute;
using testing::value_proto;

template <class T>
StoredArray stored(const std::string& name, Type type, const std::vector<T>& values, const Shape& shape) {
  return {name, type, HostArray::from(std::span<const T>(values), shape)};
}

onnx::Node node(const std::string& type, std::vector<std::string> inputs, const std::string& output,
                const std::vector<std::pair<std::string, std::int64_t>>& attributes = {}) {
  onnx::Node out{.name = output + "_node", .type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}, .attributes = {}};
  for (const auto& [name, value] : attributes) {
    onnx::Attribute one;
    one.name = name, one.kind = onnx::Attribute::Kind::Int, one.integer = value;
    out.attributes.push_back(one);
  }
  return out;
}

onnx::ValueType value(const std::string& name, Type element, const std::vector<std::int64_t>& sizes) {
  return {.name = name, .element = element, .has_shape = true, .sizes = sizes, .symbols = std::vector<std::string>(sizes.size())};
}

/// From -8 to 7.
std::vector<std::int8_t> numbers_of_4_bits(int count, int step) {
  std::vector<std::int8_t> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<std::int8_t>(i * step % 16 - 8));
  return out;
}

/// y = x (2, 30) times the weights (30, 20) in blocks of 3 rows, each column of a block with a scale and a zero point of its own.
onnx::File blocks() {
  onnx::File file{.path = "int4.onnx", .ir_version = 10, .producer = "", .opsets = {{"", 21}}, .graph = {}, .functions = {}};
  std::vector<float> scales;
  for (int i = 0; i < 200; ++i) scales.push_back(0.125F * static_cast<float>(1 + i % 9));
  file.graph = {
      .name = "g",
      .nodes = {node("DequantizeLinear", {"w", "scale", "zero"}, "d", {{"axis", 0}, {"block_size", 3}}), node("MatMul", {"x", "d"}, "y")},
      .initializers = {stored("w", Type::Int4, numbers_of_4_bits(600, 7), {30, 20}), stored("scale", Type::Float, scales, {10, 20}),
                       stored("zero", Type::Int4, numbers_of_4_bits(200, 3), {10, 20})},
      .inputs = {value("x", Type::Float, {2, 30})},
      .outputs = {value("y", Type::Float, {2, 20})}};
  return file;
}

Tensor expected(const Tensor& x) {
  const onnx::File file = blocks();
  const auto numbers = [&](std::size_t i) { return cast(from_array(file.graph.initializers[i].array), f32); };
  const auto rows = [](const Tensor& t) { return repeat_interleave(t, 3, 0); };
  return matmul(x, (numbers(0) - rows(numbers(2))) * rows(numbers(1)));
}

TEST(OnnxInt4, FilesHoldTwoInAByte) {
  const testing::TemporaryFolder folder;
  for (const std::uint64_t external_above : {std::uint64_t{1} << 40, std::uint64_t{0}}) {
    onnx::File file = blocks();
    file.graph.initializers.push_back(stored("odd", Type::Uint4, std::vector<std::uint8_t>{1, 15, 8}, {3}));
    file.graph.initializers.push_back(stored("none", Type::Int4, std::vector<std::int8_t>{}, {0, 4}));
    onnx::write_file(file, folder / "net.onnx", {.external_above = external_above});
    const onnx::File again = onnx::read_file(folder / "net.onnx");
    ASSERT_EQ(again.graph.initializers.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      const StoredArray &a = file.graph.initializers[i], &b = again.graph.initializers[i];
      EXPECT_EQ(a.type, b.type) << a.name;
      EXPECT_EQ(a.array.shape, b.array.shape) << a.name;
      if (a.array.bytes() > 0) { EXPECT_EQ(std::memcmp(a.array.buffer->data(), b.array.buffer->data(), a.array.bytes()), 0) << a.name; }
    }
  }
  // 10,000 numbers in 5,000 bytes, and less than 200 for all else.
  onnx::File large = blocks();
  large.graph.initializers.push_back(stored("large", Type::Int4, std::vector<std::int8_t>(10000, -3), {100, 100}));
  EXPECT_LT(onnx::bytes_of(large).size(), onnx::bytes_of(blocks()).size() + 5200);
}

TEST(OnnxInt4, WeightsInBlocksAreDequantised) {
  const onnx::Model model(blocks());
  const Tensor x = normal({2, 30});
  test::expect_near(model(x), expected(x), 1e-6);
  auto compiled = jit([&](const Tensor& in) { return model(in); });
  test::expect_near(compiled(x), expected(x), 1e-6);
  test::expect_near(compiled(x + 1), expected(x + 1), 1e-6);
  // The scales are trained further, the integers stay.
  onnx::Model trained(blocks());
  ASSERT_EQ(parameters(trained).size(), 1u);
  EXPECT_EQ(grad(sum(trained(x)), parameters(trained))[0].shape(), (Shape{10, 20}));
}

TEST(OnnxInt4, NumbersAreCastAndQuantised) {
  onnx::File file{.path = "casts.onnx", .ir_version = 10, .producer = "", .opsets = {{"", 21}}, .graph = {}, .functions = {}};
  constexpr auto kInt4 = static_cast<std::int64_t>(Type::Int4), kUint4 = static_cast<std::int64_t>(Type::Uint4);
  constexpr auto kFloat = static_cast<std::int64_t>(Type::Float), kInt8 = static_cast<std::int64_t>(Type::Int8);
  file.graph = {.name = "g",
                .nodes = {node("Cast", {"x"}, "a", {{"to", kInt4}}), node("Cast", {"a"}, "whole", {{"to", kFloat}}),
                          node("Cast", {"bytes"}, "b", {{"to", kUint4}}), node("Cast", {"b"}, "low", {{"to", kInt8}}),
                          node("QuantizeLinear", {"x", "scale", "zero"}, "q"), node("DequantizeLinear", {"q", "scale", "zero"}, "near"),
                          node("Cast", {"q"}, "codes", {{"to", kInt8}})},
                .initializers = {stored("scale", Type::Float, std::vector<float>{0.5F}, {}),
                                 stored("zero", Type::Int4, std::vector<std::int8_t>{1}, {})},
                .inputs = {value("x", Type::Float, {5}), value("bytes", Type::Int8, {3})},
                .outputs = {value("whole", Type::Float, {5}), value("low", Type::Int8, {3}), value("near", Type::Float, {5}),
                            value("codes", Type::Int8, {5})}};
  const std::vector<Tensor> x{tensor({-7.9F, -0.6F, 0.3F, 2.75F, 7.2F}), tensor<std::int8_t>({-1, 17, 100})};
  const auto check = [&](const std::vector<Tensor>& y) {
    test::expect_close(y[0], {-7, 0, 0, 2, 7}, 0);
    test::expect_close(y[1], {15, 1, 4}, 0);
    test::expect_close(y[2], {-4.5, -0.5, 0.5, 3, 3}, 0);  // -8 and 7 are the ends
    test::expect_close(y[3], {-8, 0, 2, 7, 7}, 0);
  };
  const onnx::Model model(file);
  check(model(x));
  test::check_round_trip("casts to 4 bits", [&](const std::vector<Tensor>& in) { return model(in); }, nn::state(model), x,
                         {.gradients = false});
}

/// The types of the constants of 4 bits in a file, and how many numbers they have.
std::pair<std::set<Type>, std::int64_t> packed_constants(const onnx::File& file) {
  std::pair<std::set<Type>, std::int64_t> out;
  for (const onnx::Node& one : file.graph.nodes) {
    const onnx::Attribute* const found = one.find("value");
    if (one.type != "Constant" || !found || !onnx::is_int4(found->tensor->type)) continue;
    out.first.insert(found->tensor->type), out.second += found->tensor->array.size();
  }
  return out;
}

TEST(OnnxInt4, AreWrittenAsSuchAgain) {
  onnx::Model model(blocks());
  const Tensor x = normal({2, 30});
  const auto f = [&](const std::vector<Tensor>& in) { return model(in); };
  test::check_round_trip("weights of 4 bits", f, nn::state(model), {x});
  onnx::File file = onnx::to_file("again.onnx", {.names = nn::state(model)}, f, std::vector<Tensor>{x});
  EXPECT_EQ(packed_constants(file), (std::pair{std::set{Type::Int4}, std::int64_t{800}}));
  // The file that was written is read and written once more.
  const onnx::Model second(test::read_again(file));
  file = onnx::to_file("again.onnx", {}, [&](const std::vector<Tensor>& in) { return second(in); }, std::vector<Tensor>{x});
  EXPECT_EQ(packed_constants(file), (std::pair{std::set{Type::Int4}, std::int64_t{800}}));
  // Halves are computed from bytes that come with each call.
  for (const Int4 kind : {Int4::Signed, Int4::Unsigned}) {
    const auto unpack = [&](const std::vector<Tensor>& in) { return std::vector{unpack_int4(in[0], kind)}; };
    test::check_round_trip(kind == Int4::Signed ? "i4 of bytes" : "u4 of bytes", unpack, {}, {cast(randint(0, 256, {3, 5}), u8)});
  }
  const Tensor bytes = pack_int4(tensor<std::int32_t>({-8, 7, -1, 3}));
  const auto constant = [&](const std::vector<Tensor>& in) { return std::vector{in[0] * unpack_int4(bytes, Int4::Signed, f32)}; };
  test::check_round_trip("a constant of 4 bits", constant, {}, {normal({2, 4})});
  EXPECT_EQ(packed_constants(onnx::to_file("c.onnx", {}, constant, std::vector<Tensor>{normal({2, 4})})).second, 4);
}

}  // namespace
}  // namespace tegula

// Sums beyond 2^24, scatters of many updates, and loops whose end a value decides.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tegula/onnx.h"
#include "tests/onnx/writer.h"

namespace tegula::testing {
namespace {

onnx::Model model_of(const GraphText& graph) { return onnx::Model(parsed(model_proto(graph))); }
constexpr int kUint8 = 2, kInt8 = 3, kInt32 = 6;

TEST(OnnxExtremes, ConvIntegerAddsExactly) {
  constexpr std::int64_t kChannels = 5399;
  const onnx::Model model =
      model_of({.nodes = {{"ConvInteger", {"x", "w"}, {"y"}}},
                .inputs = {value_proto("x", {1, kChannels, 1, 2}, kUint8), value_proto("w", {2, kChannels, 1, 1}, kInt8)},
                .outputs = {value_proto("y", {1, 2, 1, 2}, kInt32)}});
  const Tensor x = full({1, kChannels, 1, 2}, 255, u8),
               w = concat({full({1, kChannels, 1, 1}, 127, i8), full({1, kChannels, 1, 1}, -128, i8)}, 0);
  const std::vector<std::int32_t> y = model(std::vector<Tensor>{x, w})[0].to_host<std::int32_t>();
  EXPECT_EQ(y, (std::vector<std::int32_t>{255 * 127 * 5399, 255 * 127 * 5399, 255 * -128 * 5399, 255 * -128 * 5399}));
}

TEST(OnnxExtremes, ScatterElementsTakesManyUpdates) {
  constexpr std::int64_t kPlaces = 20'000, kUpdates = 20'000;  // 4e8 pairs
  for (const std::int64_t seed : {7919, 104'729}) {
    const std::string kind = Text().bytes(1, "reduction").bytes(4, seed == 7919 ? "max" : "min").varint(20, 3).text();
    const onnx::Model model =
        model_of({.nodes = {{"ScatterElements", {"x", "index", "u"}, {"y"}, {kind}}},
                  .inputs = {value_proto("x", {kPlaces}), value_proto("index", {kUpdates}, 7), value_proto("u", {kUpdates})},
                  .outputs = {value_proto("y", {kPlaces})}});
    const Tensor index = remainder(arange(kUpdates) * seed, kPlaces / 3), u = cast(remainder(arange(kUpdates) * 31, 997), f32) - 500.0;
    const auto got = model(std::vector<Tensor>{zeros({kPlaces}), index, u})[0].to_host<float>();
    std::vector<float> expected(kPlaces, 0);
    const auto places = index.to_host<std::int64_t>();
    const auto values = u.to_host<float>();
    for (std::size_t i = 0; i < places.size(); ++i) {
      float& one = expected[static_cast<std::size_t>(places[i])];
      one = seed == 7919 ? std::max(one, values[i]) : std::min(one, values[i]);
    }
    EXPECT_EQ(got, expected);
  }
}

TEST(OnnxExtremes, PlacesInPadsAreNone) {
  // Zeros are the lowest bytes, as the padding is.
  const onnx::Model model = model_of(
      {.nodes = {{"MaxPool",
                  {"x"},
                  {"y", "place"},
                  {attribute("kernel_shape", std::vector<std::int64_t>{2, 2}), attribute("strides", std::vector<std::int64_t>{2, 2}),
                   attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})}}},
       .inputs = {value_proto("x", {1, 2, 2, 2}, kUint8)},
       .outputs = {value_proto("y", {1, 2, 2, 2}, kUint8), value_proto("place", {1, 2, 2, 2}, 7)}});
  const auto y = model(std::vector<Tensor>{zeros({1, 2, 2, 2}, u8)});
  EXPECT_EQ(y[1].to_host<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(OnnxExtremes, PadsOfPoolingsMayBeLargeAndNegative) {
  const auto pooled = [](const char* type, const std::vector<std::int64_t>& pads) {
    const onnx::Model model = model_of({.nodes = {{type,
                                                   {"x"},
                                                   {"y"},
                                                   {attribute("kernel_shape", std::vector<std::int64_t>{2}), attribute("pads", pads),
                                                    attribute("strides", std::vector<std::int64_t>{2})}}},
                                        .inputs = {value_proto("x", {1, 1, 4})},
                                        .outputs = {value_proto("y", {})}});
    return model(tensor({1.F, 2.F, 3.F, 4.F}, {1, 1, 4})).to_host<double>();
  };
  EXPECT_EQ(pooled("AveragePool", {3, 3}), (std::vector<double>{0, 1, 2.5, 4, 0}));
  EXPECT_EQ(pooled("MaxPool", {-1, -1}), std::vector<double>{3});
  EXPECT_EQ(pooled("LpPool", {-1, 1}), (std::vector<double>{std::sqrt(13.0F), 4}));
}

TEST(OnnxExtremes, Col2ImInFourAxes) {
  const Shape image{3, 2, 3, 2};
  const onnx::Model model = model_of({.nodes = {{"Col2Im", {"x", "image", "block"}, {"y"}}},
                                      .inputs = {value_proto("x", {1, 32, 4})},
                                      .outputs = {value_proto("y", {})},
                                      .initializers = {tensor_proto("image", {3, 2, 3, 2}), tensor_proto("block", {2, 2, 2, 2})}});
  const Tensor x = normal({1, 32, 4});
  EXPECT_EQ(model(x).to_host(), fold(x, image, 2).to_host());
}

/// v doubles until its sum reaches a hundred, at most `most` times.
onnx::Model doubling(std::int64_t most) {
  const std::string body = graph_proto({.nodes = {{"Add", {"v", "v"}, {"v2"}},
                                                  {"ReduceSum", {"v2"}, {"s"}, {attribute("keepdims", std::int64_t{0})}},
                                                  {"Less", {"s", "hundred"}, {"c2"}}},
                                        .inputs = {value_proto("i", {}, 7), value_proto("c", {}, 9), value_proto("v", {2})},
                                        .outputs = {value_proto("c2", {}, 9), value_proto("v2", {2})},
                                        .initializers = {tensor_proto("hundred", {}, {100})}});
  Text limit;  // one i64 of no axes
  limit.varint(2, 7).bytes(8, "most").bytes(9, {reinterpret_cast<const char*>(&most), 8});
  return model_of({.nodes = {{"Loop", {"most", "", "x"}, {"y"}, {graph_attribute("body", body)}}},
                   .inputs = {value_proto("x", {2})},
                   .outputs = {value_proto("y", {2})},
                   .initializers = {limit.text()}});
}

TEST(OnnxExtremes, ALoopEndsByItsValuesInAJitedFunction) {
  const onnx::Model model = doubling(50), short_one = doubling(3);
  auto f = jit([&](const Tensor& x) { return model(x); });
  auto g = jit([&](const Tensor& x) { return grad(sum(short_one(x)), x); });
  for (int call = 0; call < 3; ++call) {
    for (const float start : {1.F, 10.F, 200.F}) {
      const Tensor x = full({2}, start);
      EXPECT_EQ(f(x).to_host(), model(x).to_host()) << start;
    }
    EXPECT_EQ(g(ones({2})).to_host(), (std::vector<float>{8, 8}));
    EXPECT_EQ(g(full({2}, 20.F)).to_host(), (std::vector<float>{4, 4}));
  }
}

}  // namespace
}  // namespace tegula::testing

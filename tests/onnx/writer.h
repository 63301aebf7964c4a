#pragma once
// Small ONNX models, written field by field.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/io/wire.h"
#include "tegula/onnx/file.h"

namespace tegula::testing {

using Text = io::WireWriter;

/// A TensorProto of f32 or i64.
inline std::string tensor_proto(std::string_view name, const std::vector<std::int64_t>& sizes, const std::vector<float>& values) {
  Text out;
  for (const auto size : sizes) out.varint(1, static_cast<std::uint64_t>(size));
  out.varint(2, 1).bytes(8, name);
  out.bytes(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  return out.text();
}
inline std::string tensor_proto(std::string_view name, const std::vector<std::int64_t>& values) {
  Text out;
  out.varint(1, values.size()).varint(2, 7).bytes(8, name);
  out.bytes(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t)});
  return out.text();
}
/// An AttributeProto.
inline std::string attribute(std::string_view name, std::int64_t value) {
  return Text().bytes(1, name).varint(3, static_cast<std::uint64_t>(value)).varint(20, 2).text();
}
inline std::string attribute(std::string_view name, float value) { return Text().bytes(1, name).fixed32(2, value).varint(20, 1).text(); }
inline std::string attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  Text out;
  out.bytes(1, name);
  for (const auto value : values) out.varint(8, static_cast<std::uint64_t>(value));
  return out.varint(20, 7).text();
}
inline std::string graph_attribute(std::string_view name, std::string_view graph) {
  return Text().bytes(1, name).bytes(6, graph).varint(20, 5).text();
}
/// One that takes its value from the call of the function around it.
inline std::string reference(std::string_view name, std::string_view of, int kind) {
  return Text().bytes(1, name).bytes(21, of).varint(20, static_cast<std::uint64_t>(kind)).text();
}

struct NodeText {
  std::string type;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes = {};
  std::string name = {}, domain = {};
};
inline std::string node_proto(const NodeText& node) {
  Text out;
  for (const auto& one : node.inputs) out.bytes(1, one);
  for (const auto& one : node.outputs) out.bytes(2, one);
  out.bytes(3, node.name).bytes(4, node.type);
  for (const auto& one : node.attributes) out.bytes(5, one);
  return out.bytes(7, node.domain).text();
}

/// A ValueInfoProto; -1 is a size that is not given. `type` is TensorProto.DataType.
inline std::string value_proto(std::string_view name, const std::vector<std::int64_t>& sizes, int type = 1) {
  Text shape;
  for (const auto size : sizes)
    shape.bytes(1, size < 0 ? Text().bytes(2, "any").text() : Text().varint(1, static_cast<std::uint64_t>(size)).text());
  const std::string tensor = Text().varint(1, static_cast<std::uint64_t>(type)).bytes(2, shape.text()).text();
  return Text().bytes(1, name).bytes(2, Text().bytes(1, tensor).text()).text();
}

struct GraphText {
  std::vector<NodeText> nodes;
  std::vector<std::string> inputs, outputs;  // value_proto
  std::vector<std::string> initializers = {};  // tensor_proto
};
inline std::string graph_proto(const GraphText& graph) {
  Text out;
  for (const auto& one : graph.nodes) out.bytes(1, node_proto(one));
  out.bytes(2, "graph");
  for (const auto& one : graph.initializers) out.bytes(5, one);
  for (const auto& one : graph.inputs) out.bytes(11, one);
  for (const auto& one : graph.outputs) out.bytes(12, one);
  return out.text();
}

inline std::string opset_proto(std::string_view domain, std::int64_t version) {
  return Text().bytes(1, domain).varint(2, static_cast<std::uint64_t>(version)).text();
}
inline std::string model_proto(const GraphText& graph, std::int64_t opset = 17, const std::vector<std::string>& functions = {}) {
  Text out;
  out.varint(1, 8).bytes(2, "a test").bytes(7, graph_proto(graph)).bytes(8, opset_proto("", opset));
  if (!functions.empty()) out.bytes(8, opset_proto("own", 1));
  for (const auto& one : functions) out.bytes(25, one);
  return out.text();
}

inline onnx::File parsed(const std::string& model, const std::string& name = "test.onnx", const std::string& folder = "") {
  return onnx::parse_file(std::as_bytes(std::span(model)), name, folder);
}

}  // namespace tegula::testing

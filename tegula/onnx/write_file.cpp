// A File as the messages that file.cpp and read_tensor.cpp read.

#include <exception>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <tegula/onnx/onnx.pb.h>

#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/onnx/file.h"
#include "tegula/onnx/read_message.h"

namespace tegula::onnx {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr std::uint64_t kAlignment = 4096;  // of tensors in external data
constexpr int kPiece = 1 << 20;  // bytes written at once

[[noreturn]] void refuse(const std::string& got, const std::string& expected) {
  throw Error({.op = "onnx::save", .got = printable(got), .expected = expected});
}

/// The numbers as the file has them.
HostArray data_of(const StoredArray& one) { return is_int4(one.type) && one.array.buffer ? packed_int4(one.array) : one.array; }
std::span<const std::byte> span_of(const HostArray& data) {
  return {static_cast<const std::byte*>(data.buffer ? data.buffer->data() : nullptr), data.bytes()};
}
std::uint64_t stored_bytes(const StoredArray& one) {
  return is_int4(one.type) ? static_cast<std::uint64_t>(one.array.size() + 1) / 2 : one.array.bytes();
}

/// All fields but the numbers.
void fill(proto::Tensor& to, const StoredArray& from) {
  const bool is_held_so = from.type == type_of(from.array.dtype) || (is_int4(from.type) && dtype_of(from.type) == from.array.dtype);
  if (!is_held_so || (from.array.size() > 0 && !from.array.buffer))
    refuse("tensor " + from.name + " of " + name_of(from.type), "a type that tensors have here");
  for (const std::int64_t size : from.array.shape) to.add_dims(size);
  to.set_data_type(static_cast<std::int32_t>(from.type));
  if (!from.name.empty()) to.set_name(from.name);
}
void fill_whole(proto::Tensor& to, const StoredArray& from) {
  fill(to, from);
  const HostArray held = data_of(from);
  to.set_raw_data(span_of(held).data(), span_of(held).size());
}

void fill_whole(proto::Graph& to, const Graph& from);

void fill(proto::Attribute& to, const Attribute& from) {
  using Kind = Attribute::Kind;
  to.set_name(from.name);
  to.set_type(static_cast<std::int32_t>(from.kind));
  if (!from.reference.empty()) {
    to.set_ref_attr_name(from.reference);
    return;
  }
  if ((from.kind == Kind::Tensor && !from.tensor) || (from.kind == Kind::Graph && !from.graph))
    refuse("the attribute " + from.name + " without a value", "its tensor or graph");
  switch (from.kind) {
    case Kind::Float: to.set_f(from.number); break;
    case Kind::Int: to.set_i(from.integer); break;
    case Kind::String: to.set_s(from.text); break;
    case Kind::Tensor: fill_whole(*to.mutable_t(), *from.tensor); break;
    case Kind::Graph: fill_whole(*to.mutable_g(), *from.graph); break;
    case Kind::Floats: to.mutable_floats()->Add(from.numbers.begin(), from.numbers.end()); break;
    case Kind::Ints: to.mutable_ints()->Add(from.integers.begin(), from.integers.end()); break;
    case Kind::Strings:
      for (const std::string& text : from.texts) to.add_strings(text);
      break;
    default: refuse("the attribute " + from.name, "numbers, texts, a tensor or a graph");
  }
}

void fill(proto::Node& to, const Node& from) {
  for (const std::string& one : from.inputs) to.add_input(one);
  for (const std::string& one : from.outputs) to.add_output(one);
  if (!from.name.empty()) to.set_name(from.name);
  to.set_op_type(from.type);
  for (const Attribute& one : from.attributes) fill(*to.add_attribute(), one);
  if (!from.domain.empty()) to.set_domain(from.domain);
}

void fill(proto::Value& to, const ValueType& from) {
  if (from.kind != ValueType::Kind::Tensor) refuse("the value " + from.name + ", which is no tensor", "tensors");
  to.set_name(from.name);
  if (from.element == Type::Undefined) return;
  proto::Type::OfTensor& tensor = *to.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<std::int32_t>(from.element));
  if (!from.has_shape) return;
  proto::Shape& shape = *tensor.mutable_shape();
  for (std::size_t i = 0; i < from.sizes.size(); ++i) {
    proto::Shape::Size& size = *shape.add_dim();
    if (from.sizes[i] >= 0) size.set_dim_value(from.sizes[i]);
    else if (i < from.symbols.size() && !from.symbols[i].empty()) size.set_dim_param(from.symbols[i]);
  }
}

/// Fills in the graph without the initializers.
void fill(proto::Graph& to, const Graph& from) {
  for (const Node& one : from.nodes) fill(*to.add_node(), one);
  to.set_name(from.name.empty() ? "graph" : from.name);
  for (const ValueType& one : from.inputs) fill(*to.add_input(), one);
  for (const ValueType& one : from.outputs) fill(*to.add_output(), one);
}
void fill_whole(proto::Graph& to, const Graph& from) {
  fill(to, from);
  for (const StoredArray& one : from.initializers) fill_whole(*to.add_initializer(), one);
}

template <class Message>
void add_opsets(Message& to, const Opsets& from) {
  for (const auto& [domain, version] : from) {
    proto::OperatorSet& one = *to.add_opset_import();
    one.set_domain(domain);
    one.set_version(version);
  }
}

void fill(proto::Function& to, const Function& from) {
  to.set_name(from.name);
  for (const std::string& one : from.inputs) to.add_input(one);
  for (const std::string& one : from.outputs) to.add_output(one);
  for (const Node& one : from.nodes) fill(*to.add_node(), one);
  add_opsets(to, from.opsets);
  to.set_domain(from.domain);
  for (const Attribute& one : from.defaults) fill(*to.add_attribute_proto(), one);
}

/// The place of the numbers of an initializer.
struct External {
  std::string location;
  std::uint64_t offset = 0;
};

void add_entry(proto::Tensor& to, const char* key, const std::string& value) {
  proto::Entry& one = *to.add_external_data();
  one.set_key(key);
  one.set_value(value);
}

/// A field of so many bytes, which the caller writes behind its beginning: numbers are not copied into a message.
void begin(CodedOutputStream& out, int field, std::uint64_t bytes) {
  out.WriteTag(static_cast<std::uint32_t>(field) << 3 | 2);
  out.WriteVarint64(bytes);
}
std::uint64_t bytes_of_field(std::uint64_t bytes) { return 1 + CodedOutputStream::VarintSize64(bytes) + bytes; }  // of one below 16

/// `externals`: one for each initializer, or none.
void write_model(const File& file, const std::vector<External>& externals, google::protobuf::io::ZeroCopyOutputStream& to) {
  proto::Model before, behind;  // the graph, in the order of the fields
  before.set_ir_version(file.ir_version);
  if (!file.producer.empty()) before.set_producer_name(file.producer);
  add_opsets(behind, file.opsets);
  for (const Function& one : file.functions) fill(*behind.add_functions(), one);
  proto::Graph graph;
  fill(graph, file.graph);
  std::vector<std::pair<proto::Tensor, std::uint64_t>> initializers;  // with their bytes
  std::uint64_t graph_bytes = graph.ByteSizeLong();
  for (std::size_t i = 0; i < file.graph.initializers.size(); ++i) {
    const StoredArray& one = file.graph.initializers[i];
    auto& [tensor, size] = initializers.emplace_back();
    fill(tensor, one);
    if (!externals.empty()) {
      add_entry(tensor, "location", externals[i].location);
      add_entry(tensor, "offset", std::to_string(externals[i].offset));
      add_entry(tensor, "length", std::to_string(stored_bytes(one)));
      tensor.set_data_location(1);
    }
    size = tensor.ByteSizeLong() + (externals.empty() ? bytes_of_field(stored_bytes(one)) : 0);
    graph_bytes += bytes_of_field(size);
  }
  const std::uint64_t bytes = before.ByteSizeLong() + bytes_of_field(graph_bytes) + behind.ByteSizeLong();
  if (bytes > kMostInMessage)
    refuse("a model of " + std::to_string(bytes) + " bytes", "less than 2 GiB beside external data: constants are parts of the graph");
  CodedOutputStream out(&to);
  before.SerializeToCodedStream(&out);
  begin(out, proto::Model::kGraphFieldNumber, graph_bytes);
  graph.SerializeToCodedStream(&out);
  for (std::size_t i = 0; i < initializers.size(); ++i) {
    const auto& [tensor, size] = initializers[i];
    begin(out, proto::Graph::kInitializerFieldNumber, size);
    tensor.SerializeToCodedStream(&out);
    if (!externals.empty()) continue;
    const HostArray held = data_of(file.graph.initializers[i]);
    const auto numbers = span_of(held);
    begin(out, proto::Tensor::kRawDataFieldNumber, numbers.size());
    out.WriteRaw(numbers.data(), static_cast<int>(numbers.size()));
  }
  behind.SerializeToCodedStream(&out);
}

/// No exception goes through protobuf, which calls it.
class IntoFile final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit IntoFile(io::AtomicFile& file) : file_(file) {}
  bool Write(const void* data, int size) override {
    try {
      file_.write({static_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
    } catch (...) { failure_ = std::current_exception(); }
    return !failure_;
  }
  const std::exception_ptr& failure() const { return failure_; }

 private:
  io::AtomicFile& file_;
  std::exception_ptr failure_;
};

std::string name_in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string bytes_of(const File& file) {
  std::string out;
  google::protobuf::io::StringOutputStream to(&out);
  write_model(file, {}, to);
  return out;
}

void write_file(const File& file, const std::string& path, const WriteOptions& options) {
  std::uint64_t bytes = 0;
  for (const StoredArray& one : file.graph.initializers) bytes += stored_bytes(one);
  std::vector<External> externals;
  if (bytes > options.external_above) {
    const std::string beside = path + ".data";
    io::AtomicFile data(beside, "onnx::save");
    std::uint64_t at = 0;
    for (const StoredArray& one : file.graph.initializers) {
      const std::string gap((kAlignment - at % kAlignment) % kAlignment, '\0');
      data.write(std::as_bytes(std::span(gap)));
      at += gap.size();
      externals.push_back({name_in_folder(beside), at});
      const HostArray held = data_of(one);
      data.write(span_of(held));
      at += stored_bytes(one);
    }
    data.commit();
  }
  io::AtomicFile model(path, "onnx::save");
  IntoFile into(model);
  {
    google::protobuf::io::CopyingOutputStreamAdaptor to(&into, kPiece);
    write_model(file, externals, to);
  }
  if (into.failure()) std::rethrow_exception(into.failure());
  model.commit();
}

}  // namespace tegula::onnx

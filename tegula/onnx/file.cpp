#include "tegula/onnx/file.h"

#include "tegula/core/text.h"

#if TEGULA_HAS_PROTOBUF
#include <algorithm>

#include "tegula/io/file_kind.h"
#include "tegula/onnx/read_tensor.h"
#endif

namespace tegula::onnx {

std::string Node::title() const {
  if (!name.empty()) return name;
  for (const std::string& output : outputs)
    if (!output.empty()) return type + " of " + output;
  return type;
}

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& one : attributes)
    if (one.name == attribute) return &one;
  return nullptr;
}

#if TEGULA_HAS_PROTOBUF
namespace {

using Texts = std::vector<std::string>;

std::string domain_of(const std::string& name) { return name == "ai.onnx" ? "" : name; }

Graph graph_of(proto::Graph& from, Source& source);

/// The kind of an attribute in a file of IR version 1, which names no type.
Attribute::Kind kind_of(const proto::Attribute& from) {
  using Kind = Attribute::Kind;
  return from.has_f()               ? Kind::Float
         : from.has_i()             ? Kind::Int
         : from.has_s()             ? Kind::String
         : from.has_t()             ? Kind::Tensor
         : from.has_g()             ? Kind::Graph
         : from.floats_size() > 0   ? Kind::Floats
         : from.ints_size() > 0     ? Kind::Ints
         : from.strings_size() > 0  ? Kind::Strings
         : from.has_sparse_tensor() ? Kind::SparseTensor
         : from.has_tp()            ? Kind::Type
                                    : Kind::Undefined;
}

Attribute attribute_of(proto::Attribute& from, Source& source) {
  Attribute out;
  out.name = from.name();
  out.kind = from.type() == 0 ? kind_of(from) : static_cast<Attribute::Kind>(std::clamp(from.type(), 0, 255));
  out.reference = from.ref_attr_name();
  out.number = from.f();
  out.integer = from.i();
  out.text = from.s();
  out.numbers.assign(from.floats().begin(), from.floats().end());
  out.integers.assign(from.ints().begin(), from.ints().end());
  out.texts.assign(from.strings().begin(), from.strings().end());
  if (from.has_t()) out.tensor = std::make_shared<StoredArray>(array_of(*from.mutable_t(), source));
  if (from.has_sparse_tensor()) out.tensor = std::make_shared<StoredArray>(array_of(*from.mutable_sparse_tensor(), source));
  if (from.has_g()) out.graph = std::make_shared<Graph>(graph_of(*from.mutable_g(), source));
  return out;
}

Node node_of(proto::Node& from, Source& source) {
  Node out{.name = from.name(),
           .type = from.op_type(),
           .domain = domain_of(from.domain()),
           .inputs = Texts(from.input().begin(), from.input().end()),
           .outputs = Texts(from.output().begin(), from.output().end())};
  for (proto::Attribute& one : *from.mutable_attribute()) out.attributes.push_back(attribute_of(one, source));
  return out;
}

/// Reads a type; for a sequence or an optional that of its content, which lies `depth` deep.
void read_type(const proto::Type& from, int depth, ValueType& to) {
  using Kind = ValueType::Kind;
  Kind kind = Kind::Tensor;
  switch (from.value_case()) {
    case proto::Type::kTensorType: {
      const proto::Type::OfTensor& tensor = from.tensor_type();
      to.element = static_cast<Type>(tensor.elem_type());
      to.has_shape = tensor.has_shape();
      for (const proto::Shape::Size& size : tensor.shape().dim()) {
        to.sizes.push_back(size.has_dim_value() ? std::max<std::int64_t>(size.dim_value(), -1) : -1);
        to.symbols.push_back(size.dim_param());
      }
      break;
    }
    case proto::Type::kSequenceType:
      kind = Kind::Sequence;
      if (depth == 1) to.holds_sequence = true;
      read_type(from.sequence_type().elem_type(), depth + 1, to);
      break;
    case proto::Type::kOptionalType:
      kind = Kind::Optional;
      read_type(from.optional_type().elem_type(), depth + 1, to);
      break;
    case proto::Type::kMapType:
    case proto::Type::kSparseTensorType: to.kind = Kind::Other; return;
    case proto::Type::VALUE_NOT_SET: break;
  }
  if (depth == 0 && to.kind != Kind::Other) to.kind = kind;
}

ValueType value_of(const proto::Value& from) {
  ValueType out{.name = from.name()};
  read_type(from.type(), 0, out);
  return out;
}

Graph graph_of(proto::Graph& from, Source& source) {
  Graph out{.name = from.name()};
  for (proto::Node& one : *from.mutable_node()) out.nodes.push_back(node_of(one, source));
  for (proto::Tensor& one : *from.mutable_initializer()) out.initializers.push_back(array_of(one, source));
  for (proto::SparseTensor& one : *from.mutable_sparse_initializer()) out.initializers.push_back(array_of(one, source));
  for (const proto::Value& one : from.input()) out.inputs.push_back(value_of(one));
  for (const proto::Value& one : from.output()) out.outputs.push_back(value_of(one));
  return out;
}

template <class Imports>
Opsets opsets_of(const Imports& from) {
  Opsets out;
  for (const proto::OperatorSet& one : from) out[domain_of(one.domain())] = one.version();
  return out;
}

Function function_of(proto::Function& from, Source& source) {
  Function out{.name = from.name(),
               .domain = from.domain(),
               .inputs = Texts(from.input().begin(), from.input().end()),
               .outputs = Texts(from.output().begin(), from.output().end()),
               .opsets = opsets_of(from.opset_import())};
  for (proto::Node& one : *from.mutable_node()) out.nodes.push_back(node_of(one, source));
  for (proto::Attribute& one : *from.mutable_attribute_proto()) out.defaults.push_back(attribute_of(one, source));
  return out;
}

File file_of(const Content& content, std::span<const std::byte> beginning, Source source) {
  io::refuse_other_kinds(beginning, {io::FileKind::Onnx}, "onnx", source.name, "an ONNX model");
  google::protobuf::Arena arena;
  auto& model = read_message<proto::Model>(arena, content, source);
  if (!model.has_graph()) source.fail("no graph");
  File out{.path = source.name,
           .ir_version = model.ir_version(),
           .producer = model.producer_name(),
           .opsets = opsets_of(model.opset_import()),
           .graph = graph_of(*model.mutable_graph(), source)};
  for (proto::Function& one : *model.mutable_functions()) out.functions.push_back(function_of(one, source));
  if (!out.opsets.contains("")) out.opsets[""] = 1;  // of IR version 1 and 2, which had one set
  return out;
}

void add_arrays(proto::Sequence& from, Source& source, std::vector<StoredArray>& to) {
  for (proto::Tensor& one : *from.mutable_tensor_values()) to.push_back(array_of(one, source));
  for (proto::Sequence& one : *from.mutable_sequence_values()) add_arrays(one, source, to);
}

}  // namespace

File parse_file(std::span<const std::byte> bytes, const std::string& name, const std::string& folder) {
  return file_of({.bytes = bytes}, bytes, {.name = name, .folder = folder});
}

File read_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const io::InputFile file(path, "onnx");
  return file_of({.file = &file}, io::beginning_of(path, "onnx"),
                 {.name = path, .folder = slash == std::string::npos ? "." : path.substr(0, slash + 1)});
}

StoredArray parse_tensor(std::span<const std::byte> bytes, const std::string& name) {
  google::protobuf::Arena arena;
  Source source{.name = name};
  return array_of(read_message<proto::Tensor>(arena, {.bytes = bytes}, source), source);
}

std::vector<StoredArray> parse_sequence(std::span<const std::byte> bytes, const std::string& name) {
  google::protobuf::Arena arena;
  Source source{.name = name};
  std::vector<StoredArray> out;
  add_arrays(read_message<proto::Sequence>(arena, {.bytes = bytes}, source), source, out);
  return out;
}

#else
namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw Error({.op = "onnx",
               .got = printable(name) + ": a model in ONNX's format",
               .expected = "a Tegula that was built with protobuf",
               .advice = "install protobuf-compiler and libprotobuf-dev, and build it again"});
}

}  // namespace

File read_file(const std::string& path) { refuse(path); }
File parse_file(std::span<const std::byte> /*bytes*/, const std::string& name, const std::string& /*folder*/) { refuse(name); }
StoredArray parse_tensor(std::span<const std::byte> /*bytes*/, const std::string& name) { refuse(name); }
std::vector<StoredArray> parse_sequence(std::span<const std::byte> /*bytes*/, const std::string& name) { refuse(name); }
void write_file(const File& /*file*/, const std::string& path, const WriteOptions& /*options*/) { refuse(path); }
std::string bytes_of(const File& file) { refuse(file.path); }
#endif

}  // namespace tegula::onnx

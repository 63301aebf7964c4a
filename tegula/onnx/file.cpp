#include "tegula/onnx/file.h"

#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/onnx/read_tensor.h"

namespace tegula::onnx {
namespace {

using io::WireField;
using io::WireReader;

constexpr int kDeepest = 24;  // graphs within each other
constexpr std::size_t kLargest = std::size_t{1} << 36;  // bytes

using Message = std::span<const std::byte>;

Graph read_graph(Message message, const Source& source, int depth);

Attribute read_attribute(Message message, const Source& source, int depth) {
  using Kind = Attribute::Kind;
  Attribute out;
  Kind seen = Kind::Undefined;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: out.name = text_of(field); break;
      case 2: {
        std::vector<float> one;
        append_floats(field, source, one);
        if (!one.empty()) out.number = one[0];
        seen = Kind::Float;
        break;
      }
      case 3: out.integer = static_cast<std::int64_t>(field.value), seen = Kind::Int; break;
      case 4: out.text = text_of(field), seen = Kind::String; break;
      case 5: out.tensor = std::make_shared<StoredArray>(read_tensor(field.bytes, source)), seen = Kind::Tensor; break;
      case 6: out.graph = std::make_shared<Graph>(read_graph(field.bytes, source, depth + 1)), seen = Kind::Graph; break;
      case 7: append_floats(field, source, out.numbers), seen = Kind::Floats; break;
      case 8: append_integers(field, source, out.integers), seen = Kind::Ints; break;
      case 9: out.texts.push_back(text_of(field)), seen = Kind::Strings; break;
      case 14: seen = Kind::Type; break;
      case 20: out.kind = static_cast<Kind>(field.value); break;
      case 21: out.reference = text_of(field); break;
      case 22: out.tensor = std::make_shared<StoredArray>(read_sparse_tensor(field.bytes, source)), seen = Kind::SparseTensor; break;
      default: break;
    }
  }
  if (out.kind == Kind::Undefined) out.kind = seen;
  return out;
}

Node read_node(Message message, const Source& source, int depth) {
  Node out;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: out.inputs.push_back(text_of(field)); break;
      case 2: out.outputs.push_back(text_of(field)); break;
      case 3: out.name = text_of(field); break;
      case 4: out.type = text_of(field); break;
      case 5: out.attributes.push_back(read_attribute(field.bytes, source, depth)); break;
      case 7: out.domain = text_of(field); break;
      default: break;
    }
  }
  if (out.domain == "ai.onnx") out.domain.clear();
  return out;
}

void read_sizes(Message message, const Source& source, ValueType& to) {
  to.has_shape = true;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    if (field.number != 1) continue;
    std::int64_t size = -1;
    std::string symbol;
    WireReader one(field.bytes, source.words);
    for (WireField part; one.next(part);) {
      if (part.number == 1) size = static_cast<std::int64_t>(part.value);
      if (part.number == 2) symbol = text_of(part);
    }
    to.sizes.push_back(size < 0 ? -1 : size);
    to.symbols.push_back(symbol);
  }
}

/// A TypeProto; of a sequence or an optional the type of what it holds.
void read_type(Message message, const Source& source, int depth, ValueType& to) {
  WireReader reader(message, source.words);
  if (depth > kDeepest) reader.fail("types more than " + std::to_string(kDeepest) + " deep");
  for (WireField field; reader.next(field);) {
    if (field.number != 1 && field.number != 4 && field.number != 9) {
      if (field.number == 5 || field.number == 8) to.kind = ValueType::Kind::Other;
      continue;
    }
    if (depth == 0) {
      to.kind = field.number == 1 ? ValueType::Kind::Tensor : field.number == 4 ? ValueType::Kind::Sequence : ValueType::Kind::Optional;
    } else if (depth == 1 && field.number == 4) to.holds_sequence = true;
    WireReader inner(field.bytes, source.words);
    for (WireField part; inner.next(part);) {
      if (field.number == 1 && part.number == 1) to.element = static_cast<Type>(part.value);
      if (field.number == 1 && part.number == 2) read_sizes(part.bytes, source, to);
      if (field.number != 1 && part.number == 1) read_type(part.bytes, source, depth + 1, to);
    }
  }
}

ValueType read_value(Message message, const Source& source) {
  ValueType out;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) out.name = text_of(field);
    if (field.number == 2) read_type(field.bytes, source, 0, out);
  }
  return out;
}

Graph read_graph(Message message, const Source& source, int depth) {
  Graph out;
  WireReader reader(message, source.words);
  if (depth > kDeepest) reader.fail("graphs more than " + std::to_string(kDeepest) + " deep");
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: out.nodes.push_back(read_node(field.bytes, source, depth)); break;
      case 2: out.name = text_of(field); break;
      case 5: out.initializers.push_back(read_tensor(field.bytes, source)); break;
      case 11: out.inputs.push_back(read_value(field.bytes, source)); break;
      case 12: out.outputs.push_back(read_value(field.bytes, source)); break;
      case 15: out.initializers.push_back(read_sparse_tensor(field.bytes, source)); break;
      default: break;
    }
  }
  return out;
}

void read_opset(Message message, const Source& source, Opsets& to) {
  std::string domain;
  std::int64_t version = 0;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) domain = text_of(field);
    if (field.number == 2) version = static_cast<std::int64_t>(field.value);
  }
  to[domain == "ai.onnx" ? "" : domain] = version;
}

Function read_function(Message message, const Source& source) {
  Function out;
  WireReader reader(message, source.words);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: out.name = text_of(field); break;
      case 4: out.inputs.push_back(text_of(field)); break;
      case 5: out.outputs.push_back(text_of(field)); break;
      case 7: out.nodes.push_back(read_node(field.bytes, source, 0)); break;
      case 9: read_opset(field.bytes, source, out.opsets); break;
      case 10: out.domain = text_of(field); break;
      case 11: out.defaults.push_back(read_attribute(field.bytes, source, 0)); break;
      default: break;
    }
  }
  return out;
}

Source source_of(const std::string& name, const std::string& folder = "") {
  return {{.op = "onnx", .name = name, .expected = "an ONNX model", .advice = "the file is damaged, truncated or of another kind"}, folder};
}

}  // namespace

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

File parse_file(std::span<const std::byte> bytes, const std::string& name, const std::string& folder) {
  io::refuse_other_kinds(bytes, {io::FileKind::Onnx}, "onnx", name, "an ONNX model");
  const Source source = source_of(name, folder);
  File out;
  out.path = name;
  bool has_graph = false;
  WireReader reader(bytes, source.words);
  for (WireField field; reader.next(field);) {
    switch (field.number) {
      case 1: out.ir_version = static_cast<std::int64_t>(field.value); break;
      case 2: out.producer = text_of(field); break;
      case 7: out.graph = read_graph(field.bytes, source, 0), has_graph = true; break;
      case 8: read_opset(field.bytes, source, out.opsets); break;
      case 25: out.functions.push_back(read_function(field.bytes, source)); break;
      default: break;
    }
  }
  if (!has_graph) reader.fail("no graph");
  if (!out.opsets.contains("")) out.opsets[""] = 1;  // of IR version 1 and 2, which had one set
  return out;
}

File read_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return parse_file(io::read_file(path, {.op = "onnx", .limit = kLargest}), path,
                    slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

StoredArray parse_tensor(std::span<const std::byte> bytes, const std::string& name) { return read_tensor(bytes, source_of(name)); }

std::vector<StoredArray> parse_sequence(std::span<const std::byte> bytes, const std::string& name) {
  const Source source = source_of(name);
  std::vector<StoredArray> out;
  WireReader reader(bytes, source.words);
  for (WireField field; reader.next(field);) {
    // tensor_values of a sequence and tensor_value of an optional have one number; an optional may hold a sequence (5).
    if (field.number == 3) out.push_back(read_tensor(field.bytes, source));
    if (field.number == 5)
      for (StoredArray& one : parse_sequence(field.bytes, name)) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace tegula::onnx

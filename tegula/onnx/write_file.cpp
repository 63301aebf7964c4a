// A File as bytes: the fields that file.cpp and read_tensor.cpp read.

#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/wire.h"
#include "tegula/onnx/file.h"

namespace tegula::onnx {
namespace {

using io::WireWriter;

constexpr std::uint64_t kMostInMessage = (std::uint64_t{1} << 31) - (1 << 20);  // bytes
constexpr std::uint64_t kAlignment = 4096;  // of tensors in external data

std::uint64_t varint_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

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
WireWriter head_of(const StoredArray& one) {
  const bool is_held_so = one.type == type_of(one.array.dtype) || (is_int4(one.type) && dtype_of(one.type) == one.array.dtype);
  if (!is_held_so || (one.array.size() > 0 && !one.array.buffer))
    refuse("tensor " + one.name + " of " + name_of(one.type), "a type that tensors have here");
  WireWriter out;
  for (const std::int64_t size : one.array.shape) out.varint(1, varint_of(size));
  out.varint(2, static_cast<std::uint64_t>(one.type));
  if (!one.name.empty()) out.bytes(8, one.name);
  return out;
}

std::string tensor_text(const StoredArray& one) {
  WireWriter out = head_of(one);
  const HostArray held = data_of(one);
  const auto data = span_of(held);
  return out.bytes(9, {reinterpret_cast<const char*>(data.data()), data.size()}).text();
}

std::string graph_text(const Graph& graph);

std::string attribute_text(const Attribute& one) {
  using Kind = Attribute::Kind;
  WireWriter out;
  out.bytes(1, one.name);
  if (!one.reference.empty()) out.bytes(21, one.reference);
  else switch (one.kind) {
      case Kind::Float: out.fixed32(2, one.number); break;
      case Kind::Int: out.varint(3, varint_of(one.integer)); break;
      case Kind::String: out.bytes(4, one.text); break;
      case Kind::Tensor: out.bytes(5, tensor_text(*one.tensor)); break;
      case Kind::Graph: out.bytes(6, graph_text(*one.graph)); break;
      case Kind::Floats:
        for (const float number : one.numbers) out.fixed32(7, number);
        break;
      case Kind::Ints:
        for (const std::int64_t integer : one.integers) out.varint(8, varint_of(integer));
        break;
      case Kind::Strings:
        for (const std::string& text : one.texts) out.bytes(9, text);
        break;
      default: refuse("the attribute " + one.name, "numbers, texts, a tensor or a graph");
    }
  return out.varint(20, static_cast<std::uint64_t>(one.kind)).text();
}

std::string node_text(const Node& node) {
  WireWriter out;
  for (const std::string& one : node.inputs) out.bytes(1, one);
  for (const std::string& one : node.outputs) out.bytes(2, one);
  if (!node.name.empty()) out.bytes(3, node.name);
  out.bytes(4, node.type);
  for (const Attribute& one : node.attributes) out.bytes(5, attribute_text(one));
  if (!node.domain.empty()) out.bytes(7, node.domain);
  return out.text();
}

std::string tensor_type_text(const ValueType& value) {
  WireWriter tensor, shape;
  tensor.varint(1, static_cast<std::uint64_t>(value.element));
  for (std::size_t i = 0; i < value.sizes.size(); ++i) {
    WireWriter size;
    if (value.sizes[i] >= 0) size.varint(1, varint_of(value.sizes[i]));
    else if (i < value.symbols.size() && !value.symbols[i].empty()) size.bytes(2, value.symbols[i]);
    shape.bytes(1, size.text());
  }
  if (value.has_shape) tensor.bytes(2, shape.text());
  return WireWriter().bytes(1, tensor.text()).text();
}

std::string value_text(const ValueType& value) {
  if (value.kind != ValueType::Kind::Tensor) refuse("the value " + value.name + ", which is no tensor", "tensors");
  WireWriter out;
  out.bytes(1, value.name);
  if (value.element != Type::Undefined) out.bytes(2, tensor_type_text(value));
  return out.text();
}

/// What stands before the initializers in a GraphProto, and behind them.
struct GraphEnds {
  std::string before, behind;
  explicit GraphEnds(const Graph& graph) {
    WireWriter first, last;
    for (const Node& node : graph.nodes) first.bytes(1, node_text(node));
    first.bytes(2, graph.name.empty() ? "graph" : graph.name);
    for (const ValueType& one : graph.inputs) last.bytes(11, value_text(one));
    for (const ValueType& one : graph.outputs) last.bytes(12, value_text(one));
    before = first.text(), behind = last.text();
  }
};

std::string graph_text(const Graph& graph) {
  const GraphEnds ends(graph);
  WireWriter initializers;
  for (const StoredArray& one : graph.initializers) initializers.bytes(5, tensor_text(one));
  return ends.before + initializers.text() + ends.behind;
}

std::string opset_text(const std::string& domain, std::int64_t version) {
  return WireWriter().bytes(1, domain).varint(2, varint_of(version)).text();
}

std::string function_text(const Function& one) {
  WireWriter out;
  out.bytes(1, one.name);
  for (const std::string& input : one.inputs) out.bytes(4, input);
  for (const std::string& output : one.outputs) out.bytes(5, output);
  for (const Node& node : one.nodes) out.bytes(7, node_text(node));
  for (const auto& [domain, version] : one.opsets) out.bytes(9, opset_text(domain, version));
  out.bytes(10, one.domain);
  for (const Attribute& attribute : one.defaults) out.bytes(11, attribute_text(attribute));
  return out.text();
}

/// Where the numbers of an initializer lie.
struct External {
  std::string location;
  std::uint64_t offset = 0;
};

std::string external_text(const StoredArray& one, const External& where) {
  const auto entry = [](const char* key, const std::string& value) { return WireWriter().bytes(1, key).bytes(2, value).text(); };
  return head_of(one)
      .bytes(13, entry("location", where.location))
      .bytes(13, entry("offset", std::to_string(where.offset)))
      .bytes(13, entry("length", std::to_string(stored_bytes(one))))
      .varint(14, 1)
      .text();
}

/// A model's bytes in their order: texts, and numbers that are not copied.
class Pieces {
 public:
  /// `externals`: one for each initializer, or none. The file must outlive the pieces.
  Pieces(const File& file, const std::vector<External>& externals) {
    GraphEnds ends(file.graph);
    add(std::move(ends.before));
    for (std::size_t i = 0; i < file.graph.initializers.size(); ++i) {
      const StoredArray& one = file.graph.initializers[i];
      if (!externals.empty()) {
        add(WireWriter().bytes(5, external_text(one, externals[i])).text());
        continue;
      }
      const std::string head = head_of(one).begin_bytes(9, stored_bytes(one)).text();
      held_.push_back(data_of(one));
      const auto data = span_of(held_.back());
      add(WireWriter().begin_bytes(5, head.size() + data.size()).text() + head, data);
    }
    add(std::move(ends.behind));
    WireWriter first, last;
    first.varint(1, varint_of(file.ir_version));
    if (!file.producer.empty()) first.bytes(2, file.producer);
    first.begin_bytes(7, size_);
    for (const auto& [domain, version] : file.opsets) last.bytes(8, opset_text(domain, version));
    for (const Function& one : file.functions) last.bytes(25, function_text(one));
    pieces_.insert(pieces_.begin(), {first.text(), {}});
    size_ += first.text().size();
    add(last.text());
  }
  std::uint64_t size() const { return size_; }
  template <class Write>
  void each(Write write) const {
    for (const auto& [text, data] : pieces_) {
      write(std::as_bytes(std::span(text)));
      write(data);
    }
  }

 private:
  void add(std::string text, std::span<const std::byte> data = {}) {
    size_ += text.size() + data.size();
    pieces_.emplace_back(std::move(text), data);
  }

  std::vector<HostArray> held_;
  std::vector<std::pair<std::string, std::span<const std::byte>>> pieces_;
  std::uint64_t size_ = 0;
};

std::string name_in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string bytes_of(const File& file) {
  std::string out;
  Pieces(file, {}).each([&](std::span<const std::byte> piece) { out.append(reinterpret_cast<const char*>(piece.data()), piece.size()); });
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
  const Pieces pieces(file, externals);
  if (pieces.size() > kMostInMessage)
    refuse("a model of " + std::to_string(pieces.size()) + " bytes",
           "less than 2 GiB beside external data: constants are parts of the graph");
  io::AtomicFile model(path, "onnx::save");
  pieces.each([&](std::span<const std::byte> piece) { model.write(piece); });
  model.commit();
}

}  // namespace tegula::onnx

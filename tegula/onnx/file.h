#pragma once
// An ONNX file as plain data: what the messages of onnx.proto mean.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/host_array.h"

namespace tegula::onnx {

/// TensorProto.DataType.
enum class Type : std::int32_t {
  Undefined,
  Float,
  Uint8,
  Int8,
  Uint16,
  Int16,
  Int32,
  Int64,
  String,
  Bool,
  Float16,
  Double,
  Uint32,
  Uint64,
  Complex64,
  Complex128,
  Bfloat16,
  Float8E4M3,
  Float8E4M3Fnuz,
  Float8E5M2,
  Float8E5M2Fnuz,
  Uint4,
  Int4,
  Float4E2M1,
  Float8E8M0,
  Uint2,
  Int2
};
/// "f32", "u4", "string"; "type 99" for a number that is none.
std::string name_of(Type type);
/// Returns true if tensors of the type can be held. Integers of 2 and 4 bits are held in 8 (weights of a Model packed), small floats without a dtype in f32.
bool has_dtype(Type type);
/// e4m3fnuz, e5m2fnuz, f4e2m1 and e8m0: each number is one of f32.
bool is_small_float(Type type);
float small_float(Type type, unsigned code);
/// The dtype that holds them. Throws Error for the others.
DType dtype_of(Type type);
Type type_of(DType dtype);

/// TensorProto. `array` has no buffer where the type has no dtype (strings, complex numbers).
struct StoredArray {
  std::string name;
  Type type = Type::Undefined;
  HostArray array;
};

struct Graph;

/// AttributeProto. Files of IR version 1 name no type, so that what is there tells it.
struct Attribute {
  enum class Kind : std::uint8_t {
    Undefined,
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
    SparseTensor = 11,
    Type = 13
  };
  std::string name;
  Kind kind = Kind::Undefined;
  std::string reference;  // of a function's body: the attribute of the call that is meant
  float number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<float> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::shared_ptr<const StoredArray> tensor;
  std::shared_ptr<const Graph> graph;
};

struct Node {
  std::string name, type, domain;  // "" is ai.onnx
  std::vector<std::string> inputs, outputs;  // "" where one is left out
  std::vector<Attribute> attributes;

  /// The name; of a node without one "Conv of conv1_out".
  std::string title() const;
  const Attribute* find(std::string_view attribute) const;
};

/// TypeProto and name: of inputs and outputs.
struct ValueType {
  enum class Kind : std::uint8_t { Tensor, Sequence, Optional, Other };
  std::string name;
  Kind kind = Kind::Tensor;
  Type element = Type::Undefined;
  bool holds_sequence = false;  // of an optional
  bool has_shape = false;
  std::vector<std::int64_t> sizes;  // -1 where it is not given
  std::vector<std::string> symbols;  // names of such sizes, "" without one
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<StoredArray> initializers;
  std::vector<ValueType> inputs, outputs;
};

using Opsets = std::map<std::string, std::int64_t, std::less<>>;  // by domain

struct Function {
  std::string name, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  Opsets opsets;
};

struct File {
  std::string path;
  std::int64_t ir_version = 0;
  std::string producer;
  Opsets opsets;
  Graph graph;
  std::vector<Function> functions;
};

/// Reads a model. Tensors in files beside it (external data) are looked for in its folder, and not outside of it.
/// Throws Error for a truncated or damaged file, and for one that is no ONNX model.
File read_file(const std::string& path);
/// The same from memory. `name` stands for the file in messages; without a folder, external data is an Error.
File parse_file(std::span<const std::byte> bytes, const std::string& name, const std::string& folder = "");

struct WriteOptions {
  /// The bytes of initializers above which these lie in a file beside the model, whose name has ".data" behind it: a message of protocol buffers has less than
  /// 2 GiB.
  std::uint64_t external_above = 1'900'000'000;
};
/// Writes the model, which read_file reads. Each file appears as a whole; with two of them the model's is the last.
/// Integers of 4 bits, which are held in 8, are packed again. Throws Error for other types that are held in others (integers of 2 bits, small floats), for a model that
/// is too large, and what writing a file throws.
void write_file(const File& file, const std::string& path, const WriteOptions& options = {});
/// The bytes of a model without external data.
std::string bytes_of(const File& file);

/// Makes the named values the results of the graph, and leaves out what they do not need. Throws Error for a name that nothing makes.
void cut(File& file, const std::vector<std::string>& results);
/// Integers of 4 bits, each in an i8 or u8, two in a byte, the first in its lower half: (n) -> (ceil(n / 2)) u8.
HostArray packed_int4(const HostArray& numbers);
inline bool is_int4(Type type) { return type == Type::Int4 || type == Type::Uint4; }

/// Removes nodes and initializers that no result of the graph needs. Its inputs stay.
void drop_unread(Graph& graph);

/// A file that holds one TensorProto, or a SequenceProto or OptionalProto of them, as data sets of tests do.
StoredArray parse_tensor(std::span<const std::byte> bytes, const std::string& name);
std::vector<StoredArray> parse_sequence(std::span<const std::byte> bytes, const std::string& name);

}  // namespace tegula::onnx

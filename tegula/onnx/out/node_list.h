#pragma once
// The nodes of a graph while it is written: values are their names.

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/number.h"
#include "tegula/onnx/file.h"
#include "tegula/onnx/out/sizes.h"

namespace tegula::onnx {

Attribute attribute(std::string name, std::int64_t value);
Attribute attribute(std::string name, std::vector<std::int64_t> values);
Attribute attribute(std::string name, float value);
Attribute attribute(std::string name, std::string text);
Attribute attribute(std::string name, Graph graph);

class NodeList;

/// The facts that the graphs of one file share.
struct Sheet {
  std::int64_t opset = 0;
  OpenSizes open;
  std::set<std::string> names;  // taken
  std::size_t numbered = 0;
  NodeList* outermost = nullptr;  // constants and sizes are made there: subgraphs see them
  struct OpenAxis {
    std::string input;
    std::int64_t axis = 0;
    std::string size;  // the value (1) of its size, once it is made
  };
  std::vector<OpenAxis> axes;
  std::map<std::string, std::string> constants;  // by dtype, shape and bytes

  /// "stem" where it is free, or with a number behind it.
  std::string name(const std::string& stem);
};

/// A node takes a name with the layer that it comes from; its values have a number.
class NodeList {
 public:
  explicit NodeList(Sheet& sheet) : sheet_(sheet) {}
  Sheet& sheet() { return sheet_; }
  std::int64_t opset() const { return sheet_.opset; }
  /// Sets the origin of the nodes to come: "Linear/matmul".
  void set_path(std::string path) { path_ = std::move(path); }

  /// A node with one result, which it returns.
  std::string add(const std::string& type, std::vector<std::string> inputs, std::vector<Attribute> attributes = {});
  std::vector<std::string> add_several(const std::string& type, std::vector<std::string> inputs, std::vector<Attribute> attributes,
                                       std::size_t results);

  std::string constant(const HostArray& array) { return constant(array, type_of(array.dtype)); }
  /// A constant of a type that the array holds: integers of 4 bits in i8 or u8.
  std::string constant(const HostArray& array, Type type);
  /// The array of a constant, or null for another value.
  std::shared_ptr<const StoredArray> constant_of(const std::string& value) const;
  /// (n) i64, or () i64.
  std::string integers(const std::vector<std::int64_t>& values);
  std::string integer(std::int64_t value);
  std::string number(const Number& value, DType dtype);
  /// `value` in all elements.
  std::string filled(const Shape& shape, const Number& value, DType dtype);
  std::string cast(const std::string& x, DType dtype);
  /// (n) i64.
  std::string sizes(const Sizes& sizes);
  /// (1) i64.
  std::string size(const Size& size);
  /// `-1` stands for the only one that is open.
  std::string reshape(const std::string& x, const Sizes& to);
  std::string reshape(const std::string& x, const std::vector<std::int64_t>& to);
  std::string transpose(const std::string& x, const std::vector<std::int64_t>& order);
  /// Σ and the like over axes, which go.
  std::string reduce(const std::string& type, const std::string& x, const std::vector<std::int64_t>& axes, bool keeps = false);

  std::vector<Node> take() { return std::move(nodes_); }

 private:
  Sheet& sheet_;
  std::string path_;
  std::vector<Node> nodes_;
};

}  // namespace tegula::onnx

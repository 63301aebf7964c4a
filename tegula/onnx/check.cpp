#include <set>

#include "tegula/core/text.h"
#include "tegula/onnx/model.h"
#include "tegula/onnx/operators.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kNewest = 28;  // operator set of ai.onnx

class Checker {
 public:
  explicit Checker(const File& file) : file_(file) {}

  std::vector<Finding> findings() {
    for (const auto& [domain, version] : file_.opsets)
      if (domain.empty() && version > kNewest)
        add("", "operator set " + std::to_string(version) + ", of which " + std::to_string(kNewest) + " is the newest known");
    types(file_.graph.inputs, "input");
    types(file_.graph.outputs, "result");
    graph(file_.graph);
    return std::move(found_);
  }

 private:
  void add(const std::string& node, const std::string& problem) { found_.push_back({printable(node), printable(problem)}); }

  void types(const std::vector<ValueType>& values, const std::string& what) {
    for (const ValueType& one : values) {
      if (one.kind == ValueType::Kind::Other) add("", what + " " + one.name + ", which is a map or a sparse tensor");
      else if (one.element != Type::Undefined && !has_dtype(one.element)) add("", what + " " + one.name + " of " + name_of(one.element));
    }
  }

  void graph(const Graph& graph) {
    for (const StoredArray& one : graph.initializers)
      if (!has_dtype(one.type)) add("", "initializer " + one.name + " of " + name_of(one.type));
    for (const Node& node : graph.nodes) check(node, node.title());
  }

  void check(const Node& node, const std::string& title) {
    for (const Function& function : file_.functions) {
      if (function.name != node.type || function.domain != node.domain) continue;
      if (!seen_.insert(&function).second) return;
      for (const Node& inner : function.nodes) check(inner, title + "/" + inner.title());
      return;
    }
    const Operator* op = find_operator(node.domain, node.type);
    if (!op) return add(title, "the operator " + node.type + (node.domain.empty() ? "" : " of " + node.domain));
    for (const Attribute& one : node.attributes) {
      if (!knows(*op, one.name)) add(title, "the attribute " + one.name + " of " + node.type);
      if (one.tensor && !has_dtype(one.tensor->type))
        add(title, "the attribute " + one.name + ", a tensor of " + name_of(one.tensor->type));
      if (one.graph) graph(*one.graph);
      if (one.name == "to" && one.reference.empty() && !has_dtype(static_cast<Type>(one.integer)))
        add(title, "the type " + name_of(static_cast<Type>(one.integer)));
    }
  }

  const File& file_;
  std::vector<Finding> found_;
  std::set<const Function*> seen_;
};

}  // namespace

std::vector<Finding> check(const File& file) { return Checker(file).findings(); }

std::vector<Finding> check(const std::string& path) { return check(read_file(path)); }

}  // namespace tegula::onnx

#pragma once
// Ops by name: makes an op of its name and its attributes, as files have them. Every room lists its ops in one function
// (graph/graph_ops.h, ops/op_families.h), which a maker of a table calls; nothing registers itself.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/graph/op.h"

namespace tegula {

class OpTable {
 public:
  /// Gives the op of a node (Attributes::made_for), whose attributes it reads; nothing where the node is not one of its own.
  using Make = std::function<Ref<const Op>(Attributes& reader)>;
  static constexpr int kAnyInputs = -1;  // one or more

  /// Makers of one name are tried in their order.
  void add(std::string name, Make make) { makes_[std::move(name)].push_back(std::move(make)); }
  /// Ops with one result over `inputs` inputs that are made as T(arguments…), before their attributes are assigned.
  template <class T, class... Arguments>
  void add_class(std::string name, int inputs, const Arguments&... arguments) {
    add(std::move(name), [=](Attributes& reader) -> Ref<const Op> {
      require_one_result(reader);
      require_inputs(reader, inputs);
      const Ref<T> op = make<T>(arguments...);
      static_cast<Op&>(*op).attributes(reader);
      return op;
    });
  }
  /// The same of ops that may have several results, and say themselves which.
  template <class T, class... Arguments>
  void add_several(std::string name, int inputs, const Arguments&... arguments) {
    add(std::move(name), [=](Attributes& reader) -> Ref<const Op> {
      require_inputs(reader, inputs);
      const Ref<T> op = make<T>(arguments...);
      static_cast<Op&>(*op).attributes(reader);
      return op;
    });
  }
  /// The one op of a class without attributes.
  void add_op(const Ref<const Op>& op, int inputs) {
    add(std::string(op->class_name()), [=](Attributes& reader) {
      require_one_result(reader);
      require_inputs(reader, inputs);
      return op;
    });
  }

  bool contains(std::string_view name) const { return makes_.contains(std::string(name)); }
  /// The op of the node for which `reader` assigns, checked against its operands and results. Throws what the reader throws where they do not fit; gives
  /// nothing where no op has the name and suits the node.
  Ref<const Op> make_op(const std::string& name, Attributes& reader) const;
  std::vector<std::string> names() const;

 private:
  static void require_inputs(const Attributes& reader, int inputs);
  static void require_one_result(const Attributes& reader);

  std::map<std::string, std::vector<Make>> makes_;
};

}  // namespace tegula

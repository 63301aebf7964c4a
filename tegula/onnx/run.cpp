#include "tegula/onnx/run.h"

#include <algorithm>
#include <memory>
#include <new>
#include <unordered_set>

#include "tegula/core/text.h"
#include "tegula/graph/frame.h"
#include "tegula/onnx/operators.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kMostFolded = std::int64_t{1} << 27;  // elements of a constant that is computed at once
constexpr int kDeepest = 64;  // calls of functions and subgraphs within each other

struct Scope {
  const Scope* around = nullptr;
  Names names = {};
  const Graph* graph = nullptr;  // whose names these are; null for a function's body

  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->around)
      if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
    return nullptr;
  }
};

class Runner {
 public:
  Runner(const File& file, Folded::Constants* folded) : file_(file), folded_(folded) {}

  std::vector<Value> run(const Graph& graph, Names initializers, std::vector<Value> inputs) {
    Scope scope{nullptr, std::move(initializers)};
    return run(graph, std::move(inputs), scope, file_.opsets, nullptr);
  }

 private:
  std::vector<Value> run(const Graph& graph, std::vector<Value> inputs, Scope& scope, const Opsets& opsets, const Node* around) {
    const std::vector<const ValueType*> required = required_inputs(graph);
    if (inputs.size() != required.size())
      fail(around, std::to_string(inputs.size()) + " inputs", std::to_string(required.size()) + " for the graph " + graph.name);
    for (std::size_t i = 0; i < inputs.size(); ++i) scope.names.insert_or_assign(required[i]->name, std::move(inputs[i]));
    scope.graph = &graph;
    for (const Node& node : graph.nodes) add(node, scope, opsets);
    std::vector<Value> out;
    for (const ValueType& output : graph.outputs) {
      const Value* found = scope.find(output.name);
      if (!found) fail(around, "a graph that does not make its output " + output.name, "one that does");
      out.push_back(*found);
    }
    return out;
  }

  [[noreturn]] void fail(const Node* node, std::string got, std::string expected) const {
    throw Error({.op = node && !node->type.empty() ? printable(node->type) : "onnx",
                 .got = printable((node ? "" : file_.path + ": ") + std::move(got)),
                 .expected = std::move(expected),
                 .where = node ? line_of(*node) : Line()});
  }

  Line line_of(const Node& node) const { return Line(file_.path, 0, node.title()); }

  /// Runs the node and names its results.
  void add(const Node& node, Scope& scope, const Opsets& opsets) {
    std::vector<Value> inputs;
    bool all_known = true;
    for (const std::string& name : node.inputs) {
      const Value* found = name.empty() ? nullptr : scope.find(name);
      if (!found && !name.empty())
        fail(&node, "an input " + name + " that nothing before it makes", "nodes in an order in which they can run");
      inputs.push_back(found ? *found : Value());
      all_known = all_known && (!found || found->known);
    }
    // Results that are not asked for at the end have no names; one that is left out has the name "".
    Results results = built(node, std::move(inputs), scope, opsets, all_known);
    if (results.size() < node.outputs.size()) {
      const auto rest = std::span(node.outputs).subspan(results.size());
      if (!std::ranges::all_of(rest, &std::string::empty))
        fail(&node, std::to_string(node.outputs.size()) + " results", "at most " + std::to_string(results.size()));
    }
    for (std::size_t i = 0; i < std::min(results.size(), node.outputs.size()); ++i)
      if (!node.outputs[i].empty()) scope.names.insert_or_assign(node.outputs[i], std::move(results[i]));
  }

  Results built(const Node& node, std::vector<Value> inputs, Scope& scope, const Opsets& opsets, bool all_known) {
    if (depth_ >= kDeepest) fail(&node, "calls more than " + std::to_string(kDeepest) + " deep", "functions that do not call themselves");
    if (const Function* function = function_of(node)) return called(*function, node, std::move(inputs));
    const bool is_outermost = depth_ == 0 && !scope.around;
    if (is_outermost && folded_ && !looks_at_values_) {
      if (const auto found = folded_->find(&node); found != folded_->end()) {
        Results out;
        for (const HostArray& array : found->second) out.push_back(known(from_array(array, line_of(node))));
        return out;
      }
    }
    const Operator* op = find_operator(node.domain, node.type);
    if (!op)
      fail(&node, "the operator " + node.type + (node.domain.empty() ? "" : " of " + node.domain),
           "one that can be built: onnx::check lists them");
    const bool has_graph = std::ranges::any_of(node.attributes, [](const Attribute& one) { return static_cast<bool>(one.graph); });
    const auto version = opsets.find(node.domain);
    const auto run_inner = [&](const Graph& graph, std::vector<Value> given) {
      Scope inner{&scope, constants_of(graph)};
      ++depth_;
      std::vector<Value> out = run(graph, std::move(given), inner, opsets, &node);
      --depth_;
      return out;
    };
    const std::int64_t opset = version == opsets.end() ? 1 : version->second;
    Call call(node, std::move(inputs), opset, line_of(node), looks_at_values_, run_inner, scope.graph);
    if (has_graph) return named(call, *op);
    const In frame(node.type, line_of(node));
    Results out = named(call, *op);
    settle(node, out, all_known && !op->is_random, is_outermost);
    return out;
  }

  /// Errors of ops name the node even where they have no line; what else is thrown (no memory) becomes one.
  static Results named(Call& call, const Operator& op) {
    try {
      return op.build(call);
    } catch (const std::bad_alloc&) { call.refuse("a tensor for which there is no memory", "a smaller one"); } catch (const Error& error) {
      if (error.report().where.known() && error.report().where.line() == 0) throw;
      Report report = error.report();
      report.where = call.where();
      throw Error(report);
    }
  }

  static Value known(Tensor x) {
    Value out(std::move(x));
    out.known = true;
    return out;
  }

  /// Marks what is known, and computes it.
  void settle(const Node& node, Results& results, bool all_known, bool is_outermost) {
    bool folds = all_known;
    for (Value& value : results) {
      value.known = value.kind == Value::Kind::Tensor && (value.known || all_known);
      folds = folds && value.known && value.narrow == Type::Undefined && value.tensor.numel() <= kMostFolded;
    }
    // Shapes and types tell some of unknown values: Shape, Size, CastLike of a constant.
    const bool is_shape = !all_known && results.size() == 1 && results[0].known && results[0].narrow == Type::Undefined;
    if (!folds && !is_shape) return;
    std::vector<HostArray> arrays;
    for (Value& value : results) {
      arrays.push_back(value.tensor.to_array(line_of(node)));
      value = known(from_array(arrays.back(), line_of(node)));
    }
    if (is_outermost && folded_ && !looks_at_values_) folded_->emplace(&node, std::move(arrays));
  }

  const Function* function_of(const Node& node) const {
    for (const Function& one : file_.functions)
      if (one.name == node.type && one.domain == node.domain) return &one;
    return nullptr;
  }

  static Names constants_of(const Graph& graph) {
    Names out;
    for (const StoredArray& one : graph.initializers)
      if (one.array.buffer) out.emplace(one.name, known(from_array(one.array)));
    return out;
  }

  /// The body of a function with the call's attributes in place of references to them.
  Results called(const Function& function, const Node& node, std::vector<Value> inputs) {
    Scope scope;
    inputs.resize(function.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) scope.names.insert_or_assign(function.inputs[i], std::move(inputs[i]));
    ++depth_;
    for (const Node& inner : function.nodes) {
      bodies_.push_back(std::make_unique<Node>(inner));
      bodies_.back()->name = node.title() + "/" + inner.title();
      resolve(*bodies_.back(), function, node);
      add(*bodies_.back(), scope, function.opsets);
    }
    --depth_;
    Results out;
    for (const std::string& name : function.outputs) {
      const Value* found = scope.find(name);
      out.push_back(found ? *found : Value());
    }
    return out;
  }

  static void resolve(Node& inner, const Function& function, const Node& call) {
    std::vector<Attribute> attributes;
    for (Attribute& one : inner.attributes) {
      if (one.reference.empty()) {
        if (one.graph) one.graph = resolved(*one.graph, function, call);
        attributes.push_back(std::move(one));
        continue;
      }
      const Attribute* given = call.find(one.reference);
      for (const Attribute& preset : function.defaults)
        if (!given && preset.name == one.reference) given = &preset;
      if (!given) continue;  // left out by the call, and so by the body
      attributes.push_back(*given);
      attributes.back().name = one.name;
    }
    inner.attributes = std::move(attributes);
  }

  static std::shared_ptr<const Graph> resolved(const Graph& graph, const Function& function, const Node& call) {
    auto out = std::make_shared<Graph>(graph);
    for (Node& node : out->nodes) resolve(node, function, call);
    return out;
  }

  const File& file_;
  Folded::Constants* folded_;
  bool looks_at_values_ = false;
  int depth_ = 0;
  std::vector<std::unique_ptr<Node>> bodies_;  // of functions, which names point into
};

}  // namespace

Folded::Constants& Folded::of(const std::string& signature) {
  for (auto& [known, constants] : entries_)
    if (known == signature) return constants;
  if (entries_.size() == kMost) entries_.erase(entries_.begin());
  return entries_.emplace_back(signature, Constants()).second;
}

std::vector<const ValueType*> required_inputs(const Graph& graph) {
  std::unordered_set<std::string_view> given;
  for (const StoredArray& one : graph.initializers) given.insert(one.name);
  std::vector<const ValueType*> out;
  for (const ValueType& one : graph.inputs)
    if (!given.contains(one.name)) out.push_back(&one);
  return out;
}

std::vector<Value> run_graph(const File& file, const Names& initializers, std::vector<Value> inputs, Folded::Constants* folded) {
  return Runner(file, folded).run(file.graph, initializers, std::move(inputs));
}

}  // namespace tegula::onnx

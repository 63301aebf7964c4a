#include "tegula/onnx/save.h"

#include <algorithm>
#include <cstring>

#include "tegula/core/text.h"
#include "tegula/formats/record.h"
#include "tegula/graph/frame.h"
#include "tegula/onnx/out/graph_writer.h"

namespace tegula::onnx {
namespace {

constexpr std::int64_t kOldest = 17, kNewest = 24;

[[noreturn]] void refuse(const std::string& got, const std::string& expected, const std::string& advice, const Line& where) {
  throw Error({.op = "onnx::save", .got = printable(got), .expected = expected, .advice = advice, .where = where});
}

/// The version of the format that came with the operator set.
std::int64_t ir_version_of(std::int64_t opset) { return opset <= 18 ? 8 : opset <= 20 ? 9 : opset <= 22 ? 10 : opset == 23 ? 11 : 12; }

/// The open axes by name, and which of them each axis of an argument is.
struct Opened {
  std::vector<std::string> names;
  std::vector<std::vector<int>> of;  // by argument and axis: the open axis, or -1
  OpenSizes sizes;

  Opened(const SaveOptions& options, std::span<const Tensor> examples, const Line& where) {
    for (const Tensor& one : examples) of.emplace_back(static_cast<std::size_t>(one.rank()), -1);
    std::vector<std::int64_t> first;
    for (const OpenAxis& one : options.open) {
      const bool is_there = one.input >= 0 && one.input < std::ssize(examples) && one.axis >= 0 &&
                            one.axis < examples[static_cast<std::size_t>(one.input)].rank();
      if (!is_there)
        refuse("the open axis " + std::to_string(one.axis) + " of argument " + std::to_string(one.input), "an axis of an argument",
               "both are counted from 0", where);
      const Tensor& x = examples[static_cast<std::size_t>(one.input)];
      const auto found = std::ranges::find(names, one.name);
      const auto k = static_cast<std::size_t>(found - names.begin());
      const std::int64_t size = std::max<std::int64_t>(x.size(one.axis), 2);  // an axis of size 1 broadcasts
      if (found == names.end()) names.push_back(one.name), first.push_back(size);
      if (first[k] != size)
        refuse("sizes " + std::to_string(first[k]) + " and " + std::to_string(size) + " of the open axis " + one.name, "one size", "",
               where);
      of[static_cast<std::size_t>(one.input)][static_cast<std::size_t>(one.axis)] = static_cast<int>(k);
    }
    if (names.size() > 8) refuse(std::to_string(names.size()) + " open axes", "at most 8", "", where);
    sizes = OpenSizes(std::move(first));
  }

  std::vector<Result> arguments(std::span<const Tensor> examples, std::size_t trace) const {
    std::vector<Result> out;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      out.push_back({examples[i].shape(), examples[i].dtype()});
      for (std::size_t axis = 0; axis < of[i].size(); ++axis)
        if (of[i][axis] >= 0) out[i].shape[static_cast<int>(axis)] = sizes.size(static_cast<std::size_t>(of[i][axis]), trace);
    }
    return out;
  }
};

bool equal(const HostArray& a, const HostArray& b) {
  return a.dtype == b.dtype && a.shape == b.shape && (a.bytes() == 0 || std::memcmp(a.buffer->data(), b.buffer->data(), a.bytes()) == 0);
}

void replace(std::vector<std::string>& names, const std::string& from, const std::string& to) { std::ranges::replace(names, from, to); }
void rename(Graph& graph, const std::string& from, const std::string& to) {
  for (Node& node : graph.nodes) {
    replace(node.inputs, from, to);
    replace(node.outputs, from, to);
    for (Attribute& one : node.attributes) {
      if (!one.graph) continue;
      Graph inner = *one.graph;
      rename(inner, from, to);
      one.graph = std::make_shared<const Graph>(std::move(inner));
    }
  }
}

class Saver {
 public:
  Saver(const SaveOptions& options, std::span<const Tensor> examples, const Line& where)
      : options_(options),
        examples_(examples),
        where_(where),
        opened_(options, examples, where) {
    if (options.opset < kOldest || options.opset > kNewest)
      refuse("operator set " + std::to_string(options.opset), std::to_string(kOldest) + " to " + std::to_string(kNewest), "", where);
    sheet_.opset = options.opset;
    sheet_.open = opened_.sizes;
  }

  File write(const std::string& path, const formats::Body& body, const Parameters& module_names) {
    std::vector<formats::Recording> recordings;
    for (std::size_t trace = 0; trace < opened_.sizes.traces(); ++trace)
      recordings.push_back(formats::record(opened_.arguments(examples_, trace), body, false, where_, "onnx::save"));
    const formats::Recording& first = recordings[0];
    GraphWriter::Leaves leaves;
    leaves.inputs = named(options_.inputs, examples_.size(), "x", "inputs");
    const std::vector<std::string> outputs = named(options_.outputs, first.graph.outputs.size(), "y", "outputs");
    for (const auto* const list : {static_cast<const std::vector<std::string>*>(&leaves.inputs), &outputs})
      for (const std::string& one : *list)
        if (!sheet_.names.insert(one).second)
          refuse("the name " + one + " twice", "a name of its own for each argument and result", "", where_);
    for (std::size_t i = 0; i < opened_.of.size(); ++i)
      for (std::size_t axis = 0; axis < opened_.of[i].size(); ++axis) note_axis(leaves.inputs[i], axis, opened_.of[i][axis]);

    File file;
    file.path = path;
    file.producer = "Tegula";
    file.ir_version = ir_version_of(options_.opset);
    file.opsets[""] = options_.opset;
    file.graph.name = "tegula";
    add_variables(first, module_names, file.graph, leaves);
    NodeList list(sheet_);
    sheet_.outermost = &list;
    for (std::size_t i = 0; i < first.constants.size(); ++i) {
      const HostArray values = first.constants[i].to_array(where_);
      for (const formats::Recording& other : recordings)
        if (i >= other.constants.size() || !equal(values, other.constants[i].to_array(where_)))
          refuse("a captured tensor that is another one for another size of an open axis", "tensors that stay the same",
                 "leave the axis out of .open", where_);
      leaves.constants.push_back(list.constant(values));
    }
    GraphWriter::Traces traces;
    for (const formats::Recording& one : recordings) traces.push_back(&one.graph);
    GraphWriter writer(list, traces, leaves);
    std::vector<std::string> results = writer.write();
    for (std::size_t i = 0; i < results.size(); ++i) file.graph.outputs.push_back(value_of(writer, first.graph.outputs[i], outputs[i]));
    for (std::size_t i = 0; i < examples_.size(); ++i) file.graph.inputs.push_back(argument(i, leaves.inputs[i]));
    name_results(list, results, outputs, file.graph);
    drop_unread(file.graph);
    return file;
  }

 private:
  std::vector<std::string> named(const std::vector<std::string>& given, std::size_t count, const char* stem, const char* what) const {
    if (!given.empty() && given.size() != count)
      refuse(std::to_string(given.size()) + " names of " + what, std::to_string(count) + ", one for each tensor", "", where_);
    std::vector<std::string> out = given;
    for (std::size_t i = out.size(); i < count; ++i) out.push_back(stem + std::to_string(i));
    return out;
  }
  void note_axis(const std::string& input, std::size_t axis, int open) {
    if (open < 0) return;
    sheet_.axes.resize(std::max(sheet_.axes.size(), opened_.names.size()));
    Sheet::OpenAxis& one = sheet_.axes[static_cast<std::size_t>(open)];
    if (one.input.empty()) one.input = input, one.axis = static_cast<std::int64_t>(axis);
  }
  void add_variables(const formats::Recording& recording, const Parameters& module_names, Graph& graph, GraphWriter::Leaves& leaves) {
    for (const std::string& given : formats::variable_names(recording.cells, options_.names, module_names)) {
      const Ref<Cell>& cell = recording.cells[leaves.variables.size()];
      if (cell->source() || cell->partition())
        refuse("the Variable " + given + ", which ranks share out", "Variables that are whole in this process", "gather them first",
               where_);
      const std::string name = sheet_.name(given);
      const HostArray values = Parameter{name, cell}.read(where_).to_array(where_);
      graph.initializers.push_back({name, type_of(values.dtype), values});
      leaves.variables.push_back(name);
    }
  }
  ValueType argument(std::size_t i, const std::string& name) const {
    ValueType out{.name = name, .element = type_of(examples_[i].dtype()), .has_shape = true};
    for (int axis = 0; axis < examples_[i].rank(); ++axis) {
      const int open = opened_.of[i][static_cast<std::size_t>(axis)];
      out.sizes.push_back(open < 0 ? examples_[i].size(axis) : -1);
      out.symbols.push_back(open < 0 ? "" : opened_.names[static_cast<std::size_t>(open)]);
    }
    return out;
  }
  ValueType value_of(const GraphWriter& writer, int node, const std::string& name) const {
    ValueType out{.name = name, .element = type_of(writer.node(node).results[0].dtype), .has_shape = true};
    for (const Size& one : writer.sizes(node)) {
      out.sizes.push_back(one.is_constant() ? one.plus : -1);
      std::string symbol;  // where it is an open axis itself
      for (std::size_t k = 0; k < opened_.names.size(); ++k)
        if (one.of == 1u << k && one.factor == 1 && one.plus == 0) symbol = opened_.names[k];
      out.symbols.push_back(symbol);
    }
    return out;
  }
  /// The nodes' own values take the results' names; an argument, a Variable or a value that is a result twice is copied.
  static void name_results(NodeList& list, std::vector<std::string>& results, const std::vector<std::string>& names, Graph& graph) {
    std::set<std::string> leaves, taken;
    for (const ValueType& one : graph.inputs) leaves.insert(one.name);
    for (const StoredArray& one : graph.initializers) leaves.insert(one.name);
    for (std::string& one : results)
      if (leaves.contains(one) || !taken.insert(one).second) taken.insert(one = list.add("Identity", {one}));
    graph.nodes = list.take();
    for (std::size_t i = 0; i < results.size(); ++i) rename(graph, results[i], names[i]);
  }

  const SaveOptions& options_;
  std::span<const Tensor> examples_;
  Line where_;
  Opened opened_;
  Sheet sheet_;
};

}  // namespace

File detail::file_of(const GraphPath& path, const SaveOptions& options, const Parameters& module_names, std::span<const Tensor> examples,
                     const formats::Body& body) {
  const Line where = origin_at(path.where).where;
  return Saver(options, examples, where).write(path.path, body, module_names);
}

}  // namespace tegula::onnx

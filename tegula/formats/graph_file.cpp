#include "tegula/formats/graph_contents.h"

#include <algorithm>
#include <map>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/formats/graph_json.h"
#include "tegula/formats/known_ops.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/ops/tile_kernel_op.h"

namespace tegula {

namespace formats {
namespace {

using nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostText = 90'000'000;  // bytes of text in a header of 100 MB

[[noreturn]] void refuse_saving(const std::string& got, const std::string& expected, const std::string& advice, const Line& where) {
  throw Error({.op = "save_graph", .got = got, .expected = expected, .advice = advice, .where = where});
}

void require_known(const StoredGraph& graph) {
  for (const StoredNode& node : graph.nodes) {
    if (node.kind != StoredNode::Kind::Op || node.op->role() == Role::Scalar) continue;
    if (node.body) require_known(*node.body);
    if (node.gradient) require_known(*node.gradient);
    if (known_ops().contains(node.op->class_name()) || TileKernelOp::of(*node.op)) continue;
    const bool exchanges = node.op->class_name() == kExchange;
    refuse_saving("the op " + std::string(node.op->name()), "ops that files know",
                  exchanges ? kNoExchangeInFiles : "an op of one's own is added first: add_formula<formula::Name>(known_ops())",
                  node.origin.where);
  }
}

json value_json(const std::string& name, const Result& value) {
  return {{"name", name},
          {"dtype", std::string(tegula::name(value.dtype))},
          {"shape", std::vector<std::int64_t>(value.shape.begin(), value.shape.end())}};
}

std::vector<Result> results_of(std::span<const Tensor> tensors) {
  std::vector<Result> out;
  for (const Tensor& tensor : tensors) out.push_back({tensor.shape(), tensor.dtype()});
  return out;
}

void require_count(const std::vector<std::string>& names, std::size_t count, const char* what, const Line& where) {
  if (!names.empty() && names.size() != count)
    refuse_saving(std::to_string(names.size()) + " names of " + what, std::to_string(count) + ", one for each tensor", "", where);
}

}  // namespace

GraphContents contents_of(const GraphPath& path, const GraphFileOptions& options, const Parameters& module_names,
                          std::span<const Tensor> examples, const Body& body) {
  const Line where = origin_at(path.where).where;
  Tables tables{.inputs = results_of(examples), .variables = {}, .constants = {}};
  Recording recording = record(tables.inputs, body, options.gradients, where);
  require_known(recording.graph);
  require_count(options.inputs, tables.inputs.size(), "inputs", where);
  require_count(options.outputs, recording.graph.outputs.size(), "outputs", where);

  json all{{"version", kVersion},
           {"inputs", json::array()},
           {"outputs", json::array()},
           {"variables", json::array()},
           {"constants", json::array()}};
  for (std::size_t i = 0; i < tables.inputs.size(); ++i)
    all["inputs"].push_back(value_json(options.inputs.empty() ? "x" + std::to_string(i) : options.inputs[i], tables.inputs[i]));
  for (std::size_t i = 0; i < recording.graph.outputs.size(); ++i)
    all["outputs"].push_back(options.outputs.empty() ? "y" + std::to_string(i) : options.outputs[i]);

  io::NamedArrays arrays;
  std::set<std::string> taken;
  const auto names = variable_names(recording.cells, options.names, module_names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Ref<Cell>& cell = recording.cells[i];
    if (cell->source() || cell->partition())
      refuse_saving("the Variable " + names[i] + ", which ranks share out", "Variables that are whole in this process", "gather them first",
                    where);
    tables.variables.push_back({cell->shape(), cell->dtype()});
    all["variables"].push_back(names[i]);
    arrays.emplace_back(names[i], Parameter{names[i], cell}.read(where).to_array(where));
    taken.insert(names[i]);
  }
  for (const Tensor& constant : recording.constants) {
    std::string name = "constant." + std::to_string(all["constants"].size());
    while (!taken.insert(name).second) name += "_";
    all["constants"].push_back(name);
    arrays.emplace_back(name, constant.to_array(where));
  }
  tables.constants = recording.constants;
  all["graph"] = to_json(recording.graph);
  static_cast<void>(graph_from_json(all["graph"], tables, known_ops(), path.path, true));  // checks that the written graph can be read

  io::Metadata metadata = options.metadata;
  for (const auto& [key, value] : metadata)
    if (key.starts_with("tegula.")) refuse_saving("metadata of the name " + key, "names that do not begin with \"tegula.\"", "", where);
  std::string text = all.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMostText)
    refuse_saving(
        "a graph of " + std::to_string(recording.graph.nodes.size()) + " nodes, " + std::to_string(text.size()) + " bytes of text",
        "at most " + std::to_string(kMostText) + " bytes", "scan writes a loop as one node", where);
  metadata.emplace(kGraphKey, std::move(text));
  GraphContents out{.function = {}, .arrays = std::move(arrays), .metadata = std::move(metadata)};
  GraphFunction::State& f = out.function;
  for (const json& one : all["inputs"]) f.inputs.push_back({one["name"].get<std::string>(), {}, {}});
  for (std::size_t i = 0; i < f.inputs.size(); ++i) f.inputs[i].dtype = tables.inputs[i].dtype, f.inputs[i].shape = tables.inputs[i].shape;
  for (std::size_t i = 0; i < recording.graph.outputs.size(); ++i) {
    const Result& result = recording.graph.nodes[static_cast<std::size_t>(recording.graph.outputs[i])].results[0];
    f.outputs.push_back({all["outputs"][i].get<std::string>(), result.dtype, result.shape});
  }
  for (std::size_t i = 0; i < names.size(); ++i) f.variables.push_back({names[i], recording.cells[i]});
  out.constants = all["constants"].get<std::vector<std::string>>();
  f.metadata = options.metadata;
  f.graph = std::move(recording.graph), f.cells = std::move(recording.cells), f.constants = std::move(recording.constants);
  return out;
}

void save(const GraphPath& path, const GraphFileOptions& options, const Parameters& module_names, std::span<const Tensor> examples,
          const Body& body) {
  const GraphContents contents = contents_of(path, options, module_names, examples, body);
  io::write_safetensors(path.path, contents.arrays, contents.metadata);
}

namespace {

/// Reads a file's lists; its graph is read by graph_from_json.
class FileReader {
 public:
  explicit FileReader(const std::string& path) : path_(path), file_(io::read_safetensors(path)) {
    for (auto& [name, array] : file_.tensors)
      if (!name.starts_with(kPlanTensors)) arrays_.emplace(name, &array);  // a plan file has a plan as well
  }

  std::shared_ptr<const GraphFunction::State> read(const LoadGraphOptions& options) {
    const auto found = file_.metadata.find(std::string(kGraphKey));
    if (found == file_.metadata.end())
      refuse("a safetensors file without a graph", "one that save_graph has written", "load(net, path) reads the weights of a module");
    json all = parse_json(found->second, "load_graph", path_);
    if (!all.is_object()) refuse(shown(all), "a graph");
    if (all.contains("tensor")) all = in_tensor(text(all["tensor"]));
    if (!all.is_object()) refuse(shown(all), "a graph");
    if (!all.contains("version") || all["version"] != kVersion)
      refuse("version " + shown(all.contains("version") ? all["version"] : json()), "version " + std::to_string(kVersion),
             "the file was written by another version of Tegula");
    auto out = std::make_shared<GraphFunction::State>();
    Tables tables;
    for (const json& one : list(all, "inputs")) {
      out->inputs.push_back(value(one));
      tables.inputs.push_back({out->inputs.back().shape, out->inputs.back().dtype});
    }
    for (const json& one : list(all, "variables")) {
      const std::string name = text(one);
      const Variable variable(tensor(name));
      out->cells.push_back(variable.cell());
      out->variables.push_back({name, variable.cell()});
      tables.variables.push_back({variable.shape(), variable.dtype()});
    }
    for (const json& one : list(all, "constants")) out->constants.push_back(tensor(text(one)));
    tables.constants = out->constants;
    if (!all.contains("graph")) refuse("no \"graph\"", "the list of nodes");
    out->graph = graph_from_json(all["graph"], tables, known_ops(), path_, options.tile_kernels);
    const json& names = list(all, "outputs");
    if (names.size() != out->graph.outputs.size()) refuse(std::to_string(names.size()) + " names of results", "one for each");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Result& result = out->graph.nodes[static_cast<std::size_t>(out->graph.outputs[i])].results[0];
      out->outputs.push_back({text(names[i]), result.dtype, result.shape});
    }
    if (!arrays_.empty()) refuse("the tensor " + shown(arrays_.begin()->first), "only Variables and constants of the graph");
    file_.metadata.erase(found);
    file_.metadata.erase(std::string(kPlanKey));
    out->metadata = std::move(file_.metadata);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& got, const std::string& expected,
                           const std::string& advice = "the file is damaged, or was not written by save_graph") const {
    throw Error({.op = "load_graph", .got = path_ + ": " + got, .expected = expected, .advice = advice});
  }
  /// The text in a tensor of bytes, as plan files have it.
  json in_tensor(const std::string& name) const {
    const auto found = std::ranges::find(file_.tensors, name, [](const auto& one) { return one.first; });
    if (found == file_.tensors.end() || found->second.dtype != u8)
      refuse("no tensor " + shown(name) + " of bytes", "the text of the graph");
    return parse_json({static_cast<const char*>(found->second.buffer->data()), found->second.bytes()}, "load_graph", path_);
  }
  const json& list(const json& all, const char* key) const {
    if (!all.contains(key) || !all[key].is_array()) refuse("no list \"" + std::string(key) + "\"", "the lists of a graph");
    return all[key];
  }
  std::string text(const json& one) const {
    if (!one.is_string()) refuse(shown(one), "a name");
    return one.get<std::string>();
  }
  GraphValue value(const json& one) const {
    const bool is_value =
        one.is_object() && one.contains("name") && one.contains("dtype") && one.contains("shape") && one["shape"].is_array();
    if (!is_value) refuse("an input " + shown(one), "its name, dtype and shape");
    const std::string dtype = text(one["dtype"]);
    const auto found = std::ranges::find_if(kAllDTypes, [&](DType each) { return name(each) == dtype; });
    if (found == std::end(kAllDTypes)) refuse("the dtype " + shown(dtype), "one of Tegula's");
    GraphValue out{text(one["name"]), *found, {}};
    for (const json& size : one["shape"]) {
      const bool is_size = size.is_number_integer() && size >= 0 && out.shape.rank() < kMaxRank;
      if (!is_size) refuse("the shape " + shown(one["shape"]), "at most eight sizes of at least 0");
      out.shape.push_back(size.get<std::int64_t>());
    }
    if (!countable(out.shape)) refuse("the shape " + to_string(out.shape), "fewer than 2^60 elements");
    return out;
  }
  /// A tensor of the file; each may be requested once.
  Tensor tensor(const std::string& name) {
    const auto found = arrays_.find(name);
    if (found == arrays_.end())
      refuse("no tensor " + shown(name) + ", or it is there twice", "all tensors that the graph names, each once");
    const Tensor out = from_array(*found->second);
    arrays_.erase(found);
    return out;
  }

  const std::string& path_;
  io::Safetensors file_;
  std::map<std::string, const HostArray*> arrays_;
};

}  // namespace
}  // namespace formats

namespace formats {

void require_arguments(const std::vector<GraphValue>& expected, std::span<const Tensor> inputs, const Line& where) {
  const auto list = [](const auto& values) {
    std::string text;
    for (const auto& one : values) text += (text.empty() ? "" : ", ") + std::string(name(one.dtype)) + to_string(one.shape);
    return text.empty() ? std::string("none") : text;
  };
  std::vector<GraphValue> given;
  for (const Tensor& input : inputs) given.push_back({"", input.dtype(where), input.shape(where)});
  const bool fits = std::ranges::equal(given, expected,
                                       [](const GraphValue& a, const GraphValue& b) { return a.dtype == b.dtype && a.shape == b.shape; });
  if (fits) return;
  throw Error({.op = "graph",
               .got = "tensors " + list(given),
               .expected = list(expected) + ", as the function was saved with",
               .advice = "save it once for each size, or cast and reshape before the call",
               .where = origin_at(where).where});
}

std::vector<Tensor> call_graph(const GraphFunction::State& f, std::span<const Tensor> inputs) {
  const std::vector<Tensor> made = build(f.graph, {.inputs = inputs, .cells = f.cells, .constants = f.constants});
  std::vector<Tensor> out;
  for (const int output : f.graph.outputs) out.push_back(made[static_cast<std::size_t>(output)]);
  return out;
}

void require_one_result(const std::vector<GraphValue>& outputs, const Line& where) {
  if (outputs.size() == 1) return;
  throw Error({.op = "graph",
               .got = "a function with " + std::to_string(outputs.size()) + " results called for one",
               .expected = "one with one result",
               .advice = "f({x}) gives the list of its results",
               .where = origin_at(where).where});
}

}  // namespace formats

std::vector<Tensor> GraphFunction::operator()(const std::vector<Tensor>& inputs, Line where) const {
  formats::require_arguments(state_->inputs, inputs, where);
  return formats::call_graph(*state_, inputs);
}

Tensor GraphFunction::only(const std::vector<Arg>& x, const Line& where) const {
  formats::require_one_result(state_->outputs, where);
  std::vector<Tensor> inputs;
  for (const Arg& one : x) inputs.push_back(one.tensor("graph"));
  return (*this)(inputs, where)[0];
}

const std::vector<GraphValue>& GraphFunction::inputs() const { return state_->inputs; }
const std::vector<GraphValue>& GraphFunction::outputs() const { return state_->outputs; }
const Parameters& GraphFunction::state() const { return state_->variables; }
const io::Metadata& GraphFunction::metadata() const { return state_->metadata; }
bool GraphFunction::writes(const Parameter& variable) const {
  return std::ranges::any_of(state_->graph.nodes, [&](const formats::StoredNode& node) {
    return node.writes >= 0 && state_->cells[static_cast<std::size_t>(node.writes)] == variable.cell;
  });
}
std::size_t GraphFunction::size() const { return state_->graph.nodes.size(); }

Parameters parameters(const GraphFunction& f) {
  Parameters out;
  for (const Parameter& one : f.state()) {
    if (is_float(one.cell->dtype()) && !f.writes(one)) out.push_back(one);
  }
  return out;
}

namespace formats {

bool has_metadata(const std::string& path, std::string_view key) {
  try {
    io::Bytes begin(io::kKindBytes);
    const io::InputFile file(path, "load_graph");
    begin.resize(std::min<std::uint64_t>(file.size(), begin.size()));
    file.read_at(0, begin);
    return io::kind_of(begin) == io::FileKind::Safetensors && io::read_safetensors_header(path).metadata.contains(std::string(key));
  } catch (const Error&) { return false; }
}

}  // namespace formats

bool is_graph_file(const std::string& path) { return formats::has_metadata(path, kGraphKey); }

GraphFunction load_graph(const std::string& path, const LoadGraphOptions& options) {
  return GraphFunction(formats::FileReader(path).read(options));
}

}  // namespace tegula

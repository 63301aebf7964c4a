#include "tegula/formats/graph_json.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/formats/attribute_json.h"
#include "tegula/formats/program_json.h"
#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/regions/loop_op.h"
#include "tegula/graph/structural.h"

namespace tegula::formats {
namespace {

using nlohmann::json;

constexpr Precision kPrecisions[] = {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16, Precision::fp8};
constexpr std::string_view kZeros[] = {"plain", "absorb poles", "absorb all"};

json result_json(const Result& result) {
  return {{"dtype", std::string(name(result.dtype))}, {"shape", std::vector<std::int64_t>(result.shape.begin(), result.shape.end())}};
}

void put_origin(json& out, const Origin& origin) {
  if (origin.where.known()) out["file"] = origin.where.file_name();
  if (origin.where.line() > 0) out["line"] = origin.where.line();
  else if (origin.where.known()) out["element"] = origin.where.function_name();
  if (origin.path) out["path"] = *origin.path;
}

json node_json(const StoredNode& node) {
  const auto index = static_cast<std::size_t>(node.index);
  switch (node.kind) {
    case StoredNode::Kind::Input: return {{"input", index}};
    case StoredNode::Kind::Variable: return {{"variable", index}};
    case StoredNode::Kind::Constant: return {{"constant", index}};
    case StoredNode::Kind::Op: break;
  }
  json out{{"op", std::string(node.op->class_name())}, {"in", node.in}};
  if (node.several) {
    for (const Result& result : node.results) out["results"].push_back(result_json(result));
  } else {
    out.update(result_json(node.results[0]));
  }
  if (node.op->role() == Role::Scalar) out["value"] = number_json(static_cast<const ScalarOp&>(*node.op).value());
  json body;
  if (node.body) {
    body = to_json(*node.body);
    body["inputs"] = json::array();
    for (const StoredNode& one : node.body->nodes)
      if (one.kind == StoredNode::Kind::Input) body["inputs"][static_cast<std::size_t>(one.index)] = result_json(one.results[0]);
  }
  AttributeWriter attributes(std::move(body));
  node.op->visit(attributes);
  if (!attributes.json.empty()) out["attributes"] = std::move(attributes.json);
  if (const TileKernelOp* const kernel = TileKernelOp::of(*node.op)) {
    out["name"] = std::string(kernel->name());
    out["program"] = program_json(kernel->program());
  }
  if (CustomOp::of(*node.op)) out["name"] = std::string(node.op->name());
  if (node.gradient) out["gradient"] = to_json(*node.gradient);
  if (!node.captured.empty()) out["captured"] = node.captured;
  if (node.writes >= 0) out["writes"] = node.writes;
  if (node.precision != Precision::fp32) out["precision"] = std::string(name(node.precision));
  if (node.zeros != Zeros::Plain) out["zeros"] = std::string(kZeros[static_cast<std::size_t>(node.zeros)]);
  put_origin(out, node.origin);
  return out;
}

enum class Of : std::uint8_t { Function, Body, Gradient };

class Reader {
 public:
  Reader(const OpTable& ops, const std::string& file, bool tile_kernels) : ops_(ops), file_(file), tile_kernels_(tile_kernels) {}

  StoredGraph graph(const json& given, const Tables& tables, Of of, const std::string& place) {
    Level level{tables, of, place, {}};
    for (const json& one : list_at(given, "nodes", level)) {
      level.number = level.graph.nodes.size();
      level.graph.nodes.push_back(node(one, level));
    }
    level.number = std::string::npos;
    for (const json& one : list_at(given, "outputs", level)) {
      const std::int64_t output = whole(one, "an output", level);
      if (output == -1 && of == Of::Gradient) level.graph.outputs.push_back(-1);
      else level.graph.outputs.push_back(number_of_value(output, level));
    }
    return std::move(level.graph);
  }

 private:
  /// A graph that is being read.
  struct Level {
    const Tables& tables;
    Of of;
    std::string place;  // "" or "gradient of node 7, "
    StoredGraph graph;
    std::size_t number = 0;
  };

  [[noreturn]] void refuse(const Level& level, const std::string& got, const std::string& expected) const {
    const std::string at = level.number == std::string::npos ? "" : "node " + std::to_string(level.number) + ", ";
    throw Error({.op = "load_graph",
                 .got = file_ + ": " + level.place + at + got,
                 .expected = expected,
                 .advice = "the file is damaged, or of a version of Tegula that knows more"});
  }

  const json& at(const json& object, const char* key, const Level& level) const {
    if (!object.is_object() || !object.contains(key))
      refuse(level, "no \"" + std::string(key) + "\" in " + shown(object), "an object that has it");
    return object[key];
  }
  const json& list_at(const json& object, const char* key, const Level& level) const {
    const json& list = at(object, key, level);
    if (!list.is_array()) refuse(level, std::string(key) + " " + shown(list), "a list");
    return list;
  }
  std::int64_t whole(const json& one, const std::string& what, const Level& level) const {
    const auto number = number_from_json(one);
    if (!number || !number->whole()) refuse(level, what + " " + shown(one), "a whole number");
    return number->integer();
  }
  std::string text(const json& one, const std::string& what, const Level& level) const {
    if (!one.is_string()) refuse(level, what + " " + shown(one), "a text");
    return one.get<std::string>();
  }
  /// The index of a node that has been read and has a value.
  int number_of_value(std::int64_t number, const Level& level) const {
    if (number < 0 || number >= std::ssize(level.graph.nodes))
      refuse(level, "the number " + std::to_string(number), "that of an earlier node");
    if (level.graph.nodes[static_cast<std::size_t>(number)].several)
      refuse(level, "node " + std::to_string(number) + ", which has several results", "one with a value of its own, such as a part of it");
    return static_cast<int>(number);
  }

  Result result(const json& given, const Level& level) const {
    const std::string dtype = text(at(given, "dtype", level), "the dtype", level);
    const auto found = std::ranges::find_if(kAllDTypes, [&](DType one) { return name(one) == dtype; });
    if (found == std::end(kAllDTypes)) refuse(level, "the dtype " + shown(dtype), "one of Tegula's");
    Shape shape;
    const json& sizes = list_at(given, "shape", level);
    if (sizes.size() > static_cast<std::size_t>(kMaxRank)) refuse(level, "the shape " + shown(sizes), "at most eight sizes");
    for (const json& size : sizes) {
      shape.push_back(whole(size, "a size", level));
      if (shape.back() < 0) refuse(level, "the shape " + shown(sizes), "sizes of at least 0");
    }
    if (!countable(shape)) refuse(level, "the shape " + to_string(shape), "fewer than 2^60 elements");
    return {shape, *found};
  }

  StoredNode node(const json& given, const Level& level) {
    StoredNode out;
    const auto is_source = [&](const char* key, StoredNode::Kind kind, std::size_t count, auto result_of) {
      if (!given.is_object() || !given.contains(key)) return false;
      const std::int64_t index = whole(given[key], key, level);
      if (index < 0 || static_cast<std::size_t>(index) >= count)
        refuse(level, std::string(key) + " " + std::to_string(index), "one of the " + std::to_string(count) + " that there are");
      out.kind = kind;
      out.index = static_cast<int>(index);
      out.results = {result_of(static_cast<std::size_t>(index))};
      return true;
    };
    const Tables& tables = level.tables;
    if (is_source("input", StoredNode::Kind::Input, tables.inputs.size(), [&](std::size_t i) { return tables.inputs[i]; })) return out;
    if (is_source("variable", StoredNode::Kind::Variable, level.of == Of::Function ? tables.variables.size() : 0,
                  [&](std::size_t i) { return tables.variables[i]; }))
      return out;
    if (is_source("constant", StoredNode::Kind::Constant, level.of == Of::Body ? 0 : tables.constants.size(),
                  [&](std::size_t i) { return Result{tables.constants[i].shape(), tables.constants[i].dtype()}; }))
      return out;
    read_op(given, level, out);
    return out;
  }

  void read_op(const json& given, const Level& level, StoredNode& out) {
    const std::string name = text(at(given, "op", level), "the op", level);
    if (given.contains("results")) {
      out.several = true;
      for (const json& one : list_at(given, "results", level)) out.results.push_back(result(one, level));
      if (out.results.size() < 2) refuse(level, "one result in a list", "several");
    } else {
      out.results = {result(given, level)};
    }
    Signature node{.inputs = {}, .results = out.results, .several = 0};
    for (const json& one : list_at(given, "in", level)) {
      const std::int64_t number = whole(one, "an input", level);
      const bool is_part = name == "part" && number >= 0 && number < std::ssize(level.graph.nodes);
      out.in.push_back(is_part ? static_cast<int>(number) : number_of_value(number, level));
      const StoredNode& from = level.graph.nodes[static_cast<std::size_t>(number)];
      node.inputs.push_back(from.results[0]);
      if (is_part) node.several = from.several ? from.results.size() : 0;
    }
    read_extras(given, level, out);
    if (name == "scalar") {
      const auto value = number_from_json(at(given, "value", level));
      if (!value || !node.inputs.empty() || out.results.size() != 1 || out.results[0].shape.rank() != 0 ||
          (!is_float(out.results[0].dtype) && !value->fits(out.results[0].dtype)))
        refuse(level, "a scalar " + shown(given), "a number without operands, of shape ()");
      out.op = make<const ScalarOp>(*value);
      return;
    }
    out.op = make_op(name, given, node, level, out);
    if (out.writes >= 0) {
      const bool fits = level.of == Of::Function && static_cast<std::size_t>(out.writes) < level.tables.variables.size() &&
                        name == "variable" && level.tables.variables[static_cast<std::size_t>(out.writes)] == out.results[0];
      if (!fits) refuse(level, "a new value of Variable " + std::to_string(out.writes), "one of its shape and dtype");
    }
    if (name == "part" && out.results[0] != level.graph.nodes[static_cast<std::size_t>(out.in[0])]
                                                .results[static_cast<std::size_t>(static_cast<const PartOp&>(*out.op).index())])
      refuse(level, "a part of another shape or dtype", "those of the result that it is");
    if (name == "custom_function") read_gradient(given, node, level, out);
  }

  /// Reads the optional entries of a node, which any op may have.
  void read_extras(const json& given, const Level& level, StoredNode& out) const {
    if (given.contains("precision")) {
      const std::string said = text(given["precision"], "the precision", level);
      const auto found = std::ranges::find_if(kPrecisions, [&](Precision one) { return name(one) == said; });
      if (found == std::end(kPrecisions)) refuse(level, "the precision " + shown(said), "one of Tegula's");
      out.precision = *found;
    }
    if (given.contains("zeros")) {
      const auto found = std::ranges::find(kZeros, text(given["zeros"], "zeros", level));
      if (found == std::end(kZeros)) refuse(level, "zeros " + shown(given["zeros"]), "one of three kinds");
      out.zeros = static_cast<Zeros>(found - std::begin(kZeros));
    }
    if (given.contains("writes")) {
      const std::int64_t number = whole(given["writes"], "writes", level);
      if (number < 0 || number > std::numeric_limits<int>::max())
        refuse(level, "writes " + std::to_string(number), "the number of a Variable");
      out.writes = static_cast<int>(number);
    }
    const std::string file = given.contains("file") ? text(given["file"], "the file", level) : "";
    if (given.contains("line")) {
      const std::int64_t line = whole(given["line"], "the line", level);
      if (!std::in_range<std::uint32_t>(line)) refuse(level, "line " + std::to_string(line), "the number of a line");
      out.origin.where = Line(file, static_cast<std::uint32_t>(line));
    } else if (given.contains("element")) {
      out.origin.where = Line(file, 0, text(given["element"], "the element", level));
    }
    if (given.contains("path")) out.origin.path = kept_path(text(given["path"], "the path", level));
  }

  Ref<const Op> make_op(const std::string& name, const json& given, const Signature& node, const Level& level, StoredNode& out) {
    static const json kNone = json::object();
    const json& attributes = given.contains("attributes") ? given["attributes"] : kNone;
    if (!attributes.is_object()) refuse(level, "attributes " + shown(attributes), "an object");
    const auto read_region = [&](const json& body) { return this->body(body, level, out); };
    const auto complain = [&](const std::string& got, const std::string& expected) { refuse(level, shown(name) + ": " + got, expected); };
    AttributeReader reader(attributes, node, read_region, complain);
    if (name == "tile_kernel" || name == "cuda_kernel") require_allowed(given, level);
    Ref<const Op> op = name == "tile_kernel" ? kernel(given, node, level, reader, complain) : ops_.make_op(name, reader);
    if (!op) {
      throw Error({.op = "load_graph",
                   .got = file_ + ": " + level.place + "node " + std::to_string(level.number) + ", the op " + shown(name) +
                          " with a result of dtype " + std::string(tegula::name(node.results[0].dtype)),
                   .expected = "one that this program knows",
                   .advice = name == kExchange ? kNoExchangeInFiles
                                               : "an op of one's own is added first: add_formula<formula::Name>(known_ops())"});
    }
    reader.require_all_read();
    return op;
  }

  void require_allowed(const json& given, const Level& level) const {
    if (tile_kernels_) return;
    const char* const named = given.contains("name") ? "name" : "op";
    throw Error({.op = "load_graph",
                 .got = file_ + ": " + level.place + "node " + std::to_string(level.number) + ", a kernel of the user's own, " +
                        shown(at(given, named, level)),
                 .expected = "none: what a kernel reads and writes cannot be checked, so such a file is as good as a program",
                 .advice = "load_graph(path, {.tile_kernels = true}), if you trust who has written it"});
  }

  Ref<const Op> kernel(const json& given, const Signature& node, const Level& level, AttributeReader& reader,
                       const Complain& complain) const {
    auto program = program_from_json(at(given, "program", level), complain);
    const std::string name = text(at(given, "name", level), "the name", level);
    const Ref<TileKernelOp> op = make<TileKernelOp>(name, std::move(program), node.inputs, TileLaunch(), Line());
    op->attributes(reader);
    return op;
  }

  Ref<const Region> body(const json& given, const Level& level, StoredNode& out) {
    Tables tables;
    for (const json& one : list_at(given, "inputs", level)) tables.inputs.push_back(result(one, level));
    auto graph = std::make_shared<const StoredGraph>(this->graph(given, tables, Of::Body, inner(level, "body of node ")));
    std::vector<bool> there(tables.inputs.size());
    for (const StoredNode& one : graph->nodes) {
      if (one.kind != StoredNode::Kind::Input) continue;
      if (there[static_cast<std::size_t>(one.index)]) refuse(level, "an input of the body twice", "each once");
      there[static_cast<std::size_t>(one.index)] = true;
    }
    if (!std::ranges::all_of(there, std::identity())) refuse(level, "an input of the body that is no node", "each once");
    out.body = graph;
    return region_of(*graph, {});
  }

  void read_gradient(const json& given, const Signature& node, const Level& level, StoredNode& out) {
    const std::string name = text(at(given, "name", level), "the name", level);
    out.op = make<const CustomOp>(name, static_cast<const CustomOp&>(*out.op).options(), Vjp());
    if (!given.contains("gradient")) return;
    Tables tables{.inputs = {node.inputs.begin() + 1, node.inputs.end()}, .variables = {}, .constants = level.tables.constants};
    tables.inputs.insert(tables.inputs.end(), 2, node.results[0]);
    if (given.contains("captured")) {
      for (const json& one : list_at(given, "captured", level)) {
        out.captured.push_back(number_of_value(whole(one, "a captured node", level), level));
        tables.inputs.push_back(level.graph.nodes[static_cast<std::size_t>(out.captured.back())].results[0]);
      }
    }
    out.gradient = std::make_shared<const StoredGraph>(graph(given["gradient"], tables, Of::Gradient, inner(level, "gradient of node ")));
    bool fits = out.gradient->outputs.size() + 1 == node.inputs.size();
    for (std::size_t i = 0; fits && i < out.gradient->outputs.size(); ++i) {
      const int output = out.gradient->outputs[i];
      fits = output < 0 || out.gradient->nodes[static_cast<std::size_t>(output)].results[0] == node.inputs[i + 1];
    }
    if (!fits) refuse(level, "a gradient with other results", "one for each input, of its shape and dtype");
  }

  static std::string inner(const Level& level, const std::string& what) { return level.place + what + std::to_string(level.number) + ", "; }

  const OpTable& ops_;
  const std::string& file_;
  const bool tile_kernels_;
};

}  // namespace

json to_json(const StoredGraph& graph) {
  json nodes = json::array();
  for (const StoredNode& node : graph.nodes) nodes.push_back(node_json(node));
  return {{"nodes", std::move(nodes)}, {"outputs", graph.outputs}};
}

StoredGraph graph_from_json(const json& given, const Tables& tables, const OpTable& ops, const std::string& file, bool tile_kernels) {
  return Reader(ops, file, tile_kernels).graph(given, tables, Of::Function, "");
}

}  // namespace tegula::formats

#include "tegula/formats/plan_file.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "tegula/compile/jit_state.h"
#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/warning.h"
#include "tegula/formats/findings_json.h"
#include "tegula/formats/graph_contents.h"
#include "tegula/formats/graph_json.h"
#include "tegula/formats/known_ops.h"
#include "tegula/formats/plan_json.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/runtime/findings.h"
#include "tegula/runtime/fingerprint.h"
#include "tegula/runtime/registry.h"

namespace tegula {

struct PlanFunction::State {
  std::string path;
  GraphFunction::State f;  // its graph is read when it is needed
  HostArray graph_text;
  std::once_flag graph_read;
  bool from_file = false;
  std::unique_ptr<compile::JitState> jit;

  std::vector<Tensor> call(std::span<const Tensor> inputs);
};

namespace formats {
namespace {

using compile::Entry;
using compile::Source;
using nlohmann::json;

constexpr std::int64_t kVersion = 4;
constexpr const char* kBody = "tegula.plan.json";    // the tensor with the JSON
constexpr const char* kKept = "tegula.plan.kept.";  // and a number
constexpr const char* kLater = "tegula.plan.later.";  // likewise
constexpr const char* kCode = "tegula.plan.code.";
constexpr const char* kGraphText = "tegula.plan.graph.json";

/// The properties of device and library that a plan depends on beside its graph.
json made_for(runtime::Device& device) {
  return {{"device", device.name().substr(0, device.name().find(':'))},
          {"machine", runtime::fingerprint(device)},
          {"threads", device.max_threads()},
          {"tegula", runtime::interface_version()}};
}

json value_json(const GraphValue& value) {
  return {{"name", value.name},
          {"dtype", std::string(name(value.dtype))},
          {"shape", std::vector<std::int64_t>(value.shape.begin(), value.shape.end())}};
}

/// The source of each leaf: an argument, a Variable or a constant of the file.
json sources_json(const Entry& entry, const GraphFunction::State& f) {
  json out = json::array();
  const auto& cells = entry.recorded.cells;
  for (const Source& source : entry.recorded.sources) {
    std::ptrdiff_t at = source.index;
    if (source.kind == Source::Kind::Cell) {
      at = std::ranges::find(f.cells, cells[static_cast<std::size_t>(source.index)]) - f.cells.begin();
    } else if (source.kind == Source::Kind::Captured) {
      at = std::ranges::find(f.constants, source.captured, [](const Tensor& one) { return one.node(); }) - f.constants.begin();
    }
    out.push_back({static_cast<int>(source.kind), at});
  }
  return out;
}

json function_json(const Entry& entry, const GraphContents& contents) {
  const GraphFunction::State& f = contents.function;
  json out{{"constants", contents.constants}, {"inputs", json::array()}, {"outputs", json::array()}, {"variables", json::array()}};
  for (const GraphValue& one : f.inputs) out["inputs"].push_back(value_json(one));
  for (const GraphValue& one : f.outputs) out["outputs"].push_back(value_json(one));
  for (const Parameter& one : f.variables) out["variables"].push_back(one.name);
  out["sources"] = sources_json(entry, f);
  out["numbers"] = entry.recorded.reading.constants;
  out["updates"] = json::array();
  for (const int cell : entry.recorded.updated_cells)
    out["updates"].push_back(std::ranges::find(f.cells, entry.recorded.cells[static_cast<std::size_t>(cell)]) - f.cells.begin());
  return out;
}

/// The findings that loading the plan would otherwise make the device work out.
runtime::Findings findings_for(const StoredPlan& plan, const Entry& entry) {
  runtime::Device& device = entry.executable->device();
  runtime::DeviceFindings* const findings = runtime::findings_of(device);
  if (!findings) return {};
  const std::uint64_t begun = findings->moment();
  const auto complain = [](const std::string& got, const std::string& expected) {
    throw Error({.op = "save_plan", .got = got, .expected = expected, .advice = "a fault of the library: report it"});
  };
  try {
    executable_from_json(plan, std::vector<std::uint64_t>(entry.recorded.sources.size()), device, complain);
  } catch (const runtime::OutOfMemory&) {}  // kept values a second time, behind all that is looked for
  return findings->since(begun);
}

void append_numbered(io::NamedArrays& arrays, const std::string& name, std::vector<HostArray> list) {
  for (std::size_t i = 0; i < list.size(); ++i) arrays.emplace_back(name + std::to_string(i), std::move(list[i]));
}

}  // namespace

void save_with_plan(const GraphPath& path, const GraphFileOptions& options, const Parameters& module_names,
                    std::span<const Tensor> examples, const Body& body) {
  GraphContents contents = contents_of(path, options, module_names, examples, body);
  const Line where = origin_at(path.where).where;
  for (Tensor& constant : contents.function.constants)  // as they lie in the file
    if (!constant.node()->layout().is_dense()) constant = from_array(constant.to_array(where), where);
  compile::JitState jit(where);
  const Entry& entry =
      jit.prepare(examples, [&](std::span<const Tensor> tensors) { return compile::Results(call_graph(contents.function, tensors)); });
  if (entry.recorded.asked != entry.recorded.outputs.size()) {
    throw Error({.op = "save_plan",
                 .got = "a function that does something whose result nobody reads (debug_print)",
                 .expected = "results and Variables",
                 .advice = "leave it out, or save_graph",
                 .where = where});
  }
  StoredPlan plan = plan_json(*entry.executable);
  const runtime::Findings found = findings_for(plan, entry);
  StoredFindings findings = findings_json(found);
  plan.json["function"] = function_json(entry, contents);
  plan.json["findings"] = std::move(findings.json);
  const std::string text = plan.json.dump(-1, ' ', false, json::error_handler_t::replace);
  json head{{"version", kVersion},
            {"digest", digest(text)},
            {"kept", plan.kept.size()},
            {"later", plan.later.size()},
            {"made_for", made_for(entry.executable->device())}};
  head["made_for"]["libraries"] = found.versions;
  contents.arrays.emplace_back(kBody, bytes_array(text));
  append_numbered(contents.arrays, kKept, std::move(plan.kept));
  append_numbered(contents.arrays, kLater, std::move(plan.later));
  append_numbered(contents.arrays, kCode, std::move(findings.images));
  std::string& graph = contents.metadata.at(std::string(kGraphKey));  // a tensor is not read before it is needed
  contents.arrays.emplace_back(kGraphText, bytes_array(graph));
  graph = json{{"tensor", kGraphText}}.dump();
  contents.metadata.emplace(kPlanKey, head.dump());
  io::write_safetensors(path.path, contents.arrays, contents.metadata);
}

namespace {

/// Reads a file's lists, and its plan.
class PlanFile {
 public:
  explicit PlanFile(const std::string& path)
      : path_(path),
        reader_([this](const std::string& got, const std::string& expected) { refuse(got, expected); }),
        file_(io::map_safetensors(path)) {
    for (auto& [name, array] : file_.tensors) arrays_.emplace(name, &array);
  }

  std::shared_ptr<PlanFunction::State> read() {
    const json head = head_of();
    const HostArray body = bytes_of_file(kBody);
    const std::string_view text = bytes_of(body);
    if (digest(text) != reader_.word(reader_.at(head, "digest"))) refuse("a plan that is not as it was written", "its digest to fit");
    json plan = parse_json(text, "load_plan", path_);
    auto out = std::make_shared<PlanFunction::State>();
    out->path = path_;
    out->jit = std::make_unique<compile::JitState>(Line(path_, 0, "plan"));
    read_function(reader_.at(plan, "function"), out->f);
    out->graph_text = bytes_of_file(kGraphText);
    StoredPlan stored;
    const auto count = [&](const char* key) { return static_cast<std::size_t>(reader_.whole_at(head, key, 0, std::ssize(file_.tensors))); };
    for (std::size_t i = 0; i < count("kept"); ++i) stored.kept.push_back(array(kKept + std::to_string(i)));
    for (std::size_t i = 0; i < count("later"); ++i) stored.later.push_back(bytes_of_file(kLater + std::to_string(i)));
    runtime::Findings findings =
        findings_from_json(reader_.at(plan, "findings"), reader_, [&](std::size_t i) { return bytes_of_file(kCode + std::to_string(i)); });
    if (!arrays_.empty()) refuse("the tensor " + shown(arrays_.begin()->first), "only Variables, constants, kept values and machine code");
    file_.metadata.erase(std::string(kGraphKey));
    file_.metadata.erase(std::string(kPlanKey));
    out->f.metadata = std::move(file_.metadata);
    if (!fits(head)) return out;
    if (runtime::DeviceFindings* const here = runtime::findings_of(default_device())) here->take(std::move(findings));
    try {
      stored.json = std::move(plan);
      read_plan(std::move(stored), *out);
    } catch (const OtherCalls& other) {
      warn_about("other calls of the library (" + other.report().got + ", here " + other.report().expected + ")");
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& got, const std::string& expected,
                           const std::string& advice = "the file is damaged, or was not written by save_plan") const {
    throw Error({.op = "load_plan", .got = path_ + ": " + got, .expected = expected, .advice = advice});
  }

  json head_of() {
    const auto found = file_.metadata.find(std::string(kPlanKey));
    if (found == file_.metadata.end())
      refuse("a safetensors file without a plan", "one that save_plan has written",
             file_.metadata.contains(std::string(kGraphKey)) ? "it is a graph file: load_graph(path)"
                                                             : "load(net, path) reads the weights of a module");
    const json head = parse_json(found->second, "load_plan", path_);
    if (!head.is_object()) refuse(shown(head), "what the plan is for");
    if (!head.contains("version") || head["version"] != kVersion)
      refuse("version " + shown(head.contains("version") ? head["version"] : json()), "version " + std::to_string(kVersion),
             "the file was written by another version of Tegula: load_graph(path) may read its graph");
    return head;
  }
  HostArray bytes_of_file(const std::string& name) {
    HostArray out = array(name);
    if (out.dtype != u8) refuse(name + " of dtype " + std::string(tegula::name(out.dtype)), "bytes");
    return out;
  }
  /// A tensor of the file; each may be requested once.
  HostArray array(const std::string& name) {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) refuse("no tensor " + shown(name) + ", or it is named twice", "all that the plan names, each once");
    const HostArray out = std::move(*found->second);
    arrays_.erase(found);
    return out;
  }

  bool fits(const json& head) const {
    const json& said = reader_.at(head, "made_for");
    const json here = made_for(default_device());
    for (const char* what : {"device", "machine", "threads", "tegula"}) {
      const json& one = reader_.at(said, what);
      if (one == here[what]) continue;
      warn_about(std::string(what) + " " + shown(one) + " (here " + shown(here[what]) + ")");
      return false;
    }
    const json& libraries = reader_.at(said, "libraries");
    if (!libraries.is_object()) refuse("libraries " + shown(libraries), "their versions by name");
    for (const auto& [library, version] : libraries.items()) {
      runtime::DeviceFindings* const findings = runtime::findings_of(default_device());
      const auto other = findings ? findings->other_version(library, reader_.text(version)) : std::string();
      if (!other) continue;
      warn_about(library + " " + reader_.text(version) + " (here " + (other->empty() ? "none" : *other) + ")");
      return false;
    }
    return true;
  }
  void warn_about(const std::string& why) const {
    warn("load_plan.planned_anew",
         path_ + ": its plan is for " + why + ". The first call plans its graph anew; save_plan on this machine saves that");
  }

  void read_function(const json& given, GraphFunction::State& f) {
    const auto values = [&](const char* key, std::vector<GraphValue>& to) {
      for (const json& one : reader_.list_at(given, key))
        to.push_back(
            {reader_.text(reader_.at(one, "name")), reader_.dtype(reader_.at(one, "dtype")), reader_.shape(reader_.at(one, "shape"))});
    };
    values("inputs", f.inputs), values("outputs", f.outputs);
    for (const json& one : reader_.list_at(given, "variables")) {
      const std::string name = reader_.text(one);
      const Variable variable(from_array(array(name)));
      f.cells.push_back(variable.cell());
      f.variables.push_back({name, variable.cell()});
    }
    for (const json& one : reader_.list_at(given, "constants")) f.constants.push_back(from_array(array(reader_.text(one))));
  }

  static Ref<Node> stand_in(const Shape& shape, DType dtype, const Origin& origin = {}) {
    return make<Node>(leaf_op(), std::span<const Ref<Node>>(), shape, dtype, origin);
  }

  // Fills `out` with the state that a trace would have recorded.
  void read_plan(StoredPlan plan, PlanFunction::State& out) {
    const GraphFunction::State& f = out.f;
    auto entry = std::make_unique<Entry>();
    compile::Recorded& recorded = entry->recorded;
    recorded.cells = f.cells;
    std::vector<Tensor> arguments;
    for (const GraphValue& one : f.inputs) arguments.emplace_back(stand_in(one.shape, one.dtype));
    std::vector<Result> leaves;
    std::vector<std::uint64_t> versions;
    {
      const json& function = plan.json["function"];
      for (const json& one : reader_.list_at(function, "sources")) {
        Source source{
            static_cast<Source::Kind>(reader_.whole(reader_.list(one, 2)[0], 0, static_cast<int>(Source::Kind::Captured))), 0, {}};
        const bool argument = source.kind == Source::Kind::Argument, cell = source.kind == Source::Kind::Cell;
        const auto at = static_cast<std::size_t>(reader_.index(one[1], argument ? f.inputs.size()
                                                                       : cell   ? f.cells.size()
                                                                                : f.constants.size()));
        source.index = argument || cell ? static_cast<int>(at) : 0;
        if (!argument && !cell) source.captured = f.constants[at].node();
        leaves.push_back(argument ? Result{f.inputs[at].shape, f.inputs[at].dtype}
                         : cell   ? Result{f.cells[at]->shape(), f.cells[at]->dtype()}
                                  : Result{f.constants[at].shape(), f.constants[at].dtype()});
        versions.push_back(cell ? f.cells[at]->version() : 0);
        recorded.sources.push_back(std::move(source));
      }
      for (const json& one : reader_.list_at(function, "numbers")) recorded.reading.constants.push_back(reader_.word(one));
      for (const json& one : reader_.list_at(function, "updates")) {
        recorded.updated_cells.push_back(reader_.index(one, f.cells.size()));
        const Cell& cell = *f.cells[static_cast<std::size_t>(recorded.updated_cells.back())];
        recorded.updates.push_back(stand_in(cell.shape(), cell.dtype()));
      }
    }
    runtime::Device& device = default_device();
    const auto complain = [path = path_](const std::string& got, const std::string& expected) {
      throw Error({.op = "load_plan",
                   .got = path + ": " + got,
                   .expected = expected,
                   .advice = "the file is damaged, or was not written by save_plan"});
    };
    entry->executable = executable_from_json(std::move(plan), versions, device, complain);
    require_interface(*entry->executable, leaves, recorded, f);
    const compile::Plan& of = entry->executable->plan();
    for (std::size_t o = 0; o < f.outputs.size(); ++o)
      recorded.outputs.push_back(
          stand_in(f.outputs[o].shape, f.outputs[o].dtype, of.values[static_cast<std::size_t>(of.graph.outputs[o])].origin));
    recorded.asked = recorded.outputs.size();
    out.jit->add(std::move(entry), arguments);
    out.from_file = true;
  }

  // The plan's leaves, results and updates are the function's.
  void require_interface(const compile::Executable& executable, const std::vector<Result>& leaves, const compile::Recorded& recorded,
                         const GraphFunction::State& f) const {
    const compile::Plan& plan = executable.plan();
    const std::size_t kept = executable.kept().values.size();
    bool fits = plan.graph.leaves.size() == leaves.size() + kept && plan.graph.outputs.size() == f.outputs.size() &&
                plan.graph.updates.size() == recorded.updates.size() &&
                plan.graph.constants.size() - plan.graph.derived.size() == recorded.reading.constants.size();
    for (std::size_t i = 0; fits && i < leaves.size(); ++i) {
      const compile::Leaf& leaf = plan.graph.leaves[i];
      // Variables and arguments are made dense before a run, a constant lies as it does in the file.
      fits = leaf.shape == leaves[i].shape && leaf.dtype == leaves[i].dtype && leaf.layout.is_dense();
    }
    const auto same = [&](int item, const Shape& shape, DType dtype) {
      const compile::PlannedValue& value = plan.values[static_cast<std::size_t>(item)];
      return numel(value.shape) == numel(shape) && value.dtype == dtype;  // as whatever shape it is computed
    };
    for (std::size_t o = 0; fits && o < f.outputs.size(); ++o) fits = same(plan.graph.outputs[o], f.outputs[o].shape, f.outputs[o].dtype);
    for (std::size_t u = 0; fits && u < recorded.updates.size(); ++u)
      fits = same(plan.graph.updates[u].item, recorded.updates[u]->shape(), recorded.updates[u]->dtype());
    if (!fits) refuse("a plan of another function", "leaves, results and Variables of the function");
  }

  std::string path_;
  JsonReader reader_;
  io::Safetensors file_;
  std::map<std::string, HostArray*> arrays_;
};

}  // namespace
}  // namespace formats

std::vector<Tensor> PlanFunction::State::call(std::span<const Tensor> inputs) {
  std::call_once(graph_read, [&] {
    formats::Tables tables{.inputs = {}, .variables = {}, .constants = f.constants};
    for (const GraphValue& one : f.inputs) tables.inputs.push_back({one.shape, one.dtype});
    for (const Ref<Cell>& cell : f.cells) tables.variables.push_back({cell->shape(), cell->dtype()});
    const auto all = parse_json(formats::bytes_of(graph_text), "load_plan", path);
    if (!all.is_object() || !all.contains("graph"))
      throw Error({.op = "load_plan", .got = path + ": no graph", .expected = "the list of nodes", .advice = "the file is damaged"});
    f.graph = formats::graph_from_json(all["graph"], tables, known_ops(), path, true);
    graph_text = {};
  });
  return formats::call_graph(f, inputs);
}

std::vector<Tensor> PlanFunction::operator()(const std::vector<Tensor>& inputs, Line where) const {
  State& s = *state_;
  formats::require_arguments(s.f.inputs, inputs, where);
  return s.jit->call(inputs, [&s](std::span<const Tensor> tensors) { return compile::Results(s.call(tensors)); });
}

Tensor PlanFunction::only(const std::vector<Arg>& x, const Line& where) const {
  formats::require_one_result(state_->f.outputs, where);
  std::vector<Tensor> inputs;
  for (const Arg& one : x) inputs.push_back(one.tensor("graph"));
  return (*this)(inputs, where)[0];
}

const std::vector<GraphValue>& PlanFunction::inputs() const { return state_->f.inputs; }
const std::vector<GraphValue>& PlanFunction::outputs() const { return state_->f.outputs; }
const Parameters& PlanFunction::state() const { return state_->f.variables; }
const io::Metadata& PlanFunction::metadata() const { return state_->f.metadata; }
bool PlanFunction::from_file() const { return state_->from_file; }
int PlanFunction::traces() const { return state_->jit->traces(); }
std::string PlanFunction::print_plan() const { return state_->jit->print_plan(); }
std::string PlanFunction::print_memory() const { return state_->jit->print_memory(); }
std::string PlanFunction::print_kernels() const { return state_->jit->print_kernels(); }

PlanFunction load_plan(const std::string& path) { return PlanFunction(formats::PlanFile(path).read()); }

bool is_plan_file(const std::string& path) { return formats::has_metadata(path, formats::kPlanKey); }

}  // namespace tegula

// From JSON to an executable.

#include <algorithm>
#include <limits>

#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/core/json.h"
#include "tegula/formats/attribute_json.h"
#include "tegula/formats/description_json.h"
#include "tegula/formats/findings_json.h"
#include "tegula/formats/plan_json.h"
#include "tegula/formats/program_json.h"
#include "tegula/graph/frame.h"
#include "tegula/runtime/kernel_cache.h"
#include "tegula/tile/builder.h"

namespace tegula::formats {
namespace {

using compile::ArenaOf;
using compile::Executable;
using compile::Plan;
using compile::Reference;
using compile::Storage;
using nlohmann::json;

constexpr std::int64_t kMany = std::int64_t{1} << 50;  // bytes, elements, operations: more than there can be
constexpr std::size_t kMostValues = 1u << 26;

/// The data shared by all plans of a file.
struct Shared {
  json file;  // texts, programs, the plan
  std::vector<HostArray> kept, later;
  runtime::Device& device;
  JsonReader reader;
  std::vector<std::string> texts;
  std::vector<compile::Launch> programs;  // with kernels, without sets
};

/// Its texts and programs are read.
std::shared_ptr<const Shared> opened(StoredPlan plan, runtime::Device& device, JsonReader with) {
  auto shared =
      std::make_shared<Shared>(Shared{std::move(plan.json), std::move(plan.kept), std::move(plan.later), device, std::move(with), {}, {}});
  const JsonReader& reader = shared->reader;
  for (const json& one : reader.list_at(shared->file, "texts")) shared->texts.push_back(reader.text(one));
  const Complain complain = [&reader](const std::string& got, const std::string& expected) { reader.refuse(got, expected); };
  for (const json& one : reader.list_at(shared->file, "programs")) {
    compile::Launch launch{.program = tile_program_from_json(one, complain)};
    launch.structure = tile::structure(*launch.program);
    launch.kernel = runtime::compiled(device, *launch.program, *launch.structure);
    shared->programs.push_back(std::move(launch));
  }
  return shared;
}

class PlanReader {
 public:
  PlanReader(std::shared_ptr<const Shared> shared, const json& given) : shared_(std::move(shared)), json_(given), r_(shared_->reader) {}

  std::unique_ptr<Executable> executable(ArenaOf arena_of, const std::vector<std::uint64_t>& versions) {
    read_graph();
    read_values();
    for (const json& one : r_.list_at(json_, "steps")) plan_.steps.push_back(step(one));
    plan_.costs = shared_->device.costs();
    plan_.tiles = shared_->device.tiles();
    compile::request_kernels(plan_, shared_->device);
    compile::Kept kept;
    if (json_.contains("kept")) kept = read_kept(json_["kept"], arena_of, versions);
    return std::make_unique<Executable>(std::move(plan_), shared_->device, std::move(kept), arena_of);
  }

 private:
  std::size_t bytes(const json& given) const { return static_cast<std::size_t>(r_.whole(given, 0, kMany)); }
  std::size_t bytes_at(const json& object, const char* key) const { return bytes(r_.at(object, key)); }
  /// One that is described.
  int item(const json& given) const {
    const int i = r_.index(given, plan_.values.size());
    if (!known_[static_cast<std::size_t>(i)]) r_.refuse("value " + std::to_string(i), "one that is described");
    return i;
  }
  std::vector<int> items(const json& given) const {
    std::vector<int> out;
    for (const json& one : r_.list(given)) out.push_back(item(one));
    return out;
  }
  const std::string& text(const json& given) const {
    return shared_->texts[static_cast<std::size_t>(r_.index(given, shared_->texts.size()))];
  }
  Origin origin(const json& object) const {
    const auto found = object.find("line");
    if (found == object.end()) return {};
    const json& parts = r_.list(*found, 4);
    Origin out;
    const auto named = [&](const json& one) { return r_.whole(one) < 0 ? std::string() : text(one); };
    const auto line = static_cast<std::uint32_t>(r_.whole(parts[1], 0, std::numeric_limits<std::uint32_t>::max()));
    if (r_.whole(parts[0]) >= 0) out.where = Line(text(parts[0]), line, named(parts[2]));
    if (r_.whole(parts[3]) >= 0) out.path = kept_path(text(parts[3]));
    return out;
  }

  void read_graph() {
    compile::Graph& graph = plan_.graph;
    for (const json& one : r_.list_at(json_, "leaves")) {
      const Layout layout = layout_from_json(one, r_);
      graph.leaves.push_back({layout.shape, r_.dtype(r_.at(one, "dtype")), layout, r_.flag_at(one, "steady")});
    }
    for (const json& one : r_.list_at(json_, "numbers")) graph.constants.push_back(r_.dtype(one));
    const json& derived = r_.list_at(json_, "derived");
    if (derived.size() > graph.constants.size()) r_.refuse("more derived numbers than numbers", "those among them");
    for (const json& one : derived) {
      const std::size_t place = graph.constants.size() - derived.size() + graph.derived.size();  // they come last
      const std::vector<int> inputs = r_.indices(r_.at(one, "in"), place);
      const DType rounded = r_.dtype(r_.at(one, "rounded"));
      Signature node{.inputs = std::vector<Result>(inputs.size(), Result{{}, rounded}), .results = {{{}, rounded}}};
      const Ref<const Op> made_by = op(one, node);
      if (made_by->role() != Role::Elementwise) r_.refuse("a number made by " + std::string(made_by->name()), "an elementwise op");
      graph.derived.push_back(compile::Expression::of_numbers(made_by, inputs, rounded));
    }
  }

  Ref<const Op> op(const json& given, const Signature& node) const {
    const std::string name = r_.text(r_.at(given, "op"));
    const auto complain = [&](const std::string& got, const std::string& expected) { r_.refuse(name + ": " + got, expected); };
    const auto no_region = [&](const json&) -> Ref<const Region> { r_.refuse("a loop", "an op without a body"); };
    AttributeReader attributes(r_.at(given, "attributes"), node, no_region, complain);
    const OpTable* const table = table_with(name);
    Ref<const Op> out = table ? table->make_op(name, attributes) : nullptr;
    if (!out)
      r_.refuse("the op " + name,
                "one that this program knows: an op of one's own is added first, add_formula<formula::Name>(known_ops())");
    return out;
  }

  void read_values() {
    const auto count = static_cast<std::size_t>(r_.whole_at(json_, "count", 0, kMostValues));
    plan_.values.resize(count), plan_.storage.resize(count), known_.resize(count);
    plan_.arena_bytes = bytes_at(json_, "arena");
    for (std::size_t i = 0; i < count; ++i) plan_.values[i].spot = {static_cast<int>(i), 0, 0, 0};
    const json& list = r_.list_at(json_, "values");
    for (const json& one : list) {
      const auto i = static_cast<std::size_t>(r_.index(r_.at(one, "at"), count));
      compile::PlannedValue& value = plan_.values[i];
      known_[i] = true;
      value.name = text(r_.at(one, "name"));
      value.dtype = r_.dtype(r_.at(one, "dtype"));
      value.shape = r_.shape(r_.at(one, "shape"));
      value.origin = origin(one);
      value.spot = {static_cast<int>(i), 0, 0, numel(value.shape)};
      if (one.contains("spot")) {
        const json& spot = r_.list(one["spot"], 4);
        value.spot = {r_.index(spot[0], count), r_.whole(spot[1], 0, kMany), r_.whole(spot[2], 0, kMany), r_.whole(spot[3], 0, kMany)};
      }
      if (one.contains("checks")) value.checks = checks(one["checks"], value);
    }
    plan_.graph.outputs = items(r_.at(json_, "results"));
    for (const json& one : r_.list_at(json_, "updates"))
      plan_.graph.updates.push_back({r_.index(r_.list(one, 2)[0], plan_.graph.leaves.size()), item(one[1])});
    for (const json& one : list) read_storage(static_cast<std::size_t>(one["at"].get<std::int64_t>()), r_.list(r_.at(one, "storage"), 3));
    for (std::size_t i = 0; i < count; ++i)
      if (known_[i] && !known_[static_cast<std::size_t>(plan_.values[i].spot.root)])
        r_.refuse("a piece of a value that is not described", "its join");
    for (const json& one : r_.list_at(json_, "scratch")) {
      plan_.scratch_bytes.push_back(bytes(r_.list(one, 2)[0]));
      plan_.scratch_offsets.push_back(bytes(one[1]));
      if (plan_.scratch_bytes.back() + plan_.scratch_offsets.back() > plan_.arena_bytes)
        r_.refuse("scratch memory outside of the arena", "a place in it");
    }
  }
  Ref<const Op> checks(const json& given, const compile::PlannedValue& value) const {
    Signature node{.inputs = {}, .results = {}};
    const auto results = [&](const char* key, std::vector<Result>& to) {
      for (const json& one : r_.list_at(given, key)) to.push_back({r_.shape(r_.at(one, "shape")), r_.dtype(r_.at(one, "dtype"))});
    };
    results("inputs", node.inputs), results("results", node.results);
    if (node.results.empty()) node.results.push_back({value.shape, value.dtype});
    return op(given, node);
  }

  void read_storage(std::size_t i, const json& given) {
    using Kind = Storage::Kind;
    Storage storage{static_cast<Kind>(r_.whole(given[0], 0, static_cast<int>(Kind::Update))), 0, bytes(given[2])};
    const compile::Graph& graph = plan_.graph;
    const std::size_t size = plan_.values[i].bytes();
    std::size_t room = 0;
    switch (storage.kind) {
      case Kind::None: break;
      case Kind::Leaf: storage.index = r_.index(given[1], graph.leaves.size()); break;
      case Kind::Arena: room = plan_.arena_bytes; break;
      case Kind::Output:
        storage.index = r_.index(given[1], graph.outputs.size());
        room = bytes_of(graph.outputs[static_cast<std::size_t>(storage.index)]);
        break;
      case Kind::Update:
        storage.index = r_.index(given[1], graph.updates.size());
        room = bytes_of(graph.updates[static_cast<std::size_t>(storage.index)].item);
        break;
    }
    const bool of_its_own = storage.kind != Kind::None && storage.kind != Kind::Leaf;
    const bool whole = plan_.values[i].spot.root == static_cast<int>(i);  // a piece may have room between its elements
    if (of_its_own && storage.offset + (whole ? size : 0) > room) r_.refuse("a value outside of its memory", "a place in it");
    plan_.storage[i] = storage;
  }
  std::size_t bytes_of(int value) const { return plan_.values[static_cast<std::size_t>(value)].bytes(); }

  Reference reference(const json& given) const {
    using Kind = Reference::Kind;
    if (r_.list(given).empty()) r_.refuse("an argument that is nothing", "its kind");
    Reference out;
    out.kind = static_cast<Kind>(r_.whole(given[0], 0, static_cast<int>(Kind::Nothing)));
    if (out.kind == Kind::Nothing) return out;
    r_.list(given, given.size() == 3 && out.kind == Kind::Value ? 3 : 2);
    switch (out.kind) {
      case Kind::Integer: out.integer = r_.whole(given[1]); break;
      case Kind::Real: out.real = r_.real(given[1]); break;
      case Kind::Value:
        out.index = item(given[1]);
        if (given.size() == 3) out.integer = r_.whole(given[2], 0, kMany);
        break;
      case Kind::Scratch: out.index = r_.index(given[1], plan_.scratch_bytes.size()); break;
      case Kind::Constant: out.index = r_.index(given[1], plan_.graph.constants.size()); break;
      default: out.index = r_.index(given[1], plan_.graph.updates.size());
    }
    return out;
  }

  compile::Step step(const json& given) {
    compile::Step out;
    out.name = text(r_.at(given, "name"));
    out.reads = items(r_.at(given, "reads")), out.writes = items(r_.at(given, "writes"));
    if (given.contains("scratch")) out.scratch = r_.indices(given["scratch"], plan_.scratch_bytes.size());
    const json& cost = r_.list(r_.at(given, "cost"), 2);
    out.bytes = r_.real(cost[0]), out.operations = r_.real(cost[1]);
    out.checks = r_.flag_at(given, "checks"), out.guarded = r_.flag_at(given, "guarded"), out.streaming = r_.flag_at(given, "streaming");
    if (given.contains("check_item")) out.check_item = item(given["check_item"]);
    if (given.contains("check_items")) out.check_items = items(given["check_items"]);
    if (given.contains("threads")) out.threads = static_cast<int>(r_.whole(given["threads"], 1, shared_->device.max_threads()));
    out.origin = origin(given);
    if (given.contains("program")) out.what = launch(given);
    else if (given.contains("loop")) out.what = loop(given);
    else out.what = given.contains("part") ? part(given) : call(r_.at(given, "call"));
    if (compile::Called* const called = out.called()) {
      for (const json& one : r_.list_at(given, "buffers")) called->buffers.push_back(reference(one));
      if (out.part()) {
        if (given.contains("workspace")) called->workspace = static_cast<int>(r_.index(given["workspace"], plan_.scratch_bytes.size()));
        check_part(*out.part());
      } else if (!out.scratch.empty()) {
        called->workspace = out.scratch[0];
      }
      const std::size_t needed = called->bound->scratch_bytes(),
                        there = called->workspace < 0 ? 0 : plan_.scratch_bytes[static_cast<std::size_t>(called->workspace)];
      if (needed > there)
        throw OtherCalls(
            {.op = "load_plan", .got = std::to_string(there) + " bytes for " + out.name, .expected = std::to_string(needed) + " bytes"});
      if (out.writes.empty() && !out.part()) r_.refuse("a call that writes nothing", "its results");
    }
    if (out.checks) require_checks(out);
    return out;
  }
  /// Every check that can fail has an op that explains it.
  void require_checks(const compile::Step& step) const {
    std::vector<int> items = step.check_items;
    if (step.check_item >= 0) items.push_back(step.check_item);
    for (const int one : items)
      if (!plan_.values[static_cast<std::size_t>(one)].checks)
        r_.refuse("a check of value " + std::to_string(one) + ", which has none", "one that has");
    const compile::Launch* const launch = step.launch();
    if (!launch || step.check_item >= 0) return;
    for (const auto& instruction : launch->program->instructions) {
      if (instruction.word == tile::Word::Assert)
        r_.whole(instruction.attribute / tile::Builder::kCheckIds, 0, std::ssize(step.check_items) - 1);
    }
  }

  compile::Launch launch(const json& given) {
    compile::Launch out = shared_->programs[static_cast<std::size_t>(r_.index(given["program"], shared_->programs.size()))];
    const auto& parameters = out.program->parameters;
    for (const json& one : r_.list_at(given, "sets")) {
      compile::LaunchSet set;
      const json& grid = r_.list(r_.at(one, "grid"), set.grid.size());
      for (std::size_t d = 0; d < set.grid.size(); ++d) set.grid[d] = r_.whole(grid[d], 0, kMany);
      const json& arguments = r_.list(r_.at(one, "arguments"), parameters.size());
      for (std::size_t a = 0; a < parameters.size(); ++a) {
        using Kind = Reference::Kind;
        const Reference argument = reference(arguments[a]);
        const bool memory = argument.kind == Kind::Value || argument.kind == Kind::Scratch || argument.kind == Kind::Update;
        const bool number = argument.kind == Kind::Constant && !shared_->device.traits().numbers_in_memory;
        const bool fits = parameters[a].pointer ? memory || (argument.kind == Kind::Constant && !number)
                                                : number || argument.kind == Kind::Integer || argument.kind == Kind::Real;
        if (!fits) r_.refuse("an argument of another kind for " + parameters[a].name, parameters[a].pointer ? "memory" : "a number");
        set.arguments.push_back(argument);
      }
      out.sets.push_back(std::move(set));
    }
    if (out.sets.empty()) r_.refuse("a launch without arguments", "one set of them or more");
    return out;
  }

  compile::LibraryCall call(const json& given) {
    compile::LibraryCall out;
    out.description = description_from_json(given, r_);
    try {
      out.bound = shared_->device.make(*out.description);
    } catch (const runtime::OutOfMemory&) { throw; } catch (const Error& error) {
      throw OtherCalls(error.report());
    }
    return out;
  }

  // One of the steps that a call consists of. The call is made once for those that follow each other.
  compile::LibraryCall part(const json& given) {
    const json& numbers = r_.list(r_.at(given, "part"), 2);
    const json& description = r_.at(given, "call");
    compile::LibraryCall out;
    if (std::string text = description.dump(); text != stepped_text_) stepped_ = call(description).bound, stepped_text_ = std::move(text);
    const runtime::CallSteps* const steps = stepped_->steps();
    out.part.count = static_cast<int>(r_.whole(numbers[1], 1, kMany));
    out.part.number = static_cast<int>(r_.index(numbers[0], static_cast<std::size_t>(out.part.count)));
    if (!steps || static_cast<int>(steps->steps.size()) != out.part.count)
      throw OtherCalls({.op = "load_plan",
                        .got = "a call of " + std::to_string(out.part.count) + " steps",
                        .expected = steps ? std::to_string(steps->steps.size()) + " of them" : "one of a single step"});
    const runtime::CallStep& step = steps->steps[static_cast<std::size_t>(out.part.number)];
    out.description = description_from_json(description, r_);
    out.bound = step.call;
    for (const runtime::StepOperand& operand : step.operands) out.accesses.push_back(operand.access);
    return out;
  }

  // Its buffers are of the kinds and sizes that the step has on this machine.
  void check_part(const compile::LibraryCall& part) const {
    const runtime::CallSteps& steps = *stepped_->steps();
    const auto& operands = steps.steps[static_cast<std::size_t>(part.part.number)].operands;
    bool fits = operands.size() == part.buffers.size();
    for (std::size_t b = 0; fits && b < operands.size(); ++b) {
      const bool temporary = operands[b].kind == runtime::StepOperand::Kind::Temporary;
      const Reference& buffer = part.buffers[b];
      fits = temporary == (buffer.kind == Reference::Kind::Scratch) &&
             (!temporary || plan_.scratch_bytes[static_cast<std::size_t>(buffer.index)] >=
                                steps.temporaries[static_cast<std::size_t>(operands[b].index)]);
    }
    if (!fits)
      throw OtherCalls({.op = "load_plan", .got = "a step of a call with other buffers", .expected = "those of " + part.bound->describe()});
  }

  compile::SubPlan loop(const json& given) {
    compile::SubPlan out;
    compile::LoopSchedule& s = out.schedule;
    const json& from = r_.at(given, "loop");
    const auto all = [&](const char* key) { return all_bytes(from, key); };
    s.length = r_.whole_at(from, "length", 1, kMany), s.reverse = r_.flag_at(from, "reverse");
    for (const json& one : r_.list_at(from, "inputs"))
      s.inputs.push_back(static_cast<LoopOp::Input>(r_.whole(one, 0, static_cast<int>(LoopOp::Input::Number))));
    s.carries = static_cast<std::size_t>(r_.whole_at(from, "carries", 0, std::ssize(s.inputs)));
    for (const json& one : r_.list_at(from, "wanted")) s.wanted.push_back(r_.whole(one, 0, 1) != 0);
    for (const json& one : r_.list(r_.at(from, "needed"), s.wanted.size())) s.needed.push_back(r_.whole(one, 0, 1) != 0);
    s.parameter_bytes = all("parameter_bytes"), s.result_bytes = all("result_bytes"), s.output_bytes = all("output_bytes");
    s.output_places = all("output_places"), s.carry_places = all("carry_places");
    for (const json& one : r_.list(r_.at(from, "sources"), s.wanted.size()))
      s.sources.push_back({r_.index(r_.list(one, 2)[0], s.output_bytes.size(), -1), r_.index(one[1], s.inputs.size(), -1)});
    for (const int one : r_.indices(r_.at(from, "leaf_parameters"), s.inputs.size()))
      s.leaf_parameters.push_back(static_cast<std::size_t>(one));
    s.stacked = r_.indices(r_.at(from, "stacked"), s.wanted.size(), -1);
    s.begins = r_.indices(r_.at(from, "begins"), s.wanted.size(), -1);
    s.last_of = r_.indices(r_.at(from, "last_of"), s.wanted.size(), -1);
    s.ends = r_.index(r_.at(from, "ends"), s.carries, -1);
    s.arena = bytes_at(from, "arena"), s.scratch_bytes = bytes_at(from, "scratch");
    const std::size_t outputs = s.output_bytes.size();
    bool fits = s.carries <= s.wanted.size() && s.parameter_bytes.size() == s.inputs.size() && s.result_bytes.size() == s.wanted.size() &&
                s.stacked.size() == outputs && s.begins.size() == outputs && s.last_of.size() == outputs &&
                s.output_places.size() == outputs && s.carry_places.size() == s.carries && s.arena <= s.scratch_bytes &&
                r_.list_at(given, "buffers").size() == s.inputs.size() + s.wanted.size();
    for (std::size_t r = 0; fits && r < s.sources.size(); ++r)
      fits = !s.needed[r] || s.sources[r].output >= 0 || s.sources[r].parameter >= 0;
    if (s.ends >= 0) fits = fits && s.parameter_bytes[static_cast<std::size_t>(s.ends)] == 1;
    if (!fits) r_.refuse("a loop whose lists do not fit", "one place for each value");
    if (given.contains("body")) {
      out.body = PlanReader(shared_, given["body"]).executable(ArenaOf::Caller, {});
      const Plan& body = out.body->plan();
      if (body.graph.leaves.size() - out.body->kept().values.size() != s.leaf_parameters.size() || body.graph.outputs.size() != outputs ||
          s.arena + out.body->arena_bytes() > s.scratch_bytes)
        r_.refuse("a loop whose body is another one's", "a leaf for each parameter");
    } else if (outputs > 0) {
      r_.refuse("a loop without a body", "one that computes its results");
    }
    out.bound = compile::bind_loop(out, shared_->device);
    return out;
  }
  std::vector<std::size_t> all_bytes(const json& object, const char* key) const {
    std::vector<std::size_t> out;
    for (const json& one : r_.list_at(object, key)) out.push_back(bytes(one));
    return out;
  }

  compile::Kept read_kept(const json& given, ArenaOf arena_of, const std::vector<std::uint64_t>& versions) {
    compile::Kept out;
    const std::size_t leaves = plan_.graph.leaves.size();
    for (const json& one : r_.list_at(given, "batches")) {
      compile::Kept::Use use;
      for (const int leaf : r_.indices(r_.at(one, "leaves"), leaves)) use.leaves.push_back(static_cast<std::size_t>(leaf));
      std::vector<std::uint64_t> constants, of;
      for (const json& word : r_.list_at(one, "constants")) constants.push_back(r_.word(word));
      if (!one.contains("values")) {
        std::unique_ptr<Executable> plan = PlanReader(shared_, r_.at(one, "plan")).executable(arena_of, {});
        require_batch(*plan, use.leaves.size(), constants.size(), {}, r_);
        use.batch = std::make_shared<compile::KeptBatch>(std::move(plan), std::vector<std::uint64_t>(use.leaves.size()),
                                                         std::move(constants), shared_->device);
      } else {
        for (const std::size_t leaf : use.leaves) {
          if (leaf >= versions.size()) r_.refuse("a kept value of leaf " + std::to_string(leaf), "of one that stays");
          of.push_back(versions[leaf]);
        }
        std::vector<Ref<Buffer>> values = stored(r_.list(one["values"], 2));
        const auto make = [make_plan = plan_of(one, arena_of), values, sources = use.leaves.size(), numbers = constants.size(),
                           shared = shared_] {
          std::unique_ptr<Executable> plan = make_plan();
          require_batch(*plan, sources, numbers, values, shared->reader);
          return plan;
        };
        use.batch = std::make_shared<compile::KeptBatch>(make, std::move(constants), std::move(values), std::move(of));
      }
      out.batches.push_back(std::move(use));
    }
    for (const json& one : r_.list_at(given, "values")) {
      const auto batch = static_cast<std::size_t>(r_.index(r_.list(one, 2)[0], out.batches.size()));
      const compile::KeptBatch& of = *out.batches[batch].batch;
      out.values.push_back(of.value(static_cast<std::size_t>(r_.index(one[1], of.size()))));
    }
    if (out.values.size() > leaves) r_.refuse("more kept values than leaves", "the last leaves");
    for (std::size_t k = 0; k < out.values.size(); ++k) {
      const compile::Leaf& leaf = plan_.graph.leaves[leaves - out.values.size() + k];
      if (out.values[k]->bytes() < static_cast<std::size_t>(numel(leaf.shape)) * size_of(leaf.dtype))
        r_.refuse("a kept value of " + std::to_string(out.values[k]->bytes()) + " bytes", "those of " + to_string(leaf.shape));
    }
    return out;
  }
  /// Returns the function that makes the plan of a batch when it is needed: of a text that is not looked at before.
  std::function<std::unique_ptr<Executable>()> plan_of(const json& batch, ArenaOf arena_of) const {
    if (!batch.contains("later"))
      return [shared = shared_, &plan = r_.at(batch, "plan"), arena_of] { return PlanReader(shared, plan).executable(arena_of, {}); };
    const HostArray text = shared_->later[static_cast<std::size_t>(r_.index(batch["later"], shared_->later.size()))];
    if (digest(formats::bytes_of(text)) != r_.word(r_.at(batch, "digest")))
      r_.refuse("the plan of a kept value that is not as it was written", "its digest to fit");
    return [shared = shared_, text, arena_of] {
      const auto own =
          opened({parse_json(formats::bytes_of(text), "load_plan", "the plan of a kept value"), {}, {}}, shared->device, shared->reader);
      return PlanReader(own, own->reader.at(own->file, "plan")).executable(arena_of, {});
    };
  }
  /// A plan that computes a batch from as many leaves and numbers as it is given, into memory that is there.
  static void require_batch(const Executable& plan, std::size_t leaves, std::size_t numbers, const std::vector<Ref<Buffer>>& values,
                            const JsonReader& reader) {
    const Plan& of = plan.plan();
    bool fits = of.graph.leaves.size() == leaves + plan.kept().values.size() &&
                of.graph.constants.size() == numbers + of.graph.derived.size() && of.graph.updates.empty() &&
                (values.empty() || of.graph.outputs.size() == values.size());
    for (std::size_t o = 0; fits && o < values.size(); ++o)
      fits = of.values[static_cast<std::size_t>(of.graph.outputs[o])].bytes() <= values[o]->bytes();
    if (!fits) reader.refuse("the plan of other kept values", "their leaves, numbers and sizes");
  }
  /// `count` of the file's kept values from `first` on, on the device.
  std::vector<Ref<Buffer>> stored(const json& given) const {
    const auto first = static_cast<std::size_t>(r_.whole(given[0], 0, std::ssize(shared_->kept)));
    const auto count = static_cast<std::size_t>(r_.whole(given[1], 0, std::ssize(shared_->kept) - static_cast<std::int64_t>(first)));
    std::vector<Ref<Buffer>> out;
    for (std::size_t o = 0; o < count; ++o) {
      const HostArray& array = shared_->kept[first + o];
      if (shared_->device.number() == 0) {
        out.push_back(array.buffer);
        continue;
      }
      out.push_back(shared_->device.allocate(array.bytes(), {"a kept value"}));
      if (array.bytes() > 0) shared_->device.copy_in(out.back()->data(), array.buffer->data(), array.bytes());
    }
    return out;
  }

  std::shared_ptr<const Shared> shared_;
  const json& json_;
  const JsonReader& r_;
  std::shared_ptr<const runtime::Call> stepped_;  // the call of which steps were read last, and its description
  std::string stepped_text_;
  Plan plan_;
  std::vector<bool> known_;
};

}  // namespace

std::unique_ptr<Executable> executable_from_json(StoredPlan plan, const std::vector<std::uint64_t>& versions, runtime::Device& device,
                                                 const Complain& complain) {
  const auto shared = opened(std::move(plan), device, JsonReader(complain));
  return PlanReader(shared, shared->reader.at(shared->file, "plan")).executable(ArenaOf::Device, versions);
}

}  // namespace tegula::formats

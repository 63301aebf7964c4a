#include "tegula/formats/plan_json.h"

#include <map>

#include "tegula/compile/passes/spell_out.h"
#include "tegula/core/error.h"
#include "tegula/formats/attribute_json.h"
#include "tegula/formats/description_json.h"
#include "tegula/formats/findings_json.h"
#include "tegula/formats/known_ops.h"
#include "tegula/formats/program_json.h"
#include "tegula/ops/tile_kernel_op.h"

namespace tegula::formats {
namespace {

using compile::Executable;
using compile::Plan;
using compile::Reference;
using compile::Step;
using nlohmann::json;

json sizes(const Dims& dims) { return std::vector<std::int64_t>(dims.begin(), dims.end()); }
json bits(const std::vector<bool>& list) { return std::vector<int>(list.begin(), list.end()); }
std::string dtype(DType one) { return std::string(name(one)); }

[[noreturn]] void refuse(const std::string& got, const std::string& expected, const Line& where) {
  throw Error(
      {.op = "save_plan", .got = got, .expected = expected, .advice = "save_graph saves the function without its plan", .where = where});
}

class Writer {
 public:
  StoredPlan run(const Executable& executable) {
    json plan = executable_json(executable);
    json all{{"texts", std::move(texts_)}, {"programs", std::move(programs_)}, {"plan", std::move(plan)}};
    return {std::move(all), std::move(kept_), std::move(later_)};
  }

 private:
  int text(std::string_view one) {
    const auto [found, is_new] = text_numbers_.emplace(one, static_cast<int>(texts_.size()));
    if (is_new) texts_.emplace_back(one);
    return found->second;
  }
  /// File, line, element of the file, path; null where nothing is known.
  json origin(const Origin& one) {
    if (!one.where.known() && !one.path) return nullptr;
    const bool element = one.where.line() == 0 && one.where.known();
    return json::array({one.where.known() ? text(one.where.file_name()) : -1, one.where.line(),
                        element ? text(one.where.function_name()) : -1, one.path ? text(*one.path) : -1});
  }
  int program(const compile::Launch& launch) {
    // Programs of one structure may have other names and lines.
    json one = program_json(*launch.program);
    const auto [found, is_new] = program_numbers_.emplace(one.dump(), static_cast<int>(programs_.size()));
    if (is_new) programs_.push_back(std::move(one));
    return found->second;
  }

  json executable_json(const Executable& executable) {
    json out = plan(executable.plan());
    if (executable.kept().batches.empty()) return out;
    json batches = json::array(), values = json::array();
    for (const auto& use : executable.kept().batches) {
      const compile::KeptBatch& batch = *use.batch;
      json one{{"leaves", use.leaves}, {"constants", batch.constants()}};
      if (!batch.fresh()) {
        one["plan"] = executable_json(batch.plan());
      } else {
        later(batch.plan(), one);
        const Plan& of = batch.plan().plan();
        one["values"] = {kept_.size(), batch.size()};
        for (std::size_t o = 0; o < of.graph.outputs.size(); ++o) {
          const auto& value = of.values[static_cast<std::size_t>(of.graph.outputs[o])];
          HostArray array = HostArray::empty(value.dtype, value.shape);
          batch.value(o)->read(0, array.buffer->data(), array.bytes());
          kept_.push_back(std::move(array));
        }
      }
      batches.push_back(std::move(one));
    }
    for (const auto& value : executable.kept().values) values.push_back(place_of(executable.kept(), value));
    out["kept"] = {{"batches", std::move(batches)}, {"values", std::move(values)}};
    return out;
  }
  /// The plan as a text of its own, unless it keeps values itself.
  void later(const Executable& executable, json& batch) {
    StoredPlan own = Writer().run(executable);
    if (!own.kept.empty() || !own.later.empty()) {
      batch["plan"] = executable_json(executable);
      return;
    }
    const std::string text = own.json.dump(-1, ' ', false, json::error_handler_t::replace);
    batch["later"] = later_.size(), batch["digest"] = digest(text);
    later_.push_back(bytes_array(text));
  }
  static json place_of(const compile::Kept& kept, const Ref<Buffer>& value) {
    for (std::size_t b = 0; b < kept.batches.size(); ++b) {
      const compile::KeptBatch& batch = *kept.batches[b].batch;
      for (std::size_t o = 0; o < batch.plan().plan().graph.outputs.size(); ++o)
        if (batch.value(o) == value) return json::array({b, o});
    }
    refuse("a kept value that no plan computes", "one of those that are there", {});
  }

  json plan(const Plan& plan) {
    const compile::Graph& graph = plan.graph;
    json out{{"count", plan.values.size()}, {"arena", plan.arena_bytes}, {"results", graph.outputs}};
    for (const char* list : {"leaves", "numbers", "derived", "updates", "values", "scratch", "late", "steps"}) out[list] = json::array();
    for (const auto& leaf : graph.leaves) {
      json one = layout_json(leaf.layout);
      one["dtype"] = dtype(leaf.dtype);
      if (leaf.steady) one["steady"] = true;
      out["leaves"].push_back(std::move(one));
    }
    for (const DType one : graph.constants) out["numbers"].push_back(dtype(one));
    for (const auto& one : graph.derived) out["derived"].push_back(derived(one));
    for (const auto& one : graph.updates) out["updates"].push_back({one.leaf, one.item});
    std::vector<bool> used(plan.values.size());
    for (const Step& step : plan.steps) note_items(step, used);
    for (const int output : graph.outputs) used[static_cast<std::size_t>(output)] = true;
    for (const auto& update : graph.updates) used[static_cast<std::size_t>(update.item)] = true;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i]) used[static_cast<std::size_t>(plan.values[i].spot.root)] = true;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i] || plan.values[i].checks) out["values"].push_back(value(plan, i));
    for (std::size_t s = 0; s < plan.scratch_bytes.size(); ++s) out["scratch"].push_back({plan.scratch_bytes[s], plan.scratch_offsets[s]});
    for (const Step& one : plan.steps) out["steps"].push_back(step(one));
    return out;
  }

  static void note_items(const Step& step, std::vector<bool>& used) {
    const auto note = [&](int item) { used[static_cast<std::size_t>(item)] = true; };
    for (const int item : step.reads) note(item);
    for (const int item : step.writes) note(item);
    const auto each = [&](const std::vector<Reference>& list) {
      for (const Reference& one : list)
        if (one.kind == Reference::Kind::Value) note(one.index);
    };
    for (const auto& set : step.sets()) each(set.arguments);
    if (step.called()) each(step.called()->buffers);
  }

  json derived(const compile::Expression& one) {
    AttributeWriter attributes;
    const compile::Expression::Word& last = one.words.back();
    last.op->visit(attributes);
    if (!table_with(last.op->class_name())) refuse_op(*last.op, {});
    json inputs = json::array();
    for (const int operand : last.operands) inputs.push_back(one.words[static_cast<std::size_t>(operand)].input);
    return {{"op", std::string(last.op->class_name())},
            {"in", std::move(inputs)},
            {"rounded", dtype(last.dtype)},
            {"attributes", std::move(attributes.json)}};
  }
  [[noreturn]] static void refuse_op(const Op& op, const Line& where) {
    refuse("the op " + std::string(op.name()), "ops that files know", where);
  }

  json value(const Plan& plan, std::size_t i) {
    const compile::PlannedValue& value = plan.values[i];
    const compile::Storage& storage = plan.storage[i];
    json out{{"at", i}, {"name", text(value.name)}, {"dtype", dtype(value.dtype)}, {"shape", sizes(value.shape)}};
    out["storage"] = {static_cast<int>(storage.kind), storage.index, storage.offset};
    const compile::Spot& spot = value.spot;
    if (spot.root != static_cast<int>(i)) out["spot"] = {spot.root, spot.offset, spot.first, spot.last};
    if (json line = origin(value.origin); !line.is_null()) out["line"] = std::move(line);
    if (value.checks) out["checks"] = checks(plan, i);
    return out;
  }
  static json results_json(std::span<const Result> results) {
    json out = json::array();
    for (const Result& one : results) out.push_back({{"dtype", dtype(one.dtype)}, {"shape", sizes(one.shape)}});
    return out;
  }
  // The op that reports a failed check, and the node it was made for, before anything was folded into it.
  static json checks(const Plan& plan, std::size_t i) {
    const compile::PlannedValue& value = plan.values[i];
    const compile::Item& item = plan.graph[static_cast<int>(i)];
    const Op& op = *value.checks;
    if (TileKernelOp::of(op)) refuse("a kernel of one's own that checks what it reads", "kernels without checks", value.origin.where);
    if (!table_with(op.class_name())) refuse_op(op, value.origin.where);
    AttributeWriter attributes;
    op.visit(attributes);
    std::vector<Result> inputs;
    for (const int input : item.inputs) inputs.push_back({plan.graph[input].shape, plan.graph[input].dtype});
    if (item.prologue->input >= 0) {
      inputs.resize(static_cast<std::size_t>(item.prologue->first_extra));
      inputs[static_cast<std::size_t>(item.prologue->input)] = {item.prologue->shape, item.prologue->value.words.back().dtype};
    }
    return {{"op", std::string(op.class_name())},
            {"attributes", std::move(attributes.json)},
            {"inputs", results_json(inputs)},
            {"results", results_json(item.results)}};
  }

  static json reference(const Reference& one) {
    const int kind = static_cast<int>(one.kind);
    switch (one.kind) {
      case Reference::Kind::Value: return one.integer == 0 ? json{kind, one.index} : json{kind, one.index, one.integer};
      case Reference::Kind::Integer: return {kind, one.integer};
      case Reference::Kind::Real: return {kind, number_json(Number(one.real))};
      case Reference::Kind::Nothing: return json::array({kind});
      default: return {kind, one.index};
    }
  }
  static json references(const std::vector<Reference>& list) {
    json out = json::array();
    for (const Reference& one : list) out.push_back(reference(one));
    return out;
  }

  json step(const Step& step) {
    if (step.exchanges) refuse("an exchange with other ranks, " + step.name, "what one process does", step.origin.where);
    json out{{"name", text(step.name)}, {"reads", step.reads}, {"writes", step.writes}, {"cost", {step.bytes, step.operations}}};
    if (!step.scratch.empty()) out["scratch"] = step.scratch;
    if (step.checks) out["checks"] = true;
    if (step.guarded) out["guarded"] = true;
    if (step.streaming) out["streaming"] = true;
    if (step.checks && step.check_item >= 0) out["check_item"] = step.check_item;
    if (step.checks && !step.check_items.empty()) out["check_items"] = step.check_items;
    if (step.threads != 1) out["threads"] = step.threads;
    if (json line = origin(step.origin); !line.is_null()) out["line"] = std::move(line);
    if (const compile::Launch* const launch = step.launch()) {
      out["program"] = program(*launch);
      out["sets"] = json::array();
      for (const auto& set : launch->sets) out["sets"].push_back({{"grid", set.grid}, {"arguments", references(set.arguments)}});
    } else if (const compile::SubPlan* const loop = step.loop()) {
      out["loop"] = schedule(loop->schedule);
      if (loop->body) out["body"] = executable_json(*loop->body);
    } else {
      out["call"] = description_json(*std::get<compile::LibraryCall>(step.what).description);
      if (out["call"].is_null()) refuse("the call " + step.name, "calls that are described", step.origin.where);
      if (const compile::LibraryCall* const part = step.part()) {
        out["part"] = {part->part.number, part->part.count};
        if (part->workspace >= 0) out["workspace"] = part->workspace;
      }
    }
    if (step.called()) out["buffers"] = references(step.called()->buffers);
    return out;
  }

  static json schedule(const compile::LoopSchedule& s) {
    json inputs = json::array(), sources = json::array();
    for (const auto input : s.inputs) inputs.push_back(static_cast<int>(input));
    for (const auto& source : s.sources) sources.push_back({source.output, source.parameter});
    return {{"length", s.length},
            {"reverse", s.reverse},
            {"inputs", std::move(inputs)},
            {"carries", s.carries},
            {"wanted", bits(s.wanted)},
            {"needed", bits(s.needed)},
            {"parameter_bytes", s.parameter_bytes},
            {"result_bytes", s.result_bytes},
            {"sources", std::move(sources)},
            {"leaf_parameters", s.leaf_parameters},
            {"stacked", s.stacked},
            {"begins", s.begins},
            {"last_of", s.last_of},
            {"output_bytes", s.output_bytes},
            {"output_places", s.output_places},
            {"carry_places", s.carry_places},
            {"ends", s.ends},
            {"arena", s.arena},
            {"scratch", s.scratch_bytes}};
  }

  json texts_ = json::array(), programs_ = json::array();
  std::map<std::string, int, std::less<>> text_numbers_, program_numbers_;
  std::vector<HostArray> kept_, later_;
};

}  // namespace

const OpTable* table_with(std::string_view op) {
  static const OpTable& own = *[] {
    auto* const table = new OpTable;
    compile::add_compiler_ops(*table);
    return table;
  }();
  return known_ops().contains(op) ? &known_ops() : own.contains(op) ? &own : nullptr;
}

StoredPlan plan_json(const Executable& executable) { return Writer().run(executable); }

}  // namespace tegula::formats

// From groups, calls and kernels to steps in an order that respects the data flow.

#include <algorithm>
#include <deque>
#include <map>

#include "tegula/compile/description.h"
#include "tegula/compile/plan/choose_way.h"
#include "tegula/compile/plan/known_programs.h"
#include "tegula/compile/plan/plan.h"
#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/compile/plan/step_sources.h"
#include "tegula/compile/users.h"
#include "tegula/core/error.h"
#include "tegula/graph/by_host.h"
#include "tegula/graph/regions/effect.h"
#include "tegula/graph/slices.h"
#include "tegula/runtime/kernel_cache.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

Reference value_reference(const Plan& plan, int input) {
  const Place& place = plan.graph.place(input);
  const auto bytes = place.layout.offset * static_cast<std::int64_t>(size_of(plan.graph[place.value].dtype));
  return {Reference::Kind::Value, place.value, bytes, 0};
}

/// The operands and results of an item that is a call or has kernels of its own, as they lie in memory.
struct Ends {
  std::vector<Layout> inputs, results;  // from the first element on. A result that nothing reads: as it would lie
  std::vector<int> values;  // values_of
  std::vector<bool> wanted;  // of the results
  std::uint8_t unwanted = 0;  // a bit each; a loop looks at its buffers

  Ends(const Graph& graph, int i, const Users& users) : values(values_of(graph, users, i)) {
    for (const int input : graph[i].inputs) {
      inputs.push_back(access_of(graph, input).layout);
      inputs.back().offset = 0;
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      wanted.push_back(values[k] >= 0);
      if (!wanted[k] && k < 8) unwanted |= static_cast<std::uint8_t>(1u << k);
      if (wanted[k] || k == 0) results.push_back(layout_of(graph[wanted[k] ? values[k] : i]));
      else results.push_back(Layout::dense(graph[i].results[k].shape));
    }
  }
  LibraryOp::Setting setting(const Item& item) const { return {inputs, results, item.dtype, unwanted}; }
  std::vector<KernelContext::Operand> kernel_inputs(const Graph& graph, const Item& item) const {
    std::vector<KernelContext::Operand> out;
    for (std::size_t k = 0; k < inputs.size(); ++k) out.push_back({inputs[k].shape, graph[item.inputs[k]].dtype, inputs[k].strides});
    return out;
  }
  std::vector<KernelContext::Operand> kernel_outputs(const Item& item) const {
    std::vector<KernelContext::Operand> out;
    for (std::size_t k = 0; k < results.size(); ++k)
      out.push_back({results[k].shape, item.results.empty() ? item.dtype : item.results[k].dtype, results[k].strides});
    return out;
  }
};

LibraryCall library_call(const Item& item, const LibraryOp::Setting& setting, runtime::Device& device) {
  const auto& op = item.as<LibraryOp>();
  LibraryCall call;
  runtime::CallDescription description = description_of(item, setting);
  const auto* const by_host = description ? dynamic_cast<const ByHost*>(&op) : nullptr;
  if (by_host && device.candidates(description).empty()) call.bound = by_host->by_host(device, setting);
  else if (description) call.description = std::move(description);
  else call.bound = op.prepare(device, setting);
  return call;
}

void lower_call(Plan& plan, int i, const Ends& ends, runtime::Device& device) {
  const Item& item = plan.graph[i];
  const auto& op = item.as<LibraryOp>();
  const LoopOp* const loop = LoopOp::of(op);
  Step step;
  std::vector<Shape> shapes;
  std::vector<Reference> buffers;
  for (std::size_t k = 0; k < item.inputs.size(); ++k) {
    shapes.push_back(ends.inputs[k].shape);
    buffers.push_back(value_reference(plan, item.inputs[k]));
    step.reads.push_back(buffers.back().index);
    step.bytes += static_cast<double>(bytes_of(plan.graph[item.inputs[k]]));
  }
  for (const int value : ends.values) {
    buffers.push_back({value < 0 ? Reference::Kind::Nothing : Reference::Kind::Value, value, 0, 0});
    if (value < 0) continue;
    step.writes.push_back(value);
    if (op.may_be_in_place()) step.in_place.emplace_back(value, step.reads[0]);
    step.bytes += static_cast<double>(bytes_of(plan.graph[value]));
  }
  if (item.packed->blocks) shapes[1] = item.packed->weight;
  step.operations = op.operations(shapes, item.shape);
  step.origin = item.origin;
  step.checks = has_check(item);
  step.exchanges = !step.writes.empty() && effect_of(op) != Effect::None;
  if (loop) step.what = prepare_loop(*loop, ends.wanted, device);
  else step.what = library_call(item, ends.setting(item), device);
  step.called()->buffers = std::move(buffers);
  step.called()->item = i;
  if (step.checks && !loop) step.check_item = i;
  plan.steps.push_back(std::move(step));
}

/// An input that the kernel computes, as tile code.
KernelContext::Element element_of(const Item& item, bool asynchronous) {
  return [&item, asynchronous](tile::Builder& builder, std::vector<KernelArgument>& arguments, tile::Value places) {
    return emit(item.prologue->value, builder, places, 0, [&](const Expression::Word& word) {
      const std::string label = "e" + std::to_string(word.input);
      const bool number = word.kind == Expression::Word::Kind::Number;
      arguments.push_back(number ? KernelArgument::constant(word.input) : KernelArgument::input(word.input));
      return number ? constant_parameter(builder, label, word.dtype, asynchronous)
                    : builder.load(builder.pointer(label, word.dtype, false));
    });
  };
}

[[noreturn]] void throw_unwanted(const Item& item, int result) {
  throw Error({.op = std::string(item.op->name()),
               .got = "a kernel that writes result " + std::to_string(result) + ", which nobody reads",
               .expected = "one that asks KernelContext::wanted first",
               .where = item.origin.where});
}

[[noreturn]] void throw_unannounced(const Item& item) {
  throw Error({.op = std::string(item.op->name()),
               .got = "a kernel that checks its operands",
               .expected = "has_check() of the op to say so: what writes Variables comes behind all checks",
               .where = item.origin.where});
}

/// The extents of an item and its inputs that change between calls.
std::vector<std::int64_t> extents_that_change(const Plan& plan, int i) {
  std::vector<std::int64_t> out;
  const auto add = [&](const Item& item) {
    const std::uint32_t axes = plan.tiles.ladder.axes_that_vary(item.node);
    for (int d = 0; d < item.shape.rank(); ++d)
      if ((axes >> d & 1) != 0) out.push_back(item.shape[d]);
  };
  add(plan.graph[i]);
  for (const int input : plan.graph[i].inputs) add(plan.graph[input]);
  return out;
}

/// Adds the launches of an op's programs to the plan, and the scratch memory that they need.
void add_launches(Plan& plan, int i, const std::vector<int>& values, KernelContext& context) {
  const Item& item = plan.graph[i];
  plan.extents.insert(plan.extents.end(), context.extents().begin(), context.extents().end());
  std::vector<int> scratch;
  for (auto bytes : context.scratch_bytes()) {
    scratch.push_back(static_cast<int>(plan.scratch_bytes.size()));
    plan.scratch_bytes.push_back(static_cast<std::size_t>(bytes));
  }
  double bytes = 0, elements = 0;
  std::vector<int> writes;
  std::vector<int> over;  // values or leaves that results are written over
  for (const int value : values) {
    if (value < 0) continue;
    writes.push_back(value);
    elements = std::max(elements, static_cast<double>(numel(plan.graph[value].shape)));
    if (const int below = overwritten(plan.graph, value); below >= 0) over.push_back(below);
    else bytes += static_cast<double>(bytes_of(plan.graph[value]));
  }
  for (const int input : item.inputs) bytes += static_cast<double>(bytes_of(plan.graph[input]));
  for (const int k : inputs_overwritten(item)) bytes -= static_cast<double>(bytes_of(plan.graph[item.inputs[index(k)]]));
  if (overwritten(plan.graph, i) >= 0) bytes *= 2;  // what changes is read and written
  for (auto& launch : context.launches()) {
    Step step;
    step.name = launch.program.name;
    LaunchSet set{{}, launch.grid};
    for (const KernelArgument& argument : launch.arguments) {
      using Kind = KernelArgument::Kind;
      switch (argument.kind) {
        case Kind::Input:
          set.arguments.push_back(value_reference(plan, item.inputs[index(argument.index)]));
          step.reads.push_back(set.arguments.back().index);
          break;
        case Kind::Output:
          if (values[index(argument.index)] < 0) throw_unwanted(item, argument.index);
          set.arguments.push_back({Reference::Kind::Value, values[index(argument.index)], 0, 0});
          break;
        case Kind::Scratch: set.arguments.push_back({Reference::Kind::Scratch, scratch[index(argument.index)], 0, 0}); break;
        case Kind::Integer: set.arguments.push_back({Reference::Kind::Integer, -1, argument.integer, 0}); break;
        case Kind::Constant:
          set.arguments.push_back({Reference::Kind::Constant, plan.graph[item.inputs[index(argument.index)]].slot, 0, 0});
          break;
        case Kind::Real: set.arguments.push_back({Reference::Kind::Real, -1, 0, argument.real}); break;
      }
    }
    Launch& own = *step.launch();
    own.structure = tile::structure(launch.program);
    if (Step* last = launch.beside ? &plan.steps.back() : nullptr; last && last->launch() && last->launch()->structure == own.structure) {
      last->reads.insert(last->reads.end(), step.reads.begin(), step.reads.end());
      last->launch()->sets.push_back(std::move(set));
      continue;
    }
    step.reads.insert(step.reads.end(), over.begin(), over.end());
    // Every launch is taken to continue the outputs, so that none is moved past another.
    step.writes = writes;
    step.scratch = scratch;
    own.sets.push_back(std::move(set));
    own.program = std::move(launch.program);
    step.origin = item.origin;
    step.bytes = bytes;
    step.operations = launch.operations > 0 ? launch.operations : elements * 4;
    step.check_item = i;
    for (const auto& instruction : own.program->instructions) step.checks = step.checks || instruction.word == tile::Word::Assert;
    if (step.checks && !has_check(item)) throw_unannounced(item);
    plan.steps.push_back(std::move(step));
  }
}

void lower_kernel(Plan& plan, int i, const Ends& ends, runtime::Device& device) {
  const Item& item = plan.graph[i];
  std::vector<KernelContext::Operand> inputs = ends.kernel_inputs(plan.graph, item);
  if (item.prologue->input >= 0) {
    const Shape& shape = item.prologue->shape;
    inputs[index(item.prologue->input)] = {shape, item.prologue->value.words.back().dtype, Layout::dense(shape).strides};
  }
  KernelContext context(std::move(inputs), ends.kernel_outputs(item), ends.wanted, plan.tiles);
  if (item.prologue->input >= 0) context.set_computed(item.prologue->input, element_of(item, device.traits().numbers_in_memory));
  context.set_changing(extents_that_change(plan, i));
  item.as<KernelOp>().lower(context);
  add_launches(plan, i, ends.values, context);
}

/// The call of an item as tile programs, if they are to compute it.
bool lower_in_tiles(Plan& plan, int i, const Ends& ends, runtime::Device& device) {
  const Item& item = plan.graph[i];
  if (!device.traits().many_instances || !item.as<LibraryOp>().in_tiles()) return false;
  const runtime::CallDescription call = description_of(item, ends.setting(item));
  if (!call) return false;
  const std::vector<KernelContext::Operand> inputs = ends.kernel_inputs(plan.graph, item), outputs = ends.kernel_outputs(item);
  const std::optional<TileWay> way = choose_way(item, call, {inputs, outputs, ends.wanted}, plan.tiles, device);
  if (!way) return false;
  KernelContext context(way->inputs, way->outputs, ends.wanted, plan.tiles);
  context.set_changing(extents_that_change(plan, i));
  static_cast<const KernelOp&>(*way->op).lower(context);
  add_launches(plan, i, ends.values, context);
  return true;
}

/// Its pieces are stored within it: no work, but who reads it comes behind who makes them.
void lower_join(Plan& plan, int i) {
  Step step;
  step.writes = {i};
  for (const int input : plan.graph[i].inputs) step.reads.push_back(plan.graph.place(input).value);
  plan.steps.push_back(std::move(step));
}

bool computes_nothing(const Graph& graph, int i, const Ends& ends) {
  return effect_of(*graph[i].op) == Effect::None &&
         std::ranges::all_of(ends.values, [&](int value) { return value < 0 || numel(graph[value].shape) == 0; });
}

}  // namespace

void lower(Plan& plan, runtime::Device& device) {
  for (std::size_t g = 0; g < plan.fusion.groups.size(); ++g) {
    if (!plan.fusion.groups[g].across.empty() && !holds_whole_rows(plan, plan.fusion.groups[g]))
      separate_across(plan.graph, plan.fusion, static_cast<int>(g));
  }
  round_stored(plan.graph, plan.fusion);
  const Users users(plan.graph);
  KnownPrograms known;
  for (const StepSource& source : sources_in_order(plan, device.traits().launches_are_dear ? Steps::Launches : Steps::Calls)) {
    if (source.group >= 0) {
      lower_group(plan, source.group, known, device);
      continue;
    }
    const int i = source.item;
    const Ends ends(plan.graph, i, users);
    if (computes_nothing(plan.graph, i, ends)) continue;
    if (plan.graph[i].assembled) lower_join(plan, i);
    else if (plan.graph[i].role() != Role::Library) lower_kernel(plan, i, ends, device);
    else if (!lower_in_tiles(plan, i, ends, device)) lower_call(plan, i, ends, device);
  }
}

void compile_kernels(Plan& plan, runtime::Device& device) {
  std::map<const tile::Program*, std::shared_ptr<const runtime::Kernel>> kernels;
  for (Step& step : plan.steps) {
    Launch* const launch = step.launch();
    if (!launch) continue;
    auto& kernel = kernels[&*launch->program];
    if (!kernel) kernel = runtime::compiled(device, *launch->program, *launch->structure);
    launch->kernel = kernel;
  }
}

void bind_calls(Plan& plan, runtime::Device& device) {
  for (Step& step : plan.steps) {
    if (auto* const call = std::get_if<LibraryCall>(&step.what); call && !call->bound) call->bound = device.make(*call->description);
  }
}

void note_values(Plan& plan) {
  const Graph& graph = plan.graph;
  plan.values.clear();
  plan.values.reserve(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) {
    const Item &item = graph[i], &producer = graph[producer_of(graph, i)];
    plan.values.push_back({.name = std::string(producer.op->name()),
                           .shape = item.shape,
                           .dtype = item.dtype,
                           .origin = item.origin,
                           .node = item.node,
                           .spot = graph.place(i).spot,
                           .checks = has_check(item) && !LoopOp::of(*item.op) ? item.op : Ref<const Op>()});
  }
}

void request_kernels(const Plan& plan, runtime::Device& device) {
  if (!device.traits().queues) return;
  auto* const memory = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 20);  // as if all values were one, well aligned
  std::deque<std::vector<runtime::Argument>> arguments;
  std::deque<std::vector<runtime::ArgumentSet>> sets;
  std::vector<runtime::PlannedLaunch> launches;
  for (const Step& step : plan.steps) {
    if (step.is_call()) continue;
    auto& own = sets.emplace_back();
    for (const LaunchSet& set : step.sets()) {
      auto& list = arguments.emplace_back(set.arguments.size());
      for (std::size_t a = 0; a < list.size(); ++a) {
        const Reference& reference = set.arguments[a];
        switch (reference.kind) {
          case Reference::Kind::Integer: list[a].integer = reference.integer; break;
          case Reference::Kind::Real: list[a].real = reference.real; break;
          case Reference::Kind::Constant: list[a].pointer = memory + 8 * reference.index; break;
          default: list[a].pointer = memory + reference.integer;
        }
      }
      own.push_back({list.data(), set.grid});
    }
    launches.push_back({step.launch()->kernel.get(), own, step.guarded});
  }
  device.request(launches);
}

void look_at_calls(Plan& plan) {
  for (Step& step : plan.steps) {
    if (!step.is_call()) continue;
    const std::string part = step.name.empty() ? "" : ", " + step.name;
    step.name = std::string(plan.graph[step.called()->item].op->name()) + part + " [" + step.call()->describe() + "]";
    const std::size_t bytes = step.call()->scratch_bytes();
    if (bytes == 0) continue;
    step.called()->workspace = static_cast<int>(plan.scratch_bytes.size());
    step.scratch.push_back(static_cast<int>(plan.scratch_bytes.size()));
    plan.scratch_bytes.push_back(bytes);
  }
}

}  // namespace tegula::compile

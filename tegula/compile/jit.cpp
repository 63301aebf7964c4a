#include "tegula/compile/jit.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "tegula/compile/jit_state.h"
#include "tegula/compile/run/cache.h"
#include "tegula/compile/run/placement.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/graph/below.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/runtime/registry.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kFewSignatures = 8;                   // these are kept, whatever they hold …
constexpr std::size_t kIdleBytes = std::size_t{1} << 30;  // … and more as long as all of them hold no more than this

/// The approximate bytes that a signature holds between calls, without memory shared with others (arenas, kept values).
std::size_t held_bytes(const Entry& entry) {
  constexpr std::size_t kBytesOfItem = 1024;  // with its node, and its place in the plan
  const Plan& plan = entry.executable->plan();
  std::size_t bytes = plan.values.size() * kBytesOfItem + entry.executable->kept_in_loops();
  for (const Step& step : plan.steps)
    if (const Launch* const launch = step.launch()) bytes += launch->program->instructions.size() * sizeof(tile::Instruction);
  if (entry.executable->device().traits().queues) {  // results stay in their slots
    for (const int output : plan.graph.outputs) bytes += plan.values[index(output)].bytes();
  }
  return bytes;
}

bool holds(const std::vector<Trace::Condition>& conditions) {
  return std::ranges::all_of(conditions, [](const auto& condition) { return *condition.flag == condition.value; });
}

void signature_of(std::span<const Tensor> arguments, std::span<const std::uint64_t> kind, const runtime::Device& device, Words& out) {
  out.assign(1, static_cast<std::uint64_t>(device.max_threads()) << 32 | static_cast<std::uint64_t>(device.number()) << 8 |
                    static_cast<std::uint64_t>(current_precision()));
  out.insert(out.end(), kind.begin(), kind.end());
  for (const Tensor& argument : arguments) {
    out.push_back(static_cast<std::uint64_t>(argument.dtype()) << 8 | static_cast<std::uint64_t>(argument.shape().rank()));
    for (auto size : argument.shape()) out.push_back(static_cast<std::uint64_t>(size));
  }
}

// Nodes from before the trace that have no value yet: they are computed now and become constants.
std::vector<Ref<Node>> unevaluated_captures(const std::vector<Ref<Node>>& roots, std::uint32_t trace) {
  std::vector<const Node*> stack;
  for (const auto& root : roots) stack.push_back(root.get());
  std::vector<Ref<Node>> out;
  for (const Node* node : nodes_below(std::move(stack), [&](const Node& node) { return node.has_value() || node.trace() != trace; }))
    if (!node->has_value() && node->trace() != trace) out.emplace_back(const_cast<Node*>(node));
  return out;
}

// A leaf of its own for the cell, over `buffer`.
void rehouse(const Ref<Cell>& cell, Ref<Buffer> buffer) {
  const Node& old = *cell->owned().node();
  Ref<Node> own = make<Node>(leaf_op(), std::span<const Ref<Node>>(), old.shape(), old.dtype(), old.origin());
  own->set_value(std::move(buffer), Layout::dense(old.shape()));
  cell->set(Tensor(std::move(own)));
}

// Makes a cell fit for a run: dense, and when it is about to be overwritten, shared with nobody. Others who hold the old value keep it.
void prepare_cell(const Ref<Cell>& cell, bool written, runtime::Device& device) {
  const Ref<Node>& node = cell->owned().node();
  move_to(*node, device);
  const bool dense = node->layout().is_dense();
  const bool shared_node = written && node->use_count() > 1, shared_buffer = written && node->buffer()->use_count() > 1;
  if (dense && !shared_node && !shared_buffer) return;
  Ref<Buffer> copy = allocate_like(*node, device);
  const std::size_t bytes = copy->bytes();
  if (dense) device.copy(copy->data(), node->data(), bytes);
  else device.copy_in(copy->data(), cell->owned().to_array().buffer->data(), bytes);
  if (!dense || shared_buffer || node->layout().offset != 0 || !device.traits().queues || cell->handed_elsewhere()) {
    rehouse(cell, std::move(copy));
  } else {  // the cell keeps its address, which is in recordings; the other handles get the copy
    const Ref<Node> others = node;
    rehouse(cell, others->buffer());
    others->move_value(std::move(copy), Layout::dense(others->shape()));
  }
}

// TEGULA_CHECK=nan: plain calls, each computed and looked at.
Results checked_calls(std::span<const Tensor> arguments, const JitState::Body& body, int times) {
  Results results;
  for (int call = 0; call < times; ++call) {
    results = body(arguments);
    std::vector<Ref<Node>> nodes;
    for (const Tensor& result : results.tensors) nodes.push_back(result.node());
    evaluate(nodes, {});
  }
  return results;
}

// The address at which the device finds an argument.
void* argument_address(Entry& entry, std::size_t leaf, const Ref<Node>& value) {
  runtime::Device& device = entry.executable->device();
  if (device.traits().queues) return entry.slots.argument(leaf, *value, device);
  move_to(*value, device);
  return value->data();
}

constexpr std::uint64_t kOneTensor = 1;

}  // namespace

Results::Results(graph::Flat flat) : tensors(std::move(flat.tensors)) {
  if (flat.form.size() != 1 || flat.form[0] != kOneTensor) form = std::make_shared<const Words>(std::move(flat.form));
}

const std::uint64_t* Results::words() const { return form ? form->data() : &kOneTensor; }

Words kind_of(const char* types, const Words& form) {
  Words kind{reinterpret_cast<std::uintptr_t>(types)};
  kind.insert(kind.end(), form.begin(), form.end());
  return kind;
}

std::unique_lock<std::mutex> JitState::Impl::look() const {
  return Running::contains(this) ? std::unique_lock(mutex, std::defer_lock) : std::unique_lock(mutex);
}

JitState::JitState(Line where, JitOptions options) : impl_(std::make_unique<Impl>()) {
  if (options.signatures < 0) {
    throw Error({.op = "jit", .got = std::to_string(options.signatures) + " signatures", .expected = "at least one", .where = where});
  }
  if (options.exact < 0)
    throw Error({.op = "jit", .got = std::to_string(options.exact) + " exact", .expected = "at least none", .where = where});
  impl_->options = options;
  impl_->where = where;
}
JitState::~JitState() = default;

Recorded JitState::Impl::record(std::span<const Tensor> args, const Body& body) {
  ++traces;
  Recorded out;
  std::uint32_t id = 0;
  std::vector<Tensor> placeholders;
  std::vector<Ref<Node>> cell_nodes, roots;
  {
    Trace trace(where);
    id = trace.id();
    for (const Tensor& argument : args) placeholders.push_back(trace.argument(argument.shape(), argument.dtype()));
    const Running running(this);
    const Results results = body(placeholders);
    for (const Tensor& result : results.tensors) out.outputs.push_back(result.node());
    out.form = results.form;
    for (const auto& use : trace.cells()) {
      if (use.written) {
        out.updated_cells.push_back(static_cast<int>(out.cells.size()));
        out.updates.push_back(use.current.node());
        out.placeholders.push_back(use.placeholder.node());
      }
      out.cells.push_back(use.cell);
      cell_nodes.push_back(use.placeholder.node());
    }
    out.asked = out.outputs.size();
    for (const Ref<Node>& node : trace.kept()) out.outputs.push_back(node);
    out.conditions = trace.conditions();
  }
  roots = out.outputs;
  roots.insert(roots.end(), out.updates.begin(), out.updates.end());
  if (const auto captures = unevaluated_captures(roots, id); !captures.empty()) evaluate(captures, where);
  // The placeholders of updated cells are read too, so that each has a leaf.
  std::vector<const Node*> pointers;
  for (const auto& root : roots) pointers.push_back(root.get());
  for (const auto& node : out.placeholders) pointers.push_back(node.get());
  out.reading = read(pointers);
  bool moved = false;
  for (const Node* leaf : out.reading.leaves) moved |= leaf->has_value() && move_to(const_cast<Node&>(*leaf), default_device());
  if (moved) out.reading = read(pointers);  // the layouts of captured tensors are part of the graph
  out.keep = roots;
  for (const Tensor& placeholder : placeholders) out.keep.push_back(placeholder.node());
  out.keep.insert(out.keep.end(), cell_nodes.begin(), cell_nodes.end());
  for (const Node* leaf : out.reading.leaves) {
    Source source{Source::Kind::Captured, 0, {}};
    for (std::size_t i = 0; i < placeholders.size(); ++i) {
      if (placeholders[i].node().get() == leaf) source = {Source::Kind::Argument, static_cast<int>(i), {}};
    }
    for (std::size_t i = 0; i < cell_nodes.size(); ++i) {
      if (cell_nodes[i].get() == leaf) source = {Source::Kind::Cell, static_cast<int>(i), {}};
    }
    if (source.kind == Source::Kind::Captured) {
      if (!leaf->has_value()) {
        throw Error({.op = "jit",
                     .got = "a tensor of another jit-ed function's trace (" + tegula::to_string(leaf->origin().where) + ")",
                     .expected = "arguments, Variables and tensors with values",
                     .advice = "return tensors from a jit-ed function instead of storing them",
                     .where = where});
      }
      source.captured = Ref<Node>(const_cast<Node*>(leaf));
    }
    out.sources.push_back(std::move(source));
  }
  return out;
}

Entry& JitState::Impl::make_entry(std::span<const Tensor> args, const Body& body) {
  auto entry = std::make_unique<Entry>();
  entry->signature = signature;
  entry->recorded = record(args, body);
  const Recorded& r = entry->recorded;
  runtime::Device& device = default_device();
  std::vector<const Node*> outputs;
  for (const auto& output : r.outputs) outputs.push_back(output.get());
  std::vector<std::pair<const Node*, const Node*>> updates;
  for (std::size_t u = 0; u < r.updates.size(); ++u) updates.emplace_back(r.placeholders[u].get(), r.updates[u].get());
  Graph graph = flatten(r.reading, outputs, updates);
  for (std::size_t i = 0; i < r.sources.size(); ++i) graph.leaves[i].steady = is_steady(r, r.sources[i]);
  Identities identities{{}, r.reading.constants};
  for (const Source& source : r.sources) identities.leaves.push_back(identity_of(r, source));
  SizeHistory::Seen& seen = sizes.of(args, kind, static_cast<std::size_t>(options.exact));
  entry->executable = compile(std::move(graph), device, identities, kept, seen.ladder(signature, r.reading.order, device));
  seen.made(signature, entry->executable->plan().extents);
  keep(std::move(entry));
  return *entries.back();
}

void JitState::Impl::keep(std::unique_ptr<Entry> entry) {
  const Recorded& r = entry->recorded;
  if (entry->executable->device().traits().queues && entry->executable->checks()) watch_checks(entry->executable);
  entry->leaves.resize(r.sources.size());
  entry->versions.resize(r.sources.size());
  entry->outputs.resize(r.outputs.size());
  entry->updates.resize(r.updates.size());
  entry->fresh.resize(r.outputs.size());
  entry->admission = Admission(gate, r.cells, r.updated_cells);
  make_room(held_bytes(*entry));
  entries.push_back(std::move(entry));
}

// Lets go of signatures that were used longest ago, until one more may be kept.
void JitState::Impl::make_room(std::size_t bytes) {
  const auto full = [&] {
    if (options.signatures > 0) return entries.size() >= static_cast<std::size_t>(options.signatures);
    if (entries.size() < kFewSignatures) return false;
    std::size_t all = bytes;
    for (const auto& entry : entries) all += held_bytes(*entry);
    return all > kIdleBytes;
  };
  while (full()) {
    if (!std::exchange(told_of_many, true)) {  // how many that is changes where bytes decide
      warn("jit.many_signatures",
           "the jit-ed function at " + tegula::to_string(where) + " has more signatures (shapes and dtypes of its arguments) than the " +
               std::to_string(entries.size()) +
               " that are kept; the one used longest ago is compiled again when it returns. jit(f, {.signatures = n}) keeps n");
    }
    const auto oldest = std::ranges::min_element(entries, {}, [](const auto& entry) { return entry->last_use; });
    if (oldest->get() == last) last = nullptr;
    entries.erase(oldest);
  }
}

Entry* JitState::Impl::find() {
  if (last && last->signature == signature && holds(last->recorded.conditions)) return last;
  for (const auto& entry : entries) {
    if (entry->signature == signature && holds(entry->recorded.conditions)) return entry.get();
  }
  return nullptr;
}

void JitState::Impl::find_leaves(Entry& entry) {
  const Recorded& r = entry.recorded;
  runtime::Device& device = entry.executable->device();
  for (const auto& cell : r.cells) prepare_cell(cell, false, device);
  for (std::size_t i = 0; i < r.sources.size(); ++i) {
    const Source& source = r.sources[i];
    switch (source.kind) {
      case Source::Kind::Argument: break;
      case Source::Kind::Cell: {
        const Cell& cell = *r.cells[index(source.index)];
        entry.leaves[i] = cell.owned().node()->data();
        entry.versions[i] = cell.version();
        break;
      }
      case Source::Kind::Captured:
        move_to(*source.captured, device);
        entry.leaves[i] = source.captured->data();
        break;
    }
  }
}

Results JitState::Impl::replay(Entry& entry, int times) {
  const Recorded& r = entry.recorded;
  runtime::Device& device = entry.executable->device();
  const Passage passage = entry.admission.enter();
  const Slots::Use use(entry.slots);
  for (const auto& cell : r.cells) cell->settled();  // a pending write that failed before throws its error now
  for (int cell : r.updated_cells) prepare_cell(r.cells[index(cell)], true, device);
  find_leaves(entry);
  for (std::size_t i = 0; i < r.sources.size(); ++i) {
    if (r.sources[i].kind == Source::Kind::Argument)
      entry.leaves[i] = argument_address(entry, i, arguments[index(r.sources[i].index)].node());
  }
  for (std::size_t o = 0; o < r.outputs.size(); ++o) {
    const Node& like = *r.outputs[o];
    entry.fresh[o] = device.traits().queues ? entry.slots.result(o, like, device) : allocate_like(like, device);
    entry.outputs[o] = entry.fresh[o]->data();
  }
  for (std::size_t u = 0; u < r.updates.size(); ++u) { entry.updates[u] = r.cells[index(r.updated_cells[u])]->owned().node()->data(); }
  for (int cell : r.updated_cells) r.cells[index(cell)]->written_in_place();
  {
    std::scoped_lock lock(entry.executable->mutex());
    entry.executable->run({entry.leaves, r.reading.constants, entry.outputs, entry.updates, {}, true, entry.versions, times});
  }
  std::vector<Tensor> results;
  results.reserve(r.asked);
  for (std::size_t o = 0; o < r.asked; ++o) {
    const Node& like = *r.outputs[o];
    Ref<Node> node = make<Node>(leaf_op(), std::span<const Ref<Node>>(), like.shape(), like.dtype(), like.origin());
    node->set_value(std::move(entry.fresh[o]), Layout::dense(like.shape()));
    if (device.traits().queues) entry.slots.given(o, node);
    results.emplace_back(std::move(node));
  }
  return {std::move(results), r.form};
}

/// For print_times(): those of the last call, where that takes nothing from anybody. On a device that queues they are copied anyway.
void JitState::Impl::keep_arguments() {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::size_t bytes = 0;
  for (const Tensor& argument : arguments) bytes += bytes_of(*argument.node());
  if (bytes > kMost || default_device().traits().queues) return arguments.clear();
  for (Tensor& argument : arguments)
    if (argument.node()->cell_number() != 0)
      argument = Tensor();  // a Variable's value, which may be written in place while nobody holds it
}

Results JitState::call(std::span<const Tensor> arguments, std::span<const std::uint64_t> kind, const Body& body, int times) {
  for (const Tensor& argument : arguments) argument.shape(impl_->where);
  if (times < 1) {
    throw Error({.op = "jit", .got = std::to_string(times) + " repetitions", .expected = "at least one", .where = impl_->where});
  }
  Impl& impl = *impl_;
  if (Trace::current()) {
    if (Running::contains(&impl)) {
      throw Error({.op = "jit",
                   .got = "a call of the function from inside itself",
                   .expected = "a function that does not call itself: a trace would not end",
                   .advice = "call a plain function that does",
                   .where = arguments.empty() ? impl.where : arguments[0].node()->origin().where});
    }
    const Running running(&impl);
    for (; times > 1; --times) body(arguments);
    return body(arguments);
  }
  if (eager()) {
    for (; times > 1; --times) body(arguments);
    return body(arguments);
  }
  settle_noted();
  if (checking(Check::Nan)) return checked_calls(arguments, body, times);
  std::scoped_lock lock(impl.mutex);
  // Arguments are dense values; pending Variable writes happen first, in program order.
  impl.arguments.assign(arguments.begin(), arguments.end());
  std::vector<Ref<Node>> pending;
  for (const Tensor& argument : impl.arguments) {
    if (!argument.node()->has_value()) pending.push_back(argument.node());
  }
  signature_of(impl.arguments, kind, default_device(), impl.signature);
  impl.kind = std::span(impl.signature).first(1 + kind.size());
  Entry* entry = impl.find();
  // Compiles the pending programs in parallel.
  const bool waits = !pending.empty() || Cell::any_pending(), first = !entry && default_device().traits().queues;
  if (waits && first) prepare_evaluation(pending, impl.where);
  if (waits && !first) evaluate(pending, impl.where);
  if (!entry) {
    entry = &impl.make_entry(impl.arguments, body);
  } else if (const bool due = entry->calls + 1 == entry->next_check; !entry->stored && (due || checking(Check::Jit))) {
    const Recorded again = impl.record(impl.arguments, body);
    if (holds(again.conditions) && entry->recorded.conditions.size() == again.conditions.size())
      require_equal(entry->recorded, again, impl.where);
    if (due) entry->next_check *= entry->next_check;
  }
  if (waits && first) evaluate(pending, impl.where);
  for (Tensor& argument : impl.arguments) {
    if (!argument.node()->layout().is_dense()) argument = from_array(argument.to_array(), impl.where);
  }
  impl.last = entry;
  entry->calls++;
  entry->last_use = ++impl.clock;
  auto results = impl.replay(*entry, times);
  impl.keep_arguments();
  return results;
}

const Entry& JitState::prepare(std::span<const Tensor> arguments, const Body& body) {
  Impl& impl = *impl_;
  std::scoped_lock lock(impl.mutex);
  signature_of(arguments, {}, default_device(), impl.signature);
  impl.kind = std::span(impl.signature).first(1);
  Entry& entry = impl.make_entry(arguments, body);
  for (const auto& cell : entry.recorded.cells) cell->settled();
  impl.find_leaves(entry);
  entry.executable->keep({.leaves = entry.leaves, .constants = {}, .outputs = {}, .updates = {}, .versions = entry.versions});
  return entry;
}

void JitState::add(std::unique_ptr<Entry> entry, std::span<const Tensor> arguments) {
  std::scoped_lock lock(impl_->mutex);
  signature_of(arguments, {}, entry->executable->device(), entry->signature);
  entry->stored = true;
  impl_->keep(std::move(entry));
  impl_->last = impl_->entries.back().get();
}

}  // namespace tegula::compile

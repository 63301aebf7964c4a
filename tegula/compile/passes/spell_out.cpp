// Calls that the device would rather have in other ops.

#include "tegula/compile/passes/spell_out.h"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/core/setting.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/regions/composed.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/tile/builder.h"

namespace tegula::compile {
namespace {

/// Those of loops within it counted at each of their steps.
double nodes_of(const LoopOp& loop) {
  double nodes = 0;
  for (const auto& node : loop.body().nodes()) {
    const LoopOp* const within = LoopOp::of(node->op());
    nodes += within ? nodes_of(*within) : 1;
  }
  return nodes * static_cast<double>(loop.form().length);
}

/// The ops that the device prefers to this call; empty if the call stays.
std::vector<Tensor> spelled_out(const Item& call, std::span<const Tensor> inputs, const runtime::Device& device, SmallProducts products) {
  if (const LoopOp* const loop = LoopOp::of(*call.op)) return stays_loop(*loop, device) ? std::vector<Tensor>() : loop->written_out(inputs);
  if (call.results.empty() && products == SmallProducts::Calls) return {};
  if (call.results.empty()) return call.as<LibraryOp>().spelled_out(device, inputs, call.shape);
  const auto* const composed = call.as<LibraryOp>().composed();
  if (!composed) return call.as<LibraryOp>().spelled_out(device, inputs, call.shape);
  if (composed->is_call_of(device, inputs)) return {};
  if (const DType stored = storage_of(call.precision); is_half(stored) && call.dtype == f32) {
    if (auto halves = composed->in_halves(stored, device, inputs); !halves.empty()) return halves;
  }
  if (auto faster = call.as<LibraryOp>().spelled_out(device, inputs, call.shape); !faster.empty()) return faster;
  return composed->composition(inputs);
}

/// A number that is known before the run, as the parameter block holds it.
class BitsOp final : public ElementwiseOp {
 public:
  explicit BitsOp(std::uint64_t bits) : bits_(static_cast<std::int64_t>(bits)) {}
  std::string_view name() const override { return "bits"; }
  void attributes(Attributes& a) override { a("bits", bits_); }
  tile::Value emit(tile::Builder&, std::span<const tile::Value> x, DType) const override { return x[0]; }
  double reference(std::span<const double>) const override { return std::bit_cast<double>(bits_); }

 private:
  std::int64_t bits_;
};

struct Ops {
  Graph graph;
  std::vector<std::uint64_t> numbers;  // its constants
};

/// The ops that stand for a call, over leaves whose slots say which of its inputs they are; nothing when the call stays.
std::optional<Ops> ops_for(const Item& call, const Graph& inputs_in, const runtime::Device& device, SmallProducts products) {
  Trace trace(call.origin.where);
  for (int input : call.inputs) trace.argument(inputs_in[input].shape, inputs_in[input].dtype);
  const std::vector<Tensor>& inputs = trace.arguments();
  const std::vector<Tensor> results = spelled_out(call, inputs, device, products);
  if (results.empty()) return std::nullopt;
  std::vector<const Node*> nodes;
  for (const Tensor& result : results) nodes.push_back(result.node().get());
  const Reading reading = read(nodes);
  Graph ops = flatten(reading, nodes, {});
  for (Item& item : ops.items) {
    item.node = -1;
    if (!LoopOp::of(*call.op)) item.precision = call.precision, item.origin = call.origin;
    if (item.role() != Role::Leaf) continue;
    const Node* const leaf = reading.leaves[index(item.slot)];
    item.slot = static_cast<int>(std::ranges::find(inputs, leaf, [](const Tensor& x) { return x.node().get(); }) - inputs.begin());
  }
  return Ops{std::move(ops), reading.constants};
}

}  // namespace

void add_compiler_ops(OpTable& table) { table.add_class<BitsOp>("bits", 0, std::uint64_t{0}); }

bool stays_loop(const LoopOp& loop, const runtime::Device& device) {
  if (!device.traits().launches_are_dear) return true;
  if (loop.has_check()) return false;
  static const auto forced = word_set("TEGULA_LOOPS", {"steps", "written"}, "jit");
  if (forced) return *forced == 0;
  return nodes_of(loop) > device.costs().loop_nodes;
}

namespace {

/// The replacement ops of each call that does not stay.
std::unordered_map<int, Ops> ops_of_calls(const Graph& graph, const runtime::Device& device, SmallProducts products) {
  std::unordered_map<int, Ops> out;
  for (int i = 0; i < graph.size(); ++i) {
    const Item& item = graph[i];
    if (item.role() != Role::Library || (item.results.empty() && item.precision == Precision::fp8)) continue;
    if (auto ops = ops_for(item, graph, device, products)) out.emplace(i, std::move(*ops));
  }
  return out;
}

bool has_several_same(const Graph& graph) {
  return std::ranges::any_of(graph.items, [](const Item& item) { return !item.results.empty() && item.role() == Role::Same; });
}

}  // namespace

void spell_out(Graph& graph, const runtime::Device& device, SmallProducts products) {
  std::unordered_map<int, Ops> spelled = ops_of_calls(graph, device, products);
  if (spelled.empty() && !has_several_same(graph)) return;
  Rewriter rewriter(graph);
  std::unordered_map<int, std::vector<int>> several;  // what has several results: the items that are those now
  std::map<std::pair<std::uint64_t, DType>, int> numbers;  // their slots
  bool loops = false;
  rewriter.each([&](int i, Item& item) {
    if (const auto found = item.is_part() ? several.find(graph[i].inputs[0]) : several.end(); found != several.end()) {
      const int result = found->second[index(item.as<PartOp>().index())];
      item.op = reshape_op(item.shape), item.inputs = {result};  // of its own shape: nothing, as simplify sees
      return;
    }
    if (item.role() == Role::Same && !item.results.empty()) {
      several[i].assign(item.inputs.begin(), item.inputs.begin() + static_cast<std::ptrdiff_t>(item.results.size()));
      return;
    }
    const bool has_several = !item.results.empty();
    const auto found = spelled.find(i);
    if (found == spelled.end()) return;
    Ops* const ops = &found->second;
    std::vector<int> now;
    for (Item& part : ops->graph.items) {
      for (int& input : part.inputs) input = now[index(input)];
      const bool is_result = !has_several && now.size() == static_cast<std::size_t>(ops->graph.outputs[0]);
      if (is_result) part.node = item.node;
      if (part.role() == Role::Scalar) {
        const std::uint64_t bits = ops->numbers[index(part.slot)];
        const DType dtype = ops->graph.constants[index(part.slot)];
        const auto [known, is_new] = numbers.try_emplace({bits, dtype});  // equal ones are one, so that items made of them are
        if (is_new) known->second = rewriter.add(dtype, Expression::of_numbers(make<const BitsOp>(bits), {}, DType::f64));
        part.slot = known->second;
      }
      now.push_back(part.role() == Role::Leaf ? item.inputs[index(part.slot)] : is_result ? -1 : rewriter.add(part));
    }
    if (!has_several) {
      item = ops->graph[ops->graph.outputs[0]];
      return;
    }
    loops = loops || LoopOp::of(*item.op);
    for (const int output : ops->graph.outputs) several[i].push_back(now[index(output)]);
  });
  graph = rewriter.finish();
  if (several.empty()) return;
  remove_dead(graph);
  if (loops) spell_out(graph, device, products);  // what was in them
}

}  // namespace tegula::compile

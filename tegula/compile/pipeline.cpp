#include "tegula/compile/pipeline.h"

#include "tegula/compile/passes/assign_layouts.h"
#include "tegula/compile/passes/assign_precision.h"
#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/fold/fold_epilogues.h"
#include "tegula/compile/passes/fold/fold_gradients.h"
#include "tegula/compile/passes/fold/fold_indices.h"
#include "tegula/compile/passes/fold/fold_scales.h"
#include "tegula/compile/passes/fusion/fuse.h"
#include "tegula/compile/passes/gather_anew.h"
#include "tegula/compile/passes/join_parts.h"
#include "tegula/compile/passes/join_products.h"
#include "tegula/compile/passes/materialize.h"
#include "tegula/compile/passes/multiply_codes.h"
#include "tegula/compile/passes/only_answers.h"
#include "tegula/compile/passes/order_effects.h"
#include "tegula/compile/passes/pack_weights.h"
#include "tegula/compile/passes/raise_slices.h"
#include "tegula/compile/passes/rows/multiply_rows.h"
#include "tegula/compile/passes/simplify.h"
#include "tegula/compile/passes/sink_casts.h"
#include "tegula/compile/passes/spell_out.h"
#include "tegula/compile/passes/stagger_exchanges.h"
#include "tegula/compile/passes/store_within.h"
#include "tegula/compile/passes/widen_numbers.h"
#include "tegula/compile/plan/check_plan.h"
#include "tegula/compile/run/executable.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/compile/show/show.h"
#include "tegula/compile/sizes.h"
#include "tegula/core/check.h"

namespace tegula::compile {
namespace {

// A broken graph is found behind the pass that broke it where plans are checked, else ahead of the plan.
enum class Verify : std::uint8_t { WithThePlan, Always };

void done(const Graph& graph, std::string_view pass, Verify when = Verify::WithThePlan) {
  if (when == Verify::Always || checking(Check::Plan)) verify(graph, pass);
  show(pass, [&] { return to_string(graph); });
}

// How often a graph of inference is run, at least, before somebody changes its weights.
constexpr std::int64_t kRunsOfAnswers = 64;

/// `once`: the graph of the kept values.
std::unique_ptr<Executable> executable_of(Graph graph, runtime::Device& device, const tile::Ladder& ladder = {},
                                          ArenaOf arena_of = ArenaOf::Device, Kept kept = {}, const Graph* once = nullptr) {
  Plan plan = make_plan(std::move(graph), device, ladder, arena_of == ArenaOf::Caller ? PlanOf::LoopBody : PlanOf::Recording);
  show("plan", [&] { return to_string(plan); });
  show("tile", [&] {
    std::string text;
    for (const Step& step : plan.steps) {
      if (step.launch()) text += tile::to_string(step.launch()->program) + "\n";
    }
    return text;
  });
  show("memory", [&] { return memory_table(plan); });
  if (checking(Check::Plan)) {
    check_plan(plan, device.traits().queues);
    if (once) check_kept(plan, *once);
  }
  return std::make_unique<Executable>(std::move(plan), device, std::move(kept), arena_of);
}

}  // namespace

Plan make_plan(Graph graph, runtime::Device& device, const tile::Ladder& ladder, PlanOf of) {
  verify_overwritten(graph);
  fold_indices(graph);
  done(graph, "indices");
  store_within(graph, device);
  done(graph, "within", Verify::Always);
  Plan plan;
  plan.costs = device.costs();
  plan.tiles = device.tiles();
  plan.tiles.ladder = ladder;
  plan.fusion = fuse(graph, device);
  round_stored(graph, plan.fusion);
  recompute_cheap(graph, plan.fusion);
  plan.graph = std::move(graph);
  lower(plan, device);
  bind_calls(plan, device);
  plan.tiles.ladder = {};  // what it refers to is the caller's
  merge_launches(plan);
  if (of == PlanOf::Recording) begin_early(plan, device);
  compile_kernels(plan, device);
  note_values(plan);
  place_results(plan, device);
  lower_late_updates(plan, device);
  request_kernels(plan, device);
  show("costs", [&] { return runtime::to_string(plan.costs); });
  show("calls", [&] { return call_times(plan); });
  unfold_calls(plan);
  look_at_calls(plan);
  assign_threads(plan, device);
  plan_memory(plan, device);
  return plan;
}

void optimize(Graph& graph, runtime::Device& device, const tile::Ladder& ladder, std::int64_t runs, bool answers) {
  widen_numbers(graph);
  done(graph, "graph");
  gather_anew(graph);
  stagger_exchanges(graph);
  order_effects(graph);
  spell_out(graph, device, ladder.on ? SmallProducts::Calls : SmallProducts::AsTheDevicePrefers);
  simplify(graph);
  done(graph, "simplify");
  join_products(graph);
  done(graph, "products");
  join_parts(graph);
  done(graph, "parts");
  assign_precision(graph, device);
  done(graph, "precision");
  multiply_codes(graph, device);
  done(graph, "codes");
  if (!ladder.on) multiply_rows(graph, device);
  done(graph, "rows");
  fold_scales(graph);
  fold_epilogues(graph, device, answers);
  fold_gradients(graph, device);
  done(graph, "epilogue");
  raise_slices(graph);
  done(graph, "slices");
  assign_layouts(graph, device);
  done(graph, "layout");
  sink_casts(graph);
  done(graph, "casts");
  materialize(graph, device, runs);
  remove_dead(graph);
  done(graph, "materialize");
  if (!answers) return;
  pack_weights(graph, device);
  done(graph, "packed");
}

std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device) {
  const tile::Ladder ladder = forced_ladder();
  optimize(graph, device, ladder);
  return executable_of(std::move(graph), device, ladder);
}

std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device, const Identities& identities, KeptValues& values,
                                    const tile::Ladder& ladder, ArenaOf arena_of, std::int64_t runs) {
  const bool answers = arena_of == ArenaOf::Device && only_answers(graph);
  optimize(graph, device, ladder, answers ? kRunsOfAnswers : runs, answers);
  const std::optional<Graph> once = cut_steady(graph);
  if (!once) return executable_of(std::move(graph), device, ladder, arena_of);
  done(*once, "steady");
  done(graph, "cut");
  Kept kept =
      values.keep(*once, identities, device, [&](Graph missing) { return executable_of(std::move(missing), device, {}, arena_of); });
  return executable_of(std::move(graph), device, ladder, arena_of, std::move(kept), &*once);
}

}  // namespace tegula::compile

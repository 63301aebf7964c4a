#include "tegula/compile/pipeline.h"

#include "tegula/compile/passes/cut_steady.h"
#include "tegula/compile/passes/dtypes.h"
#include "tegula/compile/passes/exchanges.h"
#include "tegula/compile/passes/fold/fold.h"
#include "tegula/compile/passes/fusion/fuse.h"
#include "tegula/compile/passes/layouts.h"
#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/passes/products.h"
#include "tegula/compile/passes/simplify.h"
#include "tegula/compile/passes/spell_out.h"
#include "tegula/compile/plan/check_plan.h"
#include "tegula/compile/run/executable.h"
#include "tegula/compile/show/memory_use.h"
#include "tegula/compile/show/show.h"
#include "tegula/compile/sizes.h"
#include "tegula/core/check.h"

namespace tegula::compile {
namespace {

/// The settings that passes look at.
struct Setting {
  runtime::Device& device;
  const tile::Ladder& ladder;
  std::int64_t runs = 1;  // expected of the graph before its steady leaves change
  bool answers = false;  // only_answers
  PlanOf of = PlanOf::Recording;
};

/// A pass over a graph or a plan. Its header says what it does, why, and why in this position; docs/design.md has the table of them (scripts/check_passes.py).
template <class Of>
struct Pass {
  std::string_view name;
  void (*run)(Of&, const Setting&);
  std::string_view stage = "";  // that TEGULA_PRINT shows after it
  std::string (*text)(const Plan&) = nullptr;  // of a stage of the plan
};
using GraphPass = Pass<Graph>;
using PlanPass = Pass<Plan>;

constexpr GraphPass kGraphPasses[] = {
    {"widen_numbers", [](Graph& graph, const Setting&) { widen_numbers(graph); }, "graph"},
    {"gather_anew", [](Graph& graph, const Setting&) { gather_anew(graph); }},
    {"order_exchanges", [](Graph& graph, const Setting&) { order_exchanges(graph); }},
    {"spell_out",
     [](Graph& graph, const Setting& to) {
       spell_out(graph, to.device, to.ladder.on ? SmallProducts::Calls : SmallProducts::AsTheDevicePrefers);
     }},
    {"simplify", [](Graph& graph, const Setting&) { simplify(graph); }, "simplify"},
    {"join_products", [](Graph& graph, const Setting&) { join_products(graph); }, "products"},
    {"join_parts", [](Graph& graph, const Setting&) { join_parts(graph); }, "parts"},
    {"assign_precision", [](Graph& graph, const Setting& to) { assign_precision(graph, to.device); }, "precision"},
    {"multiply_codes", [](Graph& graph, const Setting& to) { multiply_codes(graph, to.device); }, "codes"},
    {"multiply_rows",
     [](Graph& graph, const Setting& to) {
       if (!to.ladder.on) multiply_rows(graph, to.device);
     },
     "rows"},
    {"fold_scales", [](Graph& graph, const Setting&) { fold_scales(graph); }},
    {"fold_epilogues", [](Graph& graph, const Setting& to) { fold_epilogues(graph, to.device, to.answers); }, "epilogue"},
    {"sink_views", [](Graph& graph, const Setting&) { sink_views(graph); }, "slices"},
    {"assign_layouts", [](Graph& graph, const Setting& to) { assign_layouts(graph, to.device); }, "layout"},
    {"materialize", [](Graph& graph, const Setting& to) { materialize(graph, to.device, to.runs); }},
    {"remove_dead", [](Graph& graph, const Setting&) { remove_dead(graph); }, "materialize"},
    {"pack_weights",
     [](Graph& graph, const Setting& to) {
       if (to.answers) pack_weights(graph, to.device);
     },
     "packed"},
};

// Passes over the plan that change its graph; their stages show that.
constexpr PlanPass kGraphPassesOfPlans[] = {
    {"fold_indices", [](Plan& plan, const Setting&) { fold_indices(plan.graph); }, "indices"},
    {"fold_terms", [](Plan& plan, const Setting& to) { fold_terms(plan.graph, to.device); }, "terms"},
    {"fold_lines", [](Plan& plan, const Setting&) { fold_lines(plan.graph); }, "lines"},
    {"store_within",
     [](Plan& plan, const Setting& to) {
       show("within", [&] { return refused_pieces(plan.graph, to.device); });
       store_within(plan.graph, to.device);
     },
     "within"},
};
constexpr PlanPass kPlanPasses[] = {
    {"fuse", [](Plan& plan, const Setting& to) { plan.fusion = fuse(plan.graph, to.device); }},
    {"round_stored", [](Plan& plan, const Setting&) { round_stored(plan.graph, plan.fusion); }},
    {"recompute_cheap", [](Plan& plan, const Setting&) { recompute_cheap(plan.graph, plan.fusion); }},
    {"lower", [](Plan& plan, const Setting& to) { lower(plan, to.device); }},
    {"note_values", [](Plan& plan, const Setting&) { note_values(plan); }},
    {"bind_calls", [](Plan& plan, const Setting& to) { bind_calls(plan, to.device); }},
    {"merge_launches", [](Plan& plan, const Setting&) { merge_launches(plan); }},
    {"begin_early",
     [](Plan& plan, const Setting& to) {
       if (to.of == PlanOf::Recording) begin_early(plan, to.device);
     }},
    {"compile_kernels", [](Plan& plan, const Setting& to) { compile_kernels(plan, to.device); }},
    {"place_results", [](Plan& plan, const Setting& to) { place_results(plan, to.device); }},
    {"request_kernels", [](Plan& plan, const Setting& to) { request_kernels(plan, to.device); }, "calls", call_times},
    {"unfold_calls", [](Plan& plan, const Setting&) { unfold_calls(plan); }},
    {"look_at_calls", [](Plan& plan, const Setting&) { look_at_calls(plan); }},
    {"assign_threads", [](Plan& plan, const Setting& to) { assign_threads(plan, to.device); }},
    {"plan_memory", [](Plan& plan, const Setting& to) { plan_memory(plan, to.device); }},
};

/// A broken graph is found behind the pass that broke it where plans are checked, else ahead of the plan.
void look_at(const Graph& graph, std::string_view pass, std::string_view stage) {
  if (checking(Check::Plan)) verify(graph, pass);
  if (!stage.empty()) show(stage, [&] { return to_string(graph); });
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
      if (step.launch()) text += tile::to_string(*step.launch()->program) + "\n";
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
  Plan plan;
  plan.graph = std::move(graph);
  const Setting setting{.device = device, .ladder = ladder, .of = of};
  for (const PlanPass& pass : kGraphPassesOfPlans) {
    pass.run(plan, setting);
    look_at(plan.graph, pass.name, pass.stage);
  }
  if (!checking(Check::Plan)) verify(plan.graph, "store_within");
  plan.costs = device.costs();
  plan.tiles = device.tiles();
  plan.tiles.ladder = ladder;
  for (const PlanPass& pass : kPlanPasses) {
    pass.run(plan, setting);
    if (!pass.stage.empty()) show(pass.stage, [&] { return pass.text(plan); });
  }
  show("costs", [&] { return runtime::to_string(plan.costs); });
  plan.tiles.ladder = {};  // it refers to the caller's
  return plan;
}

void optimize(Graph& graph, runtime::Device& device, const tile::Ladder& ladder, std::int64_t runs, bool answers) {
  const Setting setting{device, ladder, runs, answers};
  for (const GraphPass& pass : kGraphPasses) {
    pass.run(graph, setting);
    look_at(graph, pass.name, pass.stage);
  }
}

std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device) {
  KeptValues none;
  return compile(std::move(graph), device, {}, none, forced_ladder());
}

std::unique_ptr<Executable> compile(Graph graph, runtime::Device& device, const Identities& identities, KeptValues& values,
                                    const tile::Ladder& ladder, ArenaOf arena_of, std::int64_t runs) {
  const bool answers = arena_of == ArenaOf::Device && only_answers(graph);
  optimize(graph, device, ladder, answers ? kRunsOfAnswers : runs, answers);
  const std::optional<Graph> once = cut_steady(graph);
  if (!once) return executable_of(std::move(graph), device, ladder, arena_of);
  look_at(*once, "cut_steady", "steady");
  look_at(graph, "cut_steady", "cut");
  Kept kept =
      values.keep(*once, identities, device, [&](Graph missing) { return executable_of(std::move(missing), device, {}, arena_of); });
  return executable_of(std::move(graph), device, ladder, arena_of, std::move(kept), &*once);
}

}  // namespace tegula::compile

// Regions, loops and branches; and the order in which everything is lowered.

#include <algorithm>
#include <utility>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

void Lowering::lower(simt::Kernel& kernel) {
  kernel.entry = block_of([&] { entry(); });
  kernel.body = block_of([&] { body(); });
  kernel.ring_bytes = decided_.ring_bytes();
  kernel.staged_bytes = staged_bytes_;
  kernel.tile_bytes = decided_.products.bytes;
  kernel.maps = decided_.products.maps;
}

void Lowering::entry() {
  if (a_.program().early) add(simt::AwaitLaunchAhead{});  // from where a pass moves it (passes/wait_late.h)
  if (!a_.guarded()) return;
  let(simt::computed(DType::boolean), "stopped", simt::call("any_failed", "guards", "guard_count"));
  if (grid_.cluster > 1) add({simt::Leave{}, Expression("stopped")});  // blocks that work together leave together
}

void Lowering::body() {
  if (grid_.cluster > 1) add(simt::Barrier{.kind = simt::Barrier::Kind::ClusterArrive});
  region(a_.program().body);
  if (in_turn()) add(simt::UseRing{}), add(simt::OpenRing{});  // the next instance fetches into it
  meet_cluster();
}

void Lowering::region(const tile::Region& region) {
  for (const auto& step : decided_.schedule.steps.at(&region)) {
    switch (step.kind) {
      case gpu::Step::Kind::Word: instruction(step.id); break;
      case gpu::Step::Kind::Loop: shared_loop(decided_.schedule.loops[step.index]); break;
      case gpu::Step::Kind::Reductions: reductions(decided_.schedule.reductions[step.index]); break;
      case gpu::Step::Kind::Leave: add({simt::Leave{}, Expression("stopped")}); break;
    }
  }
}

void Lowering::instruction(Id id) {
  const tile::Instruction& self = at(id);
  if (const auto deferred = deferred_.find(id); deferred != deferred_.end()) return deferred_reduction(id, *deferred->second);
  switch (self.word) {
    case Word::ProgramId: return let(simt::computed(DType::i64), variable(id), Name("id", static_cast<std::int32_t>(self.attribute)));
    case Word::NumPrograms: return let(simt::computed(DType::i64), variable(id), Name("g", static_cast<std::int32_t>(self.attribute)));
    case Word::For: return loop(id);
    case Word::While: return loop_while(id);
    case Word::If: return branch(id);
    case Word::Store: return store(id);
    case Word::Atomic: return atomic(id);
    case Word::Assert: return check(id);
    case Word::Print: return show(id);
    case Word::Barrier: return barrier();
    default: break;
  }
  switch (self.word) {
    case Word::Broadcast:
    case Word::ExpandDims:
    case Word::Reshape:
    case Word::Transpose:
      if (renames(id)) {  // one element as a scalar
        return let(simt::type_of(self.type), variable(id), element(self.operands[0], Spread::Uniform));
      }
      return rearrange(id);
    case Word::Load: return load(id);
    case Word::Reduce: return origin(id), reduce_shared(id);  // the others go together
    case Word::ArgReduce: return arg_reduce(id);
    case Word::Scan: return scan(id);
    case Word::Sort:
    case Word::ArgSort: return sort(id);
    case Word::Dot:
      if (const auto product = decided_.products.all.find(id); product != decided_.products.all.end())
        return tensor_product(id, product->second);
      return dot(id);
    case Word::Gather: return gather_along(id);
    case Word::Histogram: return histogram(id);
    case Word::RandomBits: return counts_in_fours(*this, id) ? random_words(id) : scalar_word(id);
    default: return scalar_word(id);
  }
}

void Lowering::assign_all(Id variable_id, Id value) {
  const Spread own = spread(variable_id);
  loops(own, a_.type(variable_id).shape, Step::Elements, [&] { assign(held(variable_id, own), element(value, own)); });
}

/// Returns true if the tiles of all iterations are one tall tile: each begins with the row behind the last one of another, so that none touches what
/// another does.
bool Lowering::moves_on(const tile::Region& body, Id pointer) const {
  const Shape& shape = a_.type(pointer).shape;
  const Form form = a_.affine(pointer);
  if (shape.rank() != 2 || form.rest >= 0 || form.root < 0 || form.base.known()) return false;
  const Id counter = body.parameters[0];
  return std::any_of(body.body.begin(), body.body.end(), [&](Id id) {
    const tile::Instruction& self = at(id);
    if (self.word != Word::Mul || !self.type.shape.empty()) return false;
    const Id first = self.operands[0], second = self.operands[1];
    const Id factor = first == counter ? second : second == counter ? first : -1;
    if (factor < 0 || at(factor).word != Word::Constant || at(factor).integer != shape[0]) return false;
    return form.base == multiply(Term::scalar(id), form.stride[0]);
  });
}

void Lowering::loop(Id id) {
  meet_cluster();
  ++repeats_;
  const tile::Instruction& self = at(id);
  const tile::Region& body = self.regions[0];
  origin(id);
  const DeferredSums& deferred = decided_.deferred.at(id);
  const bool shares = shares_terms(id);
  if (shares) begin_shared_sums(id);
  else
    for (std::size_t k = 0; k < deferred.size(); ++k) begin_carried(body.parameters[k + 1], self.operands[k + 3], deferred[k]);
  await_tiles();
  const auto each_behind = [&](const std::function<void(Id, const Product&)>& f) {
    for (const auto& [dot, product] : decided_.products.all)
      if (product.behind && std::ranges::find(body.body, dot) != body.body.end()) f(dot, product);
  };
  each_behind([&](Id dot, const Product& product) { declare_packed(dot, product); });
  const RingPlan& ring = decided_.rings.at(id);
  const Id induction = body.parameters[0];
  simt::For loop{.type = simt::type_of(a_.type(induction)),
                 .name = variable(induction),
                 .begin = scalar(self.operands[0]),
                 .end = scalar(self.operands[1]),
                 .step = scalar(self.operands[2]),
                 .body = {},
                 .program = simt::For::OfProgram{.moving = {}, .ring = {}, .fetches = fetches(ring), .tiles = {}}};
  if (const auto tiles = decided_.products.rings.find(id); tiles != decided_.products.rings.end()) {
    simt::For::Tiles plan{
        .stages = tiles->second.stages, .late = tiles->second.late, .fenced = grid_.groups && !tiles->second.boxes, .addresses = {}};
    if (tiles->second.boxes) {
      for (const Id load : tiles->second.loads) plan.box_bytes += decided_.products.copied.at(load).tile.bytes();
      plan.counters = tiles->second.counters;
      plan.apart = tiles->second.apart;
      plan.turns = decided_.products.turns;
      plan.behind = decided_.products.behind;
    }
    for (const Id address : tiles->second.addresses) plan.addresses.push_back({variable(address), at(address).where});
    loop.program->tiles = std::move(plan);
  }
  if (shares) share_iterations(id, loop);
  const bool copies = static_cast<bool>(loop.program->tiles);
  open_rings_ += copies;
  loop.body = block_of([&] {
    if (ring.stages > 0 || loop.program->tiles) origin_ = {};  // a pass puts other lines ahead of the body
    region(body);
    loop.program->own = open_.back().size();
    carry_on(body, deferred);
  });
  simt::for_each_statement(loop.body, [&](const simt::Statement& statement) {
    const auto* touch = statement.as<simt::Touch>();
    if (touch && moves_on(body, touch->pointer)) loop.program->moving.insert(touch->pointer);
  });
  const bool late = loop.program->tiles && (*loop.program->tiles).late > 0;
  const auto keep_sums = [&] {
    for (const auto& [dot, product] : decided_.products.all)
      if (product.late && std::ranges::find(body.body, dot) != body.body.end()) add(simt::Keep{variable(dot)});
  };
  if (late) keep_sums();
  keep_parts_apart(body, loop.body);
  add(std::move(loop));
  if (late) add(simt::AwaitProducts{0}), keep_sums();
  each_behind([&](Id dot, const Product& product) {
    within({}, [&] { product_behind(dot, product), add(simt::AwaitProducts{0}), add(simt::Keep{variable(dot)}); });
  });
  --repeats_, open_rings_ -= copies;
  if (shares) gather_sums(id);
  for (const auto& one : deferred) {
    if (one && one->tiles > 1) add_share(*one);
  }
  combine_deferred(deferred, static_cast<std::size_t>(ring.stages) * ring.stage_bytes);
}

/// Nothing is fetched ahead and no sum is left to the end: how often it goes round is not known.
void Lowering::loop_while(Id id) {
  meet_cluster();
  await_tiles();
  ++repeats_;
  const tile::Instruction& self = at(id);
  const tile::Region& body = self.regions[0];
  origin(id);
  const DeferredSums none(result_count(self));
  for (std::size_t k = 0; k < none.size(); ++k) begin_carried(body.parameters[k + 1], self.operands[k + 1], none[k]);
  const Name again{"again", id};
  add(simt::Declare{.what = {again, simt::computed(DType::boolean), {}}, .value = scalar(self.operands[0])});
  agree(again, DType::boolean);
  simt::For loop{.type = simt::computed(DType::i64),
                 .name = variable(body.parameters[0]),
                 .begin = 0,
                 .end = 0,
                 .step = 1,
                 .body = {},
                 .program = simt::For::OfProgram{},
                 .when = Expression(again)};
  loop.body = block_of([&] {
    region(body);
    loop.program->own = open_.back().size();
    let(simt::computed(DType::boolean), "further", scalar(body.results.back()));
    carry_on(body, none);
    assign(again, "further");
    agree(again, DType::boolean);
  });
  keep_parts_apart(body, loop.body);
  add(std::move(loop));
  --repeats_;
}

/// Threads may have read different things where others write meanwhile: the first one's answer holds for all.
void Lowering::agree(Name variable, DType dtype) {
  if (!decided_.threads_may_differ) return;
  use_shared(size_of(dtype));
  within({}, [&] {
    let_shared("agreed", simt::computed(dtype));
    barrier();
    assign(simt::element("agreed", 0), variable, simt::binary("threadIdx.x", "==", 0));
    barrier();
    assign(variable, simt::element("agreed", 0));
  });
}

/// Returns what a pass needs to know of the loads that the loop fetches ahead.
simt::Box<simt::Ring> Lowering::fetches(const RingPlan& plan) const {
  if (plan.stages == 0) return {};
  simt::Ring ring{.stages = plan.stages,
                  .ahead = plan.ahead,
                  .waits_first = plan.waits_first,
                  .stage_bytes = plan.stage_bytes,
                  .layout = plan.layout,
                  .loads = {},
                  .addresses = {}};
  for (const Id id : plan.addresses) ring.addresses.push_back({variable(id), at(id).where});
  for (const auto& [load, place] : plan.places) {
    const Id pointer = at(load).operands[0];
    const DType dtype = a_.type(pointer).dtype;
    const Spread own = spread(load);
    ring.loads.push_back({.value = variable(load),
                          .pointer = pointer,
                          .dtype = dtype,
                          .place = place,
                          .bytes = (own == Spread::Row ? 1 : static_cast<std::size_t>(grid_.vector)) * size_of(dtype),
                          .rows = own == Spread::Row,
                          .column_steps = own == Spread::Full ? grid_.column_steps_of(at(load).type.shape) : 0,
                          .further = plan.further.contains(load)});
  }
  return ring;
}

/// All that is carried on is read before any of it changes.
void Lowering::carry_on(const tile::Region& body, const DeferredSums& deferred) {
  const auto next = [](std::size_t k) { return Name("next", static_cast<std::int32_t>(k)); };
  const auto stays = [&](std::size_t k) {
    return !decided_.products.in_place.empty() && variable(body.results[k]) == variable(body.parameters[k + 1]);
  };
  for (std::size_t k = 0; k < deferred.size(); ++k) {
    if (deferred[k] || stays(k)) continue;
    const Id parameter = body.parameters[k + 1];
    const tile::Type& type = a_.type(parameter);
    const Spread own = spread(parameter);
    declare(next(k), simt::type_of(type), sizes(own, type.shape));
    loops(own, type.shape, Step::Elements, [&] { assign(held(next(k), own), element(body.results[k], own)); });
  }
  for (std::size_t k = 0; k < deferred.size(); ++k) {
    if (deferred[k] || stays(k)) continue;
    const Id parameter = body.parameters[k + 1];
    const Spread own = spread(parameter);
    loops(own, a_.type(parameter).shape, Step::Elements, [&] { assign(held(parameter, own), held(next(k), own)); });
  }
  for (const auto& one : deferred) {
    if (!one || one->tiles == 1) continue;
    const Name tiles("tiles", one->parameter);
    within(simt::binary(simt::unary("++", tiles), "==", one->tiles), [&] {
      assign(tiles, 0);
      add_share(*one);
      const Spread own = spread(one->parameter);
      loops(own, a_.type(one->parameter).shape, Step::Elements,
            [&] { assign(held(Name("t", one->parameter), own), simt::number(0.0, DType::f32)); });
    });
  }
}

/// Lets each of several reductions in every iteration use its memory again when the others have met.
void Lowering::keep_parts_apart(const tile::Region& body, simt::Block& block) const {
  if (in_turn() || grid_.cluster > 1 || std::ranges::any_of(body.body, [&](Id inner) { return !at(inner).regions.empty(); })) return;
  std::vector<simt::Combine*> met;
  for (simt::Statement& statement : block)
    if (auto* combine = statement.as<simt::Combine>(); combine && combine->how == simt::Combine::How::Columns) met.push_back(combine);
  if (std::ranges::count_if(met, [](const auto* combine) { return combine->meets; }) < 2) return;
  for (simt::Combine* combine : met) combine->again = false;
}

void Lowering::branch(Id id) {
  meet_cluster();
  await_tiles();
  const tile::Instruction& self = at(id);
  origin(id);
  std::map<std::size_t, Id> results;  // the variables behind the Result words
  for (const Id user : a_.users(id)) {
    if (user >= 0 && at(user).word == Word::Result && a_.resolve(user) == user)
      results[static_cast<std::size_t>(at(user).attribute)] = user;
  }
  for (const auto& [k, result] : results) declare(result);
  const auto side = [&](std::size_t which) {
    return block_of([&] {
      region(self.regions[which]);
      for (const auto& [k, result] : results) assign_all(result, self.regions[which].results[k]);
    });
  };
  simt::Branch branch{.when = scalar(self.operands[0]), .then = side(0)};
  branch.otherwise = side(1);
  branch.of_program = true;
  add(std::move(branch));
}

}  // namespace tegula::gpu

// Loads of a loop that are under way some iterations before they are needed (decide/rings.cpp).
//
// A thread copies what it will hold itself from global into shared memory (cp.async, sm_80), and later reads its own copy: no barrier, and no
// registers for what is on its way.

#include <algorithm>

#include "tegula/simt/decide/parts.h"
#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;

/// Where a load that is fetched ahead comes from: vectors, or a number for each row, of which every thread that meets the row has its own copy.
Lowering::Access Lowering::source_access(Id id) {
  const Id pointer = at(id).operands[0], mask = at(id).operands.size() > 1 ? at(id).operands[1] : -1;
  const Spread own = spread(id);
  if (own != Spread::Row) return wide_access(pointer, mask, own).value();
  const Shape& shape = at(id).type.shape;
  Access access{.pointer = place_in(pointer, own), .wide = 1, .on = {}, .limits = {}};
  if (mask >= 0) access.on.emplace_back(box_element(a_.box(mask), own, shape));
  access.on.push_back(inside(own, shape));
  return access;
}

/// The place in shared memory of the thread's vector of a load.
Expression Lowering::ring_place(const RingPlan& plan, Id id, Expression stage) const {
  const tile::Type& pointer = a_.type(at(id).operands[0]);
  const std::size_t vector = static_cast<std::size_t>(fetched_together(*this, id)) * size_of(pointer.dtype);
  const Spread own = spread(id);
  const Expression place = own == Spread::Full ? simt::group(Expression("r") * grid_.column_steps + "c") : Expression(own == Spread::Row ? "r" : "c");
  return Expression("ring") + std::move(stage) * plan.stage_bytes + plan.places.at(id) +
         simt::group(place * grid_.threads() + simt::thread_index()) * vector;
}

/// Starts the copies of these loads for the iteration `counter`, into `stage`.
void Lowering::fetch(const RingPlan& plan, const std::set<Id>& loads, const tile::Region& body, Name counter, const Expression& end,
                     const Expression& stage) {
  within(Expression(counter) < end, [&] {
    const Id induction = body.parameters[0];
    let(simt::type_of(a_.type(induction)), variable(induction), counter);  // in place of the loop's own
    for (const Id id : body.body) {
      const tile::Instruction& self = at(id);
      if (self.type.shape.empty() && self.word != tile::Word::Constant && tile::has_result(self.word) && is_address_word(self.word) &&
          follows_counter(*this, body, id) && !renames(id))
        scalar_word(id);
    }
    for (const Id id : loads) {
      const Access access = source_access(id);
      const int count = fetched_together(*this, id);
      loops(spread(id), at(id).type.shape, spread(id) == Spread::Row ? Step::Elements : Step::Vectors, [&] {
        add(simt::CopyAhead{.wide = access.wide,
                            .count = count,
                            .place = ring_place(plan, id, stage),
                            .source = access.pointer,
                            .inside = inside(access, count)});
      });
    }
  });
  add(simt::CloseCopies{});
}

/// The copies that begin beside an iteration. Those of an iteration are closed in the order in which they are needed.
void Lowering::fetch_ahead(const RingPlan& plan, const tile::Region& body, const Bounds& bounds) {
  const Id induction = body.parameters[0];
  for (const bool further : {false, true}) {
    if (further && plan.further.empty()) continue;
    const int ahead = plan.ahead + (further ? 1 : 0), behind = plan.stages - ahead;
    within({}, [&] {
      let(simt::type_of(a_.type(induction)), "later", Expression(variable(induction)) + Expression(ahead) * bounds.step);
      const Expression stage = "stage", wrapped = simt::choose(stage < behind, stage + ahead, stage - behind);
      fetch(plan, further ? plan.further : plan.nearer, body, "later", bounds.end, simt::group(wrapped));
    });
  }
}

/// The copies that begin before the loop.
void Lowering::begin_prefetch(const RingPlan& plan, const tile::Region& body, const Bounds& bounds) {
  if (plan.stages == 0) return;
  const simt::Type type = simt::type_of(a_.type(body.parameters[0]));
  add(simt::Note{"Fetched " + std::to_string(plan.ahead) + (plan.further.empty() ? "" : " or " + std::to_string(plan.ahead + 1)) +
                 " iterations ahead."});
  add(simt::Declare{.what = {"stage", simt::computed(DType::i32), {}}, .value = 0});
  if (!plan.further.empty()) {  // the first of them, before all others
    within({}, [&] {
      let(type, "later", bounds.begin);
      fetch(plan, plan.further, body, "later", bounds.end, 0);
    });
  }
  add(simt::Loop{.name = "s", .end = plan.ahead, .unroll = 1, .body = block_of([&] {
                   let(type, "later", bounds.begin + Expression("s") * bounds.step);
                   fetch(plan, plan.nearer, body, "later", bounds.end, "s");
                   if (plan.further.empty()) return;
                   let(type, "after", Expression("later") + bounds.step);
                   fetch(plan, plan.further, body, "after", bounds.end, simt::group(Expression("s") + 1));
                 })});
}

/// The wait for an iteration's own copies, and the start of later ones.
void Lowering::continue_prefetch(const RingPlan& plan, const tile::Region& body, const Bounds& bounds) {
  if (plan.stages == 0) return;
  const int closed = plan.further.empty() ? 1 : 2, unfinished = closed * plan.ahead - 1 + (plan.waits_first ? 0 : 1);
  if (plan.waits_first) add(simt::WaitForCopies{unfinished});
  fetch_ahead(plan, body, bounds);
  if (!plan.waits_first) add(simt::WaitForCopies{unfinished});
}

/// The thread's own copy of what was fetched, for the load.
Lowering::Access Lowering::fetched_access(const RingPlan& plan, Id id) const {
  const DType dtype = a_.type(at(id).operands[0]).dtype;
  const int most = static_cast<int>(16 / size_of(dtype));
  simt::Type pointer = simt::pointer_to(simt::stored(dtype));
  pointer.constant = true;
  return {.pointer = simt::reinterpret(pointer, ring_place(plan, id, "stage")),
          .wide = std::min(fetched_together(*this, id), most),
          .on = {},
          .limits = {}};
}

}  // namespace tegula::gpu

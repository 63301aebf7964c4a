// Loads of a loop that are under way some iterations before they are needed.
//
// A thread copies what it will hold itself from global into shared memory (cp.async, sm_80), and later reads its own copy: no barrier, and no
// registers for what is on its way. Only memory that the loop does not write, at addresses that follow from the loop's counter.

#include <algorithm>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

namespace {

constexpr std::size_t kRingBytes = 48 << 10;  // so that several blocks of a multiprocessor have one
constexpr std::size_t kLongestRingBytes = 96 << 10;
constexpr int kMostStages = 4;
// On its way while an iteration of a loop that writes, too, computes: more or less and the memory of an H200 is slower (gradients of a layer
// norm, written by hand, over rows of 1024, with 24, 32, 48 and 64 KiB on every multiprocessor: 0.86, 0.94, 0.95 and 0.88 of the copy bandwidth).
constexpr std::size_t kBytesAhead = 48 << 10;

bool is_pure(Word word) {
  return tile::is_elementwise(word) || word == Word::Broadcast || word == Word::ExpandDims || word == Word::Reshape ||
         word == Word::Arange || word == Word::Constant;
}

}  // namespace

/// Whether the value can be computed for a later iteration: from the counter and from what the loop does not change.
bool Lowering::follows_counter(const tile::Region& body, Id id) const {
  const tile::Instruction& self = at(id);
  if (id == body.parameters[0]) return true;
  if (std::find(body.parameters.begin(), body.parameters.end(), id) != body.parameters.end()) return false;
  if (std::find(body.body.begin(), body.body.end(), id) == body.body.end()) return self.word != Word::Result || a_.resolve(id) == id;
  if (!is_pure(self.word)) return false;
  return std::all_of(self.operands.begin(), self.operands.end(), [&](Id operand) { return follows_counter(body, operand); });
}

bool Lowering::uses_counter(const tile::Region& body, Id id) const {
  if (id == body.parameters[0]) return true;
  if (std::find(body.body.begin(), body.body.end(), id) == body.body.end()) return false;
  return std::any_of(at(id).operands.begin(), at(id).operands.end(), [&](Id operand) { return uses_counter(body, operand); });
}

/// The bytes a thread holds of the loaded tile as it lies in memory, when it can be fetched ahead; else 0.
std::size_t Lowering::fetched_bytes(const tile::Region& body, Id id) {
  const tile::Instruction& self = at(id);
  if (self.word != Word::Load || self.operands.size() > 2) return 0;
  const Id pointer = self.operands[0], mask = self.operands.size() > 1 ? self.operands[1] : -1;
  const Spread own = spread(id);
  if (own != Spread::Full && own != Spread::Column && own != Spread::Row) return 0;
  const Form form = a_.affine(pointer);
  if (form.root < 0 || form.rest >= 0 || !follows_counter(body, pointer) || (mask >= 0 && !follows_counter(body, mask))) return 0;
  if (mask >= 0) {
    for (const Condition& condition : a_.box(mask).conditions)
      if (condition.kind == Condition::Kind::Tile) return 0;
  }
  if (!uses_counter(body, pointer)) return 0;
  const Id root = a_.root_of(pointer);
  const auto writes = [&](auto&& again, const tile::Region& region) -> bool {
    return std::any_of(region.body.begin(), region.body.end(), [&](Id inner) {
      const tile::Instruction& word = at(inner);
      if ((word.word == Word::Store || word.word == Word::AtomicAdd) &&
          (a_.root_of(word.operands[0]) == root || a_.root_of(word.operands[0]) < 0))
        return true;
      return std::any_of(word.regions.begin(), word.regions.end(), [&](const tile::Region& r) { return again(again, r); });
    });
  };
  if (root < 0 || writes(writes, body)) return 0;
  const auto access = source_access(id);
  const auto size = size_of(a_.type(pointer).dtype);
  if (!access || static_cast<std::size_t>(access->wide) * size < 4) return 0;
  return static_cast<std::size_t>(grid_.held(self.type.shape)) * size;
}

/// Where a load that is fetched ahead comes from: vectors, or a number for each row, of which every thread that meets the row has its own copy.
std::optional<Lowering::Access> Lowering::source_access(Id id) {
  const Id pointer = at(id).operands[0], mask = at(id).operands.size() > 1 ? at(id).operands[1] : -1;
  const Spread own = spread(id);
  if (own != Spread::Row) return wide_access(pointer, mask, own);
  const Shape& shape = at(id).type.shape;
  Access access{.pointer = place_in(pointer, own), .wide = 1, .on = {}, .limits = {}};
  if (mask >= 0) access.on.emplace_back(box_element(a_.box(mask), own, shape));
  access.on.push_back(inside(own, shape));
  return access;
}

/// Elements that a thread copies at once.
int Lowering::fetched_together(Id id) const { return spread(id) == Spread::Row ? 1 : grid_.vector; }

/// Decides what the loop fetches ahead, and in how many stages.
Lowering::Prefetch Lowering::plan_prefetch(const tile::Region& body) {
  Prefetch plan;
  if (!prefetched_.empty()) return plan;  // one ring: the outer loop has it
  std::map<Id, std::size_t> bytes;  // of an iteration, by load
  for (const bool rows : {false, true}) {
    if (rows && bytes.empty()) return plan;  // a loop over nothing but numbers is no streaming one
    for (const Id id : body.body) {
      const std::size_t own = fetched_bytes(body, id) * static_cast<std::size_t>(grid_.threads());
      if (own == 0 || (spread(id) == Spread::Row) != rows) continue;
      bytes[id] = own;
      plan.places[id] = plan.stage_bytes;
      plan.stage_bytes += own;
    }
  }
  plan.waits_first = std::ranges::any_of(body.body, [&](Id id) { return at(id).word == Word::Store; });
  if (plan.waits_first) {
    plan.ahead = std::clamp(static_cast<int>(kBytesAhead / plan.stage_bytes), 1, kMostStages);
    std::size_t under_way = plan.stage_bytes * static_cast<std::size_t>(plan.ahead);
    const bool fits = static_cast<std::size_t>(plan.ahead + 2) * plan.stage_bytes <= kLongestRingBytes;
    for (const auto& [id, own] : bytes) {  // some loads one iteration more
      if (!fits || under_way + own > kBytesAhead || plan.further.size() + 1 == bytes.size()) continue;
      plan.further.insert(id);
      under_way += own;
    }
  } else {
    plan.ahead = std::clamp(static_cast<int>(kRingBytes / plan.stage_bytes), 2, kMostStages) - 1;
  }
  for (const auto& [id, own] : bytes)
    if (!plan.further.contains(id)) plan.nearer.insert(id);
  plan.stages = plan.ahead + (plan.further.empty() ? 1 : 2);
  if (static_cast<std::size_t>(plan.stages) * plan.stage_bytes > kLongestRingBytes) return {};
  plan.layout = std::to_string(plan.stage_bytes);
  for (const auto& [id, place] : plan.places)
    plan.layout += " " + std::to_string(place) + "/" + std::to_string(size_of(a_.type(at(id).operands[0]).dtype));
  ring_bytes_ = std::max(ring_bytes_, static_cast<std::size_t>(plan.stages) * plan.stage_bytes);
  return plan;
}

/// The place in shared memory of the thread's vector of a load.
Expression Lowering::ring_place(const Prefetch& plan, Id id, Expression stage) const {
  const tile::Type& pointer = a_.type(at(id).operands[0]);
  const std::size_t vector = static_cast<std::size_t>(fetched_together(id)) * size_of(pointer.dtype);
  const Spread own = spread(id);
  const Expression place = own == Spread::Full ? simt::group(Expression("r") * grid_.column_steps + "c") : Expression(own == Spread::Row ? "r" : "c");
  return Expression("ring") + std::move(stage) * plan.stage_bytes + plan.places.at(id) +
         simt::group(place * grid_.threads() + simt::thread_index()) * vector;
}

/// Starts the copies of these loads for the iteration `counter`, into `stage`.
void Lowering::fetch(const Prefetch& plan, const std::set<Id>& loads, const tile::Region& body, const std::string& counter, const Expression& end,
                     const Expression& stage) {
  within(Expression(counter) < end, [&] {
    const Id induction = body.parameters[0];
    let(simt::type_of(a_.type(induction)), variable(induction), counter);  // in place of the loop's own
    for (const Id id : body.body) {
      const tile::Instruction& self = at(id);
      if (self.type.shape.empty() && self.word != Word::Constant && tile::has_result(self.word) && is_pure(self.word) &&
          follows_counter(body, id) && !renames(id))
        share_loop(id);
    }
    for (const Id id : loads) {
      const auto access = source_access(id);
      const int count = fetched_together(id);
      loops(spread(id), at(id).type.shape, spread(id) == Spread::Row ? Step::Elements : Step::Vectors, [&] {
        add(simt::CopyAhead{.wide = access->wide,
                            .count = count,
                            .place = ring_place(plan, id, stage),
                            .source = access->pointer,
                            .inside = inside(*access, count)});
      });
    }
  });
  add(simt::CloseCopies{});
}

/// The copies that begin beside an iteration. Those of an iteration are closed in the order in which they are needed.
void Lowering::fetch_ahead(const Prefetch& plan, const tile::Region& body, const Bounds& bounds) {
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
void Lowering::begin_prefetch(const Prefetch& plan, const tile::Region& body, const Bounds& bounds) {
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
void Lowering::continue_prefetch(const Prefetch& plan, const tile::Region& body, const Bounds& bounds) {
  if (plan.stages == 0) return;
  const int closed = plan.further.empty() ? 1 : 2, unfinished = closed * plan.ahead - 1 + (plan.waits_first ? 0 : 1);
  if (plan.waits_first) add(simt::WaitForCopies{unfinished});
  fetch_ahead(plan, body, bounds);
  if (!plan.waits_first) add(simt::WaitForCopies{unfinished});
}

/// The thread's own copy of what was fetched, for the load.
Lowering::Access Lowering::fetched_access(const Prefetch& plan, Id id) const {
  const DType dtype = a_.type(at(id).operands[0]).dtype;
  const int most = static_cast<int>(16 / size_of(dtype));
  simt::Type pointer = simt::pointer_to(simt::stored(dtype));
  pointer.constant = true;
  return {.pointer = simt::reinterpret(pointer, ring_place(plan, id, "stage")),
          .wide = std::min(fetched_together(id), most),
          .on = {},
          .limits = {}};
}

}  // namespace tegula::gpu

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/simt/decide/parts.h"
#include "tegula/tile/access_hints.h"
#include "tegula/tile/atomic.h"

namespace tegula::gpu {

namespace {

using Hint = simt::KernelParameter::Hint;
using tile::Id;
using tile::Instruction;
using tile::Program;
using tile::Word;

TileUse tile_use(const Analysis& a) {
  TileUse use;
  use.rows = a.rows();
  use.columns = a.columns();
  ThreadGrid slices;
  slices.rows = use.rows, slices.columns = use.columns;
  for (const Instruction& self : a.program().instructions) {
    const Word word = self.word;
    if (word == Word::While) use.leaves_the_grid = true;
    if (tile::is_loop(word) || word == Word::If) continue;
    use.computes = use.computes || (word >= Word::Exp && word <= Word::Digamma) || word == Word::Pow || word == Word::Atan2;
    if (word == Word::Load || word == Word::Store) {
      const tile::Type& pointer = a.type(self.operands[0]);
      const Spread spread = slices.spread_of(pointer.shape);
      if (spread == Spread::Full || (spread == Spread::Column && (use.rows == 1 || use.vector == 1))) {
        use.vector = std::max(use.vector, a.contiguous(self.operands[0]));
      }
      use.full_loads += word == Word::Load && spread == Spread::Full;
      use.repeats_columns = use.repeats_columns || (word == Word::Load && spread == Spread::Column && use.rows > 1);
    }
    if (tile::has_result(word) && slices.spread_of(self.type.shape) == Spread::Flat && word != Word::Broadcast) use.leaves_the_grid = true;
    if (word == Word::Scan || word == Word::Sort || word == Word::ArgSort || word == Word::Dot || word == Word::Transpose ||
        word == Word::Atomic || word == Word::Gather || word == Word::Histogram || word == Word::Print || word == Word::Barrier)
      use.leaves_the_grid = true;
    if (word == Word::Reduce || word == Word::ArgReduce) {
      const tile::Type& from = a.type(self.operands[0]);
      const Spread spread = slices.spread_of(from.shape);
      if (spread == Spread::Full || spread == Spread::Column || spread == Spread::Row) {
        if (from.shape[static_cast<int>(self.attribute)] > 1) {
          const bool columns = from.shape.rank() == 1 ? spread == Spread::Column : self.attribute == 1;
          (columns ? use.reduces_columns : use.reduces_rows) = true;
        }
        if (spread != Spread::Row && !self.type.pointer)
          use.element_bytes = std::max(use.element_bytes, static_cast<int>(size_of(from.dtype)));
      }
    }
  }
  return use;
}

/// Atomic words on floats and narrow integers, where places may be named twice: their order is that of the program ids.
bool changes_in_order(const Program& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(), [&](const Instruction& self) {
    if (self.word != Word::Atomic) return false;
    return !tile::is_changed_freely(program[self.operands[0]].type.dtype);
  });
}
/// Returns true if the old value of an atomic word is used.
bool takes_old(const Analysis& analysis) {
  const std::vector<Instruction>& all = analysis.program().instructions;
  for (Id id = 0; id < static_cast<Id>(all.size()); ++id)
    if (all[static_cast<std::size_t>(id)].word == Word::Atomic && !analysis.users(id).empty()) return true;
  return false;
}
bool stores(const Program& program) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [](const Instruction& self) { return self.word == Word::Store; });
}
/// Returns true if the program reads what its instances may write; `scalars`: only loads of scalars count.
bool reads_results(const Analysis& analysis, bool scalars) {
  const Program& program = analysis.program();
  return std::any_of(program.instructions.begin(), program.instructions.end(), [&](const Instruction& self) {
    if (self.word != Word::Load || (scalars && !self.type.shape.empty())) return false;
    const Id root = analysis.root_of(self.operands[0]);
    return root < 0 || program.parameters[static_cast<std::size_t>(root)].writable;
  });
}

/// Hints by parameter: tensors that are only read, tensors that are only written.
std::vector<Hint> cache_hints(const Analysis& analysis) {
  const Program& program = analysis.program();
  std::vector<Hint> hints(program.parameters.size(), Hint::None);
  enum : unsigned { kNothing, kRead, kWritten };
  std::vector<unsigned> uses(hints.size(), kNothing);
  for (const Instruction& self : program.instructions) {
    const unsigned use = (self.word == Word::Load || self.word == Word::Atomic ? kRead : kNothing) |
                         (self.word == Word::Store || self.word == Word::Atomic ? kWritten : kNothing);
    if (use == kNothing) continue;
    const tile::Id root = analysis.root_of(self.operands[0]);
    if (root < 0) return hints;
    uses[static_cast<std::size_t>(root)] |= use;
  }
  for (std::size_t i = 0; i < uses.size(); ++i)
    hints[i] = uses[i] == kRead ? Hint::Lasting : uses[i] == kWritten ? Hint::Passing : Hint::None;
  return hints;
}

/// Halves take half the registers until they are used.
bool stays_packed(const Values& v, Id load, Id other) {
  if (tile::AccessHints::of(v.at(load)).is_volatile) return false;
  const bool zero = other < 0 || (v.at(other).word == Word::Constant && v.at(other).real == 0);
  return v.grid().reduces && is_half(v.analysis().type(v.at(load).operands[0]).dtype) && v.grid().vector % 2 == 0 && zero;
}

/// Decides about loops and loads, from outside in.
class Regions {
 public:
  Regions(const Values& values, Decisions& decisions, std::size_t shared_bytes) : v_(values), d_(decisions), shared_bytes_(shared_bytes) {}

  /// `fetched`: loads of the loops around that are fetched ahead. A kernel has one ring: the outermost loop with a use for it gets it.
  void visit(const tile::Region& region, const std::set<Id>& fetched) {
    for (const Id id : region.body) {
      const Instruction& self = v_.at(id);
      if (self.word == Word::Load) load(id, fetched.contains(id));
      if (self.word == Word::For) loop(id, fetched);
      else
        for (const tile::Region& inner : self.regions) visit(inner, fetched);
    }
  }

 private:
  bool copies_tiles(const tile::Region& body) const {
    return std::ranges::any_of(body.body, [&](Id one) { return d_.products.copied.contains(one); });
  }
  void loop(Id id, const std::set<Id>& fetched) {
    const tile::Region& body = v_.at(id).regions[0];
    DeferredSums& deferred = d_.deferred[id];
    for (std::size_t k = 0; k < body.results.size(); ++k) deferred.push_back(deferrable(v_, id, k));
    RingPlan& ring = d_.rings[id];  // where the loop copies tiles ahead there is none: groups of copies would meet
    const bool one_stage = (v_.at(id).attribute & 255) == 1;  // RangeHints::num_stages: nothing is fetched ahead
    if (fetched.empty() && !one_stage && !copies_tiles(body)) ring = plan_ring(v_, body, shared_bytes_);
    std::set<Id> within = fetched;
    for (const auto& [load, place] : ring.places) within.insert(load);
    visit(body, within);
  }
  void load(Id id, bool fetched) {
    const std::vector<Id>& operands = v_.at(id).operands;
    const Id mask = operands.size() > 1 ? operands[1] : -1, other = operands.size() > 2 ? operands[2] : -1;
    if (!stays_packed(v_, id, other) || d_.staging.staged.contains(id) || d_.staging.direct.contains(id)) return;
    const Spread own = v_.spread(id);
    const bool uniform = other < 0 || v_.spread(other) == Spread::Uniform;
    if ((fetched && own != Spread::Row) || (uniform && v_.vector_access(operands[0], mask, own)))
      d_.held_as[id] = simt::packed(v_.analysis().type(operands[0]).dtype, v_.grid().vector);
  }

  const Values& v_;
  Decisions& d_;
  std::size_t shared_bytes_;
};

}  // namespace

std::size_t shared_limit(int architecture) {
  if (architecture < 80) return 64 * 1024;
  const std::size_t kib = architecture == 80 || architecture == 87 ? 163 : architecture < 90 || architecture >= 120 ? 99 : 227;
  return kib * 1024;
}

std::size_t Decisions::ring_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [loop, ring] : rings) bytes = std::max(bytes, static_cast<std::size_t>(ring.stages) * ring.stage_bytes);
  return bytes;
}

namespace {

/// Decides the elements that each thread holds, and the contents of shared memory.
void decide_layout(const Analysis& analysis, int architecture, Decisions& decisions) {
  const Program& program = analysis.program();
  StagedRows& staging = decisions.staging;
  TileUse use = tile_use(analysis);
  staging = find_staged_rows(analysis, use.vector);
  use.most_blocks = blocks_of_row(architecture);
  use.beside_next = program.early;
  const bool room = static_cast<std::size_t>(use.columns * staging.bytes / use.most_blocks) + 4096 <= shared_limit(architecture);
  if (!staging.possible || !use.reduces_columns || use.leaves_the_grid || !room) staging = {};
  use.staged_bytes = staging.bytes;
  use.direct_loads = static_cast<int>(staging.direct.size());
  use.direct_bytes = staging.direct_bytes;
  if (use.rows > 1 && !worth_staging(use)) staging = {}, use.staged_bytes = 0;
  decisions.grid = choose_threads(use);
  const ThreadGrid& grid = decisions.grid;
  if (!grid.staged) staging.staged.clear();
  if (grid.cluster > 1 && architecture < 90) {
    throw Error({.op = "cuda",
                 .got = "rows of " + std::to_string(grid.columns) + " elements in one tile of " + program.name,
                 .expected = "at most 32768 elements of 4 bytes on compute capability " + std::to_string(architecture / 10) + "." +
                             std::to_string(architecture % 10),
                 .advice = "reduce in chunks: TilePreference::longest_row"});
  }
}

}  // namespace

Decisions decide(const Analysis& analysis, int architecture) {
  Decisions decisions;
  const Program& program = analysis.program();
  constexpr int kGroups = 90;  // the architecture that has wgmma
  const auto sums = shape_of_products(program, architecture);
  const auto widths = sums ? widths_of_products(program, *sums, architecture) : std::vector<std::int64_t>();
  const int warps = sums ? warps_wanted(program, architecture) : 0;
  if (sums)
    decisions.grid = fragment_grid(program, *sums, widths, architecture == kGroups, warps, parts_of_sums(program, *sums, architecture));
  else decide_layout(analysis, architecture, decisions);
  const Values values(analysis, decisions.grid);
  decisions.products = decide_products(values, architecture);
  const auto too_large = [&] { return decisions.products.bytes + decisions.products.scratch_bytes > shared_limit(architecture); };
  if (decisions.grid.parts() > 1 && (!decisions.products.parts_fit || too_large())) {
    decisions.grid = fragment_grid(program, *sums, widths, architecture == kGroups, warps);
    decisions.products = decide_products(values, architecture);
  }
  if (decisions.grid.groups && !decisions.products.fit_groups) {
    decisions.grid = fragment_grid(program, *sums, widths, false, warps);
    decisions.products = decide_products(values, architecture);
  }
  if (too_large()) decisions.products = {.fit_groups = false};  // threads do them, if there is room for that
  decisions.digits = digits_of_words(values);
  const bool takes = takes_old(analysis);
  decisions.order_is_seen = takes || reads_results(analysis, false);
  decisions.walkers = !changes_in_order(program) ? 0 : stores(program) || decisions.order_is_seen ? 1 : 256;
  decisions.threads_may_differ = reads_results(analysis, true);
  decisions.hints = cache_hints(analysis);
  const std::size_t all = shared_limit(architecture), taken = decisions.products.bytes + decisions.products.scratch_bytes;
  Regions(values, decisions, all > taken ? all - taken : 0).visit(program.body, {});
  decisions.changes = layout_changes(values);
  decisions.schedule = schedule_of(values, decisions);
  return decisions;
}

}  // namespace tegula::gpu

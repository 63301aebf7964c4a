// Decisions as lines for people.

#include "tegula/simt/decide/decisions.h"
#include "tegula/simt/layouts/conversion.h"

namespace tegula::gpu {

namespace {

std::string str(std::int64_t value) { return std::to_string(value); }

class Lines {
 public:
  Lines(const Decisions& decisions, const Analysis& analysis) : d_(decisions), a_(analysis) {}

  std::string text() {
    const ThreadGrid& grid = d_.grid;
    line("tile", str(grid.rows) + " x " + str(grid.columns) + " elements");
    line("threads", str(grid.row_threads) + " x " + str(grid.column_threads) + " in a block");
    line("cluster", str(grid.cluster) + (grid.cluster == 1 ? " block" : " blocks"));
    line("vector", str(grid.vector) + " elements");
    line("held", str(grid.row_steps) + " rows x " + str(grid.column_steps) + " vectors in a thread");
    if (grid.resident > 0) line("resident", str(grid.resident) + " blocks on a multiprocessor");
    if (grid.staged) line("staged", str(d_.staging.bytes) + " bytes of a column: " + names(d_.staging.staged));
    if (!d_.staging.direct.empty()) line("direct", str(d_.staging.direct_bytes) + " bytes of a column: " + names(d_.staging.direct));
    if (grid.ahead > 0) line("ahead", str(grid.ahead) + " vectors before the last exchange");
    for (const auto& [digits, bits] : {std::pair{Digits::Brief, "8 bits: "}, std::pair{Digits::Half, "11 bits: "}})
      digits_line(digits, bits);
    if (d_.walkers > 0) line("walkers", str(d_.walkers) + " blocks over all instances in turn");
    if (d_.order_is_seen) line("order", "of atomic words is seen by other instances");
    hints();
    products();
    for (const auto& [loop, ring] : d_.rings)
      if (ring.stages > 0) line("ring of " + name(loop), ring_text(ring));
    for (const auto& [loop, sums] : d_.deferred) deferred(loop, sums);
    std::set<tile::Id> packed;
    for (const auto& [id, type] : d_.held_as) packed.insert(id);
    if (!packed.empty()) line("packed", names(packed));
    for (const auto& [id, change] : d_.changes) {
      const char* const ways[] = {"among a thread's registers", "between lanes", "through shared memory"};
      const auto how = simt::conversion_of(change.from, change.to, change.bits, size_of(a_.type(id).dtype));
      line("layout of " + name(id), ways[static_cast<std::size_t>(how.way)]);
    }
    schedule();
    return text_;
  }

 private:
  void products() {
    const TensorProducts& all = d_.products;
    if (all.all.empty()) return;
    std::map<std::string, std::set<tile::Id>> by_dtype;
    std::set<tile::Id> copied, written, packed, in_place;
    for (const auto& [id, product] : all.all) {
      by_dtype[std::string(tegula::name(product.dtype))].insert(id);
      for (const Operand* const one : {&product.left, &product.right})
        if (!one->copied) (one->in_registers ? packed : written).insert(one->value);
    }
    for (const auto& [dtype, ids] : by_dtype) line("products", dtype + " by tensor cores: " + names(ids));
    line("warps", str(d_.grid.row_threads / 8) + " x " + str(d_.grid.column_warps));
    for (const auto& [load, tile] : all.copied) copied.insert(load);
    for (const auto& [dot, sum] : all.in_place) in_place.insert(dot);
    if (all.copies_apart)
      line("roles", std::string("a warp copies, the others multiply") + (all.turns ? " in turn" : "") +
                        (all.behind ? ", an iteration's last product beside the next one's first" : "") +
                        (all.stays ? "; blocks stay for several instances" : ""));
    if (!copied.empty()) line("copied", names(copied) + " into shared memory");
    if (!written.empty()) line("written", names(written) + " into shared memory");
    if (!packed.empty()) line("operands", names(packed) + " as threads hold them");
    if (!in_place.empty()) line("in place", names(in_place));
    if (d_.grid.parts() > 1 && !d_.grid.parts_of_terms)
      line("parts", str(d_.grid.rows_of_part()) + " x " + str(d_.grid.columns_of_part()) + " in each of " + str(d_.grid.parts()) +
                        " blocks of a cluster, which bring each other what all of them need");
    if (d_.grid.parts_of_terms)
      line("terms", "shared by the " + str(d_.grid.parts()) + " blocks of a cluster, each of which goes on with " +
                        str(d_.grid.columns_of_part()) + " columns");
    for (const auto& [store, tile] : all.stored)
      line("stored", name(store) + " by the copy engine, " + str(StoredTile::kRows) + " rows of a warp at a time");
    for (const auto& [loop, ring] : all.rings)
      line("tiles of " + name(loop), str(ring.stages) + " stages of " + str(static_cast<std::int64_t>(ring.stage_bytes)) + " bytes" +
                                         (ring.boxes ? ", by the copy engine" : "") + (ring.apart ? ", one by one" : ""));
  }
  void schedule() {
    for (const SharedLoop& loop : d_.schedule.loops) {
      std::set<tile::Id> inner(loop.ids.begin(), loop.ids.end());
      for (const tile::Id id : loop.kept) inner.erase(id);
      line("loop", names(loop.kept) + (inner.empty() ? "" : "; within it " + names(inner)));
    }
    std::set<tile::Id> again;
    for (const auto& [id, recipe] : d_.schedule.recipes) again.insert(id);
    if (!again.empty()) line("again", names(again));
    for (const SharedReductions& all : d_.schedule.reductions) {
      const std::string parts = all.parts > 1 ? ", in " + str(all.parts) + " parts each" : "";
      line("together", names({all.ids.begin(), all.ids.end()}) + parts);
    }
  }
  void line(const std::string& what, const std::string& value) {
    text_ += what + std::string(what.size() < 12 ? 12 - what.size() : 1, ' ') + value + "\n";
  }
  static std::string name(tile::Id id) { return "v" + std::to_string(id); }
  static std::string names(const std::set<tile::Id>& ids) {
    std::string all;
    for (const tile::Id id : ids) all += (all.empty() ? "" : " ") + name(id);
    return all;
  }
  void digits_line(Digits digits, const std::string& bits) {
    std::set<tile::Id> brief;
    for (tile::Id id = 0; id < static_cast<tile::Id>(d_.digits.size()); ++id)
      if (d_.digits[static_cast<std::size_t>(id)] == digits && has_brief_form(a_[id])) brief.insert(id);
    if (!brief.empty()) line("digits", bits + names(brief));
  }
  static std::string ring_text(const RingPlan& ring) {
    std::string text = str(ring.stages) + " stages of " + str(static_cast<std::int64_t>(ring.stage_bytes)) + " bytes, " + str(ring.ahead) +
                       " iterations ahead: " + names(ring.nearer);
    if (!ring.further.empty()) text += "; one more: " + names(ring.further);
    return text + (ring.waits_first ? "; waits first" : "");
  }
  void hints() {
    using Hint = simt::KernelParameter::Hint;
    for (const Hint hint : {Hint::Lasting, Hint::Passing}) {
      std::string all;
      for (std::size_t i = 0; i < d_.hints.size(); ++i)
        if (d_.hints[i] == hint) all += (all.empty() ? "" : " ") + a_.parameter_names()[i].str();
      if (!all.empty()) line(hint == Hint::Lasting ? "only read" : "only written", all);
    }
  }
  void deferred(tile::Id loop, const DeferredSums& sums) {
    for (const auto& sum : sums)
      if (sum) {
        const std::string tiles = sum->tiles > 1 ? ", " + str(sum->tiles) + " tiles at a time" : "";
        line("sum of " + name(loop), name(sum->parameter) + " is brought together behind the loop" + tiles);
      }
  }

  const Decisions& d_;
  const Analysis& a_;
  std::string text_;
};

}  // namespace

std::string to_string(const Decisions& decisions, const Analysis& analysis) { return Lines(decisions, analysis).text(); }

}  // namespace tegula::gpu

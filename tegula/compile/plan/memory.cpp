// Assigns storage: results get buffers of their own, Variables are updated in place, all other values share one arena with reuse.

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "tegula/compile/plan/overlap.h"
#include "tegula/compile/plan/plan.h"
#include "tegula/runtime/kernel_cache.h"
#include "tegula/tile/builder.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kAlignment = 256;        // what the widest vectors and the copy engines of all machines like
constexpr std::size_t kSmallArena = 64 << 20;
// Blocks of up to kSmallBlock bytes are not reused while all of them take less than 1 / kSmallShare of the arena: reuse would make steps wait.
constexpr std::size_t kSmallBlock = 64 << 10, kSmallShare = 64;
std::size_t aligned(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment; }

/// A stretch of the arena in use from one step to another.
struct Block {
  std::size_t bytes = 0;
  int first = 0, last = 0;
  std::size_t offset = 0;
};

/// Blocks in an arena: each at the lowest offset where it meets no other that is alive at the same time.
class Placement {
 public:
  /// `bytes`: the arena's, which grows.
  explicit Placement(std::size_t& bytes) : bytes_(bytes) {}
  void place(std::span<Block* const> blocks) {
    for (Block* block : blocks) {
      std::size_t at = 0;
      for (const Placed& other : placed_) {
        if (other.first > block->last || block->first > other.last) continue;
        if (at + block->bytes <= other.begin) break;
        at = std::max(at, other.end);
      }
      block->offset = at;
      bytes_ = std::max(bytes_, at + block->bytes);
      const auto behind = std::ranges::upper_bound(placed_, at, {}, &Placed::begin);
      placed_.insert(behind, {block->first, block->last, at, at + block->bytes});
    }
  }

 private:
  // By offset, so that a look from the bottom up ends at the first gap. All pairs, but by a loop over small neighbours in memory: 20,000 blocks take a tenth of a second.
  struct Placed {
    int first, last;
    std::size_t begin, end;
  };
  std::size_t& bytes_;
  std::vector<Placed> placed_;
};

class Planner {
 public:
  Planner(Plan& plan, bool asynchronous) : plan_(plan), graph_(plan.graph), asynchronous_(asynchronous) {
    const auto count = graph_.items.size();
    written_.assign(count, -1);
    last_read_.assign(count, -1);
    for (int i = 0; i < graph_.size(); ++i)
      if (bottom(i) != i && graph_.place(i).value == i) chains_[bottom(i)].push_back(i);
    last_touched_.assign(count, -1);
    until_ = in_use_until(plan, asynchronous_);
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
      for (int i : plan.steps[index(s)].writes) {
        for (const int value : {i, spot(i).root}) {
          if (written_[index(value)] < 0) written_[index(value)] = s;
        }
        touch(i, s);
      }
      for (int i : plan.steps[index(s)].reads) touch(i, s);
      if (plan.steps[index(s)].checks) last_check_ = s;
    }
  }

  /// Variables that could not be written in place: (update, item).
  std::vector<std::pair<int, int>> place_results() {
    plan_.storage.assign(graph_.items.size(), {});
    for (int i = 0; i < graph_.size(); ++i) {
      if (graph_[i].role() == Role::Leaf) storage(i) = {Storage::Kind::Leaf, graph_[i].slot, 0};
    }
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) place_chain(graph_.outputs[o], {Storage::Kind::Output, static_cast<int>(o), 0});
    const std::vector<int> leaves = items_of_leaves(graph_);
    for (std::size_t u = 0; u < graph_.updates.size(); ++u) place_update(static_cast<int>(u), leaves[index(graph_.updates[u].leaf)]);
    if (asynchronous_ && last_check_ >= 0) guard_updates();
    return std::move(late_);
  }

  void place_arena() {
    const std::vector<int> begins = asynchronous_ ? earliest() : std::vector<int>();
    std::vector<Block> blocks;
    std::map<int, std::size_t> block_of;  // item -> block
    const int end = static_cast<int>(plan_.steps.size());
    for (int s = 0; s < end; ++s) {
      Step& step = plan_.steps[index(s)];
      std::multimap<int, int> in_place;  // written item -> read items, in their order
      for (const auto& [out, in] : step.in_place) in_place.emplace(out, in);
      for (int item : step.writes) {
        if (storage(item).kind != Storage::Kind::None || written_[index(item)] != s || block_of.contains(item)) continue;
        const int last = last_read_[index(item)];
        if (const int root = bottom(item); root != item) {  // where what it writes over is, or the join of it
          const auto [found, is_new] = block_of.try_emplace(root, blocks.size());
          if (is_new) blocks.push_back({aligned(bytes_of(graph_[root])), s, last_read_[index(root)], 0});
          Block& block = blocks[found->second];
          block.last = std::max(block.last, last);
          block_of[item] = found->second;
          continue;
        }
        const std::size_t bytes = aligned(bytes_of(graph_[item]));
        bool placed = false;
        for (auto [pair, behind] = in_place.equal_range(item); pair != behind; ++pair) {
          const int in = pair->second;
          if (!block_of.contains(in) || !may_replace(item, in)) continue;
          Block& block = blocks[block_of.at(in)];
          // The block may be needed for longer than the operand is read. A call may take over what only it goes on with.
          if (block.bytes != bytes || block.last > (step.is_call() ? last_of_step(s) : s) || taken_.contains(in)) continue;
          taken_[in] = true;
          block.last = std::max(block.last, last);
          block_of[item] = block_of.at(in);
          placed = true;
          break;
        }
        if (placed) continue;
        block_of[item] = blocks.size();
        blocks.push_back({bytes, asynchronous_ ? begins[index(s)] : s, last, 0});
      }
    }
    std::vector<std::size_t> scratch_block;
    for (const std::size_t bytes : plan_.scratch_bytes) {
      scratch_block.push_back(blocks.size());
      const bool own = asynchronous_ && is_own_scratch(bytes);
      blocks.push_back({aligned(bytes), own ? 0 : end, own ? end : 0, 0});
    }
    for (int s = 0; s < end; ++s) {
      for (const int scratch : plan_.steps[index(s)].scratch) {
        Block& block = blocks[scratch_block[index(scratch)]];
        block.first = std::min(block.first, s);
        block.last = std::max(block.last, last_of_step(s));
      }
    }
    assign_offsets(blocks);
    for (const auto& [item, block] : block_of) {
      if (bottom(item) == item) place_chain(item, {Storage::Kind::Arena, 0, blocks[block].offset});
    }
    for (std::size_t b : scratch_block) plan_.scratch_offsets.push_back(blocks[b].offset);
  }

 private:
  const Spot& spot(int item) const { return plan_.values[index(item)].spot; }
  int bottom(int item) const { return spot(item).bottom; }
  // The item, and those that it lies over, under, within or around.
  void place_chain(int item, const Storage& where) {
    const int root = bottom(item);
    if (graph_[root].role() != Role::Leaf) storage(root) = where;
    if (const auto chain = chains_.find(root); chain != chains_.end()) {
      for (const int member : chain->second) {
        storage(member) = where;
        storage(member).offset += static_cast<std::size_t>(spot(member).offset) * size_of(graph_[member].dtype);
      }
    }
  }

  /// Per step, the step from which on its results have memory: its own number, or for an urgent step the one after its operands' last writer; with reused
  /// memory it would wait for readers of the old contents. Not for repeated gathers (LibraryOp::makes_anew): their place keeps few of them in memory.
  std::vector<int> earliest() const {
    const std::vector<bool> urgent = urgent_steps(plan_);
    std::vector<int> written(graph_.items.size(), -1), begins;  // of each value's place, by which step so far
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      const Step& step = plan_.steps[index(s)];
      int ready = 0;
      for (const int item : step.reads) ready = std::max(ready, written[index(bottom(item))] + 1);
      begins.push_back(urgent[index(s)] && !is_gathered_anew(step) ? ready : s);
      for (const int item : step.writes) written[index(bottom(item))] = s;
    }
    return begins;
  }

  bool is_gathered_anew(const Step& step) const {
    return step.exchanges && graph_[producer_of(graph_, step.writes[0])].as<LibraryOp>().makes_anew();
  }

  /// An exchange goes on beside the steps behind it, and its memory is in use until then.
  int last_of_step(int s) const { return until_[index(s)]; }
  Storage& storage(int item) { return plan_.storage[index(item)]; }
  void touch(int item, int step) {
    for (const int value : {item, spot(item).root}) {
      last_touched_[index(value)] = step;
      last_read_[index(value)] = std::max(last_read_[index(value)], last_of_step(step));
    }
  }

  /// The values that a step reads and updates in place, in order: merged launches have hundreds of both, and each result asks for its own.
  struct Reads {
    std::vector<int> values, roots;  // the latter of values that lie within others
    std::vector<std::pair<int, int>> in_place;
  };
  const Reads& reads_of(int step) const {
    const auto [known, is_new] = reads_.try_emplace(step);
    Reads& reads = known->second;
    if (!is_new) return reads;
    const Step& of = plan_.steps[index(step)];
    reads = {of.reads, {}, of.in_place};
    for (const int value : of.reads)
      if (spot(value).root != value) reads.roots.push_back(spot(value).root);
    std::ranges::sort(reads.values), std::ranges::sort(reads.roots), std::ranges::sort(reads.in_place);
    return reads;
  }

  // True if `item` may take the place of `old`: nothing reads `old` later, and the writing step reads each element only before it writes it.
  bool may_replace(int item, int old) const {
    const int step = written_[index(item)];
    if (step < 0) return false;
    // An exchange comes behind all others that still go on.
    const auto& last = plan_.steps[index(step)].is_call() ? last_touched_ : last_read_;
    if (last[index(old)] > step) return false;
    const Reads& writer = reads_of(step);
    if (spot(old).root != old || std::ranges::binary_search(writer.roots, old)) return false;
    const auto reads = std::ranges::equal_range(writer.values, old).size();
    return reads == 0 || (reads == 1 && std::ranges::binary_search(writer.in_place, std::pair(item, old)));
  }

  // A Variable is written where it lives, unless its old value is still needed or a check could still fail. If failures are not waited
  // for, the step that writes it must see to that itself (guarded), which a library call cannot.
  void place_update(int u, int leaf) {
    const auto& update = graph_.updates[index(u)];
    const int root = bottom(update.item);
    if (graph_[root].role() == Role::Leaf && root != update.item)  // in place, says materialize
      return place_chain(update.item, {Storage::Kind::Update, u, 0});
    const bool dense = graph_.leaves[index(update.leaf)].layout.is_dense();
    const int step = written_[index(update.item)];
    const bool call = is_made_by_a_call(update.item);
    const bool after_checks = step > last_check_ && !(asynchronous_ && last_check_ >= 0 && call);
    if (root == update.item && dense && after_checks && (leaf < 0 || may_replace(update.item, leaf)))
      place_chain(update.item, {Storage::Kind::Update, u, 0});
    else late_.emplace_back(u, update.item);
  }

  /// True if a call computes the value, or a member of its chain of overwrites.
  bool is_made_by_a_call(int item) const {
    const auto made = [&](int value) {
      const int step = written_[index(value)];
      return step >= 0 && plan_.steps[index(step)].is_call();
    };
    const auto chain = chains_.find(item);
    return made(item) || (chain != chains_.end() && std::ranges::any_of(chain->second, made));
  }

  void guard_updates() {
    for (Step& step : plan_.steps) {
      step.guarded =
          std::any_of(step.writes.begin(), step.writes.end(), [&](int item) { return storage(item).kind == Storage::Kind::Update; });
    }
  }

  // Largest first, each at the lowest offset where it meets no block alive at the same time. If steps may run side by side, memory in common makes them wait for each
  // other: a small arena is not reused, and of others the smallest blocks are not, the numbers that all updates read among them, as many as a share of the arena holds.
  void assign_offsets(std::vector<Block>& blocks) {
    std::vector<Block*> order;
    std::size_t total = 0;
    for (Block& block : blocks) order.push_back(&block), total += block.bytes;
    auto apart = order.begin();
    if (!asynchronous_ || total > kSmallArena) {
      std::ranges::stable_sort(order, std::greater(), &Block::bytes);
      const auto small = std::ranges::find_if(order, [&](const Block* block) { return asynchronous_ && block->bytes <= kSmallBlock; });
      Placement placement(plan_.arena_bytes);
      placement.place({order.begin(), small});
      apart = order.end();
      for (std::size_t left = plan_.arena_bytes / kSmallShare; apart != small && (*std::prev(apart))->bytes <= left; --apart)
        left -= (*std::prev(apart))->bytes;
      placement.place({small, apart});
    }
    for (Block* block : std::span(apart, order.end())) block->offset = std::exchange(plan_.arena_bytes, plan_.arena_bytes + block->bytes);
  }

  Plan& plan_;
  const Graph& graph_;
  bool asynchronous_;
  std::map<int, std::vector<int>> chains_;  // bottom -> who else has its place, in order
  std::vector<int> until_;  // in_use_until
  std::vector<int> written_;  // step that first writes an item
  std::vector<int> last_touched_;  // last step that reads or writes it
  std::vector<int> last_read_;  // the same, where an exchange goes on beside steps behind it
  int last_check_ = -1;
  std::vector<std::pair<int, int>> late_;  // place_results
  mutable std::unordered_map<int, Reads> reads_;
  std::map<int, bool> taken_;  // items whose place another took
};

/// Appends the steps that copy these values into their Variables, one for each dtype; guarded where steps check.
void copy_late(Plan& plan, const std::vector<std::pair<int, int>>& late, runtime::Device& device) {
  const bool checks = std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.checks; });
  std::map<DType, Step> copies;
  const std::vector<int> leaves = items_of_leaves(plan.graph);
  for (const auto& [update, item] : late) {
    const Item& value = plan.graph[item];
    const std::int64_t count = numel(value.shape), elements = device.tiles().elements;
    if (count == 0) continue;
    Step& step = copies[value.dtype];
    Launch& launch = *step.launch();
    if (launch.sets.empty()) {
      tile::Builder b("keep");
      const tile::Value from = b.pointer("from", value.dtype, false), to = b.pointer("to", value.dtype, true), end = b.scalar("count", i64);
      const tile::Value at = b.program_id(0) * elements + b.arange(0, elements);
      b.store(to + at, b.load(from + at, at < end), at < end);
      launch.program = b.finish();
      launch.structure = tile::structure(*launch.program);
      launch.kernel = runtime::compiled(device, *launch.program, *launch.structure);
      step.name = "keep";
      step.guarded = checks;
    }
    step.reads.push_back(item);
    // Behind those who read the old value, which may be all that is left of the step.
    const int leaf = leaves[index(plan.graph.updates[index(update)].leaf)];
    if (leaf >= 0) step.writes.push_back(leaf);
    step.bytes += 2.0 * static_cast<double>(bytes_of(value));
    launch.sets.push_back(
        {{{Reference::Kind::Value, item, 0, 0}, {Reference::Kind::Update, update, 0, 0}, {Reference::Kind::Integer, -1, count, 0}},
         {(count + elements - 1) / elements, 1, 1}});
  }
  for (auto& [dtype, step] : copies) plan.steps.push_back(std::move(step));
}

}  // namespace

void place_results(Plan& plan, runtime::Device& device) { copy_late(plan, Planner(plan, device.traits().queues).place_results(), device); }

void plan_memory(Plan& plan, runtime::Device& device) { Planner(plan, device.traits().queues).place_arena(); }

}  // namespace tegula::compile

#include "tegula/simt/verify/tiles.h"

#include <map>
#include <optional>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

namespace {

using Kind = Expression::Kind;

constexpr std::int64_t kIterations = 6;        // of a loop of the program: more than a ring has stages
constexpr std::int64_t kTiles = Numbers::kTiles;

/// Knows numbers only: those of registers and of memory it leaves out.
class Thread : Numbers {
 public:
  explicit Thread(std::set<std::string>& faults) : faults_(faults) {}

  void walk(const Block& block) {
    for (const Statement& statement : block) follow(statement);
  }

 private:
  /// A tile at a place.
  struct Tile {
    Name counter;  // of the loop that copies ahead, and its number in the iteration that needs the tile
    std::optional<std::int64_t> number;
    int group = 0;
    bool fenced = false;  // since it arrived
    bool seen = false;  // by all threads: they have met since it arrived
    bool read = false;  // since they have met last
    int products = -1;  // the group of products that reads it
    std::optional<std::int64_t> counter_of_bytes;  // of a box that has not arrived
  };

  void follow(const Statement& statement) {
    if (const auto* copy = statement.as<CopyAhead>()) return begin(*copy);
    if (const auto* copy = statement.as<CopyBox>()) return begin(*copy);
    if (const auto* expect = statement.as<ExpectBytes>()) return this->expect(*expect);
    if (const auto* wait = statement.as<AwaitBytes>()) return await(*wait);
    if (statement.as<CloseCopies>()) return void(++group_);
    if (const auto* store = statement.as<StoreWide>()) return put(store->pointer);
    if (const auto* store = statement.as<StoreOne>()) return put(store->pointer);
    if (const auto* wait = statement.as<WaitForCopies>()) return void(complete_ = std::max(complete_, group_ - wait->unfinished));
    if (const auto* barrier = statement.as<Barrier>(); barrier && barrier->kind == Barrier::Kind::Block) return meet();
    if (const auto* read = statement.as<ReadMatrices>()) return take(read->place, -1);
    if (const auto* product = statement.as<MultiplyTile>()) {
      if (!product->registers) take(product->left.place, products_);
      return take(product->right.place, products_);
    }
    if (statement.as<CloseProducts>()) return void(++products_);
    if (const auto* wait = statement.as<AwaitProducts>()) return void(multiplied_ = std::max(multiplied_, products_ - wait->unfinished));
    if (statement.as<FenceTiles>()) {
      for (auto& [place, tile] : tiles_) tile.fenced = tile.fenced || tile.group < complete_;
      return;
    }
    if (const auto* one = statement.as<Declare>()) {
      if (one->value && one->value->is_name("later")) counter_ = one->what.name;
      if (one->value) learn(one->what.name, *one->value);
      else known_.erase(one->what.name.str());
    } else if (const auto* one = statement.as<Assign>()) {
      if (one->target.kind == Kind::Name && !statement.when) learn(one->target.name, one->value);
    } else if (const auto* loop = statement.as<Loop>()) {
      const auto before = known_;
      for (std::int64_t i = loop->begin; i < (loop->name == "s" ? loop->end : loop->begin + 1); ++i) {
        known_[loop->name.str()] = loop->name == "step" ? 0 : i;  // steps of one tile
        walk(loop->body);
      }
      known_ = before;
    } else if (const auto* loop = statement.as<For>(); loop && loop->program) {
      follow_loop(*loop);
    } else {
      const auto before = known_;
      for_each_block(statement, [&](const Block& inner) { walk(inner); });
      known_ = before;
    }
  }
  void follow_loop(const For& loop) {
    const std::int64_t step = value(loop.step).value_or(1), begin = value(loop.begin).value_or(0);
    for (std::int64_t i = 0; i < kIterations; ++i) {
      known_[loop.name.str()] = begin + i * step;
      walk(loop.body);
    }
    known_.erase(loop.name.str());
  }
  // ---- Tiles.
  void begin(const CopyAhead& copy) {
    const auto place = value(copy.place);
    if (!place || *place < kTiles) return;
    Tile& tile = tiles_[*place];
    if (tile.read) faults_.insert("a tile is copied to where another may still be read");
    const auto later = known_.find("later");
    tile = {.counter = counter_, .number = later == known_.end() ? std::nullopt : std::optional(later->second), .group = group_};
  }
  /// A box comes some time until its counter is awaited.
  void begin(const CopyBox& copy) {
    const auto place = value(copy.place), counter = value(copy.counter);
    if (!place || *place < kTiles || !counter) return;
    const auto due = expected_.find(*counter);
    if (due == expected_.end()) faults_.insert("a box is copied whose bytes no counter expects");
    else due->second -= static_cast<std::int64_t>(copy.box_rows) * copy.pitch;
    Tile& tile = tiles_[*place];
    if (tile.read) faults_.insert("a tile is copied to where another may still be read");
    const auto later = known_.find("later");
    tile = {
        .counter = counter_, .number = later == known_.end() ? std::nullopt : std::optional(later->second), .counter_of_bytes = counter};
  }
  void expect(const ExpectBytes& one) {
    const auto counter = value(one.counter);
    if (!counter) return;
    check_bytes();
    expected_[*counter] = static_cast<std::int64_t>(one.bytes);
  }
  void await(const AwaitBytes& wait) {
    const auto counter = value(wait.counter);
    check_bytes();
    for (auto& [place, tile] : tiles_) {
      if (!counter || tile.counter_of_bytes != counter) continue;
      tile.counter_of_bytes.reset();
      tile.group = -1, tile.seen = tile.fenced = true;
    }
  }
  /// Boxes behind the last ExpectBytes have been what it expects.
  void check_bytes() {
    for (const auto& [counter, bytes] : expected_)
      if (bytes != 0) faults_.insert("a counter expects other bytes than are copied");
  }
  /// Notes a tile that threads write themselves: it has arrived.
  void put(const Expression& pointer) {
    const auto place = value(pointer);
    if (!place || *place < kTiles) return;
    Tile& tile = tiles_[*place];
    if (tile.read) faults_.insert("a tile is written to where another may still be read");
    tile = {.counter = {}, .number = {}, .group = -1};
  }
  void meet() {
    for (auto& [place, tile] : tiles_) {
      tile.read = tile.read && tile.products >= multiplied_;
      tile.seen = tile.seen || tile.group < complete_;
    }
  }
  /// `products`: the group of those that read some time later.
  void take(const Expression& from, int products) {
    const auto place = value(from);
    if (!place || *place < kTiles) return;
    const auto found = tiles_.find(*place);
    if (found == tiles_.end()) return void(faults_.insert("tensor cores read a tile that nothing was copied to"));
    Tile& tile = found->second;
    tile.read = true, tile.products = products;
    if (tile.counter_of_bytes) return void(faults_.insert("tensor cores read a tile before its copies have arrived"));
    if (tile.group >= complete_) faults_.insert("tensor cores read a tile before its copies have arrived");
    else if (!tile.seen) faults_.insert("tensor cores read a tile that not all threads know to have arrived");
    else if (products >= 0 && !tile.fenced) faults_.insert("tensor cores read a tile that no fence stands behind");
    const auto now = known_.find(tile.counter.str());
    if (tile.number && now != known_.end() && now->second != *tile.number) faults_.insert("tensor cores read a tile of another iteration");
  }

  std::set<std::string>& faults_;
  std::map<std::int64_t, Tile> tiles_;
  std::map<std::int64_t, std::int64_t> expected_;  // by counter: bytes that are still to be copied
  Name counter_;
  int products_ = 0, multiplied_ = 0;  // the same of groups of products
  int group_ = 0, complete_ = 0;  // numbers of closed and of arrived groups of copies
};

}  // namespace

/// Checks kernels without a copying warp; roles.h is for the others.
void check_tiles(const Kernel& kernel, std::set<std::string>& faults) {
  if (kernel.tile_bytes > 0 && kernel.copiers == 0) Thread(faults).walk(kernel.body);
}

}  // namespace tegula::simt

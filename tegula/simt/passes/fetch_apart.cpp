#include "tegula/simt/passes/fetch_apart.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tegula/simt/passes/ahead_loop.h"

namespace tegula::simt {

namespace {

class Fetcher : AheadLoop {
 public:
  explicit Fetcher(For loop) : AheadLoop(std::move(loop)), tiles_(*loop_.program->tiles) {
    find_addresses(tiles_.addresses);
    Block rest;
    rest.reserve(loop_.body.size());
    for (Statement& statement : loop_.body) {
      auto* const copy = statement.as<CopyTile>();
      if (copy && copy->ahead) copies_.push_back(std::move(*copy));
      else rest.push_back(std::move(statement));
    }
    loop_.body = std::move(rest);
  }

  /// Adds the statements in place of the loop.
  void put(Block& out) {
    for (const CopyTile& copy : copies_) touch(copy.pointer, out);
    const int counters = tiles_.stages * static_cast<int>(copies_.size());
    Block block;
    block.push_back(Note{"Tiles come apart, " + std::to_string(tiles_.stages) + " iterations ahead."});
    block.push_back(FenceTiles{});  // threads may have used the ring
    block.push_back(Barrier{});  // nobody reads the ring any more
    block.push_back(Declare{.what = {"stage", computed(DType::i32), {}}, .value = 0});
    block.push_back(Declare{.what = {"parity", computed(DType::i32), {}}, .value = 0});
    block.push_back(Statement(BeginCounters{.place = first_counter(), .count = counters}, first_thread()));
    block.push_back(Barrier{});  // before anybody waits
    Block first{let("later", loop_.begin + Expression("s") * loop_.step)};
    fetch(first, copies_, "s");
    block.push_back(Loop{.name = "s", .end = tiles_.stages, .unroll = 1, .body = std::move(first)});
    Block body = with_waits(std::exchange(loop_.body, {})), after;
    const Expression other = group(binary("parity", "^", 1));
    after.push_back(Assign{.target = "parity", .value = choose(binary("stage", "==", tiles_.stages - 1), other, "parity")});
    close(std::move(body), tiles_.stages, std::move(after));
    loop_.program->tiles = {};
    block.push_back(std::move(loop_));
    block.push_back(Barrier{});  // nobody waits any more
    block.push_back(Statement(EndCounters{.place = first_counter(), .count = counters}, first_thread()));
    out.push_back(Scope{std::move(block)});
  }

 private:
  static Expression first_thread() { return binary("threadIdx.x", "==", 0); }
  Expression first_counter() const { return Expression("tiles") + tiles_.counters; }
  static Expression counter(const CopyTile& copy, const Expression& stage) {
    return Expression("tiles") + copy.counters + Expression(stage) * 8;
  }
  const CopyTile& copy_of(tile::Id load) const { return *std::ranges::find(copies_, load, &CopyTile::load); }
  /// The loop's statements, with waits and copies in place of the marks.
  Block with_waits(Block body) const {
    Block out;
    out.reserve(body.size());
    for (Statement& statement : body) {
      if (const auto* const wait = statement.as<AwaitTile>()) {
        out.push_back(AwaitBytes{.counter = counter(copy_of(wait->load), "stage"), .parity = "parity"});
      } else if (const auto* const freed = statement.as<FreeTile>()) {
        Block next{let("later", Expression(loop_.name) + Expression(tiles_.stages) * loop_.step)};
        fetch(next, {&copy_of(freed->load), 1}, "stage");
        out.push_back(Barrier{});  // nobody reads the tile any more
        out.push_back(Scope{std::move(next)});
      } else {
        out.push_back(std::move(statement));
      }
    }
    return out;
  }
  /// One thread asks for the tiles of the iteration `later`, into the stage.
  void fetch(Block& out, std::span<const CopyTile> copies, const Expression& stage) const {
    Branch branch{.when = binary(first_thread(), "&&", Expression("later") < loop_.end)};
    branch.then.push_back(Declare{.what = {loop_.name, loop_.type, {}}, .value = "later", .constant = true});  // in place of the loop's own
    branch.then.insert(branch.then.end(), addresses_.begin(), addresses_.end());
    branch.then.push_back(Declare{.what = {"into", computed(DType::i32), {}}, .value = stage, .constant = true});
    for (const CopyTile& copy : copies) {
      branch.then.push_back(ExpectBytes{.counter = counter(copy, "into"), .bytes = copy.box_bytes});
      branch.then.insert(branch.then.end(), copy.body.begin(), copy.body.end());
    }
    out.push_back(std::move(branch));
  }

  const For::Tiles tiles_;
  std::vector<CopyTile> copies_;
};

}  // namespace

void fetch_apart(For loop, Block& out) { Fetcher(std::move(loop)).put(out); }

}  // namespace tegula::simt

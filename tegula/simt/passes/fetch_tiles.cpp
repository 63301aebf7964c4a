#include "tegula/simt/passes/fetch_tiles.h"

#include <algorithm>
#include <utility>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/passes/ahead_loop.h"
#include "tegula/simt/passes/fetch_apart.h"

namespace tegula::simt {

namespace {

class Fetcher : AheadLoop {
 public:
  explicit Fetcher(For loop) : AheadLoop(std::move(loop)), tiles_(*loop_.program->tiles) {
    find_addresses(tiles_.addresses);
    for (Statement& statement : loop_.body)
      if (is_ahead(statement)) copies_.push_back(*statement.as<CopyTile>());
    std::erase_if(loop_.body, is_ahead);
  }

  /// Adds the statements in place of the loop.
  void put(Block& out) {
    for (const CopyTile& copy : copies_) touch(copy.pointer, out);
    const int ahead = boxes() ? tiles_.stages - tiles_.late : tiles_.stages - 1 - tiles_.late, behind = tiles_.stages - ahead;
    Block block;
    block.push_back(Note{"Copied " + std::to_string(ahead) + " iterations ahead."});
    if (boxes()) block.push_back(FenceTiles{});  // threads may have used the ring
    block.push_back(Barrier{});  // nobody reads the ring any more
    block.push_back(Declare{.what = {"stage", computed(DType::i32), {}}, .value = 0});
    if (boxes()) begin_counters(block);
    Block first{let("later", loop_.begin + Expression("s") * loop_.step)};
    fetch(first, "s");
    block.push_back(Loop{.name = "s", .end = ahead, .unroll = 1, .body = std::move(first)});
    Block body, next{let("later", Expression(loop_.name) + Expression(ahead) * loop_.step)};
    if (boxes()) {
      body.push_back(AwaitBytes{.counter = counter("stage"), .parity = "parity"});
      Block after{Barrier{}};  // behind what is awaited of the products, nobody reads the stage that is filled
      fetch(next, tiles_.late > 0 ? group(choose(binary("stage", "==", 0), tiles_.stages - 1, Expression("stage") - 1)) : "stage");
      after.push_back(Scope{std::move(next)});
      const Expression other = group(binary("parity", "^", 1));
      after.push_back(Assign{.target = "parity", .value = choose(binary("stage", "==", tiles_.stages - 1), other, "parity")});
      close(std::move(body), tiles_.stages, std::move(after));
    } else {
      body.push_back(WaitForCopies{ahead - 1});
      if (tiles_.fenced) body.push_back(FenceTiles{});
      body.push_back(Barrier{});
      fetch(next, group(choose(Expression("stage") < behind, Expression("stage") + ahead, Expression("stage") - behind)));
      body.push_back(Scope{std::move(next)});
      close(std::move(body), tiles_.stages);
    }
    loop_.program->tiles = {};
    block.push_back(std::move(loop_));
    if (boxes()) {
      block.push_back(Barrier{});  // nobody waits any more
      block.push_back(Statement(EndCounters{.place = counter(0), .count = tiles_.stages}, first_thread()));
    }
    out.push_back(Scope{std::move(block)});
  }

 private:
  static bool is_ahead(const Statement& statement) {
    const auto* const copy = statement.as<CopyTile>();
    return copy && copy->ahead;
  }
  bool boxes() const { return tiles_.box_bytes > 0; }
  static Expression first_thread() { return binary("threadIdx.x", "==", 0); }
  Expression counter(const Expression& stage) const {
    const Expression first = Expression("tiles") + tiles_.counters;
    return stage.kind == Expression::Kind::Integer && stage.integer == 0 ? first : first + Expression(stage) * 8;
  }
  void begin_counters(Block& out) const {
    out.push_back(Declare{.what = {"parity", computed(DType::i32), {}}, .value = 0});
    out.push_back(Statement(BeginCounters{.place = counter(0), .count = tiles_.stages}, first_thread()));
    out.push_back(Barrier{});  // before anybody waits
  }
  /// Starts the copies for the iteration `later`, into the stage.
  void fetch(Block& out, const Expression& stage) const {
    const Expression inside = Expression("later") < loop_.end;
    Branch branch{.when = boxes() ? binary(first_thread(), "&&", inside) : inside};
    branch.then.push_back(Declare{.what = {loop_.name, loop_.type, {}}, .value = "later", .constant = true});  // in place of the loop's own
    branch.then.insert(branch.then.end(), addresses_.begin(), addresses_.end());
    branch.then.push_back(Declare{.what = {"into", computed(DType::i32), {}}, .value = stage, .constant = true});
    if (boxes()) branch.then.push_back(ExpectBytes{.counter = counter("into"), .bytes = tiles_.box_bytes});
    for (const CopyTile& copy : copies_) branch.then.insert(branch.then.end(), copy.body.begin(), copy.body.end());
    out.push_back(std::move(branch));
    if (!boxes()) out.push_back(CloseCopies{});
  }

  const For::Tiles tiles_;
  std::vector<CopyTile> copies_;
};

bool has_tiles(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& statement) {
    const auto* const loop = statement.as<For>();
    found = found || statement.as<CopyTile>() || (loop && loop->program && loop->program->tiles);
  });
  return found;
}

void walk(Block& block) {
  if (!has_tiles(block)) return;
  Block out;
  out.reserve(block.size());
  for (Statement& statement : block) {
    auto* const copy = statement.as<CopyTile>();
    auto* const loop = statement.as<For>();
    if (copy && !copy->ahead) {  // where it stands
      out.push_back(Scope{std::move(copy->body)});
    } else if (loop && loop->program && loop->program->tiles) {
      Block ahead;
      if ((*loop->program->tiles).apart) fetch_apart(std::move(*loop), ahead);
      else Fetcher(std::move(*loop)).put(ahead);
      for (Statement& one : ahead) for_each_block(one, walk);
      std::ranges::move(ahead, std::back_inserter(out));
    } else {
      for_each_block(statement, walk);
      out.push_back(std::move(statement));
    }
  }
  block = std::move(out);
}

}  // namespace

void fetch_tiles(Kernel& kernel) { walk(kernel.body); }

}  // namespace tegula::simt

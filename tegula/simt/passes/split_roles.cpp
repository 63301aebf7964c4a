#include "tegula/simt/passes/split_roles.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/passes/ahead_loop.h"

namespace tegula::simt {

namespace {

constexpr int kGroup = 128;
const Type kInt = computed(DType::i32);

/// A product of four warps is over for all of them at once: one thread says so.
Expression of_group() { return group(binary(thread_index(), "&", kGroup - 1)); }
Expression first_of_group() { return binary(of_group(), "==", 0); }
Expression computes(const Kernel& kernel) { return Expression("threadIdx.x") < kernel.team(); }

/// A product of groups of four warps.
bool is_product(const Statement& statement) {
  bool found = false;
  if (const auto* const scope = statement.as<Scope>())
    for_each_statement(scope->body, [&](const Statement& one) { found = found || one.as<CloseProducts>() != nullptr; });
  return found;
}
/// Such a one of the tiles of the iteration before.
bool is_behind(const Statement& statement) {
  bool found = false;
  if (const auto* const scope = statement.as<Scope>())
    for_each_statement(scope->body, [&](const Statement& one) {
      const auto* const product = one.as<MultiplyTile>();
      found = found || (product && product->behind);
    });
  return found;
}

class Splitter : AheadLoop {
 public:
  Splitter(const Kernel& kernel, For loop) : AheadLoop(std::move(loop)), kernel_(kernel), tiles_(*loop_.program->tiles) {
    find_addresses(tiles_.addresses);
    for (Statement& statement : loop_.body)
      if (const auto* copy = statement.as<CopyTile>()) copies_.push_back(*copy);
    std::erase_if(loop_.body, [](const Statement& statement) { return statement.as<CopyTile>() != nullptr; });
    counters_ = tiles_.stages * (tiles_.apart ? static_cast<int>(copies_.size()) : 1);
  }

  /// The statements with which every block begins: all stages are free.
  Block begin() const {
    const Expression first = binary("threadIdx.x", "==", 0), counters = Expression("tiles") + tiles_.counters;
    return {Declare{.what = {"stage", kInt, {}}, .value = 0}, Declare{.what = {"parity", kInt, {}}, .value = 0},
            Statement(BeginCounters{.place = counters, .count = counters_}, first),
            Statement(BeginCounters{.place = Expression("tiles") + (tiles_.counters + 8 * static_cast<std::size_t>(counters_)),
                                    .count = counters_,
                                    .arrivals = groups() * kernel_.cluster},
                      first),
            Barrier{.kind = shares() ? Barrier::Kind::Cluster : Barrier::Kind::Block}};
  }
  /// The statements with which every block ends: no other block reaches its memory any more.
  Block end() const { return shares() ? Block{Barrier{.kind = Barrier::Kind::Warp}, Barrier{.kind = Barrier::Kind::Cluster}} : Block(); }
  /// The statements of the thread that copies.
  Block copying() const {
    For loop{.type = loop_.type, .name = loop_.name, .begin = loop_.begin, .end = loop_.end, .step = loop_.step, .body = {}, .program = {}};
    loop.body = addresses_;
    const auto copy_to = [&](std::size_t counters, std::size_t bytes, std::span<const CopyTile> copies) {
      loop.body.push_back(AwaitBytes{.counter = free(counters, "stage"), .parity = other_parity()});  // nobody reads the stage any more
      if (&copies.front() == copies_.data()) loop.body.push_back(Declare{.what = {"into", kInt, {}}, .value = "stage", .constant = true});
      loop.body.push_back(ExpectBytes{.counter = full(counters, "into"), .bytes = bytes});
      for (const CopyTile& copy : copies) loop.body.insert(loop.body.end(), copy.body.begin(), copy.body.end());
    };
    if (!tiles_.apart) copy_to(tiles_.counters, tiles_.box_bytes, copies_);
    else
      for (const CopyTile& copy : copies_) copy_to(copy.counters, copy.box_bytes, {&copy, 1});
    loop.body.push_back(next_parity());
    loop.body.push_back(Assign{.target = "stage", .value = choose(binary("stage", "==", tiles_.stages - 1), 0, Expression("stage") + 1)});
    return {std::move(loop)};
  }
  /// Adds the statements of the other threads, with those behind the loop.
  void compute(Block rest, Block& out) {
    if (tiles_.turns) begin_turns(out);
    if (tiles_.behind) compute_behind(rest, out);
    else compute_alike(out);
    if (tiles_.turns) end_turns(out);
    bool left = !late();
    for (Statement& statement : rest) {
      const bool awaits = statement.as<AwaitProducts>() != nullptr;
      out.push_back(std::move(statement));
      if (awaits && !std::exchange(left, true)) out.push_back(leave_behind());
    }
  }

 private:
  /// Adds the loop, whose iterations are alike.
  void compute_alike(Block& out) {
    if (late()) out.push_back(Declare{.what = {"behind", kInt, {}}, .value = -1});
    if (tiles_.turns) await_where_needed(loop_.body), take_turns(loop_.body);
    Block ahead, behind;
    if (tiles_.apart) {
      await_apart(loop_.body);
    } else {
      ahead.push_back(AwaitBytes{.counter = full(tiles_.counters, "stage"), .parity = "parity"});
      if (late()) behind.push_back(leave_behind()), behind.push_back(Assign{.target = "behind", .value = "stage"});
      else behind.push_back(leave(tiles_.counters));
    }
    behind.push_back(next_parity());
    close(std::move(ahead), tiles_.stages, std::move(behind));
    loop_.program->tiles = {};
    out.push_back(std::move(loop_));
  }
  /// Adds the loop whose iterations begin a product of the one before: the first iteration stands ahead of it, and that product of the last one behind it, all under one
  /// condition. Where a product begins under a condition and is awaited elsewhere, the compiler awaits it at once (ptxas, C7520).
  void compute_behind(Block& rest, Block& out) {
    Block first = without_behind(loop_.body), last = std::move(rest.front().as<Scope>()->body);
    rest.erase(rest.begin());
    await_late();
    for (Block* const one : {&first, &loop_.body, &last}) await_apart(*one);
    for (Block* const one : {&first, &loop_.body}) take_turns_together(*one);
    const auto own = static_cast<std::ptrdiff_t>(loop_.body.size());
    Block behind{Assign{.target = "stage_behind", .value = "stage"}, Assign{.target = "parity_behind", .value = "parity"}, next_parity()};
    close({}, tiles_.stages, std::move(behind));
    loop_.program->tiles = {};
    first.insert(first.begin(), Declare{.what = {loop_.name, loop_.type, {}}, .value = loop_.begin, .constant = true});
    first.insert(first.end(), loop_.body.begin() + own, loop_.body.end());
    Branch any{.when = loop_.begin < loop_.end, .of_program = true};
    for (const char* const name : {"stage_behind", "parity_behind"}) any.then.push_back(Declare{.what = {name, kInt, {}}, .value = 0});
    any.then.push_back(Scope{std::move(first)});
    loop_.begin = std::move(loop_.begin) + loop_.step;
    any.then.push_back(std::move(loop_));
    std::ranges::move(last, std::back_inserter(any.then));
    out.push_back(std::move(any));
  }
  /// The iteration's statements where there is none before it.
  static Block without_behind(const Block& body) {
    Block out;
    for (const Statement& one : body) {
      const auto* const wait = one.as<AwaitTile>();
      const auto* const freed = one.as<FreeTile>();
      const auto* const products = one.as<AwaitProducts>();
      if ((wait && wait->behind) || is_behind(one)) continue;
      if (freed && freed->behind) out.erase(out.end() - kOfWait, out.end());
      else if (products && products->unfinished > 0) out.push_back(AwaitProducts{products->unfinished - 1});
      else out.push_back(one);
    }
    return out;
  }
  /// The wait for the product of the iteration before, and what keeps its sums. Then its tile is free.
  static constexpr std::ptrdiff_t kOfWait = 2;
  bool late() const { return tiles_.late > 0; }
  /// Returns true if the blocks of a cluster bring each other shares of tiles: who fills a stage fills it in all of them.
  bool shares() const { return kernel_.cluster > 1; }
  Expression full(std::size_t counters, const Expression& stage) const { return Expression("tiles") + counters + Expression(stage) * 8; }
  Expression free(std::size_t counters, const Expression& stage) const {
    return full(counters + 8 * static_cast<std::size_t>(counters_), stage);
  }
  static Expression other_parity() { return group(binary("parity", "^", 1)); }
  Statement next_parity() const {
    return Assign{.target = "parity", .value = choose(binary("stage", "==", tiles_.stages - 1), other_parity(), "parity")};
  }
  /// The group does not read the stage any more.
  Statement leave(std::size_t counters, const char* stage = "stage") const { return Statement(arrive(free(counters, stage)), arrives()); }
  /// One thread of a group says it to the own block, or as many to the cluster's blocks.
  Expression arrives() const { return shares() ? of_group() < kernel_.cluster : first_of_group(); }
  Arrive arrive(Expression counter) const {
    return {.counter = std::move(counter), .block = shares() ? std::optional(of_group()) : std::nullopt};
  }
  /// The stage whose products have been awaited is free.
  Statement leave_behind() const {
    return Statement(arrive(free(tiles_.counters, "behind")), binary(arrives(), "&&", binary("behind", ">=", 0)));
  }
  /// Puts waits and arrivals in place of the marks.
  void await_apart(Block& block) const {
    const auto counters = [&](tile::Id load) { return std::ranges::find(copies_, load, &CopyTile::load)->counters; };
    for (Statement& statement : block) {
      if (const auto* const wait = statement.as<AwaitTile>()) {
        const char *const stage = wait->behind ? "stage_behind" : "stage", *const parity = wait->behind ? "parity_behind" : "parity";
        statement = AwaitBytes{.counter = full(counters(wait->load), stage), .parity = parity};
      } else if (const auto* const freed = statement.as<FreeTile>()) {
        statement = leave(counters(freed->load), freed->behind ? "stage_behind" : "stage");
      }
    }
  }
  /// Moves the wait for the product of the iteration before, with what stands behind it, to where its sums or its operand are named next.
  void await_late() {
    Block& body = loop_.body;
    auto wait = std::ranges::find_if(body, [](const Statement& one) {
      const auto* const awaits = one.as<AwaitProducts>();
      return awaits && awaits->unfinished == 0;
    });
    constexpr std::ptrdiff_t kLength = kOfWait + 1;
    std::set<std::string> busy;
    for (auto one = body.begin(); one != wait; ++one)
      for_each_block(*one, [&](const Block& inner) {
        for_each_statement(inner, [&](const Statement& each) {
          const auto* const product = each.as<MultiplyTile>();
          if (product && product->behind) busy.insert({product->upper.name.str(), product->registers->name.str()});
        });
      });
    auto to = wait + kLength;
    while (to != body.end() && !names(*to, busy)) ++to;
    std::rotate(wait, wait + kLength, to);
  }
  /// Returns true if the statement, or one within, names one of the registers.
  static bool names(const Statement& statement, const std::set<std::string>& registers) {
    bool found = false;
    const auto look = [&](const Statement& one) {
      for_each_expression(one, [&](const Expression& whole) {
        for_each_part(whole, [&](const Expression& e) {
          using Kind = Expression::Kind;
          const bool named = e.kind == Kind::Name || e.kind == Kind::Held || e.kind == Kind::Element;
          found = found || (named && registers.contains(e.name.str()));
        });
      });
    };
    look(statement);
    for_each_block(statement, [&](const Block& inner) { for_each_statement(inner, look); });
    return found;
  }

  // ---- Turns: a group has its own at barrier kFirstTurn + group, from a product of an iteration to one of the next iteration; where that begins
  // both (For::Tiles::behind), until they are on their way, and the last product of all is in nobody's turn.
  int groups() const { return kernel_.team() / kGroup; }
  static Expression turn_of(Expression which) { return Expression(NumberedBarrier::kFirstTurn) + std::move(which); }
  Expression next_group() const { return group(group(Expression("group") + 1) % groups()); }
  Statement await_turn() const { return NumberedBarrier{.number = turn_of("group"), .threads = 2 * kGroup}; }
  Statement give_turn(Condition when = {}) const {
    return {NumberedBarrier{.number = turn_of(next_group()), .threads = 2 * kGroup, .waits = false}, std::move(when)};
  }
  void begin_turns(Block& out) const {
    out.push_back(Note{"Groups of four warps multiply in turn."});
    out.push_back(Declare{.what = {"group", kInt, {}}, .value = thread_index() / kGroup, .constant = true});
    out.push_back(give_turn(binary("group", "==", groups() - 1)));  // the first one begins
    if (!tiles_.behind) out.push_back(await_turn());
  }
  /// Moves the wait for each product, with what stands behind it, to where its sums are named next, or to the end of the iteration: others begin meanwhile.
  static void await_where_needed(Block& block) {
    struct Wait {
      int product = 0;
      std::set<std::string> sums;
      Block behind;
    };
    Block out;
    std::vector<Wait> waits;
    int closed = 0;
    const auto end = [&](std::size_t count) {  // of those that have begun first
      if (count == 0) return;
      out.push_back(AwaitProducts{closed - 1 - waits[count - 1].product});
      for (std::size_t i = 0; i < count; ++i) std::ranges::move(waits[i].behind, std::back_inserter(out));
      waits.erase(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(count));
    };
    bool follows = false;  // a product, or what is free behind it
    for (Statement& statement : block) {
      if (follows && statement.as<FreeTile>()) {
        waits.back().behind.push_back(std::move(statement));
        continue;
      }
      std::size_t needed = 0;
      for (std::size_t i = 0; i < waits.size(); ++i)
        if (names(statement, waits[i].sums)) needed = i + 1;
      end(needed);
      Block* const scope = is_product(statement) ? &statement.as<Scope>()->body : nullptr;
      follows = scope && scope->size() >= kOfWait && scope->back().as<Keep>() && (*scope)[scope->size() - kOfWait].as<AwaitProducts>();
      if (follows) {
        Statement keep = std::move(scope->back());
        scope->erase(scope->end() - kOfWait, scope->end());
        waits.push_back({closed++, {keep.as<Keep>()->value.name.str()}, {}});
        waits.back().behind.push_back(std::move(keep));
      } else if (scope) {
        end(waits.size());  // it awaits its own products
      }
      out.push_back(std::move(statement));
    }
    end(waits.size());
    block = std::move(out);
  }
  /// A group gives the turn to the next one where most is computed between two products, and has it again before the second one of them.
  void take_turns(Block& block) const {
    std::size_t before = block.size(), behind = before, between = 0, most = 0;
    for (std::size_t i = 0, last = before; i < block.size(); ++i) {
      for_each_block(block[i], [&](const Block& inner) { for_each_statement(inner, [&](const Statement&) { ++between; }); });
      if (!is_product(block[i])) continue;
      if (last < i && between > most) most = between, before = last, behind = i;
      last = i, between = 0;
    }
    while (behind > 0 && block[behind - 1].as<AwaitTile>()) --behind;
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(behind), await_turn());
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(before) + 1, give_turn());
  }
  /// A group has the turn for all products of the block.
  void take_turns_together(Block& block) const {
    const auto first = std::ranges::find_if(block, is_product) - block.begin();
    const auto last = std::ranges::find_if(block.rbegin(), block.rend(), is_product).base();
    block.insert(last, give_turn());
    block.insert(block.begin() + first, await_turn());
  }
  /// Gives on the turn that the group has at the end, and behind the last group nobody waits; or the first one takes what the last one gave.
  void end_turns(Block& out) const {
    if (!tiles_.behind) return out.push_back(give_turn(binary("group", "<", groups() - 1)));
    Statement turn = await_turn();
    turn.when = binary("group", "==", 0);
    out.push_back(std::move(turn));
  }

  const Kernel& kernel_;
  const For::Tiles tiles_;
  std::vector<CopyTile> copies_;
  int counters_ = 0;  // of what is full; as many say what is free
};

/// Constants that follow from the instance, parameters, and what is only `read`: threads of both kinds have them.
bool is_shared(const Statement& statement, const std::set<std::string>& own, bool read) {
  const auto* const declare = statement.as<Declare>();
  if (!declare || !declare->constant || !declare->value || !declare->what.sizes.empty() || statement.when) return false;
  bool shared = true;
  for_each_part(*declare->value, [&](const Expression& e) {
    using Kind = Expression::Kind;
    shared = shared && (read || e.kind != Kind::Load) && !(e.kind == Kind::Name && own.contains(e.name.str())) && e.kind != Kind::Held &&
             e.kind != Kind::Element;
  });
  return shared;
}

bool is_ring(const Statement& statement) {
  const auto* const loop = statement.as<For>();
  return loop && loop->program && loop->program->tiles;
}

}  // namespace

void split_roles(Kernel& kernel) {
  if (kernel.copiers == 0) return;
  const auto at = std::ranges::find_if(kernel.body, is_ring);
  if (at == kernel.body.end()) return void((kernel.copiers = 0, kernel.stays = false));
  Block both, own, behind(std::make_move_iterator(at + 1), std::make_move_iterator(kernel.body.end()));
  std::set<std::string> names;  // that only threads that compute have
  bool read = !kernel.stays;
  for (auto one = kernel.body.begin(); one != at; ++one) {
    const auto* const touch = one->as<Touch>();
    read = read && !(touch && touch->writes);
    const bool shared = is_shared(*one, names, read);
    if (const auto* declare = one->as<Declare>(); declare && !shared) names.insert(declare->what.name.str());
    (shared ? both : own).push_back(std::move(*one));
  }
  Splitter splitter(kernel, std::move(*at->as<For>()));
  kernel.begin = splitter.begin(), kernel.end = splitter.end();
  Block copying{Note{"Copies for the others."}, Branch{.when = binary("threadIdx.x", "==", kernel.team()), .then = splitter.copying()}};
  if (kernel.copiers == kGroup) {
    own.insert(own.begin(), MoveRegisters{.count = MoveRegisters::beside(kernel.team(), kernel.copiers), .takes = true});
    copying.insert(copying.begin() + 1, MoveRegisters{.count = MoveRegisters::kLeast});
  }
  splitter.compute(std::move(behind), own);
  both.push_back(Branch{.when = computes(kernel), .then = std::move(own), .otherwise = std::move(copying), .of_program = true});
  kernel.body = std::move(both);
}

void name_team_barriers(Kernel& kernel) {
  if (kernel.copiers == 0) return;
  for (Statement& statement : kernel.body) {
    auto* const branch = statement.as<Branch>();
    if (!branch || !(branch->when == computes(kernel))) continue;
    for_each_statement(branch->then, [&](Statement& one) {
      auto* const barrier = one.as<Barrier>();
      if (barrier && barrier->kind == Barrier::Kind::Block) barrier->kind = Barrier::Kind::Team, barrier->threads = kernel.team();
    });
  }
}

}  // namespace tegula::simt

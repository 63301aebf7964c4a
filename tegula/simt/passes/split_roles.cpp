#include "tegula/simt/passes/split_roles.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/passes/ahead_loop.h"

namespace tegula::simt {

namespace {

constexpr int kWarp = 32;
const Type kInt = computed(DType::i32);

Expression lane() { return group(binary(thread_index(), "&", kWarp - 1)); }
Expression computes(const Kernel& kernel) { return Expression("threadIdx.x") < kernel.team(); }

class Splitter : AheadLoop {
 public:
  Splitter(const Kernel& kernel, For loop) : AheadLoop(std::move(loop)), kernel_(kernel), tiles_(*loop_.program->tiles) {
    find_addresses(tiles_.addresses);
    for (Statement& statement : loop_.body)
      if (const auto* copy = statement.as<CopyTile>()) copies_.push_back(*copy);
    std::erase_if(loop_.body, [](const Statement& statement) { return statement.as<CopyTile>() != nullptr; });
  }

  /// What every block begins with: all stages are free.
  Block begin() const {
    const Expression first = binary("threadIdx.x", "==", 0);
    return {Declare{.what = {"stage", kInt, {}}, .value = 0}, Declare{.what = {"parity", kInt, {}}, .value = 0},
            Statement(BeginCounters{.place = full(0), .count = tiles_.stages}, first),
            Statement(BeginCounters{.place = free(0), .count = tiles_.stages, .arrivals = kernel_.team() / kWarp}, first), Barrier{}};
  }
  /// Of the thread that copies.
  Block copying() const {
    For loop{.type = loop_.type, .name = loop_.name, .begin = loop_.begin, .end = loop_.end, .step = loop_.step, .body = {}, .program = {}};
    loop.body = addresses_;
    loop.body.push_back(AwaitBytes{.counter = free("stage"), .parity = other_parity()});  // nobody reads the stage any more
    loop.body.push_back(Declare{.what = {"into", kInt, {}}, .value = "stage", .constant = true});
    loop.body.push_back(ExpectBytes{.counter = full("into"), .bytes = tiles_.box_bytes});
    for (const CopyTile& copy : copies_) loop.body.insert(loop.body.end(), copy.body.begin(), copy.body.end());
    loop.body.push_back(next_parity());
    loop.body.push_back(Assign{.target = "stage", .value = choose(binary("stage", "==", tiles_.stages - 1), 0, Expression("stage") + 1)});
    return {std::move(loop)};
  }
  /// Of the others, with what stands behind the loop.
  void compute(Block rest, Block& out) {
    if (late()) out.push_back(Declare{.what = {"behind", kInt, {}}, .value = -1});
    Block behind;
    if (late()) behind.push_back(leave_behind()), behind.push_back(Assign{.target = "behind", .value = "stage"});
    else behind.push_back(Statement(Arrive{free("stage")}, binary(lane(), "==", 0)));
    behind.push_back(next_parity());
    Block ahead;
    ahead.push_back(AwaitBytes{.counter = full("stage"), .parity = "parity"});
    close(std::move(ahead), tiles_.stages, std::move(behind));
    const bool was_late = late();
    loop_.program->tiles = {};
    out.push_back(std::move(loop_));
    bool left = !was_late;
    for (Statement& statement : rest) {
      const bool awaits = statement.as<AwaitProducts>() != nullptr;
      out.push_back(std::move(statement));
      if (awaits && !std::exchange(left, true)) out.push_back(leave_behind());
    }
  }

 private:
  bool late() const { return tiles_.late > 0; }
  Expression full(const Expression& stage) const { return counter(stage, 0); }
  Expression free(const Expression& stage) const { return counter(stage, tiles_.stages); }
  Expression counter(const Expression& stage, int first) const {
    const Expression begin = Expression("tiles") + (tiles_.counters + 8 * static_cast<std::size_t>(first));
    return stage.kind == Expression::Kind::Integer && stage.integer == 0 ? begin : begin + Expression(stage) * 8;
  }
  static Expression other_parity() { return group(binary("parity", "^", 1)); }
  Statement next_parity() const {
    return Assign{.target = "parity", .value = choose(binary("stage", "==", tiles_.stages - 1), other_parity(), "parity")};
  }
  /// The stage whose products have been awaited is free.
  Statement leave_behind() const {
    return Statement(Arrive{free("behind")}, binary(binary(lane(), "==", 0), "&&", binary("behind", ">=", 0)));
  }

  const Kernel& kernel_;
  const For::Tiles tiles_;
  std::vector<CopyTile> copies_;
};

/// Constants that follow from the instance and parameters: threads of both kinds have them.
bool is_shared(const Statement& statement, const std::set<std::string>& own) {
  const auto* const declare = statement.as<Declare>();
  if (!declare || !declare->constant || !declare->value || !declare->what.sizes.empty() || statement.when) return false;
  bool shared = true;
  for_each_part(*declare->value, [&](const Expression& e) {
    using Kind = Expression::Kind;
    shared = shared && e.kind != Kind::Load && !(e.kind == Kind::Name && own.contains(e.name.str())) && e.kind != Kind::Held &&
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
  if (at == kernel.body.end()) return void(kernel.copiers = 0);
  Block both, own, behind(std::make_move_iterator(at + 1), std::make_move_iterator(kernel.body.end()));
  std::set<std::string> names;  // that only threads that compute have
  for (auto one = kernel.body.begin(); one != at; ++one) {
    const bool shared = is_shared(*one, names);
    if (const auto* declare = one->as<Declare>(); declare && !shared) names.insert(declare->what.name.str());
    (shared ? both : own).push_back(std::move(*one));
  }
  Splitter splitter(kernel, std::move(*at->as<For>()));
  kernel.begin = splitter.begin();
  Block copying{Note{"Copies for the others."}, Branch{.when = binary("threadIdx.x", "==", kernel.team()), .then = splitter.copying()}};
  splitter.compute(std::move(behind), own);
  both.push_back(Branch{.when = computes(kernel), .then = std::move(own), .otherwise = std::move(copying), .of_program = true});
  kernel.body = std::move(both);
}

void name_team_barriers(Kernel& kernel) {
  if (kernel.copiers == 0) return;
  for (Statement& statement : kernel.body) {
    auto* const branch = statement.as<Branch>();
    if (!branch || !(branch->when == computes(kernel))) continue;
    for_each_statement(branch->then, [](Statement& one) {
      auto* const barrier = one.as<Barrier>();
      if (barrier && barrier->kind == Barrier::Kind::Block) barrier->kind = Barrier::Kind::Team;
    });
  }
}

}  // namespace tegula::simt

#include "tegula/simt/verify/stores.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

namespace {

constexpr int kWarp = 32, kTimes = 2;  // of a loop of the program, and of instances

bool has_stores(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& one) { found = found || one.as<StoreBox>() != nullptr; });
  return found;
}

class Warp : Numbers {
 public:
  Warp(const Kernel& kernel, std::set<std::string>& faults) : faults_(faults) {
    known_["threadIdx.x"] = 0;
    for (int i = 0; i < (kernel.stays ? kTimes : 1); ++i) walk(kernel.body);
    if (!std::ranges::all_of(boxes_, &Box::awaited)) faults_.insert("a block may end before the copy engine has taken its boxes");
  }

 private:
  struct Written {  // what threads wrote
    bool fenced = false, met = false;  // met: behind the fence
  };
  struct Box {
    std::int64_t begin = 0, end = 0;
    int group = 0;
    bool awaited = false;
  };

  void walk(const Block& block) {
    for (const Statement& statement : block) follow(statement);
  }
  void follow(const Statement& statement) {
    if (const auto* store = statement.as<StoreBox>()) return take(*store, statement);
    if (statement.as<CloseStores>()) return void(++group_);
    if (const auto* wait = statement.as<AwaitStores>()) return await(*wait, statement);
    if (const auto* write = statement.as<WriteMatrices>()) return put(write->place);
    if (const auto* store = statement.as<StoreWide>()) return put(store->pointer);
    if (const auto* store = statement.as<StoreOne>()) return put(store->pointer);
    if (const auto* copy = statement.as<CopyAhead>()) return put(copy->place);
    if (statement.as<FenceTiles>()) {
      for (auto& [place, one] : written_) one.fenced = true;
      return;
    }
    if (statement.as<Barrier>()) return meet();
    if (const auto* barrier = statement.as<NumberedBarrier>()) return barrier->waits ? meet() : void();
    if (const auto* one = statement.as<Declare>()) {
      if (one->value) learn(one->what.name, *one->value);
      else known_.erase(one->what.name.str());
    } else if (const auto* one = statement.as<Assign>()) {
      if (one->target.kind == Expression::Kind::Name && !statement.when) learn(one->target.name, one->value);
    } else if (const auto* branch = statement.as<Branch>()) {
      const auto when = value(branch->when);
      if (when.value_or(1) != 0) walk(branch->then);
      if (when.value_or(0) == 0) walk(branch->otherwise);
    } else if (const auto* loop = statement.as<Loop>()) {
      const bool stores = has_stores(loop->body);
      for (std::int64_t i = loop->begin; i < (stores ? loop->end : loop->begin + 1); ++i) known_[loop->name.str()] = i, walk(loop->body);
    } else if (const auto* loop = statement.as<For>()) {
      for (int i = 0; i < kTimes; ++i) walk(loop->body);
    } else {
      for_each_block(statement, [&](const Block& inner) { walk(inner); });
    }
  }

  /// Lanes that do it; the first one must be among them.
  int lanes_of(const Statement& statement) {
    int lanes = 0;
    for (int lane = 0; lane < kWarp; ++lane) {
      known_["threadIdx.x"] = lane;
      lanes += !statement.when || value(*statement.when).value_or(1) != 0;
    }
    known_["threadIdx.x"] = 0;
    return statement.when && value(*statement.when).value_or(1) == 0 ? 0 : lanes;
  }
  void put(const Expression& to) {
    const auto place = value(to);
    if (!place || *place < kTiles) return;
    for (const Box& box : boxes_)
      if (*place >= box.begin && *place < box.end) faults_.insert("a box is written to while the copy engine may still read it");
    written_[*place] = {};
  }
  void meet() {
    for (auto& [place, one] : written_) one.met = one.fenced;
    std::erase_if(boxes_, [](const Box& box) { return box.awaited; });
  }
  void take(const StoreBox& store, const Statement& statement) {
    if (lanes_of(statement) != 1) faults_.insert("it is not one thread that has a box taken");
    const auto place = value(store.place);
    if (!place) return void(faults_.insert("it is not known where a box is taken from"));
    const Box box{.begin = *place, .end = *place + std::int64_t{store.box_rows} * store.pitch, .group = group_};
    bool any = false;
    for (auto one = written_.lower_bound(box.begin); one != written_.end() && one->first < box.end; ++one) {
      any = true;
      if (!one->second.fenced) faults_.insert("the copy engine takes a box that no fence stands behind");
      else if (!one->second.met) faults_.insert("the copy engine takes a box before threads have met behind their fences");
    }
    if (!any) faults_.insert("the copy engine takes a box that nothing was written to");
    boxes_.push_back(box);
  }
  void await(const AwaitStores& wait, const Statement& statement) {
    if (lanes_of(statement) == 0) return;
    for (Box& box : boxes_) box.awaited = box.awaited || box.group < group_ - wait.unfinished;
  }

  std::set<std::string>& faults_;
  std::map<std::int64_t, Written> written_;  // by place: since threads met last, or before
  std::vector<Box> boxes_;
  int group_ = 0;  // closed ones
};

}  // namespace

void check_stores(const Kernel& kernel, std::set<std::string>& faults) {
  if (has_stores(kernel.body)) Warp(kernel, faults);
}

}  // namespace tegula::simt

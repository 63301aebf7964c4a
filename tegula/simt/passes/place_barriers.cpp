#include "tegula/simt/passes/place_barriers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

using tile::Id;

constexpr Id kEarlier = -2;  // whatever pointer it was, in this iteration it points elsewhere

class Placement {
 public:
  explicit Placement(int cluster) : cluster_(cluster) {}

  void place(Block& block) { walk(block, true); }

 private:
  using Touched = std::map<Id, std::set<Id>>;  // by root: pointers

  static bool marks(const Statement& statement) {
    return statement.as<Touch>() || statement.as<MeetCluster>() || statement.as<UseRing>() || statement.as<OpenRing>();
  }
  /// Follows the block; `places`: puts barriers where the marks are.
  void walk(Block& block, bool places) {
    if (!places || std::ranges::none_of(block, marks)) {
      for (Statement& statement : block) follow(statement, places ? &block : nullptr);
      return;
    }
    Block out;
    out.reserve(block.size());
    for (Statement& statement : block) {
      follow(statement, &out);
      if (!marks(statement)) out.push_back(std::move(statement));
    }
    block = std::move(out);
  }

  void follow(Statement& statement, Block* out) {
    if (const auto* touch = statement.as<Touch>()) return access(*touch, out);
    if (statement.as<MeetCluster>()) return meet_cluster(out);
    if (const auto* use = statement.as<UseRing>()) {
      ring_is_read_ = !ring_.empty() && ring_ != use->layout;
    } else if (statement.as<OpenRing>()) {
      if (ring_is_read_ && out != nullptr) out->push_back(Barrier{});
    } else if (const auto* barrier = statement.as<Barrier>()) {
      if (barrier->frees_ring) free_ring();
    } else if (const auto* combine = statement.as<Combine>()) {
      if (combine->meets) have_met();
    } else if (auto* loop = statement.as<For>(); loop && loop->program) {
      follow_loop(*loop, out != nullptr);
    } else if (auto* branch = statement.as<Branch>(); branch && branch->of_program) {
      follow_branch(*branch, out != nullptr);
    } else if (!statement.as<Loop>() && !statement.as<EachOfVector>()) {  // over registers: no thread waits there
      for_each_block(statement, [&](Block& inner) { walk(inner, out != nullptr); });
    }
  }

  void follow_loop(For& loop, bool places) {
    const Touched reads = read_, writes = written_;
    const std::string ring = ring_, &own = loop.program->ring;
    rings_open_ += !own.empty();
    for (const bool second : {false, true}) {
      walk(loop.body, places && second);
      for (Touched* touched : {&read_, &written_}) {
        for (auto& [root, pointers] : *touched) {
          std::set<Id> earlier;
          for (const Id pointer : pointers) earlier.insert(loop.program->moving.contains(pointer) ? pointer : kEarlier);
          pointers = std::move(earlier);
        }
      }
    }
    rings_open_ -= !own.empty();
    if (!own.empty()) ring_ = own;
    else if (ring_.empty()) ring_ = ring;  // there may be no iteration
    join(reads, writes);
  }

  void follow_branch(Branch& branch, bool places) {
    const Touched reads = read_, writes = written_;
    const std::string ring = ring_;
    bool stays = true;
    for (Block* side : {&branch.then, &branch.otherwise}) {
      ring_ = ring;
      walk(*side, places);
      stays = stays && ring_ == ring;
    }
    ring_ = stays ? ring : "of one side";
    join(reads, writes);
  }

  void join(const Touched& reads, const Touched& writes) {
    for (const auto& [root, pointers] : reads) read_[root].insert(pointers.begin(), pointers.end());
    for (const auto& [root, pointers] : writes) written_[root].insert(pointers.begin(), pointers.end());
  }

  /// A thread's write is read by another thread only after a barrier, and is not overwritten before. Different parameters may share memory only
  /// if every element is read and written by one thread: at the same place of one tile.
  void access(const Touch& touch, Block* out) {
    const auto clashes = [&](const Touched& touched) {
      for (const auto& [other, pointers] : touched) {
        if (other != touch.root && other >= 0 && touch.root >= 0) continue;
        for (const Id one : pointers)
          if (one != touch.pointer || touch.shared_place) return true;
      }
      return false;
    };
    if (clashes(written_) || (touch.writes && (clashes(read_) || (touch.shared_place && read_by_many_)))) {
      meet_cluster(out);
      if (out != nullptr) out->push_back(Barrier{.kind = cluster_ > 1 ? Barrier::Kind::Cluster : Barrier::Kind::Block});
      have_met();
    }
    (touch.writes ? written_ : read_)[touch.root].insert(touch.pointer);
    if (!touch.writes) read_by_many_ = read_by_many_ || touch.shared_place;
  }

  void meet_cluster(Block* out) {
    if (cluster_ == 1 || cluster_runs_) return;
    if (out == nullptr) return;
    cluster_runs_ = true;
    out->push_back(Barrier{.kind = Barrier::Kind::ClusterWait});
  }

  /// All threads of the block are at the same place.
  void have_met() {
    read_.clear();
    written_.clear();
    read_by_many_ = false;
    free_ring();
  }
  void free_ring() {
    if (rings_open_ == 0) ring_.clear();
  }

  int cluster_;
  Touched read_, written_;  // since all threads have met
  bool read_by_many_ = false;  // since then: the same place by several threads
  std::string ring_;  // its layout in the last loop that had it, unless all threads have met since
  bool ring_is_read_ = false;
  int rings_open_ = 0;
  bool cluster_runs_ = false;
};

}  // namespace

/// The blocks that share terms of a product meet where its sums come together, and nowhere else.
void place_barriers(Kernel& kernel) { Placement(kernel.groups ? 1 : kernel.cluster).place(kernel.body); }

}  // namespace tegula::simt

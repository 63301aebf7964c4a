#include "tegula/simt/verify/turns.h"

#include <map>
#include <optional>
#include <vector>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/verify/numbers.h"

namespace tegula::simt {

namespace {

constexpr int kWarp = 32;

struct Coming {
  std::int64_t number = 0;
  int threads = 0;
  bool waits = false;
  bool operator==(const Coming&) const = default;
};

bool has_barriers(const Block& block) {
  bool found = false;
  for_each_statement(block, [&](const Statement& one) { found = found || one.as<NumberedBarrier>() != nullptr; });
  return found;
}

/// Follows the first thread of a warp to its barriers, if loops of the program go round so many times.
class Follower : Numbers {
 public:
  Follower(const Kernel& kernel, int warp, int times, std::set<std::string>& faults) : times_(times), faults_(faults) {
    known_["threadIdx.x"] = warp * kWarp;
    walk(kernel.begin);
    walk(kernel.body);
  }
  const std::vector<Coming>& comings() const { return comings_; }

 private:
  void walk(const Block& block) {
    for (const Statement& statement : block) {
      if (left_) return;
      follow(statement);
    }
  }
  void follow(const Statement& statement) {
    if (const auto* barrier = statement.as<NumberedBarrier>()) {
      const auto number = value(barrier->number), here = statement.when ? value(*statement.when) : std::optional<std::int64_t>(1);
      if (!number || !here) faults_.insert("it is not known which warps come to a numbered barrier");
      else if (*here != 0) comings_.push_back({*number, barrier->threads, barrier->waits});
    } else if (statement.as<Leave>()) {
      left_ = !statement.when || value(*statement.when).value_or(0) != 0;
    } else if (const auto* declare = statement.as<Declare>()) {
      if (declare->value) learn(declare->what.name, *declare->value);
      else known_.erase(declare->what.name.str());
    } else if (const auto* branch = statement.as<Branch>(); branch && loop_behind_first(*branch)) {
      without_first_ = loop_behind_first(*branch);
      walk(times_ > 0 ? branch->then : branch->otherwise);
    } else if (branch) {
      const auto when = value(branch->when);
      if (!when && (has_barriers(branch->then) || has_barriers(branch->otherwise)))
        faults_.insert("it is not known which warps come to a numbered barrier");
      if (when.value_or(1) != 0) walk(branch->then);
      if (when.value_or(0) == 0) walk(branch->otherwise);
    } else if (const auto* loop = statement.as<For>()) {
      for (int i = loop == without_first_; i < times_; ++i) walk(loop->body);
    } else {
      for_each_block(statement, [&](const Block& inner) { walk(inner); });
    }
  }

  const int times_;
  std::set<std::string>& faults_;
  std::vector<Coming> comings_;
  const For* without_first_ = nullptr;  // the loop of an open branch, of which one iteration stands ahead
  bool left_ = false;
};

/// All warps; the one that can go on does, from the first or from the last one on.
class Meetings {
 public:
  Meetings(const std::vector<std::vector<Coming>>& warps, std::set<std::string>& faults)
      : warps_(warps),
        at_(warps.size()),
        waits_(warps.size()),
        faults_(faults) {}

  void run(bool from_last) {
    for (bool any = true; any;) {
      any = false;
      for (std::size_t i = 0; i < warps_.size(); ++i) any = go_on(from_last ? warps_.size() - 1 - i : i) || any;
    }
    for (std::size_t i = 0; i < warps_.size(); ++i)
      if (waits_[i]) faults_.insert("a warp waits for ever at a numbered barrier");
    for (const auto& [number, meeting] : meetings_)
      if (!meeting.warps.empty()) faults_.insert("a warp comes to a numbered barrier that nobody waits at any more");
  }

 private:
  struct Meeting {
    std::set<std::size_t> warps;
    int threads = 0;
  };
  /// Follows the warp until it waits.
  bool go_on(std::size_t warp) {
    bool any = false;
    while (!waits_[warp] && at_[warp] < warps_[warp].size()) come(warp, warps_[warp][at_[warp]++]), any = true;
    return any;
  }
  void come(std::size_t warp, const Coming& coming) {
    Meeting& meeting = meetings_[coming.number];
    if (!meeting.warps.insert(warp).second) faults_.insert("a warp comes twice to a numbered barrier before the others");
    meeting.threads += kWarp;
    if (coming.waits) waits_[warp] = true, waiting_[coming.number].insert(warp);
    if (meeting.threads < coming.threads) return;
    for (const std::size_t other : waiting_[coming.number]) waits_[other] = false;
    waiting_[coming.number].clear(), meeting = {};
  }

  const std::vector<std::vector<Coming>>& warps_;
  std::vector<std::size_t> at_;
  std::vector<bool> waits_;
  std::set<std::string>& faults_;
  std::map<std::int64_t, Meeting> meetings_;
  std::map<std::int64_t, std::set<std::size_t>> waiting_;
};

}  // namespace

void check_turns(const Kernel& kernel, std::set<std::string>& faults) {
  if (!has_barriers(kernel.body)) return;
  for (const int times : {0, 1, 2, 5}) {
    std::vector<std::vector<Coming>> warps;
    for (int warp = 0; warp < kernel.threads() / kWarp; ++warp) warps.push_back(Follower(kernel, warp, times, faults).comings());
    for (const bool from_last : {false, true}) Meetings(warps, faults).run(from_last);
  }
}

}  // namespace tegula::simt

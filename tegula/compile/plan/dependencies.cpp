// Which steps must wait for which, by the memory they touch.

#include <algorithm>
#include <functional>
#include <map>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {
namespace {

/// A stretch of memory in one of several address spaces: the arena, leaves, results.
struct Range {
  Storage::Kind space;
  int index;
  std::size_t begin, end;
};

struct Touched {
  std::vector<Range> reads, writes;
};

class Ranges {
 public:
  explicit Ranges(const Plan& plan) : plan_(plan) {}

  Touched of(const Step& step) const {
    Touched out;
    for (int item : step.reads) add(item, out.reads);
    for (int item : step.writes) add(item, out.writes);
    for (int scratch : step.scratch) {
      const auto s = static_cast<std::size_t>(scratch);
      out.writes.push_back(
          {Storage::Kind::Arena, 0, plan_.scratch_offsets[s], plan_.scratch_offsets[s] + std::max<std::size_t>(plan_.scratch_bytes[s], 1)});
    }
    return out;
  }

 private:
  void add(int item, std::vector<Range>& to) const {
    Storage storage = plan_.storage[static_cast<std::size_t>(item)];
    if (storage.kind == Storage::Kind::None) return;
    // A Variable's new value lies where the old one does.
    if (storage.kind == Storage::Kind::Update)
      storage = {Storage::Kind::Leaf, plan_.graph.updates[static_cast<std::size_t>(storage.index)].leaf, 0};
    const std::size_t bytes = storage.kind == Storage::Kind::Leaf ? 1 : std::max<std::size_t>(bytes_of(plan_.graph[item]), 1);
    to.push_back({storage.kind, storage.index, storage.offset, storage.offset + bytes});
  }

  const Plan& plan_;
};

/// Of one address space: for each stretch, who wrote it last and who has read it since.
class AddressSpace {
 public:
  void read(const Range& range, int step, std::vector<int>& waits) {
    each_stretch(range, [&](Stretch& stretch) {
      if (stretch.writer >= 0 && stretch.writer != step) waits.push_back(stretch.writer);
      if (stretch.readers.empty() || stretch.readers.back() != step) stretch.readers.push_back(step);
    });
  }
  void write(const Range& range, int step, std::vector<int>& waits) {
    each_stretch(range, [&](Stretch& stretch) {
      if (stretch.writer >= 0 && stretch.writer != step) waits.push_back(stretch.writer);
      for (const int reader : stretch.readers) {
        if (reader != step) waits.push_back(reader);
      }
      stretch.writer = step;
      stretch.readers.clear();
    });
  }

 private:
  struct Stretch {
    int writer = -1;
    std::vector<int> readers;
  };
  // Stretches begin at the keys, each ends where the next begins; those that the range cuts become two.
  void cut(std::size_t at) {
    auto behind = stretches_.upper_bound(at);
    if (behind == stretches_.begin()) stretches_.emplace(at, Stretch{});
    else if (--behind; behind->first != at) stretches_.emplace(at, Stretch(behind->second));
  }
  template <class Visit>
  void each_stretch(const Range& range, Visit visit) {
    cut(range.begin), cut(range.end);
    for (auto it = stretches_.find(range.begin); it->first != range.end; ++it) visit(it->second);
  }

  std::map<std::size_t, Stretch> stretches_;
};

/// Of each of the last steps, which steps come before it, directly or not. Of older ones nothing is known any more.
class Before {
 public:
  explicit Before(int step)
      : first_(step < kWindow ? 0 : static_cast<std::size_t>(step - kWindow) / 64),
        words_(static_cast<std::size_t>(step) / 64 + 1 - first_) {}
  bool has(int step) const {
    const std::size_t word = static_cast<std::size_t>(step) / 64;
    return word >= first_ && (words_[word - first_] >> (step % 64) & 1u) != 0;
  }
  void add(int step, const Before& its) {
    const std::size_t word = static_cast<std::size_t>(step) / 64;
    if (word >= first_) words_[word - first_] |= std::uint64_t{1} << (step % 64);
    for (std::size_t w = std::max(first_, its.first_); w < its.first_ + its.words_.size(); ++w)
      words_[w - first_] |= its.words_[w - its.first_];
  }
  void forget() { words_ = {}; }
  static constexpr int kWindow = 1 << 14;  // steps: so that time and memory grow with their number, not with its square

 private:
  std::size_t first_;
  std::vector<std::uint64_t> words_;
};

}  // namespace

std::vector<std::vector<int>> dependencies(const Plan& plan) {
  const Ranges ranges(plan);
  std::map<std::pair<Storage::Kind, int>, AddressSpace> spaces;
  std::vector<int> checks;
  std::vector<Before> before;
  std::vector<std::vector<int>> out;
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const Step& step = plan.steps[static_cast<std::size_t>(s)];
    std::vector<int> waits;
    if (step.guarded) waits = checks;
    const Touched touched = ranges.of(step);
    for (const Range& range : touched.reads) spaces[{range.space, range.index}].read(range, s, waits);
    for (const Range& range : touched.writes) spaces[{range.space, range.index}].write(range, s, waits);
    if (step.checks) checks.push_back(s);
    std::ranges::sort(waits, std::greater());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    std::vector<int> direct;
    before.emplace_back(s);
    for (const int e : waits) {
      if (before.back().has(e)) continue;
      direct.push_back(e);
      before.back().add(e, before[static_cast<std::size_t>(e)]);
    }
    if (s >= Before::kWindow) before[static_cast<std::size_t>(s - Before::kWindow)].forget();
    std::reverse(direct.begin(), direct.end());
    out.push_back(std::move(direct));
  }
  return out;
}

}  // namespace tegula::compile

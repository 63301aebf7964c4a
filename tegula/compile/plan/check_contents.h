#pragma once
// The contents of memory while the checker walks a plan: which value each place of the arena, each leaf and each result holds.

#include <map>
#include <span>
#include <tuple>

#include "tegula/compile/plan/plan.h"

namespace tegula::compile {

/// An interval of the arena, or a whole leaf or result. A Variable's new value has the place of the old one. A piece of a join has the span of
/// the whole join, and [first, last): its elements, counted piece by piece.
struct Span {
  Storage::Kind space = Storage::Kind::None;
  int index = 0;
  std::size_t begin = 0, end = 1;
  int tenant = -1;  // the outermost join, or the value or scratch itself
  std::int64_t first = 0, last = 1;
  auto key() const { return std::tuple(space, index, begin, end); }
  bool meets(const Span& o) const {
    if (tenant == o.tenant && (first >= o.last || o.first >= last)) return false;
    return space == o.space && index == o.index && begin < o.end && o.begin < end;
  }
};

/// A holder is an item, or a scratch buffer behind all items.
class Contents {
 public:
  Contents(const Plan& plan, std::span<const Place> places);

  bool holds(const Span& span, int holder) const;
  /// A holder that lies there; -1: the old value of a Variable, -2: nothing.
  int found_at(const Span& span) const;
  /// Puts `holder` there and removes what lay there, except other pieces of the same join.
  void write(const Span& span, int holder);

  /// The item, and the joins that it is a piece of.
  template <class Visit>
  void each_around(int holder, Visit visit) const {
    for (; holder >= 0; holder = holder < graph_.size() ? graph_[holder].within->whole : -1) visit(holder);
  }

 private:
  struct Held {
    std::size_t begin, end;
    int tenant;
  };
  const Held* first_at(const Span& span) const;
  int tenant_of(const Span& span) const;
  void move_in(const Span& span);
  bool is_whole(int holder) const { return there_[index(holder)] == elements(holder); }
  std::int64_t elements(int holder) const { return holder < graph_.size() ? numel(graph_[holder].shape) : 1; }

  const Graph& graph_;
  std::map<int, std::vector<int>> members_;  // of each item that has a place of its own: it, its pieces and theirs
  std::vector<std::int64_t> there_;  // of each holder: how many of its elements lie in its place
  std::map<std::pair<Storage::Kind, int>, std::map<std::size_t, Held>> spaces_;  // what has moved in, by its begin
};

}  // namespace tegula::compile

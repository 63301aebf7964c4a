#include "tegula/compile/passes/fusion/fuse.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "tegula/compile/passes/fusion/topological_order.h"

namespace tegula::compile {
namespace {

constexpr int kMostCarried = 4;  // sums over all rows in one program: they take registers
constexpr int kMostTries = 64;  // groups with a common operand that cannot join one, before it is left alone
constexpr std::int64_t kSmallDomain = 1 << 17;  // elements: half a megabyte, which one core walks again faster than two share it out

struct ByDomain {
  bool operator()(const std::pair<Shape, int>& a, const std::pair<Shape, int>& b) const {
    return a.second != b.second ? a.second < b.second
                                : std::lexicographical_compare(a.first.begin(), a.first.end(), b.first.begin(), b.first.end());
  }
};

class Fuser {
 public:
  Fuser(const Graph& graph, runtime::Device& device) : graph_(graph), tiles_(device.tiles()), writers_(writers_over_leaves(graph)) {}

  Fusion run() {
    fusion_.through = through_views(graph_);
    fusion_.members.resize(graph_.items.size());
    late_.resize(graph_.items.size());
    for (int i = 0; i < graph_.size(); ++i) {
      node_of_.push_back(-1);
      switch (graph_[i].role()) {
        case Role::Elementwise: place_elementwise(i); break;
        case Role::Reduce: place_reduction(i); break;
        case Role::Library:
        case Role::Kernel: new_unit(i); break;
        case Role::Part: node_of_.back() = node_of(graph_[i].inputs[0]); break;
        default: break;
      }
      if (has_check(graph_[i])) checks_.push_back(i);
    }
    merge_siblings();
    mark_stored(graph_, fusion_);
    return std::move(fusion_);
  }

 private:
  const Through& through(int item) const { return fusion_.through[index(item)]; }
  const Membership& membership(int item) const { return fusion_.members[index(item)]; }
  Membership& membership(int item) { return fusion_.members[index(item)]; }
  const FusedGroup& fused(int group) const { return fusion_.groups[index(group)]; }
  FusedGroup& fused(int group) { return fusion_.groups[index(group)]; }
  int& node_of(int item) { return node_of_[index(item)]; }
  int node_of_group(int group) const { return node_of_group_[index(group)]; }

  // ---- Dependence between nodes: groups, and items that are calls.
  int new_unit(int item) {
    const int node = order_.add();
    node_of(item) = node;
    each_needed(item, [&](int needed) { order_.need(node, needed); });
    // Writers over a Variable's old value come after all checks (Orderer).
    if (writers_[index(item)]) {
      for (const int check : checks_) order_.need(node, node_of(check));
    }
    return node;
  }

  // The nodes whose results `item` reads; views pass on what their inputs (also those waited for) need.
  template <class Visit>
  void each_needed(int item, Visit visit) {
    for (int input : graph_[item].inputs) {
      each_behind_views(graph_, input, [&](int base) {
        if (const int node = node_of(base); node >= 0) visit(node);
      });
    }
  }

  // True if `item` may run inside `node`: no operand from elsewhere may depend on the node.
  bool acyclic(int item, int node) {
    bool free = true;
    each_needed(item, [&](int needed) { free = free && (needed == node || !order_.reaches(node, needed)); });
    return free;
  }

  void join(int item, int group, Space space, const AxisMap& axes) {
    const int node = node_of_group(group);
    each_needed(item, [&](int needed) { order_.need(node, needed); });
    node_of(item) = node;
    operands_[index(group)] += operands(graph_[item]);
    fused(group).items.push_back(item);
    membership(item) = {group, space, axes};
  }
  bool has_room(int item, int group) const { return operands_[index(group)] + operands(graph_[item]) <= kMostOperands; }

  int new_group(const Shape& domain) {
    node_of_group_.push_back(order_.add());
    operands_.push_back(0);
    fusion_.groups.push_back({{}, domain, {}, false, {}});
    return static_cast<int>(fusion_.groups.size()) - 1;
  }

  // ---- Elementwise items.
  // How `item` could sit in the group of one of its producers; None when it cannot.
  Membership member_in(int item, int input) const {
    const Through& seen = through(input);
    const Membership& producer = membership(seen.base);
    if (producer.group < 0 || !seen.plain) return {};
    const FusedGroup& group = fused(producer.group);
    const Shape& shape = graph_[item].shape;
    const bool broadcast_scalar = graph_[input].shape.rank() == 0 && shape.rank() != 0;
    AxisMap axes{};  // domain axis behind each axis of the item
    for (int i = 0; i < shape.rank(); ++i) {
      const int base_axis = broadcast_scalar ? -1 : seen.axes[index(i)];
      axes[index(i)] = base_axis < 0 ? -1 : producer.axes[index(base_axis)];
    }
    if (shape == group.domain) {
      bool aligned = true;
      for (int i = 0; i < shape.rank(); ++i) aligned = aligned && (axes[index(i)] == i || axes[index(i)] < 0);
      // An axis of size 1 runs over itself; a broadcast axis of a Full value would have to be re-read elsewhere.
      if (aligned && producer.space == Space::Full) {
        for (int i = 0; i < shape.rank(); ++i) aligned = aligned && (axes[index(i)] == i || shape[i] == 1);
      }
      if (producer.space == Space::Across || (producer.space == Space::Reduced && !group.has_reduction)) aligned = false;
      if (aligned) return {producer.group, Space::Full, kSameAxes};
    }
    if (producer.space == Space::Reduced || producer.space == Space::Across) {
      int last = -1;
      std::int64_t covered = 1;
      for (int i = 0; i < shape.rank(); ++i) {
        const int axis = axes[index(i)];
        if (axis < 0 && shape[i] != 1) return {};
        if (axis < 0) continue;
        if (axis <= last) return {};
        last = axis;
        covered *= shape[i];
      }
      if (covered == numel(graph_[seen.base].shape)) return {producer.group, producer.space, axes};
    }
    return {};
  }

  // The axis along which neighbours lie side by side in the group's largest operands and results.
  int innermost_axis(const FusedGroup& group) const {
    const auto smallest_stride = [&](const Layout& layout) {
      int best = -1;
      for (int i = 0; i < group.domain.rank(); ++i) {
        if (group.domain[i] == 1) continue;
        if (layout.strides[i] == 0) return -1;  // does not run over the whole domain
        if (best < 0 || std::abs(layout.strides[i]) <= std::abs(layout.strides[best])) best = i;
      }
      return best;
    };
    for (int item : group.items) {
      if (graph_[item].shape == group.domain && !graph_[item].order.empty()) return smallest_stride(layout_of(graph_[item]));
      for (int input : graph_[item].inputs) {
        if (graph_[input].shape != group.domain) continue;
        const Place& place = graph_.place(input);
        if (!graph_[place.value].in_memory()) continue;
        if (const int axis = smallest_stride(place.layout); axis >= 0) return axis;
      }
    }
    return group.domain.rank() - 1;
  }

  // Full work after a reduction keeps the reduced extent in one program instance: only when there are enough instances, or little work.
  // Rows are walked as memory is; an instance that reduces other axes takes strips of `columns`, and needs more company to be worth it.
  bool may_follow_reduction(const FusedGroup& group) const {
    const std::int64_t all = numel(group.domain);
    std::int64_t extent = 1;
    for (auto axis : group.reduced) extent *= group.domain[static_cast<int>(axis)];
    if (all <= kSmallDomain) return true;
    if (extent == 0 || extent > kLongestReduction) return false;
    const int innermost = innermost_axis(group);
    const std::int64_t instances = all / extent;
    if (group.reduced.contains(innermost)) return instances / std::max<std::int64_t>(1, tiles_.elements / extent) >= kEnoughInstances;
    const std::int64_t strips = instances / std::clamp<std::int64_t>(group.domain[innermost], 1, tiles_.strips.columns);
    return strips >= std::max(kEnoughInstances, tiles_.instances / 4);
  }

  bool after_reduction(int item, int group) const {
    for (int input : graph_[item].inputs) {
      const int base = graph_.place(input).value;
      if (membership(base).group != group) continue;
      if (membership(base).space == Space::Reduced || late_[index(base)]) return true;
    }
    return false;
  }

  bool allowed(int item, const Membership& member) {
    if (member.group < 0 || !has_room(item, member.group)) return false;
    const FusedGroup& group = fused(member.group);
    for (int input : graph_[item].inputs) {  // everything it reads from the group must sit right, not only the input that led here
      const int base = graph_.place(input).value;
      if (membership(base).group != member.group) continue;
      const Membership other = member_in(item, input);
      if (other.group != member.group || other.space != member.space) return false;
    }
    if (member.space == Space::Full && group.has_reduction && after_reduction(item, member.group) && !may_follow_reduction(group))
      return false;
    if (member.space != Space::Across && needs_reduced(item, member.group, false)) return false;
    return acyclic(item, node_of_group(member.group));
  }

  // True if the item reads, or waits for (a view's barrier), a reduction of the group: one across, or with `also_rows` one along its rows. Reductions
  // across may become a group of their own, after this one.
  bool needs_reduced(int item, int group, bool also_rows) const {
    bool found = false;
    for (int input : graph_[item].inputs) {
      each_behind_views(graph_, input, [&](int base) {
        const Membership& at = membership(base);
        found = found || (at.group == group && (at.space == Space::Across || (also_rows && at.space != Space::Full)));
      });
    }
    return found;
  }

  void place_elementwise(int item) {
    Membership best;
    std::set<std::pair<int, Space>> asked;
    for (int input : graph_[item].inputs) {
      Membership member = member_in(item, input);
      if (!asked.emplace(member.group, member.space).second || !allowed(item, member)) continue;
      // Prefer the whole domain, then the youngest group.
      if (best.group < 0 || (member.space == Space::Full && best.space != Space::Full) ||
          (member.space == best.space && member.group > best.group)) {
        best = member;
      }
    }
    if (best.group < 0) return join(item, new_group(graph_[item].shape), Space::Full, kSameAxes);
    late_[index(item)] = after_reduction(item, best.group);
    join(item, best.group, best.space, best.axes);
    merge_producers(item);
  }

  // Other groups that feed the item and have its group's domain join it.
  void merge_producers(int item) {
    for (int input : graph_[item].inputs) {
      const int base = graph_.place(input).value;
      const int other = membership(base).group;
      const int own = membership(item).group;
      if (other >= 0 && other != own) merge(own, other);
    }
  }

  // ---- Reductions.
  void place_reduction(int item) {
    const int input = graph_[item].inputs[0];
    const Dims& axes = graph_[item].as<ReduceOp>().axes();
    const Shape& shape = graph_[input].shape;
    AxisMap left{};
    for (int i = 0, next = 0; i < shape.rank(); ++i) {
      if (!axes.contains(i)) left[index(next++)] = shape[i] == 1 ? -1 : i;
    }
    const Through& seen = through(input);
    const Membership& producer = membership(seen.base);
    int into = -1;  // group
    Space space = Space::Reduced;
    if (producer.group >= 0 && producer.space == Space::Full && seen.plain) {
      FusedGroup& group = fused(producer.group);
      bool same = group.domain == shape;
      if (same && group.has_reduction && !(group.reduced == axes)) {
        same = may_carry(group, axes, 1);
        space = Space::Across;
      }
      for (int i = 0; i < shape.rank() && same; ++i) same = seen.axes[index(i)] == i || shape[i] == 1;
      if (same && space == Space::Reduced && late_[index(seen.base)]) same = may_follow_reduction(group);
      if (same && space == Space::Reduced) same = !needs_reduced(item, producer.group, false);
      if (same && has_room(item, producer.group) && acyclic(item, node_of_group(producer.group))) into = producer.group;
    }
    if (into < 0) {
      into = new_group(shape);
      space = Space::Reduced;
    }
    FusedGroup& group = fused(into);
    group.has_reduction = true;
    (space == Space::Across ? group.across : group.reduced) = axes;
    late_[index(item)] = true;
    join(item, into, space, left);
  }

  // True if the group's instances, which hold whole rows, may carry `count` more sums over all rows.
  bool may_carry(const FusedGroup& group, const Dims& axes, int count) const {
    if (!group.across.empty() && !(group.across == axes)) return false;
    std::int64_t row = 1;
    for (int i = 0; i < group.domain.rank(); ++i) {
      if (group.domain[i] == 1) continue;
      if (group.reduced.contains(i) == axes.contains(i)) return false;
      if (group.reduced.contains(i)) row *= group.domain[i];
    }
    if (row > tiles_.strips.accumulated_row || !group.reduced.contains(innermost_axis(group))) return false;
    for (int item : group.items) { count += graph_[item].role() == Role::Reduce && membership(item).space == Space::Across; }
    return count <= kMostCarried;
  }

  // True if the reductions of `y` may become reductions across in `x`: nothing in either group waits for them, and the items after them read
  // nothing else of `x`.
  bool may_become_across(const FusedGroup& x, const FusedGroup& y, int number_of_x, int number_of_y) const {
    if (!y.across.empty()) return false;
    int count = 0;
    const auto member = [&](int item) -> const Membership& { return membership(graph_.place(item).value); };
    for (int item : y.items) {
      const bool reduction = graph_[item].role() == Role::Reduce, full = member(item).space == Space::Full;
      if (full && late_[index(item)]) return false;
      count += reduction;
      for (int input : graph_[item].inputs) {
        if (!full && member(input).group == number_of_x && !(reduction && member(input).space == Space::Full)) return false;
      }
    }
    for (int item : x.items) {
      if (needs_reduced(item, number_of_y, true)) return false;
    }
    return may_carry(x, y.reduced, count);
  }

  // For two groups that reduce different axes: the one whose reductions become reductions across in the other, or -1.
  int carried_one(int a, int b) const {
    const FusedGroup& x = fused(a);
    const FusedGroup& y = fused(b);
    return may_become_across(x, y, a, b) ? b : may_become_across(y, x, b, a) ? a : -1;
  }

  // ---- Merging.
  bool mergeable(int a, int b) {
    const FusedGroup& x = fused(a);
    const FusedGroup& y = fused(b);
    if (x.items.empty() || y.items.empty() || !(x.domain == y.domain)) return false;
    if (operands_[index(a)] + operands_[index(b)] > kMostOperands) return false;
    const bool differ = x.has_reduction && y.has_reduction && !(x.reduced == y.reduced);
    if (differ && carried_one(a, b) < 0) return false;
    if (!x.across.empty() && !y.across.empty()) return false;
    const int u = node_of_group(a), v = node_of_group(b);
    if (order_.apart(u, v)) return false;
    // Work of one that waits for a reduction in the other must be allowed to follow it.
    if ((x.has_reduction || y.has_reduction) && order_.adjacent(u, v)) {
      FusedGroup both = !x.has_reduction || (differ && carried_one(a, b) == a) ? y : x;
      if (!may_follow_reduction(both)) return false;
      if (crosses(a, b) || crosses(b, a)) return false;
    }
    return true;
  }

  // True if an item of `to` reads a Full value of `from` through a view that is not plain, or a Reduced one it cannot place.
  bool crosses(int from, int to) const {
    const FusedGroup& group = fused(to);
    for (int item : group.items) {
      for (int input : graph_[item].inputs) {
        const Through& seen = through(input);
        if (membership(seen.base).group != from) continue;
        if (graph_[item].role() == Role::Reduce) {
          if (!seen.plain || membership(seen.base).space != Space::Full) return true;
          for (int i = 0; i < group.domain.rank(); ++i) {
            if (seen.axes[index(i)] != i && group.domain[i] != 1) return true;
          }
          continue;
        }
        const Membership member = member_in(item, input);
        if (member.group != from || member.space != membership(item).space) return true;
      }
    }
    return false;
  }

  void merge(int into, int from) {
    if (into == from || !mergeable(into, from) || crosses(from, into) || crosses(into, from)) return;
    FusedGroup& x = fused(into);
    FusedGroup& y = fused(from);
    if (x.has_reduction && y.has_reduction && !(x.reduced == y.reduced)) {
      FusedGroup& carried = carried_one(into, from) == into ? x : y;
      for (int item : carried.items) {
        Space& space = membership(item).space;
        if (space == Space::Reduced) space = Space::Across;
      }
      carried.across = carried.reduced;
      carried.has_reduction = false;
    }
    for (int item : y.items) {
      membership(item).group = into;
      node_of(item) = node_of_group(into);
    }
    x.items.insert(x.items.end(), y.items.begin(), y.items.end());
    std::sort(x.items.begin(), x.items.end());
    if (y.has_reduction) x.reduced = y.reduced;
    if (!y.across.empty()) x.across = y.across;
    x.has_reduction = x.has_reduction || y.has_reduction;
    y.items.clear();
    operands_[index(into)] += operands_[index(from)];
    order_.merge(node_of_group(into), node_of_group(from));
    for (int item : x.items) {  // what comes after a reduction may have changed
      late_[index(item)] = graph_[item].role() == Role::Reduce || after_reduction(item, into);
    }
  }

  // Groups over one domain that read the same large value belong together even when neither feeds the other.
  void merge_siblings() {
    std::map<std::pair<Shape, int>, std::set<int>, ByDomain> readers;  // (domain, large value) -> groups
    const auto each_value = [&](int g, auto visit) {
      for (int value : large_inputs(g)) visit(value, readers[{fused(g).domain, value}]);
    };
    for (int g = 0; g < static_cast<int>(fusion_.groups.size()); ++g) each_value(g, [&](int, std::set<int>& groups) { groups.insert(g); });
    for (int a = 0; a < static_cast<int>(fusion_.groups.size()); ++a) {
      std::map<int, const std::set<int>*> shared;  // value that `a` reads -> who reads it
      std::set<std::pair<int, int>> next;  // (the next group behind `a` that reads it, value)
      const auto advance = [&](int value, int after) {
        const auto b = shared.at(value)->upper_bound(after);
        if (b != shared.at(value)->end()) next.emplace(*b, value);
      };
      each_value(a, [&](int value, std::set<int>& groups) {
        if (shared.emplace(value, &groups).second) advance(value, a);
      });
      for (int tries = 0; !next.empty() && tries < kMostTries;) {
        const int b = next.begin()->first;
        bool share = false;
        while (!next.empty() && next.begin()->first == b) {
          const int value = next.begin()->second, producer = membership(value).group;
          share = share || (producer != a && producer != b);
          next.erase(next.begin());
          advance(value, b);
        }
        if (!share) continue;
        std::vector<std::pair<int, std::set<int>*>> read;
        each_value(b, [&](int value, std::set<int>& groups) { read.emplace_back(value, &groups); });
        merge(a, b);
        if (!fused(b).items.empty()) {
          ++tries;
          continue;
        }
        for (const auto& [value, groups] : read) {
          groups->erase(b);
          if (shared.emplace(value, groups).second) advance(value, b);
        }
      }
    }
  }

  std::vector<int> large_inputs(int g) const {
    const FusedGroup& group = fused(g);
    std::vector<int> out;
    for (int item : group.items) {
      for (int input : graph_[item].inputs) {
        const int base = graph_.place(input).value;
        if (!graph_[base].in_memory() || membership(base).group == g) continue;
        if (numel(graph_[base].shape) >= 1024 && 2 * numel(graph_[base].shape) > numel(group.domain)) out.push_back(base);
      }
    }
    return out;
  }

  const Graph& graph_;
  runtime::TilePreference tiles_;
  std::vector<bool> writers_;  // writers_over_leaves
  Fusion fusion_;
  TopologicalOrder order_;
  std::vector<int> operands_;  // of each group
  std::vector<int> node_of_group_;
  std::vector<int> node_of_;  // per item; -1 for leaves, scalars and views
  std::vector<int> checks_;  // items that may fail, so far
  std::vector<bool> late_;  // items that depend on a reduction of their own group
};

}  // namespace

Fusion fuse(const Graph& graph, runtime::Device& device) { return Fuser(graph, device).run(); }

}  // namespace tegula::compile

#include "tegula/compile/fuse.h"

#include <algorithm>

namespace tegula::compile {
namespace {

constexpr std::int64_t kSmallDomain = 1 << 17;  // elements: half a megabyte, which one core walks again faster than two share it out
constexpr std::int64_t kMark = 1'000'003;  // strides of a probe: powers of no consequence, all different

Layout probe(const Shape& shape) {
  Layout layout{shape, Dims::filled(shape.rank(), 0), 0};
  for (int i = 0; i < shape.rank(); ++i) layout.strides[i] = kMark * (i + 1) * (i + 7);
  return layout;
}

// An input looked at through its views: the base item, and for each axis of the view the axis of the base it runs over (-1: none).
// `plain` is false when a view does more than insert, drop, permute or broadcast axes.
struct Through {
  int base;
  bool plain = true;
  std::vector<int> axes;
};

Through look_through(const Graph& graph, int item) {
  std::vector<int> views;
  Through out{item, true, {}};
  while (graph[out.base].role() == Role::View) {
    views.push_back(out.base);
    if (graph[out.base].as<ViewOp>().waits()) out.plain = false;
    out.base = graph[out.base].inputs[0];
  }
  const Layout marks = probe(graph[out.base].shape);
  std::optional<Layout> layout = marks;
  for (auto it = views.rbegin(); it != views.rend() && layout; ++it) layout = graph[*it].as<ViewOp>().apply(*layout);
  if (!layout || layout->offset != 0) return {out.base, false, {}};
  for (int i = 0; i < layout->shape.rank(); ++i) {
    int axis = -1;
    for (int j = 0; j < marks.shape.rank(); ++j) {
      if (layout->shape[i] != 1 && layout->strides[i] == marks.strides[j] && layout->shape[i] == marks.shape[j]) axis = j;
    }
    if (axis < 0 && layout->shape[i] != 1 && layout->strides[i] != 0) out.plain = false;  // a slice, a flip, a part
    out.axes.push_back(axis);
  }
  return out;
}

class Fuser {
 public:
  Fuser(const Graph& graph, runtime::Device& device) : graph_(graph), tile_(device.tiles().elements) {}

  Fusion run() {
    fusion_.places.resize(graph_.items.size());
    before_.resize(graph_.items.size());
    for (int i = 0; i < graph_.size(); ++i) {
      unit_of_.push_back(-1);
      switch (graph_[i].role()) {
        case Role::Elementwise: place_elementwise(i); break;
        case Role::Reduce: place_reduction(i); break;
        case Role::Library:
        case Role::Kernel: new_unit(i); break;
        default: break;
      }
    }
    merge_siblings();
    finish();
    return std::move(fusion_);
  }

 private:
  // ---- Dependence between units (groups, and items that are calls). ancestors_[u] holds every unit that must run before u.
  using Set = std::vector<std::uint64_t>;
  static bool has(const Set& set, int i) {
    return i / 64 < static_cast<int>(set.size()) && (set[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1u);
  }
  static void add(Set& set, int i) {
    if (i / 64 >= static_cast<int>(set.size())) set.resize(static_cast<std::size_t>(i / 64) + 1);
    set[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64);
  }
  static void unite(Set& to, const Set& from) {
    if (from.size() > to.size()) to.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) to[i] |= from[i];
  }

  int new_unit(int item) {
    const int unit = static_cast<int>(ancestors_.size());
    ancestors_.emplace_back();
    group_of_unit_.push_back(-1);
    unit_of_[static_cast<std::size_t>(item)] = unit;
    ancestors_.back() = needs(item);
    return unit;
  }

  // All units whose results `item` needs, directly or not; views pass on what their inputs (also those waited for) need.
  Set needs(int item) {
    Set set;
    for (int input : graph_[item].inputs) unite(set, before(input));
    return set;
  }
  const Set& before(int item) {
    Set& set = before_[static_cast<std::size_t>(item)];
    const int unit = unit_of_[static_cast<std::size_t>(item)];
    set.clear();
    if (unit >= 0) {
      set = ancestors_[static_cast<std::size_t>(unit)];
      add(set, unit);
    } else if (graph_[item].role() == Role::View) {
      Set all;
      for (int input : graph_[item].inputs) unite(all, before(input));
      before_[static_cast<std::size_t>(item)] = std::move(all);
    }
    return before_[static_cast<std::size_t>(item)];
  }

  // Whether `item` may run inside `group`: nothing it needs from elsewhere may itself wait for the group.
  bool acyclic(int item, int unit) {
    const Set set = needs(item);
    for (int u = 0; u < static_cast<int>(ancestors_.size()); ++u) {
      if (u != unit && has(set, u) && has(ancestors_[static_cast<std::size_t>(u)], unit)) return false;
    }
    return true;
  }

  void join(int item, int unit, Space space, std::vector<int> axes) {
    Set set = needs(item);
    auto& own = ancestors_[static_cast<std::size_t>(unit)];
    unite(own, set);
    if (has(own, unit)) own[static_cast<std::size_t>(unit / 64)] &= ~(std::uint64_t{1} << (unit % 64));
    for (auto& other : ancestors_) {
      if (has(other, unit)) unite(other, own);
    }
    unit_of_[static_cast<std::size_t>(item)] = unit;
    const int group = group_of_unit_[static_cast<std::size_t>(unit)];
    fusion_.groups[static_cast<std::size_t>(group)].items.push_back(item);
    fusion_.places[static_cast<std::size_t>(item)] = {group, space, std::move(axes)};
  }

  int new_group(int item, const Shape& domain) {
    const int unit = static_cast<int>(ancestors_.size());
    ancestors_.emplace_back();
    group_of_unit_.push_back(static_cast<int>(fusion_.groups.size()));
    unit_of_group_.push_back(unit);
    fusion_.groups.push_back({{}, domain, {}, false});
    (void)item;
    return unit;
  }

  static std::vector<int> identity(int rank) {
    std::vector<int> axes;
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }

  // ---- Elementwise items.
  // How `item` could sit in the group of one of its producers; None when it cannot.
  Place place_in(int item, int input) const {
    const Through seen = look_through(graph_, input);
    const Place& producer = fusion_.places[static_cast<std::size_t>(seen.base)];
    if (producer.group < 0 || !seen.plain) return {};
    const Group& group = fusion_.groups[static_cast<std::size_t>(producer.group)];
    const Shape& shape = graph_[item].shape;
    const bool broadcast_scalar = graph_[input].shape.rank() == 0 && shape.rank() != 0;
    std::vector<int> axes;  // domain axis behind each axis of the item
    for (int i = 0; i < shape.rank(); ++i) {
      const int base_axis = broadcast_scalar ? -1 : seen.axes[static_cast<std::size_t>(i)];
      axes.push_back(base_axis < 0 ? -1 : producer.axes[static_cast<std::size_t>(base_axis)]);
    }
    if (shape == group.domain) {
      bool aligned = true;
      for (int i = 0; i < shape.rank(); ++i)
        aligned = aligned && (axes[static_cast<std::size_t>(i)] == i || axes[static_cast<std::size_t>(i)] < 0);
      // An axis of size 1 runs over itself; a broadcast axis of a Full value would have to be re-read elsewhere.
      if (aligned && producer.space == Space::Full) {
        for (int i = 0; i < shape.rank(); ++i) aligned = aligned && (axes[static_cast<std::size_t>(i)] == i || shape[i] == 1);
      }
      if (aligned && producer.space == Space::Reduced && !group.has_reduction) aligned = false;
      if (aligned) return {producer.group, Space::Full, identity(shape.rank())};
    }
    if (producer.space == Space::Reduced) {
      int last = -1;
      std::int64_t covered = 1;
      for (int i = 0; i < shape.rank(); ++i) {
        const int axis = axes[static_cast<std::size_t>(i)];
        if (axis < 0 && shape[i] != 1) return {};
        if (axis < 0) continue;
        if (axis <= last) return {};
        last = axis;
        covered *= shape[i];
      }
      if (covered == numel(graph_[seen.base].shape)) return {producer.group, Space::Reduced, axes};
    }
    return {};
  }

  // Full work after a reduction keeps the reduced extent in one program instance: only when there are enough instances, or little work.
  bool may_follow_reduction(const Group& group) const {
    const std::int64_t all = numel(group.domain);
    std::int64_t extent = 1;
    for (auto axis : group.reduced) extent *= group.domain[static_cast<int>(axis)];
    if (all <= kSmallDomain) return true;
    if (extent == 0 || extent > kLongestReduction) return false;
    const int innermost = group.domain.rank() - 1;
    std::int64_t instances = all / extent;
    if (group.reduced.contains(innermost)) {
      instances /= std::max<std::int64_t>(1, tile_ / extent);
    } else {
      instances /= std::max<std::int64_t>(1, std::min<std::int64_t>(group.domain[innermost], 256));
    }
    return instances >= kEnoughInstances;
  }

  bool after_reduction(int item, int group) const {
    for (int input : graph_[item].inputs) {
      const int base = look_through(graph_, input).base;
      if (fusion_.places[static_cast<std::size_t>(base)].group != group) continue;
      if (fusion_.places[static_cast<std::size_t>(base)].space == Space::Reduced || late_[static_cast<std::size_t>(base)]) return true;
    }
    return false;
  }

  bool allowed(int item, const Place& place) {
    if (place.group < 0) return false;
    const Group& group = fusion_.groups[static_cast<std::size_t>(place.group)];
    for (int input : graph_[item].inputs) {  // everything it reads from the group must sit right, not only the input that led here
      const int base = look_through(graph_, input).base;
      if (fusion_.places[static_cast<std::size_t>(base)].group != place.group) continue;
      const Place other = place_in(item, input);
      if (other.group != place.group || other.space != place.space) return false;
    }
    if (place.space == Space::Full && group.has_reduction && after_reduction(item, place.group) && !may_follow_reduction(group))
      return false;
    return acyclic(item, unit_of_group_[static_cast<std::size_t>(place.group)]);
  }

  void place_elementwise(int item) {
    late_.resize(graph_.items.size());
    Place best;
    for (int input : graph_[item].inputs) {
      Place place = place_in(item, input);
      if (!allowed(item, place)) continue;
      // Prefer the whole domain, then the youngest group.
      if (best.group < 0 || (place.space == Space::Full && best.space != Space::Full) ||
          (place.space == best.space && place.group > best.group)) {
        best = std::move(place);
      }
    }
    if (best.group >= 0) {
      const int unit = unit_of_group_[static_cast<std::size_t>(best.group)];
      late_[static_cast<std::size_t>(item)] = after_reduction(item, best.group);
      join(item, unit, best.space, best.axes);
      merge_producers(item);
      return;
    }
    const int unit = new_group(item, graph_[item].shape);
    join(item, unit, Space::Full, identity(graph_[item].shape.rank()));
  }

  // Other groups that feed the item and have its group's domain join it.
  void merge_producers(int item) {
    for (int input : graph_[item].inputs) {
      const int base = look_through(graph_, input).base;
      const int other = fusion_.places[static_cast<std::size_t>(base)].group;
      const int own = fusion_.places[static_cast<std::size_t>(item)].group;
      if (other >= 0 && other != own) merge(own, other);
    }
  }

  // ---- Reductions.
  void place_reduction(int item) {
    late_.resize(graph_.items.size());
    const int input = graph_[item].inputs[0];
    const Dims& axes = graph_[item].as<ReduceOp>().axes();
    const Shape& shape = graph_[input].shape;
    std::vector<int> left;
    for (int i = 0; i < shape.rank(); ++i) {
      if (!axes.contains(i)) left.push_back(shape[i] == 1 ? -1 : i);
    }
    const Through seen = look_through(graph_, input);
    const Place& producer = fusion_.places[static_cast<std::size_t>(seen.base)];
    int unit = -1;
    if (producer.group >= 0 && producer.space == Space::Full && seen.plain) {
      Group& group = fusion_.groups[static_cast<std::size_t>(producer.group)];
      bool same = group.domain == shape && (!group.has_reduction || group.reduced == axes);
      for (int i = 0; i < shape.rank() && same; ++i) same = seen.axes[static_cast<std::size_t>(i)] == i || shape[i] == 1;
      const int candidate = unit_of_group_[static_cast<std::size_t>(producer.group)];
      if (same && late_[static_cast<std::size_t>(seen.base)]) same = may_follow_reduction(group);
      if (same && acyclic(item, candidate)) unit = candidate;
    }
    if (unit < 0) unit = new_group(item, shape);
    Group& group = fusion_.groups[static_cast<std::size_t>(group_of_unit_[static_cast<std::size_t>(unit)])];
    group.has_reduction = true;
    group.reduced = axes;
    late_[static_cast<std::size_t>(item)] = true;
    join(item, unit, Space::Reduced, std::move(left));
  }

  // ---- Merging.
  bool mergeable(int a, int b) const {
    const Group& x = fusion_.groups[static_cast<std::size_t>(a)];
    const Group& y = fusion_.groups[static_cast<std::size_t>(b)];
    if (x.items.empty() || y.items.empty() || !(x.domain == y.domain)) return false;
    if (x.has_reduction && y.has_reduction && !(x.reduced == y.reduced)) return false;
    const int u = unit_of_group_[static_cast<std::size_t>(a)], v = unit_of_group_[static_cast<std::size_t>(b)];
    for (int w = 0; w < static_cast<int>(ancestors_.size()); ++w) {  // a third unit between the two
      if (w == u || w == v) continue;
      const bool after_u = has(ancestors_[static_cast<std::size_t>(w)], u), after_v = has(ancestors_[static_cast<std::size_t>(w)], v);
      if (after_u && has(ancestors_[static_cast<std::size_t>(v)], w)) return false;
      if (after_v && has(ancestors_[static_cast<std::size_t>(u)], w)) return false;
    }
    // Work of one that waits for a reduction in the other must be allowed to follow it.
    if ((x.has_reduction || y.has_reduction) &&
        (has(ancestors_[static_cast<std::size_t>(v)], u) || has(ancestors_[static_cast<std::size_t>(u)], v))) {
      Group both = x;
      if (!both.has_reduction) both.reduced = y.reduced;
      both.has_reduction = true;
      if (!may_follow_reduction(both)) return false;
      if (crosses(a, b) || crosses(b, a)) return false;
    }
    return true;
  }

  // Whether an item of `to` reads a Full value of `from` through a view that is not plain, or a Reduced one it cannot place.
  bool crosses(int from, int to) const {
    const Group& group = fusion_.groups[static_cast<std::size_t>(to)];
    for (int item : group.items) {
      for (int input : graph_[item].inputs) {
        const Through seen = look_through(graph_, input);
        if (fusion_.places[static_cast<std::size_t>(seen.base)].group != from) continue;
        if (graph_[item].role() == Role::Reduce) {
          if (!seen.plain || fusion_.places[static_cast<std::size_t>(seen.base)].space != Space::Full) return true;
          for (int i = 0; i < group.domain.rank(); ++i) {
            if (seen.axes[static_cast<std::size_t>(i)] != i && group.domain[i] != 1) return true;
          }
          continue;
        }
        const Place place = place_in(item, input);
        if (place.group != from || place.space != fusion_.places[static_cast<std::size_t>(item)].space) return true;
      }
    }
    return false;
  }

  void merge(int into, int from) {
    if (into == from || !mergeable(into, from) || crosses(from, into) || crosses(into, from)) return;
    Group& x = fusion_.groups[static_cast<std::size_t>(into)];
    Group& y = fusion_.groups[static_cast<std::size_t>(from)];
    for (int item : y.items) {
      fusion_.places[static_cast<std::size_t>(item)].group = into;
      unit_of_[static_cast<std::size_t>(item)] = unit_of_group_[static_cast<std::size_t>(into)];
    }
    x.items.insert(x.items.end(), y.items.begin(), y.items.end());
    std::sort(x.items.begin(), x.items.end());
    if (y.has_reduction) x.reduced = y.reduced;
    x.has_reduction = x.has_reduction || y.has_reduction;
    y.items.clear();
    const int u = unit_of_group_[static_cast<std::size_t>(into)], v = unit_of_group_[static_cast<std::size_t>(from)];
    Set all = ancestors_[static_cast<std::size_t>(u)];
    unite(all, ancestors_[static_cast<std::size_t>(v)]);
    for (int w : {u, v}) {
      if (has(all, w)) all[static_cast<std::size_t>(w / 64)] &= ~(std::uint64_t{1} << (w % 64));
    }
    ancestors_[static_cast<std::size_t>(u)] = all;
    ancestors_[static_cast<std::size_t>(v)].clear();
    add(all, u);
    for (auto& other : ancestors_) {
      if (!has(other, u) && !has(other, v)) continue;
      if (has(other, v)) other[static_cast<std::size_t>(v / 64)] &= ~(std::uint64_t{1} << (v % 64));
      unite(other, all);
    }
    for (int item : x.items) {  // what comes after a reduction may have changed
      late_[static_cast<std::size_t>(item)] = graph_[item].role() == Role::Reduce || after_reduction(item, into);
    }
  }

  // Groups over one domain that read the same large value belong together even when neither feeds the other.
  void merge_siblings() {
    for (int a = 0; a < static_cast<int>(fusion_.groups.size()); ++a) {
      for (int b = a + 1; b < static_cast<int>(fusion_.groups.size()); ++b) {
        if (fusion_.groups[static_cast<std::size_t>(a)].items.empty()) break;
        if (fusion_.groups[static_cast<std::size_t>(a)].domain == fusion_.groups[static_cast<std::size_t>(b)].domain && share_input(a, b))
          merge(a, b);
      }
    }
  }

  bool share_input(int a, int b) const {
    const std::vector<int> x = large_inputs(a), y = large_inputs(b);
    return std::any_of(x.begin(), x.end(), [&](int item) { return std::find(y.begin(), y.end(), item) != y.end(); });
  }

  std::vector<int> large_inputs(int g) const {
    const Group& group = fusion_.groups[static_cast<std::size_t>(g)];
    std::vector<int> out;
    for (int item : group.items) {
      for (int input : graph_[item].inputs) {
        const int base = look_through(graph_, input).base;
        const Role role = graph_[base].role();
        if (role == Role::Scalar || role == Role::Index || fusion_.places[static_cast<std::size_t>(base)].group == g) continue;
        if (numel(graph_[base].shape) >= 1024 && 2 * numel(graph_[base].shape) > numel(group.domain)) out.push_back(base);
      }
    }
    return out;
  }

  // Values that leave their group.
  void finish() {
    fusion_.stored.assign(graph_.items.size(), false);
    const auto store = [&](int item) { fusion_.stored[static_cast<std::size_t>(look_through(graph_, item).base)] = true; };
    for (int output : graph_.outputs) store(output);
    for (const auto& update : graph_.updates) store(update.item);
    for (int i = 0; i < graph_.size(); ++i) {
      const Role role = graph_[i].role();
      if (role == Role::Library || role == Role::Kernel) fusion_.stored[static_cast<std::size_t>(i)] = true;
      if (role == Role::View || role == Role::Leaf) continue;
      for (std::size_t k = 0; k < graph_[i].inputs.size(); ++k) {
        if (role == Role::Library || role == Role::Kernel || operand_of(graph_, fusion_, i, k).kind == Operand::Kind::Memory)
          store(graph_[i].inputs[k]);
      }
    }
  }

  const Graph& graph_;
  std::int64_t tile_;
  Fusion fusion_;
  std::vector<Set> before_;
  std::vector<Set> ancestors_;        // per unit
  std::vector<int> group_of_unit_;
  std::vector<int> unit_of_group_;
  std::vector<int> unit_of_;          // per item; -1 for leaves, scalars and views
  std::vector<bool> late_;            // items that depend on a reduction of their own group
};

}  // namespace

Fusion fuse(const Graph& graph, runtime::Device& device) { return Fuser(graph, device).run(); }

Operand operand_of(const Graph& graph, const Fusion& fusion, int item, std::size_t k) {
  const int input = graph[item].inputs[k];
  const Place& place = fusion.places[static_cast<std::size_t>(item)];
  const Through seen = look_through(graph, input);
  const Place& producer = fusion.places[static_cast<std::size_t>(seen.base)];
  const Role role = graph[seen.base].role();
  if (role == Role::Scalar) return {Operand::Kind::Scalar, seen.base, {}};
  if (place.group >= 0 && producer.group == place.group && seen.plain) return {Operand::Kind::Inside, seen.base, {}};
  Operand out{role == Role::Index ? Operand::Kind::Index : Operand::Kind::Memory, seen.base, {}};
  if (place.group < 0) return out;
  // The axes of the input run over the domain axes of the consumer; a reduction consumes the whole domain.
  const Group& group = fusion.groups[static_cast<std::size_t>(place.group)];
  const Layout layout = access_of(graph, input).layout;
  out.pattern = {Dims::filled(group.domain.rank(), 1), Dims::filled(group.domain.rank(), 0), layout.offset};
  for (int i = 0; i < layout.shape.rank(); ++i) {
    const int axis = graph[item].role() == Role::Reduce ? i : place.axes[static_cast<std::size_t>(i)];
    if (axis < 0) continue;
    out.pattern.shape[axis] = layout.shape[i];
    out.pattern.strides[axis] = layout.shape[i] == 1 ? 0 : layout.strides[i];
  }
  return out;
}

}  // namespace tegula::compile

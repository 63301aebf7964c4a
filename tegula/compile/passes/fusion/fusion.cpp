// Queries of a fusion, and changes to it after it has been made.

#include "tegula/compile/passes/fusion/fuse.h"

#include <optional>

#include "tegula/graph/lines.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {

Through itself(const Graph& graph, int i) {
  Through out{.base = i};
  const Shape& shape = graph[i].shape;
  for (int axis = 0; axis < shape.rank(); ++axis) out.axes[index(axis)] = shape[axis] == 1 ? -1 : axis;
  return out;
}

// The marks of a view follow from those of its input, so that no chain of views is walked.
std::vector<Through> through_views(const Graph& graph) {
  std::vector<Through> out(graph.items.size());
  std::vector<std::optional<Layout>> marks;  // of views
  std::vector<std::size_t> mark_of(graph.items.size());
  for (int i = 0; i < graph.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Item& item = graph[i];
    if (!item.shows_input()) {
      out[at] = itself(graph, i);
      continue;
    }
    const int below = item.inputs[0];
    std::optional<Layout> seen = graph[below].shows_input() ? marks[mark_of[index(below)]] : marked(graph[below].shape);
    if (seen) seen = shown(*item.op, *seen);
    const Place& place = graph.place(i);
    const auto axes = seen ? axes_of(graph[place.value].shape, *seen) : std::nullopt;
    out[at] = {.base = place.value, .plain = axes && !place.waits};
    if (axes) out[at].axes = *axes;
    mark_of[at] = marks.size();
    marks.push_back(std::move(seen));
  }
  return out;
}

namespace {

Operand::Kind kind_of(const Graph& graph, const Fusion& fusion, int item, std::size_t k) {
  const Membership& member = fusion.members[index(item)];
  const Through& seen = fusion.through[index(graph[item].inputs[k])];
  const Membership& producer = fusion.members[index(seen.base)];
  const Role role = graph[seen.base].role();
  if (role == Role::Scalar) return Operand::Kind::Scalar;
  if (member.group >= 0 && producer.group == member.group && seen.plain) return Operand::Kind::Inside;
  return role == Role::Index ? Operand::Kind::Index : Operand::Kind::Memory;
}

}  // namespace

Layout over_domain(const Shape& domain, const Layout& layout, const AxisMap& axes) {
  Layout out{Dims::filled(domain.rank(), 1), Dims::filled(domain.rank(), 0), layout.offset};
  for (int i = 0; i < layout.shape.rank(); ++i) {
    const int axis = axes[index(i)];
    if (axis >= 0 && layout.shape[i] != 1) out.shape[axis] = layout.shape[i], out.strides[axis] = layout.strides[i];
  }
  return out;
}

Operand operand_of(const Graph& graph, const Fusion& fusion, int item, std::size_t k) {
  const int input = graph[item].inputs[k];
  const Membership& member = fusion.members[index(item)];
  Operand out{kind_of(graph, fusion, item, k), graph.place(input).value, {}};
  if (out.kind == Operand::Kind::Scalar || out.kind == Operand::Kind::Inside || member.group < 0) return out;
  // A reduction consumes the whole domain.
  const Shape& domain = fusion.groups[index(member.group)].domain;
  out.pattern = over_domain(domain, graph.place(input).layout, graph[item].role() == Role::Reduce ? kSameAxes : member.axes);
  if (const LineOp* const lines = LineOp::of(*graph[item].op); lines && k == 0)
    out.line = graph.place(graph[input].inputs[0]).layout.strides[lines->axis()];
  return out;
}

namespace {

void store(const Graph& graph, Fusion& fusion, int item) { fusion.stored[index(graph.place(item).value)] = true; }

/// Marks the inputs that item i reads from memory as stored.
void store_inputs(const Graph& graph, Fusion& fusion, int i) {
  const Role role = graph[i].role();
  if (graph[i].shows_input() || role == Role::Leaf || role == Role::Part) return;
  for (std::size_t k = 0; k < graph[i].inputs.size(); ++k) {
    if (role == Role::Library || role == Role::Kernel || kind_of(graph, fusion, i, k) == Operand::Kind::Memory)
      store(graph, fusion, graph[i].inputs[k]);
  }
}

}  // namespace

void mark_stored(const Graph& graph, Fusion& fusion) {
  fusion.stored.assign(graph.items.size(), false);
  for (int output : graph.outputs) store(graph, fusion, output);
  for (const auto& update : graph.updates) store(graph, fusion, update.item);
  for (int i = 0; i < graph.size(); ++i) {
    const Role role = graph[i].role();
    if (((role == Role::Library || role == Role::Kernel) && graph[i].results.empty()) || role == Role::Part) fusion.stored[index(i)] = true;
    store_inputs(graph, fusion, i);
  }
}

void round_stored(Graph& graph, const Fusion& fusion) {
  for (int i = 0; i < graph.size(); ++i) {
    if (is_narrow_float(graph[i].dtype) && fusion.stored[index(i)]) graph[i].rounds = true;
  }
}

void separate_across(const Graph& graph, Fusion& fusion, int number) {
  const int own = static_cast<int>(fusion.groups.size());
  FusedGroup& group = fusion.groups[index(number)];
  FusedGroup apart{{}, group.domain, group.across, true, {}};
  group.across = {};
  std::vector<int> left;
  for (int item : group.items) {
    Membership& member = fusion.members[index(item)];
    if (member.space != Space::Across) {
      left.push_back(item);
      continue;
    }
    member.group = own;
    member.space = Space::Reduced;
    apart.items.push_back(item);
  }
  group.items = std::move(left);
  fusion.groups.push_back(std::move(apart));
  // Values that one of the two groups computes and the other reads are stored now; nothing else has changed.
  for (const int g : {number, own}) {
    for (const int item : fusion.groups[index(g)].items) store_inputs(graph, fusion, item);
  }
}

}  // namespace tegula::compile

#include "tegula/compile/check_finite.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/graph_mutex.h"
#include "tegula/graph/history.h"
#include "tegula/graph/names.h"
#include "tegula/graph/nonfinite.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace compile {
namespace {

thread_local bool looking = false;  // the check's own evaluations are not checked

struct Looking {
  bool before = looking;
  Looking() { looking = true; }
  ~Looking() { looking = before; }
};

std::string name_of(const Node& node) {
  if (std::string name = variable_name(node); !name.empty()) return "'" + name + "'";
  if (node.cell_number()) return "a Variable";
  if (node.op().role() == Role::Leaf) return "data";
  if (node.op().role() == Role::Scalar) return "a number";
  return std::string(node.op().name());
}

/// The extent of a node that has a value, or is a scalar.
Extent extent_of(const Ref<Node>& node) {
  Extent out{.name = name_of(*node), .dtype = node->dtype(), .shape = node->shape()};
  if (!node->results().empty() || node->op().role() == Role::Index) return out;
  const HostArray array = Tensor(node).to_array({});
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  visit(array.dtype, [&](auto zero) {
    for (const auto element : array.values<decltype(zero)>()) {
      const double value = as_double(element);
      if (std::isnan(value)) ++out.nans;
      else if (std::isinf(value)) ++out.infinities;
      else least = std::min(least, value), greatest = std::max(greatest, value);
    }
  });
  if (least <= greatest) out.minimum = least, out.maximum = greatest;
  return out;
}

bool known_finite(const Ref<Node>& node) {
  if (!is_float(node->dtype())) return node->results().empty();
  return node->has_value() && extent_of(node).finite();
}

/// The extents of float entries; an op with several results has counts of its parts together.
std::vector<Extent> extents_of(const History& history) {
  std::vector<Extent> found(history.entries().size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Ref<Node>& node = history.entries()[i].node;
    if (!is_float(node->dtype()) || !node->results().empty()) continue;
    found[i] = extent_of(node);
    if (!node->is_part()) continue;
    Extent& all = found[history.entries()[i].inputs.at(0)];
    all.nans += found[i].nans, all.infinities += found[i].infinities;
  }
  return found;
}

/// The entries that made what is not finite in the roots, in program order.
std::vector<std::size_t> makers(const History& history, const std::vector<Extent>& found, std::span<const Ref<Node>> roots) {
  std::vector<std::size_t> stack, out;
  std::vector<bool> seen(found.size());
  for (const auto& root : roots) stack.push_back(history.index_of(*root));
  while (!stack.empty()) {
    const std::size_t i = stack.back();
    stack.pop_back();
    if (found[i].finite() || seen[i]) continue;
    seen[i] = true;
    const auto& inputs = history.entries()[i].inputs;
    // An infinity below may be why this is NaN, so the walk goes on there too.
    const auto passes_on = [&](std::size_t input) { return found[i].nans > 0 ? found[input].nans > 0 : !found[input].finite(); };
    if (std::ranges::none_of(inputs, passes_on)) out.push_back(i);
    stack.insert(stack.end(), inputs.begin(), inputs.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A number, data, or the value of a Variable, which keeps nothing of what it was computed from.
bool is_given(const History::Entry& entry) { return entry.inputs.empty(); }

/// "blocks.0.attention" of the Variable that is the fewest ops away.
std::string nearest_module(const History& history, std::size_t from) {
  std::vector<std::size_t> level{from};
  std::vector<bool> seen(history.entries().size());
  while (!level.empty()) {
    std::vector<std::size_t> next;
    for (const std::size_t i : level) {
      const std::string name = variable_name(*history.entries()[i].node);
      if (const auto dot = name.rfind('.'); dot != std::string::npos) return name.substr(0, dot);
      for (const std::size_t input : history.entries()[i].inputs) {
        if (!seen[input]) next.push_back(input);
        seen[input] = true;
      }
    }
    level = std::move(next);
  }
  return "";
}

/// The first maker that is computed, or given with NaN in it; if there is none, the first maker.
std::optional<NonFinite> first_maker(const History& history, std::span<const Ref<Node>> roots) {
  const std::vector<Extent> found = extents_of(history);
  const std::vector<std::size_t> all = makers(history, found, roots);
  if (all.empty()) return std::nullopt;
  const auto first = std::ranges::find_if(all, [&](std::size_t i) { return !is_given(history.entries()[i]) || found[i].nans > 0; });
  const std::size_t at = first == all.end() ? all.front() : *first;
  const History::Entry& entry = history.entries()[at];
  const Node& node = *entry.node;
  NonFinite out{.op = node.origin().path && !is_given(entry) ? *node.origin().path : name_of(node),
                .module = is_given(entry) ? "" : nearest_module(history, at),
                .where = node.origin().where,
                .result = {},
                .given = is_given(entry)};
  if (!out.given && ("/" + out.op + "/").find("/" + std::string(node.op().name()) + "/") == std::string::npos)
    out.op += "/" + std::string(node.op().name());
  if (node.results().empty()) out.result = found[at];
  for (std::size_t i = at + 1; i < found.size() && out.result.finite(); ++i) {  // of an op with several results: the part that shows it
    const History::Entry& part = history.entries()[i];
    if (part.node->is_part() && part.inputs.at(0) == at) out.result = found[i];
  }
  out.result.name = name_of(node);
  for (const std::size_t input : entry.inputs) out.inputs.push_back(extent_of(history.entries()[input].node));
  return out;
}

/// Gives all entries values, so that each can be looked at.
void compute(const History& history, const Line& where) {
  std::vector<Ref<Node>> nodes;
  for (const auto& entry : history.entries()) {
    if (entry.node->results().empty() && entry.node->op().role() != Role::Index && !entry.node->has_value()) nodes.push_back(entry.node);
  }
  evaluate(nodes, where);
}

std::string counted(std::int64_t count, const char* what) { return count ? ", " + std::to_string(count) + " " + what : ""; }

}  // namespace

History::History(std::span<const Ref<Node>> roots) {
  if (roots.empty()) return;
  const Looking own;
  const std::scoped_lock lock(graph_mutex());
  std::unordered_map<const Node*, std::vector<Ref<Node>>> inputs;
  std::vector<Ref<Node>> stack(roots.begin(), roots.end()), order;
  while (!stack.empty()) {
    const Ref<Node> node = stack.back();
    stack.pop_back();
    const auto [found, added] = inputs.try_emplace(node.get());
    if (!added) continue;
    order.push_back(node);
    if (known_finite(node)) continue;
    found->second.assign(node->inputs().begin(), node->inputs().end());
    stack.insert(stack.end(), found->second.begin(), found->second.end());
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a->sequence() < b->sequence(); });
  std::unordered_map<const Node*, std::size_t> index;
  for (std::size_t i = 0; i < order.size(); ++i) index.emplace(order[i].get(), i);
  for (const auto& node : order) {
    Entry& entry = entries_.emplace_back(Entry{node, {}});
    for (const auto& input : inputs[node.get()]) entry.inputs.push_back(index.at(input.get()));
  }
}

std::size_t History::index_of(const Node& node) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), node.sequence(),
                                      [](const Entry& entry, std::uint64_t sequence) { return entry.node->sequence() < sequence; });
  return static_cast<std::size_t>(found - entries_.begin());
}

namespace {

std::vector<Ref<Node>> checked_roots(std::span<const Ref<Node>> asked, const std::vector<Ref<Cell>>& cells) {
  std::vector<Ref<Node>> roots;
  if (looking || !checking(Check::Nan)) return roots;
  for (const auto& node : asked) roots.push_back(node);
  for (const auto& cell : cells) roots.push_back(cell->value().node());
  return roots;
}

}  // namespace

FiniteCheck::FiniteCheck(std::span<const Ref<Node>> asked, const std::vector<Ref<Cell>>& cells)
    : roots_(checked_roots(asked, cells)),
      history_(roots_) {}

void FiniteCheck::require() const {
  if (roots_.empty()) return;
  const Looking own;
  if (std::all_of(roots_.begin(), roots_.end(), [](const auto& root) { return known_finite(root); })) return;
  const KeptHistory::Reader reader;
  compute(history_, {});
  const auto found = first_maker(history_, roots_);
  if (!found || (found->given && found->result.nans == 0)) return;
  throw Error({.op = found->op, .got = found->details(), .expected = "finite numbers (TEGULA_CHECK=nan)", .where = found->where});
}

}  // namespace compile

std::string Extent::text() const { return name + (name.empty() ? "" : " ") + values(); }

std::string Extent::values() const {
  char range[80];
  std::snprintf(range, sizeof range, " from %.4g to %.4g", minimum, maximum);
  const bool any = numel(shape) > nans + infinities;
  return std::string(tegula::name(dtype)) + to_string(shape) + (any ? range : "") + compile::counted(nans, "nan") +
         compile::counted(infinities, "infinite");
}

std::string NonFinite::details() const {
  std::string text = result.values();
  if (!module.empty()) text += ", in or behind the module '" + module + "'";
  for (std::size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? "; of " : " and ") + inputs[i].text();
  return text;
}

std::string NonFinite::text() const {
  const std::string place = to_string(where);
  return op + (place.empty() ? "" : " at " + place) + ": " + details();
}

std::optional<NonFinite> find_nonfinite(const std::vector<Tensor>& values, Line where) {
  refuse_in_trace("find_nonfinite", where);
  std::vector<Ref<Node>> roots;
  for (const Tensor& value : values) {
    value.shape(where);  // refuses an empty tensor
    roots.push_back(value.node());
  }
  const compile::Looking own;
  const KeptHistory::Reader reader;
  const compile::History history(roots);
  compile::compute(history, where);
  return compile::first_maker(history, roots);
}

std::optional<NonFinite> find_nonfinite(const Tensor& value, Line where) { return find_nonfinite(std::vector{value}, where); }

bool checks_nonfinite() { return checking(Check::Nan); }

}  // namespace tegula

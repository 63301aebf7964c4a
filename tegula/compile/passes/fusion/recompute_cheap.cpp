#include <algorithm>
#include <map>
#include <unordered_set>

#include "tegula/compile/passes/fusion/fuse.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kMostItems = 6;  // of arithmetic that costs less than a trip to memory

class Recomputer {
 public:
  Recomputer(Graph& graph, Fusion& fusion) : graph_(graph), fusion_(fusion) {}

  void run() {
    kept_.assign(graph_.items.size(), false);
    for (int output : graph_.outputs) kept_[index(graph_.place(output).value)] = true;
    for (const auto& update : graph_.updates) kept_[index(graph_.place(update.item).value)] = true;
    for (const FusedGroup& group : fusion_.groups) {
      operands_.push_back(0);
      for (int item : group.items) operands_.back() += operands(graph_[item]);
    }
    readers_.resize(graph_.items.size());
    for (int i = 0; i < graph_.size(); ++i) {
      for (int input : graph_[i].inputs) readers_[index(input)].push_back(i);
    }
    const int size = graph_.size();
    for (int i = 0; i < size; ++i) consider(i, false);
    for (int i = size - 1; i >= 0; --i) consider(i, true);
    if (copies_.empty()) return;
    int ordered = -1;
    for (const auto& [key, copy] : copies_) {
      if (key.first != ordered) in_order(fusion_.groups[index(ordered = key.first)]);
    }
    mark_stored(graph_, fusion_);
  }

 private:
  const Membership& member(int i) const { return fusion_.members[index(i)]; }

  /// True if the reader's group, another one, could compute the item where it reads it: over the same domain, element by element.
  bool takes(int reader, int item) const {
    const Membership& at = member(reader);
    if (at.group < 0 || at.group == member(item).group) return false;
    const bool full = at.space == Space::Full || graph_[reader].role() == Role::Reduce;
    return full && fusion_.groups[index(at.group)].domain == graph_[item].shape;
  }

  /// The items, inputs first, that `item` is made of out of memory; false when that is too much.
  bool expression(int item, std::vector<int>& items, std::vector<int>& large, std::size_t depth = 1) const {
    if (std::find(items.begin(), items.end(), item) != items.end()) return true;
    if (depth > kMostItems) return false;  // all on the way here would be among them
    const Item& self = graph_[item];
    if (self.role() != Role::Elementwise || self.op->numerics() != Numerics::Either || self.as<ElementwiseOp>().has_check()) return false;
    for (int input : self.inputs) {
      const int base = graph_.place(input).value;
      const Role role = graph_[base].role();
      if (role == Role::Scalar || role == Role::Index) continue;
      const bool inside = member(base).group == member(item).group && member(base).space == Space::Full && !fusion_.stored[index(base)];
      if (inside) {
        if (base != input || !expression(base, items, large, depth + 1)) return false;
      } else if (2 * numel(graph_[base].shape) > numel(self.shape) && std::find(large.begin(), large.end(), base) == large.end()) {
        large.push_back(base);
      }
    }
    items.push_back(item);
    return items.size() <= kMostItems;
  }

  /// True if the group may compute these items too: repeated work is limited, since it adds up (a deep chain and its derivative).
  bool has_room(int group, const std::vector<int>& items) const {
    int more = 0;
    for (const int item : items) more += copies_.contains({group, item}) ? 0 : operands(graph_[item]);
    return operands_[index(group)] + more <= kMostOperands;
  }

  /// How many of these large values the group does not read anyway. `item` does not count.
  std::size_t unread(const std::vector<int>& large, int group, int item) const {
    const auto reads = [&](int reader, int value) {
      return std::ranges::any_of(graph_[reader].inputs, [&](int input) { return graph_.place(input).value == value; });
    };
    return static_cast<std::size_t>(std::ranges::count_if(large, [&](int value) {
      return value == item || std::ranges::none_of(fusion_.groups[index(group)].items, [&](int member) { return reads(member, value); });
    }));
  }

  /// Lets groups that read an item compute it. With `all`: if all of them can, so that it need not be stored; they may have one more value to read for it.
  /// Else it may stay in memory for others (a matmul's operand): those groups that already read all its operands. The derivative of a normalised relu reads
  /// the normalisation's input.
  void consider(int item, bool all) {
    if (member(item).space != Space::Full || !fusion_.stored[index(item)] || (all && kept_[index(item)])) return;
    std::vector<int> takers;
    for (const int reader : readers_[index(item)]) {
      if (takes(reader, item)) takers.push_back(reader);
      else if (all && (member(reader).group < 0 || member(reader).group != member(item).group)) return;
    }
    std::vector<int> items, large;
    if (takers.empty() || !expression(item, items, large) || (!all && large.empty())) return;
    const auto is_wide = [&](int value) { return size_of(graph_[value].dtype) > 2 * size_of(graph_[item].dtype); };
    if (all && std::ranges::any_of(large, is_wide)) return;
    const auto group_of = [&](int reader) { return member(reader).group; };
    const auto fits = [&](int reader) {
      return has_room(group_of(reader), items) && unread(large, group_of(reader), item) <= (all ? 1u : 0u);
    };
    if (all && !std::ranges::all_of(takers, fits)) return;
    if (all) replace(item, items, takers);
    if (!all) std::ranges::stable_sort(takers, {}, group_of);
    for (auto at = takers.begin(); !all && at != takers.end();) {
      const auto end = std::find_if(at, takers.end(), [&](int reader) { return group_of(reader) != group_of(*at); });
      if (fits(*at)) replace(item, items, {at, end});
      at = end;
    }
    if (readers_[index(item)].empty() && !kept_[index(item)]) std::erase(fusion_.groups[index(member(item).group)].items, item);
  }

  /// `readers` compute the item, the last of `items`, where they are.
  void replace(int item, const std::vector<int>& items, std::vector<int> readers) {
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (int reader : readers) {
      const int copy = copy_into(member(reader).group, items);
      for (int& input : graph_[reader].inputs) {
        if (input == item) input = copy;
      }
      readers_[index(copy)].push_back(reader);
    }
    std::erase_if(readers_[index(item)], [&](int reader) { return std::binary_search(readers.begin(), readers.end(), reader); });
  }

  /// Copies of the items in the group, each once; the last one's number.
  int copy_into(int group, const std::vector<int>& items) {
    int last = -1;
    for (int item : items) {
      const auto [entry, is_new] = copies_.try_emplace({group, item}, graph_.size());
      last = entry->second;
      if (!is_new) continue;
      Item copy = graph_[item];
      copy.node = -1;
      copy.within = {};
      for (int& input : copy.inputs) {
        if (const auto found = copies_.find({group, input}); found != copies_.end()) input = found->second;
      }
      Membership at = member(item);
      at.group = group;
      fusion_.members.push_back(std::move(at));
      fusion_.stored.push_back(false);
      kept_.push_back(false);
      readers_.emplace_back();
      for (int input : copy.inputs) readers_[index(input)].push_back(graph_.size());
      fusion_.groups[index(group)].items.push_back(graph_.size());
      operands_[index(group)] += operands(copy);
      fusion_.through.push_back(itself(graph_, item));
      fusion_.through.back().base = graph_.size();
      graph_.items.push_back(std::move(copy));
      graph_.places.push_back(place_of(graph_, graph_.places, graph_.size() - 1));
    }
    return last;
  }

  /// Copies have numbers behind those of their readers: inputs first again.
  void in_order(FusedGroup& group) const {
    std::unordered_set<int> left(group.items.begin(), group.items.end());
    std::vector<int> sorted;
    std::vector<std::pair<int, std::size_t>> stack;  // (item, which of its inputs is next)
    for (int item : group.items) {
      if (left.contains(item)) stack.emplace_back(item, 0);
      left.erase(item);
      while (!stack.empty()) {
        auto& [top, next] = stack.back();
        if (next == graph_[top].inputs.size()) {
          sorted.push_back(top);
          stack.pop_back();
        } else if (const int base = graph_.place(graph_[top].inputs[next++]).value; left.erase(base) > 0) {
          stack.emplace_back(base, 0);
        }
      }
    }
    group.items = std::move(sorted);
  }

  Graph& graph_;
  Fusion& fusion_;
  std::vector<bool> kept_;  // leaves the graph
  std::vector<std::vector<int>> readers_;
  std::vector<int> operands_;  // of each group
  std::map<std::pair<int, int>, int> copies_;  // (group, item) -> its copy there
};

}  // namespace

void recompute_cheap(Graph& graph, Fusion& fusion) { Recomputer(graph, fusion).run(); }

}  // namespace tegula::compile

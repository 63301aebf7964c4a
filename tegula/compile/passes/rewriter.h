#pragma once
// A graph built again, item by item: what the passes share that put items before others or others in their places.

#include <optional>
#include <utility>

#include "tegula/compile/graph.h"

namespace tegula::compile {

/// An item that a pass inserts: of another op, in all else like `like`.
inline Item inserted(Ref<const Op> op, std::vector<int> inputs, const Item& like) {
  return {.op = std::move(op),
          .inputs = std::move(inputs),
          .shape = like.shape,
          .dtype = like.dtype,
          .precision = like.precision,
          .origin = like.origin,
          .order = {}};
}

/// The shape and dtype of an inserted item, as far as they are not those of the item that it is like, and its memory order.
struct Own {
  std::optional<Shape> shape = {};
  std::optional<DType> dtype = {};
  Dims order = {};
};

/// The views through which an item is seen, outermost first, and the item below them.
struct Seen {
  std::vector<int> views;
  int base = -1;
};
inline Seen seen_through_views(const Graph& graph, int i) {
  Seen out{.views = {}, .base = i};
  for (; graph[out.base].role() == Role::View; out.base = graph[out.base].inputs[0]) out.views.push_back(out.base);
  return out;
}

class Rewriter {
 public:
  explicit Rewriter(const Graph& from) : from_(from), renumbered_(from.items.size()) {
    out_.leaves = from.leaves;
    out_.constants = from.constants;
    out_.derived = from.derived;
    out_.outputs = from.outputs;
    out_.updates = from.updates;
    out_.items.reserve(from.items.size() + from.items.size() / 16 + 16);  // with room for a few that are inserted
    if (!from.places.empty()) make_places();
  }
  /// From now on the new graph has places. Its items must not change once they are added.
  void make_places() {
    places_ = true;
    out_.places.reserve(out_.items.capacity());
  }

  const Graph& from() const { return from_; }
  const Graph& out() const { return out_; }
  /// The new number of an old item.
  int now(int old) const { return renumbered_[index(old)]; }
  /// The number of a further item.
  int add(Item item) {
    out_.items.push_back(std::move(item));
    if (places_) out_.places.push_back(place_of(out_, out_.places, out_.size() - 1));
    return out_.size() - 1;
  }

  /// The number of a further item: of another op, in all else like `like`.
  int insert(Ref<const Op> op, std::vector<int> inputs, const Item& like, const Own& own = {}) {
    Item item = inserted(std::move(op), std::move(inputs), like);
    if (own.shape) item.shape = *own.shape;
    if (own.dtype) item.dtype = *own.dtype;
    item.order = own.order;
    return add(std::move(item));
  }
  /// The number of a further item: the same as this one, over other inputs.
  int again(Item item, std::vector<int> inputs) {
    item.inputs = std::move(inputs), item.node = -1;
    return add(std::move(item));
  }
  /// Copies of views of `graph`, the outermost first, over another item of the new graph; the outermost one's number.
  int insert(const Graph& graph, const std::vector<int>& views, int over) {
    for (std::size_t k = views.size(); k-- > 0;) {
      Item view = graph[views[k]];
      view.inputs = {over}, view.dtype = out_[over].dtype, view.node = -1;
      over = add(std::move(view));
    }
    return over;
  }

  /// The slot of a further number, which the host makes before a run.
  int add(DType dtype, Expression derived) {
    out_.constants.push_back(dtype);
    out_.derived.push_back(std::move(derived));
    return static_cast<int>(out_.constants.size()) - 1;
  }

  /// All items in order: `change(i, item)` gets a copy of the old item i whose inputs have their new numbers, which stays as it leaves it.
  template <class Change>
  void each(Change change) {
    for (int i = 0; i < from_.size(); ++i) next(i, change);
  }
  /// The same in another order, in which inputs come first.
  template <class Change>
  void each(const std::vector<int>& order, Change change) {
    for (const int i : order) next(i, change);
  }

  /// The new graph. `output(i)` and `update(i)` say which new item stands for the old item i that leaves as a result or a Variable's value.
  template <class Output, class Update>
  Graph finish(Output output, Update update) {
    for (int& i : out_.outputs) i = output(i);
    for (auto& u : out_.updates) u.item = update(u.item);
    return std::move(out_);
  }
  Graph finish() {
    const auto same = [this](int i) { return now(i); };
    return finish(same, same);
  }

 private:
  template <class Change>
  void next(int i, Change& change) {
    Item item = from_[i];
    for (int& input : item.inputs) input = now(input);
    change(i, item);
    renumbered_[index(i)] = add(std::move(item));
  }

  const Graph& from_;
  Graph out_;
  bool places_ = false;
  std::vector<int> renumbered_;
};

/// Builds the graph again: `change(rewriter, i, item)` for each item (Rewriter::each).
template <class Change>
void rewrite(Graph& graph, Change change) {
  Rewriter rewriter(graph);
  rewriter.each([&](int i, Item& item) { change(rewriter, i, item); });
  graph = rewriter.finish();
}

}  // namespace tegula::compile

#include <algorithm>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/core/memory_rows.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

/// Elements that a piece must have side by side where its program stores it: shorter rows cost all that is in the program more than a copy does.
constexpr std::int64_t kShortestRun = 16;
/// The same where a call stores it, in bytes: a sector of a GPU's memory.
constexpr std::int64_t kShortestRunBytes = 32;

/// The layout over these axes alone, which are given innermost first.
Layout along(const std::vector<int>& axes, const Shape& shape, const Strides& strides) {
  Layout out;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) out.shape.push_back(shape[*axis]), out.strides.push_back(strides[*axis]);
  return out;
}

/// The strides with which a value, dense as `own` says, must be stored so that what a view shows of it, `seen`, has the strides `wanted`. Nothing
/// where the view shows a part, shows something twice, or cuts the value's axes otherwise than strides can follow.
std::optional<Strides> strides_below(const Layout& own, const Layout& seen, const Strides& wanted) {
  const std::vector<int> axes = axes_by_stride(own), of_view = axes_by_stride(seen);
  if (seen.offset != 0 || run_of(seen, of_view) != std::pair(of_view.size(), numel(own.shape))) return std::nullopt;
  const auto lies = tegula::reshape(along(of_view, seen.shape, wanted), along(axes, own.shape, own.strides).shape);
  if (!lies) return std::nullopt;
  Strides out = Dims::filled(own.shape.rank(), 1);
  for (std::size_t k = 0; k < axes.size(); ++k) out[axes[k]] = lies->strides[static_cast<int>(axes.size() - 1 - k)];
  return out;
}

class Storer {
 public:
  Storer(const Graph& graph, const runtime::Device& device) : graph_(graph), device_(device), values_(graph.items.size()), users_(graph) {
    for (int i = 0; i < graph.size(); ++i)
      if (const int below = overwritten(graph, i); below >= 0) value(below).written_over = true;
    for (int i = graph.size(); i-- > 0;)  // the outermost join first: its pieces may be joins
      if (is_join(i)) value(i).assembled = place_pieces(i);
  }

  /// Text, a line for each piece that is copied.
  std::string refused() const {
    std::string text;
    for (const auto& [join, input, why] : refused_) {
      const Item& piece = graph_[graph_[join].inputs[index(input)]];
      text += std::string(graph_[join].op->name()) + to_string(graph_[join].shape) + ", piece " + std::to_string(input) + " (" +
              std::string(piece.op->name()) + to_string(piece.shape) + ") is copied: " + std::string(why) + "\n";
    }
    return text;
  }

  /// The graph in which the pieces are stored within their joins.
  Graph stored() const {
    Rewriter rewriter(graph_);
    rewriter.each([&](int i, Item& item) {
      if (const Within& within = value(i).within; within.whole >= 0) item.within = within;
      if (!value(i).assembled) return;
      std::vector<int> inputs;
      each_part(i, [&](int k, const Layout& layout) {
        if (numel(layout.shape) == 0) return;
        if (k >= 0 && is_placed(i, k)) return inputs.push_back(item.inputs[index(k)]);
        const Item& like = k < 0 ? item : rewriter.out()[item.inputs[index(k)]];
        const Ref<const Op>& op = k < 0 ? zeros_op() : like.dtype == item.dtype ? copy_op() : cast_op();
        Item piece = inserted(op, k < 0 ? std::vector<int>() : std::vector{item.inputs[index(k)]}, like);
        piece.shape = layout.shape, piece.dtype = item.dtype, piece.within = Within{i, layout};
        inputs.push_back(rewriter.add(std::move(piece)));
      });
      item.inputs = std::move(inputs);
      item.op = item.join()->without_gaps();
      item.assembled = true;
    });
    Graph out = rewriter.finish();
    for (Item& item : out.items)
      if (item.within->whole >= 0) item.within.edit().whole = rewriter.now(item.within->whole);
    out.places = places(out);
    return out;
  }
  bool any() const { return std::ranges::any_of(values_, &Value::assembled); }

 private:
  /// The decisions about an item.
  struct Value {
    Within within;
    int input = -1;  // of its join that it is
    std::int64_t begin = 0;  // in the outermost join, in elements
    bool written_over = false;  // by an op that takes over its storage, or that of the join in which it lies
    bool assembled = false;  // a join, whose pieces are stored in it
  };

  struct RefusedPiece {
    int join = -1, input = -1;
    Refusal why;
  };

  Value& value(int i) { return values_[index(i)]; }
  const Value& value(int i) const { return values_[index(i)]; }
  bool is_join(int i) const { return graph_[i].join() && numel(graph_[i].shape) > 0; }

  /// Visits the parts of the join in order: `visit(k, layout)` for input k, and with k = -1 for each gap.
  template <class Visit>
  void each_part(int i, Visit visit) const {
    const Joins& join = *graph_[i].join();
    const int axis = join.joined_axis();
    const Within& within = value(i).within;
    Layout part = within.whole >= 0 ? Layout{graph_[i].shape, within.layout.strides, 0} : layout_of(graph_[i]);
    const std::int64_t stride = part.strides[axis], size = part.shape[axis];
    std::int64_t end = 0;
    const auto next = [&](int k, std::int64_t begin, std::int64_t length) {
      part.shape[axis] = length;
      part.offset = begin * stride;
      if (length > 0 || k >= 0) visit(k, part);
      end = begin + length;
    };
    for (int k = 0; k < static_cast<int>(graph_[i].inputs.size()); ++k) {
      const std::int64_t begin = join.joined_at().empty() ? end : join.joined_at()[index(k)];
      next(-1, end, begin - end);
      next(k, begin, graph_[graph_[i].inputs[index(k)]].shape[axis]);
    }
    next(-1, end, size - end);
  }

  bool is_placed(int i, int k) const {
    const Value& piece = value(graph_.place(graph_[i].inputs[index(k)]).value);
    return piece.within.whole == i && piece.input == k;
  }

  /// True unless the join stays a kernel.
  bool place_pieces(int i) {
    bool any = value(i).within.whole >= 0 || !graph_[i].order.empty();  // the kernel of a join is row-major
    for (const int input : graph_[i].inputs) any = any || is_flexible(graph_.place(input).value);
    each_part(i, [&](int k, const Layout& layout) {
      if (k < 0 || numel(layout.shape) == 0) return;
      const int input = graph_[i].inputs[index(k)], piece = graph_.place(input).value;
      Strides strides;
      if (const Refusal why = refusal(i, input, layout, strides); !why.empty()) return refused_.push_back({i, k, why});
      value(piece) = {.within = {i, {graph_[piece].shape, strides, layout.offset}},
                      .input = k,
                      .begin = value(i).begin + layout.offset,
                      .written_over = value(i).written_over};  // a join's pieces lie in both
      any = true;
    });
    return any;
  }

  /// True if the value's producer can store it with any strides.
  bool is_flexible(int i) const {
    const Role role = graph_[i].role();
    return role == Role::Elementwise || role == Role::Reduce || is_join(i);
  }

  /// The reason why the value below `input` is not stored in its part of the join; empty if it is, with those strides.
  Refusal refusal(int join, int input, const Layout& part, Strides& strides) const {
    const int piece = graph_.place(input).value;
    const Item& item = graph_[piece];
    if (item.dtype != graph_[join].dtype) return "it is cast on the way";
    if (!item.is_computed()) return "no step computes it";
    if (value(piece).within.whole >= 0) return "it is stored in another part";
    if (users_.leaves(piece)) return "it is a result";
    if (value(piece).written_over || overwritten(graph_, piece) >= 0) return "it shares its memory with what is written over it";
    if (value(join).written_over && !read_once(piece)) return "others read it, and the join is written over";

    const Layout own = layout_of(item);
    const auto wanted = strides_below(own, graph_.place(input).layout, part.strides);
    if (!wanted) return "the join shows a part of it, or no strides lead to this order";
    const std::int64_t begin = value(join).begin + part.offset, size = static_cast<std::int64_t>(size_of(item.dtype));
    const bool flexible = is_flexible(piece);
    if (same_strides(own, *wanted)) {
      strides = own.strides;
      const auto alignment = static_cast<std::int64_t>(device_.traits().layouts.alignment);
      return flexible || begin * size % alignment == 0 ? Refusal()
                                                       : "a call or a kernel of its own would store it at an address that is not aligned";
    }
    strides = *wanted;
    if (!lies_well(own, strides, flexible ? kShortestRun : kShortestRunBytes / size))
      return "its rows are short, or its axes lie in another order";
    const SlicePlace slice{{item.shape, strides, 0}, begin, item.dtype};
    if (!flexible && !stores(piece, slice)) return "the call that computes it does not store such rows";
    return everybody_reads(join, piece, slice) ? Refusal() : "a reader of it does not accept such rows";
  }

  bool takes_slice(const Item& call, int which, const SlicePlace& slice) const {
    if (which == 1 && call.packed->blocks) return false;
    return call.role() == Role::Library && call.as<LibraryOp>().takes_slice(device_, which, slice);
  }

  static bool reads_tensor(const runtime::Expression& epilogue) {
    return std::ranges::any_of(epilogue.values, [](const auto& value) { return value.source == runtime::Expression::Source::Tensor; });
  }

  /// True if the call that computes the value writes it there as fast as to memory of its own.
  bool stores(int piece, const SlicePlace& slice) const {
    const Item& call = graph_[producer_of(graph_, piece)];
    if (reads_tensor(*call.epilogue)) return false;  // which lies as the result does
    const int result = result_of(graph_, piece);
    return takes_slice(call, LibraryOp::kResult - result, slice);
  }

  /// True if the call reads it there as its input k as fast as from memory of its own.
  bool reads(const Item& call, std::size_t k, const SlicePlace& slice) const {
    return !read_by_epilogue(call, k) && takes_slice(call, static_cast<int>(k), slice);
  }

  /// The same axes stay the inner ones, and so many of the innermost elements side by side.
  static bool lies_well(const Layout& own, const Strides& strides, std::int64_t shortest) {
    const std::vector<int> axes = axes_by_stride(own);
    return std::ranges::is_sorted(axes, {}, [&](int axis) { return strides[axis]; }) &&
           run_of({own.shape, strides}, axes).second >= shortest;
  }

  /// True if only the join reads it, through views or not.
  bool read_once(int i) const {
    while (users_.of(i).size() == 1) {
      i = users_.of(i)[0].reader;
      if (!graph_[i].shows_input()) return true;
    }
    return false;
  }

  /// True if all readers of the value, through views or not, accept it in this place within the join. Later joins are decided; an earlier one may keep
  /// its kernel.
  bool everybody_reads(int join, int piece, const SlicePlace& slice) const {
    std::vector<std::pair<int, Layout>> stack{{piece, slice.layout}};
    while (!stack.empty()) {
      const auto [seen, lies] = stack.back();
      stack.pop_back();
      for (const auto& [reader, k] : users_.of(seen)) {
        const Item& item = graph_[reader];
        if (item.shows_input() && k == 0) {
          const auto next = shown(*item.op, lies);
          if (!next) return false;
          stack.emplace_back(reader, *next);
        } else if (item.role() == Role::Library) {
          if (!reads(item, static_cast<std::size_t>(k), {lies, slice.first + lies.offset, slice.dtype})) return false;
        } else if (item.role() == Role::Kernel) {
          // A join that is put together from copies reads any strides; its kernel, which others keep, reads dense values alone.
          if (reader != join && !value(reader).assembled && !lies.is_dense()) return false;
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  const runtime::Device& device_;
  std::vector<Value> values_;  // by item
  std::vector<RefusedPiece> refused_;
  Users users_;
};

}  // namespace

void store_within(Graph& graph, const runtime::Device& device) {
  if (std::ranges::none_of(graph.items, [](const Item& item) { return item.join() != nullptr; })) return;
  const Storer storer(graph, device);
  if (storer.any()) graph = storer.stored();
}

std::string refused_pieces(const Graph& graph, const runtime::Device& device) { return Storer(graph, device).refused(); }

}  // namespace tegula::compile

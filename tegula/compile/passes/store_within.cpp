#include "tegula/compile/passes/store_within.h"

#include <algorithm>
#include <unordered_map>

#include "tegula/compile/passes/materialize.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/core/memory_rows.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/runtime/device.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

/// Elements that a piece must have side by side where its program stores it: shorter rows cost all that is in the program more than a copy does.
constexpr std::int64_t kShortestRun = 16;
/// The same where a call stores it, in bytes: a sector of a GPU's memory.
constexpr std::int64_t kShortestRunBytes = 32;

bool is_computed_by_a_group(const Item& item) { return item.role() == Role::Elementwise || item.role() == Role::Reduce; }

/// One axis of more than one element: how many, how far apart they lie now, and how far they shall.
struct Digit {
  std::int64_t extent, now, then;
};
std::vector<Digit> digits(const Layout& layout, const Strides& then) {
  std::vector<Digit> out;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] != 1) out.push_back({layout.shape[i], layout.strides[i], then[i]});
  }
  std::ranges::sort(out, {}, &Digit::now);
  return out;
}

/// The strides with which a value, dense as `own` says, must be stored so that what a view shows of it, `seen`, has the strides `wanted`. Nothing
/// where the view shows a part, shows something twice, or cuts the value's axes otherwise than strides can follow.
std::optional<Strides> strides_below(const Layout& own, const Layout& seen, const Strides& wanted) {
  if (seen.offset != 0 || numel(seen.shape) != numel(own.shape)) return std::nullopt;
  std::vector<Digit> view = digits(seen, wanted);
  std::int64_t next = 1;
  for (const Digit& digit : view) {
    if (digit.now != next) return std::nullopt;
    next *= digit.extent;
  }
  Strides out = Dims::filled(own.shape.rank(), 1);
  std::vector<int> axes;
  for (int i = 0; i < own.shape.rank(); ++i) {
    if (own.shape[i] != 1) axes.push_back(i);
  }
  std::ranges::sort(axes, {}, [&](int axis) { return own.strides[axis]; });
  std::size_t at = 0;
  for (const int axis : axes) {
    out[axis] = view[at].then;
    std::int64_t left = own.shape[axis];
    while (left > 1) {
      Digit& digit = view[at];
      if (digit.then != out[axis] * (own.shape[axis] / left)) return std::nullopt;  // this part of the axis lies elsewhere
      const std::int64_t both = std::min(left, digit.extent);
      if (left % both != 0 || digit.extent % both != 0) return std::nullopt;
      left /= both, digit.extent /= both, digit.then *= both;
      if (digit.extent == 1) ++at;
    }
  }
  return out;
}

class Storer {
 public:
  Storer(const Graph& graph, const runtime::Device& device)
      : graph_(graph),
        device_(device),
        alignment_(static_cast<std::int64_t>(device.traits().layouts.alignment)),
        result_(graph.items.size()),
        written_over_(graph.items.size()),
        is_join_(graph.items.size()),
        within_(graph.items.size()),
        at_(graph.items.size()),
        assembled_(graph.items.size()),
        users_(graph) {
    for (int i = 0; i < graph.size(); ++i) {
      if (users_.leaves(i)) result_[index(i)] = true;
      if (const int below = overwritten(graph, i); below >= 0) result_[index(below)] = written_over_[index(below)] = true;
      is_join_[index(i)] = graph[i].join() && numel(graph[i].shape) > 0;
    }
  }

  bool decide() {
    bool any = false;
    for (int i = graph_.size(); i-- > 0;) {  // the outermost join first: its pieces may be joins
      if (is_join_[index(i)]) any = place_pieces(i) || any;
    }
    return any;
  }

  Graph run() {
    Rewriter rewriter(graph_);
    std::vector<std::pair<int, int>> pieces;  // (new item, the join's old number)
    rewriter.each([&](int i, Item& item) {
      if (const Within& within = within_[index(i)]; within.whole >= 0) {
        item.within = within;
        pieces.emplace_back(-1 - i, within.whole);
      }
      if (!assembled_[index(i)]) return;
      const auto insert = [&](Item piece, const Layout& layout) {
        piece.within = Within{i, layout};
        pieces.emplace_back(rewriter.add(std::move(piece)), i);
        return pieces.back().first;
      };
      std::vector<int> inputs;
      each_part(i, [&](int k, const Layout& layout) {
        if (numel(layout.shape) == 0) return;
        if (k < 0) {
          Item piece = inserted(zeros_op(), {}, item);
          piece.shape = layout.shape;
          inputs.push_back(insert(std::move(piece), layout));
        } else if (is_placed(i, k)) {
          inputs.push_back(item.inputs[index(k)]);
        } else {
          const Item& input = rewriter.out()[item.inputs[index(k)]];
          Item piece = inserted(input.dtype == item.dtype ? copy_op() : cast_op(), {item.inputs[index(k)]}, input);
          piece.dtype = item.dtype;
          inputs.push_back(insert(std::move(piece), layout));
        }
      });
      item.inputs = std::move(inputs);
      item.op = item.join()->without_gaps();
      item.assembled = true;
    });
    Graph out = rewriter.finish();
    for (const auto& [piece, whole] : pieces) out[piece < 0 ? rewriter.now(-1 - piece) : piece].within.edit().whole = rewriter.now(whole);
    out.places = places(out);
    return out;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  Layout layout_of_join(int i) const {
    return within_[index(i)].whole >= 0 ? Layout{graph_[i].shape, within_[index(i)].layout.strides, 0} : layout_of(graph_[i]);
  }

  /// Visits the parts of the join in order: `visit(k, layout)` for input k, and with k = -1 for each gap.
  template <class Visit>
  void each_part(int i, Visit visit) const {
    const Joins& join = *graph_[i].join();
    const int axis = join.joined_axis();
    Layout part = layout_of_join(i);
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
    const int input = graph_[i].inputs[index(k)];
    const Within& within = within_[index(graph_.place(input).value)];
    return within.whole == i && placed_input_.at(graph_.place(input).value) == k;
  }

  bool place_pieces(int i) {
    bool any = within_[index(i)].whole >= 0 || !graph_[i].order.empty();  // the kernel of a join is row-major
    for (const int input : graph_[i].inputs) any = any || is_flexible(graph_.place(input).value);
    each_part(i, [&](int k, const Layout& layout) {
      if (k < 0 || numel(layout.shape) == 0) return;
      const int input = graph_[i].inputs[index(k)], piece = graph_.place(input).value;
      const auto strides = strides_for(i, input, layout);
      if (!strides) return;
      within_[index(piece)] = {i, {graph_[piece].shape, *strides, layout.offset}};
      at_[index(piece)] = at_[index(i)] + layout.offset;
      placed_input_[piece] = k;
      written_over_[index(piece)] = written_over_[index(piece)] || written_over_[index(i)];  // a join's pieces lie in both
      any = true;
    });
    assembled_[index(i)] = any;
    return any;
  }

  /// True if the value's producer can store it with any strides.
  bool is_flexible(int value) const { return is_computed_by_a_group(graph_[value]) || is_join_[index(value)]; }

  /// How what lies below `input` must be stored to lie in its part of join i; nothing where it cannot.
  std::optional<Strides> strides_for(int i, int input, const Layout& part) const {
    const int piece = graph_.place(input).value;
    const Item& item = graph_[piece];
    const bool flexible = is_flexible(piece);
    if (item.dtype != graph_[i].dtype) return std::nullopt;  // a cast is what lies there
    if (!item.is_computed() || result_[index(piece)] || within_[index(piece)].whole >= 0 || overwritten(graph_, piece) >= 0)
      return std::nullopt;
    if (written_over_[index(i)] && !read_once(piece)) return std::nullopt;
    const Layout own = layout_of(item);
    const auto strides = strides_below(own, graph_.place(input).layout, part.strides);
    if (!strides) return std::nullopt;
    if (same_strides(own, *strides)) {
      const bool aligned = (at_[index(i)] + part.offset) * static_cast<std::int64_t>(size_of(item.dtype)) % alignment_ == 0;
      return flexible || aligned ? std::optional(own.strides) : std::nullopt;
    }
    const SlicePlace slice{{item.shape, *strides, 0}, at_[index(i)] + part.offset, item.dtype};
    const std::int64_t shortest = flexible ? kShortestRun : kShortestRunBytes / static_cast<std::int64_t>(size_of(item.dtype));
    const bool can = lies_well(own, *strides, shortest) && (flexible || stores(piece, slice));
    return can && everybody_reads(i, piece, slice) ? strides : std::nullopt;
  }

  bool takes_slice(const Item& call, int which, const SlicePlace& slice) const {
    return call.role() == Role::Library && call.as<LibraryOp>().takes_slice(device_, which, slice);
  }

  static bool reads_tensor(const runtime::Expression& epilogue) {
    return std::ranges::any_of(epilogue.values, [](const auto& value) { return value.source == runtime::Expression::Source::Tensor; });
  }

  /// True if the call that computes the value writes it there as fast as to memory of its own.
  bool stores(int value, const SlicePlace& slice) const {
    const Item& call = graph_[producer_of(graph_, value)];
    if (reads_tensor(*call.epilogue)) return false;  // which lies as the result does
    const int result = result_of(graph_, value);
    return takes_slice(call, LibraryOp::kResult - result, slice);
  }

  /// True if the call reads it there as its input k as fast as from memory of its own.
  bool reads(const Item& call, std::size_t k, const SlicePlace& slice) const {
    return !read_by_epilogue(call, k) && takes_slice(call, static_cast<int>(k), slice);
  }

  /// The same axes stay the inner ones, and so many of the innermost elements side by side.
  static bool lies_well(const Layout& own, const Strides& strides, std::int64_t shortest) {
    const std::vector<Digit> axes = digits(own, strides);
    std::int64_t run = 1, last = 0;
    bool side_by_side = true;
    for (const Digit& axis : axes) {
      if (axis.then < last) return false;
      last = axis.then;
      side_by_side = side_by_side && axis.then == run;
      if (side_by_side) run *= axis.extent;
    }
    return run >= shortest;
  }

  /// True if only the join reads it, through views or not.
  bool read_once(int value) const {
    while (users_.of(value).size() == 1) {
      value = users_.of(value)[0].reader;
      if (!graph_[value].shows_input()) return true;
    }
    return false;
  }

  /// True if all readers of the value, through views or not, accept it in this place within the join. Later joins are decided; an earlier one may keep
  /// its kernel.
  bool everybody_reads(int join, int value, const SlicePlace& slice) const {
    std::vector<std::pair<int, Layout>> stack{{value, slice.layout}};
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
          if (reader != join && !assembled_[index(reader)] && !lies.is_dense()) return false;
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  const runtime::Device& device_;
  std::int64_t alignment_;  // bytes: where begins what a call or an op's own kernel makes
  std::vector<bool> result_;  // needs a place of its own
  std::vector<bool> written_over_;  // by an op that takes over its storage, or that of the join which it lies in
  std::vector<bool> is_join_;
  std::vector<Within> within_;
  std::vector<std::int64_t> at_;  // where it begins in the outermost join, in elements
  std::vector<bool> assembled_;
  std::unordered_map<int, int> placed_input_;  // piece -> which input of its join it is
  Users users_;
};

}  // namespace

void store_within(Graph& graph, const runtime::Device& device) {
  if (std::ranges::none_of(graph.items, [](const Item& item) { return item.join() != nullptr; })) return;
  Storer storer(graph, device);
  if (storer.decide()) graph = storer.run();
}

}  // namespace tegula::compile

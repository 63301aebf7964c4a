#include "tegula/ops/products/pooling_tiles.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "tegula/core/divide.h"
#include "tegula/ops/rows/tile_launch.h"

namespace tegula::ops {
namespace {

using runtime::Pooling;
using runtime::PoolingKind;
using tile::Tile;
using Mask = TileRows::Mask;
using Operand = KernelContext::Operand;

/// Taps of a window that are written out, and those where each element is read alone: a thread has many then. Taps of a larger window are walked over.
constexpr std::int64_t kTapsWrittenOut = 64, kTapsOfSingles = 4;
constexpr std::int64_t kLine = 4;  // elements that are read at a time, at least
class PoolingTilesOp final : public KernelOp {
 public:
  PoolingTilesOp(PoolingKind kind, bool backward, const Window& window) : kind_(kind), backward_(backward), window_(window) {}
  std::string_view name() const override { return "pooling_tiles"; }
  void attributes(Attributes& a) override {
    a.told_by_name(kind_);
    a.told_by_name(backward_);
    window_.attributes(a);
  }
  bool accepts(int, const Layout&) const override { return true; }
  void lower(KernelContext& context) const override {
    if (!backward_) return forward(context);
    if (kind_ == PoolingKind::Max && !has_taps()) return search(context);
    gather(context);
  }

 private:
  bool has_taps() const { return Pooling{.kind = kind_, .window = window_.size}.has_taps(); }
  int axes() const { return window_.axes(); }
  /// Returns true if neighbours in memory see neighbours, several at a time.
  bool reads_lines(const Operand& result) const {
    for (int axis = 1; axis < result.shape.rank(); ++axis)
      if (result.strides[axis] == 1 && result.shape[axis] > 1)
        return result.shape[axis] % kLine == 0 && (axis == 1 || (window_.stride[axis - 2] == 1 && window_.low[axis - 2] == 0));
    return false;
  }
  std::int64_t taps() const { return numel(window_.size); }

  /// A launch over the elements of a tensor (N, C, spatial…), or over blocks of them, in the order of its memory: the last axis there is the tile's columns.
  class Elements : public TileRows {
   public:
    /// `sizes`: of the tensor's blocks.
    static Elements over(KernelContext& context, const std::string& name, const Operand& tensor, const Shape& sizes) {
      std::vector<int> order;
      for (int axis = 0; axis < sizes.rank(); ++axis) order.push_back(axis);
      std::ranges::stable_sort(order, [&](int a, int b) {
        const bool single_a = sizes[a] == 1, single_b = sizes[b] == 1;
        return single_a != single_b ? single_a : tensor.strides[a] > tensor.strides[b];
      });
      const std::int64_t columns = sizes[order.back()];
      return Elements(context, name, numel(sizes) / std::max<std::int64_t>(columns, 1), columns, order, sizes);
    }
    const Tile& at(int axis) const { return at_[static_cast<std::size_t>(axis)]; }
    /// The elements of a result, which lies in this order: one behind the other, rows evenly apart. These places are seen to be different ones; others,
    /// computed from the coordinates, would be written one by one.
    std::optional<Tile> line(const Operand& of, const Tile& pointer) {
      const int last = order_.back();
      if (of.shape[last] != 1 && of.strides[last] != 1) return std::nullopt;
      std::int64_t apart = 0, rows = 1;
      for (std::size_t i = order_.size() - 1; i-- > 0;) {
        const int axis = order_[i];
        if (of.shape[axis] == 1) continue;
        if (apart == 0) apart = of.strides[axis];
        if (of.strides[axis] != apart * rows) return std::nullopt;
        rows *= of.shape[axis];
      }
      return pointer + (apart == 0 ? column() : row() * number(apart) + column());
    }
    /// One element, whose coordinates are no tiles.
    bool is_single() const { return is_single_; }

   private:
    Elements(KernelContext& context, const std::string& name, std::int64_t rows, std::int64_t columns, const std::vector<int>& order,
             const Shape& sizes)
        : TileRows(context, name, rows, columns),
          order_(order),
          at_(order.size()),
          is_single_(rows * columns == 1) {
      auto rest = row();
      at_[static_cast<std::size_t>(order.back())] = column();
      for (std::size_t i = order.size() - 1; i-- > 0;) {
        Tile& here = at_[static_cast<std::size_t>(order[i])];
        if (sizes[order[i]] == 1) {
          here = 0;
        } else if (i == 0) {
          here = rest;
        } else {
          auto size = number(sizes[order[i]]);
          here = rest % size, rest = rest / size;
        }
      }
    }
    std::vector<int> order_;
    std::vector<Tile> at_;
    bool is_single_;
  };

  /// The elements of a tensor by its strides.
  class Strided {
   public:
    Strided(Elements& launch, const Operand& of, const Tile& pointer)
        : pointer_(launch.is_single() ? pointer + tile::full_of({1, 1}, 0, i64) : pointer) {
      for (int axis = 0; axis < of.shape.rank(); ++axis) {
        if (of.shape[axis] == 1) strides_.push_back(std::nullopt);
        else if (of.strides[axis] == 1) strides_.push_back(Tile(1));
        else strides_.push_back(launch.number(of.strides[axis]));
        is_one_.push_back(of.strides[axis] == 1);
      }
    }
    /// Returns the pointers of the elements at n, c and the places along the spatial axes.
    Tile operator()(const Tile& n, const Tile& c, const std::vector<Tile>& places) const {
      std::optional<Tile> last;  // along the axis without distances: behind the others
      std::optional<Tile> all;
      for (std::size_t axis = 0; axis < strides_.size(); ++axis) {
        if (!strides_[axis]) continue;
        const Tile& at = axis == 0 ? n : axis == 1 ? c : places[axis - 2];
        if (is_one_[axis] && !last) last = at;
        else if (const Tile part = at * *strides_[axis]; all) all = *all + part;
        else all = part;
      }
      if (!all && !last) return pointer_;
      return pointer_ + (all && last ? *all + *last : all ? *all : *last);
    }

   private:
    Tile pointer_;
    std::vector<std::optional<Tile>> strides_;
    std::vector<bool> is_one_;
  };

  static Tile place_of(Elements& k, const Operand& result, const Tile& pointer) {
    if (const auto line = k.line(result, pointer)) return *line;
    std::vector<Tile> places;
    for (int axis = 2; axis < result.shape.rank(); ++axis) places.push_back(k.at(axis));
    return Strided(k, result, pointer)(k.at(0), k.at(1), places);
  }

  template <class Launch>
  static std::vector<Tile> spatial_numbers(Launch& k, const Shape& shape) {
    std::vector<Tile> out;
    for (int i = 2; i < shape.rank(); ++i) out.push_back(k.number(shape[i]));
    return out;
  }
  /// Returns the tap along each axis from a tap's number.
  std::vector<Tile> along_axes(Tile tap) const {
    std::vector<Tile> out(static_cast<std::size_t>(axes()));
    for (int i = axes(); i-- > 0;) {
      out[static_cast<std::size_t>(i)] = i == 0 ? tap : tap % window_.size[i];
      if (i > 0) tap = tap / window_.size[i];
    }
    return out;
  }
  template <class Body>
  void for_each_tap(const Operand& result, Body&& body) const {
    if (taps() <= (reads_lines(result) ? kTapsWrittenOut : kTapsOfSingles)) {
      for (std::int64_t tap = 0; tap < taps(); ++tap) {
        std::vector<Tile> along(static_cast<std::size_t>(axes()));
        std::int64_t rest = tap;
        for (int i = axes(); i-- > 0; rest /= window_.size[i]) along[static_cast<std::size_t>(i)] = Tile(rest % window_.size[i]);
        body(Tile(tap), along);
      }
      return;
    }
    for (auto tap : tile::range(0, taps())) body(tap, along_axes(tap));
  }

  /// The place of an output window's tap in the input, and whether that is inside.
  struct Seen {
    std::vector<Tile> places;
    Mask inside;
  };
  Seen seen(const std::vector<Tile>& output, const std::vector<Tile>& tap, const std::vector<Tile>& input_sizes) const {
    Seen out;
    for (int i = 0; i < axes(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      auto place = output[axis] * window_.stride[i] + (tap[axis] * window_.dilation[i] - window_.low[i]);
      if (window_.low[i] > 0) out.inside = TileRows::both(out.inside, place >= 0);
      if (window_.low[i] > 0 || window_.high[i] > 0) out.inside = TileRows::both(out.inside, place < input_sizes[axis]);
      out.places.push_back(place);
    }
    return out;
  }
  /// The output whose window has that tap at an input.
  Seen seeing(const std::vector<Tile>& input, const std::vector<Tile>& tap, const std::vector<Tile>& output_sizes) const {
    Seen out;
    for (int i = 0; i < axes(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      auto reach = input[axis] + window_.low[i] - tap[axis] * window_.dilation[i], place = reach / window_.stride[i];
      out.inside = TileRows::both(out.inside, reach >= 0 && reach % window_.stride[i] == 0 && place < output_sizes[axis]);
      out.places.push_back(place);
    }
    return out;
  }
  /// Returns the number of elements of an output's window that are inside.
  Tile inside_of(const std::vector<Tile>& output, const std::vector<Tile>& input_sizes) const {
    Tile all = 1;
    for (int i = 0; i < axes(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      const std::int64_t dilation = window_.dilation[i];
      auto first = output[axis] * window_.stride[i] - window_.low[i], left = input_sizes[axis] - first;
      auto end = where(left > 0, (left + (dilation - 1)) / dilation, 0), begin = where(first < 0, (dilation - 1 - first) / dilation, 0);
      all = all * maximum(minimum(end, window_.size[i]) - begin, 0);
    }
    return maximum(all, 1);
  }
  /// Returns the number that a window's sum is divided by.
  Tile divisor(const std::vector<Tile>& output, const std::vector<Tile>& input_sizes, DType dtype) const {
    if (kind_ == PoolingKind::AverageWithPadding) return tile::full_of({1, 1}, static_cast<double>(taps()), dtype);
    return cast_to(inside_of(output, input_sizes), dtype);
  }
  static Tile read(const Tile& pointer, const Mask& mask, double outside) {
    return mask ? tile::load(pointer, *mask, outside) : tile::load(pointer);
  }

  void forward(KernelContext& context) const {
    const Operand &of_x = context.input(0), &of_y = context.output(0);
    const bool maximum_wanted = kind_ != PoolingKind::Max || context.wanted(0);
    const bool taps_wanted = kind_ == PoolingKind::Max && has_taps() && context.wanted(1);
    const DType sums = tile::compute_type(of_y.dtype);
    auto k = Elements::over(context, kind_ == PoolingKind::Max ? "max_pool" : "avg_pool", of_y, of_y.shape);
    const Strided x(k, of_x, k.input(0));
    const std::vector<Tile> sizes = spatial_numbers(k, of_x.shape);
    std::vector<Tile> output;
    for (int i = 0; i < axes(); ++i) output.push_back(k.at(i + 2));
    constexpr double kNothing = -std::numeric_limits<double>::infinity();
    const auto value_of = [&](const Seen& one, double outside) {
      return read(x(k.at(0), k.at(1), one.places), TileRows::both(one.inside, k.mask()), outside);
    };
    if (kind_ != PoolingKind::Max) {
      auto sum = tile::full_of(k.tile(), 0, sums);
      for_each_tap(of_y, [&](const Tile&, const std::vector<Tile>& tap) { sum += value_of(seen(output, tap, sizes), 0); });
      k.store(place_of(k, of_y, k.output()), sum / divisor(output, sizes, sums), k.mask());
      return k.launch();
    }
    auto best = tile::full_of(k.tile(), kNothing, sums);
    if (!taps_wanted) {
      for_each_tap(of_y, [&](const Tile&, const std::vector<Tile>& tap) {
        best = maximum(best, value_of(seen(output, tap, sizes), kNothing), tile::Nan::Propagate);
      });
    } else {
      auto first = tile::full_of(k.tile(), Pooling::kNoTap, i32);
      for_each_tap(of_y, [&](const Tile& number, const std::vector<Tile>& tap) {
        const Seen one = seen(output, tap, sizes);
        auto value = value_of(one, kNothing);
        auto take = first == Pooling::kNoTap || (!(value <= best) && best == best);  // a NaN counts as the maximum
        if (one.inside) take = take && *one.inside;
        best = where(take, value, best), first = where(take, cast_to(number, i32), first);
      });
      k.store(place_of(k, context.output(1), k.output(1)), first, k.mask());
    }
    if (maximum_wanted) k.store(place_of(k, of_y, k.output()), best, k.mask());
    k.launch();
  }

  // An element of dx adds up those windows that see it.
  void gather(KernelContext& context) const {
    const int given = kind_ == PoolingKind::Max ? 1 : 0;
    const Operand &of_dy = context.input(given), &of_dx = context.output();
    const DType sums = tile::compute_type(of_dx.dtype);
    auto k = Elements::over(context, name_of_gradient(), of_dx, of_dx.shape);
    const Strided dy(k, of_dy, k.input(given));
    std::optional<Strided> taken;
    if (given == 1) taken.emplace(k, context.input(0), k.input(0));
    const std::vector<Tile> sizes = spatial_numbers(k, of_dy.shape), input_sizes = spatial_numbers(k, of_dx.shape);
    std::vector<Tile> input;
    for (int i = 0; i < axes(); ++i) input.push_back(k.at(i + 2));
    auto sum = tile::full_of(k.tile(), 0, sums);
    for_each_tap(of_dx, [&](const Tile& number, const std::vector<Tile>& tap) {
      const Seen one = seeing(input, tap, sizes);
      const Mask mask = TileRows::both(one.inside, k.mask());
      auto value = k.load(dy(k.at(0), k.at(1), one.places), mask);
      if (taken) value = where(read((*taken)(k.at(0), k.at(1), one.places), mask, Pooling::kNoTap) == number, value, 0);
      else value = value / divisor(one.places, input_sizes, sums);
      sum += value;
    });
    k.store(place_of(k, of_dx, k.output()), sum, k.mask());
    k.launch();
  }

  // Windows too large for taps: each that sees an element is searched for its first maximum.
  void search(KernelContext& context) const {
    const Operand &of_x = context.input(0), &of_dy = context.input(1), &of_dx = context.output();
    const DType sums = tile::compute_type(of_dx.dtype);
    auto k = Elements::over(context, name_of_gradient(), of_dx, of_dx.shape);
    const Strided x(k, of_x, k.input(0)), dy(k, of_dy, k.input(1));
    const std::vector<Tile> sizes = spatial_numbers(k, of_dy.shape), input_sizes = spatial_numbers(k, of_dx.shape);
    std::vector<Tile> input;
    for (int i = 0; i < axes(); ++i) input.push_back(k.at(i + 2));
    auto sum = tile::full_of(k.tile(), 0, sums);
    for (auto number : tile::range(0, taps())) {
      const Seen window = seeing(input, along_axes(number), sizes);
      auto best = tile::full_of(k.tile(), 0, sums);
      auto first = tile::full_of(k.tile(), -1, i64);
      for (auto other : tile::range(0, taps())) {
        const Seen one = seen(window.places, along_axes(other), input_sizes);
        auto value = read(x(k.at(0), k.at(1), one.places), TileRows::both(TileRows::both(one.inside, window.inside), k.mask()), 0);
        auto take = first < 0 || (!(value <= best) && best == best);
        if (one.inside) take = take && *one.inside;
        best = where(take, value, best), first = where(take, other, first);
      }
      auto value = k.load(dy(k.at(0), k.at(1), window.places), TileRows::both(window.inside, k.mask()));
      sum += where(first == number, value, 0);
    }
    k.store(place_of(k, of_dx, k.output()), sum, k.mask());
    k.launch();
  }

  std::string name_of_gradient() const { return kind_ == PoolingKind::Max ? "max_pool_backward" : "avg_pool_backward"; }

  PoolingKind kind_;
  bool backward_;
  Window window_;
};

}  // namespace

std::vector<TileWay> pooling_ways(const Pooling& call, const Window& window, const InTiles::Operands& operands) {
  return {{.text = "tiles",
           .op = Ref<const Op>(new PoolingTilesOp(call.kind, call.backward, window)),
           .inputs = {operands.inputs.begin(), operands.inputs.end()},
           .outputs = {operands.outputs.begin(), operands.outputs.end()}}};
}

}  // namespace tegula::ops

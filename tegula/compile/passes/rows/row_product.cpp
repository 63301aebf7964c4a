// The columns of b are shared out to instances, each of which reads all of its part at once: what counts is that many bytes are on their way.

#include "tegula/compile/passes/rows/row_product.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "tegula/core/divide.h"
#include "tegula/core/error.h"
#include "tegula/graph/slices.h"
#include "tegula/tile/kernel_context.h"

namespace tegula::compile {
namespace {

using tile::Builder;
using tile::Value;
using Kind = Expression::Word::Kind;

/// Bytes of each row of b in a tile, if b is row-major, so that neighbours in memory are neighbouring results:
constexpr std::int64_t kBytesOfColumns = 32,
                       kMostBytesOfColumns = 128;  // a sector, or more if there are enough instances
constexpr std::int64_t kMostTiles = 12;  // elements that are read at once, in tiles of the device's size …
constexpr std::int64_t kTilesOfStep = 4;  // … or at each step, where there are more
constexpr std::int64_t kTilesOfLines = 2;  // the same of lines, where the terms of a result lie side by side: short ones are taken together
constexpr std::int64_t kMostLines = 16;

class RowProductOp final : public KernelOp {
 public:
  explicit RowProductOp(RowProduct product) : p_(std::move(product)) {
    const auto note = [&](const Expression::Word& word, std::int64_t columns) {
      if (word.kind != Kind::Memory) return;
      const auto input = static_cast<std::size_t>(word.input);
      if (columns_.size() <= input) columns_.resize(input + 1, 1);
      columns_[input] = columns;
    };
    for (const auto& word : p_.before.words) note(word, p_.terms);
    for (const auto& word : p_.after.words) note(word, p_.columns);
    for (const RowSlice& slice : p_.slices) note(slice.at, 1);
  }

  std::string_view name() const override { return "row_product"; }
  bool accepts(int index, const Layout& layout) const override {
    return index == 0 || row_layout(layout.shape, layout.strides, columns_of(index, layout.shape)).has_value();
  }
  bool takes_numbers() const override { return true; }
  int overwrites(int result) const override { return result == 0 ? -1 : p_.slices[static_cast<std::size_t>(result - 1)].whole; }
  void lower(KernelContext& context) const override { Lowering(*this, context).run(); }

 private:
  /// The columns of one input, or 1 if each row has one value.
  std::int64_t columns_of(int index, const Shape& shape) const {
    const std::int64_t columns = columns_[static_cast<std::size_t>(index)];
    return numel(shape) == p_.rows * columns && shape.rank() > 0 && shape.back() == columns ? columns : 1;
  }

  class Lowering {
   public:
    Lowering(const RowProductOp& op, KernelContext& context)
        : op_(op),
          p_(op.p_),
          context_(context),
          b_(name_of(op.p_)),
          pointers_(static_cast<std::size_t>(context.input_count())),
          strides_(context.input(0).strides) {}

    void run() {
      by_rows_ = p_.columns > 1 && (strides_[1] == 1 || strides_[0] != 1);
      const std::int64_t elements = context_.tile_elements();
      std::int64_t lines = 0, terms = p_.terms;  // of a tile: results, and terms of each
      whole_ = holds_all_terms(p_.terms, p_.dtype, elements);
      if (by_rows_) {
        const std::int64_t enough = std::max<std::int64_t>(context_.instances() / 4, 1), least = columns_of_tile(p_.dtype);
        lines = least;
        while (divide_up(p_.columns, lines) > enough && whole_ && 2 * lines * p_.terms <= kMostTiles * elements &&
               2 * lines * kBytesOfColumns <= least * kMostBytesOfColumns)
          lines *= 2;
        // Half a sector each, where else few instances would have the largest tiles: the other half is in the second-level cache by then.
        if (divide_up(p_.columns, lines) < enough && whole_ && 2 * lines * p_.terms > kMostTiles * elements) lines = divide_up(lines, 2);
        lines = std::min(lines, p_.columns);
        if (!whole_) terms = std::max<std::int64_t>(1, kTilesOfStep * elements / lines);
      } else {
        if (!whole_) terms = kTilesOfStep * elements;
        lines = std::clamp<std::int64_t>(kTilesOfLines * elements / std::max<std::int64_t>(terms, 1), 1, kMostLines);
        lines = floor(std::clamp<std::int64_t>(2 * p_.columns / std::max<std::int64_t>(context_.instances(), 1), 1, lines));
      }
      const Value b = pointer(0), first = b_.program_id(0) * integer(lines), column = oriented(first + b_.arange(0, lines), by_rows_);
      if (p_.columns % lines != 0) column_mask_ = column < number(p_.columns);
      const Value term = whole_ ? oriented(b_.arange(0, p_.terms), !by_rows_) : Value();
      if (whole_) read_ahead(p_.before, term, {});
      const Value w = whole_ ? weight(b, term, column, {}) : Value();
      read_ahead(p_.after, column, column_mask_);
      std::vector<Value> begins;  // of the slices
      for (const RowSlice& slice : p_.slices) begins.push_back(begin_of(slice));
      const std::vector<Value> sums = whole_ ? sums_at_once(term, w) : sums_in_steps(b, column, lines, terms);
      std::vector<Value> results;
      for (std::int64_t row = 0; row < p_.rows; ++row)
        results.push_back(value_of(p_.after, row, column, column_mask_, sums[static_cast<std::size_t>(row)]));
      if (context_.wanted(0)) {
        const Value y = output(0);
        for (std::int64_t row = 0; row < p_.rows; ++row)
          store(y + (row == 0 ? column : column + integer(row * p_.columns)), results[static_cast<std::size_t>(row)], column_mask_);
      }
      for (std::size_t k = 0; k < p_.slices.size(); ++k) {
        if (context_.wanted(static_cast<int>(k) + 1)) store_slice(static_cast<int>(k), begins[k], first, column, lines, results);
      }
      const double operations = 2.0 * static_cast<double>(p_.rows * p_.columns) * static_cast<double>(p_.terms);
      context_.launch(b_.finish(), std::move(arguments_), {divide_up(p_.columns, lines), 1, 1}, operations);
    }

   private:
    static std::string name_of(const RowProduct& p) {
      std::string text = "row_product";
      for (const Expression* const expression : {&p.before, &p.after}) {
        for (const auto& word : expression->words) {
          if (word.op && text.size() < 48) text += "_" + std::string(word.op->name());
        }
      }
      return text;
    }
    static std::int64_t floor(std::int64_t n) { return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); }
    Value integer(std::int64_t n) { return b_.constant(n, DType::i64); }
    Value number(std::int64_t n) {
      arguments_.push_back(KernelArgument::number(n));
      return b_.scalar("n" + std::to_string(arguments_.size()), DType::i64);
    }
    Value pointer(int input) {
      Value& known = pointers_[static_cast<std::size_t>(input)];
      if (known.is_empty()) {
        arguments_.push_back(KernelArgument::input(input));
        known = b_.pointer("x" + std::to_string(input), context_.input(input).dtype, false);
      }
      return known;
    }
    /// (n) along the columns of the tile, or along its rows.
    static Value oriented(Value x, bool columns) { return columns ? tile::row(x) : tile::col(x); }
    static Value both(Value a, Value b) { return a.is_empty() ? b : b.is_empty() ? a : a && b; }
    Value scaled(Value at, std::int64_t stride) { return stride == 1 ? at : at * integer(stride); }
    DType computed() const { return tile::compute_type(p_.dtype); }
    int axis() const { return by_rows_ ? 0 : 1; }  // of the terms

    Value weight(Value b, Value term, Value column, Value mask) {
      return b_.load(b + (scaled(term, strides_[0]) + scaled(column, strides_[1])), both(mask, column_mask_));
    }

    Value output(int k) {
      arguments_.push_back(KernelArgument::output(k));
      return b_.pointer(k == 0 ? "y" : "y" + std::to_string(k), context_.output(k).dtype, true);
    }
    void store(Value at, Value value, Value mask) { b_.store(at, tile::broadcast(value, at.shape()), mask); }

    Value begin_of(const RowSlice& slice) {
      const int input = slice.at.input;
      if (slice.at.kind == Kind::Number) return constant(input, slice.at.dtype);
      Value& known = begins_[input];
      return known.is_empty() ? known = b_.load(pointer(input)) : known;
    }
    /// A place that failed its check names nothing; not every device waits for checks. `first`: of the tile's columns, which all are the slice's or none
    /// where both end together.
    void store_slice(int k, Value begin, Value first, Value column, std::int64_t lines, const std::vector<Value>& results) {
      const RowSlice& slice = p_.slices[static_cast<std::size_t>(k)];
      const bool whole_tiles = slice.first_column % lines == 0 && slice.columns % lines == 0;
      const Value y = output(k + 1), line = column - integer(slice.first_column), at = whole_tiles ? first : column;
      Value mask = begin >= integer(0) && begin <= integer(slice.length - slice.rows);
      if (slice.first_column > 0) mask = mask && at >= integer(slice.first_column);
      if (slice.first_column + slice.columns < p_.columns) mask = mask && at < integer(slice.first_column + slice.columns);
      mask = both(tile::broadcast(mask, column.shape()), column_mask_);
      for (std::int64_t row = 0; row < p_.rows; ++row) {
        const Value of_row = begin + integer(row / slice.rows * slice.length + row % slice.rows);
        store(y + (scaled(of_row, slice.columns) + line), results[static_cast<std::size_t>(row)], mask);
      }
    }

    std::vector<Value> sums_at_once(Value term, Value w) {
      std::vector<Value> sums;
      for (std::int64_t row = 0; row < p_.rows; ++row)
        sums.push_back(tile::reduce(factor(row, term, {}) * w, axis(), tile::Reduction::Sum));
      return sums;
    }
    std::vector<Value> sums_in_steps(Value b, Value column, std::int64_t lines, std::int64_t terms) {
      const Shape tile = by_rows_ ? Shape{terms, lines} : Shape{lines, terms};
      const std::vector<Value> zeros(static_cast<std::size_t>(p_.rows), b_.full(tile, 0, computed()));
      const Value end = number(p_.terms);
      std::vector<Value> sums = b_.for_(integer(0), end, integer(terms), zeros, [&](Value from, std::span<const Value> carried) {
        const Value term = oriented(from + b_.arange(0, terms), !by_rows_), mask = p_.terms % terms == 0 ? Value() : term < end;
        const Value w = weight(b, term, column, mask);
        std::vector<Value> next;
        for (std::int64_t row = 0; row < p_.rows; ++row)
          next.push_back(tile::fma(tile::broadcast(factor(row, term, mask), tile), w, carried[static_cast<std::size_t>(row)]));
        return next;
      });
      for (Value& sum : sums) sum = tile::reduce(sum, axis(), tile::Reduction::Sum);
      return sums;
    }

    /// Terms of a row of a, as they would be stored.
    Value factor(std::int64_t row, Value term, Value mask) {
      const Value x = value_of(p_.before, row, term, mask, {});
      return p_.before.words.back().kind == Kind::Memory ? x : tile::narrow(x, p_.dtype);
    }

    Value value_of(const Expression& expression, std::int64_t row, Value place, Value mask, Value product) {
      return emit(expression, b_, place, axis(), [&](const Expression::Word& word) {
        if (word.kind == Kind::Result) return product;
        return word.kind == Kind::Memory ? element(word.input, row, place, mask) : constant(word.input, word.dtype);
      });
    }

    /// All that the expression reads, before anybody waits for other threads: then it is on its way meanwhile.
    void read_ahead(const Expression& expression, Value place, Value mask) {
      for (std::int64_t row = 0; row < p_.rows; ++row) {
        for (const auto& word : expression.words) {
          if (word.kind == Kind::Memory) element(word.input, row, place, mask);
          if (word.kind == Kind::Number) constant(word.input, word.dtype);
        }
      }
    }

    Value element(int input, std::int64_t row, Value place, Value mask) {
      const auto& operand = context_.input(input);
      const auto at = row_layout(operand.shape, operand.strides, op_.columns_of(input, operand.shape));
      if (!at) {
        throw Error({.op = "row_product",
                     .got = "input " + std::to_string(input) + " of shape " + to_string(operand.shape) + " in a layout without rows",
                     .expected = "one that accepts() says yes to"});
      }
      Value& known = loaded_[{input, row, place.id()}];
      if (!known.is_empty()) return known;
      Value from = pointer(input);
      if (row * at->row != 0) from = from + integer(row * at->row);
      return known = at->column == 0 ? b_.load(from) : b_.load(from + scaled(place, at->column), mask);
    }

    Value constant(int input, DType dtype) {
      Value& known = pointers_[static_cast<std::size_t>(input)];
      if (known.is_empty()) {
        arguments_.push_back(KernelArgument::constant(input));
        known = constant_parameter(b_, "c" + std::to_string(input), dtype, p_.asynchronous);
      }
      return known;
    }

    const RowProductOp& op_;
    const RowProduct& p_;
    KernelContext& context_;
    Builder b_;
    std::vector<KernelArgument> arguments_;
    std::vector<Value> pointers_;  // of the inputs; numbers themselves
    std::map<int, Value> begins_;  // of slices, by the input
    std::map<std::tuple<int, std::int64_t, tile::Id>, Value> loaded_;  // (input, row, its places)
    Strides strides_;  // of b
    bool by_rows_ = true, whole_ = true;
    Value column_mask_;
  };

 public:
  static std::int64_t columns_of_tile(DType dtype) { return kBytesOfColumns / static_cast<std::int64_t>(size_of(dtype)); }

 private:
  RowProduct p_;
  std::vector<std::int64_t> columns_;  // of each input where it has rows
};

}  // namespace

std::optional<RowLayout> row_layout(const Shape& shape, const Strides& strides, std::int64_t columns) {
  RowLayout out;
  int leading = shape.rank();
  if (columns != 1) {
    if (leading == 0 || shape.back() != columns) return std::nullopt;
    out.column = strides[--leading];
  }
  std::int64_t rows = 1;  // of the axes so far
  for (int i = leading; i-- > 0;) {
    if (shape[i] == 1) continue;
    if (rows == 1) out.row = strides[i];
    else if (strides[i] != out.row * rows) return std::nullopt;
    rows *= shape[i];
  }
  return out;
}

std::int64_t instances_of(const RowProduct& product) { return divide_up(product.columns, RowProductOp::columns_of_tile(product.dtype)); }

bool holds_all_terms(std::int64_t terms, DType dtype, std::int64_t tile_elements) {
  return terms * RowProductOp::columns_of_tile(dtype) <= kMostTiles * tile_elements;
}

Ref<const Op> row_product_op(RowProduct product) { return Ref<const Op>(new RowProductOp(std::move(product))); }

}  // namespace tegula::compile

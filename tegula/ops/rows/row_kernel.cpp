#include "tegula/ops/rows/row_kernel.h"

#include <algorithm>
#include <limits>

namespace tegula::ops {

using tile::Value;

Value KernelLaunch::input(int i) {
  arguments_.push_back(KernelArgument::input(i));
  return builder_.pointer("x" + std::to_string(i), context_.input(i).dtype, false);
}

Value KernelLaunch::load(int i, Value pointer, Value places, Value mask) {
  if (const auto& element = context_.computed(i)) return element(builder_, arguments_, places);
  return builder_.load(pointer + places, mask);
}

Value KernelLaunch::output(int k) {
  arguments_.push_back(KernelArgument::output(k));
  return builder_.pointer(k == 0 ? "y" : "y" + std::to_string(k), context_.output(k).dtype, true);
}

Value KernelLaunch::target(const KernelArgument& argument, DType dtype) {
  return argument.kind == KernelArgument::Kind::Output ? output(argument.index) : scratch(argument.index, dtype, true);
}

Value KernelLaunch::scratch(int i, DType dtype, bool writable) {
  arguments_.push_back(KernelArgument::scratch(i));
  return builder_.pointer("scratch" + std::to_string(i), dtype, writable);
}

Value KernelLaunch::number(std::int64_t value) {
  arguments_.push_back(KernelArgument::number(value));
  return builder_.scalar("n" + std::to_string(arguments_.size()), DType::i64);
}

Value KernelLaunch::real(const Number& value, DType dtype) {
  if (is_float(dtype)) arguments_.push_back(KernelArgument::number(value.real()));
  else arguments_.push_back(KernelArgument::number(static_cast<std::int64_t>(value.bits(dtype))));
  return builder_.scalar("v" + std::to_string(arguments_.size()), tile::compute_type(dtype));
}

void KernelLaunch::launch(const std::array<std::int64_t, 3>& grid, double operations) {
  context_.launch(builder_.finish(), std::move(arguments_), grid, operations);
}

RowKernel::RowKernel(KernelContext& context, std::string name, std::int64_t rows, std::int64_t columns, Columns mode)
    : KernelLaunch(context, std::move(name)),
      rows_(rows),
      columns_(columns),
      mode_(mode) {
  const std::int64_t elements =
      std::max<std::int64_t>(1, mode == Columns::Spread ? context.tile_elements_for(rows * columns) : context.tile_elements());
  const tile::Ladder& ladder = context.ladder();
  context.follow(columns), context.follow(rows);
  tile_columns_ = mode == Columns::Whole    ? ladder.whole(columns)
                  : mode == Columns::Spread ? ladder.columns(rows, columns, elements)
                                            : ladder.share(columns, elements);
  tile_rows_ = ladder.share(rows, elements / tile_columns_);
  const Value rows_value = number(rows);
  columns_value_ = number(columns);
  row_ = tile::col(builder_.program_id(0) * static_cast<double>(tile_rows_) + builder_.arange(0, tile_rows_));
  if (ladder.masked(rows, tile_rows_)) row_mask_ = row_ < rows_value;
  const Value zero = builder_.constant(std::int64_t{0}, DType::i64);
  if (mode == Columns::Spread) set_column(builder_.program_id(1) * static_cast<double>(tile_columns_));
  if (mode == Columns::Whole) set_column(zero);
}

void RowKernel::set_column(Value first) {
  first_column_ = first;
  column_ = tile::row(first + builder_.arange(0, tile_columns_));
  column_mask_ = columns_ == 0 || context_.ladder().masked(columns_, tile_columns_) ? column_ < columns_value_ : Value();
}

std::vector<Value> RowKernel::for_each_tile(std::vector<Value> initial, const Body& body) {
  if (columns_ == 0) return initial;
  if (columns_ <= tile_columns_) {
    set_column(builder_.constant(std::int64_t{0}, DType::i64));
    return body(initial);
  }
  const Value zero = builder_.constant(std::int64_t{0}, DType::i64), step = builder_.constant(tile_columns_, DType::i64);
  return builder_.for_(zero, columns_value_, step, std::move(initial), [&](Value first, std::span<const Value> carried) {
    set_column(first);
    return body(carried);
  });
}

void RowKernel::launch() {
  const std::int64_t across = mode_ == Columns::Spread ? (columns_ + tile_columns_ - 1) / tile_columns_ : 1;
  KernelLaunch::launch({(rows_ + tile_rows_ - 1) / tile_rows_, across, 1});
}

void launch_fill(KernelContext& context, const KernelArgument& target, std::int64_t elements, DType dtype, const Number& value) {
  if (elements == 0) return;
  RowKernel kernel(context, "fill", 1, elements);
  const Value y = kernel.target(target, dtype), v = kernel.real(value, dtype);
  kernel.builder().store(y + kernel.column(), v, kernel.mask());
  kernel.launch();
}

}  // namespace tegula::ops

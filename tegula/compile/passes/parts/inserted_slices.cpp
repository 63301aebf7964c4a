#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/graph/slices.h"

namespace tegula::compile {
namespace {

/// The most slices of one matmul; its program has a pointer for each.
constexpr std::size_t kMostSlices = 4;

/// `source`, seen within (rows, columns), as rows of columns side by side; the rest of the slice is for whoever knows the tensor.
std::optional<RowSlice> slice_of(const Layout& source, int axis, std::int64_t rows, std::int64_t columns) {
  const std::int64_t outer = numel(source.shape, 0, axis), count = source.shape[axis],
                     inner = numel(source.shape, axis + 1, source.shape.rank());
  const auto lines = tegula::reshape(source, {outer, count, inner});
  if (!lines || outer * count != rows || inner == 0 || lines->offset < 0 || lines->offset + inner > columns) return std::nullopt;
  const auto lies = [&](int k, std::int64_t stride) { return lines->shape[k] == 1 || lines->strides[k] == stride; };
  if (!lies(0, count * columns) || !lies(1, columns) || !lies(2, 1)) return std::nullopt;
  return RowSlice{.first_column = lines->offset, .columns = inner, .rows = count};
}

}  // namespace

SliceInserters::SliceInserters(const Graph& graph) : graph_(graph), users_(graph) {
  for (int i = 0; i < graph.size(); ++i) {
    order_.add();
    for (const int input : graph[i].inputs) order_.need(i, input);
    if (!has_check(graph[i])) continue;
    if (!checks_.empty()) order_.need(i, checks_.back());  // in a row: whoever comes behind one comes behind all before it
    checks_.push_back(i);
  }
}

std::vector<InsertedSlice> SliceInserters::of(int value, std::int64_t rows, std::int64_t columns) {
  std::vector<InsertedSlice> out;
  std::vector<std::pair<int, int>> open;  // a reader, and the value or the view of it that it reads
  const auto follow = [&](int seen) {
    for (const Users::Use& use : std::views::reverse(users_.of(seen)))
      if (const std::pair next(use.reader, seen); open.empty() || open.back() != next) open.push_back(next);
  };
  if (graph_[value].order.empty()) follow(value);
  while (!open.empty()) {
    const auto [user, seen] = open.back();
    open.pop_back();
    if (graph_[user].role() == Role::View && graph_[user].inputs[0] == seen) follow(user);
    RowSlice slice;
    if (out.size() == kMostSlices || !refusal(user, value, seen, rows, columns, slice).empty()) continue;
    for (const int needed : needed_by(user, slice)) order_.need(value, needed);
    out.push_back({user, std::move(slice)});
  }
  return out;
}

std::vector<int> SliceInserters::needed_by(int inserter, const RowSlice& slice) const {
  std::vector<int> needed{slice.whole, slice.at.input};
  if (const auto check = std::ranges::lower_bound(checks_, inserter); check != checks_.begin()) needed.push_back(*std::prev(check));
  return needed;
}

Refusal SliceInserters::refusal(int inserter, int value, int seen, std::int64_t rows, std::int64_t columns, RowSlice& slice) {
  const Item& item = graph_[inserter];
  const int axis = item.role() == Role::Kernel ? item.as<KernelOp>().inserted_slice_axis() : -1;
  if (axis < 0 || item.inputs[1] != seen) return "it inserts no slice of the value";
  if (item.dtype != graph_[value].dtype) return "the slice is cast on the way";
  if (!item.order.empty()) return "the tensor is not row-major";
  const Access source = access_of(graph_, seen), at = access_of(graph_, item.inputs[2]);
  if (source.base != value) return "a view of the value has no strides";
  const Role of_place = graph_[at.base].role();
  if (graph_[item.inputs[2]].dtype != DType::i64 || of_place == Role::Index) return "its offset is no i64 in memory";
  const auto columns_of = slice_of(source.layout, axis, rows, columns);
  if (!columns_of) return "the slice is not columns of the value's rows";
  const bool number = of_place == Role::Scalar;
  slice = *columns_of;
  slice.whole = item.inputs[0];
  slice.length = item.shape[axis];
  slice.at = {.kind = number ? Expression::Word::Kind::Number : Expression::Word::Kind::Memory,
              .input = number ? at.base : item.inputs[2],
              .dtype = DType::i64};
  const bool waits = std::ranges::any_of(needed_by(inserter, slice), [&](int needed) { return order_.reaches(value, needed); });
  return waits ? Refusal("the tensor, its offset or a check ahead waits for the value") : Refusal();
}

}  // namespace tegula::compile

#include "tegula/dist/collectives/lookups.h"

#include <set>
#include <utility>

#include "tegula/dist/collectives/collectives.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

constexpr std::size_t kMostTerms = 64;  // terms of a sum of gradients that are examined

/// The terms of a sum of gradients; a nested sum that was met before stays one term.
std::vector<Tensor> terms_of(const Tensor& sum) {
  std::vector<Tensor> terms, left{sum};
  std::set<const Node*> opened;
  while (!left.empty()) {
    const Tensor term = left.back();
    left.pop_back();
    const auto inputs = term.node()->inputs();
    const bool opens = term.node()->op().name() == "add_n" && !inputs.empty() && terms.size() + left.size() < kMostTerms &&
                       opened.insert(term.node().get()).second;
    if (!opens) terms.push_back(term);
    for (std::size_t i = inputs.size(); opens && i-- > 0;) left.emplace_back(inputs[i]);
  }
  return terms;
}

}  // namespace

std::optional<TableGradient> table_gradient(const Tensor& gradient, int ranks, const Line& where) {
  if (gradient.rank() == 0 || gradient.numel() == 0) return {};
  TableGradient out{.length = gradient.shape()[0], .rows = {}, .rest = {}};
  std::vector<Tensor> rest;
  std::int64_t added = 0;
  for (const Tensor& term : terms_of(gradient)) {
    const auto rows = ops::added_rows(term);
    if (!rows) rest.push_back(term);
    else out.rows.push_back(*rows), added += rows->index.numel();
  }
  // With n ranks, each sends its rows and their numbers to n - 1 others; a sum of the whole sends 2 (n - 1) / n of it.
  const auto row = static_cast<std::int64_t>(size_of(gradient.dtype())) * gradient.numel() / out.length;
  const auto number = static_cast<std::int64_t>(size_of(i64));
  if (out.rows.empty() || added * (row + number) * ranks >= 2 * out.length * row) return {};
  if (!rest.empty()) out.rest = rest.size() == 1 ? rest[0] : graph::add_n(rest, where);
  return out;
}

TableSum::TableSum(TableGradient own, const Group& group, Reduction reduction, std::optional<DType> narrow,
                   const std::function<Tensor(const Tensor&)>& exchange, const Line& where)
    : group_(group),
      reduction_(reduction),
      narrow_(narrow),
      where_(where),
      rows_(std::move(own.rows)),
      length_(own.length) {
  for (ops::AddedRows& rows : rows_) rows.index = all_gather(Arg(rows.index, where), group_);
  if (own.rest.defined()) rest_ = reshape(Arg(exchange(flatten(Arg(own.rest, where))), where), own.rest.shape());
}

Tensor TableSum::finish() const {
  std::vector<Tensor> terms;
  if (rest_.defined()) terms.push_back(rest_);
  for (const ops::AddedRows& rows : rows_) {
    Tensor values = rows.values;
    if (reduction_ == Reduction::Mean) values = Arg(values, where_) / static_cast<double>(group_.size());
    const DType dtype = values.dtype();
    if (narrow_) values = cast(Arg(values, where_), *narrow_);
    values = cast(Arg(all_gather(Arg(values, where_), group_), where_), dtype);
    terms.push_back(ops::sum_of({rows.index, values}, length_, where_));
  }
  return terms.size() == 1 ? terms[0] : graph::add_n(terms, where_);
}

}  // namespace tegula::dist

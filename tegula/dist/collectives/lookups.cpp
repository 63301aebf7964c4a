#include "tegula/dist/collectives/lookups.h"

#include <utility>

#include "tegula/dist/collectives/collectives.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

/// What a sum of gradients is made of.
void collect_terms(const Tensor& sum, std::vector<Tensor>& terms) {
  if (sum.node()->op().name() != "add_n") return terms.push_back(sum);
  for (const Ref<Node>& term : sum.node()->inputs()) collect_terms(Tensor(term), terms);
}

}  // namespace

std::optional<TableGradient> table_gradient(const Tensor& gradient, int ranks) {
  if (gradient.rank() == 0) return {};
  std::vector<Tensor> terms, rest;
  collect_terms(gradient, terms);
  TableGradient out{.length = gradient.shape()[0], .rows = {}, .rest = {}};
  std::int64_t added = 0;
  for (const Tensor& term : terms) {
    const auto rows = ops::added_rows(term);
    if (!rows) rest.push_back(term);
    else out.rows.push_back(*rows), added += rows->index.numel();
  }
  // Of n ranks each sends n - 1 others its rows; of a sum of the whole 2 (n - 1) / n.
  if (out.rows.empty() || added * ranks >= 2 * out.length) return {};
  if (!rest.empty()) out.rest = rest.size() == 1 ? rest[0] : graph::add_n(rest);
  return out;
}

TableSum::TableSum(TableGradient own, const Group& group, Reduction reduction, std::optional<DType> narrow,
                   const std::function<Tensor(const Tensor&)>& exchange, const std::source_location& where)
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

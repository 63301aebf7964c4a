#include "tegula/ops/shape/embedding.h"

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/index.h"

namespace tegula {

Tensor embedding(Arg indices, Arg weight) {
  const In frame("embedding", indices.loc);
  const Tensor table = weight.tensor("embedding");
  if (table.rank() != 2) ops::refuse("embedding", "a weight of shape " + to_string(table.shape()), "(rows, width)", indices.loc);
  return take(table, indices, 0);
}

Tensor embedding(Arg indices, Arg weight, std::int64_t padding_index) {
  const In frame("embedding", indices.loc);
  const Tensor rows = embedding(indices, weight), at = indices.tensor("embedding");
  const std::int64_t count = weight.tensor("embedding").shape()[0];
  if (padding_index < -count || padding_index >= count) {
    ops::refuse("embedding", "padding index " + std::to_string(padding_index) + " for " + std::to_string(count) + " rows",
                "the number of a row", indices.loc);
  }
  // Both names of the row.
  const std::int64_t row = padding_index < 0 ? padding_index + count : padding_index;
  Shape shape = at.shape();
  shape.push_back(1);
  const Tensor index = graph::reshape(graph::cast(at, i64, indices.loc), shape, indices.loc);
  return where(index == row || index == row - count, graph::stop_gradient(rows), rows);
}

std::vector<OpCase> embedding_cases() {
  return {
      {.op = "embedding",
       .function = [](const auto& x) { return embedding(x[1], x[0]); },
       .inputs = {{{5, 3}}, {{2, 4}, -5, 4, DType::i64}}},
      {.op = "embedding", .function = [](const auto& x) { return embedding(x[1], x[0]); }, .inputs = {{{5, 3}}, {{7}, 0, 4, DType::i32}}},
  };
}

}  // namespace tegula

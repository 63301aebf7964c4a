#pragma once
// Order along an axis. Sorting is stable; NaN counts as greatest.

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {

enum class Order : std::uint8_t { Ascending, Descending };

/// Values, which differentiate, and their i64 positions in x.
struct Sorted {
  Tensor values;
  Tensor indices;
};
Sorted sort(Arg x, int axis = -1, Order order = Order::Ascending);
Tensor argsort(Arg x, int axis = -1, Order order = Order::Ascending);
/// The k greatest (Descending) or smallest elements, in that order. Throws when the axis has fewer.
Sorted topk(Arg x, std::int64_t k, int axis = -1, Order order = Order::Descending);
/// The k-th smallest element, from 1; the axis goes.
Sorted kthvalue(Arg x, std::int64_t k, int axis = -1);
/// The middle element of the sorted axis, the lower of two; NaN when there is one.
Tensor median(Arg x, int axis = -1, Keep keep = Keep::No);
struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> sort_cases();

}  // namespace tegula

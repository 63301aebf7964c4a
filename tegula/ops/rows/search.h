#pragma once
// Positions of values among others: indices in a sorted line, quantiles, counts.

#include <optional>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/ops/shape/axes.h"

namespace tegula {

/// The place of a value in its line: the number of elements that are smaller (Left), or not greater (Right), where it would be inserted. NaN counts as
/// greatest.
enum class Side : std::uint8_t { Left, Right };
/// sorted (n), ascending, and values of any shape; or sorted (…, n) and values (…, m), a line for each row. i64 of the values' shape.
Tensor searchsorted(Arg sorted, Arg values, Side side = Side::Left);
/// The bucket of each value between boundaries (n), ascending: searchsorted(boundaries, values, side). Left: a bucket ends with its boundary.
Tensor bucketize(Arg values, Arg boundaries, Side side = Side::Left);

/// The value for a q that falls between two elements, the lower one a and the higher b.
enum class QuantileMethod : std::uint8_t { Linear, Lower, Higher, Midpoint, Nearest };
struct QuantileOptions {
  QuantileMethod method = QuantileMethod::Linear;  // a + (b - a) * fraction; Nearest: of equally near ones that of even rank
  Keep keep = Keep::No;
};
/// The element of rank q * (n - 1) along an axis, by default of all elements, q in [0, 1] (Hyndman and Fan, 1996, definition 7). Float dtypes,
/// halves interpolated in f32. NaN where there is one.
Tensor quantile(Arg x, double q, std::optional<int> axis = std::nullopt, const QuantileOptions& options = {});
/// Several at once, in a new axis 0.
Tensor quantile(Arg x, const std::vector<double>& qs, std::optional<int> axis = std::nullopt, const QuantileOptions& options = {});

/// values (n) of an integer dtype in [0, length) -> (length) i64: how often each number occurs. With weights (n) the sums of theirs, in their
/// dtype. Every shape is known when the graph is built, so the length is given. Throws Error when a value outside is met.
Tensor bincount(Arg values, std::int64_t length);
Tensor bincount(Arg values, std::int64_t length, Arg weights);

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> search_cases();

}  // namespace tegula

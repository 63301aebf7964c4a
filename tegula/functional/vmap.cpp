#include "tegula/functional/vmap.h"

#include "tegula/core/error.h"
#include "tegula/functional/batch.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::functional {
namespace {

constexpr const char* kName = "vmap";

/// The examples of each argument along axis 0; arguments that are the same for all as they are. Their number is in `count`.
std::vector<Mapped> arguments(const std::vector<Tensor>& xs, const VmapOptions& options, std::optional<std::int64_t>& count,
                              const Line& where) {
  if (!options.in_axes.empty() && options.in_axes.size() != xs.size()) {
    ops::refuse(kName, std::to_string(options.in_axes.size()) + " in_axes for " + std::to_string(xs.size()) + " arguments",
                "one for each, or none", where);
  }
  std::vector<Mapped> out;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const std::optional<int> given = options.in_axes.empty() ? std::optional<int>(0) : options.in_axes[i];
    const Shape& shape = xs[i].shape(where);
    if (!given) {
      out.push_back({xs[i], false});
      continue;
    }
    const int axis = *given < 0 ? *given + shape.rank() : *given;
    if (axis < 0 || axis >= shape.rank()) {
      ops::refuse(
          kName,
          "argument " + std::to_string(i) + " of shape " + to_string(shape) + " with its examples along axis " + std::to_string(*given),
          "an axis that it has", where, ".in_axes = {0, kShared} gives the second argument whole to every example");
    }
    if (count && *count != shape[axis]) {
      ops::refuse(kName,
                  "argument " + std::to_string(i) + " with " + std::to_string(shape[axis]) + " examples beside " + std::to_string(*count),
                  "as many in all of them", where, ".in_axes = {0, kShared} gives the second argument whole to every example");
    }
    count = shape[axis];
    out.push_back({movedim(xs[i], axis, 0), true});
  }
  return out;
}

}  // namespace

void refuse_count(std::size_t takes, std::size_t given, const Line& where) {
  ops::refuse(kName, std::to_string(given) + " arguments for a function of " + std::to_string(takes), "as many as it takes", where);
}

std::vector<Tensor> vmap(const Functions& f, const std::vector<Tensor>& xs, const VmapOptions& options, const Line& where) {
  std::optional<std::int64_t> count;
  const std::vector<Mapped> all = arguments(xs, options, count, where);
  if (!count) ops::refuse(kName, "no argument with an axis of examples", "at least one", where);
  Batch batch(*count, options.loops, where);
  std::vector<Tensor> results;
  std::vector<Trace::CellUse> cells;
  {
    const Trace trace(where, Trace::OfBody{});
    std::vector<Tensor> each;
    for (const Mapped& x : all) {
      if (!x.varies) {
        each.push_back(x.value);
        continue;
      }
      Shape shape = x.value.shape();
      shape.erase(0);
      each.push_back(make_node(leaf_op(), {}, shape, x.value.dtype(), where));
      batch.set(each.back(), x);
    }
    results = f(each);
    cells = trace.cells();
  }
  for (const Trace::CellUse& use : cells) {
    if (use.written) {
      ops::refuse(kName, "a function that assigns a Variable (made at " + to_string(use.current.node()->origin().where) + ")",
                  "one that only reads them: each example would give it another value", where,
                  "draw random numbers before, and give them to the function; call eval(net) for running means");
    }
    batch.set(use.placeholder, {read_cell(use.cell, where), false});
  }
  const In frame(kName, where);
  std::vector<Tensor> out;
  for (const Mapped& value : batch.values(results)) {
    const Tensor y = batch.spread(value);
    const int rank = y.rank(), axis = options.out_axis < 0 ? options.out_axis + rank : options.out_axis;
    if (axis < 0 || axis >= rank) {
      ops::refuse(kName, "out_axis = " + std::to_string(options.out_axis) + " for results of " + std::to_string(rank) + " axes",
                  "one that they have, the examples' among them", where);
    }
    out.push_back(movedim(y, 0, axis));
  }
  return out;
}

}  // namespace tegula::functional

// Lines that an index names are read by the groups that compute with them.

#include "tegula/compile/passes/fold/fold.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/compile/users.h"
#include "tegula/graph/lines.h"

namespace tegula::compile {
namespace {

/// The axis along which item i takes lines that a group would read as well; -1: none.
int axis_of_lines(const Graph& graph, const Users& users, int i) {
  const Item& item = graph[i];
  if (item.role() != Role::Kernel || item.as<KernelOp>().input_read_by_index() != 1 || item.prologue->input >= 0) return -1;
  const int axis = item.as<KernelOp>().line_axis();
  if (axis < 0 || graph[item.inputs[0]].shape[axis] == 0 || numel(item.shape) == 0 || is_float8(item.dtype)) return -1;
  const auto computes = [&](const Users::Use& use) {
    const Role role = graph[use.reader].role();
    return role == Role::Elementwise || role == Role::Reduce;
  };
  return std::ranges::any_of(users.of(i), computes) ? axis : -1;
}

}  // namespace

void fold_lines(Graph& graph) {
  const Users users(graph);
  bool any = false;
  for (int i = 0; i < graph.size() && !any; ++i) any = axis_of_lines(graph, users, i) >= 0;
  if (!any) return;
  rewrite(graph, [&](Rewriter& to, int i, Item& item) {
    const int axis = axis_of_lines(graph, users, i);
    if (axis < 0) return;
    const Item &source = to.out()[item.inputs[0]], &index = to.out()[item.inputs[1]];
    const std::int64_t length = source.shape[axis];
    Shape repeated = source.shape;
    Dims axes;  // of the first line, again and again
    for (int i = 0; i < repeated.rank(); ++i) axes.push_back(i == axis ? -1 : i);
    repeated[axis] = item.shape[axis];
    const DType of_source = source.dtype, of_index = index.dtype;
    const int first = to.insert(repeat_op(repeated, axes), {item.inputs[0]}, item, {.shape = repeated, .dtype = of_source});
    const int named = to.insert(along_axis(item.shape, axis), {item.inputs[1]}, item, {.dtype = of_index});
    item.op = Ref<const Op>(new LineOp(axis, length));
    item.inputs = {first, named};
  });
}

}  // namespace tegula::compile

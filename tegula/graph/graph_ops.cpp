#include "tegula/graph/graph_ops.h"

#include "tegula/graph/autodiff/custom_op.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/regions/effect.h"

namespace tegula {

void add_graph_ops(OpTable& table) {
  table.add_class<PartOp>("part", 1, 0);
  add_structural_ops(table);
  add_e4m3_ops(table);
  add_gradient_ops(table);
  add_region_ops(table);
  table.add_op(barrier_op(), OpTable::kAnyInputs);
  table.add_class<CustomOp>("custom_function", OpTable::kAnyInputs, std::string(), NamedOptions(), Vjp());
}

}  // namespace tegula

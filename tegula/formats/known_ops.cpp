#include "tegula/formats/known_ops.h"

#include "tegula/graph/graph_ops.h"
#include "tegula/ops/op_families.h"

namespace tegula {

OpTable& known_ops() {
  static OpTable& table = *[] {
    auto* const all = new OpTable;
    add_graph_ops(*all);
    add_all_ops(*all);
    return all;
  }();
  return table;
}

}  // namespace tegula

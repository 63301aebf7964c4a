#pragma once
// The ops of this room, for a table of ops.

namespace tegula {

class OpTable;

void add_graph_ops(OpTable& table);

// Each is defined in the source with those ops.
void add_structural_ops(OpTable& table);
void add_e4m3_ops(OpTable& table);
void add_gradient_ops(OpTable& table);
void add_region_ops(OpTable& table);

}  // namespace tegula

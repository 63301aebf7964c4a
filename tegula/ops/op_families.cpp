#include "tegula/ops/op_families.h"

#include "tegula/graph/op_table.h"

namespace tegula {

void add_all_ops(OpTable& table) {
  for (const auto add : {add_arithmetic_ops,    add_math_ops,       add_compare_ops,     add_logic_ops,       add_activation_ops,
                         add_dropout_ops,       add_loss_ops,       add_random_ops,      add_debug_print_ops, add_pad_ops,
                         add_dynamic_slice_ops, add_gather_ops,     add_join_ops,        add_view_ops,        add_resample_ops,
                         add_loop_ops,          add_arg_reduce_ops, add_sort_ops,        add_scan_ops,        add_label_ops,
                         add_allowed_ops,       add_reduce_ops,     add_convolution_ops, add_pooling_ops,     add_convolution_ladder_ops,
                         add_attention_ops,     add_matmul_ops,     add_cuda_kernel_ops, add_matrix_ops,      add_check_matrices_ops,
                         add_fourier_ops,       add_grouped_ops})
    add(table);
}

}  // namespace tegula

#pragma once
// The ops of this room, for a table of ops: graph files know them by name.

namespace tegula {

class OpTable;

void add_all_ops(OpTable& table);

// Each in the source that defines the ops.
void add_arithmetic_ops(OpTable& table);
void add_math_ops(OpTable& table);
void add_compare_ops(OpTable& table);
void add_logic_ops(OpTable& table);
void add_activation_ops(OpTable& table);
void add_dropout_ops(OpTable& table);
void add_loss_ops(OpTable& table);
void add_random_ops(OpTable& table);
void add_debug_print_ops(OpTable& table);
void add_pad_ops(OpTable& table);
void add_dynamic_slice_ops(OpTable& table);
void add_gather_ops(OpTable& table);
void add_join_ops(OpTable& table);
void add_view_ops(OpTable& table);
void add_resample_ops(OpTable& table);
void add_loop_ops(OpTable& table);
void add_arg_reduce_ops(OpTable& table);
void add_sort_ops(OpTable& table);
void add_scan_ops(OpTable& table);
void add_label_ops(OpTable& table);
void add_allowed_ops(OpTable& table);
void add_reduce_ops(OpTable& table);
void add_convolution_ops(OpTable& table);
void add_pooling_ops(OpTable& table);
void add_convolution_ladder_ops(OpTable& table);
void add_attention_ops(OpTable& table);
void add_matmul_ops(OpTable& table);
void add_cuda_kernel_ops(OpTable& table);
void add_matrix_ops(OpTable& table);
void add_grouped_ops(OpTable& table);
void add_fourier_ops(OpTable& table);
void add_check_matrices_ops(OpTable& table);

}  // namespace tegula

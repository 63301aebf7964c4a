#pragma once
// The costs of work on a GPU.

#include "tegula/runtime/costs.h"

namespace tegula::gpu {

/// An H200's, for all cards: what is chosen by them does not depend on which one it is.
inline const runtime::Costs& costs() {
  static constexpr runtime::Costs table{
      .launch_seconds = {2e-6, "H200, roughly"},
      .bytes_per_second = {2e12, "H200, roughly"},
      .tile_operations_per_second = {2e13, "H200, roughly"},
      .call_operations_per_second = {2e13, "H200, roughly"},
      .short_launch_seconds = {5e-6, "H200: what is saved between two launches is below one microsecond"},
      .loop_nodes = {16384, "H200, bench_loops"},
      // An LSTM written out takes 0.559 ms as TF32 and 0.654 in halves, some 0.9 us more for each of its 96 products of 16 to 64 rows; a product of
      // 0.2 G operations and more is faster in halves.
      .call_seconds = {3.5e-6, "H200, 2026-11-25, cuBLASLt, fitted to an LSTM written out"},
      .own_call_seconds = {2.6e-6, "H200, 2026-11-25, fitted to an LSTM written out"},
      .tf32_per_second = {1.2e14, "H200, 2026-11-25, products of 0.2 G operations"},
      .halves_per_second = {3e14, "H200, 2026-11-25, products of 0.2 G operations"},
      .call_bytes_per_second = {3e12, "H200, 2026-11-25"},
      .unaligned_factor = {8, "H200, 2026-11-25, cuBLASLt reads such elements one by one"},
      .epilogue_seconds = {1.5e-6, "H200, roughly"},
      .share_of_peak = {0.8, "H200, tile programs over large tensors"},
      .measured_product = {1e5, "smaller ones are over when they have begun"},
      .measured_convolution = {1e6, "smaller ones are over when they have begun"},
      .measured_gradient = {1e9, "smaller ones have nothing to win that counts"},
      .own_product = {1e9, "H200, cuBLASLt is as fast from here on"},
      .opening_seconds = {0.25e-6, "H200, opening cuBLASLt takes as long as 400 000 of these"},
      .few_terms_product = {1 << 21, "H200, a call takes longer to start than such a sum"},
      .many_terms_product = {1 << 18, "H200, a call takes longer to start than such a sum"},
      .attention_scores = {64 * 64, "H200, cuDNN compiles for every size, a second or two each"},
      .sent_bytes = {2 << 20, "two H200: NCCL is not faster below (docs/devices_internals.md)"},
      .copied_bytes = {32 << 20, "two H200 (docs/devices_internals.md)"}};
  return table;
}

}  // namespace tegula::gpu

#pragma once
// Attention of few queries over a cache of keys and values: one tile program, which reads the keys that a query sees and no others.

#include <optional>
#include <span>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/ops/products/attention_op.h"
#include "tegula/runtime/device.h"

namespace tegula::ops {

/// Attention (inputs and results as of attention_nodes) by "Flash-Decoding" (Dao, Haziza, Massa, Sizov, 2023): if queries are few, instances split the
/// keys, and their results are combined by the logarithms of their sums. Nothing if other ways are better: many queries, a bias, dropout.
std::optional<std::vector<Tensor>> attention_decode(const AttentionForm& form, std::span<const Tensor> inputs,
                                                    const runtime::Device& device);

/// The same whatever is better; the tests compare it with plain_attention.
std::vector<Tensor> attention_decode_nodes(const AttentionForm& form, std::span<const Tensor> inputs);
bool describes_attention_decode(const AttentionForm& form);

}  // namespace tegula::ops

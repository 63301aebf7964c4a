#pragma once
// Tensor parallel: ranks share out the features of a layer (Shoeybi et al., "Megatron-LM", 2019), the classes of a loss, and, between such layers, the steps of
// sequences (Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022). dist::tensor_parallel(net, …) in
// nn/tensor_parallel.h makes a network tensor-parallel; these functions are what its layers call.
//
// All ranks compute one and the same loss: unlike those of collectives.h gradients here are not those of a sum over the ranks.

#include "tegula/dist/parallel/split.h"
#include "tegula/ops/rows/loss.h"

namespace tegula::dist {

/// x, which all ranks have, as the input of each rank's own computation: the gradients of the ranks are added up (Megatron's f).
Tensor copy_to_ranks(Arg x, const Group& group);
/// The sum of the ranks' results, on all of them; the gradient goes to each unchanged (Megatron's g).
Tensor reduce_from_ranks(Arg x, const Group& group);
/// x (…, n·k, …), which all ranks have -> (…, k, …), this rank's part along `axis`; the parts of the gradient are gathered.
Tensor scatter_to_ranks(Arg x, const Group& group, int axis = -1);
/// x (…, k, …) -> (…, n·k, …) on all ranks; of the gradient each gets its part. `size`: that of the axis in the whole, where the last ranks' parts are
/// smaller (partition.h).
Tensor gather_from_ranks(Arg x, const Group& group, int axis = -1, std::optional<std::int64_t> size = {});

/// The output of x · weightᵀ + bias for an entered x. weight (out, in) is this rank's part; bias (out) may be empty.
Tensor linear(const Tensor& x, const Tensor& weight, const Variable& bias, const Split& split, const Line& where);
/// indices (…) -> (…, width), rows of a table (split.size, width) of which `part` are this rank's. Unlike in tegula::embedding a negative index is an
/// error, when it is computed. `padding`: the row that gets no gradient.
Tensor embedding(const Tensor& indices, const Tensor& part, std::optional<std::int64_t> padding, const Split& split, const Line& where);

struct VocabularyCrossEntropyOptions {
  Group group = world();
  std::int64_t classes = 0;  // over all ranks; 0: as many on each as here
  std::optional<std::int64_t> ignore_index = {};
  LossReduction reduction = LossReduction::Mean;
  double label_smoothing = 0;
};
/// tegula::cross_entropy of scores whose classes ranks split: logits (N, C / n) or (N, C / n, d…) are this rank's part of axis 1, in the order of the
/// ranks (if n does not divide C: ceil(C / n), the last one the rest); labels (N) or (N, d…) are integers in [0, C). Two numbers per label are exchanged, never the scores.
Tensor cross_entropy(Arg logits, Arg labels, const VocabularyCrossEntropyOptions& options = {});

}  // namespace tegula::dist

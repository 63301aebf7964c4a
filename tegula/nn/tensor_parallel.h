#pragma once
// dist::tensor_parallel(net, plan): splits the layers of a network among several ranks, by PyTorch's styles (parallelize_module). The network's code does
// not change, its state is that of one process under the same names, and the ranks' exchanges happen inside the layers.

#include <string>
#include <variant>
#include <vector>

#include "tegula/nn/module.h"

namespace tegula::dist {

/// nn::Linear, nn::MultiheadAttention (whole heads), nn::Embedding: each rank has a part of the features that come out.
struct ColwiseParallel {
  Placement input = Placement::Replicated;
  Placement output = Placement::Features;  // or Replicated: they are gathered
};
/// nn::Linear: each rank has the weights of a part of the features that come in, and the results are added up; nn::Embedding: a part of the table.
struct RowwiseParallel {
  Placement input = Placement::Features;  // or Replicated: each takes its part. Of no meaning for nn::Embedding
  Placement output = Placement::Replicated;  // or Sequence: each has the sums of its steps
};
/// Classes that the ranks need not divide: the rows of an nn::Embedding, or an nn::Linear's results as scores. dist::cross_entropy takes those as they are.
struct VocabularyParallel {
  Placement output = Placement::Replicated;  // for nn::Embedding: as RowwiseParallel's
  Placement scores = Placement::Features;  // for nn::Linear, and for nn::Embedding::scores: or Replicated
};
/// nn::LayerNorm, nn::RMSNorm, nn::Dropout: each rank has a part of the steps, parameters are whole, and their gradients are added up.
struct SequenceParallel {
  Placement input = Placement::Sequence;  // or Replicated: each takes its part
  Placement output = Placement::Sequence;  // or Replicated: they are gathered
};

/// The style of the layers of these names, in which * stands for any part between two dots: {"h.*.mlp.c_fc", ColwiseParallel{}}.
struct LayerPlan {
  std::string layers;
  std::variant<ColwiseParallel, RowwiseParallel, VocabularyParallel, SequenceParallel> style;
  bool optional = false;  // the network may be without it
};
using TensorPlan = std::vector<LayerPlan>;
/// An option of a model's ready-made plan: Shared also splits the steps between split layers among the ranks.
enum class Steps : bool { Whole, Shared };

struct TensorParallelOptions {
  Group group = world();
  int step_axis = 1;  // the axis that SequenceParallel splits: 1 in (N, T, E)
};

/// Gives all ranks rank 0's weights and random numbers, and each its part of the weights that the plan names: before the optimiser is made. All ranks then see
/// the same batches and compute the same loss; gradients of all parameters are right as grad gives them. state_dict, save, load and checkpoints have the whole
/// state, and all ranks call them. A group of one leaves the network as it is. Returns how many layers were shared out.
/// Throws Error where a line of the plan fits no layer, a layer has not that style, is shared out already, or heads or features cannot be shared out equally.
int tensor_parallel(const nn::AnyModule& net, const TensorPlan& plan, const TensorParallelOptions& options = {},
                    Line where = Line::current());

}  // namespace tegula::dist

#pragma once
// dist::tensor_parallel(net, plan): the layers of a network become those of several ranks, by PyTorch's styles (parallelize_module). The network stays what
// it is: the same code runs it, its state is that of one process under the same names, and what ranks exchange happens within the layers.

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
/// Classes that the ranks need not divide: the rows of an nn::Embedding, or what an nn::Linear gives as scores. dist::cross_entropy takes those as they are.
struct VocabularyParallel {
  Placement output = Placement::Replicated;  // of nn::Embedding: as RowwiseParallel's
  Placement scores = Placement::Features;  // of nn::Linear, and of nn::Embedding::scores: or Replicated
};
/// nn::LayerNorm, nn::RMSNorm, nn::Dropout: each rank has a part of the steps, parameters are whole, and their gradients are added up.
struct SequenceParallel {
  Placement input = Placement::Sequence;  // or Replicated: each takes its part
  Placement output = Placement::Sequence;  // or Replicated: they are gathered
};

/// What becomes of the layers of these names, in which * stands for any part between two dots: {"h.*.mlp.c_fc", ColwiseParallel{}}.
struct LayerPlan {
  std::string layers;
  std::variant<ColwiseParallel, RowwiseParallel, VocabularyParallel, SequenceParallel> style;
  bool optional = false;  // the network may be without it
};
using TensorPlan = std::vector<LayerPlan>;
/// Of a model's ready-made plan: whether ranks also share out the steps between layers that are split.
enum class Steps : bool { Whole, Shared };

struct TensorParallelOptions {
  Group group = world();
  int step_axis = 1;  // of what SequenceParallel cuts: 1 in (N, T, E)
};

/// Gives all ranks rank 0's weights and random numbers, and each its part of those that the plan names: before the optimiser is made. All ranks then see the same batches and
/// compute the same loss; gradients of all parameters are right as grad gives them. state_dict, save, load and checkpoints have the whole state, and all ranks
/// call them. A group of one leaves the network as it is. Returns how many layers were shared out.
/// Throws Error where a line of the plan fits no layer, a layer has not that style, is shared out already, or heads or features cannot be shared out equally.
int tensor_parallel(const nn::AnyModule& net, const TensorPlan& plan, const TensorParallelOptions& options = {},
                    Line where = Line::current());

}  // namespace tegula::dist

#pragma once
// Pipeline parallel: ranks have different layers of a network, and the parts of a batch pass through them one behind the other.

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tegula/dist/exchange/group.h"
#include "tegula/dist/parallel/pipeline_schedule.h"
#include "tegula/nn/sequential.h"
#include "tegula/train/loss.h"

namespace tegula::dist {

struct PipelineOptions {
  Group group = world();  // rank r has the stages r, r + ranks, …
  PipelineOrder order = PipelineOrder::OneForwardOneBackward;
  int micro_batches = 4;  // parts of a batch, whose numbers of rows differ by one at most; fewer for a batch of fewer rows
  int stages_per_rank = 1;  // with PipelineOrder::Interleaved
  std::vector<std::size_t> begins = {};  // the layers with which the stages 1, 2, … begin; empty: as equal as numbers of parameters allow
};

/// Numbers measured for each micro-batch beside its loss, on the rank that has the network's output: `count` scalars () that add up to those of the batch. `part`: the
/// micro-batch's share of the rows.
struct PipelineMeasure {
  std::size_t count = 0;
  std::function<std::vector<Tensor>(const Tensor& output, const Tensor& target, double part)> numbers = {};
};

/// The layers of a Sequential as stages. All ranks make the whole network and the Pipeline, and see the same batches:
///   dist::Pipeline pipeline(net, cross_entropy, {.micro_batches = 8});
///   optim::Adam adam(pipeline.parameters());
///   auto step = jit([&](const Tensor& x, const Tensor& y) {
///     const auto [loss, gradients] = pipeline.gradients(x, y);
///     adam.step(gradients);
///     return loss;
///   });
/// From then on a rank has the weights of its own stages alone. state_dict(net), load(net, …), save and checkpoints are of the whole network, as one process has
/// them; all ranks call them. The Trainer takes a Pipeline as a model. With data parallel on a mesh: DataParallel(pipeline.state(), {.group = mesh.along("data")}); with
/// tensor parallel: dist::tensor_parallel(net, plan, {.group = mesh.along("tensor")}) ahead of it.
class Pipeline {
 public:
  /// Gives all ranks rank 0's weights; `net` has to stay. `loss`: a mean over rows. Throws Error where ranks want different stages, a stage has no parameters, or
  /// `begins` are not layers in order.
  Pipeline(nn::Sequential& net, Loss loss, PipelineOptions options = {}, Line where = Line::current());

  /// The parameters of this rank's stages, under their names in the network: the optimiser updates these.
  const Parameters& parameters() const { return trained_; }
  /// The same with buffers.
  const Parameters& state() const { return state_; }

  struct Result {
    Tensor loss;  // of the whole batch, on all ranks
    std::vector<Tensor> gradients;  // of that loss, by parameters()
  };
  /// Forward and backward, one micro-batch behind the other. x and y (rows, …). Between stages there is one float tensor.
  /// `share`: a number () by which the gradients count, not the loss.
  Result gradients(Arg x, Arg y, const Tensor& share = {}) const;
  /// The same, and the measured numbers of the batch: f32, on all ranks.
  std::pair<Result, std::vector<Tensor>> measured_gradients(Arg x, Arg y, const Tensor& share, const PipelineMeasure& measure) const;
  /// The network's output for x, on all ranks; only one rank computes at a time.
  Tensor operator()(Arg x) const;

  /// Cells of which each rank has those of its stages, such as adam.state(): those of all ranks, for state_dict, load and checkpoints. All ranks call it; a cell that
  /// all have under one name ("lr") is each rank's own.
  Parameters whole(const Parameters& cells, Line where = Line::current()) const;

  nn::Sequential& network() const { return net_; }
  const Loss& loss() const { return loss_; }
  /// The schedule for a batch of this many rows; 0: for enough rows for all micro-batches.
  PipelineSchedule schedule(std::int64_t rows = 0) const;
  /// The first layer of each stage, and behind the last the number of layers.
  const std::vector<std::size_t>& begins() const { return begins_; }

 private:
  enum class Announcement : std::uint8_t { ToNext, ToAll };
  int owner(int stage) const { return stage % options_.group.size(); }
  bool mine(int stage) const { return owner(stage) == options_.group.rank(); }
  void require_like_stages(const std::map<const Cell*, int>& stage_of, const Line& where) const;
  Tensor run_stage(int stage, const Tensor& x, const Line& where) const;
  std::pair<Shape, DType> announced(int stage, const Tensor& micro_batch, const Tensor& y, Announcement to, int peer,
                                    const Line& where) const;
  void give(int stage, const Tensor& micro_batch, const Tensor& y, int to, const Line& where) const;
  Tensor take(int stage, const Tensor& micro_batch, int from, const Line& where) const;
  Tensor for_all(const Tensor& batch, const Tensor& result, int what, const Line& where) const;

  nn::Sequential& net_;
  Loss loss_;
  PipelineOptions options_;
  std::vector<std::size_t> begins_;
  int stages_;
  Parameters trained_, state_;
  std::vector<std::vector<std::size_t>> of_stage_;  // indices in trained_
  /// The shape and dtype of a stage's output for a micro-batch of some shape, exchanged once. Shared: a copy of the Pipeline is the same one.
  std::shared_ptr<std::map<std::pair<int, std::string>, std::pair<Shape, DType>>> passed_;
};

}  // namespace tegula::dist

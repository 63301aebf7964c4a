#include "tegula/train/pipeline.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <sstream>

#include "tegula/core/error.h"
#include "tegula/dist/collectives/agreement.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/dist/collectives/partition.h"
#include "tegula/dist/parallel/data_parallel.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

/// The source of a cell that another rank has: all ranks get its whole value from there (StageCell). `within`: the partition of each layer among the ranks of another group, or null.
class CellElsewhere final : public CellSource {
 public:
  CellElsewhere(Group group, int owner, Shape shape, DType dtype, std::shared_ptr<const Partition> within = nullptr)
      : group_(std::move(group)),
        owner_(owner),
        shape_(std::move(shape)),
        dtype_(dtype),
        within_(std::move(within)) {}
  Tensor read(const Line& where) const override {
    const Tensor whole = broadcast(Arg(zeros(within_ ? within_->shape() : shape_, dtype_, where), where), owner_, group_);
    return within_ ? within_->part(whole, where) : whole;
  }
  void write(const Tensor&, const Line&) const override {}  // the owner writes its own

 private:
  Group group_;
  int owner_;
  Shape shape_;
  DType dtype_;
  std::shared_ptr<const Partition> within_;
};

/// The partition of a cell that this rank has and the others have not.
class StageCell final : public NestedPartition {
 public:
  StageCell(Group group, Shape shape, std::shared_ptr<const Partition> within = nullptr)
      : NestedPartition(std::move(group), std::move(shape), std::move(within)) {}
  Tensor whole(const Tensor& part, const Line& where) const override {
    return broadcast(Arg(whole_of_within(part, where), where), group_.rank(), group_);
  }
  Tensor part(const Tensor& whole, const Line& where) const override { return part_of_within(whole, where); }
  /// Within the stage first.
  Tensor sum(const Tensor& x, const Line& where) const override {
    return all_reduce(Arg(within_ ? within_->sum(x, where) : x, where), group_);
  }
};

/// The first layer of each stage, such that the heaviest stage is as light as possible, from the layers' weights. Empty if there are too few layers with a weight.
std::vector<std::size_t> balanced(const std::vector<std::int64_t>& weights, std::size_t stages) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  const std::size_t layers = weights.size();
  // best[s][i]: the heaviest of s stages of the first i layers; from[s][i]: where the last of them begins.
  std::vector<std::vector<std::int64_t>> best(stages + 1, std::vector<std::int64_t>(layers + 1, kNever));
  std::vector<std::vector<std::size_t>> from(stages + 1, std::vector<std::size_t>(layers + 1));
  best[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s) {
    for (std::size_t i = 1; i <= layers; ++i) {
      std::int64_t weight = 0;
      for (std::size_t begin = i; begin-- > 0;) {  // late ones first: layers without a weight stay with those before them
        weight += weights[begin];
        if (weight == 0 || best[s - 1][begin] == kNever) continue;
        const std::int64_t heaviest = std::max(best[s - 1][begin], weight);
        if (heaviest < best[s][i]) best[s][i] = heaviest, from[s][i] = begin;
      }
    }
  }
  if (best[stages][layers] == kNever) return {};
  std::vector<std::size_t> begins{layers};
  for (std::size_t s = stages; s > 0; --s) begins.insert(begins.begin(), from[s][begins.front()]);
  return begins;
}

/// The same on all ranks, also on those that have parts of the layer.
std::int64_t weight_of(nn::Layer& layer) {
  std::int64_t n = 0;
  for (const Parameter& parameter : nn::detail::parameters(nn::AnyModule(layer))) n += numel(parameter.whole_shape());
  return n;
}

}  // namespace

Pipeline::Pipeline(nn::Sequential& net, Loss loss, PipelineOptions options, Line where)
    : net_(net),
      loss_(std::move(loss)),
      options_(std::move(options)),
      begins_(options_.begins),
      stages_(options_.group.size() * options_.stages_per_rank),
      passed_(std::make_shared<std::map<std::pair<int, std::string>, std::pair<Shape, DType>>>()) {
  refuse_in_trace("Pipeline", where);
  const Group& group = options_.group;
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "Pipeline", .got = got, .expected = expected, .where = where});
  };
  PipelineSchedule(options_.order, group.size(), options_.micro_batches, options_.stages_per_rank, where);  // refuses
  std::vector<std::int64_t> weights;
  for (nn::Layer& layer : net) weights.push_back(weight_of(layer));
  if (begins_.empty()) {
    begins_ = balanced(weights, static_cast<std::size_t>(stages_));
    if (begins_.empty()) {
      const auto heavy = std::ranges::count_if(weights, [](std::int64_t weight) { return weight > 0; });
      refuse(std::to_string(heavy) + " layers with parameters for " + std::to_string(stages_) + " stages", "at least one in each");
    }
  } else {
    begins_.insert(begins_.begin(), 0), begins_.push_back(net.size());
  }
  std::string stages = "stages that begin with";
  for (std::size_t s = 0; s + 1 < begins_.size(); ++s) stages += (s ? ", " : " ") + std::to_string(begins_[s]);
  std::int64_t numbers = 0;
  for (const auto weight : weights) numbers += weight;
  require_alike("Pipeline",
                {std::to_string(net.size()) + " layers", stages, std::to_string(numbers) + " parameters",
                 std::string(name(options_.order)) + " of " + std::to_string(options_.micro_batches) + " micro-batches"},
                "the same pipeline on all ranks", group, where);
  if (begins_.size() != static_cast<std::size_t>(stages_) + 1) {
    refuse(std::to_string(begins_.size() - 2) + " layers with which stages begin",
           "one less than the " + std::to_string(stages_) + " stages: the first begins with the first layer");
  }
  for (std::size_t s = 0; s < static_cast<std::size_t>(stages_); ++s) {
    std::int64_t weight = 0;
    for (std::size_t i = begins_[s]; i < std::min(begins_[s + 1], net.size()); ++i) weight += weights[i];
    if (begins_[s + 1] <= begins_[s] || begins_[s + 1] > net.size() || weight == 0)
      refuse("stage " + std::to_string(s) + " of the layers " + std::to_string(begins_[s]) + " to " + std::to_string(begins_[s + 1]),
             "layers of the network in order, in each stage one with parameters");
  }

  for (const Parameter& cell : nn::state(net)) {
    const Partition* const partition = cell.cell->partition().get();
    if (cell.cell->source() || (partition && (partition->ranks() == group.id() || partition->ranks() == joint_ranks(group, nullptr)))) {
      refuse(cell.name + ", of which ranks have parts already",
             "a network that is whole, or whose layers the ranks of another axis of a mesh share out");
    }
  }
  broadcast_values(nn::state(net), group, 0, where);
  std::map<const Cell*, int> stage_of;
  for (int s = 0; s < stages_; ++s) {
    for (std::size_t i = begins_[static_cast<std::size_t>(s)]; i < begins_[static_cast<std::size_t>(s) + 1]; ++i) {
      for (const Parameter& cell : nn::state(nn::AnyModule(net[i]))) stage_of[cell.cell.get()] = s;
    }
  }
  of_stage_.resize(static_cast<std::size_t>(stages_));
  for (const Parameter& parameter : tegula::parameters(net)) {
    const int stage = stage_of.at(parameter.cell.get());
    if (!mine(stage)) continue;
    of_stage_[static_cast<std::size_t>(stage)].push_back(trained_.size());
    trained_.push_back(parameter);
  }
  require_like_stages(stage_of, where);
  std::set<const Cell*> settled;
  for (const Parameter& cell : nn::state(net)) {
    const int stage = stage_of.at(cell.cell.get());
    if (mine(stage)) state_.push_back(cell);
    if (group.size() == 1) continue;
    if (!settled.insert(cell.cell.get()).second) continue;  // two layers have it
    const auto within = cell.cell->partition();
    if (mine(stage)) cell.cell->set_partition(std::make_shared<const StageCell>(group, cell.cell->shape(), within));
    else cell.cell->keep_at(std::make_unique<CellElsewhere>(group, owner(stage), cell.cell->shape(), cell.cell->dtype(), within));
  }
  barrier(
      group,
      where);  // all ranks settle the transport at a group's first collective on its devices: a message between two ranks would wait for the others
}

/// A norm over all ranks adds up split and whole parameters, each among its own ranks: the ranks must agree on which are which.
void Pipeline::require_like_stages(const std::map<const Cell*, int>& stage_of, const Line& where) const {
  std::vector<std::array<int, 2>> numbers(static_cast<std::size_t>(options_.group.size()));  // per rank: whole tensors, shared ones
  for (const Parameter& parameter : tegula::parameters(net_)) {
    const auto rank = static_cast<std::size_t>(owner(stage_of.at(parameter.cell.get())));
    ++numbers[rank][parameter.cell->partition() ? 1 : 0];
  }
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    if ((numbers[r][0] > 0) == (numbers[0][0] > 0) && (numbers[r][1] > 0) == (numbers[0][1] > 0)) continue;
    const auto text = [&](std::size_t rank) {
      return std::to_string(numbers[rank][1]) + " parameters that ranks share out and " + std::to_string(numbers[rank][0]) +
             " whole ones on rank " + std::to_string(rank);
    };
    throw Error({.op = "Pipeline",
                 .got = text(0) + ", " + text(r),
                 .expected = "both kinds in all stages, or one of them",
                 .advice = "let stages begin elsewhere (.begins), or leave a layer of the other kind whole in the plan",
                 .where = where});
  }
}

PipelineSchedule Pipeline::schedule(std::int64_t rows) const {
  std::int64_t count = rows > 0 ? std::min<std::int64_t>(options_.micro_batches, rows) : options_.micro_batches;
  if (options_.stages_per_rank > 1) count -= count % options_.group.size();
  return PipelineSchedule(options_.order, options_.group.size(), static_cast<int>(count), options_.stages_per_rank);
}

Tensor Pipeline::run_stage(int stage, const Tensor& x, const Line& where) const {
  Tensor y = x;
  for (std::size_t i = begins_[static_cast<std::size_t>(stage)]; i < begins_[static_cast<std::size_t>(stage) + 1]; ++i)
    y = net_[i](Arg(y, where));
  if (stage + 1 < stages_ && !is_float(y.dtype())) {
    throw Error({.op = "Pipeline",
                 .got = "a tensor of dtype " + std::string(name(y.dtype())) + " behind stage " + std::to_string(stage),
                 .expected = "floats between stages",
                 .advice = "let the stage end behind another layer (.begins)",
                 .where = origin_at(where).where});
  }
  return y;
}

/// Shape and dtype of a stage's output for a micro-batch of this shape. The rank that has it announces it, once: `y` there, nothing elsewhere.
std::pair<Shape, DType> Pipeline::announced(int stage, const Tensor& micro_batch, const Tensor& y, Announcement to, int peer,
                                            const Line& where) const {
  const auto key = std::make_pair(to == Announcement::ToAll ? stages_ + stage : stage, to_string(micro_batch.shape()));
  if (const auto known = passed_->find(key); known != passed_->end()) return known->second;
  std::vector<std::int64_t> words(kMaxRank + 2);
  if (y.defined()) {
    words[0] = y.rank(), words[1] = static_cast<std::int64_t>(y.dtype());
    for (int i = 0; i < y.rank(); ++i) words[static_cast<std::size_t>(i) + 2] = y.shape()[i];
  }
  const Kind kind = to == Announcement::ToAll ? Kind::Broadcast : y.defined() ? Kind::Send : Kind::Receive;
  std::vector<std::int64_t> theirs = words;
  exchange_now(options_.group, {kind, i64, {static_cast<std::int64_t>(words.size())}, Reduction::Sum, peer}, words.data(), theirs.data(),
               where);
  Shape shape;
  for (std::int64_t i = 0; i < theirs[0]; ++i) shape.push_back(theirs[static_cast<std::size_t>(i) + 2]);
  return passed_->emplace(key, std::make_pair(shape, static_cast<DType>(theirs[1]))).first->second;
}

void Pipeline::give(int stage, const Tensor& micro_batch, const Tensor& y, int to, const Line& where) const {
  announced(stage, micro_batch, y, Announcement::ToNext, to, where);
  send(Arg(y, where), to, options_.group);
}

Tensor Pipeline::take(int stage, const Tensor& micro_batch, int from, const Line& where) const {
  const auto [shape, dtype] = announced(stage, micro_batch, {}, Announcement::ToNext, from, where);
  return graph::stop_gradient(receive(shape, dtype, from, options_.group, {}, where), where);
}

/// Sends the last stage's tensor to all ranks.
Tensor Pipeline::for_all(const Tensor& batch, const Tensor& result, int what, const Line& where) const {
  const int root = owner(stages_ - 1);
  const auto [shape, dtype] = announced(what, batch, result, Announcement::ToAll, root, where);
  return broadcast(Arg(result.defined() ? graph::stop_gradient(result, where) : zeros(shape, dtype, where), where), root, options_.group);
}

namespace {

/// Adds up the measured numbers of micro-batches.
void add_measured(std::vector<Tensor>& sums, const PipelineMeasure& measure, const Tensor& output, const Tensor& target, double part,
                  const Line& where) {
  const std::vector<Tensor> numbers = measure.numbers(output, target, part);
  if (numbers.size() != measure.count) {
    throw Error({.op = "Pipeline",
                 .got = std::to_string(numbers.size()) + " numbers that were measured",
                 .expected = "the " + std::to_string(measure.count) + " that were announced",
                 .where = origin_at(where).where});
  }
  const In frame("Pipeline", where);
  sums.resize(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Tensor number = reshape(cast(Arg(numbers[i], where), f32), {});
    sums[i] = sums[i].defined() ? sums[i] + number : number;
  }
}

}  // namespace

Pipeline::Result Pipeline::gradients(Arg x, Arg y, const Tensor& share) const { return measured_gradients(x, y, share, {}).first; }

std::pair<Pipeline::Result, std::vector<Tensor>> Pipeline::measured_gradients(Arg of_x, Arg of_y, const Tensor& share,
                                                                              const PipelineMeasure& measure) const {
  const Line where = of_x.loc;
  const Tensor x = of_x.tensor("Pipeline"), y = of_y.tensor("Pipeline");
  const std::int64_t rows = x.rank() > 0 ? x.size(0) : 0;
  if (rows == 0 || y.rank() == 0 || y.size(0) != rows) {
    throw Error({.op = "Pipeline",
                 .got = "inputs " + to_string(x.shape()) + " and targets " + to_string(y.shape()),
                 .expected = "as many rows of both, at least one",
                 .where = origin_at(where).where});
  }
  const PipelineSchedule schedule = this->schedule(rows);
  const auto part = [&](const Tensor& of, int i) {
    const std::int64_t n = schedule.micro_batches();
    return slice(Arg(of, where), 0, {rows * i / n, rows * (i + 1) / n});
  };
  // By (stage, micro-batch).
  using Place = std::pair<int, int>;
  struct Kept {
    Tensor in, out;
  };
  std::map<Place, Kept> kept;
  std::map<Place, Tensor> arrived, back;  // the input of a stage; the gradient of its output
  std::map<Place, Tensor> leaving;  // from the stage that made it: y, or the gradient of its input
  std::vector<Tensor> sums(trained_.size()), measured;
  Tensor loss;
  const auto forward = [&](int stage, int i) {
    const Tensor in = stage == 0 ? part(x, i) : arrived.extract({stage, i}).mapped();
    Tensor out = run_stage(stage, in, where);
    if (stage == stages_ - 1) {
      const Tensor micro = part(y, i);
      const double of_rows = static_cast<double>(micro.size(0)) / static_cast<double>(rows);
      if (measure.count > 0) add_measured(measured, measure, graph::stop_gradient(out, where), micro, of_rows, where);
      out = loss_({out}, {micro}, where) * of_rows;
      loss = loss.defined() ? loss + out : out;
      if (share.defined()) out = out * cast(Arg(share, where), out.dtype());
    } else if (mine(stage + 1)) {
      arrived[{stage + 1, i}] = graph::stop_gradient(out, where);
    } else {
      leaving[{stage, i}] = out;
    }
    kept[{stage, i}] = {in, out};
  };
  const auto backward = [&](int stage, int i) {
    const auto [in, out] = kept.extract({stage, i}).mapped();
    const auto& own = of_stage_[static_cast<std::size_t>(stage)];
    std::vector<Wrt> xs;
    for (const std::size_t p : own) xs.emplace_back(trained_[p]);
    if (stage > 0) xs.emplace_back(in);
    const bool last = stage == stages_ - 1;
    const auto parts = last ? grad(out, xs, where) : vjp({out}, {back.extract({stage, i}).mapped()}, xs, where);
    const In frame("Pipeline", where);
    for (std::size_t k = 0; k < own.size(); ++k) sums[own[k]] = sums[own[k]].defined() ? sums[own[k]] + parts[k] : parts[k];
    if (stage > 0) (mine(stage - 1) ? back[{stage - 1, i}] : leaving[{stage, i}]) = parts.back();
  };
  for (const PipelineAction& action : schedule.actions(options_.group.rank())) {
    const auto [backwards, i, stage] = action.work;
    if (action.kind == PipelineAction::Kind::Compute) {
      backwards ? backward(stage, i) : forward(stage, i);
    } else if (action.kind == PipelineAction::Kind::Send) {
      const Tensor value = leaving.extract({stage, i}).mapped();
      if (backwards) send(Arg(value, where), action.peer, options_.group);
      else give(stage, part(x, i), value, action.peer, where);
    } else if (backwards) {
      const Tensor& out = kept.at({stage - 1, i}).out;
      back[{stage - 1, i}] = receive(out.shape(), out.dtype(), action.peer, options_.group, {}, where);
    } else {
      arrived[{stage + 1, i}] = take(stage, part(x, i), action.peer, where);
    }
  }
  Result result{for_all(x, loss, 0, where), std::move(sums)};
  if (measure.count == 0) return {std::move(result), {}};
  const In frame("Pipeline", where);
  const Tensor mine = measured.empty() ? zeros({static_cast<std::int64_t>(measure.count)}, f32, where) : stack(measured, 0, where);
  return {std::move(result), unbind(broadcast(Arg(mine, where), owner(stages_ - 1), options_.group))};
}

Tensor Pipeline::operator()(Arg of_x) const {
  const Line where = of_x.loc;
  const Tensor x = of_x.tensor("Pipeline");
  Tensor y = x;
  for (int stage = 0; stage < stages_; ++stage) {
    const bool here = mine(stage), next = stage + 1 < stages_ && mine(stage + 1);
    if (here) y = run_stage(stage, y, where);
    if (here && !next && stage + 1 < stages_) give(stage, x, y, owner(stage + 1), where);
    if (!here && next) y = take(stage, x, owner(stage), where);
  }
  return for_all(x, mine(stages_ - 1) ? y : Tensor(), 1, where);
}

Parameters Pipeline::whole(const Parameters& cells, Line where) const {
  refuse_in_trace("Pipeline::whole", where);
  const Group& group = options_.group;
  if (group.size() == 1) return cells;
  std::vector<std::string> told;  // two per cell: its name; dtype and shape
  for (const Parameter& cell : cells) {
    told.push_back(cell.name);
    told.push_back(std::to_string(static_cast<int>(cell.cell->dtype())));
    for (const auto size : cell.whole_shape()) told.back() += " " + std::to_string(size);
  }
  struct Entry {
    int owner = 0, ranks = 0;
    DType dtype{};
    Shape shape;
  };
  std::vector<std::string> names;
  std::map<std::string, Entry> entries;
  const auto all = gather_items(told, group, where);
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (std::size_t i = 0; i + 1 < all[r].size(); i += 2) {
      const std::string& name = all[r][i];
      Entry& entry = entries[name];
      if (entry.ranks++ > 0) continue;
      names.push_back(name);
      std::istringstream words(all[r][i + 1]);
      int dtype = 0;
      words >> dtype;
      entry.owner = static_cast<int>(r), entry.dtype = static_cast<DType>(dtype);
      for (std::int64_t size = 0; words >> size;) entry.shape.push_back(size);
    }
  }
  Parameters out;
  for (const std::string& name : names) {
    const Entry& entry = entries.at(name);
    const auto own = std::ranges::find(cells, name, &Parameter::name);
    if (entry.ranks == group.size() || entry.owner == group.rank()) {
      out.push_back(*own);
      if (entry.ranks < group.size() && !own->cell->partition())
        own->cell->set_partition(std::make_shared<const StageCell>(group, entry.shape));
      continue;
    }
    out.push_back({name, make<Cell>(graph::full(entry.shape, 0, entry.dtype, where))});
    out.back().cell->keep_at(std::make_unique<CellElsewhere>(group, entry.owner, entry.shape, entry.dtype));
  }
  return out;
}

}  // namespace tegula::dist

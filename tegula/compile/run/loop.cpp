// A loop as a call: one plan for the body, run for every turn at other addresses.

#include <algorithm>
#include <utility>

#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/compile/run/executable.h"

namespace tegula::compile {
namespace {

using Input = LoopOp::Input;

class LoopCall final : public runtime::Call {
 public:
  LoopCall(LoopSchedule schedule, std::shared_ptr<Executable> body, runtime::Device& device)
      : schedule_(std::move(schedule)),
        body_(std::move(body)),
        device_(device) {}

  std::size_t scratch_bytes() const override { return schedule_.scratch_bytes; }

  std::string describe() const override {
    return std::to_string(schedule_.length) + " x " + (body_ ? std::to_string(body_->plan().steps.size()) + " steps" : "nothing");
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    auto* const scratch = static_cast<std::byte*>(options.scratch);
    LoopTurns turns(schedule_, buffers, scratch);
    std::vector<void*> leaves(schedule_.leaf_parameters.size());
    const std::vector<std::uint64_t> versions(leaves.size(), ++runs_);
    for (std::int64_t step = 0; step < schedule_.length; ++step) {
      if (!device_.traits().queues && turns.have_ended()) break;
      turns.begin(step);
      if (body_) {
        for (std::size_t i = 0; i < leaves.size(); ++i)
          leaves[i] = const_cast<std::byte*>(turns.parameters()[schedule_.leaf_parameters[i]]);
        body_->run({.leaves = leaves,
                    .constants = {},
                    .outputs = turns.outputs(),
                    .updates = {},
                    .versions = versions,
                    .arena = scratch + schedule_.arena});
      }
      copy(turns.end(step));
    }
    copy(turns.finish());
  }

 private:
  void copy(std::span<const LoopTurns::Copy> copies) const {
    for (const auto& [to, from, bytes] : copies) device_.copy(to, from, bytes);
  }

  LoopSchedule schedule_;
  std::shared_ptr<Executable> body_;
  runtime::Device& device_;
  mutable std::uint64_t runs_ = 0;
};

/// Fills in what the body's plan says.
std::shared_ptr<Executable> compile_body(const LoopOp& loop, const std::vector<const Node*>& outputs, LoopSchedule& schedule,
                                         runtime::Device& device) {
  if (outputs.empty()) return nullptr;
  const Reading reading = read(outputs);
  Graph graph = flatten(reading, outputs, {});
  Identities identities;
  for (std::size_t i = 0; i < reading.leaves.size(); ++i) {
    const auto& parameters = loop.body().parameters();
    const auto p = static_cast<std::size_t>(std::ranges::find(parameters, reading.leaves[i], &Ref<Node>::get) - parameters.begin());
    schedule.leaf_parameters.push_back(p);
    const bool stays = schedule.inputs[p] == Input::Same || schedule.inputs[p] == Input::Number;
    graph.leaves[i].steady = stays;
    graph.leaves[i].dtype = loop.input_dtype(static_cast<int>(p), graph.leaves[i].dtype);
    identities.leaves.push_back(stays ? p + 1 : 0);
    if (schedule.inputs[p] == Input::Number) schedule.parameter_bytes[p] = size_of(graph.leaves[i].dtype);
  }
  for (Item& item : graph.items)
    if (item.role() == Role::Leaf) item.dtype = graph.leaf(item).dtype;
  KeptValues kept;
  return compile(std::move(graph), device, identities, kept, {}, ArenaOf::Caller, schedule.length);
}

}  // namespace

SubPlan prepare_loop(const LoopOp& loop, const std::vector<bool>& wanted, runtime::Device& device) {
  ScheduledLoop scheduled = schedule_loop(loop, wanted);
  SubPlan out;
  out.body = compile_body(loop, scheduled.outputs, scheduled.schedule, device);
  place_values(scheduled.schedule, out.body ? out.body->arena_bytes() : 0);
  out.schedule = std::move(scheduled.schedule);
  out.bound = bind_loop(out, device);
  return out;
}

std::unique_ptr<runtime::Call> bind_loop(const SubPlan& loop, runtime::Device& device) {
  return std::make_unique<LoopCall>(loop.schedule, loop.body, device);
}

const Plan* body_of(const SubPlan& loop) { return loop.body ? &loop.body->plan() : nullptr; }

std::size_t kept_bytes_of(const SubPlan& loop) { return loop.body ? loop.body->kept().bytes() + loop.body->kept_in_loops() : 0; }

}  // namespace tegula::compile

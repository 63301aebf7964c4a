// A loop as a call: one plan for the body, run for every step at other addresses.

#include <algorithm>
#include <unordered_map>

#include "tegula/compile/plan/prepare_loop.h"
#include "tegula/compile/run/executable.h"
#include "tegula/core/check.h"
#include "tegula/core/error.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

using Input = LoopOp::Input;
constexpr std::size_t kAlignment = 256;

std::size_t bytes_of(const Node& node) { return static_cast<std::size_t>(numel(node.shape())) * size_of(node.dtype()); }
std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Where a result of the body comes from: an output of its plan, or a parameter as it is.
struct Source {
  int output = -1, parameter = -1;
};

class LoopCall final : public BodyCall {
 public:
  LoopCall(const LoopOp& loop, const std::vector<bool>& wanted, runtime::Device& device)
      : device_(device),
        length_(loop.form().length),
        reverse_(loop.form().reverse),
        inputs_(loop.form().inputs),
        carries_(loop.carries()),
        wanted_(wanted) {
    const Region& body = loop.body();
    for (const auto& parameter : body.parameters()) parameter_bytes_.push_back(bytes_of(*parameter));
    for (const auto& result : body.results()) result_bytes_.push_back(bytes_of(*result));
    find_needed(body);
    find_outputs(body);
    compile_body(loop);
    find_places();
    if (plan_) arena_ = std::exchange(scratch_bytes_, scratch_bytes_ + plan_->arena_bytes());
    output_nodes_.clear();  // the loop may not live as long
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  const Plan* body() const override { return plan_ ? &plan_->plan() : nullptr; }
  std::size_t kept_bytes() const override { return plan_ ? plan_->kept().bytes() + plan_->kept_in_loops() : 0; }

  std::string describe() const override {
    return std::to_string(length_) + " x " + (plan_ ? std::to_string(plan_->plan().steps.size()) + " steps" : "nothing");
  }

  void run(std::span<void* const> buffers, const runtime::RunOptions& options) const override {
    Run now{buffers, static_cast<std::byte*>(options.scratch), {}, {}, {}, {}};
    for (std::size_t p = 0; p < inputs_.size(); ++p) now.at.push_back(static_cast<const std::byte*>(buffers[p]));
    now.outputs.resize(output_bytes_.size());
    now.leaves.resize(leaf_parameters_.size());
    const std::vector<std::uint64_t> versions(now.leaves.size(), ++runs_);
    for (std::int64_t step = 0; step < length_; ++step) {
      const std::int64_t t = reverse_ ? length_ - 1 - step : step;
      for (std::size_t p = carries_; p < inputs_.size(); ++p)
        if (inputs_[p] == Input::Slice) now.at[p] = static_cast<const std::byte*>(buffers[p]) + place(t, parameter_bytes_[p]);
      choose_outputs(now, step, t);
      if (checking(Check::Plan)) check_apart(now);
      for (std::size_t i = 0; i < now.leaves.size(); ++i) now.leaves[i] = const_cast<std::byte*>(now.at[leaf_parameters_[i]]);
      if (plan_) {
        plan_->run({.leaves = now.leaves,
                    .constants = {},
                    .outputs = now.outputs,
                    .updates = {},
                    .versions = versions,
                    .arena = now.scratch + arena_});
      }
      for (std::size_t r = carries_; r < wanted_.size(); ++r)
        if (wanted_[r]) copy(stack_slot(now, r, t), source(now, r), result_bytes_[r]);
      carry_on(now, step);
    }
    for (std::size_t c = 0; c < carries_; ++c)
      if (wanted_[c]) copy(static_cast<std::byte*>(buffers[inputs_.size() + c]), now.at[c], result_bytes_[c]);
  }

 private:
  struct Run {
    std::span<void* const> buffers;
    std::byte* scratch;
    std::vector<const std::byte*> at;  // what each parameter is in this step
    std::vector<void*> outputs, leaves;
    std::vector<const std::byte*> next;
  };

  static std::size_t place(std::int64_t t, std::size_t bytes) { return static_cast<std::size_t>(t) * bytes; }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    if (bytes > 0 && to != from) device_.copy(to, from, bytes);
  }
  std::byte* stack_slot(const Run& now, std::size_t result, std::int64_t t) const {
    return static_cast<std::byte*>(now.buffers[inputs_.size() + result]) + place(t, result_bytes_[result]);
  }
  const std::byte* source(const Run& now, std::size_t result) const {
    const Source& from = sources_[result];
    return from.output >= 0 ? static_cast<const std::byte*>(now.outputs[static_cast<std::size_t>(from.output)])
                            : now.at[static_cast<std::size_t>(from.parameter)];
  }

  // A carried value is needed when it is asked for, or when a step reads it for something that is.
  void find_needed(const Region& body) {
    needed_ = wanted_;
    std::unordered_map<const Node*, std::size_t> carry;
    for (std::size_t c = 0; c < carries_; ++c) carry.emplace(body.parameters()[c].get(), c);
    std::unordered_map<const Node*, bool> seen;
    std::vector<const Node*> stack;
    for (std::size_t r = 0; r < needed_.size(); ++r)
      if (needed_[r]) stack.push_back(body.results()[r].get());
    while (!stack.empty()) {
      const Node* const node = stack.back();
      stack.pop_back();
      if (!seen.emplace(node, true).second) continue;
      if (const auto found = carry.find(node); found != carry.end()) {
        needed_[found->second] = true;
        stack.push_back(body.results()[found->second].get());
      }
      for (const auto& input : node->inputs()) stack.push_back(input.get());
    }
  }

  void find_outputs(const Region& body) {
    std::unordered_map<const Node*, int> parameter, output;
    for (std::size_t p = 0; p < body.parameters().size(); ++p) parameter.emplace(body.parameters()[p].get(), static_cast<int>(p));
    for (std::size_t r = 0; r < needed_.size(); ++r) {
      sources_.emplace_back();
      if (!needed_[r]) continue;
      const Node* const node = body.results()[r].get();
      if (const auto found = parameter.find(node); found != parameter.end()) {
        sources_[r].parameter = found->second;
      } else {
        const auto [place, added] = output.emplace(node, static_cast<int>(output_nodes_.size()));
        if (added) output_nodes_.push_back(node);
        sources_[r].output = place->second;
      }
    }
  }

  void compile_body(const LoopOp& loop) {
    if (output_nodes_.empty()) return;
    const Reading reading = read(output_nodes_);
    Graph graph = flatten(reading, output_nodes_, {});
    Identities identities;
    for (std::size_t i = 0; i < reading.leaves.size(); ++i) {
      const auto& parameters = loop.body().parameters();
      const auto p = static_cast<std::size_t>(std::ranges::find(parameters, reading.leaves[i], &Ref<Node>::get) - parameters.begin());
      leaf_parameters_.push_back(p);
      const bool stays = inputs_[p] == Input::Same || inputs_[p] == Input::Number;
      graph.leaves[i].steady = stays;
      graph.leaves[i].dtype = loop.input_dtype(static_cast<int>(p), graph.leaves[i].dtype);
      identities.leaves.push_back(stays ? p + 1 : 0);
      if (inputs_[p] == Input::Number) parameter_bytes_[p] = size_of(graph.leaves[i].dtype);
    }
    for (Item& item : graph.items)
      if (item.role() == Role::Leaf) item.dtype = graph.leaves[static_cast<std::size_t>(item.slot)].dtype;
    plan_ = compile(std::move(graph), device_, identities, kept_, {}, ArenaOf::Caller, length_);
  }

  // Outputs that are not stacked, and carried values that another carried value becomes, have two places each, used in turn.
  void find_places() {
    stacked_.assign(output_nodes_.size(), -1);
    last_of_.assign(output_nodes_.size(), -1);
    begins_.assign(output_nodes_.size(), -1);
    for (std::size_t r = carries_; r < wanted_.size(); ++r)
      if (wanted_[r] && sources_[r].output >= 0 && stacked_[static_cast<std::size_t>(sources_[r].output)] < 0)
        stacked_[static_cast<std::size_t>(sources_[r].output)] = static_cast<int>(r);
    for (std::size_t c = 0; c < carries_; ++c) {
      if (sources_[c].output < 0) continue;
      const auto o = static_cast<std::size_t>(sources_[c].output);
      if (wanted_[c] && last_of_[o] < 0) last_of_[o] = static_cast<int>(c);
      for (std::size_t r = carries_; r < wanted_.size(); ++r)
        if (wanted_[r] && sources_[r].parameter == static_cast<int>(c) && begins_[o] < 0) begins_[o] = static_cast<int>(r);
    }
    const auto take = [&](std::size_t bytes) { return std::exchange(scratch_bytes_, scratch_bytes_ + 2 * aligned(bytes)); };
    for (const Node* node : output_nodes_) {
      output_bytes_.push_back(bytes_of(*node));
      output_places_.push_back(take(output_bytes_.back()));
    }
    for (std::size_t c = 0; c < carries_; ++c) carry_places_.push_back(moves(c) ? take(parameter_bytes_[c]) : 0);
  }
  /// What lies in the place of another carried value, which the next step writes.
  bool moves(std::size_t c) const {
    const int from = sources_[c].parameter;
    return from >= 0 && from != static_cast<int>(c) && inputs_[static_cast<std::size_t>(from)] == Input::Carry;
  }

  std::byte* in_turn(const Run& now, std::size_t begin, std::size_t bytes, std::int64_t step) const {
    return now.scratch + begin + (step % 2 == 0 ? 0 : aligned(bytes));
  }

  /// What a step writes meets nothing that it reads or writes elsewhere: what TEGULA_CHECK=plan proves for steps of a plan.
  void check_apart(const Run& now) const {
    const auto meet = [](const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
      const auto *x = static_cast<const std::byte*>(a), *y = static_cast<const std::byte*>(b);
      return x < y + b_bytes && y < x + a_bytes;
    };
    bool apart = true;
    for (std::size_t o = 0; o < now.outputs.size(); ++o) {
      for (std::size_t p = 0; p < now.at.size(); ++p)
        apart = apart && !meet(now.outputs[o], output_bytes_[o], now.at[p], parameter_bytes_[p]);
      for (std::size_t q = 0; q < o; ++q) apart = apart && !meet(now.outputs[o], output_bytes_[o], now.outputs[q], output_bytes_[q]);
      for (std::size_t c = 0; c < carries_; ++c)
        apart = apart &&
                !(moves(c) && meet(now.outputs[o], output_bytes_[o], now.scratch + carry_places_[c], 2 * aligned(parameter_bytes_[c])));
    }
    if (!apart) {
      throw Error({.op = "check_plan",
                   .got = "a step of a loop of " + describe() + " that writes what it reads",
                   .expected = "places apart",
                   .advice = "this is a bug in Tegula: please report it with what TEGULA_PRINT=plan shows"});
    }
  }

  // An output goes where it is stacked; else, being carried on, to the stack of what steps begin with; at the end to the last value.
  void choose_outputs(Run& now, std::int64_t step, std::int64_t t) const {
    const bool last = step + 1 == length_;
    for (std::size_t o = 0; o < now.outputs.size(); ++o) {
      if (stacked_[o] >= 0) now.outputs[o] = stack_slot(now, static_cast<std::size_t>(stacked_[o]), t);
      else if (!last && begins_[o] >= 0) now.outputs[o] = stack_slot(now, static_cast<std::size_t>(begins_[o]), reverse_ ? t - 1 : t + 1);
      else if (last && last_of_[o] >= 0) now.outputs[o] = now.buffers[inputs_.size() + static_cast<std::size_t>(last_of_[o])];
      else now.outputs[o] = in_turn(now, output_places_[o], output_bytes_[o], step);
    }
  }

  void carry_on(Run& now, std::int64_t step) const {
    now.next.assign(now.at.begin(), now.at.begin() + static_cast<std::ptrdiff_t>(carries_));
    for (std::size_t c = 0; c < carries_; ++c) {
      if (!needed_[c]) continue;
      now.next[c] = source(now, c);
      if (!moves(c)) continue;
      std::byte* const to = in_turn(now, carry_places_[c], parameter_bytes_[c], step);
      copy(to, now.next[c], parameter_bytes_[c]);
      now.next[c] = to;
    }
    std::ranges::copy(now.next, now.at.begin());
  }

  runtime::Device& device_;
  std::int64_t length_;
  bool reverse_;
  std::vector<Input> inputs_;
  std::size_t carries_;
  std::vector<bool> wanted_, needed_;  // of the results
  std::vector<std::size_t> parameter_bytes_, result_bytes_;
  std::vector<Source> sources_;  // of the results that are needed
  std::vector<const Node*> output_nodes_;
  std::vector<std::size_t> leaf_parameters_;  // of each leaf of the plan
  KeptValues kept_;
  std::unique_ptr<Executable> plan_;
  std::vector<int> stacked_, begins_, last_of_;  // of each output: the results where it may be written, or -1
  std::vector<std::size_t> output_bytes_, output_places_, carry_places_;
  std::size_t scratch_bytes_ = 0, arena_ = 0;  // of it, where the body's arena begins
  mutable std::uint64_t runs_ = 0;
};

}  // namespace

std::unique_ptr<runtime::Call> prepare_loop(const LoopOp& loop, const std::vector<bool>& wanted, runtime::Device& device) {
  return std::make_unique<LoopCall>(loop, wanted, device);
}

}  // namespace tegula::compile

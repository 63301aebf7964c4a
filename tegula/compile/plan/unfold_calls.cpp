// Calls that consist of several steps (runtime/call_steps.h) become steps of the plan; their temporaries are scratch buffers that these share.

#include <algorithm>
#include <iterator>
#include <utility>

#include "tegula/compile/plan/plan.h"
#include "tegula/runtime/call_steps.h"

namespace tegula::compile {
namespace {

using runtime::StepOperand;

/// Step `number` of a call's. Its temporaries are the scratch buffers from `first` on.
Step step_of(const Plan& plan, const Step& whole, const runtime::CallStep& from, int number, int first) {
  const auto& call = std::get<LibraryCall>(whole.what);
  Step out;
  LibraryCall own;
  own.description = call.description;
  own.item = call.item;
  own.part = {number, call.part.count};
  own.bound = from.call;
  for (const StepOperand& operand : from.operands) {
    own.accesses.push_back(operand.access);
    const double times = operand.access == runtime::Access::Updates ? 2 : 1;
    if (operand.kind == StepOperand::Kind::Temporary) {
      const int scratch = first + operand.index;
      own.buffers.push_back({Reference::Kind::Scratch, scratch, 0, 0});
      if (std::ranges::find(out.scratch, scratch) == out.scratch.end()) out.scratch.push_back(scratch);
      out.bytes += times * static_cast<double>(plan.scratch_bytes[index(scratch)]);
      continue;
    }
    const Reference& buffer = call.buffers[index(operand.index)];
    own.buffers.push_back(buffer);
    if (buffer.kind == Reference::Kind::Nothing) continue;
    (operand.access == runtime::Access::Reads ? out.reads : out.writes).push_back(buffer.index);
    out.bytes += times * static_cast<double>(bytes_of(plan.graph[buffer.index]));
  }
  out.name = from.name;
  out.what = std::move(own);
  out.operations = from.name.empty() ? whole.operations : 0;
  out.guarded = whole.guarded;
  out.origin = whole.origin;
  return out;
}

}  // namespace

void unfold_calls(Plan& plan) {
  std::vector<Step> steps;
  steps.reserve(plan.steps.size());
  for (Step& step : plan.steps) {
    auto* const call = std::get_if<LibraryCall>(&step.what);
    const bool whole = !call || step.checks || step.exchanges || !step.in_place.empty();  // what concerns the call as a whole
    const runtime::CallSteps* const several = whole ? nullptr : call->bound->steps();
    if (!several) {
      steps.push_back(std::move(step));
      continue;
    }
    const auto first = static_cast<int>(plan.scratch_bytes.size());
    plan.scratch_bytes.insert(plan.scratch_bytes.end(), several->temporaries.begin(), several->temporaries.end());
    call->part.count = static_cast<int>(several->steps.size());
    for (int k = 0; k < call->part.count; ++k) steps.push_back(step_of(plan, step, several->steps[index(k)], k, first));
  }
  plan.steps = std::move(steps);
}

}  // namespace tegula::compile

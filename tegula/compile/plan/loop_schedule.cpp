#include "tegula/compile/plan/loop_schedule.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t bytes_of(const Node& node) { return static_cast<std::size_t>(numel(node.shape())) * size_of(node.dtype()); }
std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A carried value is needed when it is asked for, or when a turn reads it for something that is.
void find_needed(const Region& body, LoopSchedule& loop) {
  loop.needed = loop.wanted;
  std::unordered_map<const Node*, std::size_t> carry;
  for (std::size_t c = 0; c < loop.carries; ++c) carry.emplace(body.parameters()[c].get(), c);
  std::unordered_map<const Node*, bool> seen;
  std::vector<const Node*> stack;
  for (std::size_t r = 0; r < loop.needed.size(); ++r)
    if (loop.needed[r]) stack.push_back(body.results()[r].get());
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    if (!seen.emplace(node, true).second) continue;
    if (const auto found = carry.find(node); found != carry.end()) {
      loop.needed[found->second] = true;
      stack.push_back(body.results()[found->second].get());
    }
    for (const auto& input : node->inputs()) stack.push_back(input.get());
  }
}

std::vector<const Node*> find_outputs(const Region& body, LoopSchedule& loop) {
  std::vector<const Node*> outputs;
  std::unordered_map<const Node*, int> parameter, output;
  for (std::size_t p = 0; p < body.parameters().size(); ++p) parameter.emplace(body.parameters()[p].get(), static_cast<int>(p));
  for (std::size_t r = 0; r < loop.needed.size(); ++r) {
    loop.sources.emplace_back();
    if (!loop.needed[r]) continue;
    const Node* const node = body.results()[r].get();
    if (const auto found = parameter.find(node); found != parameter.end()) {
      loop.sources[r].parameter = found->second;
      continue;
    }
    const auto [place, added] = output.emplace(node, static_cast<int>(outputs.size()));
    if (added) {
      outputs.push_back(node);
      loop.output_bytes.push_back(bytes_of(*node));
    }
    loop.sources[r].output = place->second;
  }
  return outputs;
}

// An output goes where it is stacked; else, being carried on, to the stack of what turns begin with; at the end to the last value.
void find_results(LoopSchedule& loop) {
  const std::size_t outputs = loop.output_bytes.size();
  loop.stacked.assign(outputs, -1);
  loop.last_of.assign(outputs, -1);
  loop.begins.assign(outputs, -1);
  const auto set_first = [](int& to, std::size_t result) {
    if (to < 0) to = static_cast<int>(result);
  };
  for (std::size_t r = loop.carries; r < loop.wanted.size(); ++r)
    if (loop.wanted[r] && loop.sources[r].output >= 0) set_first(loop.stacked[static_cast<std::size_t>(loop.sources[r].output)], r);
  for (std::size_t c = 0; c < loop.carries; ++c) {
    if (loop.sources[c].output < 0) continue;
    const auto o = static_cast<std::size_t>(loop.sources[c].output);
    if (loop.wanted[c]) set_first(loop.last_of[o], c);
    for (std::size_t r = loop.carries; r < loop.wanted.size(); ++r)
      if (loop.wanted[r] && loop.sources[r].parameter == static_cast<int>(c)) set_first(loop.begins[o], r);
  }
}

/// The first node below that is no view.
const Node* behind_views(const Node* node) {
  while (node->op().role() == Role::View && !node->inputs().empty()) node = node->inputs()[0].get();
  return node;
}

/// while_loop and cond write their bodies so: a flag that stays false once it is, and values that keep what they are where it is false.
int find_end(const Region& body, const LoopSchedule& loop) {
  if (std::find(loop.wanted.begin() + static_cast<std::ptrdiff_t>(loop.carries), loop.wanted.end(), true) != loop.wanted.end()) return -1;
  const auto parameter = [&](std::size_t c) { return body.parameters()[c].get(); };
  const auto stays_without = [&](std::size_t c, const Node* flag) {
    const Node* const next = body.results()[c].get();
    if (next == parameter(c)) return true;
    if (parameter(c) == flag)
      return next->op().name() == "logical_and" && (next->inputs()[0].get() == flag || next->inputs()[1].get() == flag);
    return next->op().name() == "where" && behind_views(next->inputs()[0].get()) == flag && next->inputs()[2].get() == parameter(c);
  };
  for (std::size_t flag = 0; flag < loop.carries; ++flag) {
    if (!loop.needed[flag] || parameter(flag)->dtype() != DType::boolean || parameter(flag)->shape().rank() != 0) continue;
    bool ends = true;
    for (std::size_t c = 0; ends && c < loop.carries; ++c) ends = !loop.needed[c] || stays_without(c, parameter(flag));
    if (ends) return static_cast<int>(flag);
  }
  return -1;
}

}  // namespace

bool LoopSchedule::moves(std::size_t carry) const {
  const int from = sources[carry].parameter;
  return from >= 0 && from != static_cast<int>(carry) && inputs[static_cast<std::size_t>(from)] == Input::Carry;
}

ScheduledLoop schedule_loop(const LoopOp& loop, const std::vector<bool>& wanted) {
  ScheduledLoop out;
  LoopSchedule& s = out.schedule;
  s.length = loop.form().length, s.reverse = loop.form().reverse, s.inputs = loop.form().inputs, s.carries = loop.carries();
  s.wanted = wanted;
  const Region& body = loop.body();
  for (const auto& parameter : body.parameters()) s.parameter_bytes.push_back(bytes_of(*parameter));
  for (const auto& result : body.results()) s.result_bytes.push_back(bytes_of(*result));
  find_needed(body, s);
  out.outputs = find_outputs(body, s);
  find_results(s);
  s.ends = find_end(body, s);
  return out;
}

void place_values(LoopSchedule& loop, std::size_t arena_bytes) {
  const auto take = [&](std::size_t bytes) { return std::exchange(loop.arena, loop.arena + 2 * aligned(bytes)); };
  for (const std::size_t bytes : loop.output_bytes) loop.output_places.push_back(take(bytes));
  for (std::size_t c = 0; c < loop.carries; ++c) loop.carry_places.push_back(loop.moves(c) ? take(loop.parameter_bytes[c]) : 0);
  loop.scratch_bytes = loop.arena + arena_bytes;
}

LoopTurns::LoopTurns(const LoopSchedule& schedule, std::span<void* const> buffers, std::byte* scratch)
    : loop_(schedule),
      buffers_(buffers),
      scratch_(scratch),
      outputs_(schedule.output_bytes.size()) {
  for (std::size_t p = 0; p < loop_.inputs.size(); ++p) at_.push_back(static_cast<const std::byte*>(buffers_[p]));
}

void LoopTurns::begin(std::int64_t step) {
  const std::int64_t t = slice(step);
  for (std::size_t p = loop_.carries; p < loop_.inputs.size(); ++p)
    if (loop_.inputs[p] == LoopSchedule::Input::Slice)
      at_[p] = static_cast<const std::byte*>(buffers_[p]) + static_cast<std::size_t>(t) * loop_.parameter_bytes[p];
  const bool last = step + 1 == loop_.length;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    if (loop_.stacked[o] >= 0) outputs_[o] = stack_slot(static_cast<std::size_t>(loop_.stacked[o]), t);
    else if (!last && loop_.begins[o] >= 0) outputs_[o] = stack_slot(static_cast<std::size_t>(loop_.begins[o]), slice(step + 1));
    else if (last && loop_.last_of[o] >= 0) outputs_[o] = buffers_[loop_.inputs.size() + static_cast<std::size_t>(loop_.last_of[o])];
    else outputs_[o] = in_turn(loop_.output_places[o], loop_.output_bytes[o], step);
  }
}

std::span<const LoopTurns::Copy> LoopTurns::end(std::int64_t step) {
  copies_.clear();
  for (std::size_t r = loop_.carries; r < loop_.wanted.size(); ++r)
    if (loop_.wanted[r]) copy(stack_slot(r, slice(step)), source(r), loop_.result_bytes[r]);
  next_.assign(at_.begin(), at_.begin() + static_cast<std::ptrdiff_t>(loop_.carries));
  for (std::size_t c = 0; c < loop_.carries; ++c) {
    if (!loop_.needed[c]) continue;
    next_[c] = source(c);
    if (!loop_.moves(c)) continue;
    std::byte* const to = in_turn(loop_.carry_places[c], loop_.parameter_bytes[c], step);
    copy(to, next_[c], loop_.parameter_bytes[c]);
    next_[c] = to;
  }
  std::ranges::copy(next_, at_.begin());
  return copies_;
}

std::span<const LoopTurns::Copy> LoopTurns::finish() {
  copies_.clear();
  for (std::size_t c = 0; c < loop_.carries; ++c)
    if (loop_.wanted[c]) copy(static_cast<std::byte*>(buffers_[loop_.inputs.size() + c]), at_[c], loop_.result_bytes[c]);
  return copies_;
}

std::byte* LoopTurns::stack_slot(std::size_t result, std::int64_t slice) const {
  return static_cast<std::byte*>(buffers_[loop_.inputs.size() + result]) + static_cast<std::size_t>(slice) * loop_.result_bytes[result];
}

const std::byte* LoopTurns::source(std::size_t result) const {
  const LoopSchedule::Source& from = loop_.sources[result];
  return from.output >= 0 ? static_cast<const std::byte*>(outputs_[static_cast<std::size_t>(from.output)])
                          : at_[static_cast<std::size_t>(from.parameter)];
}

std::byte* LoopTurns::in_turn(std::size_t place, std::size_t bytes, std::int64_t step) const {
  return scratch_ + place + (step % 2 == 0 ? 0 : aligned(bytes));
}

void LoopTurns::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) copies_.push_back({to, from, bytes});
}

void check_loop(const LoopSchedule& loop, const std::string& name) {
  // As if all buffers were memory of their own, far from each other.
  constexpr std::uintptr_t kApart = std::uintptr_t{1} << 44;
  const auto far = [](std::size_t i) { return reinterpret_cast<std::byte*>((i + 1) * kApart); };  // NOLINT: never read
  std::vector<void*> buffers;
  for (std::size_t b = 0; b < loop.inputs.size() + loop.wanted.size(); ++b) buffers.push_back(far(b + 1));
  std::byte* const scratch = far(0);
  struct Stretch {
    const std::byte* begin;
    std::size_t bytes;
    bool meets(const Stretch& o) const { return begin < o.begin + o.bytes && o.begin < begin + bytes; }
  };
  LoopTurns turns(loop, buffers, scratch);
  constexpr std::int64_t kAlike = 4;  // places are used in turn: what comes between is like these, but for the last turn
  for (std::int64_t step = 0; step < loop.length; ++step) {
    turns.begin(step);
    if (step < kAlike || step + 1 == loop.length) {
      std::vector<Stretch> reads, writes{{scratch + loop.arena, loop.scratch_bytes - loop.arena}};
      for (std::size_t p = 0; p < loop.inputs.size(); ++p) reads.push_back({turns.parameters()[p], loop.parameter_bytes[p]});
      for (std::size_t o = 0; o < loop.output_bytes.size(); ++o)
        writes.push_back({static_cast<const std::byte*>(turns.outputs()[o]), loop.output_bytes[o]});
      for (std::size_t c = 0; c < loop.carries; ++c)
        if (loop.moves(c)) writes.push_back({scratch + loop.carry_places[c], 2 * aligned(loop.parameter_bytes[c])});
      bool apart = true;
      for (std::size_t w = 0; w < writes.size(); ++w) {
        const bool carried = w > loop.output_bytes.size();  // behind the turn, in the place that is not read in it
        for (const Stretch& read : reads) apart = apart && (carried || !writes[w].meets(read));
        for (std::size_t other = 0; other < w; ++other) apart = apart && !writes[w].meets(writes[other]);
      }
      if (!apart) {
        throw Error({.op = "check_plan",
                     .got = "turn " + std::to_string(step) + " of the loop " + name + ", which writes what it reads",
                     .expected = "places apart",
                     .advice = "this is a bug in Tegula: please report it with what TEGULA_PRINT=plan shows"});
      }
    }
    turns.end(step);
  }
}

}  // namespace tegula::compile

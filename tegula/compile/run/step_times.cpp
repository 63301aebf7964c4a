#include "tegula/compile/run/step_times.h"

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::compile {
namespace {

using runtime::Timeline;
using runtime::TimelineEvent;
using Kind = TimelineEvent::Kind;

/// "all_reduce f32 (163,)", with the bytes of what goes in.
void describe_exchange(const Plan& plan, const Step& step, TimelineEvent& event) {
  const Graph& graph = plan.graph;
  const Item& call = graph[producer_of(graph, step.writes[0])];
  const Item& in = graph[call.inputs[0]];
  const Item& what = numel(in.shape) > 0 ? in : call;  // nothing goes into a receive
  event.name = std::string(call.op->name()) + " " + std::string(name(what.dtype)) + " " + to_string(what.shape);
  event.bytes = static_cast<std::int64_t>(bytes_of(what));
}

}  // namespace

std::unique_ptr<StepTimes> StepTimes::of(runtime::Device& device, const Plan& plan) {
  auto origin = device.time_mark();
  return origin ? std::unique_ptr<StepTimes>(new StepTimes(device, plan, std::move(origin))) : nullptr;
}

StepTimes::StepTimes(runtime::Device& device, const Plan& plan, std::unique_ptr<runtime::TimeMark> origin)
    : device_(device),
      plan_(plan),
      origin_(std::move(origin)) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    begins_.push_back(device.time_mark());
    ends_.push_back(device.time_mark());
  }
}

void StepTimes::around(std::size_t step, runtime::Queue& queue, const std::function<void()>& work) const {
  begins_[step]->set(queue);
  work();
  ends_[step]->set(queue);
}

void StepTimes::begin() {
  device_.synchronize();
  const std::int64_t before = Timeline::now();
  origin_->set(device_.queue());
  device_.synchronize();
  zero_ = before + (Timeline::now() - before) / 2;
}

void StepTimes::end(Timeline& timeline, const std::function<Line(std::size_t)>& where) const {
  device_.synchronize();
  std::vector<TimelineEvent> events;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Step& step = plan_.steps[s];
    TimelineEvent event{.kind = step.is_call() ? Kind::Call : Kind::Program,
                        .name = step.name,
                        .begin = zero_ + begins_[s]->since(*origin_),
                        .end = zero_ + ends_[s]->since(*origin_),
                        .run = timeline.run(),
                        .where = tegula::to_string(where(s))};
    if (step.exchanges && !step.loop()) {  // a loop with some is mostly work
      event.kind = Kind::Exchange;
      event.met = event.begin;  // who came when is known to the device alone
      describe_exchange(plan_, step, event);
    }
    events.push_back(std::move(event));
  }
  for (TimelineEvent& wait : idle_beside_exchanges(events)) events.push_back(std::move(wait));
  std::ranges::stable_sort(events, {}, &TimelineEvent::end);
  for (TimelineEvent& event : events) timeline.add(std::move(event));
}

std::vector<TimelineEvent> idle_beside_exchanges(const std::vector<TimelineEvent>& events) {
  std::vector<const TimelineEvent*> computing;
  for (const TimelineEvent& e : events)
    if (e.kind == Kind::Call || e.kind == Kind::Program) computing.push_back(&e);
  std::ranges::stable_sort(computing, {}, &TimelineEvent::begin);
  std::vector<TimelineEvent> out;
  for (const TimelineEvent& exchange : events) {
    if (exchange.kind != Kind::Exchange) continue;
    std::int64_t at = exchange.met;  // so far it is accounted for
    const auto idle_until = [&](std::int64_t end) {
      if (end > at) out.push_back({.kind = Kind::Wait, .name = "wait", .begin = at, .end = end, .run = exchange.run});
    };
    for (const TimelineEvent* e : computing) {
      if (e->end <= at) continue;
      if (e->begin >= exchange.end) break;
      idle_until(e->begin);
      at = e->end;
    }
    idle_until(exchange.end);
  }
  return out;
}

}  // namespace tegula::compile

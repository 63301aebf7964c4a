#pragma once
// When a device that queues its work did the steps of a plan, for a timeline.

#include <functional>
#include <memory>
#include <vector>

#include "tegula/compile/plan/plan.h"
#include "tegula/core/line.h"
#include "tegula/runtime/time_marks.h"
#include "tegula/runtime/timeline.h"

namespace tegula::compile {

/// A mark in front of each step and one behind it, which wait for what the step waits for: steps that run side by side are seen to.
class StepTimes {
 public:
  /// Null where the device tells no times.
  static std::unique_ptr<StepTimes> of(runtime::Device& device, const Plan& plan);

  /// Puts the step into the queue between its marks, or records it so.
  void around(std::size_t step, runtime::Queue& queue, const std::function<void()>& work) const;
  /// In front of a run: waits until the device has nothing to do, so that its clock and the host's are seen at one moment.
  void begin();
  /// Behind it: waits for the run, and adds its steps as the run's events. Between those of the queue the host's way to the device is not seen.
  /// `where`: the user's line of an exchange.
  void end(runtime::Timeline& timeline, const std::function<Line(std::size_t step)>& where) const;

 private:
  StepTimes(runtime::Device& device, const Plan& plan, std::unique_ptr<runtime::TimeMark> origin);

  runtime::Device& device_;
  const Plan& plan_;
  std::unique_ptr<runtime::TimeMark> origin_;
  std::vector<std::unique_ptr<runtime::TimeMark>> begins_, ends_;  // of each step
  std::int64_t zero_ = 0;  // Timeline::now() at the origin

 public:
  std::unique_ptr<runtime::Recording> recording;  // of a run with these marks, which it needs
};

/// The parts of exchanges during which the rank computed nothing, as wait events. `events`: those of one run.
std::vector<runtime::TimelineEvent> idle_beside_exchanges(const std::vector<runtime::TimelineEvent>& events);

}  // namespace tegula::compile

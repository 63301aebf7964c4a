#pragma once
// Where the time of runs went: a table of steps, the longest first.

#include <span>
#include <string>

#include "tegula/runtime/timeline.h"

namespace tegula::compile {

/// Of the runs of plans in a recording of one process: what each step is (a library call, a fused program), how often one run has it, the milliseconds a run spends
/// in it, its share, and the user's line. Steps of one name and line are one row; what lies between steps is the last one. "" without events.
std::string times_table(std::span<const runtime::TimelineEvent> events);

}  // namespace tegula::compile

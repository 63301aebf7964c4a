#pragma once
// A table of the time of each step over several runs, longest first.

#include <span>
#include <string>

#include "tegula/runtime/timeline.h"

namespace tegula::compile {

/// The table for a process's recorded runs. Columns: the step (a library call, a fused program), its count and milliseconds per run, its share, and the
/// user's line. Steps with the same name and line share a row; the last row is the time between steps. "" without events.
std::string times_table(std::span<const runtime::TimelineEvent> events);

}  // namespace tegula::compile

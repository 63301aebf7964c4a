#pragma once
// The timelines of all ranks in one place: for people with a browser, and as a table.

#include <string>
#include <vector>

#include "tegula/dist/exchange/group.h"
#include "tegula/runtime/timeline.h"

namespace tegula::dist {

/// The events of each rank, in the clock of rank 0.
using Timelines = std::vector<std::vector<runtime::TimelineEvent>>;

/// Rank 0 of the group gets the recordings of all; the others get nothing. All ranks call it. Clocks of other machines are compared over some round trips.
Timelines collect(const runtime::Timeline& own, const Group& group = world());

/// A text for chrome://tracing and ui.perfetto.dev ("Trace Event Format", Google): a process for each rank, with the thread that computes and the exchanges.
std::string chrome_trace(const Timelines& ranks);

/// One collective of a step, over all ranks and runs. Times are medians, in seconds.
struct ExchangeRow {
  int number = 0;  // in the order of the step, from 1 on: of the buckets of a backward pass, theirs
  std::string name, where;
  std::int64_t bytes = 0;
  std::size_t count = 0;
  double coming = 0;  // until all ranks had come
  double seconds = 0;  // from then on
  double waited = 0;  // the part of `seconds` in which the rank did nothing else
  double hidden() const { return seconds > 0 ? 1 - waited / seconds : 0; }
};
/// The rows of runs with exchanges, without the first of each kind, in which memory is touched for the first time.
std::vector<ExchangeRow> exchange_rows(const Timelines& ranks);
/// The share of the exchange time in which the rank also computed: 1 if it never waited; 0 if nothing was exchanged.
double share_hidden(const Timelines& ranks);
/// The rows, and below them the share.
std::string exchange_table(const Timelines& ranks);

}  // namespace tegula::dist

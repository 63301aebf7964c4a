#include "tegula/train/timeline.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "tegula/compile/show/times.h"
#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/io/plot.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/runtime/time_marks.h"

namespace tegula {
namespace {

using runtime::Timeline;
using runtime::TimelineEvent;
using What = TimelineEvent::Kind;

bool is_trace(const std::string& path) { return path.ends_with(".json"); }

/// A run of a plan.
struct Stretch {
  std::int64_t begin = 0, end = 0;
  int exchanges = 0;
};

/// The usual step of rank 0. Exchanges end at the latest after their run's last step.
Stretch usual_step(const std::vector<TimelineEvent>& events) {
  std::map<std::int64_t, Stretch> runs;
  for (const TimelineEvent& e : events) {
    if (e.run == 0) continue;
    const auto [found, is_new] = runs.try_emplace(e.run, Stretch{e.begin, e.end, 0});
    Stretch& run = found->second;
    if (e.kind == What::Exchange) ++run.exchanges;
    run.begin = std::min(run.begin, e.begin), run.end = std::max(run.end, e.end);
  }
  int most = 0;
  for (const auto& [number, run] : runs) most = std::max(most, run.exchanges);
  std::vector<Stretch> alike;
  for (const auto& [number, run] : runs)
    if (run.exchanges == most) alike.push_back(run);
  if (alike.empty()) {
    throw Error({.op = "timeline", .got = "a recording in which nothing was computed", .expected = "steps between its begin and its end"});
  }
  const auto length = [](const Stretch& run) { return run.end - run.begin; };
  std::ranges::stable_sort(alike, {}, length);
  return alike[alike.size() / 2];
}

}  // namespace

TimelineRecorder::TimelineRecorder(std::string path, dist::Group group, Line where)
    : path_(std::move(path)),
      group_(std::move(group)),
      scope_(&timeline_) {
  if (!is_trace(path_) && !path_.ends_with(".png") && !path_.ends_with(".svg")) {
    throw Error({.op = "timeline",
                 .got = "the file " + path_,
                 .expected = "a name that ends in .json (a trace), .png or .svg (a picture)",
                 .where = where});
  }
  if (runtime::Device& device = default_device(); device.traits().queues && !device.time_mark()) {
    throw Error({.op = "timeline",
                 .got = "work on " + device.name() + ", which is queued",
                 .expected = "a device that tells when it came to it",
                 .where = where});
  }
  if (group_.rank() == 0) io::require_writable(path_, "timeline");
}

std::string TimelineRecorder::finish() {
  const runtime::TimelineScope off(nullptr);
  default_device().synchronize();  // exchanges that are still queued come first
  const dist::Timelines ranks = dist::collect(timeline_, group_);
  if (group_.rank() != 0) return "";
  if (is_trace(path_)) {
    const std::string text = dist::chrome_trace(ranks);
    io::write_atomically(path_, std::as_bytes(std::span(text)), "timeline");
  } else {
    io::plot(path_, timeline_picture(ranks));
  }
  std::string told = ranks.size() == 1 ? compile::times_table(ranks[0]) : dist::exchange_table(ranks);
  if (timeline_.count() > Timeline::kMost)
    told += "the first " + std::to_string(Timeline::kMost) + " of " + std::to_string(timeline_.count()) + " events were recorded\n";
  return told;
}

io::Bars timeline_picture(const dist::Timelines& ranks) {
  const Stretch step = usual_step(ranks.at(0));
  io::Bars out{.title = ranks.size() == 1 ? "one step" : "one step of " + std::to_string(ranks.size()) + " ranks",
               .x_label = "milliseconds",
               .rows = {},
               .kinds = {"library calls", "waits for an exchange", "bytes move", "tile programs", "until all ranks have come"},
               .bars = {},
               .group = 2};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    out.rows.push_back("rank " + std::to_string(r) + " computes");
    out.rows.push_back("exchanges");
    int number = 0;
    std::vector<const TimelineEvent*> events;
    for (const TimelineEvent& e : ranks[r])
      if (e.end > step.begin && e.begin < step.end) events.push_back(&e);
    std::ranges::stable_sort(events, {}, [](const TimelineEvent* e) { return e->begin; });
    for (const TimelineEvent* e : events) {
      const auto at = [&](std::int64_t time) { return static_cast<double>(std::clamp(time, step.begin, step.end) - step.begin) * 1e-6; };
      switch (e->kind) {
        case What::Call: out.bars.push_back({2 * r, 0, at(e->begin), at(e->end), e->name.substr(0, e->name.find(' '))}); break;
        case What::Program: out.bars.push_back({2 * r, 3, at(e->begin), at(e->end)}); break;
        case What::Wait: out.bars.push_back({2 * r, 1, at(e->begin), at(e->end), "waits"}); break;
        case What::Exchange:
          out.bars.push_back({2 * r + 1, 4, at(e->begin), at(e->met)});
          out.bars.push_back({2 * r + 1, 2, at(e->met), at(e->end), std::to_string(++number)});
      }
    }
  }
  return out;
}

}  // namespace tegula

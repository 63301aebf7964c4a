#include "tegula/dist/show/timeline.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "tegula/core/json.h"
#include "tegula/dist/exchange/exchange.h"
#include "tegula/dist/exchange/host.h"

namespace tegula::dist {
namespace {

using nlohmann::json;
using runtime::Timeline;
using runtime::TimelineEvent;
using Event = TimelineEvent::Kind;

void transfer(const Group& group, Kind kind, DType dtype, int other, void* memory, std::int64_t count) {
  carry_out(group, {kind, dtype, {count}, Reduction::Sum, other}, memory, memory, nullptr, Line::current());
}

json written(const std::vector<TimelineEvent>& events) {
  json out = json::array();
  for (const TimelineEvent& e : events) out.push_back({static_cast<int>(e.kind), e.name, e.begin, e.end, e.met, e.bytes, e.run, e.where});
  return out;
}

std::vector<TimelineEvent> read(const json& all, std::int64_t ahead) {
  std::vector<TimelineEvent> out;
  for (const json& e : all) {
    const auto time = [&](int i) { return e[static_cast<std::size_t>(i)].get<std::int64_t>() - ahead; };
    out.push_back({.kind = static_cast<Event>(e[0].get<int>()),
                   .name = e[1],
                   .begin = time(2),
                   .end = time(3),
                   .met = time(4),
                   .bytes = e[5],
                   .run = e[6],
                   .where = e[7]});
  }
  return out;
}

/// The time by which another rank's clock is ahead: the answer lies in the middle of the shortest of some round trips (Cristian, 1989). The other rank
/// answers meanwhile.
std::int64_t clock_of(const Group& group, int other) {
  std::int64_t best = 0, shortest = std::numeric_limits<std::int64_t>::max();
  for (int trip = 0; trip < 8; ++trip) {
    std::int64_t theirs = 0;
    const std::int64_t begin = Timeline::now();
    transfer(group, Kind::Send, i64, other, &theirs, 1);
    transfer(group, Kind::Receive, i64, other, &theirs, 1);
    const std::int64_t end = Timeline::now();
    if (end - begin < shortest) shortest = end - begin, best = theirs - (begin + end) / 2;
  }
  return best;
}
void answer(const Group& group) {
  for (int trip = 0; trip < 8; ++trip) {
    std::int64_t mine = 0;
    transfer(group, Kind::Receive, i64, 0, &mine, 1);
    mine = Timeline::now();
    transfer(group, Kind::Send, i64, 0, &mine, 1);
  }
}

bool shares_a_clock(const Group& group) {
  const auto boot = static_cast<std::int64_t>(boot_number());
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  carry_out(group, {Kind::AllGather, i64, {1}}, &boot, all.data(), nullptr, Line::current());
  return std::ranges::all_of(all, [&](std::int64_t other) { return other == boot && boot != 0; });
}

/// The thread of the trace that shows each event: 1 shows exchanges, 0 computation, and 2 and more computation in parallel to that.
std::vector<int> lanes(const std::vector<TimelineEvent>& events) {
  std::vector<std::size_t> order(events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return events[i].begin; });
  std::vector<std::int64_t> ends;  // end of the last event of each lane
  std::vector<int> out(events.size(), 1);
  for (const std::size_t i : order) {
    if (events[i].kind == Event::Exchange) continue;
    const auto free = std::ranges::find_if(ends, [&](std::int64_t end) { return end <= events[i].begin; });
    const auto lane = static_cast<int>(free - ends.begin());
    if (free == ends.end()) ends.push_back(events[i].end);
    else *free = events[i].end;
    out[i] = lane == 0 ? 0 : lane + 1;
  }
  return out;
}

/// Exchanges of one run with one name and line are told apart by their place among them.
struct Occurrence {
  const TimelineEvent* event;
  std::size_t rank;
  std::tuple<std::string, std::string, int> key;
  double waited;  // seconds while bytes moved
};

double overlap_of(const TimelineEvent& wait, const TimelineEvent& exchange) {
  const std::int64_t begin = std::max(wait.begin, exchange.met), end = std::min(wait.end, exchange.end);
  return end > begin ? static_cast<double>(end - begin) * 1e-9 : 0;
}

std::vector<Occurrence> occurrences(const Timelines& ranks) {
  std::vector<Occurrence> out;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<const TimelineEvent*> exchanges, waits;
    for (const TimelineEvent& e : ranks[r]) {
      if (e.kind == Event::Exchange) exchanges.push_back(&e);
      if (e.kind == Event::Wait) waits.push_back(&e);
    }
    const auto earlier = [](const TimelineEvent* a, const TimelineEvent* b) { return a->begin < b->begin; };
    std::ranges::stable_sort(exchanges, earlier);
    std::ranges::stable_sort(waits, earlier);
    std::map<std::tuple<std::int64_t, std::string, std::string>, int> seen;
    std::size_t first = 0;
    for (const TimelineEvent* e : exchanges) {
      while (first < waits.size() && waits[first]->end <= e->met) ++first;  // neither kind meets another of its own
      double waited = 0;
      for (std::size_t w = first; w < waits.size() && waits[w]->begin < e->end; ++w) waited += overlap_of(*waits[w], *e);
      const int place = seen[{e->run, e->name, e->where}]++;
      out.push_back({e, r, {e->name, e->where, place}, waited});
    }
  }
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string text_of_bytes(std::int64_t bytes) {
  char text[32];
  if (bytes < 10'000) std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes));
  else if (bytes < 10'000'000) std::snprintf(text, sizeof text, "%.1f kB", static_cast<double>(bytes) / 1e3);
  else std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

Timelines collect(const Timeline& own, const Group& group) {
  if (group.size() == 1) return {own.events()};
  const std::string text = written(own.events()).dump();
  const bool same_clock = shares_a_clock(group);
  if (group.rank() != 0) {
    if (!same_clock) answer(group);
    auto size = static_cast<std::int64_t>(text.size());
    std::string copy = text;
    transfer(group, Kind::Send, i64, 0, &size, 1);
    transfer(group, Kind::Send, u8, 0, copy.data(), size);
    return {};
  }
  Timelines out{read(parse_json(text, "timeline", "this rank"), 0)};
  for (int r = 1; r < group.size(); ++r) {
    const std::int64_t ahead = same_clock ? 0 : clock_of(group, r);
    std::int64_t size = 0;
    transfer(group, Kind::Receive, i64, r, &size, 1);
    std::string theirs(static_cast<std::size_t>(size), ' ');
    transfer(group, Kind::Receive, u8, r, theirs.data(), size);
    out.push_back(read(parse_json(theirs, "timeline", "rank " + std::to_string(r)), ahead));
  }
  return out;
}

std::string chrome_trace(const Timelines& ranks) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const auto& events : ranks)
    for (const TimelineEvent& e : events) origin = std::min(origin, e.begin);
  std::map<const TimelineEvent*, double> waited;
  for (const Occurrence& o : occurrences(ranks)) waited[o.event] = o.waited;
  std::string out = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  const auto add = [&](const json& event) { out += (out.ends_with("[\n") ? "" : ",\n") + event.dump(); };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto named = [&](const char* what, int thread, const std::string& name) {
      add({{"ph", "M"}, {"name", what}, {"pid", r}, {"tid", thread}, {"args", {{"name", name}}}});
    };
    named("process_name", 0, "rank " + std::to_string(r));
    named("thread_name", 0, "compute");
    named("thread_name", 1, "exchange");
    const std::vector<int> threads = lanes(ranks[r]);
    for (int thread = 2; std::ranges::find(threads, thread) != threads.end(); ++thread)
      named("thread_name", thread, "compute, beside that");
    for (std::size_t i = 0; i < ranks[r].size(); ++i) {
      const TimelineEvent& e = ranks[r][i];
      constexpr const char* kCategories[] = {"call", "program", "exchange", "wait"};
      json event{{"ph", "X"},
                 {"name", e.name},
                 {"cat", kCategories[static_cast<std::size_t>(e.kind)]},
                 {"pid", r},
                 {"tid", threads[i]},
                 {"ts", static_cast<double>(e.begin - origin) * 1e-3},
                 {"dur", static_cast<double>(e.end - e.begin) * 1e-3},
                 {"args", {{"run", e.run}}}};
      if (!e.where.empty()) event["args"]["line"] = e.where;
      if (e.kind == Event::Exchange) {
        const double moving = static_cast<double>(e.end - e.met) * 1e-9;
        event["args"].update({{"bytes", e.bytes},
                              {"until all had come, us", static_cast<double>(e.met - e.begin) * 1e-3},
                              {"GB/s", moving > 0 ? static_cast<double>(e.bytes) / moving * 1e-9 : 0},
                              {"waited for, us", waited[&e] * 1e6}});
      }
      add(event);
    }
  }
  return out + "\n]}\n";
}

std::vector<ExchangeRow> exchange_rows(const Timelines& ranks) {
  struct Times {
    std::vector<double> coming, seconds, waited;
    const TimelineEvent* first = nullptr;
    std::set<std::size_t> ranks;
  };
  std::map<std::tuple<std::string, std::string, int>, Times> all;
  std::vector<decltype(all)::iterator> order;
  for (const Occurrence& o : occurrences(ranks)) {
    const auto [found, is_new] = all.try_emplace(o.key);
    Times& times = found->second;
    if (is_new) times.first = o.event, order.push_back(found);
    if (times.ranks.insert(o.rank).second) continue;  // the first of each rank
    times.coming.push_back(static_cast<double>(o.event->met - o.event->begin) * 1e-9);
    times.seconds.push_back(static_cast<double>(o.event->end - o.event->met) * 1e-9);
    times.waited.push_back(o.waited);
  }
  std::vector<ExchangeRow> rows;
  for (const auto& it : order) {
    const Times& times = it->second;
    if (times.seconds.empty()) continue;
    rows.push_back({.number = static_cast<int>(rows.size()) + 1,
                    .name = times.first->name,
                    .where = times.first->where,
                    .bytes = times.first->bytes,
                    .count = times.seconds.size(),
                    .coming = median(times.coming),
                    .seconds = median(times.seconds),
                    .waited = median(times.waited)});
  }
  return rows;
}

double share_hidden(const Timelines& ranks) {
  double moving = 0, waited = 0;
  for (const Occurrence& o : occurrences(ranks)) {
    moving += static_cast<double>(o.event->end - o.event->met) * 1e-9;
    waited += o.waited;
  }
  return moving > 0 ? 1 - waited / moving : 0;
}

std::string exchange_table(const Timelines& ranks) {
  std::string out;
  const auto rows = exchange_rows(ranks);
  char line[256];
  std::snprintf(line, sizeof line, "%3s  %-34s %9s %7s %9s %9s %8s %8s %7s\n", "", "exchange", "size", "count", "coming ms", "moving ms",
                "GB/s", "waits ms", "hidden");
  out += line;
  for (const ExchangeRow& row : rows) {
    std::snprintf(line, sizeof line, "%3d  %-34s %9s %7zu %9.3f %9.3f %8.2f %8.3f %5.0f %%\n", row.number, row.name.c_str(),
                  text_of_bytes(row.bytes).c_str(), row.count, 1e3 * row.coming, 1e3 * row.seconds,
                  row.seconds > 0 ? static_cast<double>(row.bytes) / row.seconds * 1e-9 : 0, 1e3 * row.waited, 100 * row.hidden());
    out += line;
  }
  std::snprintf(line, sizeof line, "%.0f %% of the time in which bytes moved was hidden behind computing\n", 100 * share_hidden(ranks));
  return out + line;
}

}  // namespace tegula::dist

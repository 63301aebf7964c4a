#include "tegula/compile/show/times.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tegula/core/text_table.h"

namespace tegula::compile {
namespace {

using runtime::TimelineEvent;
using Kind = TimelineEvent::Kind;

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

struct Row {
  std::string name, where;
  std::int64_t calls = 0, nanoseconds = 0;
};

/// One row per kind of step, longest first. Exchanges overlap steps, so only the waits for them are counted.
std::vector<Row> rows_of(std::span<const TimelineEvent> events) {
  std::map<std::pair<std::string, std::string>, Row> all;
  for (const TimelineEvent& e : events) {
    if (e.kind == Kind::Exchange) continue;
    Row& row = all[{e.name, e.where}];
    row.name = e.name, row.where = e.where;
    ++row.calls, row.nanoseconds += e.end - e.begin;
  }
  std::vector<Row> rows;
  for (auto& [key, row] : all) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater{}, &Row::nanoseconds);
  return rows;
}

/// How many runs there are, and their nanoseconds from the first step to the last.
std::pair<double, double> runs_of(std::span<const TimelineEvent> events) {
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> spans;
  for (const TimelineEvent& e : events) {
    const auto [found, is_new] = spans.try_emplace(e.run, e.begin, e.end);
    found->second = {std::min(found->second.first, e.begin), std::max(found->second.second, e.end)};
  }
  double all = 0;
  for (const auto& [run, span] : spans) all += static_cast<double>(span.second - span.first);
  return {static_cast<double>(spans.size()), all};
}

}  // namespace

std::string times_table(std::span<const TimelineEvent> events) {
  constexpr std::size_t kRows = 30;
  std::vector<Row> rows = rows_of(events);
  if (rows.empty()) return "";
  const auto [runs, span] = runs_of(events);
  double steps = 0, calls = 0;
  for (const Row& row : rows) steps += static_cast<double>(row.nanoseconds), calls += static_cast<double>(row.calls);
  const double all = std::max(span, steps);  // a GPU does some beside each other
  if (rows.size() > kRows) {
    Row rest{.name = std::to_string(rows.size() - kRows) + " more", .where = ""};
    for (std::size_t i = kRows; i < rows.size(); ++i) rest.calls += rows[i].calls, rest.nanoseconds += rows[i].nanoseconds;
    rows.resize(kRows);
    rows.push_back(std::move(rest));
  }
  const int digits = all < 1e6 * runs ? 4 : 3;  // of milliseconds
  TextTable table({"step", "calls", "ms", "share", "line"});
  const auto add = [&](const std::string& name, const std::string& count, double nanoseconds, const std::string& where) {
    table.add({name, count, fixed(1e-6 * nanoseconds / runs, digits), all > 0 ? fixed(100 * nanoseconds / all, 1) + " %" : "", where});
  };
  for (const Row& row : rows) {
    const double count = static_cast<double>(row.calls) / runs;
    add(row.name, fixed(count, count == std::floor(count) ? 0 : 1), static_cast<double>(row.nanoseconds), row.where);
  }
  add("between steps", "", all - steps, "");
  return fixed(1e-6 * all / runs, digits) + " ms a run, " + fixed(calls / runs, 0) + " steps; of " + fixed(runs, 0) +
         (runs == 1 ? " run\n" : " runs\n") + table.text(2);
}

}  // namespace tegula::compile

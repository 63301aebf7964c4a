#include "tegula/bench/perf_report.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/text_table.h"
#include "tegula/core/warning.h"
#include "tegula/io/file.h"
#include "tegula/io/plot.h"

namespace tegula {
namespace {

/// A field of a CSV file.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string cell(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text + '\n';
}

std::string x_label(const Benchmark& benchmark) { return benchmark.x_label.empty() ? benchmark.x_names.front() : benchmark.x_label; }

const std::string& name_of(const Benchmark& benchmark, std::size_t line) {
  return benchmark.line_names.empty() ? benchmark.lines[line] : benchmark.line_names[line];
}

void require(const Benchmark& b, const Line& where) {
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "perf_report",
                 .got = got + (b.plot_name.empty() ? "" : " in \"" + b.plot_name + "\""),
                 .expected = expected,
                 .where = where});
  };
  if (b.plot_name.empty() || b.plot_name.find('/') != std::string::npos)
    refuse("the plot_name \"" + b.plot_name + "\"", "a name for its files");
  if (b.x_names.empty() || b.x_values.empty()) refuse("no sizes", "x_names and x_values");
  if (b.lines.empty()) refuse("no lines", "at least one");
  if (!b.line_names.empty() && b.line_names.size() != b.lines.size())
    refuse(std::to_string(b.line_names.size()) + " line_names", std::to_string(b.lines.size()) + ", one for each line");
}

BenchmarkTable measured(const Benchmark& benchmark, const PerfReport::Function& function, const Line& where) {
  const std::size_t lines = benchmark.lines.size();
  std::vector<std::vector<Measured>> points;
  std::vector<bool> bounded(lines);
  for (const double x : benchmark.x_values) {
    std::map<std::string, double> sizes = benchmark.arguments;
    for (const std::string& name : benchmark.x_names) sizes[name] = x;
    auto& row = points.emplace_back();
    for (std::size_t k = 0; k < lines; ++k) {
      const Measured& value = row.emplace_back(function(BenchmarkPoint(sizes, benchmark.lines[k], where)));
      bounded[k] = bounded[k] || value.least != value.value || value.greatest != value.value;
    }
  }
  BenchmarkTable table{.columns = {x_label(benchmark)}, .rows = {}};
  for (std::size_t k = 0; k < lines; ++k) table.columns.push_back(name_of(benchmark, k));
  for (std::size_t k = 0; k < lines; ++k) {
    if (!bounded[k]) continue;
    table.columns.push_back(name_of(benchmark, k) + " (min)");
    table.columns.push_back(name_of(benchmark, k) + " (max)");
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    auto& row = table.rows.emplace_back(1, benchmark.x_values[i]);
    for (const Measured& value : points[i]) row.push_back(value.value);
    for (std::size_t k = 0; k < lines; ++k)
      if (bounded[k]) row.insert(row.end(), {points[i][k].least, points[i][k].greatest});
  }
  return table;
}

void draw(const Benchmark& benchmark, const BenchmarkTable& table, const std::string& path) {
  io::Figure figure{.title = benchmark.plot_name, .x_label = x_label(benchmark), .panels = {{.y_label = benchmark.y_label}}};
  io::Panel& panel = figure.panels[0];
  figure.x_scale = benchmark.x_log ? io::Scale::Log2 : io::Scale::Linear;
  panel.y_scale = benchmark.y_log ? io::Scale::Log10 : io::Scale::Linear;
  panel.from_zero = !benchmark.y_log;
  for (std::size_t k = 0; k < benchmark.lines.size(); ++k) {
    io::Series series{.name = name_of(benchmark, k)};
    for (const auto& row : table.rows) {
      series.x.push_back(row[0]);
      series.y.push_back(row[k + 1]);
    }
    panel.series.push_back(std::move(series));
  }
  try {
    io::plot(path, figure);
  } catch (const Error& error) {  // the measurements are worth more than their picture
    warn("perf_report.picture", error.what());
  }
}

}  // namespace

double BenchmarkPoint::operator[](const std::string& name) const {
  if (const auto found = sizes_.find(name); found != sizes_.end()) return found->second;
  std::string names;
  for (const auto& [known, value] : sizes_) names += (names.empty() ? "" : ", ") + known;
  throw Error({.op = "perf_report", .got = "the size \"" + name + "\"", .expected = "one of " + names, .where = where_});
}

std::string BenchmarkTable::text() const {
  TextTable table(columns);
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const double value : row) cells.push_back(cell(value));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string BenchmarkTable::csv() const {
  std::vector<std::string> names;
  for (const std::string& column : columns) names.push_back(field(column));
  std::string text = joined(names);
  for (const auto& row : rows) {
    std::vector<std::string> values;
    for (const double value : row) values.push_back(number_text(value));
    text += joined(values);
  }
  return text;
}

PerfReport::PerfReport(std::vector<Benchmark> benchmarks, Function function, Line where)
    : benchmarks_(std::move(benchmarks)),
      function_(std::move(function)),
      where_(where) {
  for (const Benchmark& benchmark : benchmarks_) require(benchmark, where);
}

std::vector<BenchmarkTable> PerfReport::run(const ReportOptions& options) const {
  std::vector<BenchmarkTable> tables;
  for (const Benchmark& benchmark : benchmarks_) {
    const BenchmarkTable& table = tables.emplace_back(measured(benchmark, function_, where_));
    if (options.print) {
      std::printf("%s:\n%s", benchmark.plot_name.c_str(), table.text().c_str());
      std::fflush(stdout);
    }
    if (options.folder.empty()) continue;
    io::make_folder(options.folder, "perf_report");
    const std::string path = options.folder + "/" + benchmark.plot_name, csv = table.csv();
    io::write_atomically(path + ".csv", std::as_bytes(std::span(csv)), "perf_report");
    if (!options.picture.empty()) draw(benchmark, table, path + options.picture);
  }
  return tables;
}

PerfReport perf_report(Benchmark benchmark, PerfReport::Function function, Line where) {
  std::vector<Benchmark> one;
  one.push_back(std::move(benchmark));
  return {std::move(one), std::move(function), where};
}
PerfReport perf_report(std::vector<Benchmark> benchmarks, PerfReport::Function function, Line where) {
  return {std::move(benchmarks), std::move(function), where};
}

}  // namespace tegula

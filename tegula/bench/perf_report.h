#pragma once
// Tables and pictures of measurements over a size: Triton's Benchmark and perf_report.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tegula/core/line.h"

namespace tegula {

/// A benchmark: one line of the report for each of `lines`, over the values of one size (or of several together).
struct Benchmark {
  std::vector<std::string> x_names = {};  // {"N"}; several names that share each value: {"M", "N", "K"}
  std::vector<double> x_values = {};
  std::vector<std::string> lines = {};  // passed to the function
  std::vector<std::string> line_names = {};  // names in the report; none: the same
  std::string plot_name = {};  // name of the table, and of its files
  std::string x_label = {};  // empty: the first of x_names
  std::string y_label = {};
  bool x_log = false, y_log = false;
  std::map<std::string, double> arguments = {};  // that stay the same
};

/// A point of a line: sizes by their names, and the line.
class BenchmarkPoint {
 public:
  BenchmarkPoint(std::map<std::string, double> sizes, std::string line, Line where)
      : line(std::move(line)),
        sizes_(std::move(sizes)),
        where_(where) {}
  /// Throws Error for a name that is none.
  double operator[](const std::string& name) const;
  std::string line;

 private:
  std::map<std::string, double> sizes_;
  Line where_;
};

/// A value, perhaps with the least and the greatest.
struct Measured {
  Measured(double value) : value(value), least(value), greatest(value) {}
  Measured(double value, double least, double greatest) : value(value), least(least), greatest(greatest) {}
  double value, least, greatest;
};

struct ReportOptions {
  bool print = true;  // the table, to stdout
  std::string folder = {};  // folder for <plot_name>.csv and the picture; empty: none
  std::string picture = ".png";  // or ".svg", or "" for none. Without gnuplot there is none, and a warning
};

/// Measurements, row by row.
struct BenchmarkTable {
  std::vector<std::string>
      columns;  // the size, the lines; of lines whose values have bounds those behind them: "Tegula (min)", "Tegula (max)"
  std::vector<std::vector<double>> rows;
  std::string text() const;  // aligned
  std::string csv() const;
};

class PerfReport {
 public:
  using Function = std::function<Measured(const BenchmarkPoint&)>;
  PerfReport(std::vector<Benchmark> benchmarks, Function function, Line where);
  /// A table for each benchmark. Throws Error where a file cannot be written.
  std::vector<BenchmarkTable> run(const ReportOptions& options = {}) const;

 private:
  std::vector<Benchmark> benchmarks_;
  Function function_;
  Line where_;
};

/// perf_report({…}, [](const BenchmarkPoint& at) { … return gigabytes / seconds; }).run(). Throws Error for a Benchmark without sizes, lines or a name.
PerfReport perf_report(Benchmark benchmark, PerfReport::Function function, Line where = Line::current());
PerfReport perf_report(std::vector<Benchmark> benchmarks, PerfReport::Function function, Line where = Line::current());

}  // namespace tegula

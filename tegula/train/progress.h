#pragma once
// Shows a running training in its terminal: TrainerOptions::progress, and the commands that train.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tegula/train/trainer.h"

namespace tegula::progress {

/// A line that is redrawn in place in a terminal. Elsewhere (a file, a pipe) it appears every 20 seconds, as a line of its own.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // leaves the terminal on a fresh line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool in_place() const { return terminal_; }
  /// True when the last drawing is old enough for another one.
  bool due() const;
  /// The parts that fit beside each other: those with the lowest rank are left out first.
  struct Segment {
    std::string text;
    int rank;
  };
  void show(const std::vector<Segment>& parts);
  /// Replaces the line for good and begins a new one.
  void finish(const std::string& text);

 private:
  bool terminal_;
  bool open_ = false;
  std::chrono::steady_clock::time_point drawn_;
};

/// A table whose rows come one by one. Columns of the lowest rank are left out where the terminal is too narrow for all; in a file or a pipe none is.
class ProgressTable {
 public:
  struct Column {
    std::string name;
    int rank;
    int width = 0;  // width of its values; at least the name's
  };
  explicit ProgressTable(std::vector<Column> columns);
  ProgressTable(std::vector<Column> columns, int characters);
  std::string heading() const;
  /// One cell for each column.
  std::string row(const std::vector<std::string>& cells) const;

 private:
  std::vector<Column> columns_;
  int characters_;
};

/// The line of a Trainer while it trains, and a row of its table for each epoch.
class EpochTable {
 public:
  /// `rows`: the name of the data's rows, "images"; `metrics`: of TrainerOptions.
  EpochTable(std::string rows, const std::vector<Metric>& metrics);
  void step(const StepReport& report);
  /// The first one prints the heading: it has the record's columns.
  void epoch(const EpochRecord& record);
  /// A line of its own.
  void note(const std::string& text) { line_.finish(text); }

 private:
  std::string rows_;
  std::vector<std::string> metrics_;
  ProgressLine line_;
  std::optional<ProgressTable> table_;
  bool has_accuracy_ = false, has_test_ = false;
};

/// Characters a terminal shows of UTF-8 text (every code point is taken to be one wide).
int display_width(const std::string& text);
/// Characters in a line of the terminal; 80 when there is none.
int terminal_columns();
/// The parts in their order, joined by blanks, without those of the lowest ranks as far as `columns` wants it.
std::string fitted(std::vector<ProgressLine::Segment> parts, int columns);

/// "12 ms", "0.43 s", "8 s", "2 min 05 s", "1 h 03 min".
std::string duration(double seconds);
/// "0:08", "2:05", "1:03:20".
std::string clock(double seconds);
/// "▓▓▓▓░░░░", `share` of `width` characters.
std::string bar(double share, int width);

/// Text by printf's rules.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace tegula::progress

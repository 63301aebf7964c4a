#include "tegula/train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "tegula/core/text.h"

namespace tegula::progress {

using Clock = std::chrono::steady_clock;

ProgressLine::ProgressLine() : terminal_(isatty(STDOUT_FILENO)), drawn_(terminal_ ? Clock::time_point() : Clock::now()) {}

ProgressLine::~ProgressLine() {
  if (open_) std::fputs("\n", stdout);
  std::fflush(stdout);
}

bool ProgressLine::due() const {
  return Clock::now() - drawn_ > (terminal_ ? Clock::duration(std::chrono::milliseconds(100)) : std::chrono::seconds(20));
}

void ProgressLine::show(const std::vector<Segment>& parts) {
  // A line that wraps could not be redrawn.
  const std::string line = fitted(parts, terminal_ ? terminal_columns() - 1 : 1000);
  std::printf(terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stdout);
  open_ = terminal_;
  drawn_ = Clock::now();
}

std::string fitted(std::vector<ProgressLine::Segment> parts, int columns) {
  for (;;) {
    std::string line;
    for (const auto& part : parts) line += (line.empty() ? "" : " ") + part.text;
    if (display_width(line) <= columns || parts.size() < 2) return line;
    parts.erase(std::min_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; }));
  }
}

ProgressTable::ProgressTable(std::vector<Column> columns)
    : ProgressTable(std::move(columns), isatty(STDOUT_FILENO) ? terminal_columns() : 1000) {}
ProgressTable::ProgressTable(std::vector<Column> columns, int characters) : columns_(std::move(columns)), characters_(characters) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].width = std::max(columns_[i].width, static_cast<int>(columns_[i].name.size())) + (i > 0 ? 1 : 0);
}
std::string ProgressTable::heading() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  return row(names);
}
std::string ProgressTable::row(const std::vector<std::string>& cells) const {
  std::vector<ProgressLine::Segment> parts;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    parts.push_back({format("%*s", columns_[i].width, cells.at(i).c_str()), columns_[i].rank});
  return fitted(std::move(parts), characters_);
}

void ProgressLine::finish(const std::string& text) {
  std::printf(terminal_ ? "\r%s\x1b[K\n" : "%s\n", text.c_str());
  std::fflush(stdout);
  open_ = false;
}

EpochTable::EpochTable(std::string rows, const std::vector<Metric>& metrics) : rows_(std::move(rows)) {
  for (const Metric& metric : metrics) metrics_.push_back(metric.name);
}

void EpochTable::step(const StepReport& r) {
  if (!line_.due()) return;
  const double share = static_cast<double>(r.batch) / static_cast<double>(r.batches);
  std::vector<ProgressLine::Segment> parts{
      {format("epoch %lld/%lld", static_cast<long long>(r.epoch), static_cast<long long>(r.epochs)), 9},
      {bar(share, std::clamp(terminal_columns() - 76, 4, 24)), 2},
      {format("%*lld/%lld", static_cast<int>(std::to_string(r.batches).size()), static_cast<long long>(r.batch),
              static_cast<long long>(r.batches)),
       5},
      {format(" loss %.4f", r.mean_loss), 8}};
  if (!std::isnan(r.mean_accuracy)) parts.push_back({format(" %.1f %% right", 100 * r.mean_accuracy), 6});
  parts.push_back({format(" %s %s/s", quantity(r.rows_per_second).c_str(), rows_.c_str()), 3});
  parts.push_back({format(" ETA %s", clock(r.seconds_left).c_str()), 7});
  line_.show(parts);
}

void EpochTable::epoch(const EpochRecord& r) {
  if (!table_) {
    has_accuracy_ = !std::isnan(r.train_accuracy) || !std::isnan(r.test_accuracy);
    has_test_ = !std::isnan(r.test_loss);
    std::vector<ProgressTable::Column> columns{{"epoch", 9}, {"train loss", 7}};
    if (has_accuracy_) columns.push_back({"train accuracy", 4});
    if (has_test_) columns.push_back({"test loss", 5});
    if (has_test_ && has_accuracy_) columns.push_back({"test accuracy", 8});
    for (const std::string& name : metrics_) columns.push_back({name, 5, 8});
    columns.push_back({"time", 6, 8});
    columns.push_back({rows_ + "/s", 3});
    table_.emplace(std::move(columns));
    line_.finish(table_->heading());
  }
  const auto percent = [](double share) { return std::isnan(share) ? std::string("-") : format("%.2f %%", 100 * share); };
  std::vector<std::string> cells{std::to_string(r.epoch), format("%.4f", r.train_loss)};
  if (has_accuracy_) cells.push_back(percent(r.train_accuracy));
  if (has_test_) cells.push_back(format("%.4f", r.test_loss));
  if (has_test_ && has_accuracy_) cells.push_back(percent(r.test_accuracy));
  for (const std::string& name : metrics_) {
    const auto& of = has_test_ ? r.test_metrics : r.train_metrics;
    cells.push_back(of.contains(name) ? format("%.4f", of.at(name)) : "-");
  }
  cells.push_back(duration(r.seconds));
  cells.push_back(quantity(r.rows_per_second));
  line_.finish(table_->row(cells));
}

int display_width(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string duration(double seconds) {
  if (seconds < 0.0995) return format("%.0f ms", 1000 * std::max(0.0, seconds));
  if (seconds < 0.995) return format("%.2f s", std::max(0.0, seconds));
  const std::int64_t whole = std::llround(seconds);
  if (whole < 60) return format("%d s", static_cast<int>(whole));
  if (whole < 3600) return format("%d min %02d s", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
  return format("%d h %02d min", static_cast<int>(whole / 3600), static_cast<int>(whole / 60 % 60));
}

std::string clock(double seconds) {
  const auto whole = static_cast<int>(std::lround(std::clamp(seconds, 0.0, 1e6)));
  if (whole < 3600) return format("%d:%02d", whole / 60, whole % 60);
  return format("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bar(double share, int width) {
  const auto full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < width; ++i) text += i < full ? "█" : "░";
  return text;
}

std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  // The sign of a NaN says nothing.
  std::string result = text;
  for (std::size_t at = result.find("-nan"); at != std::string::npos; at = result.find("-nan", at)) result[at] = ' ';
  return result;
}

}  // namespace tegula::progress

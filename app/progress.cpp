#include "app/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "app/pictures.h"

namespace tegula::app {

using Clock = std::chrono::steady_clock;

ProgressLine::ProgressLine() : terminal_(isatty(STDOUT_FILENO)), drawn_(terminal_ ? Clock::time_point() : Clock::now()) {}

ProgressLine::~ProgressLine() {
  if (open_) std::fputs("\n", stdout);
  std::fflush(stdout);
}

bool ProgressLine::due() const {
  return Clock::now() - drawn_ > (terminal_ ? Clock::duration(std::chrono::milliseconds(100)) : std::chrono::seconds(20));
}

void ProgressLine::show(const std::vector<Part>& parts) {
  // A line that wraps could not be redrawn.
  const std::string line = fitted(parts, terminal_ ? terminal_columns() - 1 : 1000);
  std::printf(terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stdout);
  open_ = terminal_;
  drawn_ = Clock::now();
}

std::string fitted(std::vector<ProgressLine::Part> parts, int columns) {
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
  std::vector<ProgressLine::Part> parts;
  for (std::size_t i = 0; i < columns_.size(); ++i)
    parts.push_back({format("%*s", columns_[i].width, cells.at(i).c_str()), columns_[i].rank});
  return fitted(std::move(parts), characters_);
}

void ProgressLine::finish(const std::string& text) {
  std::printf(terminal_ ? "\r%s\x1b[K\n" : "%s\n", text.c_str());
  std::fflush(stdout);
  open_ = false;
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

}  // namespace tegula::app

#include "app/report.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "app/pictures.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/runtime/device.h"

namespace tegula::app {
namespace {

std::string padded(const std::string& text, int width, bool right) {
  const std::string blanks(static_cast<std::size_t>(std::max(width - display_width(text), 0)), ' ');
  return right ? blanks + text : text + blanks;
}

std::string text_of(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double value = std::get<double>(cell);
  return std::isnan(value) ? "-" : format("%.*f", column.decimals, value * column.factor);
}

}  // namespace

void Report::note(const std::string& key, const std::string& text) {
  notes_.emplace_back(key, text);
  std::printf("%s: %s\n", key.c_str(), text.c_str());
}

void Report::add(std::vector<Cell> row) {
  const auto print = [&](const auto& text_at) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line += (c ? "  " : "") + padded(text_at(c), columns_[c].width, std::holds_alternative<double>(row[c]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
    return display_width(line);
  };
  if (rows_.empty()) {
    std::printf("\n");
    const int width = print([&](std::size_t c) { return columns_[c].heading; });
    std::printf("%s\n", std::string(static_cast<std::size_t>(width), '-').c_str());
  }
  print([&](std::size_t c) { return text_of(row[c], columns_[c]); });
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

std::size_t Report::column(const std::string& key) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].key == key) return c;
  }
  throw Error({.op = "tegula bench", .got = "column " + key, .expected = "one of the table"});
}

std::vector<io::Series> Report::curves(const std::string& x, const std::string& y, const std::vector<std::string>& by) const {
  std::vector<io::Series> series;
  for (const auto& row : rows_) {
    std::string name;
    for (const auto& key : by) name += (name.empty() ? "" : " ") + std::get<std::string>(row[column(key)]);
    auto at = std::find_if(series.begin(), series.end(), [&](const io::Series& one) { return one.name == name; });
    if (at == series.end()) at = series.insert(series.end(), {name, {}, {}});
    at->x.push_back(std::get<double>(row[column(x)]));
    at->y.push_back(std::get<double>(row[column(y)]) * columns_[column(y)].factor);
  }
  return series;
}

void Report::write_json(const std::string& path, const std::vector<Device*>& devices) const {
  using Json = nlohmann::ordered_json;
  Json file{{"benchmark", name_}};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", ::gmtime_r(&now, &utc));
  file["date"] = date;
  for (const auto& [key, text] : notes_) file[key] = text;
  file["devices"] = Json::array();
  for (Device* device : devices) {
    const auto p = device->properties();
    file["devices"].push_back(
        {{"name", device->name()}, {"model", p.model}, {"architecture", p.architecture}, {"processors", p.processors}});
  }
  file["rows"] = Json::array();
  for (const auto& row : rows_) {
    Json object = Json::object();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (const auto* text = std::get_if<std::string>(&row[c])) object[columns_[c].key] = *text;
      else object[columns_[c].key] = std::get<double>(row[c]);
    }
    file["rows"].push_back(std::move(object));
  }
  const std::string text = file.dump(1) + "\n";
  io::write_atomically(path, std::as_bytes(std::span(text.data(), text.size())), "tegula bench");
}

}  // namespace tegula::app

#include "tegula/runtime/tuning.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tegula/core/json.h"
#include "tegula/core/setting.h"

namespace tegula::runtime {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "tegula tuning";
constexpr int kVersion = 1;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// JSON is UTF-8, and paths are any bytes: those beyond ASCII are written as %e9.
std::string escaped(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7F && c != '%') {
      text += c;
      continue;
    }
    char hexadecimal[4];
    std::snprintf(hexadecimal, sizeof hexadecimal, "%%%02x", code);
    text += hexadecimal;
  }
  return text;
}
std::string unescaped(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      bytes += static_cast<char>(code);
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

}  // namespace

std::uint64_t next_moment() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

TuningFile::TuningFile(std::string path, Trust trust) : path_(std::move(path)), trust_(trust) {}

TuningFile::Sections TuningFile::read() const {
  Sections sections;
  const auto text = read_cache_file(path_, trust_);
  if (!text) return sections;
  const json root = try_parse_json(*text);
  if (!root.is_object() || !root.contains(kFormat) || root[kFormat] != kVersion) return sections;
  for (const auto& [section, entries] : root.items()) {
    if (!entries.is_object()) continue;
    for (const auto& [key, entry] : entries.items()) {
      if (!entry.is_object() || !entry.contains("choice") || !entry["choice"].is_string()) continue;
      const auto time = entry.find("microseconds");
      sections[unescaped(section)][unescaped(key)] = {unescaped(entry["choice"].get<std::string>()),
                                                      time != entry.end() && time->is_number() ? time->get<double>() : 0.0, 0};
    }
  }
  return sections;
}

void TuningFile::write() const {
  json root{{kFormat, kVersion}};
  for (const auto& [section, entries] : sections_) {
    json& to = root[escaped(section)] = json::object();
    for (const auto& [key, entry] : entries) to[escaped(key)] = {{"choice", escaped(entry.choice)}, {"microseconds", entry.microseconds}};
  }
  write_cache_file(path_, root.dump(1) + "\n");
}

/// Call with the mutex held, like look.
void TuningFile::load() {
  if (!loaded_ && !path_.empty()) sections_.merge(read());
  loaded_ = true;
}

TuningFile::Entry* TuningFile::look(const std::string& section, const std::string& key) {
  load();
  for (Sections* const sections : {&brought_, &sections_}) {
    const auto entries = sections->find(section);
    if (entries == sections->end()) continue;
    const auto entry = entries->second.find(key);
    if (entry == entries->second.end()) continue;
    entry->second.asked = next_moment();
    return &entry->second;
  }
  return nullptr;
}

bool TuningFile::knows(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  load();
  const auto has = [&](const auto& section) { return section.second.contains(key); };
  return std::ranges::any_of(brought_, has) || std::ranges::any_of(sections_, has);
}

bool TuningFile::knows_some(std::string_view beginning) {
  const std::scoped_lock lock(mutex_);
  load();
  const auto has = [&](const auto& section) {
    const auto first = section.second.lower_bound(std::string(beginning));
    return first != section.second.end() && first->first.starts_with(beginning);
  };
  return std::ranges::any_of(brought_, has) || std::ranges::any_of(sections_, has);
}

std::optional<std::string> TuningFile::find(const std::string& section, const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const Entry* const entry = look(section, key);
  return entry ? std::optional(entry->choice) : std::nullopt;
}

std::optional<double> TuningFile::microseconds(const std::string& section, const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const Entry* const entry = look(section, key);
  return entry && entry->microseconds > 0 ? std::optional(entry->microseconds) : std::nullopt;
}

void TuningFile::store(const std::string& section, const std::string& key, const std::string& choice, double microseconds) {
  const std::scoped_lock lock(mutex_);
  if (const auto brought = brought_.find(section); brought != brought_.end()) brought->second.erase(key);
  sections_[section][key] = {choice, microseconds, next_moment()};
  if (path_.empty()) return;
  const CacheLock alone(path_);
  for (auto& [name, entries] : read()) sections_[name].merge(entries);  // entries known here win
  loaded_ = true;
  write();
}

void TuningFile::bring(const Findings::Choice& choice) {
  const std::scoped_lock lock(mutex_);
  brought_[choice.section][choice.key] = {choice.choice, choice.microseconds, 0};
}

std::vector<Findings::Choice> TuningFile::since(std::uint64_t moment) {
  const std::scoped_lock lock(mutex_);
  std::vector<Findings::Choice> out;
  for (const Sections* const sections : {&brought_, &sections_}) {
    for (const auto& [section, entries] : *sections) {
      for (const auto& [key, entry] : entries)
        if (entry.asked > moment) out.push_back({section, key, entry.choice, entry.microseconds});
    }
  }
  return out;
}

TuningFile& tuning_file() {
  static auto* file = [] {
    if (const std::string own = environment("TEGULA_TUNING_FILE"); !own.empty()) return new TuningFile(own, Trust::Any);
    const auto folder = cache_folder();
    return new TuningFile(folder ? (*folder / "tuning.json").string() : std::string(), Trust::Owner);
  }();
  return *file;
}

bool tuning_enabled() {
  static const bool enabled = environment("TEGULA_TUNE") != "0";
  return enabled;
}

CallChoice call_choice() {
  const auto word = word_set("TEGULA_TUNE", {"0", "1", "all", "tiles"}, "jit");
  if (!word) return CallChoice::Remembered;
  constexpr CallChoice choices[] = {CallChoice::Library, CallChoice::Remembered, CallChoice::Measured, CallChoice::Tiles};
  return choices[*word];
}

}  // namespace tegula::runtime

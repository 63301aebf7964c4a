#include "tegula/cuda/compiler/tuning.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "tegula/core/json.h"
#include "tegula/cuda/compiler/brought_code.h"
#include "tegula/cuda/compiler/nvrtc.h"

namespace tegula::gpu {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "tegula tuning";
constexpr int kVersion = 1;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// What decides which file the loader finds.
std::string places() {
  std::string text;
  for (const char* name : {"LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME"}) text += (text.empty() ? "" : " ") + environment(name);
  return text;
}

/// "<version> <size> <time> <path>" of a file as it is now; nothing when it cannot be looked at.
std::optional<std::string> identity(const std::string& path, const std::string& version) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return std::nullopt;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  return version + " " + std::to_string(size) + " " + std::to_string(time.time_since_epoch().count()) + " " + path;
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

TuningFile& libraries() {
  static auto* file = [] {
    const auto folder = cache_folder();
    return new TuningFile(folder ? (*folder / "libraries.json").string() : std::string(), Trust::Owner);
  }();
  return *file;
}

}  // namespace

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

/// With the mutex held, like look.
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
  for (auto& [name, entries] : read()) sections_[name].merge(entries);  // what is known here stays
  loaded_ = true;
  write();
}

void TuningFile::bring(const runtime::Findings::Choice& choice) {
  const std::scoped_lock lock(mutex_);
  brought_[choice.section][choice.key] = {choice.choice, choice.microseconds, 0};
}

std::vector<runtime::Findings::Choice> TuningFile::since(std::uint64_t moment) {
  const std::scoped_lock lock(mutex_);
  std::vector<runtime::Findings::Choice> out;
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

std::optional<int> known_version(const std::string& library) {
  const auto known = libraries().find(library, places());
  if (!known) return std::nullopt;
  std::size_t path = 0;
  for (int word = 0; word < 3 && path != std::string::npos; ++word) path = known->find(' ', path == 0 ? 0 : path + 1);
  if (path == std::string::npos || identity(known->substr(path + 1), known->substr(0, known->find(' '))) != known) return std::nullopt;
  int version = 0;
  const auto [end, error] = std::from_chars(known->data(), known->data() + known->size(), version);
  return error == std::errc() && *end == ' ' ? std::optional(version) : std::nullopt;
}

void remember_version(const std::string& library, const void* symbol, int version) {
  if (known_version(library) == version) return;
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || !info.dli_fname) return;
  if (const auto found = identity(info.dli_fname, std::to_string(version))) libraries().store(library, places(), *found, 0);
}

bool tuning_enabled() {
  static const bool enabled = environment("TEGULA_TUNE") != "0";
  return enabled;
}

}  // namespace tegula::gpu

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tegula/cuda/compiler/tuning.h"

namespace tegula::gpu {
namespace {

using runtime::cache_folder, runtime::Trust;

/// The environment variables that decide which file the loader finds.
std::string places() {
  std::string text;
  for (const char* name : {"LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME"}) {
    const char* const value = std::getenv(name);
    text += (text.empty() ? "" : " ") + std::string(value ? value : "");
  }
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

TuningFile& libraries() {
  static auto* file = [] {
    const auto folder = cache_folder();
    return new TuningFile(folder ? (*folder / "libraries.json").string() : std::string(), Trust::Owner);
  }();
  return *file;
}

}  // namespace

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

}  // namespace tegula::gpu

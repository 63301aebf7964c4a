#pragma once
// The tuning file: which algorithm was the fastest for a call on a card, and which constants for a tile kernel on any device, so that it is measured once and
// not in every process.
//
// Readable JSON, one object per card and library version, in it one line per call:
//   {"tegula tuning": 1, "NVIDIA H200, cuBLASLt 130100": {"matmul f32 …": {"choice": "…", "microseconds": 4.1}}}
// Files of several machines can be merged by hand or by script. A file that cannot be read, or not be trusted (cache_file.h), is as good as none.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/runtime/cache_file.h"
#include "tegula/runtime/findings.h"

namespace tegula::runtime {

/// Increases at every call: a later request has a greater number.
std::uint64_t next_moment();

class TuningFile {
 public:
  /// `path` may name a file that does not exist yet. An empty path remembers within the process only.
  explicit TuningFile(std::string path, Trust trust = Trust::Owner);

  /// The choice stored for `key` under `section` ("<card>, <library version>"), or nothing.
  std::optional<std::string> find(const std::string& section, const std::string& key);
  /// The time that the choice took; nothing where it is not known, or was not possible.
  std::optional<double> microseconds(const std::string& section, const std::string& key);
  /// True if some section has the key.
  bool knows(const std::string& key);
  /// True if some section has a key that begins so.
  bool knows_some(std::string_view beginning);
  /// Remembers the choice and rewrites the file, with the entries that other processes have added meanwhile. A file that cannot be written is
  /// no error: the choice holds for this process.
  void store(const std::string& section, const std::string& key, const std::string& choice, double microseconds);

  /// Adds a choice that takes precedence over stored ones, until something is stored for its key. Not written.
  void bring(const Findings::Choice& choice);
  /// The choices found or stored since next_moment() returned `moment`.
  std::vector<Findings::Choice> since(std::uint64_t moment);

  const std::string& path() const { return path_; }

 private:
  struct Entry {
    std::string choice;
    double microseconds = 0;
    std::uint64_t asked = 0;  // the moment
  };
  using Sections = std::map<std::string, std::map<std::string, Entry>>;
  Sections read() const;
  Entry* look(const std::string& section, const std::string& key);
  void load();
  void write() const;

  std::string path_;
  Trust trust_;
  std::mutex mutex_;
  bool loaded_ = false;
  Sections sections_, brought_;
};

/// The file of this user: TEGULA_TUNING_FILE, else tuning.json in the cache directory.
TuningFile& tuning_file();

/// True if algorithms are measured. With TEGULA_TUNE=0 the library's own guess is taken, and nothing is remembered.
bool tuning_enabled();

/// The program that computes a call which both the device's library and tile programs compute (graph/in_tiles.h); TEGULA_TUNE at that moment.
enum class CallChoice : std::uint8_t {
  Remembered,  // as the tuning file says, and the library where it says nothing
  Measured,  // "all": what is not in the file is measured, by all programs and by the library
  Library,  // "0"
  Tiles,  // "tiles": the first program, for tests and comparisons
};
/// Throws Error for another word.
CallChoice call_choice();

}  // namespace tegula::runtime

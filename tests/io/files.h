#pragma once
// Shared by the tests of readers and writers: a scratch folder, bytes from text, the message of an error, the shared data sets.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tests/support/source_folder.h"

namespace tegula::testing {

/// An empty folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  /// The number of files in it.
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()); }

 private:
  std::string path_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// what() of the tegula::Error that f throws; "" when it throws none.
template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  return "";
}

/// The most memory this process has had so far, in bytes.
inline long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/// The folder of data sets shared by all checkouts: TEGULA_DATA, or ../shared/data seen from the sources. Empty when there is none.
inline std::string shared_data() {
  const char* set = std::getenv("TEGULA_DATA");
  const std::string path = set ? set : source_folder() + "/../shared/data";
  return std::filesystem::is_directory(path) ? path : "";
}

}  // namespace tegula::testing

/// Fails unless `statement` throws tegula::Error whose message contains `part`.
#define EXPECT_ERROR(statement, part)                                                                 \
  do {                                                                                                \
    const std::string message = ::tegula::testing::message_of([&] { static_cast<void>(statement); }); \
    EXPECT_NE(message.find(part), std::string::npos) << "message: " << message;                       \
  } while (false)

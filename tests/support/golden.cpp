#include "tests/support/golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "tests/support/source_folder.h"

namespace tegula::test {
namespace {

[[maybe_unused]] std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first lines that differ.
[[maybe_unused]] std::string difference(const std::string& got, const std::string& expected) {
  std::istringstream a(got), b(expected);
  std::string x, y, text;
  for (int line = 1, shown = 0; shown < 10; ++line) {
    const bool more_a = static_cast<bool>(std::getline(a, x)), more_b = static_cast<bool>(std::getline(b, y));
    if (!more_a && !more_b) break;
    if (!more_a) x.clear();
    if (!more_b) y.clear();
    if (more_a && more_b && x == y) continue;
    text += std::to_string(line) + "\n- " + y + "\n+ " + x + "\n";
    ++shown;
  }
  return text;
}

}  // namespace

std::string with_figures(const gpu::Generated& code) {
  return code.source + "// " + std::to_string(code.threads) + " threads, cluster of " + std::to_string(code.cluster) + ", " +
         std::to_string(code.shared_bytes) + " bytes shared\n\n";
}

::testing::AssertionResult is_golden(const std::string& name, std::string text) {
  text = std::regex_replace(text, std::regex("_[0-9a-f]{16}\\b"), "");
  if (text.empty()) return ::testing::AssertionFailure() << "no text for " << name;
  const std::filesystem::path path = std::filesystem::path(source_folder()) / "tests" / "golden" / (name + ".cu");
  if (std::getenv("TEGULA_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
#ifdef __clang__
  return ::testing::AssertionSuccess();
#else
  const std::string expected = read(path);
  if (text == expected) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << difference(text, expected) << "TEGULA_UPDATE_GOLDEN=1 writes " << path;
#endif
}

}  // namespace tegula::test

#include "tegula/core/line.h"

#include <mutex>
#include <unordered_set>

namespace tegula {
namespace {

// Texts that Lines point to. The set is never destroyed, for errors that static objects throw when the program ends.
const char* kept(std::string_view text) {
  static std::mutex mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return texts.emplace(text).first->c_str();
}

}  // namespace

Line::Line(std::string_view file, std::uint32_t line, std::string_view name) : file_(kept(file)), name_(kept(name)), line_(line) {}

std::string to_string(const Line& where) {
  if (!where.known()) return "";
  if (where.line() == 0) return std::string(where.file_name()) + ", node " + where.function_name();
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

}  // namespace tegula

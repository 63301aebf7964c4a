#include "tegula/simt/kernel/name.h"

#include <charconv>
#include <mutex>
#include <unordered_set>

namespace tegula::simt {

namespace {

const char* kept(const std::string& text) {
  static std::mutex mutex;
  static std::unordered_set<std::string> all;
  const std::lock_guard lock(mutex);
  return all.insert(text).first->c_str();
}

}  // namespace

Name::Name(const std::string& text) : letters_(kept(text)) {}

void Name::append_to(std::string& out) const {
  out += letters_;
  if (number_ == kNone) return;
  char digits[12];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number_).ptr);
}

std::string Name::str() const {
  std::string text;
  append_to(text);
  return text;
}

}  // namespace tegula::simt

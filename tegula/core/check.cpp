#include "tegula/core/check.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

#include "tegula/core/warning.h"

namespace tegula {
namespace {

constexpr std::array<std::string_view, 5> kNames{"jit", "plan", "memory", "nan", "tile"};  // in the order of Check

std::atomic<bool (*)(Check)> asked = nullptr;  // ask_for_checks

std::uint32_t bit(std::size_t check) { return std::uint32_t{1} << check; }

std::atomic<std::uint32_t>& named() {
  static std::atomic<std::uint32_t> checks = [] {
    const char* list = std::getenv("TEGULA_CHECK");
    return parse_checks(list ? list : "", [](std::string_view word) {
      warn("check.unknown", "TEGULA_CHECK has the word " + std::string(word) + ", which is none of jit, plan, memory, nan, tile");
    });
  }();
  return checks;
}

}  // namespace

std::uint32_t parse_checks(std::string_view list, void (*unknown)(std::string_view word)) {
  std::uint32_t named = 0;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    bool known = word.empty();
    for (std::size_t check = 0; check < kNames.size(); ++check) {
      if (word != kNames[check]) continue;
      named |= bit(check);
      known = true;
    }
    if (!known) unknown(word);
  }
  return named;
}

bool checking(Check check) {
  bool (*const program)(Check) = asked;
  return program ? program(check) : (named() & bit(static_cast<std::size_t>(check))) != 0;
}

void ask_for_checks(bool (*program)(Check check)) { asked = program; }

void set_checking(Check check, bool on) {
  const std::uint32_t one = bit(static_cast<std::size_t>(check));
  if (on) named() |= one;
  else named() &= ~one;
}

}  // namespace tegula

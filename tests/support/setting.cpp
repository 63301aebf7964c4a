#include "tests/support/setting.h"

#include <cstdlib>

namespace tegula::test {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace tegula::test

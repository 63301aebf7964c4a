#pragma once
// Settings of a test program from its environment.

#include <cstdint>

namespace tegula::test {

/// The number that the environment variable holds; `otherwise` if it is not set or empty.
std::uint64_t number_of(const char* variable, std::uint64_t otherwise);

}  // namespace tegula::test

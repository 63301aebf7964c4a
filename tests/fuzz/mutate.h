#pragma once
// Damage for the tests of file readers: the same inputs in every run.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "tegula/data/random_stream.h"

namespace tegula::testing {

/// A changed copy of `seed`; the same for the same `index`. One to four changes: bits, bytes, cuts, repetitions, and the readers' worst
/// case, lengths: 32- and 64-bit words of either byte order and decimal numbers set to extreme values.
inline std::string mutate(std::string_view seed, std::uint64_t index) {
  constexpr std::uint64_t kExtreme[] = {0,          1,          0x7f,       0xff,       0x7fffffff, 0x80000000,    0xffffffff,
                                        1ull << 32, 1ull << 40, 1ull << 61, 1ull << 62, ~0ull >> 1, ~(~0ull >> 1), ~0ull};
  data::RandomStream random(0x66757a7a, index);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(bound))); };
  std::string text(seed);
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    if (text.empty()) return text;
    const std::size_t at = below(below(2) ? text.size() : std::min<std::size_t>(text.size(), 24));  // headers come first
    std::uint64_t value = kExtreme[below(std::size(kExtreme))];
    if (below(4) == 0) value = text.size() + below(5) - 2;  // off by little
    switch (below(7)) {
      case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
      case 1: text[at] = static_cast<char>(random.word()); break;
      case 2: text.resize(at); break;
      case 3: text.insert(at, text.substr(below(text.size()), 1 + below(16))); break;
      case 4: text.erase(at, 1 + below(8)); break;
      case 5: {
        const std::size_t width = below(2) ? 4 : 8;
        const bool big_endian = below(2);
        for (std::size_t i = 0; i < width && at + i < text.size(); ++i) {
          text[at + i] = static_cast<char>(value >> 8 * (big_endian ? width - 1 - i : i));
        }
        break;
      }
      default: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = std::min(text.find_first_not_of("0123456789", digit), text.size());
        text.replace(digit, end - digit, std::to_string(value));
      }
    }
  }
  return text;
}

}  // namespace tegula::testing

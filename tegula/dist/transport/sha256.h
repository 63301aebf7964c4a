#pragma once
// SHA-256 (FIPS 180-4) and HMAC (RFC 2104): a rank proves that it knows the run's secret without sending it.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::dist {

using Digest = std::array<std::uint8_t, 32>;
Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view message);
/// Lower case, two digits a byte.
std::string hex(std::string_view bytes);

}  // namespace tegula::dist

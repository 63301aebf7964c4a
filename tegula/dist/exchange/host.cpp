#include "tegula/dist/exchange/host.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "tegula/core/fnv_hash.h"
#include "tegula/core/setting.h"

namespace tegula::dist {
namespace {

/// A number of the text, never 0 but for an empty text.
std::uint64_t number_of(std::string_view text) {
  if (text.empty()) return 0;
  FnvHash hash;
  for (const char c : text) hash.add(static_cast<unsigned char>(c));
  return hash.value() | 1;
}

std::string boot() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return text;
}

}  // namespace

std::uint64_t boot_number() { return number_of(boot()); }

std::uint64_t host_number() {
  if (word_set("TEGULA_RINGS", {"levels", "flat"}, "dist").value_or(0) == 1) return 0;
  std::array<char, 64> network{};
  const auto length = ::readlink("/proc/self/ns/net", network.data(), network.size());
  const std::string text = boot();
  return text.empty() || length <= 0 ? 0 : number_of(text + std::string(network.data(), static_cast<std::size_t>(length)));
}

}  // namespace tegula::dist

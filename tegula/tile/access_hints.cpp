#include "tegula/tile/access_hints.h"

namespace tegula::tile {

std::string to_string(const AccessHints& hints) {
  static constexpr const char* kCaches[] = {"", "ca", "cg", "cv", "wb", "cs", "wt", "bulk"};
  static constexpr const char* kEvictions[] = {"", "evict_first", "evict_last", ""};
  std::string text;
  for (const char* word : {kCaches[static_cast<std::size_t>(hints.cache_modifier)],
                           kEvictions[static_cast<std::size_t>(hints.eviction_policy)], hints.is_volatile ? "volatile" : ""})
    if (*word != '\0') text += (text.empty() ? "" : " ") + std::string(word);
  return text;
}

}  // namespace tegula::tile

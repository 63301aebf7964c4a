#include "tegula/text/tokens/precompiled.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::text {
namespace {

/// A node of the double array: a child by `label` is at its own position ^ offset ^ label, the value of a text that ends at a node at its position ^ offset.
struct Unit {
  std::uint32_t bits = 0;

  bool ends() const { return ((bits >> 8) & 1) != 0; }
  std::uint32_t value() const { return bits & 0x7FFFFFFF; }
  std::uint32_t label() const { return bits & 0x800000FF; }  // a value's is no byte
  std::uint32_t offset() const { return (bits >> 10) << ((bits & 0x200) >> 6); }
};

struct Rules {
  std::vector<Unit> trie;
  std::string replacements;

  struct Match {
    std::size_t bytes = 0;  // 0: no rule
    std::string_view by = {};
  };
  Match longest(std::string_view text) const {
    Match match;
    if (trie.empty()) return match;
    std::uint32_t at = trie[0].offset();
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      at ^= byte;
      if (at >= trie.size() || trie[at].label() != byte) break;
      const bool ends = trie[at].ends();
      at ^= trie[at].offset();
      if (!ends) continue;
      if (at >= trie.size() || trie[at].value() >= replacements.size()) break;
      match = {i + 1, replacements.data() + trie[at].value()};
    }
    return match;
  }
};

Rules rules_of(std::string_view map, std::string_view op, std::string_view name) {
  Rules rules;
  if (map.empty()) return rules;
  std::uint32_t size = 0;
  if (map.size() >= sizeof size) std::memcpy(&size, map.data(), sizeof size);
  const std::size_t left = map.size() < sizeof size ? 0 : map.size() - sizeof size;
  if (size == 0 || size % sizeof(Unit) != 0 || size >= left || map.back() != '\0') {
    throw Error({.op = std::string(op),
                 .got = std::string(name) + ": rules of normalisation with a trie of " + std::to_string(size) + " in " +
                        std::to_string(map.size()) + " bytes",
                 .expected = "the size of a trie, the trie, and texts that end with zeros",
                 .advice = "the file is damaged"});
  }
  rules.trie.resize(size / sizeof(Unit));
  std::memcpy(rules.trie.data(), map.data() + sizeof size, size);
  rules.replacements = map.substr(sizeof size + size);
  return rules;
}

}  // namespace

Normalizer precompiled_normalizer(std::string_view map, std::string_view op, std::string_view name, std::vector<std::string> kept) {
  std::erase(kept, "");
  std::stable_sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return [rules = std::make_shared<const Rules>(rules_of(map, op, name)), kept = std::move(kept)](const std::string& text) {
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
      const auto keep = std::find_if(kept.begin(), kept.end(), [&](const std::string& one) { return rest.starts_with(one); });
      const Rules::Match match = keep != kept.end() ? Rules::Match{keep->size(), *keep} : rules->longest(rest);
      if (match.bytes > 0) {
        out += match.by;
        rest.remove_prefix(match.bytes);
      } else {
        const auto character = front_character(rest);
        append_utf8(out, character.code);
        rest.remove_prefix(character.bytes);
      }
    }
    return out;
  };
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int six = c >= 'A' && c <= 'Z'   ? c - 'A'
                    : c >= 'a' && c <= 'z' ? c - 'a' + 26
                    : c >= '0' && c <= '9' ? c - '0' + 52
                    : c == '+'             ? 62
                    : c == '/'             ? 63
                                           : -1;
    if (six < 0) return {};
    bits = bits << 6 | static_cast<std::uint32_t>(six);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

}  // namespace tegula::text

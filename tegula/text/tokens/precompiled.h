#pragma once
// Rules of normalisation that a model's file brings itself: SentencePiece's precompiled_charsmap, "Precompiled" in a tokenizer.json.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/text/tokens/normalizer.h"

namespace tegula::text {

/// Replaces at each position the longest text that has a rule by the rule's text; other characters stay, and bytes that are no UTF-8 become U+FFFD. Texts of
/// `kept` stay, too, before any rule. `map`: the size of a trie in bytes (u32), the trie as Darts-clone's double array (u32 each; Yata et al., "A compact static
/// double-array keeping character codes", 2007), then the replacements, each with a zero behind it. An empty one has no rules. Throws Error in the name of
/// `op`, naming `name`, for another form.
Normalizer precompiled_normalizer(std::string_view map, std::string_view op, std::string_view name, std::vector<std::string> kept = {});

/// Bytes of base64 (RFC 4648); nothing where the text is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tegula::text

#pragma once
// JSON from files and other processes. Not included by other headers: nlohmann's takes long to compile.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tegula {

/// Lists and objects within each other, at most: nlohmann's dump, copy and comparison recurse, and a file must not choose how deep.
inline constexpr int kDeepestJson = 200;

/// The value that `text` spells. Throws Error in the name of `op`, with the file's name and the position, for text that is no JSON or nests deeper than
/// kDeepestJson.
nlohmann::json parse_json(std::string_view text, std::string_view op, std::string_view name);
/// The same without exceptions: a text that is no JSON, or too deep, gives a value that is_discarded().
nlohmann::json try_parse_json(std::string_view text);

/// A value as a message shows it: its JSON in ASCII, cut to about `most` characters, without deeply nested values. The time is in proportion to the output.
std::string shown(const nlohmann::json& value, std::size_t most = 80);

}  // namespace tegula

#pragma once
// What the readers of JSON vocabularies share. Not included by other headers: nlohmann's takes long to compile.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::text {

/// Throws Error, with the place, for text that is no JSON.
nlohmann::json parse_json(std::string_view text, std::string_view name);
/// The tokens of {"token": number, …} by number; numbers that are not there are empty tokens. Throws Error for anything else, two tokens of one number, and
/// numbers far above the number of tokens.
std::vector<std::string> tokens_of(const nlohmann::json& json, std::string_view op, std::string_view name);

}  // namespace tegula::text

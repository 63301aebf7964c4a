#pragma once
// Shared by the readers of JSON vocabularies. Not included by other headers: nlohmann's takes long to compile.

#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/json.h"

namespace tegula::text {

/// The tokens of {"token": number, …} by number; numbers that are not there are empty tokens. Throws Error for anything else, two tokens of one number, and
/// numbers far above the number of tokens.
std::vector<std::string> tokens_of(const nlohmann::json& json, std::string_view op, std::string_view name);

}  // namespace tegula::text

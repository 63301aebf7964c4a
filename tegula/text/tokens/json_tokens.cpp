#include "tegula/text/tokens/json_tokens.h"

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"

namespace tegula::text {

std::vector<std::string> tokens_of(const nlohmann::json& json, std::string_view op, std::string_view name) {
  const auto refuse = [&](std::string got, std::string expected) {
    throw Error({.op = std::string(op), .got = std::string(name) + ": " + std::move(got), .expected = std::move(expected)});
  };
  if (!json.is_object() || json.empty()) refuse("a vocabulary that is no object", "{\"token\": number, …}");
  const std::size_t most = 2 * json.size() + 1000;  // a few gaps are usual, memory for any number is not
  std::vector<std::string> tokens;
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= most)
      refuse("the token '" + printable(token.substr(0, 80)) + "' with " + shown(id, 40), "a number from 0, few of which are left out");
    const auto at = static_cast<std::size_t>(id.get<std::uint64_t>());
    if (at >= tokens.size()) tokens.resize(at + 1);
    if (!tokens[at].empty())
      refuse("the number " + std::to_string(at) + " for '" + printable(tokens[at].substr(0, 80)) + "' and '" +
                 printable(token.substr(0, 80)) + "'",
             "a number for each token");
    tokens[at] = token;
  }
  return tokens;
}

}  // namespace tegula::text

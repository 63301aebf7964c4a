#include "tegula/core/json.h"

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula {
namespace {

using nlohmann::json;

/// The position of the first bracket that nests deeper than kDeepestJson; npos where there is none. Reads strings as JSON has them, so that it agrees with
/// the parser up to the first mistake of a text.
std::size_t too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

void show(const json& value, std::size_t most, int levels, std::string& out) {
  if (!value.is_structured()) {
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      out += json(text.substr(0, most)).dump(-1, ' ', true, json::error_handler_t::replace);
    } else {
      out += value.dump();
    }
    return;
  }
  const bool is_object = value.is_object();
  out += is_object ? '{' : '[';
  if (levels == 0 && !value.empty()) {
    out += "...";
  } else {
    bool first = true;
    for (auto at = value.begin(); at != value.end() && out.size() < most; ++at) {
      if (!first) out += ',';
      first = false;
      if (is_object) {
        show(json(at.key().substr(0, most)), most, 0, out);
        out += ':';
      }
      show(*at, most, levels - 1, out);
    }
  }
  out += is_object ? '}' : ']';
}

}  // namespace

json parse_json(std::string_view text, std::string_view op, std::string_view name) {
  if (const std::size_t at = too_deep(text); at != std::string_view::npos) {
    throw Error({.op = std::string(op),
                 .got = std::string(name) + ": lists and objects within each other, more than " + std::to_string(kDeepestJson) +
                        " of them at byte " + std::to_string(at),
                 .expected = "JSON of at most " + std::to_string(kDeepestJson) + " levels",
                 .advice = "the file is damaged, or was made to do harm"});
  }
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    throw Error({.op = std::string(op),
                 .got = std::string(name) + ": " + printable(std::string_view(error.what()).substr(0, 300)),
                 .expected = "JSON",
                 .advice = "the file is truncated or no JSON"});
  }
}

json try_parse_json(std::string_view text) {
  if (too_deep(text) != std::string_view::npos) return json(json::value_t::discarded);
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string shown(const json& value, std::size_t most) {
  std::string out;
  show(value, most, 4, out);
  return printable(std::string_view(out).substr(0, most));
}

}  // namespace tegula

#include "tegula/text/tokens/decoder.h"

#include <optional>
#include <string_view>
#include <utility>

namespace tegula::text {
namespace {

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/// The byte of "<0x0A>".
std::optional<char> byte_of(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return {};
  const int high = digit(token[3]), low = digit(token[4]);
  if (high < 0 || low < 0) return {};
  return static_cast<char>(16 * high + low);
}

std::string cleaned(std::string token) {
  static const std::pair<const char*, const char*> kChanges[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                                                 {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                                                 {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kChanges) token = replace(std::string(from), to)(std::move(token));
  return token;
}

}  // namespace

Decoder chain(std::vector<Decoder> steps) {
  return [steps = std::move(steps)](Tokens tokens) {
    for (const Decoder& step : steps) tokens = step(std::move(tokens));
    return tokens;
  };
}

Decoder replace_in_tokens(Sought what, std::string by) {
  return [step = replace(std::move(what), std::move(by))](Tokens tokens) {
    for (std::string& token : tokens) token = step(std::move(token));
    return tokens;
  };
}

Decoder join_bytes() {
  return [](Tokens tokens) {
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) token = std::string(1, *byte);
    }
    return tokens;
  };
}

Decoder fuse() {
  return [](const Tokens& tokens) {
    std::string all;
    for (const std::string& token : tokens) all += token;
    return Tokens{all};
  };
}

Decoder strip_tokens(std::string what, std::size_t begin, std::size_t end) {
  return [what = std::move(what), begin, end](Tokens tokens) {
    if (what.empty()) return tokens;
    for (std::string& token : tokens) {
      for (std::size_t i = 0; i < begin && token.starts_with(what); ++i) token.erase(0, what.size());
      for (std::size_t i = 0; i < end && token.ends_with(what); ++i) token.resize(token.size() - what.size());
    }
    return tokens;
  };
}

Decoder sentencepiece_decoder(SentencePieceDecoding options) {
  return [options = std::move(options), blanks = replace("\u2581", " ")](Tokens tokens) {
    constexpr std::string_view kMark = "\u2581";
    std::string out;
    bool stripped = false;
    for (std::string& token : tokens) {
      const auto byte = byte_of(token);
      if (!options.surface.empty() && token == options.unknown) {
        out += options.surface;
      } else if (byte) {
        out += *byte;
      } else {
        if (options.strips_first && !stripped && out.empty() && token.starts_with(kMark)) {
          token.erase(0, kMark.size());
          stripped = !options.strips_all;
        }
        out += blanks(std::move(token));
      }
    }
    return Tokens{std::move(out)};
  };
}

Decoder wordpiece_decoder(std::string prefix, bool clean_up) {
  return [prefix = std::move(prefix), clean_up](Tokens tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) tokens[i] = !prefix.empty() && tokens[i].starts_with(prefix) ? tokens[i].substr(prefix.size()) : " " + tokens[i];
      if (clean_up) tokens[i] = cleaned(std::move(tokens[i]));
    }
    return tokens;
  };
}

Decoder suffix_decoder(std::string suffix) {
  return [suffix = std::move(suffix)](Tokens tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = replace(suffix, i + 1 < tokens.size() ? " " : "")(std::move(tokens[i]));
    return tokens;
  };
}

Decoder metaspace_decoder(std::string mark, bool strip_first) {
  return [first = replace(mark, strip_first ? "" : " "), other = replace(mark, " ")](Tokens tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = (i == 0 ? first : other)(std::move(tokens[i]));
    return tokens;
  };
}

}  // namespace tegula::text

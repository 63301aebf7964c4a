#include "tegula/text/tokens/normalizer.h"

#include <utility>

namespace tegula::text {
namespace {

/// CJK ideographs, which BERT takes one by one: those of Japanese and Korean syllables are none.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (code == '\t' || code == '\n' || code == '\r') out += ' ';
    else if (code == 0 || code == 0xFFFD || is_control(code)) return;  // some of these are white space, such as U+0085
    else if (is_space(code)) out += ' ';
    else out += bytes;
  });
  return out;
}

std::string apart(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](char32_t code, std::string_view bytes) {
    if (is_ideograph(code)) (out += ' ').append(bytes) += ' ';
    else out += bytes;
  });
  return out;
}

}  // namespace

Normalizer chain(std::vector<Normalizer> steps) {
  return [steps = std::move(steps)](std::string text) {
    for (const Normalizer& step : steps) text = step(std::move(text));
    return text;
  };
}

Normalizer to_form(Form form) {
  return [form](const std::string& text) { return normalize(text, form); };
}
Normalizer to_lowercase() {
  return [](const std::string& text) { return lowercase(text); };
}
Normalizer without_accents() {
  return [](const std::string& text) { return strip_accents(text); };
}
Normalizer without_marks() {
  return [](const std::string& text) {
    std::string out;
    for_each_character(text, [&](char32_t code, std::string_view bytes) {
      if (!is_mark(code)) out += bytes;
    });
    return out;
  };
}

Normalizer replace(Sought what, std::string by) {
  return [what = std::move(what), by = std::move(by)](std::string text) {
    std::string out;
    std::size_t kept = 0;
    const auto put = [&](std::size_t begin, std::size_t end) {
      out.append(text, kept, begin - kept).append(by);
      kept = end;
    };
    if (const auto* pattern = std::get_if<Pattern>(&what)) {
      for (const auto [begin, end] : pattern->matches(text)) put(begin, end);
    } else if (const std::string& sought = std::get<std::string>(what); !sought.empty()) {
      for (std::size_t at = text.find(sought); at != std::string::npos; at = text.find(sought, kept)) put(at, at + sought.size());
    }
    if (kept == 0) return text;
    return out.append(text, kept);
  };
}

Normalizer prepend(std::string front) {
  return [front = std::move(front)](std::string text) { return text.empty() ? text : front + text; };
}

Normalizer append(std::string end) {
  return [end = std::move(end)](std::string text) { return text.empty() ? text : text + end; };
}

Normalizer strip(bool left, bool right) {
  return [left, right](std::string text) {
    std::size_t begin = 0, end = 0, at = 0;
    bool seen = false;
    for_each_character(text, [&](char32_t code, std::string_view bytes) {
      if (!is_space(code)) {
        if (!seen) begin = at;
        seen = true;
        end = at + bytes.size();
      }
      at += bytes.size();
    });
    if (!seen) return left || right ? std::string() : text;
    if (!left) begin = 0;
    if (!right) end = text.size();
    return text.substr(begin, end - begin);
  };
}

Normalizer squeeze_blanks() {
  return [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
    }
    if (out.ends_with(' ')) out.pop_back();
    return out;
  };
}

Normalizer bert_normalizer(const BertNormalizerOptions& options) {
  return [options](std::string text) {
    if (options.clean) text = clean(text);
    if (options.chinese) text = apart(text);
    if (options.strip_accents) text = strip_accents(text);
    if (options.lowercase) text = lowercase(text);
    return text;
  };
}

}  // namespace tegula::text

#include "tegula/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* pointer) const {
    release(pointer);
  }
};

std::string message(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

constexpr std::uint32_t kMostSteps = 10'000'000;  // steps of one match; a pattern that needs more gives an error

}  // namespace

struct Pattern::Code {
  std::string text, op;
  std::unique_ptr<pcre2_code, Release<pcre2_code_free>> compiled;
};

Pattern::Pattern(std::string text, std::string_view op) {
  int error = 0;
  PCRE2_SIZE place = 0;
  const std::uint32_t options = PCRE2_UTF | PCRE2_UCP;
  auto code = std::make_shared<Code>();
  code->compiled.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), options, &error, &place, nullptr));
  if (!code->compiled) {
    throw Error({.op = std::string(op),
                 .got = "the pattern " + printable(text.substr(0, 200)) + ": " + message(error) + ", at byte " + std::to_string(place),
                 .expected = "a regular expression as Perl has them"});
  }
  pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE);  // if it fails, the pattern is interpreted
  code->text = std::move(text);
  code->op = op;
  code_ = std::move(code);
}

const std::string& Pattern::text() const { return code_->text; }

std::vector<Pattern::Match> Pattern::matches(std::string_view text) const {
  const std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>> data(
      pcre2_match_data_create_from_pattern(code_->compiled.get(), nullptr));
  const std::unique_ptr<pcre2_match_context, Release<pcre2_match_context_free>> context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMostSteps);
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
  std::vector<Match> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t size = valid_bytes(text.substr(begin));
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + begin);
    for (std::size_t at = 0; at < size; at = ends[1]) {
      const int found =
          pcre2_match(code_->compiled.get(), subject, size, at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) {
        throw Error({.op = code_->op,
                     .got = "the pattern " + printable(code_->text.substr(0, 200)) + " on a text of " + std::to_string(text.size()) +
                            " bytes: " + message(found),
                     .expected = "a pattern that finds its matches soon",
                     .advice = "cut the text into lines"});
      }
      if (ends[1] <= at) break;  // \K and lookbehind can end a match before it begins
      out.push_back({begin + std::max<std::size_t>(ends[0], at), begin + ends[1]});
    }
    begin += size + 1;  // over a byte that is no UTF-8
  }
  return out;
}

std::string with_oniguruma_words(std::string_view pattern) {
  constexpr std::string_view kMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
  constexpr std::string_view kLatinNumbers = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be}])";  // "²" to "¾", outside of brackets alone
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i], next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\' && next == 'w') {
      in_class ? out.append(kMembers) : out.append("[").append(kMembers).append(kLatinNumbers);
      ++i;
    } else if (c == '\\' && next == 'W' && !in_class) {
      out.append("[^").append(kMembers).append(kLatinNumbers);
      ++i;
    } else if (c == '\\' && next != '\0') {
      out.append({c, next});
      ++i;
    } else {
      out += c;
      if (c == '[' && !in_class) {
        in_class = true;
        if (next == '^') out += pattern[++i];
        if (i + 1 < pattern.size() && pattern[i + 1] == ']') out += pattern[++i];  // as the first one it is a member
      } else if (c == ']') {
        in_class = false;
      }
    }
  }
  return out;
}

}  // namespace tegula::text

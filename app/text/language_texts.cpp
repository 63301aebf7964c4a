#include "app/text/language_texts.h"

#include <algorithm>
#include <memory>

#include "tegula/core/error.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/tokenizer_texts.h"
#include "tegula/text/unicode.h"

namespace tegula::app {
namespace {

bool holds_tokens(const std::string& file) { return file.ends_with(".bin"); }

/// Files of tokens instead of texts.
Texts read_token_files(const TextsChoice& choice, const std::string& op) {
  if (choice.tokenizer == "char") {
    throw Error({.op = op,
                 .got = choice.files[0] + ", a file of tokens, without a tokenizer",
                 .expected = "the one that it was made with",
                 .advice = "--tokenizer tokenizer.json"});
  }
  const std::string json = text::read_tokenizer_json(choice.tokenizer);
  text::Tokenizer tokenizer = text::parse_tokenizer_json(json, choice.tokenizer);
  text::Ids train, validation;
  for (const std::string& file : choice.files) {
    const text::Ids ids = text::read_tokens(file, tokenizer.size());
    train.insert(train.end(), ids.begin(), ids.end());
  }
  if (!choice.validation_file.empty()) {
    validation = text::read_tokens(choice.validation_file, tokenizer.size());
  } else {
    const auto share = static_cast<std::ptrdiff_t>(choice.validation * static_cast<double>(train.size()));
    validation.assign(train.end() - share, train.end());
    train.resize(train.size() - static_cast<std::size_t>(share));
  }
  return {json, tokenizer, std::make_shared<const text::Ids>(std::move(train)), std::make_shared<const text::Ids>(std::move(validation)),
          1};
}

}  // namespace

Texts read_texts(const TextsChoice& choice, const std::string& op) {
  const std::vector<std::string>& files = choice.files;
  const auto of_tokens = static_cast<std::size_t>(std::count_if(files.begin(), files.end(), holds_tokens));
  if (of_tokens > 0 && (of_tokens < files.size() || (!choice.validation_file.empty() && !holds_tokens(choice.validation_file))))
    throw Error({.op = op, .got = "files of tokens (.bin) beside texts", .expected = "only the ones or the others"});
  if (of_tokens > 0) return read_token_files(choice, op);
  std::string train, validation;
  for (const std::string& file : choice.files) train += text::read_text(file, op);
  if (!choice.validation_file.empty()) {
    validation = text::read_text(choice.validation_file, op);
  } else {
    std::size_t cut = train.size() - static_cast<std::size_t>(choice.validation * static_cast<double>(train.size()));
    while (cut < train.size() && (static_cast<unsigned char>(train[cut]) & 0xC0) == 0x80) ++cut;  // not within a character
    validation = train.substr(cut);
    if (choice.tokenizer != "char") train.resize(cut);
  }
  const bool characters = choice.tokenizer == "char";
  const std::string json = characters ? text::characters_json(choice.validation_file.empty() ? train : train + validation)
                                      : text::read_tokenizer_json(choice.tokenizer);
  if (characters && choice.validation_file.empty()) train.resize(train.size() - validation.size());
  text::Tokenizer tokenizer = text::parse_tokenizer_json(json, choice.tokenizer);
  const auto encoded = [&](const std::string& text) {
    return std::make_shared<const text::Ids>(tokenizer.encode(text, text::SpecialTokens::No));
  };
  Texts out{json, tokenizer, encoded(train), encoded(validation), 1};
  if (out.validation->size() > 1)
    out.characters_per_token = static_cast<double>(text::count_characters(validation)) / static_cast<double>(out.validation->size());
  return out;
}

}  // namespace tegula::app

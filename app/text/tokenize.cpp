// tegula tokenize: texts to tokens, and back.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/text/lines.h"
#include "tegula/text/token_windows.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::app {
namespace {

struct TokenizeChoice {
  std::string tokenizer;
  std::vector<std::string> files;
  std::string out;
  bool tokens = false, count = false, decode = false, special = true;
};

/// The texts of the files, or of the standard input.
std::vector<std::string> read_texts(const std::vector<std::string>& files) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    if (file != "-") texts.push_back(text::read_text(file, "tegula tokenize"));
    else texts.emplace_back(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  return texts;
}

text::Ids numbers_of(const std::string& text) {
  text::Ids ids;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::size_t used = 0;
    try {
      ids.push_back(std::stoll(word, &used));
    } catch (const std::exception&) { used = 0; }
    if (used != word.size())
      throw Error({.op = "tegula tokenize --decode",
                   .got = "'" + printable(word.substr(0, 40)) + "'",
                   .expected = "token numbers with blanks between them"});
  }
  return ids;
}

void run(const TokenizeChoice& choice) {
  const text::Tokenizer tokenizer = text::read_tokenizer(choice.tokenizer);
  const auto special = choice.special ? text::SpecialTokens::Yes : text::SpecialTokens::No;
  if (!choice.out.empty()) {
    text::Ids all;
    for (const std::string& text : read_texts(choice.files.empty() ? std::vector<std::string>{"-"} : choice.files)) {
      const text::Ids ids = tokenizer.encode(text, special);
      all.insert(all.end(), ids.begin(), ids.end());
    }
    text::write_tokens(choice.out, all);
    std::printf("%s tokens: %s\n", quantity(static_cast<double>(all.size())).c_str(), choice.out.c_str());
    return;
  }
  for (const std::string& text : read_texts(choice.files.empty() ? std::vector<std::string>{"-"} : choice.files)) {
    if (choice.decode) {
      const std::string decoded = tokenizer.decode(numbers_of(text));
      std::fwrite(decoded.data(), 1, decoded.size(), stdout);
      continue;
    }
    const text::Ids ids = tokenizer.encode(text, special);
    if (choice.count) {
      std::printf("%lld tokens, %.2f bytes each, of %lld in the vocabulary\n", static_cast<long long>(ids.size()),
                  ids.empty() ? 0.0 : static_cast<double>(text.size()) / static_cast<double>(ids.size()),
                  static_cast<long long>(tokenizer.size()));
      continue;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (choice.tokens)
        std::printf("%s%lld '%s'", i ? "\n" : "", static_cast<long long>(ids[i]), printable(tokenizer.token(ids[i])).c_str());
      else std::printf("%s%lld", i ? " " : "", static_cast<long long>(ids[i]));
    }
    std::printf("\n");
  }
}

}  // namespace

void add_tokenize(Command& app) {
  auto choice = std::make_shared<TokenizeChoice>();
  Command command = app.command("tokenize", "texts as the numbers of tokens, and back");
  command
      .option("tokenizer", choice->tokenizer, "tokenizer.json, .gguf, .model, .bin (llama2.c), vocab.txt, or a folder with a model's files")
      .required()
      .type("TOKENIZER");
  command.option("files", choice->files, "texts, plain or gzipped; - or none: what comes in").type("FILE");
  command.flag("--tokens", choice->tokens, "a token in each line, with its number");
  command.flag("--count", choice->count, "only how many there are");
  command.option("--out", choice->out, "a file of the numbers for tegula train gpt: two bytes each, as nanoGPT's train.bin")
      .check(not_empty())
      .type("FILE.bin");
  command.flag("--decode", choice->decode, "numbers become text");
  command.flag("!--no-special", choice->special, "without the tokens that frame a text");
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app

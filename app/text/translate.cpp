// tegula translate: texts in another language, by a model of tegula train translate.

#include <cstdio>
#include <iostream>
#include <memory>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/plot.h"
#include "tegula/models/text/translator.h"
#include "tegula/text/bleu.h"
#include "tegula/text/lines.h"

namespace tegula::app {
namespace {

struct TranslateChoice {
  std::string model, text, attention, out;
  std::vector<std::string> files, references;
  models::TranslationOptions options;
  bool lowercase = false, scores = false;
};

std::vector<std::string> read_sources(const TranslateChoice& choice) {
  if (!choice.text.empty()) return {choice.text};
  std::vector<std::string> lines;
  for (const std::string& file : choice.files.empty() ? std::vector<std::string>{"-"} : choice.files) {
    if (file != "-") {
      for (std::string& line : text::read_lines(file)) lines.push_back(std::move(line));
    } else {
      for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    }
  }
  return lines;
}

/// A blank in front of a token, as byte-level tokenizers have it, can be seen.
std::vector<std::string> shown(std::vector<std::string> tokens) {
  for (std::string& token : tokens) {
    if (token.starts_with(' ')) token.replace(0, 1, "\u2581");
  }
  return tokens;
}

void draw_attention(const std::string& path, const models::Translator& translator, const models::TextTranslation& translation) {
  io::Heatmap map{.title = {},
                  .rows = shown(translator.target_tokens(translation.target)),
                  .columns = shown(translator.source_tokens(translation.source)),
                  .values = translator.attention(translation).to_host<double>(),
                  .row_label = "translation",
                  .column_label = "source"};
  map.rows.emplace_back("</s>");
  io::plot(path, map);
  std::fprintf(stderr, "attention: %s\n", path.c_str());
}

void run_translate(const TranslateChoice& choice) {
  if (!choice.attention.empty()) io::require_picture(choice.attention);
  if (!choice.out.empty()) io::require_writable(choice.out, "tegula translate");
  if (choice.scores && choice.options.beams == 1)
    throw Error({.op = "tegula translate --scores", .got = "--beam 1", .expected = "2 or more: beams alone have scores"});
  models::Translator translator = models::Translator::load(choice.model);
  const std::vector<std::string> sources = read_sources(choice);
  if (!choice.attention.empty() && sources.size() != 1)
    throw Error({.op = "tegula translate --attention", .got = std::to_string(sources.size()) + " sentences", .expected = "one"});
  std::vector<std::vector<std::string>> references;
  for (const std::string& file : choice.references) {
    references.push_back(text::read_lines(file));
    if (references.back().size() != sources.size())
      throw Error({.op = "tegula translate --reference",
                   .got = std::to_string(references.back().size()) + " lines in " + file,
                   .expected = std::to_string(sources.size()) + ", one for each sentence"});
  }
  const auto translations = translator.translate(sources, choice.options);
  std::vector<std::string> hypotheses;
  std::string lines;
  for (const auto& one : translations) {
    hypotheses.push_back(one.text);
    lines += (choice.scores ? format("%.4f\t", one.score) : "") + one.text + "\n";
  }
  if (!choice.out.empty()) io::write_atomically(choice.out, std::as_bytes(std::span(lines)), "tegula translate");
  else if (references.empty()) std::fwrite(lines.data(), 1, lines.size(), stdout);
  if (!references.empty()) {
    const text::Bleu bleu =
        text::bleu(hypotheses, references, {.letters = choice.lowercase ? text::BleuCase::Lower : text::BleuCase::Mixed});
    std::printf("%s\nsignature: %s\n", bleu.text().c_str(), bleu.signature.c_str());
  }
  if (!choice.attention.empty()) draw_attention(choice.attention, translator, translations[0]);
}

}  // namespace

void add_translate(Command& app) {
  auto choice = std::make_shared<TranslateChoice>();
  Command command = app.command("translate", "sentences in another language");
  command.last_counts();
  command.option("model", choice->model, "a model of tegula train translate, or a checkpoint").required().type("MODEL");
  command.option("files", choice->files, "a sentence in each line, plain or gzipped; - or none: what comes in").type("FILE");
  command.option("--text", choice->text, "this sentence").check(not_empty("got an empty text, expected a sentence")).type("TEXT");
  command.option("--out", choice->out, "where translations go, instead of to the terminal").check(not_empty()).type("FILE");
  command.option("--beam", choice->options.beams, "translations that are kept at each step; 1: always the likeliest token")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--length-penalty", choice->options.length_penalty, "a translation counts log-probability / length^X")
      .check(between(0, 100))
      .shows_default()
      .type("X");
  command.option("--batch", choice->options.batch, "sentences side by side").check(positive()).shows_default().type("N");
  command.option("--most", choice->options.max_new_tokens, "tokens of a translation [twice the source's and ten more]")
      .check(positive())
      .type("N");
  command.flag("--scores", choice->scores, "log-probability / length^X in front of each translation");
  command.option("--reference", choice->references, "how it should be: prints BLEU, sacreBLEU's, instead of the translations").type("FILE");
  command.flag("--lowercase", choice->lowercase, "BLEU without regard to capitals");
  command.option("--attention", choice->attention, "a picture of what each token of the translation looks at (one sentence)")
      .check(not_empty())
      .type("PICTURE");
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run_translate(*choice); });
}

}  // namespace tegula::app

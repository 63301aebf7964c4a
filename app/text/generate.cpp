// tegula generate: text from a language model.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "app/commands.h"
#include "app/objects/generative.h"
#include "app/own/training.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/models/text/language_model.h"
#include "tegula/text/lines.h"

namespace tegula::app {
namespace {

struct GenerateChoice {
  std::string file, tokenizer, prompts_file;
  std::vector<std::string> prompts;
  models::WriteOptions options;
  std::int64_t samples = 1, batch = 16;
  std::uint64_t seed = 0;
  bool shows_prompt = true, says_speed = true;
  std::string pictures = "pictures.png";
};

void show(std::string_view piece) {
  std::fwrite(piece.data(), 1, piece.size(), stdout);
  std::fflush(stdout);
}

/// The prompts of the command line, then the lines of the file; without any, one empty prompt.
std::vector<std::string> prompts_of(const GenerateChoice& choice) {
  std::vector<std::string> prompts = choice.prompts;
  if (!choice.prompts_file.empty()) {
    for (std::string& line : text::read_lines(choice.prompts_file)) {
      if (!line.empty()) prompts.push_back(std::move(line));
    }
    if (prompts.empty()) {
      throw Error({.op = "generate", .got = choice.prompts_file + ": no line with a text", .expected = "a prompt in each line"});
    }
  }
  if (prompts.empty()) prompts.emplace_back();
  return prompts;
}

void say_speed(const std::vector<models::Written>& texts) {
  std::int64_t tokens = 0, behind_first = 0, prompt = 0;
  double first = 0, seconds = 0;
  for (const models::Written& text : texts) {
    tokens += text.tokens, behind_first += std::max<std::int64_t>(text.tokens - 1, 0), prompt += text.prompt_tokens;
    first = std::max(first, text.prompt_seconds), seconds = std::max(seconds, text.seconds);
  }
  std::fflush(stdout);
  const std::string prompts = texts.size() == 1 ? "a prompt" : std::to_string(texts.size()) + " prompts";
  std::fprintf(stderr, "%lld tokens behind %s of %lld, the first after %s%s\n", static_cast<long long>(tokens), prompts.c_str(),
               static_cast<long long>(prompt), duration(first).c_str(),
               seconds > 0 ? (", then " + quantity(static_cast<double>(behind_first) / seconds) + " tokens/s").c_str() : "");
}

void run_generate(GenerateChoice choice) {
  if (io::is_there(choice.file) && !io::is_folder(choice.file) && choice.file.ends_with(".safetensors") &&
      makes_pictures(kind_of_model(choice.file))) {
    manual_seed(choice.seed);
    return generate_pictures(choice.file, choice.samples, choice.pictures);
  }
  const std::vector<std::string> prompts = prompts_of(choice);
  const models::LanguageModel model = models::load_language_model(choice.file, choice.tokenizer);
  models::TextWriter write(model);
  manual_seed(choice.seed);
  bool any = false;
  for (std::int64_t i = 0; i < choice.samples; ++i) {
    for (auto begin = prompts.begin(); begin != prompts.end();) {
      const auto end = begin + std::min<std::ptrdiff_t>(choice.batch, prompts.end() - begin);
      const std::vector<std::string> together(begin, end);
      begin = end;
      // The first text is shown as it comes, once its prompt was found to be one; those beside it are shown behind it.
      bool begun = false;
      const auto begin_text = [&](std::size_t k) {
        if (std::exchange(any, true)) show("---\n");
        if (choice.shows_prompt) show(together[k]);
      };
      const auto begin_first = [&] {
        if (!std::exchange(begun, true)) begin_text(0);
      };
      choice.options.on_text = [&](std::size_t k, std::string_view piece) {
        if (k == 0) begin_first(), show(piece);
      };
      const std::vector<models::Written> texts = write.all(together, choice.options);
      begin_first();
      for (std::size_t k = 0; k < texts.size(); ++k) {
        if (k > 0) begin_text(k), show(texts[k].text);
        show("\n");
      }
      if (choice.says_speed) say_speed(texts);
    }
  }
}

}  // namespace

void add_generate(Command& app) {
  auto choice = std::make_shared<GenerateChoice>();
  models::WriteOptions& o = choice->options;
  Command command = app.command("generate", "text from a language model, token by token; or pictures of a GAN or VAE");
  command.last_counts();
  command
      .option("file,--model", choice->file,
              "a model of tegula train gpt, char-lstm, gan or vae, a folder of Hugging Face's (gpt2, llama), a GGUF file, or a .bin of "
              "llama2.c")
      .required()
      .type("FILE");
  command.option("--tokenizer", choice->tokenizer, "instead of the model's own; a .bin needs one").check(not_empty()).type("TOKENIZER");
  command.option("--prompt", choice->prompts, "the text to go on from; may be given several times").repeats().type("TEXT");
  command.option("--prompts", choice->prompts_file, "a file with a prompt in each line").check(not_empty()).type("FILE");
  command.option("--batch", choice->batch, "prompts that are gone on from together, at most").check(positive()).shows_default().type("N");
  command.option("--tokens", o.tokens, "to write, at most").check(not_negative()).shows_default().type("N");
  command.option("--temperature", o.sampling.temperature, "below 1 likely tokens become likelier; 0: always the likeliest")
      .check(between(0, 1e6))
      .shows_default()
      .type("X");
  command.option("--top-k", o.sampling.top_k, "only the k likeliest; 0: all").check(not_negative()).shows_default().type("K");
  command.option("--top-p", o.sampling.top_p, "only the likeliest that reach this probability together")
      .check(between(1e-9, 1))
      .shows_default()
      .type("P");
  command.option("--min-p", o.sampling.min_p, "only those with this share of the likeliest one's probability")
      .check(between(0, 1))
      .shows_default()
      .type("P");
  command.option("--repetition-penalty", o.sampling.repetition_penalty, "above 1 tokens that were there become less likely")
      .check(positive_real())
      .shows_default()
      .type("X");
  command.option("--stop", o.stops, "ends the text, and is not part of it; may be given several times")
      .repeats()
      .check(not_empty("got an empty text, expected some"))
      .type("TEXT");
  command.option("--samples", choice->samples, "texts for each prompt, or pictures").check(positive()).shows_default().type("N");
  command.option("--pictures", choice->pictures, "the file for pictures of a GAN or VAE").check(not_empty()).shows_default().type("FILE");
  command.option("--seed", choice->seed, "the same seed gives the same text").check(any_count()).shows_default().type("S");
  command.flag("!--no-prompt", choice->shows_prompt, "without the prompt in front of the text");
  command.flag("!--no-speed", choice->says_speed, "without the line about tokens and time (on stderr)");
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run_generate(*choice); });
}

}  // namespace tegula::app

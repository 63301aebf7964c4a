// tegula generate: text from a language model.

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "app/commands.h"
#include "app/progress.h"
#include "tegula/core/text.h"
#include "tegula/models/text/language_model.h"

namespace tegula::app {
namespace {

struct GenerateChoice {
  std::string file, tokenizer, prompt;
  models::WriteOptions options;
  std::int64_t samples = 1;
  std::uint64_t seed = 0;
  bool shows_prompt = true, says_speed = true;
};

void run_generate(GenerateChoice choice) {
  const models::LanguageModel model = models::load_language_model(choice.file, choice.tokenizer);
  models::TextWriter write(model);
  manual_seed(choice.seed);
  const auto show = [](std::string_view piece) {
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  };
  for (std::int64_t i = 0; i < choice.samples; ++i) {
    bool begun = false;
    const auto begin = [&] {  // not before the prompt was found to be one
      if (!std::exchange(begun, true) && choice.shows_prompt) show(choice.prompt);
    };
    choice.options.on_text = [&](std::string_view piece) { begin(), show(piece); };
    if (i > 0) show("---\n");
    const models::Written written = write(choice.prompt, choice.options);
    begin();
    show("\n");
    if (!choice.says_speed) continue;
    std::fflush(stdout);
    const double rate = written.tokens > 1 ? static_cast<double>(written.tokens - 1) / written.seconds : 0;
    std::fprintf(stderr, "%lld tokens behind a prompt of %lld, the first after %s%s\n", static_cast<long long>(written.tokens),
                 static_cast<long long>(written.prompt_tokens), duration(written.prompt_seconds).c_str(),
                 rate > 0 ? (", then " + quantity(rate) + " tokens/s").c_str() : "");
  }
}

}  // namespace

void add_generate(Command& app) {
  auto choice = std::make_shared<GenerateChoice>();
  models::WriteOptions& o = choice->options;
  Command command = app.command("generate", "text from a language model, token by token");
  command.last_counts();
  command
      .option("file", choice->file,
              "a model of tegula train gpt or char-lstm, a folder of Hugging Face's (gpt2, llama), or a .bin of llama2.c")
      .required()
      .type("FILE");
  command.option("--tokenizer", choice->tokenizer, "instead of the model's own; a .bin needs one").check(not_empty()).type("TOKENIZER");
  command.option("--prompt", choice->prompt, "the text to go on from").type("TEXT");
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
      .check(not_empty("got an empty text, expected some"))
      .type("TEXT");
  command.option("--samples", choice->samples, "texts").check(positive()).shows_default().type("N");
  command.option("--seed", choice->seed, "the same seed gives the same text").check(any_count()).shows_default().type("S");
  command.flag("!--no-prompt", choice->shows_prompt, "without the prompt in front of the text");
  command.flag("!--no-speed", choice->says_speed, "without the line about tokens and time (on stderr)");
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run_generate(*choice); });
}

}  // namespace tegula::app

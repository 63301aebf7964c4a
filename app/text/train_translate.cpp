// tegula train translate: a translator from pairs of lines.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/fit.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/train_log.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/plot.h"
#include "tegula/models/text/translator.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/optim/optimizers.h"
#include "tegula/text/bleu.h"
#include "tegula/text/lines.h"
#include "tegula/text/token_sets.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/train/trainer.h"

namespace tegula::app {
namespace {

struct TranslateTraining {
  std::vector<std::string> files, validation;
  std::int64_t limit = 0, hold_out = 0, longest = 100;
  std::string model = "transformer", tokens = "bpe", alignment = "additive";
  std::int64_t vocabulary = 8000, minimum = 2;
  bool shared = false;
  std::int64_t width = 256, layers = 3, heads = 4, hidden = 0;
  double dropout = 0.1, smoothing = 0.1, clip = 1;
  std::optional<double> lr;
  std::string schedule = "inverse-sqrt";
  std::int64_t epochs = 10, batch = 64, warmup = 0, patience = 3, bleu = 200;
  std::uint64_t seed = 0;
  std::string out = "translate.safetensors", plot = "translate.png", checkpoint, resume;
  TrainLogChoice log;
};

constexpr double kTransformerRate = 1e-3,
                 kLstmRate = 2e-3;  // at the peak: nets of some million parameters, batches of some thousand tokens

text::LinePairs read_pairs(const std::vector<std::string>& files) {
  if (files.size() == 1) return text::read_line_pairs(files[0]);
  if (files.size() == 2) return text::read_line_pairs(files[0], files[1]);
  throw Error({.op = "tegula train translate",
               .got = std::to_string(files.size()) + " files",
               .expected = "two, whose lines belong together, or one with a tab in each line"});
}

/// A tokenizer.json for the words of the lines.
std::string trained_tokenizer(const std::vector<const std::string*>& lines, const TranslateTraining& choice) {
  std::string text;
  for (const std::string* line : lines) text += " " + *line;
  text::TextMap<std::int64_t> counts;
  std::vector<std::string> special = models::translation_tokens();
  if (choice.tokens == "words") {
    text::count_words(text, counts);
    const auto vocabulary = text::count_vocabulary(counts, {.minimum = choice.minimum, .most = choice.vocabulary, .first = special});
    return text::word_tokenizer_json(vocabulary, special[models::kUnknown], special);
  }
  special.resize(models::kUnknown);  // bytes know everything
  text::count_pieces(text, counts);
  const auto trained = text::train_bpe(counts, {.vocabulary = choice.vocabulary, .minimum = choice.minimum, .special = special});
  return text::bpe_tokenizer_json(trained.vocabulary, trained.merges, special);
}

models::Translator make_translator(const TranslateTraining& choice, const text::LinePairs& pairs) {
  std::vector<const std::string*> source, target;
  for (const auto& [from, to] : pairs) source.push_back(&from), target.push_back(&to);
  std::string of_source, of_target;
  if (choice.shared) {
    source.insert(source.end(), target.begin(), target.end());
    of_source = of_target = trained_tokenizer(source, choice);
  } else {
    of_source = trained_tokenizer(source, choice), of_target = trained_tokenizer(target, choice);
  }
  const std::int64_t source_size = text::parse_tokenizer_json(of_source, "source").size(),
                     target_size = text::parse_tokenizer_json(of_target, "target").size();
  const models::Tied tied = choice.shared ? models::Tied::All : models::Tied::Target;
  if (choice.model == "transformer") {
    return {models::Transformer({.source_vocabulary = source_size,
                                 .target_vocabulary = target_size,
                                 .width = choice.width,
                                 .heads = choice.heads,
                                 .hidden = choice.hidden > 0 ? choice.hidden : 4 * choice.width,
                                 .encoder_layers = choice.layers,
                                 .decoder_layers = choice.layers,
                                 .context = std::max<std::int64_t>(256, 2 * choice.longest + 2),
                                 .dropout = choice.dropout,
                                 .norm_first = true,
                                 .tied = tied}),
            of_source, of_target};
  }
  const auto alignment = choice.alignment == "additive"  ? models::Alignment::Additive
                         : choice.alignment == "general" ? models::Alignment::General
                                                         : models::Alignment::Dot;
  return {models::Seq2Seq({.source_vocabulary = source_size,
                           .target_vocabulary = target_size,
                           .embedding = choice.width,
                           .hidden = choice.hidden > 0 ? choice.hidden : choice.width,
                           .layers = choice.layers,
                           .dropout = choice.dropout,
                           .alignment = alignment,
                           .tied = tied}),
          of_source, of_target};
}

/// Returns the pairs without empty lines and sentences of more than `longest` tokens.
text::TokenPairs token_pairs(const models::Translator& translator, const text::LinePairs& pairs, std::int64_t longest) {
  std::vector<text::Ids> sources, targets;
  for (const auto& [from, to] : pairs) {
    text::Ids source = translator.encode_source(from), target = translator.encode_target(to);
    if (source.size() < 2 || target.empty() || static_cast<std::int64_t>(std::max(source.size(), target.size())) > longest) continue;
    sources.push_back(std::move(source)), targets.push_back(std::move(target));
  }
  return {std::move(sources), std::move(targets), models::kBegin, models::kEnd};
}

/// The mean over the tokens that are no padding.
Loss token_loss(double smoothing) {
  return [smoothing](const Tensor& scores, const Tensor& labels) {  // (N, T, V), (N, T)
    return cross_entropy(reshape(scores, {-1, scores.size(2)}), reshape(labels, {-1}),
                         {.ignore_index = models::kPadding, .label_smoothing = smoothing});
  };
}
Tensor count_tokens(const Tensor&, const Tensor& labels) { return sum(cast(labels != models::kPadding, f32)); }

optim::Schedule schedule_of(const TranslateTraining& choice, double lr, std::int64_t steps) {
  const std::int64_t warmup = choice.warmup > 0 ? choice.warmup : std::clamp<std::int64_t>(steps / 10, 1, 4000);
  if (choice.schedule == "inverse-sqrt") return optim::InverseSqrtLR{.base = lr, .warmup = warmup};
  if (choice.schedule == "cosine") return optim::CosineLR{.base = lr, .total = steps, .warmup = warmup, .minimum = 0.01 * lr};
  return optim::ConstantLR{lr};
}

/// Greedy translations of validation sentences against their references.
double greedy_bleu(models::Translator& translator, const text::LinePairs& pairs, std::int64_t count) {
  std::vector<std::string> sources, references, hypotheses;
  for (std::size_t i = 0; i < pairs.size() && static_cast<std::int64_t>(i) < count; ++i)
    sources.push_back(pairs[i].first), references.push_back(pairs[i].second);
  for (const auto& one : translator.translate(sources, {.beams = 1})) hypotheses.push_back(one.text);
  return text::bleu(hypotheses, references).score;
}

void draw_progress(const std::string& path, const History& history, const std::string& title) {
  io::Panel loss{"loss per token", {{"train", {}, {}}, {"validation", {}, {}}}}, bleu{"BLEU, greedy", {{"validation", {}, {}}}};
  for (const EpochRecord& r : history) {
    const auto epoch = static_cast<double>(r.epoch);
    loss.series[0].x.push_back(epoch), loss.series[0].y.push_back(r.train_loss);
    loss.series[1].x.push_back(epoch), loss.series[1].y.push_back(r.test_loss);
    if (const auto found = r.test_metrics.find("bleu"); found != r.test_metrics.end())
      bleu.series[0].x.push_back(epoch), bleu.series[0].y.push_back(found->second);
  }
  io::Figure figure{.title = title, .x_label = "epoch", .panels = {loss}};
  if (!bleu.series[0].x.empty()) figure.panels.push_back(bleu);
  try {
    io::plot(path, figure);
    std::printf("learning curve: %s\n", path.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

void show_step(ProgressLine& line, const StepReport& r) {
  const double share = static_cast<double>(r.batch) / static_cast<double>(r.batches);
  line.show({{format("epoch %lld/%lld", static_cast<long long>(r.epoch), static_cast<long long>(r.epochs)), 9},
             {bar(share, 16), 2},
             {format("%lld/%lld", static_cast<long long>(r.batch), static_cast<long long>(r.batches)), 5},
             {format(" loss %.4f", r.mean_loss), 8},
             {format(" lr %.2g", r.learning_rate), 4},
             {format(" %s sentences/s", quantity(r.rows_per_second).c_str()), 6},
             {format(" ETA %s", clock(r.seconds_left).c_str()), 7}});
}

std::string number_or_dash(double value, int decimals) { return std::isnan(value) ? "-" : format("%.*f", decimals, value); }

void run_translate_training(TranslateTraining choice) {
  const dist::Group ranks = training_ranks("tegula train translate");
  resume_after_restart(choice.checkpoint, choice.resume);
  if (!is_first(ranks)) choice.log = {};
  for (const std::string& file : {choice.out, choice.checkpoint}) {
    if (!file.empty() && is_first(ranks)) io::require_writable(file, "tegula train translate");
  }
  io::require_picture(choice.plot);
  manual_seed(choice.seed);
  text::LinePairs pairs = read_pairs(choice.files), validation;
  if (choice.limit > 0 && static_cast<std::int64_t>(pairs.size()) > choice.limit) pairs.resize(static_cast<std::size_t>(choice.limit));
  if (!choice.validation.empty()) {
    validation = read_pairs(choice.validation);
  } else if (choice.hold_out > 0) {
    if (choice.hold_out >= static_cast<std::int64_t>(pairs.size()))
      throw Error({.op = "tegula train translate",
                   .got = "--hold-out " + std::to_string(choice.hold_out) + " of " + std::to_string(pairs.size()) + " pairs",
                   .expected = "fewer, so that some are left to learn from"});
    validation.assign(pairs.end() - choice.hold_out, pairs.end());
    pairs.resize(pairs.size() - static_cast<std::size_t>(choice.hold_out));
  }
  models::Translator translator = make_translator(choice, pairs);
  const text::TokenPairs train = token_pairs(translator, pairs, choice.longest),
                         test = token_pairs(translator, validation, choice.longest).sorted();
  if (train.size() == 0)
    throw Error(
        {.op = "tegula train translate", .got = "no pairs of 1 to " + std::to_string(choice.longest) + " tokens", .expected = "some"});
  const std::int64_t batch = std::min(choice.batch, train.size()), steps = choice.epochs * ((train.size() + batch - 1) / batch);
  const double lr = choice.lr.value_or(choice.model == "transformer" ? kTransformerRate : kLstmRate);
  std::printf("%s: %s parameters. %s pairs to learn from, %s for validation; %lld steps of %lld pairs.\n", choice.model.c_str(),
              quantity(static_cast<double>(num_parameters(translator))).c_str(), quantity(static_cast<double>(train.size())).c_str(),
              quantity(static_cast<double>(test.size())).c_str(), static_cast<long long>(steps), static_cast<long long>(batch));
  const ProgressTable table(
      {{"epoch", 9}, {"train loss", 7}, {"validation", 8}, {"perplexity", 4}, {"BLEU", 6, 6}, {"time", 5, 8}, {"sentences/s", 3}});
  std::printf("%s\n", table.heading().c_str());
  std::fflush(stdout);

  optim::Adam adam(parameters(translator), {.lr = lr, .beta2 = 0.98, .eps = 1e-9});
  Trainer trainer(translator, adam, token_loss(0),
                  {.epochs = choice.epochs,
                   .batch = batch,
                   .test_batch = batch,
                   .seed = choice.seed,
                   .schedule = schedule_of(choice, lr, steps),
                   .clip_norm = choice.clip,
                   .objective = choice.smoothing > 0 ? token_loss(choice.smoothing) : Loss(),
                   .count = Loss(count_tokens),
                   .inputs = 3,
                   .lengths = train.lengths(),
                   .group = ranks,
                   .checkpoint = choice.checkpoint,
                   .metadata = models::metadata_of(translator.describe()),
                   .stop_on_interrupt = true,
                   .progress = Progress::No});
  if (!choice.resume.empty()) trainer.resume(choice.resume);
  TrainLog log(choice.log);
  log.begin({{"model", choice.model}, {"tokens", choice.tokens}, {"schedule", choice.schedule}},
            {{"parameters", static_cast<double>(num_parameters(translator))},
             {"pairs", static_cast<double>(train.size())},
             {"batch", static_cast<double>(batch)},
             {"learning_rate", lr},
             {"seed", static_cast<double>(choice.seed)}});
  History history;
  EarlyStopping patience{.patience = choice.patience};
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_epoch = 0;
  {
    ProgressLine line;
    trainer.on_step = [&](const StepReport& r) {
      log.step(r);
      if (std::isfinite(r.loss) && line.due()) show_step(line, r);
    };
    trainer.on_epoch = [&](const EpochRecord& given) {
      EpochRecord r = given;
      if (history.empty()) {  // the history before the checkpoint that this continues
        for (const EpochRecord& earlier : std::span(trainer.history()).first(trainer.history().size() - 1)) {
          history.push_back(earlier);
          if (choice.patience > 0) patience(earlier);
          if (earlier.test_loss < best) best = earlier.test_loss, best_epoch = earlier.epoch;
        }
      }
      eval(translator);
      if (is_first(ranks) && choice.bleu > 0 && !validation.empty())
        r.test_metrics["bleu"] = greedy_bleu(translator, validation, choice.bleu);
      history.push_back(r);
      log.epoch(r);
      const double bleu = r.test_metrics.contains("bleu") ? r.test_metrics["bleu"] : std::nan("");
      line.finish(
          table.row({std::to_string(r.epoch), format("%.4f", r.train_loss), number_or_dash(r.test_loss, 4),
                     number_or_dash(std::exp(r.test_loss), 2), number_or_dash(bleu, 2), duration(r.seconds), quantity(r.rows_per_second)}));
      const double measured = std::isnan(r.test_loss) ? -static_cast<double>(r.epoch) : r.test_loss;  // without validation the last counts
      if (measured < best) {
        best = measured, best_epoch = r.epoch;
        if (is_first(ranks)) translator.save(choice.out);
      }
      return choice.patience > 0 ? patience(r) : Go::On;
    };
    fit(trainer, train, test.size() > 0 ? data::AnyDataset(test) : data::AnyDataset(), "tegula train translate", lr);
  }
  if (!is_first(ranks)) return;
  if (best_epoch == 0) translator.save(choice.out);  // no epochs
  std::printf("\nmodel: %s (epoch %lld)\n", choice.out.c_str(), static_cast<long long>(best_epoch));
  if (!history.empty()) draw_progress(choice.plot, history, "translate, " + choice.model);
}

}  // namespace

void add_train_translate(Command& train) {
  auto choice = std::make_shared<TranslateTraining>();
  Command command = train.command("translate", "a translator, from sentences in two languages");
  command.last_counts();
  command.option("files", choice->files, "two files, line by line, plain or gzipped; or one with a tab in each line")
      .required()
      .type("FILE");
  command.option("--validation", choice->validation, "the same, to measure by after each epoch").type("FILE");
  command.option("--hold-out", choice->hold_out, "without --validation: so many of the last pairs").check(not_negative()).type("N");
  command.option("--limit", choice->limit, "only the first N pairs").check(positive()).type("N");
  command.option("--longest", choice->longest, "tokens of a sentence; pairs with longer ones are left out")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--model", choice->model, "the net").check(one_of({"transformer", "lstm"})).shows_default();
  command.option("--alignment", choice->alignment, "the LSTM's attention: Bahdanau's, or Luong's with input feeding")
      .check(one_of({"additive", "general", "dot"}))
      .shows_default();
  command.option("--tokens", choice->tokens, "what sentences are cut into").check(one_of({"bpe", "words"})).shows_default();
  command.option("--vocabulary", choice->vocabulary, "tokens of each language").check(positive()).shows_default().type("N");
  command.option("--minimum", choice->minimum, "how often a word, or a pair of pieces, must come")
      .check(positive())
      .shows_default()
      .type("N");
  command.flag("--shared", choice->shared, "one vocabulary and one embedding for both languages");
  command.option("--width", choice->width, "features of a token").check(positive()).shows_default().type("N");
  command.option("--layers", choice->layers, "of encoder and decoder").check(positive()).shows_default().type("N");
  command.option("--heads", choice->heads, "of the transformer's attention").check(positive()).shows_default().type("N");
  command
      .option("--hidden", choice->hidden,
              "features within the transformer's feed-forward nets [4 times the width], of the LSTM [the width]")
      .check(positive())
      .type("N");
  command.option("--dropout", choice->dropout, "probability").check(between(0, 0.99)).shows_default().type("P");
  command.option("--label-smoothing", choice->smoothing, "share of each label that is spread over all tokens while training")
      .check(between(0, 1))
      .shows_default()
      .type("P");
  command.option("--epochs", choice->epochs, "passes over the pairs").check(not_negative()).shows_default().type("N");
  command.option("--batch", choice->batch, "pairs of a step, of similar length").check(positive()).shows_default().type("N");
  command.option("--lr", choice->lr, "greatest learning rate of the schedule [0.001; LSTM: 0.002]").check(positive_real()).type("X");
  command.option("--schedule", choice->schedule, "the learning rate over time")
      .check(one_of({"inverse-sqrt", "cosine", "constant"}))
      .shows_default();
  command.option("--warmup", choice->warmup, "steps in which the rate rises [a tenth, at most 4000]").check(positive()).type("N");
  command.option("--clip", choice->clip, "limit on the norm of the gradients, 0: none").check(between(0, 1e9)).shows_default().type("X");
  command.option("--patience", choice->patience, "epochs without a better validation loss that are borne, 0: all")
      .check(not_negative())
      .shows_default()
      .type("N");
  command.option("--bleu", choice->bleu, "validation sentences that are translated after each epoch")
      .check(not_negative())
      .shows_default()
      .type("N");
  command.option("--seed", choice->seed, "of weights, order and dropout: the same seed gives the same bits")
      .check(any_count())
      .shows_default()
      .type("S");
  command.option("--out", choice->out, "the model of the best epoch, with its tokenizers").check(not_empty()).shows_default().type("FILE");
  command.option("--plot", choice->plot, "the learning curve").check(not_empty()).shows_default().type("FILE");
  add_checkpoint(command, choice->checkpoint, choice->resume);
  add_options(command, choice->log);
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run_translate_training(*choice); });
}

}  // namespace tegula::app

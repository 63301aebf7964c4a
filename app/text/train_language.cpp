// tegula train char-lstm, tegula train gpt: language models on plain texts.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/fit.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/text/language_texts.h"
#include "app/train_log.h"
#include "tegula/core/error.h"
#include "tegula/core/interrupt.h"
#include "tegula/core/text.h"
#include "tegula/graph/precision.h"
#include "tegula/io/file.h"
#include "tegula/models/description.h"
#include "tegula/models/text/language_model.h"
#include "tegula/nn/state.h"
#include "tegula/optim/groups.h"
#include "tegula/optim/optimizers.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/text/token_windows.h"
#include "tegula/train/trainer.h"

namespace tegula::app {
namespace {

/// The sizes of a net; a checkpoint has them, too.
struct LanguageSizes {
  std::int64_t layers = 0, heads = 4, width = 128, embedding = 64, context = 64;
  double dropout = 0;
};

struct LanguageChoice : LanguageSizes {
  std::string op;  // "tegula train gpt"
  TextsChoice texts = {};
  LanguageSizes usual = {};  // default sizes
  bool half_residual = false, checkpoint_layers = false, print_memory = false;
  std::int64_t batch = 0, accumulate = 1, steps = 2000, warmup = 100;
  double lr = 1e-3, beta2 = 0.99, weight_decay = 0, clip = 1;
  std::optional<double> min_lr;
  std::int64_t eval_every = 250, eval_batches = 20;
  std::uint64_t seed = 0;
  std::string out, plot, checkpoint, resume;
  std::int64_t sample = 300;
  TrainLogChoice log;
  dist::Group ranks = {};
};

/// A net with the functions that differ between the kinds of nets.
struct Training {
  std::function<io::Metadata(const std::string& tokenizer_json)> describe;
  std::function<void(const std::string& path, const std::string& tokenizer_json)> save;
  data::AnyDataset train, interim, whole;  // to train on, to measure now and then, to measure at the end
  std::int64_t test_batch;
  double operations_per_token;  // floating-point, of a training step
};

/// Six operations per multiplied weight: two forward, and twice that for the gradients (Chowdhery et al., "PaLM", 2022, appendix B). Weights that are only looked up or added
/// do not count; a table that also gives the scores does.
double operations_of_weights(const Parameters& all, const std::vector<std::string>& looked_up) {
  double count = 0;
  for (const Parameter& p : all) {
    const bool is_table = std::find(looked_up.begin(), looked_up.end(), p.name) != looked_up.end();
    if (p.cell->shape().rank() > 1 && !is_table) count += static_cast<double>(numel(p.cell->shape()));
  }
  return 6 * count;
}

/// Operations per second of a rank's products with the precision that is set; 0: not known.
double peak_of_device() {
  const auto p = default_device().properties();
  switch (default_precision()) {
    case Precision::fp32: return p.f32;
    case Precision::tf32: return p.tf32 > 0 ? p.tf32 : p.f32;  // a device without it computes in fp32
    case Precision::bf16: return p.bf16;
    case Precision::fp16: return p.f16;
    case Precision::fp8: return p.fp8;
  }
  return 0;
}

/// The decay of weights is for matrices: biases and norms have none, as GPT-2 was trained.
std::unique_ptr<optim::Optimizer> make_optimizer(const Parameters& all, const LanguageChoice& choice) {
  const auto adamw = [&](const Parameters& of, double decay) {
    return std::make_unique<optim::AdamW>(of, optim::AdamWOptions{.lr = choice.lr, .beta2 = choice.beta2, .weight_decay = decay});
  };
  const auto [matrices, vectors] = optim::split(all, [](const Parameter& p) { return p.cell->shape().rank() > 1; });
  std::vector<std::unique_ptr<optim::Optimizer>> groups;
  groups.push_back(adamw(matrices, choice.weight_decay));
  if (!vectors.empty()) groups.push_back(adamw(vectors, 0));
  return std::make_unique<optim::ParameterGroups>(std::move(groups));
}

/// The course of a training in the terminal: a row for each validation, and a line between them.
class LanguageReport {
 public:
  LanguageReport(const LanguageChoice& choice, Trainer& trainer, std::int64_t tokens_per_row, double operations_per_token)
      : choice_(choice),
        trainer_(trainer),
        log_(choice.log),
        tokens_per_row_(tokens_per_row),
        operations_per_token_(operations_per_token),
        peak_(peak_of_device() * choice.ranks.size()) {
    trainer.on_step = [this](const StepReport& r) { step(r); };
    trainer.on_validation = [this](const ValidationReport& r) { validated(r); };
  }

  void begin(const Texts& texts, std::int64_t parameters) {
    log_.begin({{"command", choice_.op}, {"text", choice_.texts.files[0]}, {"tokenizer", choice_.texts.tokenizer}},
               {{"parameters", static_cast<double>(parameters)},
                {"train_tokens", static_cast<double>(texts.train->size())},
                {"validation_tokens", static_cast<double>(texts.validation->size())},
                {"batch", static_cast<double>(choice_.batch)},
                {"context", static_cast<double>(choice_.context)},
                {"steps", static_cast<double>(choice_.steps)},
                {"learning_rate", choice_.lr},
                {"seed", static_cast<double>(choice_.seed)}});
    std::printf("%s\n", table_.heading().c_str());
    std::fflush(stdout);
    begin_ = last_ = Clock::now();
  }

  double tokens_per_second() const { return tokens_ / seconds_; }
  /// Model FLOPs utilisation, "MFU 31 %": the model's own operations as a share of the device's peak; nothing if the peak is not known.
  std::string utilisation() const {
    const double share = operations_per_token_ * tokens_per_second() / peak_;
    return peak_ > 0 && std::isfinite(share) ? format("MFU %.*f %%", share < 0.1 ? 1 : 0, 100 * share) : "";
  }

 private:
  using Clock = std::chrono::steady_clock;

  void step(const StepReport& r) {
    const auto now = Clock::now();
    if (r.batch == first_batch_ || first_batch_ < 0) {  // compilation is no measure of speed
      first_batch_ = r.batch;
    } else {
      tokens_ += static_cast<double>(choice_.batch * tokens_per_row_);
      seconds_ += std::chrono::duration<double>(now - last_).count();
    }
    last_ = now;
    log_.step(r);
    if (!std::isfinite(r.loss)) return;
    recent_ = recent_ == 0 ? r.loss : 0.95 * recent_ + 0.05 * r.loss;
    if (line_.due()) {
      const double share = static_cast<double>(r.step) / static_cast<double>(choice_.steps);
      const double per_step = static_cast<double>(choice_.batch * choice_.accumulate * tokens_per_row_) / tokens_per_second();
      std::vector<ProgressLine::Segment> parts{
          {format("step %lld/%lld", static_cast<long long>(r.step), static_cast<long long>(choice_.steps)), 9},
          {bar(share, std::clamp(terminal_columns() - 70, 4, 24)), 2},
          {format(" loss %.4f", recent_), 8},
          {format(" lr %.2g", r.learning_rate), 3},
          {format(" %s tok/s", quantity(tokens_per_second()).c_str()), 6},
          {format(" ETA %s", clock(static_cast<double>(choice_.steps - r.step) * per_step).c_str()), 7}};
      if (const std::string share = utilisation(); !share.empty()) parts.insert(parts.end() - 1, {" " + share, 4});
      line_.show(parts);
    }
  }

  void validated(const ValidationReport& r) {
    line_.finish(table_.row({std::to_string(r.step), format("%.4f", r.train_loss), format("%.4f", r.test.loss),
                             duration(std::chrono::duration<double>(Clock::now() - begin_).count()), quantity(tokens_per_second())}));
    log_.validation(r);
    if (!choice_.checkpoint.empty()) trainer_.save(choice_.checkpoint);
    last_ = Clock::now();
  }

  const LanguageChoice& choice_;
  Trainer& trainer_;
  ProgressLine line_;
  ProgressTable table_{{{"step", 9, 7}, {"train loss", 7}, {"validation loss", 8}, {"time", 6, 8}, {"tokens/s", 3}}};
  TrainLog log_;
  std::int64_t tokens_per_row_, first_batch_ = -1;
  double operations_per_token_, peak_;
  Clock::time_point begin_, last_;
  double tokens_ = 0, seconds_ = 0, recent_ = 0;
};

void draw_validations(const LanguageChoice& choice, const std::vector<ValidationReport>& reports, const std::string& title) {
  io::Series train{.name = "training"}, test{.name = "validation"};
  for (const ValidationReport& r : reports) {
    train.x.push_back(static_cast<double>(r.step)), train.y.push_back(r.train_loss);
    test.x.push_back(static_cast<double>(r.step)), test.y.push_back(r.test.loss);
  }
  try {
    io::plot(choice.plot, {.title = title, .x_label = "step", .panels = {{.y_label = "nats per token", .series = {train, test}}}});
    std::printf("learning curve: %s\n", choice.plot.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

/// `forward`: the trained module, as the Trainer calls it. `training`: made of the texts.
template <class Forward, class MakeTraining>
void run_language(LanguageChoice choice, const Texts& texts, Forward& forward, const Loss& loss, const MakeTraining& make) {
  const Training training = make();
  const auto optimizer = make_optimizer(parameters(forward), choice);
  const double lowest = choice.min_lr.value_or(choice.lr / 10);
  Trainer trainer(forward, *optimizer, loss,
                  {.epochs = 1,
                   .steps = choice.steps,
                   .batch = choice.batch,
                   .test_batch = training.test_batch,
                   .seed = choice.seed,
                   .schedule = optim::CosineLR{.base = choice.lr, .total = choice.steps, .warmup = choice.warmup, .minimum = lowest},
                   .clip_norm = choice.clip,
                   .accumulate = choice.accumulate,
                   .validate_every = choice.eval_every,
                   .shuffle = false,
                   .group = choice.ranks,
                   .checkpoint = choice.checkpoint,
                   .metadata = training.describe(texts.tokenizer_json),
                   .stop_on_interrupt = true,
                   .progress = Progress::No});
  if (!choice.resume.empty()) trainer.resume(choice.resume);
  const std::int64_t count = num_parameters(forward);
  std::printf("%s: %s parameters, %lld tokens in the vocabulary. %s tokens to train on, %s to validate.\n", choice.op.c_str() + 13,
              quantity(static_cast<double>(count)).c_str(), static_cast<long long>(texts.tokenizer.size()),
              quantity(static_cast<double>(texts.train->size())).c_str(), quantity(static_cast<double>(texts.validation->size())).c_str());
  if (choice.ranks.size() > 1)
    std::printf("%d ranks, each with a part of every batch of %lld.\n", choice.ranks.size(), static_cast<long long>(choice.batch));
  std::string speed;
  {
    LanguageReport report(choice, trainer, choice.context, training.operations_per_token);
    report.begin(texts, count);
    fit(trainer, training.train, training.interim, choice.op, choice.lr);
    const std::string share = report.utilisation();
    if (std::isfinite(report.tokens_per_second()))  // needs two steps
      speed = "; " + quantity(report.tokens_per_second()) + " tokens/s" + (share.empty() ? "" : ", " + share);
  }
  if (choice.print_memory) std::printf("\n%s\n", trainer.print_memory().c_str());
  if (!choice.checkpoint.empty()) trainer.save(choice.checkpoint);
  const double measured = interrupted() ? std::nan("") : trainer.evaluator().evaluate(training.whole).loss;
  if (!is_first(choice.ranks)) return;
  training.save(choice.out, texts.tokenizer_json);
  if (interrupted()) {
    std::printf("model as far as it was trained: %s\n", choice.out.c_str());
    return;
  }
  std::printf("validation loss %.4f nats per token", measured);
  if (texts.characters_per_token > 1.005) std::printf(", %.4f per character", measured / texts.characters_per_token);
  std::printf("%s\n", speed.c_str());
  if (choice.sample > 0) {
    const models::LanguageModel model = models::load_language_model(choice.out);
    models::TextWriter write(model);
    std::printf("\n");
    write("", {.tokens = choice.sample, .on_text = [](std::size_t, std::string_view piece) {
                 std::fwrite(piece.data(), 1, piece.size(), stdout);
                 std::fflush(stdout);
               }});
    std::printf("\n\n");
  }
  std::printf("model: %s\n", choice.out.c_str());
  if (!trainer.validations().empty()) draw_validations(choice, trainer.validations(), choice.op.substr(13));
}

/// Takes the net's sizes of a continued training from its checkpoint. Throws Error if the user asks for others.
void take_sizes(LanguageChoice& choice) {
  const io::Metadata metadata = load_metadata(choice.resume);
  const models::Description file(metadata, choice.resume);
  const auto take = [&](const char* option, auto LanguageSizes::* size, const char* key) {
    if (!metadata.contains(key)) return;  // of another kind: loading it reports that
    using Size = std::decay_t<decltype(choice.*size)>;
    const auto saved = static_cast<Size>(file.number(key));
    if (choice.*size != choice.usual.*size && choice.*size != saved) {
      throw Error({.op = choice.op,
                   .got = format("%s %g to go on from %s, whose net has %g", option, static_cast<double>(choice.*size),
                                 choice.resume.c_str(), static_cast<double>(saved)),
                   .expected = "the sizes of the checkpoint",
                   .advice = std::string("leave ") + option + " out: the file says it"});
    }
    choice.*size = saved;
  };
  take("--layers", &LanguageSizes::layers, "tegula.layers");
  take("--heads", &LanguageSizes::heads, "tegula.heads");
  take("--width", &LanguageSizes::width, metadata.contains("tegula.hidden") ? "tegula.hidden" : "tegula.width");
  take("--embedding", &LanguageSizes::embedding, "tegula.embedding");
  take("--dropout", &LanguageSizes::dropout, "tegula.dropout");
  take("--context", &LanguageSizes::context, "tegula.context");
}

Texts begin(LanguageChoice& choice) {
  choice.ranks = training_ranks(choice.op);
  resume_after_restart(choice.checkpoint, choice.resume);
  if (!choice.resume.empty()) take_sizes(choice);
  if (!is_first(choice.ranks)) choice.log = {};
  const std::string name = choice.op.substr(13);
  if (choice.out.empty()) choice.out = name + ".safetensors";
  if (choice.plot.empty()) choice.plot = name + ".png";
  for (const std::string& file : {choice.out, choice.checkpoint}) {
    if (!file.empty() && is_first(choice.ranks)) io::require_writable(file, choice.op);
  }
  io::require_picture(choice.plot);
  manual_seed(choice.seed);
  return read_texts(choice.texts, choice.op);
}

/// The net as the Trainer calls it: returns the features for the scores, which the loss takes.
struct GptForTraining {
  models::Gpt2& net;
  Tensor operator()(Tensor tokens) { return net.hidden(tokens); }
  void visit(nn::Visitor& visitor, const nn::Path& path) { nn::visit(net, visitor, path); }
};

void run_gpt(LanguageChoice choice) {
  const Texts texts = begin(choice);
  models::Gpt2 net({.vocabulary = texts.tokenizer.size(),
                    .width = choice.width,
                    .layers = choice.layers,
                    .heads = choice.heads,
                    .context = choice.context,
                    .dropout = choice.dropout,
                    .residual = choice.half_residual ? std::optional(storage_of(default_precision())) : std::nullopt,
                    .checkpoint_layers = choice.checkpoint_layers});
  GptForTraining forward{net};
  const Loss loss = [&net](const Tensor& features, const Tensor& labels) {
    return models::next_token_loss(features, net.wte.weight, labels);
  };
  run_language(choice, texts, forward, loss, [&] {
    return Training{.describe = [&](const std::string& json) { return models::describe(net, json); },
                    .save = [&](const std::string& path, const std::string& json) { models::save_language_model(path, net, json); },
                    .train = text::RandomWindows(texts.train, choice.context, text::endless(choice.batch)),
                    .interim = text::Windows(texts.validation, choice.context, choice.eval_batches * choice.batch),
                    .whole = text::Windows(texts.validation, choice.context),
                    .test_batch = choice.batch,
                    .operations_per_token = operations_of_weights(parameters(net), {"wpe.weight"}) +
                                            12.0 * static_cast<double>(choice.layers * choice.width * choice.context)};
  });
}

void run_lstm(LanguageChoice choice) {
  const Texts texts = begin(choice);
  models::LstmLanguageModel net({.vocabulary = texts.tokenizer.size(),
                                 .embedding = choice.embedding,
                                 .hidden = choice.width,
                                 .layers = choice.layers,
                                 .dropout = choice.dropout});
  const auto tokens = static_cast<std::int64_t>(texts.validation->size());
  const std::int64_t streams = std::clamp<std::int64_t>((tokens - 1) / choice.context, 1, choice.batch);
  for (const std::int64_t rows : {choice.batch, streams}) {
    if (rows % choice.ranks.size() == 0) continue;
    throw Error({.op = choice.op,
                 .got = std::to_string(rows) + (rows == choice.batch ? " streams of text" : " streams of text to validate on") + " for " +
                        std::to_string(choice.ranks.size()) + " ranks",
                 .expected = "as many for each, whose states it carries from batch to batch",
                 .advice = "choose --batch, of which each row is a stream, or a longer text to validate on"});
  }
  models::CarriedLstm forward(net, choice.batch, streams, choice.ranks);
  const Loss loss = [&net](const Tensor& features, const Tensor& labels) {
    return models::next_token_loss(features, net.output.weight, labels, net.output.bias);
  };
  run_language(choice, texts, forward, loss, [&] {
    return Training{.describe = [&](const std::string& json) { return models::describe(net, json); },
                    .save = [&](const std::string& path, const std::string& json) { models::save_language_model(path, net, json); },
                    .train = text::Streams(texts.train, choice.batch, choice.context, text::endless(choice.batch)),
                    .interim = text::Streams(texts.validation, streams, choice.context,
                                             streams * std::min(choice.eval_batches, (tokens - 1) / streams / choice.context)),
                    .whole = text::Streams(texts.validation, streams, choice.context),
                    .test_batch = streams,
                    .operations_per_token = operations_of_weights(parameters(net), {"embedding.weight"})};
  });
}

void add_options(Command& command, LanguageChoice& c) {
  command.last_counts();
  command
      .option(
          "files", c.texts.files,
          "texts, plain or gzipped, one behind the other; or files of tokens (.bin) as tegula tokenize --out, nanoGPT and llm.c write them")
      .required()
      .type("TEXT");
  command.option("--validation-file", c.texts.validation_file, "a text to validate on, instead of the end of the others")
      .check(not_empty())
      .type("TEXT");
  command.option("--validation", c.texts.validation, "share of the text, at its end, to validate on")
      .check(between(0.0001, 0.9))
      .shows_default()
      .type("P");
  command
      .option("--tokenizer", c.texts.tokenizer,
              "char: the characters of the text; or tokenizer.json, or a folder with vocab.json and merges.txt")
      .check(not_empty())
      .shows_default()
      .type("TOKENIZER");
  command.option("--layers", c.layers, "of the net").check(positive()).shows_default().type("N");
  command.option("--context", c.context, "tokens of a training sample").check(positive()).shows_default().type("N");
  command.option("--dropout", c.dropout, "probability").check(between(0, 0.99)).shows_default().type("P");
  command.option("--batch", c.batch, "samples of a step, or of each part of it").check(positive()).shows_default().type("N");
  command.option("--accumulate", c.accumulate, "parts of a step, whose gradients are added").check(positive()).shows_default().type("N");
  command.option("--steps", c.steps, "of the optimizer").check(positive()).shows_default().type("N");
  command.option("--lr", c.lr, "greatest learning rate").check(positive_real()).shows_default().type("X");
  command.option("--min-lr", c.min_lr, "where its cosine ends [a tenth of the greatest]").check(positive_real()).type("X");
  command.option("--warmup", c.warmup, "steps in which the rate rises").check(not_negative()).shows_default().type("N");
  command.option("--beta2", c.beta2, "of AdamW").check(between(0, 0.99999)).shows_default().type("X");
  command.option("--weight-decay", c.weight_decay, "of matrices").check(between(0, 1e6)).shows_default().type("X");
  command.option("--clip", c.clip, "limit on the norm of all gradients; 0: none").check(between(0, 1e9)).shows_default().type("X");
  command.option("--eval-every", c.eval_every, "steps between two validations").check(positive()).shows_default().type("N");
  command.option("--eval-batches", c.eval_batches, "batches of each of them; at the end the whole text is validated")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--seed", c.seed, "the same seed gives the same bits").check(any_count()).shows_default().type("S");
  const std::string name = command.name();
  command.option("--out", c.out, "the model with its tokenizer [" + name + ".safetensors]").check(not_empty()).type("FILE");
  command.option("--plot", c.plot, "the learning curve [" + name + ".png]").check(not_empty()).type("FILE");
  command.option("--checkpoint", c.checkpoint, "written after each validation: everything needed to go on").check(not_empty()).type("FILE");
  command
      .option("--resume", c.resume,
              "go on from a checkpoint, which says the sizes of the net, with the other options of that training; --steps may be more")
      .check(not_empty())
      .type("FILE");
  add_options(command, c.log);
  command.flag("--print-memory", c.print_memory, "what a training step holds in memory: the peak, what makes it up, its course");
  command.option("--sample", c.sample, "tokens of a text to write at the end").check(not_negative()).shows_default().type("N");
  add_precision(command);
  add_device_option(command);
}

}  // namespace

void add_train_language(Command& train) {
  {
    auto choice = std::make_shared<LanguageChoice>();
    *choice = {{.layers = 2, .width = 256}, "tegula train char-lstm"};
    choice->batch = 32, choice->lr = 2e-3, choice->usual = *choice;
    Command command = train.command("char-lstm", "an LSTM that writes on, from plain texts");
    command.option("--width", choice->width, "numbers of each layer's state").check(positive()).shows_default().type("N");
    command.option("--embedding", choice->embedding, "numbers of a token").check(positive()).shows_default().type("N");
    add_options(command, *choice);
    command.runs([choice] { run_lstm(*choice); });
  }
  {
    auto choice = std::make_shared<LanguageChoice>();
    *choice = {{.layers = 4}, "tegula train gpt"};
    choice->batch = 12, choice->weight_decay = 0.1, choice->usual = *choice;
    Command command = train.command("gpt", "a transformer that writes on (GPT-2), from plain texts");
    command.option("--width", choice->width, "numbers of a token within the net").check(positive()).shows_default().type("N");
    command.option("--heads", choice->heads, "of its attention").check(positive()).shows_default().type("N");
    command.flag("--checkpoint-layers", choice->checkpoint_layers,
                 "what is within a layer is computed again in the backward pass instead of kept: less memory, more work");
    command.flag("--half-residual", choice->half_residual, "with --precision bf16: the sums between the layers are kept in it, too");
    add_options(command, *choice);
    command.runs([choice] { run_gpt(*choice); });
  }
}

}  // namespace tegula::app

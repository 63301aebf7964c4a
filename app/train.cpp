// tegula train: a model from nothing to a file, with a progress line and a picture of the learning curve.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/commands.h"
#include "app/fit.h"
#include "app/objects/generative.h"
#include "app/objects/objects.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/text/classify.h"
#include "app/train_log.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/dist/exchange/group.h"
#include "tegula/io/file.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/timeline.h"
#include "tegula/train/trainer.h"

namespace tegula::app {
namespace {

template <class O, class Options>
std::unique_ptr<optim::Optimizer> build(const Parameters& parameters, Options options, double lr) {
  options.lr = lr;
  return std::make_unique<O>(parameters, options);
}

/// An optimiser by name. Its rate, unless given, is `ratio` times that of Adam for the model.
struct OptimizerEntry {
  std::string name;
  double ratio;
  double constant, cosine;  // the share of it that these schedules bear: they begin with the rate that one-cycle only reaches later
  std::unique_ptr<optim::Optimizer> (*make)(const Parameters& parameters, double lr);
};
const OptimizerEntry kOptimizers[] = {
    {"adam", 1, 1, 1, [](const Parameters& p, double lr) { return build<optim::Adam>(p, optim::AdamOptions{}, lr); }},
    {"adamw", 1, 1, 1, [](const Parameters& p, double lr) { return build<optim::AdamW>(p, optim::AdamWOptions{}, lr); }},
    {"sgd", 20, 0.25, 0.5,
     [](const Parameters& p, double lr) { return build<optim::SGD>(p, optim::SGDOptions{.momentum = 0.9, .nesterov = true}, lr); }},
    {"rmsprop", 0.5, 1, 1, [](const Parameters& p, double lr) { return build<optim::RMSprop>(p, optim::RMSpropOptions{}, lr); }},
    {"adagrad", 5, 1, 1, [](const Parameters& p, double lr) { return build<optim::Adagrad>(p, optim::AdagradOptions{}, lr); }},
    {"adadelta", 250, 1, 1, [](const Parameters& p, double lr) { return build<optim::Adadelta>(p, optim::AdadeltaOptions{}, lr); }},
    {"lion", 0.1, 1, 1, [](const Parameters& p, double lr) { return build<optim::Lion>(p, optim::LionOptions{}, lr); }},
};

const OptimizerEntry& find_optimizer(const std::string& name) {
  for (const auto& entry : kOptimizers) {
    if (entry.name == name) return entry;
  }
  throw Error({.op = "tegula train", .got = "the optimizer " + name, .expected = "one that --help lists"});
}

double share_of_rate(const OptimizerEntry& entry, const std::string& schedule) {
  return schedule == "constant" ? entry.constant : schedule == "cosine" ? entry.cosine : 1;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& entry : kOptimizers) names.push_back(entry.name);
  return names;
}

struct TrainChoice {
  ModelChoice model;
  DataChoice data;
  std::int64_t epochs = 5, batch = 128;
  std::optional<double> lr;
  double smoothing = 0.1;
  std::string optimizer = "adam", schedule = "one-cycle";
  std::uint64_t seed = 0;
  std::string out, plot, checkpoint, resume, timeline;
  TrainLogChoice log;
  std::int64_t show = 6;
  std::int64_t shard = 0;
  std::string exchange;
  bool print_precision = false;
};

optim::Schedule make_schedule(const TrainChoice& choice, double lr, std::int64_t steps) {
  if (choice.schedule == "one-cycle") return optim::OneCycleLR{.maximum = lr, .total = std::max<std::int64_t>(2, steps), .pct_start = 0.2};
  if (choice.schedule == "cosine") return optim::CosineLR{.base = lr, .total = steps, .warmup = steps / 20};
  return optim::ConstantLR{lr};
}

/// Cross-entropy against labels that are `smoothing` uncertain; the plain loss is reported.
Loss make_objective(double smoothing) {
  if (smoothing == 0) return {};
  return [smoothing](const Tensor& scores, const Tensor& labels) { return cross_entropy(scores, labels, {.label_smoothing = smoothing}); };
}

void keep_log(Trainer& trainer, TrainLog& log) {
  trainer.on_step = [&log](const StepReport& r) { log.step(r); };
  trainer.on_epoch = [&log](const EpochRecord& r) { log.epoch(r); };
}

/// The first test images with the model's predictions.
void show_some(models::Model& model, const data::ArrayDataset& test, std::int64_t count) {
  const data::ArrayDataset some = test.first(count);
  if (some.size() == 0) return;
  const auto guesses = classify(model, some.inputs);
  std::printf("\n%s", draw(some.inputs, guesses, some.targets.values<std::int64_t>()).c_str());
}

void draw_curve(const std::string& path, const History& history, const std::string& title) {
  try {
    io::plot(path, learning_curve(history, title));
    std::printf("learning curve: %s\n", path.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

std::string told_by(TimelineRecorder& recorder, const std::string& path) {
  try {
    return "\n" + recorder.finish() + "timeline: " + path + "\n";
  } catch (const Error& error) {  // nor is this picture
    std::fprintf(stderr, "tegula: no timeline: %s\n", error.what());
    return "";
  }
}

void run(TrainChoice choice) {
  const dist::Group ranks = training_ranks("tegula train");
  resume_after_restart(choice.checkpoint, choice.resume);
  const models::Entry& listed = models::find(choice.model.name_or_file);
  if (choice.out.empty()) choice.out = choice.model.name_or_file + ".safetensors";
  if (choice.plot.empty()) choice.plot = choice.model.name_or_file + ".png";
  // An hour of training must not end in a file that cannot be written.
  for (const std::string& file : {choice.out, choice.checkpoint}) {
    if (!file.empty() && is_first(ranks)) io::require_writable(file, "tegula train");
  }
  io::require_picture(choice.plot);
  manual_seed(choice.seed);
  models::Model model = make_model(choice.model);
  const Sets sets = read_sets(choice.data, model.input);
  std::printf("%s: %s parameters. %s.\n", model.name.c_str(), quantity(static_cast<double>(num_parameters(model.net))).c_str(),
              sets.description.c_str());

  const OptimizerEntry& entry = find_optimizer(choice.optimizer);
  const double lr = choice.lr.value_or(entry.ratio * listed.lr * share_of_rate(entry, choice.schedule));
  const auto optimizer = entry.make(parameters(model.net), lr);
  const std::int64_t batch = std::min(choice.batch, sets.train.size());
  Trainer trainer(model.net, *optimizer, cross_entropy,
                  {.epochs = choice.epochs,
                   .batch = batch,
                   .seed = choice.seed,
                   .schedule = make_schedule(choice, lr, choice.epochs * (sets.train.size() / batch)),
                   .objective = make_objective(choice.smoothing),
                   .group = ranks,
                   .shard = static_cast<int>(choice.shard),
                   .exchange = precision_of(choice.exchange),
                   .checkpoint = choice.checkpoint,
                   .metadata = models::describe(model),
                   .stop_on_interrupt = true,
                   .progress = Progress::Yes,
                   .progress_rows = "images"});
  if (!choice.resume.empty()) trainer.resume(choice.resume);

  if (ranks.size() > 1) std::printf("%d ranks, each with a part of every batch of %lld.\n", ranks.size(), static_cast<long long>(batch));
  if (!is_first(ranks)) choice.log = {};
  TrainLog log(choice.log);
  log.begin({{"model", model.name}, {"optimizer", choice.optimizer}, {"schedule", choice.schedule}, {"data", sets.description}},
            {{"parameters", static_cast<double>(num_parameters(model.net))},
             {"epochs", static_cast<double>(choice.epochs)},
             {"batch", static_cast<double>(batch)},
             {"learning_rate", lr},
             {"seed", static_cast<double>(choice.seed)}});
  History history;
  std::string exchanges;
  {
    std::optional<TimelineRecorder> recorder;
    if (!choice.timeline.empty()) recorder.emplace(choice.timeline, ranks);
    keep_log(trainer, log);
    history = fit(trainer, sets.changed, sets.test, "tegula train", lr);
    if (recorder) exchanges = told_by(*recorder, choice.timeline);
  }
  std::printf("%s", exchanges.c_str());
  if (choice.print_precision) std::printf("\n%s", trainer.print_precision().c_str());
  if (const auto* scaler = trainer.loss_scaler()) {
    std::printf("\nloss scale %g, %lld steps skipped\n", scaler->scale().read().item<double>(),
                static_cast<long long>(scaler->skipped().read().item<std::int64_t>()));
  }
  if (!is_first(ranks)) return;
  models::save(choice.out, model);
  show_some(model, sets.test, choice.show);
  std::printf("\nmodel: %s\n", choice.out.c_str());
  if (!history.empty()) draw_curve(choice.plot, history, model.name);
}

}  // namespace

void add_train(Command& app) {
  auto choice = std::make_shared<TrainChoice>();
  Command command = app.command("train", "train a model, save it, draw its learning curve");
  command.last_counts();
  add_options(command, choice->model);
  add_options(command, choice->data);
  command.option("--epochs", choice->epochs, "passes over the training images").check(not_negative()).shows_default().type("N");
  command.option("--batch", choice->batch, "images per step").check(positive()).shows_default().type("N");
  command.option("--lr", choice->lr, "greatest learning rate of the schedule; else what suits model, optimizer and schedule")
      .check(positive_real())
      .type("X");
  command.option("--label-smoothing", choice->smoothing, "share of each label that is spread over all classes while training")
      .check(between(0.0, 1.0))
      .shows_default()
      .type("P");
  command.option("--optimizer", choice->optimizer, "how weights are updated").check(one_of(optimizer_names())).shows_default();
  command.option("--schedule", choice->schedule, "the learning rate over time")
      .check(one_of({"one-cycle", "cosine", "constant"}))
      .shows_default();
  command.option("--seed", choice->seed, "of weights, order and dropout: the same seed gives the same bits")
      .check(any_count())
      .shows_default()
      .type("S");
  command.option("--out", choice->out, "the trained model [MODEL.safetensors]").check(not_empty()).type("FILE");
  command.option("--plot", choice->plot, "the learning curve [MODEL.png]").check(not_empty()).type("FILE");
  add_checkpoint(command, choice->checkpoint, choice->resume);
  add_options(command, choice->log);
  command
      .option(
          "--timeline", choice->timeline,
          "what each rank computes and exchanges when: .json for chrome://tracing or ui.perfetto.dev, .png or .svg for a picture of a step")
      .check(not_empty())
      .type("FILE");
  command
      .option("--shard", choice->shard,
              "of which state each of the ranks of `tegula launch` keeps a part: 1 the optimizer's, 2 gradients, too, 3 parameters, too; "
              "0: none")
      .check(between(0, 3))
      .shows_default()
      .type("N");
  command
      .option(
          "--exchange", choice->exchange,
          "as what gradients travel between ranks: bf16, half of the bytes, or fp8, a quarter, with what rounding takes added to the next; "
          "else as they are")
      .check(one_of({"bf16", "fp8"}));
  add_precision(command);
  command.flag("--print-precision", choice->print_precision, "what each op of the training step reads, computes in and stores");
  command.option("--show", choice->show, "classified test images to draw at the end").check(not_negative()).shows_default().type("N");
  add_device_option(command);
  command.runs([choice] { run(*choice); });
  add_train_table(command);
  add_train_images(command);
  add_train_unet(command);
  add_train_detector(command);
  add_train_gan(command);
  add_train_vae(command);
  add_train_text(command);
  add_train_translate(command);
  add_train_bert(command);
  add_train_language(command);
  add_train_classifier(command);
}

}  // namespace tegula::app

// tegula train classify: classes of texts, from a file with labels to a model. tegula classify: the classes of other texts.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include "app/commands.h"
#include "app/fit.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/train_log.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/split.h"
#include "tegula/io/file.h"
#include "tegula/models/text/text_classifier.h"
#include "tegula/nn/state.h"
#include "tegula/optim/optimizers.h"
#include "tegula/text/labelled_texts.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/tokenizer_texts.h"
#include "tegula/train/metrics.h"
#include "tegula/train/trainer.h"

namespace tegula::app {
namespace {

constexpr const char* kTrainClassify = "tegula train classify";

struct ClassifierChoice {
  std::string file, validation_file, test_file, tokenizer = "words", net = "lstm";
  text::LabelledTextsOptions columns;
  double validation = 0.1;
  std::int64_t minimum = 2, most = 0, longest = 256;
  std::int64_t layers = 1, width = 128, hidden = 128, heads = 4;
  bool bidirectional = true;
  double dropout = 0.5, lr = 1e-3, clip = 1;
  std::int64_t epochs = 20, batch = 32, patience = 3;
  std::uint64_t seed = 0;
  std::string out = "classify.safetensors", plot = "classify.png", checkpoint, resume;
  TrainLogChoice log;
};

/// The texts for training, for choosing the best epoch, and for the final measurement, with their tokenizer.
struct ClassifierTexts {
  text::LabelledTexts train, validation, test;
  std::vector<std::string> classes;
  std::string tokenizer_json;
  text::Tokenizer tokenizer;
};

text::LabelledTexts some_of(const text::LabelledTexts& all, std::span<const std::int64_t> rows) {
  text::LabelledTexts out;
  for (const std::int64_t row : rows) {
    out.texts.push_back(all.texts[static_cast<std::size_t>(row)]);
    out.labels.push_back(all.labels[static_cast<std::size_t>(row)]);
  }
  return out;
}

ClassifierTexts read_classifier_texts(const ClassifierChoice& choice) {
  text::LabelledTexts train = text::read_labelled_texts(choice.file, choice.columns), validation, test;
  const std::vector<std::string> classes = text::classes_of(train);
  if (classes.size() < 2)
    throw Error({.op = kTrainClassify, .got = choice.file + ", texts of one class", .expected = "at least two classes"});
  if (!choice.validation_file.empty()) {
    validation = text::read_labelled_texts(choice.validation_file, choice.columns);
  } else {
    std::vector<std::int64_t> rows(train.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
    data::RandomStream random(choice.seed, 0);
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(static_cast<std::uint32_t>(i))]);
    const auto held = std::max<std::size_t>(1, static_cast<std::size_t>(choice.validation * static_cast<double>(rows.size())));
    validation = some_of(train, std::span(rows).first(held));
    train = some_of(train, std::span(rows).subspan(held));
  }
  if (!choice.test_file.empty()) test = text::read_labelled_texts(choice.test_file, choice.columns);
  const std::string json =
      choice.tokenizer != "words"
          ? text::read_tokenizer_json(choice.tokenizer)
          : text::words_json(text::count_vocabulary(text::count_words(train.texts),
                                                    {.minimum = choice.minimum, .most = choice.most, .first = {"<pad>", "<unk>"}}),
                             "<unk>");
  return {std::move(train), std::move(validation), std::move(test), classes, json, text::parse_tokenizer_json(json, choice.tokenizer)};
}

void print_test(Evaluator& evaluator, const text::LabelledSequences& test, const std::vector<std::string>& classes) {
  metrics::ConfusionMatrix matrix(classes);
  data::Sampler sampler(test.size(), {.batch = 100});
  for (auto rows = sampler.next(); !rows.empty(); rows = sampler.next()) {
    std::vector<HostArray> batch = test.gather(rows);
    const Tensor labels = from_array(batch[2]);
    matrix.add(evaluator.outputs({from_array(batch[0]), from_array(batch[1])})[0], labels);
  }
  std::printf("test accuracy %.2f %% of %lld texts, macro F1 %.4f\n\n%s", 100 * matrix.accuracy(), static_cast<long long>(test.size()),
              matrix.macro_f1(), matrix.print().c_str());
}

template <class Net>
void train_classifier(const ClassifierChoice& choice, const ClassifierTexts& texts, Net& net, std::int64_t longest) {
  const dist::Group ranks = dist::world();
  const auto sequences = [&](const text::LabelledTexts& of) {
    return text::LabelledSequences(of, texts.tokenizer, texts.classes, longest);
  };
  const text::LabelledSequences train = sequences(texts.train);
  optim::Adam adam(parameters(net), {.lr = choice.lr});
  const std::int64_t batch = std::min(choice.batch, train.size());
  Trainer trainer(
      net, adam, cross_entropy,
      {.epochs = choice.epochs,
       .batch = batch,
       .test_batch = 100,
       .seed = choice.seed,
       .clip_norm = choice.clip,
       .lengths = train.lengths(),
       .group = ranks,
       .checkpoint = choice.checkpoint,
       .early_stopping =
           EarlyStopping{.patience = choice.patience, .value = [](const EpochRecord& r) { return -r.test_accuracy; }, .restore_best = true},
       .progress = Progress::No});
  if (!choice.resume.empty()) trainer.resume(choice.resume);
  std::printf("%s classifier: %s parameters, %lld words. %zu texts to train on, %zu to validate, %zu classes.\n", choice.net.c_str(),
              quantity(static_cast<double>(num_parameters(net))).c_str(), static_cast<long long>(texts.tokenizer.size()),
              texts.train.size(), texts.validation.size(), texts.classes.size());
  TrainLog log(is_first(ranks) ? choice.log : TrainLogChoice());
  log.begin({{"command", kTrainClassify}, {"net", choice.net}, {"texts", choice.file}},
            {{"parameters", static_cast<double>(num_parameters(net))},
             {"batch", static_cast<double>(batch)},
             {"learning_rate", choice.lr},
             {"seed", static_cast<double>(choice.seed)}});
  History history;
  {
    ProgressLine line;
    const ProgressTable table(
        {{"epoch", 9}, {"train loss", 7}, {"right", 4, 8}, {"validation loss", 5}, {"right", 8, 8}, {"time", 6, 8}, {"texts/s", 3}});
    std::printf("%s\n", table.heading().c_str());
    std::fflush(stdout);
    trainer.on_step = [&](const StepReport& r) {
      log.step(r);
      if (!std::isfinite(r.loss) || !line.due()) return;
      line.show({{format("epoch %lld/%lld", static_cast<long long>(r.epoch), static_cast<long long>(r.epochs)), 9},
                 {bar(static_cast<double>(r.batch) / static_cast<double>(r.batches), 20), 2},
                 {format(" loss %.4f", r.mean_loss), 8},
                 {format(" %.1f %% right", 100 * r.mean_accuracy), 6},
                 {format(" %s texts/s", quantity(r.rows_per_second).c_str()), 3}});
    };
    trainer.on_epoch = [&](const EpochRecord& r) {
      line.finish(table.row({std::to_string(r.epoch), format("%.4f", r.train_loss), format("%.2f %%", 100 * r.train_accuracy),
                             format("%.4f", r.test_loss), format("%.2f %%", 100 * r.test_accuracy), duration(r.seconds),
                             quantity(r.rows_per_second)}));
      log.epoch(r);
    };
    history = fit(trainer, train, sequences(texts.validation).by_length(), kTrainClassify, choice.lr);
  }
  if (!is_first(ranks)) return;
  double best_accuracy = -1;
  for (const EpochRecord& r : history) best_accuracy = std::max(best_accuracy, r.test_accuracy);
  models::save_text_classifier(choice.out, net, texts.tokenizer_json, texts.classes);
  if (best_accuracy >= 0) std::printf("best validation accuracy %.2f %%\n", 100 * best_accuracy);
  if (texts.test.size() > 0) print_test(trainer.evaluator(), sequences(texts.test).by_length(), texts.classes);
  std::printf("model: %s\n", choice.out.c_str());
  try {
    io::plot(choice.plot, learning_curve(history, choice.net + " classifier"));
    std::printf("learning curve: %s\n", choice.plot.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

void run_train_classifier(ClassifierChoice choice) {
  const bool writes = is_first(training_ranks(kTrainClassify));
  resume_after_restart(choice.checkpoint, choice.resume);
  for (const std::string& file : {choice.out, choice.checkpoint}) {
    if (writes && !file.empty()) io::require_writable(file, kTrainClassify);
  }
  io::require_picture(choice.plot);
  manual_seed(choice.seed);
  const ClassifierTexts texts = read_classifier_texts(choice);
  const auto classes = static_cast<std::int64_t>(texts.classes.size());
  if (choice.net == "lstm") {
    models::LstmClassifier net({.vocabulary = texts.tokenizer.size(),
                                .classes = classes,
                                .embedding = choice.width,
                                .hidden = choice.hidden,
                                .layers = choice.layers,
                                .bidirectional = choice.bidirectional,
                                .dropout = choice.dropout});
    return train_classifier(choice, texts, net, choice.longest);
  }
  const std::int64_t context = (choice.longest + 7) / 8 * 8;
  models::TransformerClassifier net({.vocabulary = texts.tokenizer.size(),
                                     .classes = classes,
                                     .width = choice.width,
                                     .heads = choice.heads,
                                     .hidden = choice.hidden,
                                     .layers = choice.layers,
                                     .context = context,
                                     .dropout = choice.dropout});
  train_classifier(choice, texts, net, choice.longest);
}

struct ClassifyChoice {
  std::string file;
  std::vector<std::string> texts;
  std::int64_t count = 2;
};

void run_classify(const ClassifyChoice& choice) {
  const models::TextClassifier model = models::load_text_classifier(choice.file);
  const auto classes = static_cast<std::int64_t>(model.classes.size());
  const auto show = [&](const std::string& text) {
    const std::vector<float> p = model.probabilities({text}).to_host();
    std::vector<std::size_t> order(p.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
    for (std::int64_t i = 0; i < std::min(choice.count, classes); ++i) {
      const std::size_t c = order[static_cast<std::size_t>(i)];
      std::printf("%s%s %.1f %%", i ? ", " : "", model.classes[c].c_str(), 100 * p[c]);
    }
    std::printf("\t%s\n", text.c_str());
  };
  for (const std::string& text : choice.texts) show(text);
  if (!choice.texts.empty()) return;
  for (std::string line; std::getline(std::cin, line);) show(line);
}

}  // namespace

void add_train_classifier(Command& train) {
  auto choice = std::make_shared<ClassifierChoice>();
  ClassifierChoice& c = *choice;
  Command command = train.command("classify", "classes of texts, from lines with a label and a text");
  command.last_counts();
  command.option("file", c.file, "texts with labels in front, a tab or a blank between them").required().type("TEXT");
  command.option("--validation-file", c.validation_file, "the same, to stop by").check(not_empty()).type("TEXT");
  command.option("--validation", c.validation, "else this share of the texts, drawn at random")
      .check(between(0.0001, 0.9))
      .shows_default()
      .type("P");
  command.option("--test", c.test_file, "the same, measured with the best weights at the end").check(not_empty()).type("TEXT");
  command.option("--text-column", c.columns.text_column, "of tables whose first line names the columns (CSV, TSV)")
      .check(not_empty())
      .type("NAME");
  command.option("--label-column", c.columns.label_column, "of the same").check(not_empty()).type("NAME");
  command
      .option("--tokenizer", c.tokenizer,
              "words: those of the texts, in lower case; or tokenizer.json, or a folder with vocab.json and merges.txt")
      .check(not_empty())
      .shows_default()
      .type("TOKENIZER");
  command.option("--minimum", c.minimum, "how often a word must come").check(positive()).shows_default().type("N");
  command.option("--most", c.most, "words, at most; 0: all").check(not_negative()).shows_default().type("N");
  command.option("--longest", c.longest, "tokens of a text that are looked at").check(positive()).shows_default().type("N");
  command.option("--net", c.net, "what reads the texts").check(one_of({"lstm", "transformer"})).shows_default();
  command.option("--layers", c.layers, "of the net").check(positive()).shows_default().type("N");
  command.option("--width", c.width, "numbers of a word").check(positive()).shows_default().type("N");
  command.option("--hidden", c.hidden, "numbers of the LSTM's state, or of a feed-forward layer")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--heads", c.heads, "of a transformer's attention").check(positive()).shows_default().type("N");
  command.flag("!--one-direction", c.bidirectional, "an LSTM that reads from the first word to the last only");
  command.option("--dropout", c.dropout, "probability").check(between(0, 0.99)).shows_default().type("P");
  command.option("--epochs", c.epochs, "passes over the texts, at most").check(positive()).shows_default().type("N");
  command.option("--patience", c.patience, "epochs without a better validation before it stops")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--batch", c.batch, "texts per step, of similar length").check(positive()).shows_default().type("N");
  command.option("--lr", c.lr, "learning rate of Adam").check(positive_real()).shows_default().type("X");
  command.option("--clip", c.clip, "limit on the norm of all gradients; 0: none").check(between(0, 1e9)).shows_default().type("X");
  command.option("--seed", c.seed, "the same seed gives the same bits").check(any_count()).shows_default().type("S");
  command.option("--out", c.out, "the model with its tokenizer and classes").check(not_empty()).shows_default().type("FILE");
  command.option("--plot", c.plot, "the learning curve").check(not_empty()).shows_default().type("FILE");
  add_checkpoint(command, c.checkpoint, c.resume);
  add_options(command, c.log);
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run_train_classifier(*choice); });
}

void add_classify(Command& app) {
  auto choice = std::make_shared<ClassifyChoice>();
  Command command = app.command("classify", "the classes of texts");
  command.option("file", choice->file, "a model of tegula train classify, or of train bert --classify").required().type("FILE");
  command.option("texts", choice->texts, "none: each line that comes in").type("TEXT");
  command.option("--count", choice->count, "classes to name").check(positive()).shows_default().type("N");
  add_device_option(command);
  command.runs([choice] { run_classify(*choice); });
}

}  // namespace tegula::app

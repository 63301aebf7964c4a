// tegula train bert: a BERT from plain texts (masked tokens), and from it a classifier of sentences, or a model that finds answers in texts.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>

#include "app/commands.h"
#include "app/fit.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/text/answer.h"
#include "app/train_log.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/models/text/answers.h"
#include "tegula/models/text/bert.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/optim/optimizers.h"
#include "tegula/text/labelled_texts.h"
#include "tegula/text/lines.h"
#include "tegula/text/squad.h"
#include "tegula/text/token_sets.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/tokens/wordpiece.h"
#include "tegula/train/trainer.h"

namespace tegula::app {
namespace {

constexpr const char* kTrainBert = "tegula train bert";

struct BertTraining {
  std::vector<std::string> files, validation, test;
  bool classify = false, pairs = false, questions = false, scratch = false, cased = false;
  std::string from, vocabulary_file;
  std::int64_t vocabulary = 8000, width = 128, layers = 2, heads = 4, hidden = 0, stride = 128;
  std::int64_t length = 0;  // 0: the usual one
  double dropout = 0.1;
  std::optional<double> lr;
  std::int64_t epochs = 3, batch = 32;
  std::uint64_t seed = 0;
  std::string out = "bert.safetensors", plot = "bert.png", checkpoint, resume;
  TrainLogChoice log;
};

/// For the Trainer: tokens and positions, scores of the positions.
struct Masked {
  models::BertForMaskedLM net;
  Tensor operator()(const Tensor& tokens, const Tensor& places) const { return net.at(tokens, places); }
  void visit(nn::Visitor& visitor, const nn::Path& path) { nn::visit(net, visitor, path); }
};
/// Tokens and lengths, scores of the classes.
struct Classifier {
  models::BertForSequenceClassification net;
  std::optional<std::int64_t> separator = {};  // of pairs
  Tensor operator()(const Tensor& tokens, const Tensor& lengths) const {
    return net(tokens, {.lengths = lengths, .token_types = separator ? models::pair_types(tokens, *separator) : Tensor()});
  }
  void visit(nn::Visitor& visitor, const nn::Path& path) { nn::visit(net, visitor, path); }
};
/// Tokens, segments and lengths, scores of the first and the last token of an answer.
struct Answering {
  models::BertForQuestionAnswering net;
  std::vector<Tensor> operator()(const Tensor& tokens, const Tensor& types, const Tensor& lengths) const {
    return net(tokens, {.lengths = lengths, .token_types = types});
  }
  void visit(nn::Visitor& visitor, const nn::Path& path) { nn::visit(net, visitor, path); }
};

std::string bert_texts(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) all += text::read_text(file, kTrainBert) + "\n";
  return all;
}

text::Case letters_of(const BertTraining& choice) { return choice.cased ? text::Case::Kept : text::Case::Lower; }

/// tokenizer.json of a file's vocabulary, or one that is trained on the text.
std::string make_tokenizer(const BertTraining& choice, const std::string& content) {
  if (!choice.vocabulary_file.empty())
    return text::wordpiece_tokenizer_json(text::read_vocabulary(choice.vocabulary_file), letters_of(choice));
  text::TextMap<std::int64_t> counts;
  text::count_bert_words(content, letters_of(choice), counts);
  return text::wordpiece_tokenizer_json(text::train_wordpiece(counts, {.vocabulary = choice.vocabulary}), letters_of(choice));
}

std::int64_t length_of(const BertTraining& choice) { return choice.length > 0 ? choice.length : choice.questions ? 384 : 64; }
bool is_fine_tuning(const BertTraining& choice) { return choice.classify || choice.questions; }

models::BertOptions sizes_of(const BertTraining& choice, std::int64_t vocabulary) {
  return {.vocabulary = vocabulary,
          .width = choice.width,
          .layers = choice.layers,
          .heads = choice.heads,
          .hidden = choice.hidden > 0 ? choice.hidden : 4 * choice.width,
          .context = std::max<std::int64_t>(length_of(choice), 128),
          .dropout = choice.dropout};
}

/// One class a line: "label<blank or tab>text".
struct Labelled {
  std::vector<std::string> texts, labels;
};
Labelled read_labelled(const std::vector<std::string>& files) {
  Labelled out;
  for (const std::string& file : files) {
    std::size_t number = 0;
    for (const std::string& line : text::read_lines(file)) {
      ++number;
      if (line.empty()) continue;
      const auto end = line.find_first_of(" \t");
      if (end == 0 || end == std::string::npos)
        throw Error({.op = kTrainBert,
                     .got = file + ", line " + std::to_string(number) + ": " + printable(line.substr(0, 40)),
                     .expected = "a label, a blank or tab, and a text"});
      out.labels.push_back(line.substr(0, end));
      out.texts.push_back(line.substr(end + 1));
    }
  }
  return out;
}

text::LabelledTokens labelled_tokens(const Labelled& data, const text::Tokenizer& tokenizer, const std::vector<std::string>& classes,
                                     std::int64_t longest, bool pairs) {
  std::vector<text::Ids> sequences;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < data.texts.size(); ++i) {
    const auto found = std::ranges::find(classes, data.labels[i]);
    if (found == classes.end())
      throw Error({.op = kTrainBert,
                   .got = "the label " + printable(data.labels[i].substr(0, 40)),
                   .expected = "one of the training texts' labels"});
    sequences.push_back((pairs ? text::framed_pair : text::framed_tokens)(tokenizer, data.texts[i], longest));
    numbers.push_back(found - classes.begin());
  }
  return {std::move(sequences), std::move(numbers)};
}

/// Shared by both trainings, around Trainer::fit.
template <class Model>
History train_and_report(const BertTraining& choice, Model& model, TrainerOptions options, const Loss& loss, const data::AnyDataset& train,
                         const data::AnyDataset& test, const models::ModelDescription& description, const char* share,
                         const std::function<void(Evaluator&)>& measure = {}) {
  const double lr = choice.lr.value_or(is_fine_tuning(choice) ? 2e-4 : 1e-3);
  const std::int64_t batch = std::min(choice.batch, train.size()), steps = choice.epochs * std::max<std::int64_t>(1, train.size() / batch);
  optim::AdamW adam(parameters(model), {.lr = lr, .weight_decay = 0.01});
  options.epochs = choice.epochs, options.batch = batch, options.test_batch = batch, options.seed = choice.seed;
  options.schedule = optim::CosineLR{.base = lr, .total = steps, .warmup = steps / 10};
  options.clip_norm = 1;
  options.group = dist::world();
  options.checkpoint = choice.checkpoint, options.metadata = models::metadata_of(description), options.stop_on_interrupt = true;
  options.progress = Progress::No;
  if (choice.classify && test.size() > 0) {  // a few labels are learnt by heart soon
    options.early_stopping = EarlyStopping{
        .patience = choice.epochs, .value = [](const EpochRecord& r) { return -r.test_metrics.at("right"); }, .restore_best = true};
  }
  if (choice.questions && test.size() > 0) options.early_stopping = EarlyStopping{.patience = choice.epochs, .restore_best = true};
  std::printf("%s: %s parameters, a vocabulary of %s. %s samples to learn from, %s for validation.\n", description.kind.c_str(),
              quantity(static_cast<double>(num_parameters(model))).c_str(), quantity(description.numbers.at("vocabulary")).c_str(),
              quantity(static_cast<double>(train.size())).c_str(), quantity(static_cast<double>(test.size())).c_str());
  const ProgressTable table(
      {{"epoch", 9}, {"train loss", 7}, {share, 4, 8}, {"validation", 5}, {share, 8, 8}, {"time", 6, 8}, {"samples/s", 3}});
  std::printf("%s\n", table.heading().c_str());
  std::fflush(stdout);
  Trainer trainer(model, adam, loss, std::move(options));
  if (!choice.resume.empty()) trainer.resume(choice.resume);
  TrainLog log(is_first(dist::world()) ? choice.log : TrainLogChoice());
  log.begin({{"model", description.kind}}, {description.numbers.begin(), description.numbers.end()});
  ProgressLine line;
  trainer.on_step = [&](const StepReport& r) {
    log.step(r);
    if (!std::isfinite(r.loss) || !line.due()) return;
    line.show({{format("epoch %lld/%lld", static_cast<long long>(r.epoch), static_cast<long long>(r.epochs)), 9},
               {format("%lld/%lld", static_cast<long long>(r.batch), static_cast<long long>(r.batches)), 5},
               {format(" loss %.4f", r.mean_loss), 8},
               {format(" %s samples/s", quantity(r.rows_per_second).c_str()), 6},
               {format(" ETA %s", clock(r.seconds_left).c_str()), 7}});
  };
  trainer.on_epoch = [&](const EpochRecord& r) {
    log.epoch(r);
    const auto right = [](const std::map<std::string, double>& metrics) {
      const auto found = metrics.find("right");
      return found == metrics.end() || std::isnan(found->second) ? std::string("-") : format("%.2f %%", 100 * found->second);
    };
    line.finish(table.row({std::to_string(r.epoch), format("%.4f", r.train_loss), right(r.train_metrics),
                           std::isnan(r.test_loss) ? "-" : format("%.4f", r.test_loss), right(r.test_metrics), duration(r.seconds),
                           quantity(r.rows_per_second)}));
  };
  History history = fit(trainer, train, test, kTrainBert, lr);
  double best_share = -1;
  for (const EpochRecord& r : history) {
    if (const auto found = r.test_metrics.find("right"); choice.classify && found != r.test_metrics.end())
      best_share = std::max(best_share, found->second);
  }
  if (best_share >= 0) std::printf("\nbest validation accuracy %.2f %%\n", 100 * best_share);
  if (measure) measure(trainer.evaluator());
  return history;
}

/// The share of greatest scores that are the labels; whatever axes are in front.
Tensor right_share(const Tensor& scores, const Tensor& labels) { return mean(cast(argmax(scores, -1) == labels, f32)); }

void finish_bert(const BertTraining& choice, History history, const models::ModelDescription& description, const StateDict& state) {
  if (!is_first(dist::world())) return;
  models::write_model_file(choice.out, description, state);
  std::printf("\nmodel: %s\n", choice.out.c_str());
  if (history.empty()) return;
  for (EpochRecord& r : history)
    r.train_accuracy = r.train_metrics.contains("right") ? r.train_metrics["right"] : std::nan(""),
    r.test_accuracy = r.test_metrics.contains("right") ? r.test_metrics["right"] : std::nan("");
  try {
    const char* const what = choice.questions ? "bert, questions" : choice.classify ? "bert, classification" : "bert, masked tokens";
    io::plot(choice.plot, learning_curve(history, what));
    std::printf("learning curve: %s\n", choice.plot.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

models::ModelFile read_bert(const std::string& path) {
  models::ModelFile file = models::read_model_file(path);
  const std::string& kind = file.description.kind;
  if (kind != models::kBertMaskedKind && kind != models::kBertClassifierKind && kind != models::kBertAnswersKind)
    throw Error(
        {.op = kTrainBert,
         .got = path + ": a model of kind " + kind,
         .expected = std::string(models::kBertMaskedKind) + ", " + models::kBertClassifierKind + " or " + models::kBertAnswersKind});
  return file;
}

/// Begins with the encoder of a file: the heads are new.
template <class Model>
void load_encoder(Model& model, const models::ModelFile& file) {
  StateDict encoder;
  for (const NamedTensor& tensor : file.state)
    if (tensor.name.starts_with("bert.")) encoder.push_back(tensor);
  load(model, encoder, Strict::No);
}

void run_masked(const BertTraining& choice) {
  const std::string content = bert_texts(choice.files);
  std::optional<models::ModelFile> from;
  if (!choice.from.empty()) from = read_bert(choice.from);
  const std::string tokenizer_json = from ? from->description.text("tokenizer", choice.from) : make_tokenizer(choice, content);
  const text::Tokenizer tokenizer = text::parse_tokenizer_json(tokenizer_json, from ? choice.from : "the tokenizer");
  const models::BertOptions options = from ? models::bert_options(from->description, choice.from) : sizes_of(choice, tokenizer.size());
  Masked model{models::BertForMaskedLM(options)};
  if (from) load(model, from->state);
  const auto set_of = [&](const std::string& text) {
    const text::Id mask = tokenizer.id("[MASK]");
    return text::MaskedTokens(tokenizer.encode(text, text::SpecialTokens::No), {.length = std::min(length_of(choice), options.context),
                                                                                .first = tokenizer.id("[CLS]"),
                                                                                .end = tokenizer.id("[SEP]"),
                                                                                .mask = mask,
                                                                                .vocabulary = tokenizer.size(),
                                                                                .ordinary = mask + 1});
  };
  models::ModelDescription description = models::describe(options, models::kBertMaskedKind);
  description.texts["tokenizer"] = tokenizer_json;
  const auto loss = [](const Tensor& scores, const Tensor& labels) {
    return cross_entropy(reshape(scores, {-1, scores.size(2)}), reshape(labels, {-1}));
  };
  const History history = train_and_report(
      choice, model, {.metrics = {{"right", right_share}}, .inputs = 2}, loss, set_of(content),
      choice.validation.empty() ? data::AnyDataset() : data::AnyDataset(set_of(bert_texts(choice.validation))), description, "guessed");
  finish_bert(choice, history, description, state_dict(model));
}

void run_classifier(const BertTraining& choice) {
  const Labelled train = read_labelled(choice.files), test = read_labelled(choice.validation), measured = read_labelled(choice.test);
  std::optional<models::ModelFile> from;
  if (!choice.from.empty()) from = read_bert(choice.from);
  std::string content;
  for (const std::string& text : train.texts) content += text + "\n";
  const std::string tokenizer_json = from ? from->description.text("tokenizer", choice.from) : make_tokenizer(choice, content);
  const text::Tokenizer tokenizer = text::parse_tokenizer_json(tokenizer_json, from ? choice.from : "the tokenizer");
  models::BertOptions options = from ? models::bert_options(from->description, choice.from) : sizes_of(choice, tokenizer.size());
  options.dropout = choice.dropout;
  std::vector<std::string> classes = train.labels;
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  if (classes.size() < 2) throw Error({.op = kTrainBert, .got = std::to_string(classes.size()) + " labels", .expected = "two or more"});
  Classifier model{models::BertForSequenceClassification(options, static_cast<std::int64_t>(classes.size()))};
  if (choice.pairs) model.separator = tokenizer.id("[SEP]");
  if (from && !choice.scratch) load_encoder(model, *from);
  const std::int64_t longest = std::min(options.context, std::max<std::int64_t>(length_of(choice), choice.pairs ? 5 : 3));
  const auto set_of = [&](const Labelled& data) { return labelled_tokens(data, tokenizer, classes, longest, choice.pairs); };
  const text::LabelledTokens train_set = set_of(train), test_set = set_of(test).sorted(), measured_set = set_of(measured).sorted();
  models::ModelDescription description = models::describe(options, models::kBertClassifierKind);
  description.texts["tokenizer"] = tokenizer_json;
  if (choice.pairs) description.numbers["pairs"] = 1;
  for (const std::string& name : classes) description.texts["classes"] += (description.texts["classes"].empty() ? "" : "\n") + name;
  const History history = train_and_report(
      choice, model, {.metrics = {{"right", right_share}}, .inputs = 2, .lengths = train_set.lengths()}, cross_entropy, train_set,
      test_set.size() > 0 ? data::AnyDataset(test_set) : data::AnyDataset(), description, "right", [&](Evaluator& evaluator) {
        if (measured_set.size() == 0) return;
        std::printf("test accuracy %.2f %% of %lld texts\n", 100 * evaluator.evaluate(measured_set).metrics.at("right"),
                    static_cast<long long>(measured_set.size()));
      });
  finish_bert(choice, history, description, state_dict(model));
}

std::vector<text::Question> read_questions(const std::vector<std::string>& files) {
  std::vector<text::Question> out;
  for (const std::string& file : files)
    for (text::Question& one : text::read_squad(file)) out.push_back(std::move(one));
  return out;
}

void run_questions(const BertTraining& choice) {
  const std::vector<text::Question> train = read_questions(choice.files), test = read_questions(choice.validation),
                                    measured = read_questions(choice.test);
  if (train.empty()) throw Error({.op = kTrainBert, .got = "no questions", .expected = "at least one"});
  std::optional<models::ModelFile> from;
  if (!choice.from.empty()) from = read_bert(choice.from);
  std::string content;
  for (std::size_t i = 0; i < train.size(); ++i) {
    content += train[i].text + "\n";
    if (i == 0 || train[i].context != train[i - 1].context) content += train[i].context + "\n";
  }
  const std::string tokenizer_json = from ? from->description.text("tokenizer", choice.from) : make_tokenizer(choice, content);
  const text::Tokenizer tokenizer = text::parse_tokenizer_json(tokenizer_json, from ? choice.from : "the tokenizer");
  models::BertOptions options = from ? models::bert_options(from->description, choice.from) : sizes_of(choice, tokenizer.size());
  options.dropout = choice.dropout;
  const std::int64_t length = std::min(length_of(choice), options.context);
  const models::AnswerWindowOptions cut{.length = length,
                                        .stride = std::min(choice.stride, std::max<std::int64_t>(1, length / 2)),
                                        .question = std::max<std::int64_t>(1, std::min<std::int64_t>(64, length / 4))};
  const bool unanswered = std::ranges::any_of(train, [](const text::Question& one) { return one.answers.empty(); });
  Answering model{models::BertForQuestionAnswering(options)};
  if (from && !choice.scratch) load_encoder(model, *from);
  models::ModelDescription description = models::describe(options, models::kBertAnswersKind);
  description.texts["tokenizer"] = tokenizer_json;
  for (const auto& [name, value] : {std::pair("length", cut.length), {"stride", cut.stride}, {"question", cut.question}})
    description.numbers[name] = static_cast<double>(value);
  description.numbers["unanswered"] = unanswered ? 1 : 0;
  const auto windows = [&](const std::vector<text::Question>& questions) { return models::AnswerWindows(questions, tokenizer, cut); };
  const models::AnswerWindows test_set = windows(test);
  const History history = train_and_report(
      choice, model, {.inputs = 3}, Loss(models::answer_loss), windows(train),
      test_set.size() > 0 ? data::AnyDataset(test_set) : data::AnyDataset(), description, "right", [&](Evaluator& evaluator) {
        const auto measure = [&](const char* what, const models::AnswerWindows& set) {
          if (set.size() == 0) return;
          const std::vector<Tensor> scores = evaluator.predict_all(set);
          const auto predictions = set.best(scores[0], scores[1], {.may_be_unanswered = unanswered});
          std::printf("%s: %s\n", what, answer_scores_text(text::score_answers(set.questions(), predictions)).c_str());
        };
        std::printf("\n");
        measure("validation", test_set);
        measure("test", windows(measured));
      });
  finish_bert(choice, history, description, state_dict(model));
}

}  // namespace

void add_train_bert(Command& train) {
  auto choice = std::make_shared<BertTraining>();
  Command command = train.command("bert", "a BERT from plain texts, and from it a classifier of sentences, or what finds answers in texts");
  command.last_counts();
  command
      .option("files", choice->files,
              "texts, plain or gzipped; with --classify a label, a blank or tab, and a text in each line; with --questions SQuAD's files "
              "(.json)")
      .required()
      .type("TEXT");
  command.option("--validation", choice->validation, "the same, to measure by").type("TEXT");
  command
      .option("--test", choice->test,
              "with --classify or --questions: the same, measured with the weights of the best validation at the end")
      .type("TEXT");
  command.flag("--classify", choice->classify, "learn the labels of texts instead of masked tokens");
  command.flag(
      "--pairs", choice->pairs,
      "with --classify: a tab separates two texts in each line, and the label is that of the pair (does one follow from the other?)");
  command.flag("--questions", choice->questions, "learn where the answers to questions stand in texts");
  command.option("--from", choice->from, "begin with this model's tokenizer, sizes and weights").check(not_empty()).type("MODEL");
  command.flag("--scratch", choice->scratch, "with --from and --classify or --questions: its tokenizer and sizes, but new weights");
  command.option("--wordpieces", choice->vocabulary_file, "this vocab.txt instead of a vocabulary that is trained on the texts")
      .check(not_empty())
      .type("FILE");
  command.option("--vocabulary", choice->vocabulary, "tokens, special ones and characters included")
      .check(positive())
      .shows_default()
      .type("N");
  command.flag("--cased", choice->cased, "capitals and accents count");
  command.option("--width", choice->width, "features of a token").check(positive()).shows_default().type("N");
  command.option("--layers", choice->layers, "of the encoder").check(positive()).shows_default().type("N");
  command.option("--heads", choice->heads, "of attention").check(positive()).shows_default().type("N");
  command.option("--hidden", choice->hidden, "features within the feed-forward nets [4 times the width]").check(positive()).type("N");
  command.option("--length", choice->length, "tokens of a sample; longer texts are cut [64; --questions: 384]").check(positive()).type("N");
  command.option("--stride", choice->stride, "with --questions: tokens from the beginning of a part of a text to that of the next one")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--dropout", choice->dropout, "probability").check(between(0, 0.99)).shows_default().type("P");
  command.option("--epochs", choice->epochs, "passes over the texts").check(not_negative()).shows_default().type("N");
  command.option("--batch", choice->batch, "samples of a step").check(positive()).shows_default().type("N");
  command
      .option(
          "--lr", choice->lr,
          "greatest learning rate; it rises in a tenth of the steps, then falls as a cosine [0.001; --classify and --questions: 0.0002]")
      .check(positive_real())
      .type("X");
  command.option("--seed", choice->seed, "of weights, order, masks and dropout: the same seed gives the same bits")
      .check(any_count())
      .shows_default()
      .type("S");
  command.option("--out", choice->out, "the model, with its tokenizer").check(not_empty()).shows_default().type("FILE");
  command.option("--plot", choice->plot, "the learning curve").check(not_empty()).shows_default().type("FILE");
  add_checkpoint(command, choice->checkpoint, choice->resume);
  add_options(command, choice->log);
  add_precision(command);
  add_device_option(command);
  command.runs([choice] {
    const bool first = is_first(training_ranks(kTrainBert));
    resume_after_restart(choice->checkpoint, choice->resume);
    for (const std::string& file : {choice->out, choice->checkpoint}) {
      if (!file.empty() && first) io::require_writable(file, kTrainBert);
    }
    io::require_picture(choice->plot);
    manual_seed(choice->seed);
    if (choice->scratch && choice->from.empty())
      throw Error({.op = kTrainBert, .got = "--scratch without --from", .expected = "a model whose sizes and tokenizer are taken"});
    if (choice->questions && choice->classify)
      throw Error({.op = kTrainBert, .got = "--questions and --classify", .expected = "one of them"});
    if (choice->pairs && !choice->classify)
      throw Error({.op = kTrainBert, .got = "--pairs without --classify", .expected = "labels of pairs of texts"});
    if (choice->questions) run_questions(*choice);
    else if (choice->classify) run_classifier(*choice);
    else run_masked(*choice);
  });
}

}  // namespace tegula::app

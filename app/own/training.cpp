#include "app/own/training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "app/fit.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/split.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/safetensors.h"

namespace tegula::app {

void add_options(Command& command, OwnTraining& c, const std::string& rows) {
  command.option("--validation", c.validation, "share of the " + rows + ", drawn at random, that the best weights are chosen by")
      .check(between(0.0001, 0.9))
      .shows_default()
      .type("P");
  command.option("--epochs", c.epochs, "passes over the " + rows + ", at most").check(positive()).shows_default().type("N");
  command.option("--patience", c.patience, "epochs without a better validation before it stops")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--batch", c.batch, rows + " per step").check(positive()).shows_default().type("N");
  command.option("--lr", c.lr, "learning rate of AdamW, at its greatest").check(positive_real()).shows_default().type("X");
  command.option("--weight-decay", c.weight_decay, "of AdamW").check(between(0, 10)).shows_default().type("X");
  command.option("--seed", c.seed, "the same seed gives the same bits").check(any_count()).shows_default().type("S");
  command.option("--out", c.out, "the model with all that belongs to it").check(not_empty()).shows_default().type("FILE");
  command.option("--plot", c.plot, "the learning curve").check(not_empty()).shows_default().type("FILE");
  add_checkpoint(command, c.checkpoint, c.resume);
  add_options(command, c.log);
  add_precision(command);
  add_device_option(command);
}

void begin(const OwnTraining& choice) {
  for (const std::string& file : {choice.out, choice.checkpoint}) {
    if (!file.empty()) io::require_writable(file, choice.op);
  }
  io::require_picture(choice.plot);
  manual_seed(choice.seed);
}

Goodness right_answers() {
  return {"right", [](const EpochRecord& r) { return format("%.2f %%", 100 * r.test_accuracy); },
          [](const EpochRecord& r) { return -r.test_accuracy; }};
}

RowSplit split_rows(std::int64_t rows, const OwnTraining& choice, const std::vector<std::int64_t>& classes) {
  if (rows < 2)
    throw Error(
        {.op = choice.op, .got = std::to_string(rows) + " rows", .expected = "at least two: one to train on and one to measure by"});
  const double least = 1.0 / static_cast<double>(rows), share = std::clamp(choice.validation, least, 1 - least);
  auto parts = data::split(rows, {1 - share, share}, {.seed = choice.seed, .strata = classes});
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return {std::move(parts[0]), std::move(parts[1])};
}

EarlyStopping best_of(const OwnTraining& choice, const Goodness& goodness) {
  return {.patience = choice.patience, .value = goodness.badness, .restore_best = true};
}

History train_with_report(Trainer& trainer, const OwnTraining& choice, const Goodness& goodness, const std::string& rows,
                          const data::AnyDataset& train, const data::AnyDataset& test) {
  TrainLog log(choice.log);
  log.begin({{"command", choice.op}, {"model", choice.out}}, {{"train_rows", static_cast<double>(train.size())},
                                                              {"test_rows", static_cast<double>(test.size())},
                                                              {"learning_rate", choice.lr},
                                                              {"seed", static_cast<double>(choice.seed)}});
  ProgressLine line;
  const ProgressTable table(
      {{"epoch", 9}, {"train loss", 7}, {"validation loss", 5}, {goodness.name, 8, 10}, {"time", 6, 8}, {rows + "/s", 3}});
  std::printf("%s\n", table.heading().c_str());
  std::fflush(stdout);
  trainer.on_step = [&](const StepReport& r) {
    log.step(r);
    if (!std::isfinite(r.loss) || !line.due()) return;
    line.show({{format("epoch %lld/%lld", static_cast<long long>(r.epoch), static_cast<long long>(r.epochs)), 9},
               {bar(static_cast<double>(r.batch) / static_cast<double>(r.batches), 20), 2},
               {format(" loss %.4f", r.mean_loss), 8},
               {format(" %s %s/s", quantity(r.rows_per_second).c_str(), rows.c_str()), 3},
               {format(" ETA %s", clock(r.seconds_left).c_str()), 7}});
  };
  trainer.on_epoch = [&](const EpochRecord& r) {
    line.finish(table.row({std::to_string(r.epoch), format("%.4f", r.train_loss), format("%.4f", r.test_loss), goodness.text(r),
                           duration(r.seconds), quantity(r.rows_per_second)}));
    log.epoch(r);
  };
  if (!choice.resume.empty()) trainer.resume(choice.resume);
  return fit(trainer, train, test, choice.op, choice.lr);
}

void draw_curve(const std::string& path, const History& history, const std::string& title) {
  try {
    io::plot(path, learning_curve(history, title));
    std::printf("learning curve: %s\n", path.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

std::string kind_of_model(const std::string& path) {
  constexpr std::string_view kExpected = "a model: a safetensors file that Tegula wrote, an ONNX file or a graph file";
  const io::Bytes begin = io::beginning_of(path, "tegula");
  io::refuse_other_kinds(begin, {io::FileKind::Safetensors}, "tegula", path, kExpected);
  if (io::kind_of(begin) == io::FileKind::Unknown && !path.ends_with(".safetensors"))  // whose reader says what is damaged
    throw Error({.op = "tegula",
                 .got = printable(path) + ", which is none of the kinds of files that are known",
                 .expected = std::string(kExpected)});
  const io::Metadata metadata = load_metadata(path);
  const auto found = metadata.find("tegula.model");
  return found == metadata.end() ? "" : found->second;
}

std::optional<std::pair<std::string, std::string>> own_parts(const std::string& folder) {
  if (!io::is_folder(folder + "/train")) return {};
  for (const char* name : {"/val", "/valid", "/validation", "/test"}) {
    if (io::is_folder(folder + name)) return std::pair(folder + "/train", folder + name);
  }
  return {};
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + printable(name);
  return out;
}

}  // namespace tegula::app

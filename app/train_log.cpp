#include "app/train_log.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/io/event_file.h"

namespace tegula::app {

using Json = nlohmann::ordered_json;

struct TrainLog::Files {
  std::FILE* lines = nullptr;
  std::optional<io::EventFile> events;
  std::int64_t step = 0;

  ~Files() {
    if (lines) std::fclose(lines);
  }
  void write(const Json& record) {
    if (lines) std::fprintf(lines, "%s\n", record.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    if (lines) std::fflush(lines);
  }
};

TrainLog::TrainLog(TrainLogChoice choice) : choice_(std::move(choice)), files_(std::make_unique<Files>()) {
  if (!choice_.file.empty()) {
    files_->lines = std::fopen(choice_.file.c_str(), "ae");
    if (!files_->lines) {
      throw Error({.op = "tegula train", .got = choice_.file + ": " + std::strerror(errno), .expected = "a file that can be written"});
    }
  }
  if (!choice_.folder.empty()) files_->events.emplace(choice_.folder);
}
TrainLog::~TrainLog() = default;

void TrainLog::begin(const std::vector<std::pair<std::string, std::string>>& texts,
                     const std::vector<std::pair<std::string, double>>& numbers) {
  Json record{{"event", "begin"}};
  for (const auto& [name, text] : texts) record[name] = text;
  for (const auto& [name, value] : numbers) {  // a count is written as one
    if (value == std::floor(value) && std::abs(value) < 0x1p53) record[name] = static_cast<std::int64_t>(value);
    else record[name] = value;
  }
  files_->write(record);
}

void TrainLog::step(const StepReport& r) {
  files_->step = r.step;
  if (r.step % choice_.every != 0 && std::isfinite(r.loss)) return;  // the line that ends a training is always written
  files_->write({{"event", "step"},
                 {"step", r.step},
                 {"epoch", r.epoch},
                 {"loss", r.loss},
                 {"learning_rate", r.learning_rate},
                 {"rows_per_second", r.rows_per_second}});
  if (!files_->events) return;
  files_->events->scalar("step/loss", r.step, r.loss);
  files_->events->scalar("step/learning_rate", r.step, r.learning_rate);
}

void TrainLog::epoch(const EpochRecord& r) {
  Json line{{"event", "epoch"},
            {"epoch", r.epoch},
            {"step", files_->step},
            {"train_loss", r.train_loss},
            {"train_accuracy", r.train_accuracy},
            {"test_loss", r.test_loss},
            {"test_accuracy", r.test_accuracy},
            {"seconds", r.seconds},
            {"rows_per_second", r.rows_per_second}};
  for (const auto& [name, value] : r.train_metrics) line["train_" + name] = value;
  for (const auto& [name, value] : r.test_metrics) line["test_" + name] = value;
  files_->write(line);
  if (!files_->events) return;
  for (const auto& [tag, value] : {std::pair("loss/train", r.train_loss), std::pair("loss/test", r.test_loss),
                                   std::pair("accuracy/train", r.train_accuracy), std::pair("accuracy/test", r.test_accuracy)}) {
    if (!std::isnan(value)) files_->events->scalar(tag, r.epoch, value);
  }
}

void TrainLog::validation(const ValidationReport& r) {
  files_->write({{"event", "validation"}, {"step", r.step}, {"train_loss", r.train_loss}, {"test_loss", r.test.loss}});
  if (!files_->events) return;
  files_->events->scalar("loss/train", r.step, r.train_loss);
  files_->events->scalar("loss/test", r.step, r.test.loss);
}

}  // namespace tegula::app

#pragma once
// The course of a training for programs: JSON lines, and TensorBoard's event files.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tegula/train/trainer.h"

namespace tegula::app {

struct TrainLogChoice {
  std::string file, folder;  // empty: none
  std::int64_t every = 50;   // steps
};

/// Each line of the file is an object: {"event": "begin", …}, {"event": "step", …}, {"event": "epoch", …}; a non-finite number is null. Lines are
/// written as they come, behind what the file holds already.
class TrainLog {
 public:
  /// Throws Error when file or folder cannot be written.
  explicit TrainLog(TrainLogChoice choice);
  ~TrainLog();
  TrainLog(const TrainLog&) = delete;
  TrainLog& operator=(const TrainLog&) = delete;

  void begin(const std::vector<std::pair<std::string, std::string>>& texts, const std::vector<std::pair<std::string, double>>& numbers);
  void step(const StepReport& report);
  void epoch(const EpochRecord& record);
  void validation(const ValidationReport& report);  // {"event": "validation", …}

 private:
  struct Files;
  TrainLogChoice choice_;
  std::unique_ptr<Files> files_;
};

}  // namespace tegula::app

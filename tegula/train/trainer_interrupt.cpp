// The end of a Trainer when the program is asked to stop.

#include <cmath>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/core/interrupt.h"
#include "tegula/core/warning.h"
#include "tegula/dist/collectives/collectives.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/train/trainer.h"

namespace tegula {

/// True if this rank or another one was asked to stop. Ranks exchange this after every tenth batch, and after epochs (0).
bool Trainer::is_interrupted(std::int64_t batch) const {
  constexpr std::int64_t kBetweenQuestions = 10;  // an exchange each
  if (!options_.stop_on_interrupt) return false;
  if (!has_ranks()) return interrupted() != 0;
  if (batch % kBetweenQuestions != 0) return false;
  const Tensor mine(interrupted() != 0 ? 1.f : 0.f, where_);
  return dist::all_reduce(Arg(mine, where_), options_.group).item() > 0;
}

/// `saved`: the checkpoint of the epoch that ends here is there.
void Trainer::end_interrupted(std::int64_t epoch, std::int64_t step, bool saved, double last_loss) {
  const std::string& path = options_.checkpoint->path;
  const bool has_best = options_.checkpoint->best_only && std::isfinite(saved_);  // which stays
  std::string rest = "with a checkpoint it could go on from here: TrainerOptions::checkpoint, or --checkpoint FILE";
  if (!path.empty() && !saved && !std::isfinite(last_loss)) {
    rest = "the loss is no number, the checkpoint from before stays";
  } else if (!path.empty()) {
    rest = path + " has what is needed to go on: trainer.resume(\"" + path + "\"), or --resume " + path;
    try {
      if (!saved && !has_best) save(path);
    } catch (const Error& error) { rest = "no checkpoint was written: " + std::string(error.what()); }
  }
  const int signal = interrupted();
  const std::string by =
      signal != 0 ? std::string("by signal ") + std::to_string(signal) + " (" + ::strsignal(signal) + ")" : "by another rank";
  warn("train.interrupted", "the training was stopped " + by + " after " + std::to_string(step) + " steps, in epoch " +
                                std::to_string(epoch) + " of " + std::to_string(options_.epochs) + "; " + rest);
}

}  // namespace tegula

#include "app/fit.h"

#include "app/progress.h"

namespace tegula::app {

History fit(Trainer& trainer, const data::AnyDataset& train, const data::AnyDataset& test, const std::string& op, double lr) {
  try {
    return trainer.fit(train, test);
  } catch (const Diverged& error) {
    throw Error({.op = op,
                 .got = error.report().got,
                 .expected = error.report().expected,
                 .advice = format("choose a learning rate below %g (--lr); no model is saved, a checkpoint of earlier epochs stays", lr)});
  }
}

}  // namespace tegula::app

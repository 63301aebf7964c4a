#pragma once

#include <string>

#include "tegula/train/trainer.h"

namespace tegula::app {

/// Trainer::fit for the command `op`. If the loss is no number, the Error is the command's, and its advice names --lr.
History fit(Trainer& trainer, const data::AnyDataset& train, const data::AnyDataset& test, const std::string& op, double lr);

}  // namespace tegula::app

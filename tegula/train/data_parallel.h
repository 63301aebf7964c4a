#pragma once
// dist::data_parallel(net): one line that makes a training one of several ranks.

#include "tegula/dist/parallel/data_parallel.h"
#include "tegula/nn/module.h"

namespace tegula::dist {

/// Gives all ranks rank 0's weights and buffers, and returns what reduces gradients. The Trainer does all of it by itself (TrainerOptions::group).
template <nn::Module Model>
DataParallel data_parallel(Model& model, DataParallelOptions options = {}, Line where = Line::current()) {
  return DataParallel(parameters(model), nn::state(nn::AnyModule(model)), std::move(options), where);
}

}  // namespace tegula::dist

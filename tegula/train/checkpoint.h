#pragma once
// One file from which a training goes on as if it had never stopped: 2N steps equal N + save + load + N bit for bit.

#include <cstdint>
#include <string>

#include "tegula/data/loader.h"
#include "tegula/io/safetensors.h"
#include "tegula/ops/random.h"

namespace tegula {

/// The state of a run. Only the given parts are saved and loaded.
struct CheckpointParts {
  Parameters model = {};            // parameters and buffers, under their own names: the file is a model file, too
  Parameters optimizer = {};        // moments, step count, learning rate and whatever else changes, as "optimizer/NAME"
  Generator* generator = nullptr;   // dropout and the like, as "generator/seed" and "generator/counter"
  data::Loader* loader = nullptr;   // where in the data, as "loader/position"
  std::int64_t epochs = INT64_MAX;  // that the loader may have behind it
  io::NamedArrays extra = {};       // whatever else should travel, as "extra/NAME"
  io::Metadata metadata = {};
};

/// The contents of a file beside the state that was restored.
struct CheckpointContents {
  io::NamedArrays extra = {};
  io::Metadata metadata = {};
};

/// Writes a safetensors file, all or nothing: an older checkpoint stays until the new one is complete.
/// Throws Error for names that occur twice or begin with one of the prefixes above, and when the disk refuses.
/// `write`: no on ranks that only have their part in reading values that all ranks have together (dist/parallel/sharding.h).
void save_checkpoint(const std::string& path, const CheckpointParts& parts, bool write = true);

/// Gives model, optimiser, generator and loader the state in the file. Throws Error, with everything untouched, when the file is
/// damaged, lacks something, when a shape or dtype differs, when a number of the optimiser (rate, steps) is none or negative, or when the position belongs to another data set, batch size or seed.
CheckpointContents load_checkpoint(const std::string& path, const CheckpointParts& parts);

/// Rows of a batch of the loader that a checkpoint was made with; 0 where it holds none. Throws Error when the file cannot be read.
std::int64_t checkpoint_batch(const std::string& path);

}  // namespace tegula

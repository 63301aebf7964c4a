#include "tegula/data/loader.h"

#include <string>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::data {
namespace {

SamplerOptions sampler_options(const LoaderOptions& options) {
  return {.batch = options.batch,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .last = options.last.value_or(options.shuffle ? Last::Drop : Last::Keep)};
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options, std::source_location where)
    : dataset_(dataset),
      sampler_(dataset.size(), sampler_options(options), where) {
  if (dataset.size() > 0 && sampler_.batches() == 0) {
    throw Error({.op = "Loader",
                 .got = std::to_string(dataset.size()) + " rows and batches of " + std::to_string(options.batch),
                 .expected = "at least one full batch, as the rest is dropped",
                 .advice = "take smaller batches, or .last = Last::Keep",
                 .where = where});
  }
}

std::optional<Batch> Loader::next() {
  const auto rows = sampler_.next();
  if (rows.empty()) return std::nullopt;
  return Batch{from_array(gather_batch(dataset_.inputs, rows)), from_array(gather_batch(dataset_.targets, rows))};
}

void Loader::Iterator::advance() {
  auto batch = loader_->next();
  if (batch) batch_ = *std::move(batch);
  else loader_ = nullptr;
}

}  // namespace tegula::data

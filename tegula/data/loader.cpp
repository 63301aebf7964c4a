#include "tegula/data/loader.h"

#include <deque>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/data/prefetch.h"

namespace tegula::data {
namespace {

SamplerOptions sampler_options(const LoaderOptions& options) {
  const bool random = options.shuffle || !options.weights.empty();
  return {.batch = options.batch,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .last = options.last.value_or(random && options.lengths.empty() ? Last::Drop : Last::Keep),
          .weights = options.weights,
          .strata = options.strata,
          .lengths = options.lengths};
}

/// The random stream of a batch's first sample; the shuffling of an epoch draws from the streams below 2^32.
std::uint64_t stream_of(const Sampler::Position& position, std::int64_t batch) {
  return (static_cast<std::uint64_t>(position.epoch) + 1) << 32 | static_cast<std::uint64_t>(position.batch * batch);
}

/// The rows of a batch that a shard gets, and those of them that count.
struct Portion {
  std::size_t begin = 0, size = 0;
  std::int64_t rows = 0, all_rows = 0;
};

Portion portion_of(std::size_t rows, const Shard& shard) {
  const auto index = static_cast<std::size_t>(shard.index), count = static_cast<std::size_t>(shard.count);
  const std::size_t begin = rows * index / count, end = rows * (index + 1) / count;
  if (begin == end) return {.begin = 0, .size = 1, .rows = 0, .all_rows = static_cast<std::int64_t>(rows)};
  return {begin, end - begin, static_cast<std::int64_t>(end - begin), static_cast<std::int64_t>(rows)};
}

Batch as_batch(const std::vector<HostArray>& arrays, const Portion& portion) {
  Batch batch{.rows = portion.rows, .all_rows = portion.all_rows};
  for (const HostArray& array : arrays) batch.tensors.push_back(from_array(array));
  if (!batch.tensors.empty()) batch.x = batch.tensors[0];
  if (batch.tensors.size() > 1) batch.y = batch.tensors[1];
  return batch;
}

}  // namespace

struct Loader::Impl {
  AnyDataset dataset;
  Sampler sampler;  // as far as batches were asked for
  std::size_t most_ahead;
  Shard shard;
  Line where;  // the user's line
  Sampler::Position position{};  // as far as they were handed out
  std::deque<Portion> asked{};   // batches requested and not handed out yet
  bool epoch_ends = false;       // behind those that were asked for
  bool has_failed = false;       // the batch that was asked for last
  std::unique_ptr<Prefetch> prefetch = {};  // last: its threads use the fields above

  Prefetch::Make make(std::span<const std::int64_t> all, const Portion& portion, const Sampler::Position& at) const {
    const SamplerOptions& options = sampler.options();
    const auto rows = all.subspan(portion.begin, portion.size);
    return [this, rows = std::vector<std::int64_t>(rows.begin(), rows.end()), seed = options.seed,
            stream = stream_of(at, options.batch) + portion.begin] { return dataset.gather(rows, seed, stream, where); };
  }
  std::optional<Batch> next();
  void ask_ahead() {
    while (!epoch_ends && prefetch->waiting() < most_ahead) {
      const Sampler::Position at = sampler.position();
      const auto rows = sampler.next();
      if (rows.empty()) epoch_ends = true;
      else asked.push_back(portion_of(rows.size(), shard)), prefetch->ask(make(rows, asked.back(), at));
    }
  }
};

Loader::Loader(AnyDataset dataset, const LoaderOptions& options, Line where) {
  if (options.workers < 0 || options.prefetch < 1) {
    throw Error({.op = "Loader",
                 .got = std::to_string(options.workers) + " workers, " + std::to_string(options.prefetch) + " batches ahead",
                 .expected = "no negative number of workers, and at least one batch",
                 .where = where});
  }
  if (options.shard.count < 1 || options.shard.index < 0 || options.shard.index >= options.shard.count) {
    throw Error({.op = "Loader",
                 .got = "shard " + std::to_string(options.shard.index) + " of " + std::to_string(options.shard.count),
                 .expected = "shards from 0 on, below their number",
                 .where = where});
  }
  Sampler sampler(dataset.size(), sampler_options(options), where);
  if (dataset.size() > 0 && sampler.batches() == 0) {
    throw Error({.op = "Loader",
                 .got = std::to_string(dataset.size()) + " rows and batches of " + std::to_string(options.batch),
                 .expected = "at least one full batch, as the rest is dropped",
                 .advice = "take smaller batches, or .last = Last::Keep",
                 .where = where});
  }
  const auto most_ahead = static_cast<std::size_t>(options.workers) * static_cast<std::size_t>(options.prefetch);
  impl_ = std::make_unique<Impl>(Impl{std::move(dataset), std::move(sampler), most_ahead, options.shard, where});
  if (options.workers > 0) impl_->prefetch = std::make_unique<Prefetch>(options.workers);
}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

std::optional<Batch> Loader::next() {
  Impl& impl = *impl_;
  impl.has_failed = true;  // until it is there
  std::optional<Batch> batch = impl.next();
  impl.has_failed = false;
  return batch;
}

Loader::Iterator Loader::begin() {
  if (impl_->has_failed) seek({.epoch = impl_->position.epoch, .batch = 0});
  return Iterator(this);
}

std::optional<Batch> Loader::Impl::next() {
  if (!prefetch) {
    const Sampler::Position at = sampler.position();
    const auto rows = sampler.next();
    position = sampler.position();
    if (rows.empty()) return std::nullopt;
    const Portion portion = portion_of(rows.size(), shard);
    return as_batch(make(rows, portion, at)(), portion);
  }
  ask_ahead();
  if (prefetch->waiting() == 0) {
    epoch_ends = false;
    position = sampler.position();
    return std::nullopt;
  }
  position.batch++;
  const Portion portion = asked.front();
  asked.pop_front();
  const std::vector<HostArray> arrays = prefetch->take();
  ask_ahead();
  return as_batch(arrays, portion);
}

std::int64_t Loader::rows() const { return impl_->sampler.count(); }
std::int64_t Loader::batches() const { return impl_->sampler.batches(); }
const SamplerOptions& Loader::options() const { return impl_->sampler.options(); }
Sampler::Position Loader::position() const { return impl_->position; }

void Loader::seek(Sampler::Position position) {
  impl_->sampler.seek(position);
  impl_->position = position;
  impl_->epoch_ends = impl_->has_failed = false;
  if (impl_->prefetch) impl_->prefetch->forget();
  impl_->asked.clear();
}

void Loader::Iterator::advance() {
  auto batch = loader_->next();
  if (batch) batch_ = *std::move(batch);
  else loader_ = nullptr;
}

}  // namespace tegula::data

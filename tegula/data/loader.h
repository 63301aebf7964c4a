#pragma once
// Mini-batches as tensors: for (auto [x, y] : Loader(train, {.batch = 128, .shuffle = true})) step(x, y);

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "tegula/data/dataset.h"
#include "tegula/data/sampler.h"
#include "tegula/graph/tensor.h"

namespace tegula::data {

struct LoaderOptions {
  std::int64_t batch = 32;
  bool shuffle = false;
  std::uint64_t seed = 0;           // of the shuffling
  std::optional<Last> last = {};    // not given: Drop when shuffling (one shape, one executable), else Keep (every row counts)
};

struct Batch {
  Tensor x;  // (batch, …), the last one of an epoch may be shorter (Last::Keep)
  Tensor y;
};

/// A range over the batches of one epoch; looping again is the next epoch, in another order when shuffling. A loop that was left, or a
/// position that was sought, continues where it stands. Order and contents depend on options and position alone.
class Loader {
 public:
  /// Throws Error when options.batch is not positive, or Drop would leave no batch at all.
  explicit Loader(const Dataset& dataset, const LoaderOptions& options = {}, std::source_location where = std::source_location::current());

  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    const Batch& operator*() const { return batch_; }
    const Batch* operator->() const { return &batch_; }
    Iterator& operator++() {
      advance();
      return *this;
    }
    void operator++(int) { advance(); }
    bool operator==(std::default_sentinel_t) const { return loader_ == nullptr; }

   private:
    friend class Loader;
    explicit Iterator(Loader* loader) : loader_(loader) { advance(); }
    void advance();

    Loader* loader_;
    Batch batch_;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

  /// The next batch, or nothing once at the end of each epoch.
  std::optional<Batch> next();

  std::int64_t rows() const { return sampler_.count(); }
  std::int64_t batches() const { return sampler_.batches(); }  // per epoch
  const SamplerOptions& options() const { return sampler_.options(); }

  /// The batch after the ones handed out: save it in the loop, seek it later, and the loop goes on with the same batches.
  Sampler::Position position() const { return sampler_.position(); }
  void seek(Sampler::Position position) { sampler_.seek(position); }

 private:
  Dataset dataset_;
  Sampler sampler_;
};

}  // namespace tegula::data

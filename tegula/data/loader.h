#pragma once
// Mini-batches as tensors: for (auto [x, y] : Loader(train, {.batch = 128, .shuffle = true})) step(x, y);

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/data/sampler.h"
#include "tegula/graph/tensor.h"

namespace tegula::data {

/// The share of one of several ranks in each batch: part `index` of `count`, whose sizes differ by one row at most. All parts together are the batches of a
/// loader without a shard, each row once.
struct Shard {
  int index = 0, count = 1;
};

struct LoaderOptions {
  std::int64_t batch = 32;
  bool shuffle = false;
  std::uint64_t seed = 0;  // for the order, and for the samples' random numbers
  // Not given: Drop when the order is random (one shape, one executable), else, and with lengths, Keep (every row counts)
  std::optional<Last> last = {};
  int workers = 0;  // threads that make batches ahead; 0: made when they are asked for
  int prefetch = 2;  // batches that are made ahead, for each worker
  std::vector<double> weights = {};  // see SamplerOptions
  std::vector<std::int64_t> strata = {};  // see SamplerOptions
  std::vector<std::int64_t> lengths = {};  // see SamplerOptions
  Shard shard = {};  // `batch` is the number of rows of all shards together
};

/// The tensors of a batch, each (batch, …); the last one of an epoch may be shorter (Last::Keep). auto [x, y] = batch gives the first two.
struct Batch {
  Tensor x, y;  // the first, and the second if there is one
  std::vector<Tensor> tensors;  // all of them
  std::int64_t rows = 0;  // of this shard. If a batch has fewer rows than shards, some shards get one row that does not count
  std::int64_t all_rows = 0;  // of all shards
};
template <std::size_t I>
const Tensor& get(const Batch& batch) {
  return I == 0 ? batch.x : batch.y;
}

/// A range over the batches of one epoch; looping again is the next epoch, in another order when shuffling. A loop that was left, or a
/// position that was sought, continues where it stands; one that an exception of the data set ended begins its epoch anew. Order and contents depend on
/// options (but not workers) and position alone.
class Loader {
 public:
  /// Throws Error when options.batch is not positive, Drop would leave no batch at all, or the shard is none.
  explicit Loader(AnyDataset dataset, const LoaderOptions& options = {}, Line where = Line::current());
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

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
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// The next batch, or nothing once at the end of each epoch. Throws Error with the number of the sample for an exception of the data set on one of its samples,
  /// which is nested in it (std::rethrow_if_nested); the next call gives the batch after it.
  std::optional<Batch> next();

  std::int64_t rows() const;
  std::int64_t batches() const;  // per epoch
  const SamplerOptions& options() const;

  /// The batch after the ones handed out: save it in the loop, seek it later, and the loop goes on with the same batches.
  Sampler::Position position() const;
  void seek(Sampler::Position position);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tegula::data

// For `auto [x, y] = batch`.
template <>
struct std::tuple_size<tegula::data::Batch> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, tegula::data::Batch> {
  using type = const tegula::Tensor;
};

#pragma once
// The data sets from which a Loader makes batches: anything with size() and get(i).
//
//   struct Names {                                             // lazy: nothing is read before it is asked for
//     std::int64_t size() const;
//     data::Sample get(std::int64_t i) const;                   // its arrays, without a batch axis; or get(i, RandomStream& random)
//   };
//   for (auto [x, y] : data::Loader(Names{…}, {.batch = 32, .shuffle = true, .workers = 2})) …

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tegula/core/line.h"
#include "tegula/data/labelled_images.h"
#include "tegula/data/random_stream.h"
#include "tegula/graph/tensor.h"

namespace tegula::data {

/// The arrays of one sample, as many as you like: {image (C, H, W), label ()}. Every sample of a set has the same dtypes and shapes.
using Sample = std::vector<HostArray>;

/// A number as an array of shape (): number(std::int64_t{3}) is a label.
template <class T>
HostArray number(T value) {
  return HostArray::from(std::span<const T>(&value, 1), {});
}

/// size() samples, of which get(i) gives one. get may draw from a stream of random numbers that is the sample's own in this epoch
/// (augmentation). get is const and may be called by several threads at once.
template <class T>
concept Dataset = requires(const T& set) {
  { set.size() } -> std::convertible_to<std::int64_t>;
} && (requires(const T& set, std::int64_t i) {
  { set.get(i) } -> std::convertible_to<Sample>;
} || requires(const T& set, std::int64_t i, RandomStream& random) {
  { set.get(i, random) } -> std::convertible_to<Sample>;
});

/// Sample i of any Dataset.
template <Dataset T>
Sample sample_of(const T& set, std::int64_t i, RandomStream& random) {
  if constexpr (requires { set.get(i, random); }) return set.get(i, random);
  else return set.get(i);
}

/// A data set's array in memory: an array, or a Tensor, which is computed here.
struct InMemory {
  InMemory(HostArray array) : array(std::move(array)) {}
  InMemory(const Tensor& tensor, Line where = Line::current()) : array(tensor.to_array(where)) {}
  HostArray array;
};

/// Inputs and targets in memory: ArrayDataset(x, y).
struct ArrayDataset {
  HostArray inputs;   // (N, …)
  HostArray targets;  // (N, …), for classes (N,) i64

  ArrayDataset() = default;
  /// Throws Error when the two differ in the number of rows, or have no axis to count them.
  ArrayDataset(InMemory inputs, InMemory targets, Line where = Line::current());
  ArrayDataset(const LabelledImages& images) : ArrayDataset(images.images, images.labels) {}

  std::int64_t size() const { return inputs.shape.empty() ? 0 : inputs.shape[0]; }
  Sample get(std::int64_t i) const;
  /// The first `count` rows, or all when there are fewer. Copies nothing.
  ArrayDataset first(std::int64_t count) const;
  std::vector<HostArray> gather(std::span<const std::int64_t> rows) const;
};

/// Any number of arrays in memory, each (N, …): Arrays({x, mask, y}).
struct Arrays {
  std::vector<HostArray> arrays;

  /// Throws Error when they differ in the number of rows, or have no axis to count them.
  explicit Arrays(std::vector<HostArray> arrays, Line where = Line::current());
  explicit Arrays(std::initializer_list<InMemory> arrays, Line where = Line::current());
  std::int64_t size() const { return arrays[0].shape[0]; }
  Sample get(std::int64_t i) const;
  std::vector<HostArray> gather(std::span<const std::int64_t> rows) const;
};

/// A sample after f, which is called when it is asked for: f(sample) or f(sample, random).
template <Dataset T, class F>
struct Mapped {
  T set;
  F f;
  std::int64_t size() const { return set.size(); }
  Sample get(std::int64_t i, RandomStream& random) const {
    Sample sample = sample_of(set, i, random);
    if constexpr (std::is_invocable_r_v<Sample, const F&, Sample, RandomStream&>) return f(std::move(sample), random);
    else return f(std::move(sample));
  }
};
template <Dataset T, class F>
Mapped<T, F> map(T set, F f) {
  return {std::move(set), std::move(f)};
}

/// The numbers of rows from `begin` to `end` - 1. Throws Error when there are fewer than none.
std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end, Line where = Line::current());
/// Throws Error for a row that a set of this size has not.
void require_rows(std::int64_t size, std::span<const std::int64_t> rows, const Line& where);

/// Some rows of a set, in that order: subset(set, range(0, 1000)), or those of data::split, data::k_fold. Throws Error for a row that is not there.
template <Dataset T>
struct Subset {
  T set;
  std::vector<std::int64_t> rows;
  std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
  Sample get(std::int64_t i, RandomStream& random) const { return sample_of(set, rows[static_cast<std::size_t>(i)], random); }
};
template <Dataset T>
Subset<T> subset(T set, std::vector<std::int64_t> rows, Line where = Line::current()) {
  require_rows(set.size(), rows, where);
  return {std::move(set), std::move(rows)};
}

/// One set behind the other.
template <Dataset A, Dataset B>
struct Joined {
  A first;
  B second;
  std::int64_t size() const { return first.size() + second.size(); }
  Sample get(std::int64_t i, RandomStream& random) const {
    return i < first.size() ? sample_of(first, i, random) : sample_of(second, i - first.size(), random);
  }
};
template <Dataset A, Dataset B>
Joined<A, B> join(A first, B second) {
  return {std::move(first), std::move(second)};
}

/// A data set behind a pointer, so that functions over it compile once. Copies share it. An empty one has size 0.
class AnyDataset {
 public:
  AnyDataset() = default;
  template <Dataset T>
  requires(!std::same_as<T, AnyDataset>)
  AnyDataset(T set) : held_(std::make_shared<Holds<T>>(std::move(set))) {}
  /// The compiler's message for a class that is meant as a Dataset and is none.
  template <class T>
  requires(!Dataset<T> && !std::same_as<T, AnyDataset> && (requires { &T::get; } || requires(const T& set) { set.size(); }))
  AnyDataset(const T&) {
    static_assert(
        Dataset<T>,
        "tegula: a data set has `std::int64_t size() const` and `data::Sample get(std::int64_t i) const`, or get(i, data::RandomStream& "
        "random): a Sample is a std::vector<HostArray>, {input, target}. This one has not, or they are not const");
  }
  AnyDataset(const LabelledImages& images) : AnyDataset(ArrayDataset(images)) {}
  /// Says how tensors become one.
  template <class T>
  requires(std::same_as<T, Tensor> || std::same_as<T, HostArray>)
  AnyDataset(const T&) {
    static_assert(Dataset<T>,
                  "tegula: what is trained on is a data set, inputs and targets together: data::ArrayDataset(x, y), of tensors or arrays");
  }

  std::int64_t size() const { return held_ ? held_->size() : 0; }
  Sample get(std::int64_t i, RandomStream& random) const { return held_->get(i, random); }
  /// The samples of the given rows, stacked: each array (rows.size(), …). Sample k draws from RandomStream(seed, stream + k). Throws Error
  /// for samples that do not fit together, and with the sample's number for exceptions of get, which are nested in it.
  std::vector<HostArray> gather(std::span<const std::int64_t> rows, std::uint64_t seed, std::uint64_t stream,
                                Line where = Line::current()) const;

 private:
  struct Held {
    virtual ~Held() = default;
    virtual std::int64_t size() const = 0;
    virtual Sample get(std::int64_t i, RandomStream& random) const = 0;
    virtual bool gathers() const = 0;
    virtual std::vector<HostArray> gather(std::span<const std::int64_t> rows) const = 0;
  };
  template <class T>
  struct Holds final : Held {
    explicit Holds(T set) : set(std::move(set)) {}
    std::int64_t size() const override { return set.size(); }
    Sample get(std::int64_t i, RandomStream& random) const override { return sample_of(set, i, random); }
    bool gathers() const override {
      return requires(std::span<const std::int64_t> rows) { set.gather(rows); };
    }
    std::vector<HostArray> gather(std::span<const std::int64_t> rows) const override {
      if constexpr (requires { set.gather(rows); }) return set.gather(rows);
      else return {};
    }
    T set;
  };
  std::shared_ptr<const Held> held_;
};

/// Samples as one batch: each array (samples.size(), …). Throws Error when they differ in number, dtypes or shapes of their arrays.
std::vector<HostArray> stack(std::span<const Sample> samples);

}  // namespace tegula::data

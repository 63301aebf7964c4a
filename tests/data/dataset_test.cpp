// Data sets of one's own: lazy, with any number of arrays, transforms, and threads that read ahead.

#include "tegula/data/dataset.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tegula/data/digits.h"
#include "tegula/data/loader.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/shape.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

/// Sample i is {i (2,), a random number (), i ()}; counts its calls.
struct Own {
  std::int64_t count;
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  std::int64_t slow_at = -1, bad_at = -1;

  std::int64_t size() const { return count; }
  Sample get(std::int64_t i, RandomStream& random) const {
    ++*calls;
    if (i == slow_at) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (i == bad_at) throw Error({.op = "Own", .got = "sample " + std::to_string(i), .expected = "another"});
    const std::vector<float> twice(2, static_cast<float>(i));
    return {HostArray::from(std::span<const float>(twice), {2}), number(random.uniform()), number(i)};
  }
};
static_assert(Dataset<Own>);
static_assert(Dataset<ArrayDataset>);
static_assert(!Dataset<int>);

/// Everything an epoch gives, as text.
std::string all_of(Loader& loader) {
  std::string text;
  for (const Batch& batch : loader) {
    for (const Tensor& tensor : batch.tensors) text += tensor.print() + "\n";
  }
  return text;
}

TEST(Dataset, OfOnesOwnGivesBatchesOfAllItsArrays) {
  Loader loader(Own{5}, {.batch = 2});
  const auto batch = loader.next();
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->tensors.size(), 3U);
  EXPECT_EQ(batch->tensors[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(batch->tensors[1].shape(), (Shape{2}));
  EXPECT_EQ(batch->tensors[2].dtype(), i64);
  EXPECT_EQ(batch->x.to_host(), (std::vector<float>{0, 0, 1, 1}));
  const auto& [x, y] = *batch;
  EXPECT_EQ(x.node(), batch->tensors[0].node());
  EXPECT_EQ(y.node(), batch->tensors[1].node());
}

TEST(Dataset, IsLazy) {
  const Own own{1000};
  const auto mapped = map(own, [](Sample sample) { return sample; });
  Loader loader(mapped, {.batch = 4});
  EXPECT_EQ(*own.calls, 0);
  loader.next();
  EXPECT_EQ(*own.calls, 4);
}

TEST(Dataset, TransformsSubsetsAndJoins) {
  const auto labels = [](AnyDataset set) {
    std::vector<std::int64_t> out;
    RandomStream random(0, 0);
    for (std::int64_t i = 0; i < set.size(); ++i) out.push_back(set.get(i, random).back().values<std::int64_t>()[0]);
    return out;
  };
  const Own own{6};
  EXPECT_EQ(labels(subset(own, {4, 1, 1})), (std::vector<std::int64_t>{4, 1, 1}));
  EXPECT_EQ(labels(join(subset(own, {5}), subset(own, {0, 2}))), (std::vector<std::int64_t>{5, 0, 2}));
  const auto negative = map(own, [](Sample sample) { return Sample{number(-sample[2].values<std::int64_t>()[0])}; });
  EXPECT_EQ(labels(subset(negative, {3})), (std::vector<std::int64_t>{-3}));
  const auto drawn = map(own, [](Sample, RandomStream& random) { return Sample{number(std::int64_t{random.below(100)})}; });
  EXPECT_EQ(labels(drawn).size(), 6U);
  EXPECT_EQ(AnyDataset().size(), 0);
}

TEST(Dataset, AnyNumberOfArraysInMemory) {
  const std::vector<float> a{1, 2, 3}, b{4, 5, 6}, c{7, 8, 9};
  const auto column = [](const std::vector<float>& x) { return HostArray::from(std::span<const float>(x), {3}); };
  Loader loader(Arrays({column(a), column(b), column(c)}), {.batch = 2});
  const auto batch = loader.next();
  EXPECT_EQ(batch->tensors[2].to_host(), (std::vector<float>{7, 8}));
  RandomStream random(0, 0);
  EXPECT_EQ(AnyDataset(Arrays({column(a), column(b)})).get(2, random)[1].shape, Shape{});
  EXPECT_ERROR(Arrays({column(a), HostArray::empty(f32, {4})}), "arrays of shapes (3,), (4,)");
  EXPECT_ERROR(Arrays({}), "no arrays");
}

TEST(Dataset, TensorsAndArraysMakeSetsInMemory) {
  const Tensor x = reshape(arange(6), {3, 2}), y = tensor<std::int64_t>({0, 1, 0});
  const ArrayDataset set(x, y), mixed(x, y.to_array());
  EXPECT_EQ(set.get(2)[0].values<std::int64_t>()[1], 5);
  EXPECT_EQ(mixed.get(1)[1].values<std::int64_t>()[0], 1);
  const Arrays three({x, x.to_array(), y});
  EXPECT_EQ(three.get(1)[1].values<std::int64_t>()[0], 2);
  EXPECT_ERROR(ArrayDataset(x, ones({4})), "inputs (3, 2) and targets (4,)");
  EXPECT_ERROR(ArrayDataset(x, ones({4})), "dataset_test.cpp:");
}

TEST(Dataset, LabelledImagesAreOne) {
  const LabelledImages digits = draw_digits(6, 1);
  static_assert(Dataset<LabelledImages>);
  const std::vector<std::int64_t> all(digits.labels.values<std::int64_t>().begin(), digits.labels.values<std::int64_t>().end());
  const auto some = subset(digits, range(2, 5));
  ASSERT_EQ(some.size(), 3);
  RandomStream random(0, 0);
  for (std::int64_t i = 0; i < 3; ++i) {
    const Sample sample = some.get(i, random);
    EXPECT_EQ(sample[0].shape, (Shape{1, 28, 28}));
    EXPECT_EQ(sample[1].values<std::int64_t>()[0], all[static_cast<std::size_t>(i) + 2]);
    EXPECT_EQ(std::memcmp(sample[0].values<float>().data(), digits.images.values<float>().data() + (i + 2) * 784, 784 * sizeof(float)), 0);
  }
}

TEST(Dataset, SubsetsAndRangesAreChecked) {
  EXPECT_EQ(range(3, 6), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_TRUE(range(2, 2).empty());
  EXPECT_ERROR(range(3, 2), "3 to 2");
  EXPECT_ERROR(subset(Own{6}, range(0, 7)), "row 6 of a set of 6");
  EXPECT_ERROR(subset(Own{6}, {-1}), "row -1");
}

TEST(Dataset, SamplesThatDoNotFitTogetherAreNamed) {
  const auto uneven = map(Own{4}, [](Sample sample) {
    if (sample[2].values<std::int64_t>()[0] == 3) sample[0] = HostArray::empty(f32, {5});
    return sample;
  });
  Loader loader(uneven, {.batch = 4});
  EXPECT_ERROR(loader.next(), "sample 3 with f32(5,), f32(), i64(), beside sample 0 with f32(2,), f32(), i64()");
  Loader again(uneven, {.batch = 4});
  EXPECT_ERROR(again.next(), "dataset_test.cpp:");
  Loader empty(map(Own{4}, [](Sample) { return Sample{}; }), {.batch = 2});
  EXPECT_ERROR(empty.next(), "sample 0 with nothing");
}

TEST(Prefetch, OrderAndRandomNumbersDoNotDependOnTheNumberOfWorkers) {
  std::string wanted[3];
  for (const int workers : {0, 1, 3, 8}) {
    Loader loader(Own{.count = 50, .slow_at = 7}, {.batch = 4, .shuffle = true, .seed = 5, .workers = workers});
    for (auto& epoch : wanted) {
      const std::string got = all_of(loader);
      if (workers == 0) epoch = got;
      EXPECT_EQ(got, epoch) << workers;
    }
  }
  EXPECT_NE(wanted[0], wanted[1]);  // another order and other random numbers
  Loader other(Own{50}, {.batch = 4, .shuffle = true, .seed = 6, .workers = 2});
  EXPECT_NE(all_of(other), wanted[0]);
}

TEST(Prefetch, ResumesInTheMiddleOfAnEpoch) {
  const LoaderOptions options{.batch = 4, .shuffle = true, .seed = 5, .workers = 3};
  Loader whole(Own{50}, options), resumed(Own{50}, options);
  all_of(whole);
  for (int i = 0; i < 5; ++i) whole.next();
  const Sampler::Position position = whole.position();
  EXPECT_EQ(position, (Sampler::Position{1, 5}));  // those handed out, not those made ahead
  resumed.next();                                  // forgets batches made before the jump
  resumed.seek(position);
  EXPECT_EQ(all_of(resumed), all_of(whole));
  EXPECT_EQ(resumed.position(), (Sampler::Position{2, 0}));
}

TEST(Prefetch, MakesNoMoreThanWasAskedForAhead) {
  const Own own{.count = 1000};
  Loader loader(own, {.batch = 10, .workers = 2, .prefetch = 3});
  loader.next();
  while (*own.calls <= 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // more than the batch at hand, sooner or later
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(*own.calls, 10 + 2 * 3 * 10);
}

TEST(Prefetch, AnErrorComesAtItsPlaceAndTheNextBatchBehindIt) {
  for (const int workers : {0, 2}) {
    Loader loader(Own{.count = 12, .bad_at = 5}, {.batch = 4, .workers = workers});
    EXPECT_EQ(loader.next()->tensors[2].to_host<std::int64_t>()[0], 0);
    EXPECT_ERROR(loader.next(), "Own: got sample 5");
    EXPECT_EQ(loader.next()->tensors[2].to_host<std::int64_t>()[0], 8);
    EXPECT_FALSE(loader.next());
    EXPECT_EQ(loader.position(), (Sampler::Position{1, 0}));
  }
}

TEST(Prefetch, ALoaderMayGoOrMoveWhileItsThreadsWork) {
  for (int i = 0; i < 20; ++i) {
    Loader loader(Own{.count = 40, .slow_at = 3}, {.batch = 2, .workers = 3});
    if (i % 2) loader.next();
    Loader moved = std::move(loader);
    if (i % 3 == 0) moved.next();
  }
  EXPECT_ERROR(Loader(Own{4}, {.workers = -1}), "-1 workers");
  EXPECT_ERROR(Loader(Own{4}, {.workers = 1, .prefetch = 0}), "0 batches ahead");
}

}  // namespace
}  // namespace tegula::data

#include "app/objects/sets.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/image_grid.h"
#include "tegula/data/objects/placement.h"
#include "tegula/io/file.h"
#include "tegula/io/png.h"

namespace tegula::app {
namespace {

constexpr std::uint64_t kTrainScenes = 1, kTestScenes = 2;  // seeds
constexpr std::int64_t kDrawnSide = 64, kDrawnTests = 400;
constexpr std::int64_t kUsualSize = 128;
constexpr std::size_t kBytesOfSamples = std::size_t{2} << 30;  // kept in memory; above that pictures are read again in each epoch

/// Samples that were read once.
struct KeptSamples {
  std::shared_ptr<const std::vector<data::Sample>> samples;
  std::int64_t size() const { return static_cast<std::int64_t>(samples->size()); }
  data::Sample get(std::int64_t i) const { return (*samples)[static_cast<std::size_t>(i)]; }
};

std::size_t bytes_of(const data::Sample& sample) {
  std::size_t bytes = 0;
  for (const HostArray& array : sample) bytes += array.bytes();
  return bytes;
}

data::AnyDataset kept(const data::AnyDataset& set) {
  if (set.size() == 0) return set;
  data::RandomStream none(0, 0);
  if (bytes_of(set.get(0, none)) * static_cast<std::size_t>(set.size()) > kBytesOfSamples) return set;
  auto samples = std::make_shared<std::vector<data::Sample>>();
  for (std::int64_t i = 0; i < set.size(); ++i) samples->push_back(set.get(i, none));
  return KeptSamples{std::move(samples)};
}

data::AnyDataset changed(const data::AnyDataset& set, const ObjectsChoice& choice) {
  if (!choice.augment) return set;
  return data::augmented(
      set,
      data::RandomPlacement{
          .flip = choice.flip ? 0.5 : 0.0, .window = 0.6, .degrees = 5, .scale = 0.1, .options = {.fill = data::Fill::Edge, .mask = -1}},
      data::RandomColour{.brightness = 0.2, .contrast = 0.2, .saturation = 0.2});
}

}  // namespace

void add_objects_options(Command& command, ObjectsChoice& c, const std::string& labels) {
  command.option("--data", c.folder, labels + "; without it the program draws digits").check(not_empty()).type("FOLDER");
  command.option("--test", c.test, "the same, measured with the best weights at the end").check(not_empty()).type("FOLDER");
  command.option("--pictures", c.pictures, "drawn ones to train on").check(between(20, 10'000'000)).shows_default().type("N");
  command.option("--size", c.size, "height and width that pictures of a folder are fitted into [128]").check(between(8, 4096)).type("N");
  command.option("--width", c.width, "channels of the first stage; the next have twice as many")
      .check(between(1, 1024))
      .shows_default()
      .type("N");
  command.flag("--gray", c.gray, "read pictures without their colours");
  command.flag("!--no-augment", c.augment, "train on the pictures of a folder as they are, without random changes");
  command.flag("!--no-flip", c.flip, "left and right are not alike: no flips among the random changes");
  command.option("--workers", c.workers, "threads that read pictures ahead").check(not_negative()).shows_default().type("N");
  command.option("--examples", c.examples, "the first validation pictures with what was found in them")
      .check(not_empty())
      .shows_default()
      .type("FILE");
  add_options(command, c.training, "pictures");
}

ObjectSets folder_sets(const ObjectsChoice& choice, const OpenFolder& open) {
  const auto own = own_parts(choice.folder);
  const data::Colours colours = choice.gray ? data::Colours::Gray : data::Colours::Rgb;
  ObjectSets sets;
  sets.size = choice.size > 0 ? choice.size : kUsualSize;
  sets.channels = choice.gray ? 1 : 3;
  const LabelledFolder first = open(own ? own->first : choice.folder, sets.size, colours);
  sets.classes = first.classes;
  const auto like_first = [&](const std::string& folder) {
    const LabelledFolder other = open(folder, sets.size, colours);
    if (other.classes != sets.classes) {
      throw Error({.op = choice.training.op,
                   .got = folder + " with the classes " + joined(other.classes),
                   .expected = joined(sets.classes),
                   .advice = "list all classes in classes.txt of each folder"});
    }
    return other.set;
  };
  if (own) {
    sets.train = changed(kept(first.set), choice);
    sets.test = kept(like_first(own->second));
  } else {
    const RowSplit parts = split_rows(first.set.size(), choice.training, {});
    sets.train = changed(kept(data::subset(first.set, parts.train)), choice);
    sets.test = kept(data::subset(first.set, parts.test));
  }
  if (!choice.test.empty()) sets.last = kept(like_first(choice.test));
  sets.description = printable(choice.folder);
  return sets;
}

ObjectSets drawn_sets(const ObjectsChoice& choice, const LabelScenes& label) {
  const auto drawn = [&](std::int64_t count, std::uint64_t seed) { return label(data::draw_scenes(count, seed, {.size = kDrawnSide})); };
  LabelledFolder train = drawn(choice.pictures, kTrainScenes);
  return {.train = std::move(train.set),
          .test = drawn(std::min(kDrawnTests, choice.pictures), kTestScenes).set,
          .classes = std::move(train.classes),
          .size = kDrawnSide,
          .channels = 1,
          .description = "drawn digits"};
}

LabelledFolder evaluation_set(const TrainedModel& model, const std::string& folder, data::Colours colours, const OpenFolder& open,
                              const LabelScenes& label) {
  const bool drawn = folder.empty();
  LabelledFolder set = drawn ? label(data::draw_scenes(kDrawnTests, kTestScenes, {.size = kDrawnSide})) : open(folder, model.size, colours);
  if (set.classes != model.classes || (drawn && (model.channels != 1 || model.size != kDrawnSide))) {
    throw Error({.op = "tegula eval",
                 .got = (drawn ? "drawn digits" : folder) + " with the classes " + joined(set.classes),
                 .expected = "pictures with those of the model: " + joined(model.classes),
                 .advice = "give --data FOLDER"});
  }
  return set;
}

void require_halves(const ObjectsChoice& choice, std::int64_t size, const char* option, std::int64_t times) {
  if (size % (std::int64_t{1} << times) == 0) return;
  throw Error({.op = choice.training.op,
               .got = format("--size %lld with %s %lld", static_cast<long long>(size), option, static_cast<long long>(times)),
               .expected = "pictures that can be halved as often"});
}

TrainerOptions trainer_options(const ObjectsChoice& choice, const ObjectSets& sets, const Goodness& goodness) {
  const OwnTraining& training = choice.training;
  const std::int64_t batch = std::min(training.batch, sets.train.size());
  return {.epochs = training.epochs,
          .batch = batch,
          .test_batch = 64,
          .seed = training.seed,
          .schedule =
              optim::OneCycleLR{.maximum = training.lr, .total = std::max<std::int64_t>(2, training.epochs * (sets.train.size() / batch))},
          .workers = static_cast<int>(choice.workers),
          .checkpoint = training.checkpoint,
          .stop_on_interrupt = true,
          .early_stopping = best_of(training, goodness),
          .progress = Progress::No};
}

Goodness greatest(std::string name, std::function<double()> measure) {
  struct Known {
    std::int64_t epoch = 0;
    double value = 0;
  };
  const auto of_epoch = [known = std::make_shared<Known>(), measure = std::move(measure)](const EpochRecord& r) {
    if (known->epoch != r.epoch) *known = {r.epoch, measure()};
    return known->value;
  };
  return {std::move(name), [of_epoch](const EpochRecord& r) { return format("%.4f", of_epoch(r)); },
          [of_epoch](const EpochRecord& r) { return -of_epoch(r); }};
}

void write_examples(const std::string& path, std::span<const HostArray> pictures) {
  if (pictures.empty()) return;
  const Shape& shape = pictures[0].shape;
  io::write_png(path, data::image_grid(pictures, {.columns = 4, .enlarge = zoom_of(shape[1], shape[2])}));
  std::printf("examples: %s\n", path.c_str());
}

std::string found_file(const std::string& picture, const std::string& out) {
  return (std::filesystem::path(out) / (std::filesystem::path(picture).stem().string() + ".found.png")).string();
}

std::int64_t zoom_of(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kLargeEnough = 200;
  return std::max<std::int64_t>(1, (kLargeEnough + std::max(height, width) - 1) / std::max(height, width));
}

}  // namespace tegula::app

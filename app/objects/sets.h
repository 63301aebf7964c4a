#pragma once
// Shared by `tegula train unet` and `tegula train detector`: options, sets of pictures, pictures of what was found.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/own/training.h"
#include "tegula/core/host_array.h"
#include "tegula/data/dataset.h"
#include "tegula/data/image_folder.h"
#include "tegula/data/scenes.h"

namespace tegula::app {

struct ObjectsChoice {
  OwnTraining training;
  std::string folder, test, examples;
  std::int64_t pictures = 4000;  // drawn
  std::int64_t size = 0, width = 8, workers = 2;
  bool gray = false, augment = true, flip = true;
};
/// `labels`: of the pictures in the folder.
void add_objects_options(Command& command, ObjectsChoice& choice, const std::string& labels);

struct ObjectSets {
  data::AnyDataset train, test, last;  // `last`: of --test
  std::vector<std::string> classes;
  std::int64_t size = 0, channels = 3;
  std::string description;
};

/// A folder of data::ObjectFolder's or data::MaskFolder's kind.
struct LabelledFolder {
  data::AnyDataset set;
  std::vector<std::string> classes;
};
using OpenFolder = std::function<LabelledFolder(const std::string& folder, std::int64_t size, data::Colours colours)>;
/// The folder's train and val, or shares of it drawn at random; training pictures with random changes. Throws Error where parts differ in their classes.
ObjectSets folder_sets(const ObjectsChoice& choice, const OpenFolder& open);
/// Drawn digits with what `label` says of them, the same in each run.
using LabelScenes = std::function<LabelledFolder(data::Scenes scenes)>;
ObjectSets drawn_sets(const ObjectsChoice& choice, const LabelScenes& label);

/// Pictures to measure a model by: the folder's, drawn ones without one. Throws Error where the model has other classes, or takes no drawn ones.
struct TrainedModel {
  const std::vector<std::string>& classes;
  std::int64_t channels, size;
};
LabelledFolder evaluation_set(const TrainedModel& model, const std::string& folder, data::Colours colours, const OpenFolder& open,
                              const LabelScenes& label);

/// Throws Error for pictures that cannot be halved `times`, as `option` says.
void require_halves(const ObjectsChoice& choice, std::int64_t size, const char* option, std::int64_t times);
/// AdamW's rate rises and falls once; the best epoch's weights stay.
TrainerOptions trainer_options(const ObjectsChoice& choice, const ObjectSets& sets, const Goodness& goodness);

/// A measure that is taken of the validation set once an epoch: the epoch with the greatest is the best.
Goodness greatest(std::string name, std::function<double()> measure);

/// Writes pictures (3, H, W) f32 beside each other.
void write_examples(const std::string& path, std::span<const HostArray> pictures);
/// A picture's file in the folder `out`: out/cat.found.png.
std::string found_file(const std::string& picture, const std::string& out);
/// A factor that makes small pictures large enough to look at.
std::int64_t zoom_of(std::int64_t height, std::int64_t width);

}  // namespace tegula::app

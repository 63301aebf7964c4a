// tegula train unet: a class for each pixel, from pictures with masks; and its models' masks for other pictures.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/objects/objects.h"
#include "app/objects/sets.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/loader.h"
#include "tegula/data/objects/object_folder.h"
#include "tegula/io/draw_boxes.h"
#include "tegula/io/draw_mask.h"
#include "tegula/io/file.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/png.h"
#include "tegula/models/images/segmentation.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/objects.h"

namespace tegula::app {
namespace {

constexpr const char* kTrainUnet = "tegula train unet";

struct UnetChoice : ObjectsChoice {
  std::int64_t depth = 2;
};

LabelledFolder open_masks(const std::string& folder, std::int64_t size, data::Colours colours) {
  data::MaskFolder set(folder, {.colours = colours, .size = size});
  std::vector<std::string> classes = set.classes();
  return {std::move(set), std::move(classes)};
}

/// The task of finding the pixels that belong to a digit.
LabelledFolder strokes_of(const data::Scenes& scenes) {
  HostArray masks = HostArray::empty(i64, scenes.masks.shape);
  std::ranges::transform(scenes.masks.values<std::int64_t>(), masks.values<std::int64_t>().begin(),
                         [](std::int64_t of_class) { return std::int64_t{of_class > 0}; });
  return {data::ArrayDataset(scenes.images, masks), {"ground", "stroke"}};
}

void print_measures(models::UNet& net, const std::vector<std::string>& classes, const data::AnyDataset& set, const std::string& what) {
  const metrics::ConfusionMatrix matrix = metrics::measure_pixels(net, set, classes);
  std::printf("%s of %lld pictures: %.2f %% of pixels, mean IoU %.4f\n", what.c_str(), static_cast<long long>(set.size()),
              100 * matrix.accuracy(), matrix.mean_iou());
  for (std::int64_t c = 0; c < matrix.classes(); ++c) {
    if (matrix.support(c) > 0) std::printf("  %-16s IoU %.4f, dice %.4f\n", printable(matrix.name(c)).c_str(), matrix.iou(c), matrix.f1(c));
  }
}

void draw_examples(const std::string& path, models::UNet& net, const data::AnyDataset& set) {
  constexpr std::int64_t kShown = 8;
  std::vector<HostArray> pictures;
  data::RandomStream none(0, 0);
  for (std::int64_t i = 0; i < std::min(kShown, set.size()); ++i) {
    const HostArray image = set.get(i, none)[0];
    const HostArray mask = squeeze(argmax(net(unsqueeze(from_array(image), 0)), 1), 0).to_array();
    pictures.push_back(io::draw_mask(image, mask));
  }
  write_examples(path, pictures);
}

void run_train_unet(UnetChoice& choice) {
  OwnTraining& training = choice.training;
  refuse_ranks(kTrainUnet, "masks are trained on by one process");
  begin(training);
  io::require_writable(choice.examples, kTrainUnet);
  const ObjectSets sets = choice.folder.empty() ? drawn_sets(choice, strokes_of) : folder_sets(choice, open_masks);
  require_halves(choice, sets.size, "--depth", choice.depth);
  models::UNet net{
      .in = sets.channels, .classes = static_cast<std::int64_t>(sets.classes.size()), .width = choice.width, .depth = choice.depth};
  std::printf("%s: %s. Pictures of %lld x %lld. %s parameters. %lld pictures to train on, %lld to validate.\n", sets.description.c_str(),
              joined(sets.classes).c_str(), static_cast<long long>(sets.size), static_cast<long long>(sets.size),
              quantity(static_cast<double>(num_parameters(net))).c_str(), static_cast<long long>(sets.train.size()),
              static_cast<long long>(sets.test.size()));
  optim::AdamW adam(parameters(net), {.lr = training.lr, .weight_decay = training.weight_decay});
  const Goodness goodness = greatest("mean IoU", [&] { return metrics::measure_pixels(net, sets.test, sets.classes).mean_iou(); });
  Trainer trainer(net, adam, pixel_loss(), trainer_options(choice, sets, goodness));
  const History history = train_with_report(trainer, training, goodness, "pictures", sets.train, sets.test);
  models::save_unet(training.out, net, sets.size, sets.classes);
  print_measures(net, sets.classes, sets.test, "validation");
  if (sets.last.size() > 0) print_measures(net, sets.classes, sets.last, "test");
  std::printf("model: %s\n", training.out.c_str());
  draw_examples(choice.examples, net, sets.test);
  draw_curve(training.plot, history, "unet");
}

}  // namespace

void predict_masks(const std::string& path, const std::vector<std::string>& pictures, const std::string& out) {
  const models::NamedUNet model = models::load_unet(path);
  for (const std::string& file : pictures) {
    const HostArray picture = io::read_picture(file);
    const HostArray mask = model.mask(picture);
    std::vector<std::int64_t> counts(model.classes.size());
    for (const std::int64_t of_class : mask.values<std::int64_t>()) ++counts[static_cast<std::size_t>(of_class)];
    std::string shares;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      shares += (shares.empty() ? "" : ", ") + printable(model.classes[c]) +
                format(" %.1f %%", 100 * static_cast<double>(counts[c]) / static_cast<double>(mask.size()));
    }
    const std::string drawn = found_file(file, out);
    io::write_png(drawn, io::draw_boxes(io::draw_mask(data::to_image(picture, data::Colours::Rgb), mask), {},
                                        {.zoom = zoom_of(picture.shape[0], picture.shape[1])}));
    std::printf("%s: %s; %s\n", file.c_str(), shares.c_str(), drawn.c_str());
  }
}

void evaluate_masks(const std::string& path, const std::string& folder) {
  const models::NamedUNet model = models::load_unet(path);
  const LabelledFolder set = evaluation_set({.classes = model.classes, .channels = model.net->in, .size = model.size}, folder,
                                            models::colours_of(*model.net), open_masks, strokes_of);
  print_measures(*model.net, model.classes, set.set, folder.empty() ? "drawn digits" : folder);
}

void add_train_unet(Command& train) {
  auto choice = std::make_shared<UnetChoice>();
  choice->training = {.op = kTrainUnet, .epochs = 8, .batch = 16, .patience = 8, .lr = 3e-3, .out = "unet.safetensors", .plot = "unet.png"};
  choice->examples = "unet-examples.png";
  Command command = train.command("unet", "a class for each pixel (U-Net), from pictures with masks");
  command.last_counts();
  add_objects_options(command, *choice,
                      "images and masks of the same names in it, or VOC's JPEGImages and SegmentationClass; or such in its train and val");
  command.option("--depth", choice->depth, "how often the net halves the picture").check(between(1, 6)).shows_default().type("N");
  command.runs([choice] { run_train_unet(*choice); });
}

}  // namespace tegula::app

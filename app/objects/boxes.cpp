// tegula train detector: where the objects are, from pictures with boxes; and its models' boxes for other pictures.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/objects/objects.h"
#include "app/objects/sets.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/objects/object_folder.h"
#include "tegula/io/draw_boxes.h"
#include "tegula/io/file.h"
#include "tegula/io/jpeg.h"
#include "tegula/io/png.h"
#include "tegula/models/images/detection.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/objects.h"

namespace tegula::app {
namespace {

constexpr const char* kTrainDetector = "tegula train detector";
constexpr double kShownScore = 0.3;

struct DetectorChoice : ObjectsChoice {
  std::int64_t stages = 3, anchors = 4;
};

LabelledFolder open_boxes(const std::string& folder, std::int64_t size, data::Colours colours) {
  data::ObjectFolder set(folder, {.colours = colours, .size = size});
  std::vector<std::string> classes = set.classes();
  return {std::move(set), std::move(classes)};
}

LabelledFolder digits_of(data::Scenes scenes) {
  std::vector<std::string> classes;
  for (int digit = 0; digit < 10; ++digit) classes.push_back(std::to_string(digit));
  return {std::move(scenes), std::move(classes)};
}

void print_measures(models::SingleShotDetector& net, const std::vector<std::string>& classes, const data::AnyDataset& set,
                    const std::string& what) {
  const auto result = metrics::measure_boxes(net, set).result();
  std::printf("%s of %lld pictures: mAP %.4f at IoU 0.5, %.4f over COCO's\n", what.c_str(), static_cast<long long>(set.size()),
              result.map50, result.map);
  for (const auto& [of_class, map] : result.of_class) {
    if (of_class >= 0 && of_class < static_cast<std::int64_t>(classes.size()))
      std::printf("  %-16s mAP %.4f\n", printable(classes[static_cast<std::size_t>(of_class)]).c_str(), map);
  }
  std::printf("%s", result.print().c_str());
}

std::vector<io::DrawnBox> boxes_to_draw(const std::vector<models::FoundObject>& objects) {
  std::vector<io::DrawnBox> out;
  for (const models::FoundObject& object : objects) out.push_back({object.corners, object.of_class});
  return out;
}

void draw_examples(const std::string& path, models::SingleShotDetector& net, const data::AnyDataset& set, std::int64_t size) {
  constexpr std::int64_t kShown = 8;
  std::vector<HostArray> pictures;
  data::RandomStream none(0, 0);
  for (std::int64_t i = 0; i < std::min(kShown, set.size()); ++i) {
    const HostArray image = set.get(i, none)[0];
    const std::vector<models::FoundObject> objects = models::found_objects(net, image, {.score = kShownScore});
    pictures.push_back(data::to_image(io::draw_boxes(image, boxes_to_draw(objects), {.zoom = zoom_of(size, size)}), data::Colours::Rgb));
  }
  write_examples(path, pictures);
}

void run_train_detector(DetectorChoice& choice) {
  OwnTraining& training = choice.training;
  refuse_ranks(kTrainDetector, "boxes are trained on by one process");
  begin(training);
  io::require_writable(choice.examples, kTrainDetector);
  const ObjectSets sets = choice.folder.empty() ? drawn_sets(choice, digits_of) : folder_sets(choice, open_boxes);
  require_halves(choice, sets.size, "--stages", choice.stages);
  models::SingleShotDetector net{.classes = static_cast<std::int64_t>(sets.classes.size()),
                                 .in = sets.channels,
                                 .width = choice.width,
                                 .sizes = models::anchor_sizes(sets.train, choice.anchors),
                                 .stages = choice.stages};
  std::string anchors;
  for (const auto& [width, height] : net.sizes) anchors += format("%s%.0f x %.0f", anchors.empty() ? "" : ", ", width, height);
  std::printf("%s: %s. Pictures of %lld x %lld, anchors of %s. %s parameters. %lld pictures to train on, %lld to validate.\n",
              sets.description.c_str(), joined(sets.classes).c_str(), static_cast<long long>(sets.size), static_cast<long long>(sets.size),
              anchors.c_str(), quantity(static_cast<double>(num_parameters(net))).c_str(), static_cast<long long>(sets.train.size()),
              static_cast<long long>(sets.test.size()));
  optim::AdamW adam(parameters(net), {.lr = training.lr, .weight_decay = training.weight_decay});
  const Goodness goodness = greatest("mAP@0.5", [&] { return metrics::measure_boxes(net, sets.test).result().map50; });
  TrainerOptions options = trainer_options(choice, sets, goodness);
  options.inputs = 1;
  Trainer trainer(net, adam, detection_loss(net, sets.size, sets.size), options);
  const History history = train_with_report(trainer, training, goodness, "pictures", sets.train, sets.test);
  models::save_detector(training.out, net, sets.size, sets.classes);
  print_measures(net, sets.classes, sets.test, "validation");
  if (sets.last.size() > 0) print_measures(net, sets.classes, sets.last, "test");
  std::printf("model: %s\n", training.out.c_str());
  draw_examples(choice.examples, net, sets.test, sets.size);
  draw_curve(training.plot, history, "detector");
}

}  // namespace

void predict_boxes(const std::string& path, const std::vector<std::string>& pictures, const std::string& out) {
  const models::NamedDetector model = models::load_detector(path);
  for (const std::string& file : pictures) {
    const HostArray picture = io::read_picture(file);
    const std::vector<models::FoundObject> objects = model.found(picture, {.score = kShownScore});
    const std::string drawn = found_file(file, out);
    io::write_png(drawn, io::draw_boxes(data::to_image(picture, data::Colours::Rgb), boxes_to_draw(objects),
                                        {.zoom = zoom_of(picture.shape[0], picture.shape[1])}));
    std::printf("%s: %zu object%s; %s\n", file.c_str(), objects.size(), objects.size() == 1 ? "" : "s", drawn.c_str());
    for (const models::FoundObject& object : objects) {
      std::printf("  %-16s %.1f %%  (%.0f, %.0f) to (%.0f, %.0f)\n",
                  printable(model.classes[static_cast<std::size_t>(object.of_class)]).c_str(), 100 * object.score, object.corners[0],
                  object.corners[1], object.corners[2], object.corners[3]);
    }
  }
}

void evaluate_boxes(const std::string& path, const std::string& folder) {
  const models::NamedDetector model = models::load_detector(path);
  const LabelledFolder set = evaluation_set({.classes = model.classes, .channels = model.net->in, .size = model.size}, folder,
                                            models::colours_of(*model.net), open_boxes, digits_of);
  print_measures(*model.net, model.classes, set.set, folder.empty() ? "drawn digits" : folder);
}

void add_train_detector(Command& train) {
  auto choice = std::make_shared<DetectorChoice>();
  choice->training = {
      .op = kTrainDetector, .epochs = 10, .batch = 32, .patience = 10, .lr = 4e-3, .out = "detector.safetensors", .plot = "detector.png"};
  choice->pictures = 12'000;
  choice->width = 16;
  choice->examples = "detector-examples.png";
  Command command = train.command("detector", "boxes around objects (single-shot detector), from pictures with labels");
  command.last_counts();
  add_objects_options(command, *choice, "pictures with labels of COCO, VOC or YOLO; or such in its train and val");
  command.option("--stages", choice->stages, "how often the net halves the picture: larger objects want more")
      .check(between(1, 6))
      .shows_default()
      .type("N");
  command.option("--anchors", choice->anchors, "shapes of boxes that the net begins with, chosen from those of the objects")
      .check(between(1, 64))
      .shows_default()
      .type("N");
  command.runs([choice] { run_train_detector(*choice); });
}

}  // namespace tegula::app

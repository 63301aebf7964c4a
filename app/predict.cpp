// tegula predict: a trained model's predictions for pictures or tables.

#include <cstdio>
#include <cstring>
#include <memory>

#include "app/commands.h"
#include "app/images.h"
#include "app/objects/objects.h"
#include "app/onnx_model.h"
#include "app/own/images.h"
#include "app/own/tables.h"
#include "app/own/training.h"
#include "app/text/classify.h"
#include "tegula/core/error.h"
#include "tegula/data/image_folder.h"
#include "tegula/io/jpeg.h"
#include "tegula/models/image_classifier.h"
#include "tegula/models/images/detection.h"
#include "tegula/models/images/segmentation.h"
#include "tegula/models/table.h"

namespace tegula::app {
namespace {

struct PredictChoice {
  std::string file;
  std::vector<std::string> inputs;
  std::int64_t count = 6, classes = 2;
  bool draw = true;
  double scale = 1;
  std::string found = ".";
};

HostArray first(HostArray images, std::int64_t count) {
  images.shape[0] = std::min(images.shape[0], count);
  return images;
}

/// A picture (1, 3, side, side).
HostArray coloured(const std::string& path, std::int64_t side) {
  HostArray image = data::resize(data::to_image(io::read_picture(path), data::Colours::Rgb), side, side);
  image.shape.insert(0, 1);
  return image;
}

void run(const PredictChoice& choice) {
  const bool brings_net = has_net(choice.file);
  const std::string kind = brings_net ? "" : kind_of_model(choice.file);
  if (kind == models::kTableKind) return predict_tables(choice.file, choice.inputs);
  if (kind == models::kImagesKind) return predict_pictures(choice.file, choice.inputs, choice.classes);
  if (kind == models::kSegmentationKind) return predict_masks(choice.file, choice.inputs, choice.found);
  if (kind == models::kDetectionKind) return predict_boxes(choice.file, choice.inputs, choice.found);
  models::Model model = brings_net ? net_of_images(choice.file, choice.scale) : models::load(choice.file);
  if (model.input.rank() != 3 || (model.input[0] != 1 && model.input[0] != 3) || model.input[1] != model.input[2]) {
    throw Error(
        {.op = "tegula predict", .got = model.name + ", which takes " + to_string(model.input), .expected = "a model of square images"});
  }
  for (const std::string& path : choice.inputs) {
    const HostArray images = model.input[0] == 3 ? coloured(path, model.input[1]) : first(read_images(path, model.input[1]), choice.count);
    if (images.size() == 0) continue;
    const auto guesses = classify(model, images);
    if (choice.draw) std::printf("%s", draw(images, guesses).c_str());
    for (std::size_t i = 0; i < guesses.size(); ++i) {
      const std::string number = guesses.size() > 1 ? " [" + std::to_string(i) + "]" : "";
      std::printf("%s%s: %lld (%.1f %%), then %lld (%.1f %%)\n", path.c_str(), number.c_str(), static_cast<long long>(guesses[i].best),
                  100 * guesses[i].best_probability, static_cast<long long>(guesses[i].second), 100 * guesses[i].second_probability);
    }
  }
}

}  // namespace

void add_predict(Command& app) {
  auto choice = std::make_shared<PredictChoice>();
  Command command = app.command("predict", "what a model says: classes of pictures, or a column of tables");
  command.option("file", choice->file, "a model written by tegula train, or an ONNX file with a model of images").required().type("FILE");
  command
      .option("inputs", choice->inputs, "pictures (PNG, JPEG); of digits of any size, or idx files; for a model of a table: tables (CSV)")
      .required()
      .type("INPUT");
  command.option("--count", choice->count, "images of an idx file").check(positive()).shows_default().type("N");
  command.option("--classes", choice->classes, "the most probable ones that are named, of a model of `tegula train images`")
      .check(positive())
      .shows_default()
      .type("N");
  command.option("--scale", choice->scale, "of an ONNX model: what a white pixel is, 255 for one that takes bytes")
      .shows_default()
      .type("S");
  command.option("--found", choice->found, "of masks and boxes: the folder for the pictures that they are drawn into, NAME.found.png")
      .check(not_empty())
      .shows_default()
      .type("FOLDER");
  command.flag("!--no-pictures", choice->draw, "print the results only");
  add_device_option(command);
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app

// tegula eval: how good a trained model is.

#include <chrono>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/objects/objects.h"
#include "app/onnx_model.h"
#include "app/own/images.h"
#include "app/own/tables.h"
#include "app/own/training.h"
#include "app/progress.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/models/image_classifier.h"
#include "tegula/models/images/detection.h"
#include "tegula/models/images/segmentation.h"
#include "tegula/models/table.h"
#include "tegula/train/evaluator.h"
#include "tegula/train/metrics.h"

namespace tegula::app {
namespace {

struct EvalChoice {
  std::string file;
  DataChoice data;
  double scale = 1;
};

/// The folder of test data for a model trained by the user.
const std::string& own_data(const EvalChoice& choice, const char* what) {
  if (choice.data.folder.empty())
    throw Error({.op = "tegula eval", .got = choice.file + " without data", .expected = std::string("--data ") + what});
  return choice.data.folder;
}

void run(const EvalChoice& choice) {
  const bool brings_net = has_net(choice.file);
  const std::string kind = brings_net ? "" : kind_of_model(choice.file);
  if (kind == models::kTableKind) return evaluate_table(choice.file, own_data(choice, "TABLE"));
  if (kind == models::kImagesKind) return evaluate_folder(choice.file, own_data(choice, "FOLDER"));
  if (kind == models::kSegmentationKind) return evaluate_masks(choice.file, choice.data.folder);
  if (kind == models::kDetectionKind) return evaluate_boxes(choice.file, choice.data.folder);
  models::Model model = brings_net ? net_of_images(choice.file, choice.scale) : models::load(choice.file);
  const data::ArrayDataset test = read_sets(choice.data, model.input).test;
  Evaluator evaluator(model.net, {.loss = cross_entropy});
  const Evaluation result = evaluator.evaluate(test);
  const auto begin = std::chrono::steady_clock::now();
  const Tensor scores = evaluator.predict(test);  // (N, classes)
  metrics::ConfusionMatrix matrix(scores.size(1));
  matrix.add(scores, from_array(test.targets));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%s on %lld images: accuracy %.2f %%, loss %.4f, macro F1 %.4f, %s images/s\n\n%s", model.name.c_str(),
              static_cast<long long>(result.rows), 100 * result.accuracy, result.loss, matrix.macro_f1(),
              quantity(static_cast<double>(result.rows) / seconds).c_str(), matrix.print().c_str());
}

}  // namespace

void add_eval(Command& app) {
  auto choice = std::make_shared<EvalChoice>();
  Command command =
      app.command("eval", "how good a trained model is: on the test images, or on --data, a table or a folder of pictures of one's own");
  command.option("file", choice->file, "a model written by tegula train, or an ONNX file with a model of images").required().type("FILE");
  command.option("--scale", choice->scale, "of an ONNX model: what a white pixel is, 255 for one that takes bytes")
      .shows_default()
      .type("S");
  add_options(command, choice->data);
  add_precision(command);
  add_device_option(command);
  command.runs([choice] { run(*choice); });
}

}  // namespace tegula::app

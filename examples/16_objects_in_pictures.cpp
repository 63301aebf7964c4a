// Lesson 16: objects in pictures.
//
// Two questions about the same pictures, digits drawn anywhere: is a pixel part of a digit (segmentation), and where are the digits
// (detection)? Run it with "long" for nets that are trained until they are good, which takes minutes.

#include <tegula/models.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using namespace tegula;

constexpr std::int64_t kSide = 64;

// ---- Segmentation: a class for each pixel.

static double segmentation_lesson(std::int64_t pictures, std::int64_t epochs) {
  const data::Scenes train = data::draw_scenes(pictures, 1), test = data::draw_scenes(200, 2);
  manual_seed(0);
  // Is a pixel part of a digit? masks > 0: 0 for the ground, 1 for strokes.
  const auto set = [](const data::Scenes& scenes) {
    return data::ArrayDataset(scenes.images, cast(from_array(scenes.masks) > 0, i64).to_array());
  };
  models::UNet net{.in = 1, .classes = 2, .width = 8, .depth = 2};
  optim::Adam adam(parameters(net), {.lr = 3e-3});
  // cross_entropy, of each pixel's scores and its class.
  Trainer trainer(net, adam, pixel_loss(), {.epochs = epochs, .batch = 16, .schedule = optim::OneCycleLR{3e-3, epochs * (pictures / 16)}});
  trainer.fit(set(train), set(test));

  const metrics::ConfusionMatrix matrix = metrics::measure_pixels(net, set(test), {"ground", "stroke"});
  std::printf("segmentation: IoU of strokes %.3f, mean IoU %.3f, dice %.3f\n", matrix.iou(1), matrix.mean_iou(), matrix.f1(1));
  return matrix.iou(1);
}

// ---- Detection: boxes with classes.

static double detection_lesson(std::int64_t pictures, std::int64_t epochs) {
  const data::Scenes train = data::draw_scenes(pictures, 3), test = data::draw_scenes(200, 4);
  manual_seed(1);
  models::SingleShotDetector net{.classes = 10, .in = 1};
  optim::Adam adam(parameters(net), {.lr = 3e-3});
  // The loss gets what stands behind the picture in a sample: boxes, classes, and the mask, which it leaves alone.
  Trainer trainer(net, adam, detection_loss(net, kSide, kSide),
                  {.epochs = epochs, .batch = 32, .schedule = optim::OneCycleLR{4e-3, epochs * (pictures / 32)}, .inputs = 1});
  trainer.fit(train);

  const auto result = metrics::measure_boxes(net, test).result();
  std::printf("detection of digits:\n%s", result.print().c_str());

  // The first picture with three digits found, as a file: each class has its colour.
  std::vector<models::FoundObject> objects;
  std::int64_t shown = -1;
  while (objects.size() != 3 && shown + 1 < test.size()) objects = models::found_objects(net, test.get(++shown)[0]);
  std::vector<io::DrawnBox> drawn;
  for (const models::FoundObject& object : objects) drawn.push_back({object.corners, object.of_class});
  io::write_png("objects.png", io::draw_boxes(test.get(shown)[0], drawn));
  return result.map50;
}

int main(int argc, char** argv) {
  const bool is_long = argc > 1 && std::strcmp(argv[1], "long") == 0;
  const double iou = segmentation_lesson(is_long ? 4000 : 320, is_long ? 8 : 3);
  const double map = detection_lesson(is_long ? 12000 : 640, is_long ? 10 : 2);
  assert(!is_long || (iou >= 0.97 && map >= 0.95));
  assert(iou > 0.5 && map >= 0);
}

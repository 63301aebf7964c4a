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

/// Scores (N, classes, H, W) as rows of pixels (N * H * W, classes), which cross_entropy and the metrics take.
static Tensor by_pixel(const Tensor& scores) { return reshape(movedim(scores, 1, -1), {-1, scores.size(1)}); }

static double segmentation_lesson(std::int64_t pictures, std::int64_t epochs) {
  const data::Scenes train = data::draw_scenes(pictures, 1), test = data::draw_scenes(200, 2);
  manual_seed(0);
  // Is a pixel part of a digit? masks > 0: 0 for the ground, 1 for strokes.
  const auto set = [](const data::Scenes& scenes) {
    return data::ArrayDataset(scenes.images, cast(from_array(scenes.masks) > 0, i64).to_array());
  };
  models::UNet net{.in = 1, .classes = 2, .width = 8, .depth = 2};
  optim::Adam adam(parameters(net), {.lr = 3e-3});
  const Loss loss([](const Tensor& scores, const Tensor& masks) { return cross_entropy(scores, masks); });
  Trainer trainer(net, adam, loss, {.epochs = epochs, .batch = 16, .schedule = optim::OneCycleLR{3e-3, epochs * (pictures / 16)}});
  trainer.fit(set(train), set(test));

  metrics::ConfusionMatrix matrix({"ground", "stroke"});
  const Tensor scores = net(from_array(test.images));
  matrix.add(by_pixel(scores), reshape(cast(from_array(test.masks) > 0, i64), {-1}));
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
  const Loss loss(
      [&](const Tensor& output, const std::vector<Tensor>& targets) { return net.loss(output, targets[0], targets[1], kSide, kSide); });
  Trainer trainer(net, adam, loss,
                  {.epochs = epochs, .batch = 32, .schedule = optim::OneCycleLR{4e-3, epochs * (pictures / 32)}, .inputs = 1});
  trainer.fit(train);

  eval(net);
  auto find = jit([&](const Tensor& images) {
    const models::Found found = net.found(net(images), kSide, kSide);
    return std::vector<Tensor>{found.boxes, found.scores, found.classes, found.count};
  });
  metrics::MeanAveragePrecision map;
  const auto found = find(from_array(test.images));
  const Tensor boxes = from_array(test.boxes), classes = from_array(test.classes);
  const auto counts = found[3].to_host<std::int64_t>();
  for (std::int64_t i = 0; i < test.size(); ++i) {
    const auto here = static_cast<std::int64_t>(counts[std::size_t(i)]);
    const std::int64_t objects = sum(cast(select(classes, 0, i) >= 0, i64)).item<std::int64_t>();
    const auto first = [&](const Tensor& x, std::int64_t count) { return slice(select(x, 0, i), 0, {0, count}); };
    map.add({first(found[0], here), first(found[1], here), first(found[2], here)}, {first(boxes, objects), first(classes, objects)});
  }
  std::printf("detection of digits:\n%s", map.result().print().c_str());

  // The first picture with three digits found, as a file: each class has its colour.
  std::int64_t shown = 0;
  while (shown + 1 < test.size() && counts[std::size_t(shown)] != 3) ++shown;
  const auto corners = select(found[0], 0, shown).to_host<double>();
  const auto kinds = select(found[2], 0, shown).to_host<std::int64_t>();
  std::vector<io::DrawnBox> drawn;
  for (std::size_t k = 0; k < std::size_t(counts[std::size_t(shown)]); ++k)
    drawn.push_back({{corners[4 * k], corners[4 * k + 1], corners[4 * k + 2], corners[4 * k + 3]}, kinds[k]});
  io::write_png("objects.png", io::draw_boxes(test.get(shown)[0], drawn));
  return map.result().map50;
}

int main(int argc, char** argv) {
  const bool is_long = argc > 1 && std::strcmp(argv[1], "long") == 0;
  const double iou = segmentation_lesson(is_long ? 4000 : 320, is_long ? 8 : 3);
  const double map = detection_lesson(is_long ? 12000 : 640, is_long ? 10 : 2);
  assert(!is_long || (iou >= 0.97 && map >= 0.95));
  assert(iou > 0.5 && map >= 0);
}

#pragma once
// Segmentation and detection in a Trainer: their losses, and their measures over a set.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/nn/module.h"
#include "tegula/train/loss.h"
#include "tegula/train/metrics.h"
#include "tegula/train/metrics_of_boxes.h"

namespace tegula {

/// cross_entropy of scores (N, classes, H, W) and masks (N, H, W) i64, without the pixels whose class is -1.
Loss pixel_loss();

/// The loss of a detector such as models::SingleShotDetector, for samples {image, boxes, classes, …} of that size. Refers to the net.
template <class Detector>
Loss detection_loss(const Detector& net, std::int64_t height, std::int64_t width) {
  return [&net, height, width](const Tensor& output, const std::vector<Tensor>& targets) {
    return net.loss(output, targets.at(0), targets.at(1), height, width);
  };
}

namespace metrics {

/// Counts of true and predicted classes of all pixels but those of class -1: of samples {image, mask}. `scores`: images -> (N, classes, H, W).
ConfusionMatrix measure_pixels(const std::function<Tensor(const Tensor&)>& scores, const data::AnyDataset& set,
                               std::vector<std::string> classes, std::int64_t batch = 32);
/// The same of a net, which is left in evaluation mode.
template <nn::Module Net>
ConfusionMatrix measure_pixels(Net& net, const data::AnyDataset& set, std::vector<std::string> classes, std::int64_t batch = 32) {
  eval(net);
  const std::function<Tensor(const Tensor&)> scores = [&net](const Tensor& images) { return net(images); };
  return measure_pixels(scores, set, std::move(classes), batch);
}

/// COCO's measures over samples {image, boxes, classes, …}. `find`: images -> {boxes (N, most, 4), scores (N, most), classes (N, most), count (N)}.
MeanAveragePrecision measure_boxes(const std::function<std::vector<Tensor>(const Tensor&)>& find, const data::AnyDataset& set,
                                   std::int64_t batch = 32);
/// The same of a detector such as models::SingleShotDetector, which is left in evaluation mode.
template <nn::Module Detector>
MeanAveragePrecision measure_boxes(Detector& net, const data::AnyDataset& set, std::int64_t batch = 32) {
  eval(net);
  const std::function<std::vector<Tensor>(const Tensor&)> find = [&net](const Tensor& images) {
    const auto found = net.found(net(images), images.size(2), images.size(3));
    return std::vector<Tensor>{found.boxes, found.scores, found.classes, found.count};
  };
  return measure_boxes(find, set, batch);
}

}  // namespace metrics
}  // namespace tegula

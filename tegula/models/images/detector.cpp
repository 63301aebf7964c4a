#include "tegula/models/images/detector.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/models/images/convolution_norm.h"
#include "tegula/nn/init.h"
#include "tegula/nn/pooling.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/images/boxes.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr BoxCoding kCoding{{5, 5, 2.5, 2.5}};

/// (N, sizes * width, H, W) -> (N, H * W * sizes, width).
Tensor by_anchor(const Tensor& x, std::int64_t width) {
  return reshape(movedim(x, 1, -1), {x.size(0), x.size(1) * x.size(2) * x.size(3) / width, width});
}

}  // namespace

nn::Sequential SingleShotDetector::layers(std::int64_t in, std::int64_t width, std::int64_t stages) {
  nn::Sequential out;
  std::int64_t from = in;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t to = width << stage;
    out.push_back(convolution_norm(from, to, {}, nn::Layer(relu)));
    out.push_back(nn::MaxPool2d{2});
    from = to;
  }
  const std::int64_t last = width << stages;
  out.push_back(convolution_norm(from, last, {}, nn::Layer(relu)));
  out.push_back(convolution_norm(last, last, {}, nn::Layer(relu)));
  return out;
}

nn::Conv2d SingleShotDetector::scorer(std::int64_t in, std::int64_t out) {
  nn::Conv2d layer{in, out, 3, {.padding = 1}};
  layer.bias = nn::init::constant({out}, -std::log((1 - 0.01) / 0.01));  // each score begins as 0.01 (Lin et al., section 4.1)
  return layer;
}

Tensor SingleShotDetector::operator()(Tensor x) {
  const std::int64_t stride = std::int64_t{1} << stages;
  if (x.rank() != 4 || x.size(1) != in || x.size(2) % stride != 0 || x.size(3) % stride != 0) {
    throw Error({.op = "SingleShotDetector",
                 .got = "shape " + to_string(x.shape()),
                 .expected = "(N, " + std::to_string(in) + ", H, W), H and W multiples of " + std::to_string(stride)});
  }
  const Tensor map = body(x);
  return concat({by_anchor(scores(map), classes), by_anchor(codes(map), 4)}, -1);
}

Tensor SingleShotDetector::anchors(std::int64_t height, std::int64_t across) const {
  const std::int64_t stride = std::int64_t{1} << stages;
  return anchor_boxes(height / stride, across / stride, static_cast<double>(stride), sizes);
}

Tensor SingleShotDetector::loss(Arg output_arg, Arg boxes_arg, Arg of_arg, std::int64_t height, std::int64_t across) const {
  const Tensor output = output_arg.tensor("SingleShotDetector"), boxes = boxes_arg.tensor("SingleShotDetector"),
               of = of_arg.tensor("SingleShotDetector");
  const Tensor all = anchors(height, across);
  const Tensor match = match_boxes(box_iou(all, boxes), of >= 0);  // (N, A)
  const Tensor has_object = match >= 0, which = maximum(match, 0);
  const Tensor label = where(has_object, take_along_axis(of, which, 1), -1);
  const Tensor truth = cast(unsqueeze(label, -1) == arange(classes), output.dtype());
  const Tensor count = maximum(sum(cast(has_object, output.dtype())), 1.0);
  const Tensor focal = sigmoid_focal_loss(slice(output, -1, {0, classes}), truth);
  const Tensor classification = sum(where(unsqueeze(match > -2, -1), focal, 0.0)) / count;
  const Tensor own = take_along_axis(boxes, expand(unsqueeze(which, -1), {which.size(0), which.size(1), 4}), 1);
  const Tensor wanted = encode_boxes(where(unsqueeze(has_object, -1), own, unsqueeze(all, 0)), all, kCoding);
  const Tensor off = smooth_l1_loss(slice(output, -1, {classes, classes + 4}), wanted, {.reduction = LossReduction::None});
  return classification + sum(where(unsqueeze(has_object, -1), off, 0.0)) / count;
}

Found SingleShotDetector::found(Arg output_arg, std::int64_t height, std::int64_t across, const FoundOptions& options) const {
  const Tensor output = output_arg.tensor("SingleShotDetector");
  const Tensor chances = sigmoid(slice(output, -1, {0, classes}));
  const Tensor best = max(chances, -1), label = argmax(chances, -1);
  const Tensor boxes = clip_boxes(decode_boxes(slice(output, -1, {classes, classes + 4}), anchors(height, across), kCoding),
                                  static_cast<double>(height), static_cast<double>(across));
  const KeptBoxes kept = nms(boxes, best, {.iou = options.iou, .score = options.score, .most = options.most, .classes = label});
  const Tensor is_there = kept.index >= 0, at = maximum(kept.index, 0);
  const Tensor chosen = take_along_axis(boxes, expand(unsqueeze(at, -1), {at.size(0), at.size(1), 4}), 1);
  return {where(unsqueeze(is_there, -1), chosen, 0.0), where(is_there, take_along_axis(best, at, 1), 0.0),
          where(is_there, take_along_axis(label, at, 1), -1), kept.count};
}

}  // namespace tegula::models

#pragma once
// Boxes around objects in pictures. A box is the last axis of a tensor: x0, y0, x1, y1 in pixels, with x0 <= x1 and y0 <= y1, unless said otherwise.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

enum class BoxFormat : std::uint8_t {
  Corners,  // x0, y0, x1, y1 (Pascal VOC)
  CornerSize,  // x0, y0, width, height (COCO)
  CentreSize,  // centre x, centre y, width, height (YOLO)
};
/// boxes (…, 4) of one form in another. Float dtypes. Throws Error for another shape.
Tensor box_convert(Arg boxes, BoxFormat from, BoxFormat to);
/// boxes (…, 4) -> (…): width * height.
Tensor box_area(Arg boxes);
/// boxes (…, 4), cut off at the edges of a picture of that height and width.
Tensor clip_boxes(Arg boxes, double height, double width);

/// The measure of likeness of two boxes: 1 when they are equal.
enum class BoxOverlap : std::uint8_t {
  Iou,  // intersection over union, in [0, 1]; 0 where both are empty
  Generalized,  // less the share of the box around both that neither covers (Rezatofighi et al., 2019), in [-1, 1]
  Distance,  // IoU less the squared distance of the centres over the squared diagonal of the box around both (Zheng et al., 2020)
  Complete,  // Distance, less a term for different ratios of width and height (the same; its weight has no gradient)
};
struct BoxIouOptions {
  BoxOverlap kind = BoxOverlap::Iou;
};
/// a (…, N, 4), b (…, M, 4) -> (…, N, M), of each pair. The leading axes broadcast. Float dtypes, halves computed in f32; gradients to both.
Tensor box_iou(Arg a, Arg b, const BoxIouOptions& options = {});

/// Codes of a box relative to another (Girshick et al., 2014): shifts of the centre by width and height, logarithms of the ratios of sizes.
struct BoxCoding {
  std::array<double, 4> weights{1, 1, 1, 1};  // factors of the four numbers; (10, 10, 5, 5) is usual in the second stage of Faster R-CNN
};
/// boxes (…, 4), anchors (…, 4) -> codes (…, 4): w (x - x_a) / width_a, w (y - y_a) / height_a, w log(width / width_a), w log(height / height_a).
Tensor encode_boxes(Arg boxes, Arg anchors, const BoxCoding& coding = {});
/// The inverse. Logarithms above log(1000 / 16) are cut off, as in torchvision, so that a wild guess stays finite.
Tensor decode_boxes(Arg codes, Arg anchors, const BoxCoding& coding = {});

/// Boxes of each size around the middle of each cell of a (height, width) map whose cells are `stride` pixels wide: (height * width * sizes, 4) f32
/// of corners, row after row, the sizes of a cell side by side. A size is (width, height) in pixels.
Tensor anchor_boxes(std::int64_t height, std::int64_t width, double stride, const std::vector<std::array<double, 2>>& sizes,
                    Line where = Line::current());

struct MatchOptions {
  double low = 0.4, high = 0.5;  // an anchor has an object from `high` on, none below `low`, and counts neither way between
  bool best = true;  // the anchors that overlap an object most have it, however little that is
};
/// iou (…, A, M) of anchors and objects, present (…, M) boolean -> (…, A) i64: which object each anchor has, -1 for none, -2 for neither (Ren et al.,
/// "Faster R-CNN", 2015). No gradients. Throws Error for shapes that do not fit.
Tensor match_boxes(Arg iou, Arg present, const MatchOptions& options = {});

struct NmsOptions {
  double iou = 0.5;  // a box that overlaps a better one by more goes
  double score = -std::numeric_limits<double>::infinity();  // only boxes with a greater score are looked at
  std::int64_t most = 100;  // the size of the result
  Tensor classes = {};  // integers of the shape of scores: only boxes of one class suppress each other
};
struct KeptBoxes {
  Tensor index;  // (…, most) i64, the best first; -1 behind the last
  Tensor count;  // (…) i64
};
/// Non-maximum suppression: boxes (…, N, 4), scores (…, N); of equal scores the earlier box is the better. Boxes with a score of NaN are left
/// out. One pass over N for each of `most`. No gradients. Throws Error for shapes that do not fit.
KeptBoxes nms(Arg boxes, Arg scores, const NmsOptions& options = {});

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> box_cases();

}  // namespace tegula

// Boxes and regions of pictures: overlaps, codes, suppression, parts of feature maps.

#include "tegula/ops/images/boxes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tegula/compile/jit.h"
#include "tegula/ops/case.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/images/regions.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"
#include "tests/ops/shape_values.h"
#include "tests/support/op_check.h"
#include "tests/support/values.h"

namespace tegula {

INSTANTIATE_DECLARED_CASES(Boxes, box_cases());
INSTANTIATE_DECLARED_CASES(Regions, region_cases());

namespace {

using test::drawn;

Tensor floats(const std::vector<float>& x) { return tensor(std::span<const float>(x), {static_cast<std::int64_t>(x.size())}); }
Tensor whole(const std::vector<std::int64_t>& x) { return tensor(std::span<const std::int64_t>(x), {static_cast<std::int64_t>(x.size())}); }

Tensor boxes_in(std::int64_t n, double size, double side, DType dtype = f32) {
  const Tensor low = uniform({n, 2}, 0, size, {dtype}), sides = uniform({n, 2}, 0, side, {dtype});
  return concat({low, low + sides}, 1);
}

TEST(Boxes, OverlapsByHand) {
  const Tensor a = reshape(floats({0, 0, 2, 2, 1, 1, 1, 1.}), {2, 4}), b = reshape(floats({1, 1, 3, 3, 0, 0, 2, 2, 4, 4, 6, 6.}), {3, 4});
  expect_values(box_iou(a, b), {1.0 / 7, 1, 0, 0, 0, 0}, 1e-6);
  // The box around (0, 0, 2, 2) and (4, 4, 6, 6) has 36 pixels, 28 of them of neither; the centres are 4 * sqrt 2 apart, its diagonal is 6 * sqrt 2.
  const Tensor first = slice(a, 0, {0, 1}), last = slice(b, 0, {2, 3});
  expect_values(box_iou(first, last, {BoxOverlap::Generalized}), {-28.0 / 36}, 1e-6);
  expect_values(box_iou(first, last, {BoxOverlap::Distance}), {-16.0 / 36}, 1e-6);
  expect_values(box_iou(first, last, {BoxOverlap::Complete}), {-16.0 / 36}, 1e-6);
  expect_values(box_iou(first, first, {BoxOverlap::Complete}), {1}, 1e-6);
  expect_values(box_area(b), {4, 4, 4});
  expect_values(clip_boxes(floats({-1, 2, 9, 5.}), 4, 6), {0, 2, 6, 4});
}

TEST(Boxes, FormsAndCodesThereAndBack) {
  const Tensor boxes = boxes_in(20, 50, 30, f64), anchors = boxes_in(20, 50, 30, f64) + floats({0, 0, 1, 1});
  for (const BoxFormat form : {BoxFormat::CornerSize, BoxFormat::CentreSize}) {
    expect_values(box_convert(box_convert(boxes, BoxFormat::Corners, form), form, BoxFormat::Corners), boxes.to_host<double>(), 1e-12);
  }
  expect_values(box_convert(floats({1., 2, 5, 8}), BoxFormat::Corners, BoxFormat::CentreSize), {3, 5, 4, 6});
  expect_values(box_convert(floats({1., 2, 5, 8}), BoxFormat::CornerSize, BoxFormat::Corners), {1, 2, 6, 10});
  const BoxCoding coding{{10, 10, 5, 5}};
  expect_values(decode_boxes(encode_boxes(boxes, anchors, coding), anchors, coding), boxes.to_host<double>(), 1e-9);
  // A box twice as wide as the anchor, its centre half a width to the right.
  expect_values(encode_boxes(floats({0., 0, 4, 2}), floats({0., 0, 2, 2})), {0.5, 0, std::log(2.0), 0}, 1e-6);
  EXPECT_TRUE(std::isfinite(max(decode_boxes(full({1, 4}, 1e30), floats({0., 0, 2, 2}), {})).item<double>() * 0));
}

TEST(Boxes, AnchorsAndWhichObjectTheyHave) {
  const Tensor anchors = anchor_boxes(1, 2, 8, {{4, 2}, {8, 8}});
  expect_values(anchors, {2, 3, 6, 5, 0, 0, 8, 8, 10, 3, 14, 5, 8, 0, 16, 8});
  EXPECT_EQ(anchor_boxes(0, 3, 8, {{4, 2}}).shape(), (Shape{0, 4}));
  // Four anchors; object 0 is found well by anchor 0, object 1 badly by anchor 3, object 2 is not there.
  const Tensor iou = reshape(floats({0.9f, 0, 0.9f, 0.45f, 0, 0, 0.1f, 0.05f, 0, 0, 0.3f, 0}), {4, 3});
  const Tensor present = tensor({true, true, false});
  expect_values(match_boxes(iou, present), {0, -2, -1, 1});
  expect_values(match_boxes(iou, present, {.best = false}), {0, -2, -1, -1});
  expect_values(match_boxes(iou, present, {.low = 0.05, .high = 0.05, .best = false}), {0, 0, 0, 1});
  expect_values(match_boxes(zeros({2, 0}), zeros({0}, boolean)), {-1, -1});
}

/// The greedy loop.
std::vector<std::int64_t> greedy(const std::vector<double>& boxes, const std::vector<double>& scores, const std::vector<double>& classes,
                                 double iou, double least, std::size_t most) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto overlap = [&](std::size_t i, std::size_t j) {
    const double *a = &boxes[4 * i], *b = &boxes[4 * j];
    const double both =
        std::max(0.0, std::min(a[2], b[2]) - std::max(a[0], b[0])) * std::max(0.0, std::min(a[3], b[3]) - std::max(a[1], b[1]));
    const double either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
    return either > 0 ? both / either : 0;
  };
  std::vector<std::int64_t> kept;
  for (const std::size_t i : order) {
    if (kept.size() == most || !(scores[i] > least)) continue;
    if (std::ranges::any_of(kept, [&](std::int64_t k) {
          const auto j = static_cast<std::size_t>(k);
          return classes[i] == classes[j] && overlap(i, j) > iou;
        }))
      continue;
    kept.push_back(static_cast<std::int64_t>(i));
  }
  kept.resize(most, -1);
  return kept;
}

TEST(Boxes, SuppressionIsTheGreedyLoop) {
  for (const std::int64_t n : {1, 7, 60}) {
    const Tensor boxes = reshape(boxes_in(3 * n, 40, 25, f64), {3, n, 4}), scores = uniform({3, n}, 0, 1, {f64});
    const Tensor classes = cast(uniform({3, n}, 0, 3, {f64}), i64);
    for (const bool by_class : {false, true}) {
      const NmsOptions options{.iou = 0.3, .score = 0.1, .most = 10, .classes = by_class ? classes : Tensor()};
      const KeptBoxes got = nms(boxes, scores, options);
      ASSERT_EQ(got.index.shape(), (Shape{3, 10}));
      ASSERT_EQ(got.count.shape(), (Shape{3}));
      for (int row = 0; row < 3; ++row) {
        const auto none = std::vector<double>(static_cast<std::size_t>(n), 0);
        const auto want = greedy(select(boxes, 0, row).to_host<double>(), select(scores, 0, row).to_host<double>(),
                                 by_class ? select(classes, 0, row).to_host<double>() : none, 0.3, 0.1, 10);
        EXPECT_EQ(select(got.index, 0, row).to_host<std::int64_t>(), want) << n << " boxes, row " << row;
        EXPECT_EQ(select(got.count, 0, row).item<std::int64_t>(), std::ranges::count_if(want, [](std::int64_t i) { return i >= 0; }));
      }
      auto compiled = jit([&](const std::vector<Tensor>& x) { return std::vector<Tensor>{nms(x[0], x[1], options).index}; });
      EXPECT_EQ(compiled({boxes, scores})[0].to_host<std::int64_t>(), got.index.to_host<std::int64_t>());
    }
  }
}

TEST(Boxes, SuppressionAtItsEdges) {
  const Tensor boxes = reshape(floats({0, 0, 2, 2, 0, 0, 2, 2, 5, 5, 5, 5, 0, 0, 2, 2.}), {4, 4});
  const float none = std::nanf("");
  // With equal scores the earlier box stays; an empty box overlaps nothing; NaN is no score.
  expect_values(nms(boxes, floats({0.5f, 0.5f, 0.1f, none}), {.most = 4}).index, {0, 2, -1, -1});
  expect_values(nms(boxes, floats({0.5f, 0.5f, 0.1f, none}), {.most = 4, .classes = whole({0, 1, 0, 0})}).index, {0, 1, 2, -1});
  EXPECT_EQ(nms(zeros({0, 4}), zeros({0}), {.most = 3}).index.to_host<std::int64_t>(), (std::vector<std::int64_t>{-1, -1, -1}));
  EXPECT_EQ(nms(boxes, zeros({4}), {.most = 0}).index.shape(), (Shape{0}));
  EXPECT_EQ(nms(zeros({0, 5, 4}), zeros({0, 5})).count.shape(), (Shape{0}));
}

TEST(Regions, APictureOfItsOwnPlacesGivesThem) {
  // x holds the column of each pixel: linear between them, so that a cell holds the mean of its samples' columns.
  const Tensor x = expand(reshape(cast(arange(16), f32), {1, 1, 1, 16}), {1, 1, 16, 16});
  const Tensor box = reshape(floats({2., 3, 10, 11}), {1, 4}), of = whole({0});
  expect_values(select(select(roi_align(x, box, of, {.height = 1, .width = 4}), 0, 0), 0, 0), {3, 5, 7, 9}, 1e-5);
  expect_values(select(select(roi_align(x, box, of, {.height = 1, .width = 4, .aligned = true}), 0, 0), 0, 0), {2.5, 4.5, 6.5, 8.5}, 1e-5);
  expect_values(select(select(roi_align(x, box * 2, of, {.height = 1, .width = 4, .scale = 0.5}), 0, 0), 0, 0), {3, 5, 7, 9}, 1e-5);
  expect_values(roi_align(x, box + 40, of, {.height = 1, .width = 1}), {0});  // outside
  // Pixels 2 to 10, in cells of 9 / 4.
  expect_values(select(select(roi_pool(x, box, of, {.height = 1, .width = 4}), 0, 0), 0, 0), {4, 6, 8, 10});
  expect_values(roi_pool(x, box + 40, of, {.height = 1, .width = 1}), {0});
}

TEST(Regions, EachRegionIsOfItsPicture) {
  const Tensor x = drawn({3, 2, 9, 8}, f64), boxes = boxes_in(5, 4, 4, f64), of = whole({2, 0, 1, 1, 2});
  const Tensor all = roi_align(x, boxes, of, {.height = 3, .width = 3});
  for (int r = 0; r < 5; ++r) {
    const std::int64_t picture = of.to_host<std::int64_t>()[static_cast<std::size_t>(r)];
    const Tensor one = roi_align(slice(x, 0, {picture, picture + 1}), slice(boxes, 0, {r, r + 1}), whole({0}), {.height = 3, .width = 3});
    expect_values(slice(all, 0, {r, r + 1}), one.to_host<double>(), 1e-12);
  }
}

TEST(Boxes, Errors) {
  expect_part(refusal([] { box_area(zeros({3, 5})); }), "box_area: got shape (3, 5), expected boxes (…, 4)");
  expect_part(refusal([] { box_iou(zeros({4}), zeros({2, 4})); }), "box_iou: got shapes (4,) and (2, 4), expected (…, N, 4) and (…, M, 4)");
  expect_part(refusal([] { nms(zeros({3, 4}), zeros({4})); }), "nms: got boxes (3, 4), scores (4,)");
  expect_part(refusal([] { nms(zeros({3, 4}), zeros({3}), {.classes = zeros({3})}); }), "expected integers of the shape of scores");
  expect_part(refusal([] { roi_align(zeros({1, 3, 4}), zeros({2, 4}), whole({0, 0})); }), "roi_align: got shapes (1, 3, 4)");
  expect_part(refusal([] { roi_align(zeros({1, 1, 3, 4}), zeros({2, 4}), zeros({2})); }), "(R) of integers");
  expect_part(refusal([] { roi_align(zeros({1, 1, 3, 4}), zeros({2, 4}), whole({0, 0}), {.samples = 0}); }), "at least 1 each");
  expect_part(refusal([] { match_boxes(zeros({4, 3}), zeros({3})); }), "(…, A, M) and (…, M) of boolean");
  expect_part(refusal([] { anchor_boxes(-1, 3, 8, {}); }), "anchor_boxes: got a map of (-1, 3)");
  expect_part(refusal([] { dice_loss(zeros({3}), zeros({3})); }), "dice_loss: got shapes (3,) and (3,), expected two equal ones (N, …)");
  expect_part(refusal([] { sigmoid_focal_loss(zeros({3}), zeros({3}), {.gamma = -1}); }), "gamma = -1");
}

TEST(PictureLosses, ByHand) {
  // An even chance: p_t = 1/2, a quarter of log 2, times alpha.
  expect_values(sigmoid_focal_loss(floats({0., 0}), floats({1., 0})), {0.25 * 0.25 * std::log(2.0), 0.75 * 0.25 * std::log(2.0)}, 1e-6);
  const Tensor x = drawn({40}, f64), t = uniform({40}, 0, 1, {f64});
  expect_values(sigmoid_focal_loss(x, t, {.alpha = -1, .gamma = 0}),
                binary_cross_entropy_with_logits(x, t, {.reduction = LossReduction::None}).to_host<double>(), 1e-12);
  EXPECT_TRUE(std::isfinite(sum(sigmoid_focal_loss(floats({1e4, -1e4}), floats({0., 1}))).item<double>()));
  expect_values(dice_loss(reshape(floats({1., 0, 1, 0}), {1, 4}), reshape(floats({1., 1, 0, 0}), {1, 4}), {.smooth = 0}), {0.5}, 1e-6);
  expect_values(dice_loss(zeros({2, 4}), zeros({2, 4})), {0});
}

}  // namespace
}  // namespace tegula

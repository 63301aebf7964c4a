#include "tegula/train/metrics_of_boxes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/io/files.h"

namespace tegula::metrics {
namespace {

class Stream {
 public:
  double operator()() {
    state_ = (state_ * 1103515245 + 12345) % (std::uint64_t{1} << 31);
    return static_cast<double>(state_ >> 8) / (1 << 23);
  }
  std::int64_t below(int n) { return static_cast<std::int64_t>((*this)() * n); }

 private:
  std::uint64_t state_ = 7;
};

template <class T>
Tensor row(const std::vector<T>& x) {
  return tensor(std::span<const T>(x), {static_cast<std::int64_t>(x.size())});
}
Tensor boxes_of(const std::vector<double>& x) { return tensor(std::span<const double>(x), {static_cast<std::int64_t>(x.size()) / 4, 4}); }

struct Lists {
  std::vector<double> boxes, scores, areas, crowd;
  std::vector<std::int64_t> classes;
  void box(double x, double y, double w, double h) { boxes.insert(boxes.end(), {x, y, x + w, y + h}); }
};

TEST(MeanAveragePrecision, IsThatOfCocosOwnTool) {
  Stream draw;
  MeanAveragePrecision metric;
  for (int picture = 0; picture < 12; ++picture) {
    Lists truth, found;
    const std::int64_t objects = draw.below(6);
    for (std::int64_t k = 0; k < objects; ++k) {
      const std::int64_t kind = draw.below(3);
      const double first = draw(), side = 4 + first * draw() * 180;
      const double x = draw() * 200, y = draw() * 150, w = side * (0.5 + draw()), h = side * (0.5 + draw());
      truth.classes.push_back(kind), truth.box(x, y, w, h), truth.areas.push_back(w * h);
      truth.crowd.push_back(draw() < 0.15 ? 1 : 0);
      const std::int64_t times = draw.below(3);
      for (std::int64_t j = 0; j < times; ++j) {
        const double n = side * 0.3 * draw();
        found.classes.push_back(draw() < 0.8 ? kind : (kind + 1) % 3);
        const double fx = x + n * (draw() - 0.5), fy = y + n * (draw() - 0.5), fw = w + n * (draw() - 0.5), fh = h + n * (draw() - 0.5);
        found.box(fx, fy, fw, fh), found.scores.push_back(std::nearbyint(draw() * 50) / 50);
      }
    }
    const std::int64_t wild = draw.below(2);
    for (std::int64_t j = 0; j < wild; ++j) {
      found.classes.push_back(draw.below(3));
      const double x = draw() * 300, y = draw() * 200, w = draw() * 90, h = draw() * 90;
      found.box(x, y, w, h), found.scores.push_back(draw());
    }
    metric.add({boxes_of(found.boxes), row(found.scores), row(found.classes)},
               {boxes_of(truth.boxes), row(truth.classes), row(truth.crowd), row(truth.areas)});
  }
  // pycocotools 2.0, bbox: 33 objects, 41 found boxes, many scores twice.
  const MeanAveragePrecision::Result r = metric.result();
  const double got[] = {r.map,     r.map50,    r.map75,     r.small,        r.medium,        r.large,
                        r.recall1, r.recall10, r.recall100, r.recall_small, r.recall_medium, r.recall_large};
  const double want[] = {0.2174263140599774,  0.31625114892441625, 0.19026950314079025, 0.2083058305830583, 0.23586358635863586,
                         0.33498349834983493, 0.25111111111111106, 0.4266666666666667,  0.4266666666666667, 0.42,
                         0.4444444444444445,  0.3333333333333333};
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
  EXPECT_NEAR(r.of_class.at(0), 0.1743454345434543, 1e-12);
  EXPECT_NEAR(r.of_class.at(1), 0.26002171645736005, 1e-12);
  EXPECT_NEAR(r.of_class.at(2), 0.2179117911791179, 1e-12);
  EXPECT_NE(r.print().find("mAP, IoU 0.50            0.3163"), std::string::npos) << r.print();
}

TEST(MeanAveragePrecision, EndsOfTheScale) {
  MeanAveragePrecision none, all, nothing;
  EXPECT_EQ(none.result().map, -1);
  const Tensor box = boxes_of({10, 10, 30, 30}), one = row(std::vector<std::int64_t>{4}), score = row(std::vector<double>{0.5});
  all.add({box, score, one}, {box, one});
  EXPECT_EQ(all.result().map, 1);
  EXPECT_EQ(all.result().small, 1);
  EXPECT_EQ(all.result().large, -1);
  nothing.add({boxes_of({}), row(std::vector<double>{}), row(std::vector<std::int64_t>{})}, {box, one});
  EXPECT_EQ(nothing.result().map, 0);
  EXPECT_EQ(nothing.result().recall100, 0);
}

TEST(MeanAveragePrecision, RefusesWhatDoesNotFit) {
  MeanAveragePrecision metric;
  const Tensor box = boxes_of({10, 10, 30, 30}), one = row(std::vector<std::int64_t>{4}), score = row(std::vector<double>{0.5});
  EXPECT_ERROR(metric.add({score, score, one}, {box, one}), "boxes (1,)");
  EXPECT_ERROR(metric.add({box, boxes_of({}), one}, {box, one}), "scores (0, 4) of 1 boxes");
  EXPECT_ERROR(metric.add({box, score, score}, {box, one}), "classes (1,) of f64");
}

}  // namespace
}  // namespace tegula::metrics

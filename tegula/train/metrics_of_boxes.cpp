#include "tegula/train/metrics_of_boxes.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "tegula/core/error.h"
#include "tegula/train/progress.h"

namespace tegula::metrics {
namespace {

using Box = std::array<double, 4>;

std::vector<Box> boxes_of(const Tensor& boxes) {
  const std::vector<double> all = boxes.to_host<double>();
  std::vector<Box> out(all.size() / 4);
  for (std::size_t i = 0; i < all.size(); ++i) out[i / 4][i % 4] = all[i];
  return out;
}

double area(const Box& box) { return (box[2] - box[0]) * (box[3] - box[1]); }

/// Against a crowd: the share of the found box that lies within it.
double overlap(const Box& found, const Box& truth, bool is_crowd) {
  const double w = std::min(found[2], truth[2]) - std::max(found[0], truth[0]),
               h = std::min(found[3], truth[3]) - std::max(found[1], truth[1]);
  if (w <= 0 || h <= 0) return 0;
  const double both = w * h;
  return both / (is_crowd ? area(found) : area(found) + area(truth) - both);
}

[[noreturn]] void refuse(const std::string& got, const Line& where) {
  throw Error({.op = "MeanAveragePrecision",
               .got = got,
               .expected = "boxes (N, 4) with scores (N) and integer classes (N), and true boxes (M, 4) with classes (M)",
               .where = where});
}

void expect(const Tensor& boxes, const Tensor& classes, const Line& where) {
  if (boxes.rank() == 2 && boxes.size(1) == 4 && classes.shape() == Shape{boxes.size(0)} && !is_float(classes.dtype())) return;
  refuse("boxes " + to_string(boxes.shape()) + " and classes " + to_string(classes.shape()) + " of " + std::string(name(classes.dtype())),
         where);
}

std::vector<double> column(const Tensor& x, std::int64_t count, const char* what, const Line& where) {
  if (x.shape() != Shape{count}) refuse(std::string(what) + " " + to_string(x.shape()) + " of " + std::to_string(count) + " boxes", where);
  return x.to_host<double>();
}

/// One found box: its score, whether it has an object, and whether it counts neither way.
struct Judged {
  double score;
  bool is_right, is_ignored;
};

constexpr double kEverySize = 1e10, kSmall = 32 * 32, kMedium = 96 * 96;

}  // namespace

void MeanAveragePrecision::add(const FoundBoxes& found, const TrueBoxes& truth, Line where) {
  expect(found.boxes, found.classes, where), expect(truth.boxes, truth.classes, where);
  const std::int64_t n = found.boxes.size(0), m = truth.boxes.size(0), picture = pictures_;
  const auto scores = column(found.scores, n, "scores", where);
  const auto crowd = truth.crowd.defined() ? column(truth.crowd, m, "crowd", where) : std::vector<double>(static_cast<std::size_t>(m), 0);
  const auto boxes = boxes_of(found.boxes), objects = boxes_of(truth.boxes);
  std::vector<double> areas;
  if (truth.area.defined()) areas = column(truth.area, m, "area", where);
  else std::ranges::transform(objects, std::back_inserter(areas), area);
  const auto of = found.classes.to_host<std::int64_t>(), is = truth.classes.to_host<std::int64_t>();
  for (std::size_t i = 0; i < boxes.size(); ++i) classes_[of[i]][picture].found.push_back({boxes[i], scores[i]});
  for (std::size_t i = 0; i < objects.size(); ++i) classes_[is[i]][picture].truth.push_back({objects[i], areas[i], crowd[i] != 0});
  ++pictures_;
}

/// Precision over 101 recalls and the greatest recall, of one class at one IoU, for objects of one range of sizes.
MeanAveragePrecision::Curve MeanAveragePrecision::curve(const std::map<std::int64_t, Picture>& pictures, const Range& range, double iou,
                                                        std::size_t most) {
  std::vector<Judged> all;
  std::int64_t objects = 0;
  const auto outside = [&](double size) { return size < range.low || size > range.high; };
  for (const auto& [number, picture] : pictures) {
    std::vector<std::size_t> order(picture.found.size()), truths(picture.truth.size());
    std::iota(order.begin(), order.end(), std::size_t{0}), std::iota(truths.begin(), truths.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return picture.found[a].score > picture.found[b].score; });
    if (order.size() > most) order.resize(most);
    const auto ignored = [&](std::size_t t) { return picture.truth[t].is_crowd || outside(picture.truth[t].area); };
    std::ranges::stable_partition(truths, [&](std::size_t t) { return !ignored(t); });  // those that count are looked at first
    objects += std::ranges::count_if(truths, [&](std::size_t t) { return !ignored(t); });
    std::vector<bool> is_taken(picture.truth.size());
    for (const std::size_t d : order) {
      double best = std::min(iou, 1 - 1e-10);
      std::optional<std::size_t> match;
      for (const std::size_t t : truths) {
        if (is_taken[t] && !picture.truth[t].is_crowd) continue;
        if (match && !ignored(*match) && ignored(t)) break;
        const double share = overlap(picture.found[d].box, picture.truth[t].box, picture.truth[t].is_crowd);
        if (share < best) continue;
        best = share, match = t;
      }
      if (match) is_taken[*match] = true;
      all.push_back({picture.found[d].score, match.has_value(), match ? ignored(*match) : outside(area(picture.found[d].box))});
    }
  }
  if (objects == 0) return {};
  std::ranges::stable_sort(all, [](const Judged& a, const Judged& b) { return a.score > b.score; });
  std::vector<double> recalls, precisions;
  double right = 0, wrong = 0;
  for (const Judged& one : all) {
    if (!one.is_ignored) (one.is_right ? right : wrong) += 1;
    recalls.push_back(right / static_cast<double>(objects));
    precisions.push_back(right + wrong > 0 ? right / (right + wrong) : 0);
  }
  for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  double sum = 0;
  for (int step = 0; step <= 100; ++step) {
    const auto at = std::ranges::lower_bound(recalls, step * 0.01);
    if (at != recalls.end()) sum += precisions[static_cast<std::size_t>(at - recalls.begin())];
  }
  return {sum / 101, recalls.empty() ? 0 : recalls.back()};
}

MeanAveragePrecision::Result MeanAveragePrecision::result() const {
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double x) {
      if (x > -1) sum += x, ++count;
    }
    double value() const { return count > 0 ? sum / count : -1; }
  };
  Result out;
  const auto over = [&](const Range& range, std::size_t most, double& precision, double& recall,
                        std::map<std::int64_t, double>* of_class = nullptr) {
    Mean p, r;
    for (const auto& [number, pictures] : classes_) {
      Mean own;
      for (int i = 0; i < 10; ++i) {
        const Curve one = curve(pictures, range, 0.5 + 0.05 * i, most);
        p.add(one.precision), r.add(one.recall), own.add(one.precision);
      }
      if (of_class && own.count > 0) (*of_class)[number] = own.value();
    }
    precision = p.value(), recall = r.value();
  };
  double unread = 0;
  over({0, kEverySize}, 100, out.map, out.recall100, &out.of_class);
  over({0, kEverySize}, 1, unread, out.recall1);
  over({0, kEverySize}, 10, unread, out.recall10);
  over({0, kSmall}, 100, out.small, out.recall_small);
  over({kSmall, kMedium}, 100, out.medium, out.recall_medium);
  over({kMedium, kEverySize}, 100, out.large, out.recall_large);
  for (const auto& [iou, at] : {std::pair(0.5, &out.map50), std::pair(0.75, &out.map75)}) {
    Mean mean;
    for (const auto& [number, pictures] : classes_) mean.add(curve(pictures, {0, kEverySize}, iou, 100).precision);
    *at = mean.value();
  }
  return out;
}

std::string MeanAveragePrecision::Result::print() const {
  std::string text;
  for (const auto& [label, value] :
       {std::pair("mAP, IoU 0.50 to 0.95", map), std::pair("mAP, IoU 0.50", map50), std::pair("mAP, IoU 0.75", map75),
        std::pair("  small objects", small), std::pair("  medium", medium), std::pair("  large", large),
        std::pair("recall, 1 box", recall1), std::pair("recall, 10 boxes", recall10), std::pair("recall, 100 boxes", recall100)})
    text += value < 0 ? progress::format("%-24s none\n", label) : progress::format("%-24s %.4f\n", label, value);
  return text;
}

}  // namespace tegula::metrics

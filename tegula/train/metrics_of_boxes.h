#pragma once
// Measures of found boxes, by the rules of COCO (Lin et al., "Microsoft COCO", 2014; its evaluation of bounding boxes).

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula::metrics {

/// Boxes found in a picture: corners x0, y0, x1, y1 (N, 4), scores (N), classes (N) integer.
struct FoundBoxes {
  Tensor boxes, scores, classes;
};
/// Objects that are in a picture. A box around a crowd may be found any number of times, and counts neither for nor against.
struct TrueBoxes {
  Tensor boxes, classes;  // (N, 4), (N) integer
  Tensor crowd = {};      // (N) boolean; none
  Tensor area = {};       // (N): pixels of each object, which say whether it is small; width * height
};

class MeanAveragePrecision {
 public:
  /// One picture. Throws Error for shapes that do not fit.
  void add(const FoundBoxes& found, const TrueBoxes& truth, Line where = Line::current());

  /// Means over classes that have an object, -1 where none has. The 100 boxes of the greatest scores of each class count in a picture.
  struct Result {
    double map = -1;                           // over IoU 0.50, 0.55 … 0.95: the measure of COCO
    double map50 = -1, map75 = -1;             // at IoU 0.5 (the measure of Pascal VOC) and 0.75
    double small = -1, medium = -1, large = -1;  // map of objects up to 32² pixels, up to 96², and beyond
    double recall1 = -1, recall10 = -1, recall100 = -1;  // the mean over IoU of the greatest recall, with that many boxes of a picture
    double recall_small = -1, recall_medium = -1, recall_large = -1;
    std::map<std::int64_t, double> of_class;  // map
    std::string print() const;  // a line for each
  };
  Result result() const;

 private:
  struct Found {
    std::array<double, 4> box;
    double score;
  };
  struct True {
    std::array<double, 4> box;
    double area;
    bool is_crowd;
  };
  struct Picture {
    std::vector<Found> found;
    std::vector<True> truth;
  };
  struct Curve {
    double precision = -1, recall = -1;
  };
  struct Range {
    double low, high;
  };
  static Curve curve(const std::map<std::int64_t, Picture>& pictures, const Range& range, double iou, std::size_t most);

  std::map<std::int64_t, std::map<std::int64_t, Picture>> classes_;  // class, number of the picture
  std::int64_t pictures_ = 0;
};

}  // namespace tegula::metrics

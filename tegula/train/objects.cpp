#include "tegula/train/objects.h"

#include <algorithm>

#include "tegula/compile/jit.h"
#include "tegula/data/loader.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {

Loss pixel_loss() {
  return [](const Tensor& scores, const Tensor& masks) { return cross_entropy(scores, masks, {.ignore_index = -1}); };
}

namespace metrics {

ConfusionMatrix measure_pixels(const std::function<Tensor(const Tensor&)>& scores, const data::AnyDataset& set,
                               std::vector<std::string> classes, std::int64_t batch) {
  ConfusionMatrix matrix(std::move(classes));
  auto predict = jit([&scores](const Tensor& images) { return argmax(scores(images), 1); });
  for (const data::Batch& part : data::Loader(set, {.batch = batch})) {
    const auto truth = part.y.to_host<std::int64_t>(), predicted = predict(part.x).to_host<std::int64_t>();
    std::vector<std::int64_t> known, answers;
    for (std::size_t p = 0; p < truth.size(); ++p) {
      if (truth[p] >= 0) known.push_back(truth[p]), answers.push_back(predicted[p]);
    }
    matrix.add(known, answers);
  }
  return matrix;
}

MeanAveragePrecision measure_boxes(const std::function<std::vector<Tensor>(const Tensor&)>& find, const data::AnyDataset& set,
                                   std::int64_t batch) {
  MeanAveragePrecision map;
  auto find_all = jit([&find](const Tensor& images) { return find(images); });
  for (const data::Batch& part : data::Loader(set, {.batch = batch})) {
    const std::vector<Tensor> found = find_all(part.x);
    const auto counts = found[3].to_host<std::int64_t>(), truth = part.tensors.at(2).to_host<std::int64_t>();
    const std::int64_t most = part.tensors[2].size(1);
    for (std::int64_t i = 0; i < part.rows; ++i) {
      const auto* const own = truth.data() + i * most;
      const std::int64_t objects = std::count_if(own, own + most, [](std::int64_t of_class) { return of_class >= 0; });
      const auto first = [&](const Tensor& x, std::int64_t count) { return slice(select(x, 0, i), 0, {0, count}); };
      const std::int64_t here = counts[static_cast<std::size_t>(i)];
      map.add({first(found[0], here), first(found[1], here), first(found[2], here)},
              {first(part.tensors[1], objects), first(part.tensors[2], objects)});
    }
  }
  return map;
}

}  // namespace metrics
}  // namespace tegula

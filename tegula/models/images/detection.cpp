#include "tegula/models/images/detection.h"

#include <algorithm>

#include "tegula/core/error.h"
#include "tegula/data/objects/placement.h"
#include "tegula/models/description.h"
#include "tegula/models/model_file.h"
#include "tegula/nn/state.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr std::int64_t kMostAnchors = 64;

double shared(const std::array<double, 2>& a, const std::array<double, 2>& b) {
  const double both = std::min(a[0], b[0]) * std::min(a[1], b[1]);
  return both / (a[0] * a[1] + b[0] * b[1] - both);
}

/// The IoU of two boxes with one corner in common is greatest for which of the sizes?
std::size_t nearest_size(const std::array<double, 2>& box, const std::vector<std::array<double, 2>>& sizes) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < sizes.size(); ++k) {
    if (shared(box, sizes[k]) > shared(box, sizes[best])) best = k;
  }
  return best;
}

std::string size_key(std::size_t anchor, const char* side) { return "anchor." + std::to_string(anchor) + "." + side; }

}  // namespace

std::vector<std::array<double, 2>> anchor_sizes(const data::AnyDataset& set, std::int64_t count, std::int64_t samples) {
  constexpr int kRounds = 30;
  std::vector<std::array<double, 2>> boxes;
  const std::int64_t step = std::max<std::int64_t>(1, set.size() / std::max<std::int64_t>(1, samples));
  for (std::int64_t i = 0; i < set.size(); i += step) {
    data::RandomStream none(0, 0);
    const data::Sample sample = set.get(i, none);
    const auto corners = sample.at(1).values<float>();
    const auto classes = sample.at(2).values<std::int64_t>();
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const double width = corners[4 * k + 2] - corners[4 * k], height = corners[4 * k + 3] - corners[4 * k + 1];
      if (classes[k] >= 0 && width > 0 && height > 0) boxes.push_back({width, height});
    }
  }
  if (boxes.empty() || count < 1 || count > kMostAnchors) {
    throw Error({.op = "anchor_sizes",
                 .got = std::to_string(boxes.size()) + " boxes for " + std::to_string(count) + " anchors",
                 .expected = "at least one box, and 1 to 64 anchors"});
  }
  std::ranges::sort(boxes, [](const auto& a, const auto& b) { return a[0] * a[1] < b[0] * b[1]; });
  std::vector<std::array<double, 2>> sizes;
  for (std::int64_t k = 0; k < count; ++k)
    sizes.push_back(boxes[static_cast<std::size_t>((2 * k + 1) * static_cast<std::int64_t>(boxes.size()) / (2 * count))]);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::array<double, 3>> sums(sizes.size());  // of widths, heights, boxes
    for (const auto& box : boxes) {
      auto& sum = sums[nearest_size(box, sizes)];
      sum[0] += box[0], sum[1] += box[1], sum[2] += 1;
    }
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (sums[k][2] > 0) sizes[k] = {sums[k][0] / sums[k][2], sums[k][1] / sums[k][2]};
    }
  }
  return sizes;
}

std::vector<FoundObject> found_objects(SingleShotDetector& net, const HostArray& image, const FoundOptions& options) {
  eval(net);
  const Tensor one = unsqueeze(from_array(image), 0);
  const Found found = net.found(net(one), one.size(2), one.size(3), options);
  const auto corners = found.boxes.to_host<double>(), scores = found.scores.to_host<double>();
  const auto classes_of = found.classes.to_host<std::int64_t>();
  std::vector<FoundObject> out;
  for (std::size_t k = 0; k < static_cast<std::size_t>(found.count.to_host<std::int64_t>()[0]); ++k)
    out.push_back({{corners[4 * k], corners[4 * k + 1], corners[4 * k + 2], corners[4 * k + 3]}, classes_of[k], scores[k]});
  return out;
}

std::vector<FoundObject> NamedDetector::found(const HostArray& picture, const FoundOptions& options) const {
  const HostArray image = data::to_image(picture, colours_of(*net));
  const double height = static_cast<double>(image.shape[1]), width = static_cast<double>(image.shape[2]);
  const data::Placement fit = data::fitting(image.shape[1], image.shape[2], size, size);
  std::vector<FoundObject> out = found_objects(*net, data::fitted({image}, size, size)[0], options);
  for (FoundObject& object : out) {
    const data::Placement::Point first = fit.source({object.corners[0], object.corners[1]}),
                                 last = fit.source({object.corners[2], object.corners[3]});
    object.corners = {std::clamp(first.x, 0.0, width), std::clamp(first.y, 0.0, height), std::clamp(last.x, 0.0, width),
                      std::clamp(last.y, 0.0, height)};
  }
  return out;
}

void save_detector(const std::string& path, const SingleShotDetector& net, std::int64_t size, const std::vector<std::string>& classes) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  ModelDescription description{.kind = kDetectionKind,
                               .numbers = {{"in", number(net.in)},
                                           {"width", number(net.width)},
                                           {"stages", number(net.stages)},
                                           {"size", number(size)},
                                           {"anchors", static_cast<double>(net.sizes.size())}},
                               .texts = {{"classes", io::list_text(classes)}}};
  for (std::size_t k = 0; k < net.sizes.size(); ++k) {
    description.numbers[size_key(k, "width")] = net.sizes[k][0];
    description.numbers[size_key(k, "height")] = net.sizes[k][1];
  }
  write_model_file(path, description, state_dict(net));
}

NamedDetector load_detector(const std::string& path) {
  const ModelFile file =
      read_model_file(path, {.op = "load_detector", .kind = kDetectionKind, .words = "a detector", .command = "tegula train detector"});
  const ModelDescription& d = file.description;
  constexpr double kMostPixels = 1e6;
  NamedDetector out;
  out.classes = io::listed_texts({{"classes", d.text("classes", path)}}, "classes", path);
  const std::int64_t in = d.whole("in", 1, 3, path), width = d.whole("width", 1, 1024, path), stages = d.whole("stages", 1, 6, path);
  out.size = d.whole("size", std::int64_t{1} << stages, 8192, path);
  std::vector<std::array<double, 2>> sizes(static_cast<std::size_t>(d.whole("anchors", 1, kMostAnchors, path)));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    sizes[k] = {d.number(size_key(k, "width"), 0, kMostPixels, path), d.number(size_key(k, "height"), 0, kMostPixels, path)};
  }
  const auto count = static_cast<std::int64_t>(out.classes.size()), each = static_cast<std::int64_t>(sizes.size());
  require_tensor("load_detector", file.state, "scores.weight", {each * count, width << stages, 3, 3}, path);
  out.net = std::make_unique<SingleShotDetector>(
      SingleShotDetector{.classes = count, .in = in, .width = width, .sizes = std::move(sizes), .stages = stages});
  load(*out.net, file.state);
  eval(*out.net);
  return out;
}

}  // namespace tegula::models

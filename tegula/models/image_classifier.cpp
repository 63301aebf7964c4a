#include "tegula/models/image_classifier.h"

#include "tegula/core/error.h"
#include "tegula/data/image_folder.h"
#include "tegula/models/description.h"
#include "tegula/models/images/by_name.h"
#include "tegula/models/model_file.h"
#include "tegula/nn/state.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

struct BlockSizes {
  std::int64_t in, width, stride;
};
std::vector<BlockSizes> block_sizes(const ImageClassifierOptions& options) {
  std::vector<BlockSizes> sizes;
  std::int64_t in = options.width;
  for (std::int64_t stage = 0; stage < options.stages; ++stage) {
    const std::int64_t width = options.width << stage;
    for (std::int64_t i = 0; i < options.blocks; ++i, in = width) sizes.push_back({in, width, i == 0 ? 2 : 1});
  }
  return sizes;
}

nn::Layer net_of(const ImageClassifierOptions& options) {
  if (options.net.empty()) return SmallPictureNet(options);
  return picture_net(options.net).make(options.classes, options.size);
}

}  // namespace

SmallPictureNet::SmallPictureNet(const ImageClassifierOptions& options)
    : stem(3, options.width, 3, {.padding = 1, .bias = false}),
      bn(options.width),
      output(options.width << (options.stages - 1), options.classes) {
  for (const auto& [in, width, stride] : block_sizes(options)) blocks.push_back(BasicBlock{in, width, stride});
}

Tensor SmallPictureNet::operator()(Tensor x) {
  Tensor y = relu(bn(stem(x)));  // (N, width, size, size)
  for (BasicBlock& block : blocks) y = block(y);
  return output(tegula::mean(y, {2, 3}));  // (N, width * 2^(stages - 1)) -> (N, classes)
}

ImageClassifier::ImageClassifier(const ImageClassifierOptions& options)
    : mean(zeros({3})),
      deviation(ones({3})),
      options_(options),
      net_(net_of(options)) {}

Tensor ImageClassifier::operator()(Tensor x) {
  const auto over_channels = [](const nn::Buffer& values) { return reshape(values.read(), {3, 1, 1}); };
  return net_((x - over_channels(mean)) / over_channels(deviation));
}

void ImageClassifier::visit(nn::Visitor& visitor, const nn::Path& path) {
  nn::visit(mean, visitor, nn::Path{&path, "mean"});
  nn::visit(deviation, visitor, nn::Path{&path, "deviation"});
  net_.visit(visitor, path);
}

void ImageClassifier::begin_with(const StateDict& published) {
  if (options_.net.empty())
    throw Error({.op = "ImageClassifier::begin_with", .got = "the small net", .expected = "a published one (.net = \"resnet50\")"});
  const std::string head = std::string(picture_net(options_.net).head) + ".";
  StateDict body = published;
  std::erase_if(body, [&](const NamedTensor& one) { return one.name.starts_with(head); });
  LoadReport report = load_report(net_, body);
  std::erase_if(report.missing, [&](const std::string& name) { return name.starts_with(head); });
  std::erase_if(report.unexpected, [](const std::string& name) { return name.ends_with("num_batches_tracked"); });
  if (!report.missing.empty() || !report.unexpected.empty())
    throw Error({.op = "ImageClassifier::begin_with", .got = report.text(), .expected = "the weights of " + options_.net});
  tegula::load(net_, body, Strict::No);
  mean = tensor({0.485F, 0.456F, 0.406F});
  deviation = tensor({0.229F, 0.224F, 0.225F});
}

void ImageClassifier::fit_colours(const Tensor& images) {
  mean = tegula::mean(images, {0, 2, 3});
  deviation = maximum(stddev(images, {0, 2, 3}), 0.01);
}

std::vector<float> NamedImageClassifier::probabilities(const HostArray& picture) const {
  const std::int64_t size = net->options().size;
  const HostArray image = data::resize(data::to_image(picture, data::Colours::Rgb), size, size);
  eval(*net);
  return softmax((*net)(expand_dims(from_array(image), 0)), -1).to_host();
}

void save_image_classifier(const std::string& path, const ImageClassifier& net, const std::vector<std::string>& classes) {
  const ImageClassifierOptions& o = net.options();
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  write_model_file(
      path,
      {.kind = kImagesKind,
       .numbers = {{"size", number(o.size)}, {"width", number(o.width)}, {"stages", number(o.stages)}, {"blocks", number(o.blocks)}},
       .texts = {{"classes", io::list_text(classes)}, {"net", o.net}}},
      state_dict(net));
}

NamedImageClassifier load_image_classifier(const std::string& path) {
  const ModelFile file = read_model_file(
      path, {.op = "load_image_classifier", .kind = kImagesKind, .words = "a classifier of pictures", .command = "tegula train images"});
  const ModelDescription& d = file.description;
  NamedImageClassifier out;
  out.classes = io::listed_texts({{"classes", d.text("classes", path)}}, "classes", path);
  if (out.classes.empty()) throw Error({.op = "load_image_classifier", .got = path + ": no classes", .expected = "at least one"});
  const ImageClassifierOptions options{.classes = static_cast<std::int64_t>(out.classes.size()),
                                       .size = d.whole("size", 4, 4096, path),
                                       .width = d.whole("width", 1, 1024, path),
                                       .stages = d.whole("stages", 1, 6, path),
                                       .blocks = d.whole("blocks", 1, 64, path),
                                       .net = d.texts.contains("net") ? d.texts.at("net") : ""};
  std::int64_t number = 0;
  for (const auto& [in, width, stride] : options.net.empty() ? block_sizes(options) : std::vector<BlockSizes>())
    require_tensor("load_image_classifier", file.state, "blocks." + std::to_string(number++) + ".conv2.weight", {width, width, 3, 3}, path);
  out.net = std::make_unique<ImageClassifier>(options);
  load(*out.net, file.state);
  eval(*out.net);
  return out;
}

}  // namespace tegula::models

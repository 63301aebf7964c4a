// Models of images have torchvision's parameters, by name, number and shape, and its values for the same weights (recorded from torchvision 0.29).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "tegula/models.h"

namespace tegula {
namespace {

/// Weights that depend on names alone: small numbers of the element's number and a hash of the name.
double hash_of(const std::string& name) {
  std::uint64_t h = 14695981039346656037u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<double>(h >> 40) / (1 << 24);
}

void fill(const Parameters& state) {
  for (const Parameter& p : state) {
    const Shape shape = p.cell->value().shape();
    if (shape.rank() == 0) continue;
    const bool is_matrix = shape.rank() > 1;
    const double start = hash_of(p.name), scale = is_matrix ? 1.0 / std::sqrt(static_cast<double>(numel(shape, 1, shape.rank()))) : 0.1;
    const double middle = p.name.ends_with("running_var") || (!is_matrix && p.name.ends_with("weight")) ? 1 : 0;
    std::vector<float> values(static_cast<std::size_t>(numel(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(middle + std::sin(static_cast<double>(i) * 0.7 + start * 6.28) * scale);
    p.assign(tensor(std::span<const float>(values), shape));
  }
}

Tensor picture(std::int64_t side) {
  std::vector<float> values(static_cast<std::size_t>(2 * 3 * side * side));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.013));
  return tensor(std::span<const float>(values), {2, 3, side, side});
}

/// torchvision's parameters, and the numbers 0, 3, 6 and 9 of both rows of its scores.
struct Recorded {
  std::int64_t elements;
  std::size_t parameters;
  std::vector<double> scores;
};

template <class Net>
void expect_torchvisions(Net net, std::int64_t side, const Recorded& recorded) {
  std::int64_t elements = 0;
  const Parameters all = parameters(net);
  for (const Parameter& p : all) elements += numel(p.cell->value().shape());
  EXPECT_EQ(elements, recorded.elements);
  EXPECT_EQ(all.size(), recorded.parameters);
  fill(nn::state(net));
  eval(net);
  const Tensor scores = net(picture(side));
  ASSERT_EQ(scores.shape(), (Shape{2, 10}));
  const std::vector<double> values = scores.template to_host<double>();
  double largest = 0;
  for (const double x : recorded.scores) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < recorded.scores.size(); ++i)
    EXPECT_NEAR(values[i / 4 * 10 + i % 4 * 3], recorded.scores[i], 2e-5 * largest) << i;
}

TEST(Torchvision, ResNet18) {
  expect_torchvisions(models::ResNet18{.classes = 10}, 64,
                      {11181642,
                       62,
                       {-1415.6142578125, -1805.2449951171875, -1163.1319580078125, 144.06556701660156, -1774.2694091796875,
                        -2259.017822265625, -1452.6475830078125, 184.29244995117188}});
}

TEST(Torchvision, ResNet34) {
  expect_torchvisions(models::ResNet34{.classes = 10}, 64,
                      {21289802, 110, {-5566613.5, -4440961.5, -776875.5, 3331268.5, -5868816.0, -4691832.5, -833020.625, 3501942.5}});
}

TEST(Torchvision, ResNet50) {
  expect_torchvisions(models::ResNet50{.classes = 10}, 64,
                      {23528522,
                       161,
                       {3.7350521087646484, -3.581305742263794, 3.4727282524108887, -3.457359552383423, 3.7328174114227295,
                        -3.5793204307556152, 3.4709925651550293, -3.4558770656585693}});
}

TEST(Torchvision, ResNet101) {
  expect_torchvisions(models::ResNet101{.classes = 10}, 64,
                      {42520650,
                       314,
                       {4.776278495788574, -4.560458183288574, 4.388209819793701, -4.307682037353516, 4.777346134185791, -4.560840129852295,
                        4.387911796569824, -4.306702136993408}});
}

TEST(Torchvision, MobileNetV2) {
  expect_torchvisions(models::MobileNetV2{.classes = 10}, 64,
                      {2236682,
                       158,
                       {-1.327876091003418, 0.7491891384124756, 1.9301031827926636, 0.46679362654685974, -1.3278758525848389,
                        0.7491892576217651, 1.9301034212112427, 0.46679362654685974}});
}

TEST(Torchvision, EfficientNetB0) {
  expect_torchvisions(models::EfficientNetB0{.classes = 10}, 64,
                      {4020358,
                       213,
                       {-1.1848907470703125, -0.6226496696472168, 0.8013991117477417, 1.0276144742965698, -1.1848907470703125,
                        -0.6226495504379272, 0.8013993501663208, 1.0276144742965698}});
}

TEST(Torchvision, DenseNet121) {
  expect_torchvisions(models::DenseNet{.classes = 10}, 64,
                      {6964106,
                       364,
                       {-0.12298020720481873, -1.3349970579147339, -0.023725703358650208, 1.4232410192489624, -0.12295304238796234,
                        -1.3350882530212402, -0.023756377398967743, 1.4233307838439941}});
}

TEST(Torchvision, ConvNextTiny) {
  expect_torchvisions(models::ConvNextTiny{.classes = 10}, 64,
                      {27827818,
                       182,
                       {-0.6493272185325623, 1.7962058782577515, -0.7694796919822693, -1.1709071397781372, -0.6509079337120056,
                        1.7990530729293823, -0.7701569199562073, -1.173216700553894}});
}

TEST(Torchvision, VisionTransformer) {
  expect_torchvisions(models::VisionTransformer{.classes = 10, .image = 64, .depth = 3, .width = 96, .heads = 4, .hidden = 200}, 64,
                      {305698,
                       44,
                       {-0.4027497470378876, -0.13453806936740875, 0.4380998909473419, 0.7021153569221497, -0.4018450677394867,
                        -0.13505879044532776, 0.4363008439540863, 0.6995463967323303}});
}

TEST(Torchvision, Vgg11) {
  expect_torchvisions(models::Vgg{.depth = 11, .batch_norm = true, .classes = 10}, 64,
                      {128812810,
                       38,
                       {0.881855845451355, 0.6010464429855347, 0.609542965888977, 0.5220876336097717, 0.8818132877349854,
                        0.6009984612464905, 0.6094898581504822, 0.5220298767089844}});
}

}  // namespace
}  // namespace tegula

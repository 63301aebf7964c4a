// Nets of pictures with objects, and nets that make pictures: their measures, anchors, steps and files.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tegula/models.h"
#include "tests/io/files.h"

namespace tegula::models {
namespace {

using testing::TemporaryFolder;

bool are_equal(const HostArray& a, const HostArray& b) {
  return a.shape == b.shape && std::memcmp(a.buffer->data(), b.buffer->data(), a.bytes()) == 0;
}

TEST(PictureNets, PixelsWithoutAClassCountNothing) {
  manual_seed(3);
  const Tensor scores = normal({2, 3, 4, 4}), masks = randint(0, 3, {2, 4, 4});
  const Tensor half = where(arange(4) < 2, masks, -1);
  const Loss loss = pixel_loss();
  const double whole = loss({slice(scores, 3, {0, 2})}, {slice(masks, 2, {0, 2})}).item<double>();
  EXPECT_NEAR(loss({scores}, {half}).item<double>(), whole, 1e-6);
  UNet net{.in = 1, .classes = 3, .width = 2, .depth = 1};
  const data::ArrayDataset set(normal({5, 1, 4, 4}), where(arange(4) < 2, randint(0, 3, {5, 4, 4}), -1));
  const metrics::ConfusionMatrix matrix = metrics::measure_pixels(net, set, {"a", "b", "c"}, 2);
  EXPECT_EQ(matrix.total(), 5 * 4 * 2);
}

TEST(PictureNets, AFileOfAUNetKnowsItsClassesAndMasksPicturesOfAnySize) {
  const TemporaryFolder folder;
  UNet net{.in = 3, .classes = 2, .width = 2, .depth = 2};
  save_unet(folder / "u", net, 16, {"ground", "dog"});
  const NamedUNet again = load_unet(folder / "u");
  EXPECT_EQ(again.classes[1], "dog");
  EXPECT_EQ(again.size, 16);
  eval(net);
  const Tensor x = uniform({1, 3, 16, 16});
  EXPECT_TRUE(are_equal(net(x).to_array(), (*again.net)(x).to_array()));
  HostArray picture = HostArray::empty(u8, {10, 30, 3});
  for (std::size_t i = 0; i < 900; ++i) picture.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
  const HostArray mask = again.mask(picture);
  EXPECT_EQ(mask.shape, (Shape{10, 30}));
  for (const std::int64_t of_class : mask.values<std::int64_t>()) EXPECT_TRUE(of_class == 0 || of_class == 1);
  EXPECT_ERROR(load_detector(folder / "u"), "the model segmentation, expected a detector");
}

TEST(PictureNets, AnchorsAreTheMeansOfTheGroupsOfBoxes) {
  // Two shapes of boxes, each with a little more or less.
  std::vector<float> boxes;
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 10; ++i) {
    const auto d = static_cast<float>(i % 2);
    for (const float side : {0.f, 0.f, 10.f + d, 20.f - d, 5.f, 5.f, 45.f - d, 35.f + d, 0.f, 0.f, 900.f, 900.f}) boxes.push_back(side);
    classes.insert(classes.end(), {0, 1, -1});  // the last one is none
  }
  const data::Arrays set({zeros({10, 1, 8, 8}), tensor(boxes, {10, 3, 4}), tensor(classes, {10, 3})});
  const auto sizes = anchor_sizes(set, 2);
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_NEAR(sizes[0][0], 10.5, 1e-6);
  EXPECT_NEAR(sizes[0][1], 19.5, 1e-6);
  EXPECT_NEAR(sizes[1][0], 39.5, 1e-6);
  EXPECT_NEAR(sizes[1][1], 30.5, 1e-6);
  const data::Arrays none({zeros({1, 1, 8, 8}), zeros({1, 1, 4}), full({1, 1}, -1, i64)});
  EXPECT_ERROR(anchor_sizes(none, 2), "0 boxes for 2 anchors");
}

TEST(PictureNets, AFileOfADetectorFindsObjectsInThePicturesOwnPixels) {
  const TemporaryFolder folder;
  manual_seed(5);
  SingleShotDetector net{.classes = 3, .in = 1, .width = 2, .sizes = {{8, 8}, {16, 12}}, .stages = 2};
  EXPECT_EQ(net.anchors(32, 16).shape(), (Shape{8 * 4 * 2, 4}));
  save_detector(folder / "d", net, 32, {"a", "b", "c"});
  const NamedDetector again = load_detector(folder / "d");
  EXPECT_EQ(again.net->sizes, net.sizes);
  EXPECT_EQ(again.net->stages, 2);
  HostArray picture = HostArray::empty(u8, {64, 128, 1});
  for (std::size_t i = 0; i < picture.values<std::uint8_t>().size(); ++i)
    picture.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 31 % 251);
  const auto objects = again.found(picture, {.score = 0, .most = 5});
  ASSERT_EQ(objects.size(), 5u);
  const HostArray image = data::fitted({data::to_image(picture, data::Colours::Gray)}, 32, 32)[0];  // a quarter of the size, 8 rows above
  const auto fitted = found_objects(net, image, {.score = 0, .most = 5});
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_NEAR(objects[k].corners[0], 4 * fitted[k].corners[0], 1e-3);
    EXPECT_NEAR(objects[k].corners[3], std::clamp(4 * (fitted[k].corners[3] - 8), 0.0, 64.0), 1e-3);
    EXPECT_EQ(objects[k].of_class, fitted[k].of_class);
  }
  EXPECT_ERROR(load_unet(folder / "d"), "the model detection, expected a U-Net");
}

TEST(PictureNets, AGanStepTrainsEachNetByItsOwnLoss) {
  manual_seed(1);
  Gan gan{.sizes = {.latent = 4, .channels = 1, .size = 8, .width = 2}};
  begin_as_dcgan(gan);
  optim::SGD of_generator(parameters(gan.generator), {.lr = 0}), of_discriminator(parameters(gan.discriminator), {.lr = 0.5});
  const Tensor real = uniform({16, 1, 8, 8});
  const HostArray before = gan.generator.input.weight.read().to_array(), judge = gan.discriminator.output.weight.read().to_array();
  auto step = jit([&](const Tensor& x) {
    const GanLosses losses = gan_step(gan, of_generator, of_discriminator, x);
    return std::vector<Tensor>{losses.discriminator, losses.generator};
  });
  std::vector<double> losses;
  for (int i = 0; i < 30; ++i) losses.push_back(step(real)[0].item<double>());
  EXPECT_LT(losses.back(), losses.front());  // the discriminator learns against a generator that stands still
  EXPECT_TRUE(are_equal(before, gan.generator.input.weight.read().to_array()));
  EXPECT_FALSE(are_equal(judge, gan.discriminator.output.weight.read().to_array()));
  EXPECT_ERROR(gan.generator(zeros({2, 5})), "PictureGenerator: got shape (2, 5), expected (N, 4)");
  EXPECT_ERROR((Gan{.sizes = {.size = 27}}), "PictureSizes: got size 27");
}

TEST(PictureNets, FilesOfGansAndVaesGiveTheSamePictures) {
  const TemporaryFolder folder;
  Gan gan{.sizes = {.latent = 4, .channels = 3, .size = 16, .width = 2}};
  PictureVae vae{.sizes = {.latent = 4, .channels = 1, .size = 28, .width = 2}};
  save_gan(folder / "g", gan);
  save_vae(folder / "v", vae);
  const auto same = [](auto& one, auto& other) {
    manual_seed(9);
    const HostArray first = make_pictures(one, 3);
    manual_seed(9);
    return are_equal(first, make_pictures(other, 3));
  };
  const auto gan_again = load_gan(folder / "g");
  const auto vae_again = load_vae(folder / "v");
  EXPECT_TRUE(same(gan.generator, gan_again->generator));
  EXPECT_TRUE(same(vae, *vae_again));
  EXPECT_EQ(make_pictures(gan.generator, 2).shape, (Shape{2, 3, 16, 16}));
  EXPECT_ERROR(load_gan(folder / "v"), "load_gan: got");
  EXPECT_ERROR(make_pictures(vae, 0), "0 pictures");
}

TEST(PictureNets, TheLossOfAVaeIsTheBound) {
  const Tensor logits = tensor({0.f, 2.f}, {1, 1, 1, 2}), pictures = tensor({1.f, 0.25f}, {1, 1, 1, 2});
  const Tensor means = tensor({0.5f, -1.f}, {1, 2}), logs = tensor({0.f, 1.f}, {1, 2});
  const auto softplus_of = [](double x) { return std::log1p(std::exp(x)); };
  const double pixels = softplus_of(0) - 0 * 1 + softplus_of(2) - 2 * 0.25;
  const double divergence = 0.5 * (0.25 + 1 - 0 - 1 + 1 + std::exp(1) - 1 - 1);
  EXPECT_NEAR(vae_loss({logits, means, logs}, pictures).item<double>(), pixels + divergence, 1e-5);
}

TEST(FrechetDistance, OfTwoCloudsOfPoints) {
  manual_seed(2);
  const Tensor a = normal({400, 3}, 0, 1, {.dtype = f64});
  EXPECT_NEAR(metrics::frechet_distance(a, a), 0, 1e-9);
  EXPECT_NEAR(metrics::frechet_distance(a, a + 2), 12, 1e-9);  // 2² for each of three means
  // With diagonal covariances: Σ (σa - σb)².
  const Tensor centred = a - mean(a, 0);
  EXPECT_NEAR(metrics::frechet_distance(centred, centred * 3), 4 * sum(square(centred)).item<double>() / 399, 1e-6);
  EXPECT_ERROR(metrics::frechet_distance(a, normal({4, 2})), "shapes (400, 3) and (4, 2)");
  EXPECT_ERROR(metrics::frechet_distance(a, normal({1, 3})), "at least two rows");
}

}  // namespace
}  // namespace tegula::models

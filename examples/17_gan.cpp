// Lesson 17: two nets against each other (a GAN).
//
// A generator makes pictures of noise. A discriminator says whether a picture is one of the real ones. Each learns from the other: there is no label,
// and the loss says little about how good the pictures are. A distance between made and real ones as two clouds of points does. Run it with "long"
// for pictures that are digits to the eye, which takes minutes.

#include <tegula/models.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace tegula;

/// Pictures (N, 1, 28, 28) as points of 49 numbers: the means of squares of 4 x 4 pixels.
static Tensor points(const Tensor& pictures) { return flatten(avg_pool2d(pictures, {4, 4}, {.stride = 4}), 1); }

static double distance(models::Gan& gan, const data::LabelledImages& real) {
  return metrics::frechet_distance(points(from_array(models::make_pictures(gan.generator, real.size()))), points(from_array(real.images)));
}

int main(int argc, char** argv) {
  const bool is_long = argc > 1 && std::strcmp(argv[1], "long") == 0;
  const data::LabelledImages train_set = data::draw_digits(is_long ? 30'000 : 2'048, 1), test_set = data::draw_digits(1'000, 2);
  manual_seed(0);
  models::Gan gan{.sizes = {.latent = 32, .channels = 1, .size = 28, .width = is_long ? 32 : 16}};
  models::begin_as_dcgan(gan);
  const double before = distance(gan, test_set);

  // One optimiser for each net. A β1 of 0.5 forgets old gradients sooner: the other net has changed since.
  optim::Adam of_generator(parameters(gan.generator), {.lr = is_long ? 2e-4 : 1e-3, .beta1 = 0.5}),
      of_discriminator(parameters(gan.discriminator), {.lr = is_long ? 2e-4 : 1e-3, .beta1 = 0.5});
  // Both steps in one jit. This is all of gan_step:
  //   fake = generator(noise)
  //   the discriminator's loss: cross-entropy of its scores, 0.9 for real pictures and 0 for stop_gradient(fake)
  //   the generator's loss: cross-entropy of the discriminator's scores for fake, as if they were real
  auto step = jit([&](const Tensor& real) {
    const models::GanLosses losses = models::gan_step(gan, of_generator, of_discriminator, real);
    return std::vector<Tensor>{losses.discriminator, losses.generator};
  });
  data::Loader loader(train_set, {.batch = 64, .shuffle = true});
  for (int epoch = 1; epoch <= (is_long ? 20 : 6); ++epoch) {
    train(gan);
    std::vector<Tensor> losses;
    for (const auto& [pictures, labels] : loader) losses = step(pictures);
    std::printf("epoch %2d  discriminator %.3f, generator %.3f, distance %.3f\n", epoch, losses[0].item<double>(), losses[1].item<double>(),
                distance(gan, test_set));
  }

  const double after = distance(gan, test_set);
  std::printf("Fréchet distance from the real pictures: %.3f, before the training %.3f\n", after, before);
  io::write_png("gan.png", data::image_grid(from_array(models::make_pictures(gan.generator, 64)), {.enlarge = 2}));
  assert(after < (is_long ? 0.02 : 0.1) * before);

  // A file that knows its sizes: `tegula generate gan.safetensors --samples 64` makes pictures of it.
  models::save_gan("gan.safetensors", gan);
  const auto again = models::load_gan("gan.safetensors");
  manual_seed(7);
  const HostArray first = models::make_pictures(gan.generator, 2);
  manual_seed(7);
  const HostArray second = models::make_pictures(again->generator, 2);
  assert(std::memcmp(first.buffer->data(), second.buffer->data(), first.bytes()) == 0);
}

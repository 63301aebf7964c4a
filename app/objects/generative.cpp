// tegula train gan, tegula train vae: nets that make pictures like those they are shown.

#include "app/objects/generative.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/fit.h"
#include "app/own/training.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/image_grid.h"
#include "tegula/data/loader.h"
#include "tegula/graph/evaluate.h"
#include "tegula/io/file.h"
#include "tegula/io/png.h"
#include "tegula/models/images/generative.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/random.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/metrics_of_samples.h"

namespace tegula::app {
namespace {

constexpr std::int64_t kShown = 64;

struct MakeChoice {
  std::string op;
  DataChoice data;
  bool coloured = false;
  std::int64_t latent = 64, width = 32, epochs = 10, batch = 128;
  double lr = 2e-4;
  std::uint64_t seed = 0;
  std::string out, plot, pictures;
};

void add_options(Command& command, MakeChoice& c) {
  add_options(command, c.data);
  command.flag("--coloured", c.coloured, "pictures of 32 x 32 with colours, from --data, instead of gray ones of 28 x 28");
  command.option("--latent", c.latent, "numbers that a picture is made of").check(between(1, 65536)).shows_default().type("N");
  command.option("--width", c.width, "maps at half of the picture's size; each halving has twice as many")
      .check(between(1, 1024))
      .shows_default()
      .type("N");
  command.option("--epochs", c.epochs, "passes over the pictures").check(positive()).shows_default().type("N");
  command.option("--batch", c.batch, "pictures per step").check(positive()).shows_default().type("N");
  command.option("--lr", c.lr, "learning rate of Adam").check(positive_real()).shows_default().type("X");
  command.option("--seed", c.seed, "the same seed gives the same bits").check(any_count()).shows_default().type("S");
  command.option("--out", c.out, "the model").check(not_empty()).shows_default().type("FILE");
  command.option("--plot", c.plot, "the learning curve").check(not_empty()).shows_default().type("FILE");
  command.option("--pictures", c.pictures, "pictures that it makes, after each epoch").check(not_empty()).shows_default().type("FILE");
  add_precision(command);
  add_device_option(command);
}

struct MakeSets {
  Sets sets;
  models::PictureSizes sizes;
};
MakeSets begin_making(const MakeChoice& choice) {
  refuse_ranks(choice.op.c_str(), "nets that make pictures are trained by one process");
  for (const std::string& file : {choice.out, choice.pictures}) io::require_writable(file, choice.op);
  io::require_picture(choice.plot);
  manual_seed(choice.seed);
  const Shape input = choice.coloured ? Shape{3, 32, 32} : Shape{1, 28, 28};
  Sets sets = read_sets(choice.data, input);
  std::printf("%s\n", sets.description.c_str());
  return {std::move(sets), {.latent = choice.latent, .channels = input[0], .size = input[1], .width = choice.width}};
}

void write_grid(const std::string& path, const HostArray& pictures) {
  io::write_png(path, data::image_grid(from_array(pictures), {.columns = 8, .enlarge = 2}));
}

/// Pictures (N, C, H, W) as rows of a few numbers: means of squares of pixels.
Tensor thumbnails(const Tensor& pictures) {
  const std::int64_t side = pictures.size(2) / 7;
  return flatten(avg_pool2d(pictures, {side, side}, {.stride = side}), 1);
}

/// The distance of pictures that the net makes from those of the test set.
double distance(models::PictureGenerator& generator, const HostArray& test) {
  constexpr std::int64_t kCompared = 2000;
  const std::int64_t count = std::min(kCompared, test.shape[0]);
  if (count < 2) return std::nan("");
  return metrics::frechet_distance(thumbnails(from_array(models::make_pictures(generator, count))),
                                   thumbnails(slice(from_array(test), 0, {0, count})));
}

void run_train_gan(const MakeChoice& choice) {
  auto [sets, sizes] = begin_making(choice);
  models::Gan gan{.sizes = sizes};
  models::begin_as_dcgan(gan);
  // Radford et al., section 4: a rate of 0.0002 and β1 = 0.5.
  optim::Adam of_generator(parameters(gan.generator), {.lr = choice.lr, .beta1 = 0.5}),
      of_discriminator(parameters(gan.discriminator), {.lr = choice.lr, .beta1 = 0.5});
  std::printf("generator: %s parameters, discriminator: %s\n", quantity(static_cast<double>(num_parameters(gan.generator))).c_str(),
              quantity(static_cast<double>(num_parameters(gan.discriminator))).c_str());
  Tensor noise = normal({kShown, sizes.latent});
  eval(noise);
  auto step = jit([&](const Tensor& real) {
    const models::GanLosses losses = models::gan_step(gan, of_generator, of_discriminator, real);
    return std::vector<Tensor>{losses.discriminator, losses.generator};
  });
  data::Loader loader(sets.train, {.batch = std::min(choice.batch, sets.train.size()), .shuffle = true, .seed = choice.seed});
  const ProgressTable table({{"epoch", 9}, {"discriminator", 7}, {"generator", 6}, {"distance", 8}, {"time", 5, 8}, {"pictures/s", 3}});
  std::printf("%s\n", table.heading().c_str());
  ProgressLine line;
  io::Series discriminator{.name = "discriminator"}, generator{.name = "generator"};
  for (std::int64_t epoch = 1; epoch <= choice.epochs; ++epoch) {
    train(gan);
    const auto begin = std::chrono::steady_clock::now();
    double sum_discriminator = 0, sum_generator = 0;
    std::int64_t batches = 0;
    for (const data::Batch& batch : loader) {
      const std::vector<Tensor> losses = step(batch.x);
      sum_discriminator += losses[0].item<double>(), sum_generator += losses[1].item<double>();
      ++batches;
      if (!std::isfinite(sum_discriminator + sum_generator)) {
        throw Error({.op = choice.op,
                     .got = "a loss that is no number, in epoch " + std::to_string(epoch),
                     .expected = "numbers",
                     .advice = "choose a smaller learning rate (--lr)"});
      }
      if (line.due()) {
        line.show({{format("epoch %lld/%lld", static_cast<long long>(epoch), static_cast<long long>(choice.epochs)), 9},
                   {bar(static_cast<double>(batches) / static_cast<double>(loader.batches()), 20), 2}});
      }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto count = static_cast<double>(batches);
    for (auto [series, sum] : {std::pair(&discriminator, sum_discriminator), std::pair(&generator, sum_generator)})
      series->x.push_back(static_cast<double>(epoch)), series->y.push_back(sum / count);
    line.finish(table.row({std::to_string(epoch), format("%.4f", sum_discriminator / count), format("%.4f", sum_generator / count),
                           format("%.3f", distance(gan.generator, sets.test.inputs)), duration(seconds),
                           quantity(count * static_cast<double>(loader.options().batch) / seconds)}));
    write_grid(choice.pictures, gan.generator(noise).to_array());  // the same noise each time
  }
  models::save_gan(choice.out, gan);
  std::printf("distance: Fréchet's, of the pictures' thumbnails from those of the test set\nmodel: %s\npictures: %s\n", choice.out.c_str(),
              choice.pictures.c_str());
  try {
    io::plot(choice.plot, {.title = "gan", .x_label = "epoch", .panels = {{.y_label = "loss", .series = {discriminator, generator}}}});
    std::printf("learning curve: %s\n", choice.plot.c_str());
  } catch (const Error& error) {  // a picture is not worth a failed run
    std::fprintf(stderr, "tegula: no learning curve: %s\n", error.what());
  }
}

void run_train_vae(const MakeChoice& choice) {
  const auto [sets, sizes] = begin_making(choice);
  models::PictureVae vae{.sizes = sizes};
  std::printf("vae: %s parameters\n", quantity(static_cast<double>(num_parameters(vae))).c_str());
  optim::Adam adam(parameters(vae), {.lr = choice.lr});
  Tensor noise = normal({kShown, sizes.latent});
  eval(noise);
  const std::int64_t batch = std::min(choice.batch, sets.train.size());
  Trainer trainer(
      vae, adam,
      Loss([](const std::vector<Tensor>& outputs, const std::vector<Tensor>& targets) { return models::vae_loss(outputs, targets.at(0)); }),
      {.epochs = choice.epochs,
       .batch = batch,
       .seed = choice.seed,
       .schedule = optim::OneCycleLR{.maximum = choice.lr, .total = std::max<std::int64_t>(2, choice.epochs * (sets.train.size() / batch))},
       .stop_on_interrupt = true,
       .progress = Progress::Yes,
       .progress_rows = "pictures"});
  trainer.on_epoch = [&](const EpochRecord&) {
    eval(vae.decoder);
    write_grid(choice.pictures, vae.decoder.probabilities(noise).to_array());
  };
  const History history = fit(trainer, data::ArrayDataset(sets.train.inputs, sets.train.inputs),
                              data::ArrayDataset(sets.test.inputs, sets.test.inputs), choice.op, choice.lr);
  models::save_vae(choice.out, vae);
  if (!history.empty()) std::printf("bound: %.2f nats a test picture\n", -history.back().test_loss);
  std::printf("model: %s\npictures: %s\n", choice.out.c_str(), choice.pictures.c_str());
  if (!history.empty()) draw_curve(choice.plot, history, "vae");
}

}  // namespace

bool makes_pictures(const std::string& kind) { return kind == models::kGanKind || kind == models::kVaeKind; }

void generate_pictures(const std::string& path, std::int64_t count, const std::string& out) {
  io::require_writable(out, "tegula generate");
  if (kind_of_model(path) == models::kGanKind) write_grid(out, models::make_pictures(models::load_gan(path)->generator, count));
  else write_grid(out, models::make_pictures(*models::load_vae(path), count));
  std::printf("%lld picture%s: %s\n", static_cast<long long>(count), count == 1 ? "" : "s", out.c_str());
}

void add_train_gan(Command& train) {
  auto choice = std::make_shared<MakeChoice>();
  choice->op = "tegula train gan", choice->out = "gan.safetensors", choice->plot = "gan.png", choice->pictures = "gan-pictures.png";
  Command command = train.command("gan", "pictures like those of a set (DCGAN): two nets against each other");
  command.last_counts();
  add_options(command, *choice);
  command.runs([choice] { run_train_gan(*choice); });
}

void add_train_vae(Command& train) {
  auto choice = std::make_shared<MakeChoice>();
  choice->op = "tegula train vae", choice->out = "vae.safetensors", choice->plot = "vae.png", choice->pictures = "vae-pictures.png";
  choice->latent = 16, choice->lr = 2e-3;
  Command command = train.command("vae", "pictures like those of a set (variational autoencoder): a code of few numbers for each");
  command.last_counts();
  add_options(command, *choice);
  command.runs([choice] { run_train_vae(*choice); });
}

}  // namespace tegula::app

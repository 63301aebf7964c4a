#include "tegula/models/images/generative.h"

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/models/description.h"
#include "tegula/models/model_file.h"
#include "tegula/nn/activation.h"
#include "tegula/nn/init.h"
#include "tegula/nn/normalization.h"
#include "tegula/nn/state.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/random.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/ops/rows/reduce.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr double kRealLabel = 0.9;

PictureSizes read_sizes(const ModelFile& file, const std::string& path) {
  const ModelDescription& d = file.description;
  const PictureSizes sizes{.latent = d.whole("latent", 1, 65536, path),
                           .channels = d.whole("channels", 1, 3, path),
                           .size = d.whole("size", 8, 4096, path),
                           .width = d.whole("width", 1, 1024, path)};
  const std::string generator = d.kind == kGanKind ? "generator" : "decoder";
  require_tensor("load_" + d.kind, file.state, generator + ".input.weight",
                 {sizes.most_maps() * sizes.smallest() * sizes.smallest(), sizes.latent}, path);
  return sizes;
}

template <class Net>
void save_pictures_net(const std::string& path, const char* kind, const Net& net) {
  const PictureSizes& sizes = net.sizes;
  write_model_file(path,
                   {.kind = kind,
                    .numbers = {{"latent", static_cast<double>(sizes.latent)},
                                {"channels", static_cast<double>(sizes.channels)},
                                {"size", static_cast<double>(sizes.size)},
                                {"width", static_cast<double>(sizes.width)}}},
                   state_dict(net));
}

template <class Net>
std::unique_ptr<Net> load_pictures_net(const std::string& path, const char* kind) {
  const std::string name = kind;
  const ModelFile file =
      read_model_file(path, {.op = "load_" + name, .kind = name, .words = "a " + name, .command = "tegula train " + name});
  auto net = std::make_unique<Net>(Net{.sizes = read_sizes(file, path)});
  load(*net, file.state);
  eval(*net);
  return net;
}

Tensor noise_of(const PictureSizes& sizes, std::int64_t count) {
  if (count < 1) throw Error({.op = "make_pictures", .got = std::to_string(count) + " pictures", .expected = "at least one"});
  return normal({count, sizes.latent});
}

}  // namespace

std::int64_t PictureSizes::halvings() const {
  constexpr std::int64_t kLeast = 4;
  std::int64_t count = 0;
  for (std::int64_t side = size; side % 2 == 0 && side / 2 >= kLeast; side /= 2) ++count;
  if (count == 0 || latent < 1 || channels < 1 || width < 1) {
    throw Error({.op = "PictureSizes",
                 .got = "size " + std::to_string(size) + ", latent " + std::to_string(latent) + ", channels " + std::to_string(channels) +
                        ", width " + std::to_string(width),
                 .expected = "an even size of at least 8, and at least one of each"});
  }
  return count;
}

nn::Sequential PictureGenerator::layers(const PictureSizes& sizes) {
  nn::Sequential out;
  std::int64_t maps = sizes.most_maps();
  out.push_back(nn::BatchNorm2d{maps});
  out.push_back(relu);
  for (std::int64_t i = sizes.halvings(); i-- > 1; maps /= 2) {
    out.push_back(nn::ConvTranspose2d{maps, maps / 2, 4, {.stride = 2, .padding = 1, .bias = false}});
    out.push_back(nn::BatchNorm2d{maps / 2});
    out.push_back(relu);
  }
  out.push_back(nn::ConvTranspose2d{maps, sizes.channels, 4, {.stride = 2, .padding = 1}});
  return out;
}

Tensor PictureGenerator::logits(const Tensor& z) {
  if (z.rank() != 2 || z.size(1) != sizes.latent)
    throw Error(
        {.op = "PictureGenerator", .got = "shape " + to_string(z.shape()), .expected = "(N, " + std::to_string(sizes.latent) + ")"});
  return body(reshape(input(z), {z.size(0), sizes.most_maps(), sizes.smallest(), sizes.smallest()}));
}

Tensor PictureGenerator::operator()(Tensor z) { return (tanh(logits(z)) + 1) * 0.5; }

Tensor PictureGenerator::probabilities(const Tensor& z) { return sigmoid(logits(z)); }

nn::Sequential PictureDiscriminator::layers(const PictureSizes& sizes, bool norm) {
  nn::Sequential out;
  std::int64_t from = sizes.channels;
  for (std::int64_t i = 0, maps = sizes.width; i < sizes.halvings(); ++i, maps *= 2) {
    const bool has_norm = norm && i > 0;
    out.push_back(nn::Conv2d{from, maps, 4, {.stride = 2, .padding = 1, .bias = !has_norm}});
    if (has_norm) out.push_back(nn::BatchNorm2d{maps});
    out.push_back(nn::LeakyReLU{0.2});
    from = maps;
  }
  return out;
}

Tensor PictureDiscriminator::operator()(Tensor x) { return squeeze(output(flatten(body(x * 2 - 1), 1)), 1); }

void begin_as_dcgan(Gan& gan) {
  constexpr double kDeviation = 0.02;
  for (const auto& [name, cell] : parameters(gan)) {
    const Shape shape = read_cell(cell, {}).shape();
    if (shape.rank() >= 2) write_cell(cell, nn::init::normal(shape, 0, kDeviation), {});
  }
}

GanLosses gan_step(Gan& gan, optim::Optimizer& generator, optim::Optimizer& discriminator, const Tensor& real) {
  const Tensor fake = gan.generator(normal({real.size(0), gan.sizes.latent}));
  const Tensor on_real = gan.discriminator(real), on_fake = gan.discriminator(stop_gradient(fake));
  const Tensor discriminator_loss = binary_cross_entropy_with_logits(on_real, full(on_real.shape(), kRealLabel)) +
                                    binary_cross_entropy_with_logits(on_fake, zeros(on_fake.shape()));
  discriminator.step(grad(discriminator_loss, discriminator.parameters()));
  const Tensor judged = gan.discriminator(fake);  // by the new weights
  const Tensor generator_loss = binary_cross_entropy_with_logits(judged, ones(judged.shape()));
  generator.step(grad(generator_loss, generator.parameters()));
  return {discriminator_loss, generator_loss};
}

std::vector<Tensor> PictureVae::operator()(const Tensor& x) {
  const Tensor features = flatten(encoder(x), 1), means = mean(features), logs = log_variance(features);
  const Tensor z = training ? means + exp(logs * 0.5) * randn_like(means) : means;
  return {decoder.logits(z), means, logs};
}

Tensor vae_loss(const std::vector<Tensor>& outputs, const Tensor& pictures) {
  const Tensor &logits = outputs.at(0), &means = outputs.at(1), &logs = outputs.at(2);
  const Tensor pixels = binary_cross_entropy_with_logits(logits, pictures, {.reduction = LossReduction::Sum});
  const Tensor divergence = sum(square(means) + exp(logs) - logs - 1) * 0.5;
  return (pixels + divergence) / static_cast<double>(pictures.size(0));
}

HostArray make_pictures(PictureGenerator& generator, std::int64_t count) {
  eval(generator);
  return generator(noise_of(generator.sizes, count)).to_array();
}
HostArray make_pictures(PictureVae& vae, std::int64_t count) {
  eval(vae);
  return vae.decoder.probabilities(noise_of(vae.sizes, count)).to_array();
}

void save_gan(const std::string& path, const Gan& gan) { save_pictures_net(path, kGanKind, gan); }
void save_vae(const std::string& path, const PictureVae& vae) { save_pictures_net(path, kVaeKind, vae); }
std::unique_ptr<Gan> load_gan(const std::string& path) { return load_pictures_net<Gan>(path, kGanKind); }
std::unique_ptr<PictureVae> load_vae(const std::string& path) { return load_pictures_net<PictureVae>(path, kVaeKind); }

}  // namespace tegula::models

#pragma once
// Nets that make pictures: the two of a GAN, and a variational autoencoder. Files that say which of them they hold.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/sequential.h"
#include "tegula/optim/optimizer.h"

namespace tegula::models {

struct PictureSizes {
  std::int64_t latent = 64, channels = 1, size = 28;  // numbers that a picture is made of; of the picture, height and width
  std::int64_t width = 32;                            // maps at half of the size; each halving has twice as many

  /// The number of times that the size can be halved, down to 4 at least. Throws Error for sizes below 8 and odd ones.
  std::int64_t halvings() const;
  std::int64_t smallest() const { return size >> halvings(); }
  std::int64_t most_maps() const { return width << (halvings() - 1); }
};

/// The generator of Radford et al., "Unsupervised representation learning with deep convolutional generative adversarial networks" (2016): noise (N, latent) ->
/// pictures (N, channels, size, size) in [0, 1].
struct PictureGenerator {
  PictureSizes sizes = {};
  nn::Linear input{sizes.latent, sizes.most_maps() * sizes.smallest() * sizes.smallest(), {.bias = false}};
  nn::Sequential body = layers(sizes);

  Tensor operator()(Tensor z);
  Tensor logits(const Tensor& z);  // before the last function, (tanh(x) + 1) / 2
  Tensor probabilities(const Tensor& z);  // sigmoid of them instead: what the decoder of a VAE makes
  static nn::Sequential layers(const PictureSizes& sizes);
};

/// The discriminator of that paper: pictures in [0, 1] -> scores (N), of which greater ones speak for a real picture.
struct PictureDiscriminator {
  PictureSizes sizes = {};
  nn::Sequential body = layers(sizes, true);
  nn::Linear output{sizes.most_maps() * sizes.smallest() * sizes.smallest(), 1};

  Tensor operator()(Tensor x);
  /// Convolutions that halve the size, with leaky ReLU; `norm`: batch normalisation of all but the first.
  static nn::Sequential layers(const PictureSizes& sizes, bool norm);
};

struct Gan {
  PictureSizes sizes = {};
  PictureGenerator generator{sizes};
  PictureDiscriminator discriminator{sizes};
};
/// Weights from a normal distribution of deviation 0.02, as the paper has them. Before the optimisers are made.
void begin_as_dcgan(Gan& gan);

struct GanLosses {
  Tensor discriminator, generator;
};
/// One step of both nets on real pictures (N, channels, size, size), for use inside of a jit: the discriminator's, then the generator's against it (Goodfellow et al.,
/// "Generative adversarial nets", 2014, with -log D(G(z)) as the generator's loss). Real pictures count as 0.9 (Salimans et al., 2016, section 3.4).
GanLosses gan_step(Gan& gan, optim::Optimizer& generator, optim::Optimizer& discriminator, const Tensor& real);

/// Kingma and Welling, "Auto-encoding variational Bayes" (2014): pictures in [0, 1] -> {logits of their pixels, means (N, latent), logarithms of variances (N, latent)}. In
/// evaluation mode the means themselves are decoded.
struct PictureVae {
  PictureSizes sizes = {};
  nn::Sequential encoder = PictureDiscriminator::layers(sizes, true);
  nn::Linear mean{sizes.most_maps() * sizes.smallest() * sizes.smallest(), sizes.latent},
      log_variance{sizes.most_maps() * sizes.smallest() * sizes.smallest(), sizes.latent};
  PictureGenerator decoder{sizes};
  Flag training{1};

  std::vector<Tensor> operator()(const Tensor& x);
};
/// The negative evidence lower bound in nats of a picture: cross-entropy of its pixels, and the divergence of the latent numbers from a normal distribution.
Tensor vae_loss(const std::vector<Tensor>& outputs, const Tensor& pictures);

/// Pictures (count, channels, size, size) f32 in [0, 1] from noise of the default generator. Leaves the net in evaluation mode.
HostArray make_pictures(PictureGenerator& generator, std::int64_t count);
HostArray make_pictures(PictureVae& vae, std::int64_t count);

inline constexpr const char* kGanKind = "gan";
inline constexpr const char* kVaeKind = "vae";
void save_gan(const std::string& path, const Gan& gan);
void save_vae(const std::string& path, const PictureVae& vae);
/// Throw Error when the file holds something else.
std::unique_ptr<Gan> load_gan(const std::string& path);
std::unique_ptr<PictureVae> load_vae(const std::string& path);

}  // namespace tegula::models

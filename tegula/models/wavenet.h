#pragma once
// WaveNet: a sound's next sample from those before it.

#include <cstdint>
#include <vector>

#include "tegula/nn/convolution.h"
#include "tegula/nn/linear.h"

namespace tegula::models {

/// x in [-1, 1] -> classes 0 … classes - 1 (i64), finer near 0: sign(x) log(1 + µ|x|) / log(1 + µ) with µ = classes - 1 (ITU-T G.711 has 256). Numbers outside are
/// taken for -1 and 1.
Tensor mu_law_encode(Arg x, std::int64_t classes = 256);
/// The middle of each class, f32.
Tensor mu_law_decode(Arg classes_of_x, std::int64_t classes = 256);

struct WaveNetOptions {
  std::int64_t classes = 256;
  std::int64_t layers = 10, stacks = 3;  // layer i of a stack looks 2^i samples back
  std::int64_t width = 64;  // channels between the layers, and of each gate
  std::int64_t skip = 256;  // channels that go to the end
};

/// Van den Oord et al., "WaveNet: a generative model for raw audio" (2016): causal convolutions of two samples with growing distances, gates tanh · sigmoid, a shortcut
/// around each layer and one from each to the end. Throws Error for sizes below 1.
class WaveNet {
 public:
  explicit WaveNet(const WaveNetOptions& options = {});
  /// samples (N, T), integers -> scores (N, classes, T) of the sample behind each place, which depend on the samples up to that place alone.
  Tensor operator()(Tensor samples);
  /// The number of samples that a score depends on.
  std::int64_t reach() const;
  const WaveNetOptions& options() const { return options_; }

  struct Layer {
    nn::Conv1d gates, residual, skip;
    static constexpr auto fields = nn::fields<&Layer::gates, &Layer::residual, &Layer::skip>;
  };
  nn::Embedding input;
  std::vector<Layer> layers;
  nn::Conv1d hidden, output;
  static constexpr auto fields = nn::fields<&WaveNet::input, &WaveNet::layers, &WaveNet::hidden, &WaveNet::output>;

 private:
  WaveNetOptions options_;
};

}  // namespace tegula::models

// Training steps (forward, backward, Adam) of further kinds of nets, and the time of the first step; and single layers of them, forward with all
// gradients. bench_nets [prefix…]; bench/peers/nets_torch.py has the same nets. $TEGULA_BENCH_DEVICE is cpu by default, $TEGULA_BENCH_PRECISION
// fp32. $TEGULA_BENCH_CLOCK=processor: reports processor time, of all threads (for a machine that others use).

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

nn::Sequential conv_block(std::int64_t in, std::int64_t out) {
  return {nn::Conv2d{in, out, 3, {.padding = 1, .bias = false}}, nn::BatchNorm2d{out}, relu};
}

/// Patches of 4 x 4 pixels, six blocks of 192 in three heads.
struct Vit {
  nn::Conv2d patches{3, 192, 4, {.stride = 4}};
  Variable positions{normal({64, 192}) * 0.02};
  nn::TransformerEncoder blocks{
      6,
      192,
      3,
      {.dim_feedforward = 768, .dropout = 0, .activation = nn::FeedForwardActivation::Gelu, .batch_first = true, .norm_first = true}};
  nn::Linear head{192, 10};
  Tensor operator()(Tensor x) {
    x = permute(reshape(patches(x), {x.shape()[0], 192, 64}), {0, 2, 1});
    return head(mean(blocks(x + positions), {1}));
  }
};

/// Two levels down and up again, joined with the values of the way down.
struct UNet {
  nn::Sequential in = conv_block(3, 24), down1 = conv_block(24, 48), down2 = conv_block(48, 96);
  nn::ConvTranspose2d up2{96, 48, 2, {.stride = 2}}, up1{48, 24, 2, {.stride = 2}};
  nn::Sequential join2 = conv_block(96, 48), join1 = conv_block(48, 24);
  nn::Conv2d out{24, 10, 1};
  Tensor operator()(Tensor x) {
    const Tensor a = in(x), b = down1(max_pool2d(a, 2)), c = down2(max_pool2d(b, 2));
    const Tensor d = join2(concat({up2(c), b}, 1));
    return mean(out(join1(concat({up1(d), a}, 1))), {2, 3});
  }
};

/// An encoder of strided convolutions, a decoder of transposed ones.
struct Autoencoder {
  nn::Sequential net{
      nn::Conv2d{3, 32, 4, {.stride = 2, .padding = 1}},           relu, nn::Conv2d{32, 64, 4, {.stride = 2, .padding = 1}},        relu,
      nn::ConvTranspose2d{64, 32, 4, {.stride = 2, .padding = 1}}, relu, nn::ConvTranspose2d{32, 3, 4, {.stride = 2, .padding = 1}}};
  Tensor operator()(Tensor x) { return net(x); }
};

nn::Sequential separable(std::int64_t in, std::int64_t out, std::int64_t stride) {
  return {nn::Conv2d{in, in, 3, {.stride = stride, .padding = 1, .groups = in, .bias = false}},
          nn::BatchNorm2d{in},
          relu,
          nn::Conv2d{in, out, 1, {.bias = false}},
          nn::BatchNorm2d{out},
          relu};
}

/// Seventeen depthwise convolutions, each before one of 1 x 1 (Howard et al., "MobileNets", 2017, with its stages).
struct MobileNet {
  nn::Conv2d first{3, 16, 3, {.stride = 1, .padding = 1, .bias = false}};
  std::vector<nn::Sequential> blocks = stages();
  nn::Linear head{256, 10};
  static std::vector<nn::Sequential> stages() {
    std::vector<nn::Sequential> out;
    std::int64_t width = 16;
    for (const auto& [next, count] : {std::pair{32, 3}, {64, 4}, {128, 6}, {256, 4}}) {
      for (int i = 0; i < count; ++i) {
        out.push_back(separable(width, next, i == 0 && next > 32 ? 2 : 1));
        width = next;
      }
    }
    return out;
  }
  Tensor operator()(Tensor x) {
    x = first(x);
    for (auto& block : blocks) x = block(x);
    return head(mean(x, {2, 3}));
  }
};

/// Sizes that are no multiples of anything.
struct OddMlp {
  nn::Sequential net{nn::Linear{785, 333}, relu, nn::Linear{333, 111}, relu, nn::Linear{111, 10}};
  Tensor operator()(Tensor x) { return net(x); }
};

/// A net of these widths: as large as in a first lesson.
struct SmallMlp {
  nn::Sequential net{nn::Linear{784, 256}, relu, nn::Linear{256, 256}, relu, nn::Linear{256, 10}};
  Tensor operator()(Tensor x) { return net(x); }
};

/// Kingma and Welling, "Auto-Encoding Variational Bayes", 2014, without the draw: images from the mean.
struct Vae {
  nn::Linear in{784, 400}, mean{400, 20}, out{20, 400}, last{400, 784};
  Tensor operator()(Tensor x) { return sigmoid(last(relu(out(mean(relu(in(x))))))); }
};

/// Texts as vectors of words, (batch, words, 128). Kim, "Convolutional Neural Networks for Sentence Classification", 2014.
struct TextCnn {
  nn::Conv1d three{128, 100, 3}, four{128, 100, 4}, five{128, 100, 5};
  nn::Linear head{300, 10};
  Tensor operator()(Tensor x) {
    x = transpose(x, 1, 2);
    const auto most = [&](nn::Conv1d& layer) { return max(relu(layer(x)), {2}); };
    return head(concat({most(three), most(four), most(five)}, 1));
  }
};

/// An LSTM both ways over texts of different lengths, (batch, words, 128).
struct BiLstm {
  nn::LSTM lstm{128, 128, {.batch_first = true, .bidirectional = true}};
  nn::Linear head{256, 10};
  Tensor operator()(Tensor x) {
    const Tensor lengths = remainder(arange(x.size(0)) * 7, x.size(1)) + 1;
    return head(mean(lstm(x, {.lengths = lengths}).output, {1}));
  }
};

struct Generator {
  nn::Linear in{64, 7 * 7 * 64};
  nn::ConvTranspose2d up1{64, 32, 4, {.stride = 2, .padding = 1}}, up2{32, 1, 4, {.stride = 2, .padding = 1}};
  Tensor operator()(Tensor z) { return tanh(up2(relu(up1(relu(reshape(in(z), {z.shape()[0], 64, 7, 7})))))); }
};
struct Critic {
  nn::Conv2d down1{1, 32, 4, {.stride = 2, .padding = 1}}, down2{32, 64, 4, {.stride = 2, .padding = 1}};
  nn::Linear out{7 * 7 * 64, 1};
  Tensor operator()(Tensor x) { return out(flatten(leaky_relu(down2(leaky_relu(down1(x), 0.2)), 0.2), 1)); }
};

double now() {
  static const char* const clock = std::getenv("TEGULA_BENCH_CLOCK");
  if (clock && std::string_view(clock) == "processor") return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// `step` is timed from its first call on.
template <class Step>
void measure(const std::string& name, Step step) {
  const auto timed = [&] {
    const double begin = now();
    step();
    return now() - begin;
  };
  bench::report(name + ".first", timed(), "s");
  for (int i = 0; i < 3; ++i) timed();
  const double seconds = default_device().traits().queues ? 1.0 : 3.0;
  std::vector<double> times(static_cast<std::size_t>(std::clamp(seconds / std::max(timed(), 1e-7), 5.0, 20000.0)));
  for (double& time : times) time = timed();
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  bench::report(name, times[times.size() / 2] * 1e3, "ms/step");
}

/// f(a, b), and the gradients of both given that of the result.
template <class F>
void layer(const std::string& name, const Shape& of_a, const Shape& of_b, F f) {
  Tensor a = normal(of_a) * 0.1, b = normal(of_b) * 0.1, dy = normal(f(a, b).shape());
  eval(a, b, dy);
  auto both = jit([&](Tensor a, Tensor b, Tensor dy) {
    const Tensor y = f(a, b);
    std::vector<Tensor> out = grad(sum(y * dy), {a, b});
    out.push_back(y);
    return out;
  });
  measure(name, [&] {
    both(a, b, dy);
    default_device().synchronize();
  });
}

/// By class, or, where `targets` is the shape of the input, its reconstruction.
template <class Net>
void train(const std::string& name, Net net, const Shape& shape) {
  Tensor x = normal(shape), y = randint(0, 10, {shape[0]});
  eval(x, y);
  auto adam = optim::Adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x, Tensor y) {
    const Tensor out = net(x);
    const Tensor loss = out.shape() == x.shape() ? mse_loss(out, x) : cross_entropy(cast(out, f32), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  measure(name, [&] { step(x, y).item(); });
}

/// One step of either net.
void train_gan(const std::string& name, std::int64_t batch) {
  Generator generator;
  Critic critic;
  Tensor x = normal({batch, 1, 28, 28}), z = normal({batch, 64}), ones = full({batch, 1}, 1.0), zeros = full({batch, 1}, 0.0);
  eval(x, z, ones, zeros);
  auto adam_g = optim::Adam(parameters(generator), {.lr = 2e-4}), adam_c = optim::Adam(parameters(critic), {.lr = 2e-4});
  auto step = jit([&](Tensor x, Tensor z) {
    const Tensor drawn = generator(z);
    const Tensor told =
        binary_cross_entropy_with_logits(critic(x), ones) + binary_cross_entropy_with_logits(critic(stop_gradient(drawn)), zeros);
    const Tensor fooled = binary_cross_entropy_with_logits(critic(drawn), ones);
    const auto of_generator = grad(fooled, parameters(generator));
    adam_c.step(grad(told, parameters(critic)));
    adam_g.step(of_generator);
    return told + fooled;
  });
  measure(name, [&] { step(x, z).item(); });
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("TEGULA_BENCH_DEVICE")) bench::choose_device();
  const char* const precision = std::getenv("TEGULA_BENCH_PRECISION");
  const PrecisionScope arithmetic(precision_of(precision ? precision : "fp32").value());
  const auto wanted = [&](const char* name) { return bench::selected(argc, argv, name); };
  if (wanted("vit")) train("vit.b16", Vit{}, {16, 3, 32, 32});
  if (wanted("unet")) train("unet.b8", UNet{}, {8, 3, 64, 64});
  if (wanted("autoencoder")) train("autoencoder.b32", Autoencoder{}, {32, 3, 32, 32});
  if (wanted("mobilenet")) train("mobilenet.b16", MobileNet{}, {16, 3, 32, 32});
  if (wanted("gan")) train_gan("gan.b32", 32);
  if (wanted("layer.transposed")) {
    layer("layer.transposed.b16", {16, 64, 16, 16}, {64, 32, 4, 4},
          [](const Tensor& x, const Tensor& w) { return conv_transpose2d(x, w, {.stride = 2, .padding = 1}); });
  }
  if (wanted("layer.depthwise")) {
    layer("layer.depthwise.b16", {16, 64, 32, 32}, {64, 1, 3, 3},
          [](const Tensor& x, const Tensor& w) { return conv2d(x, w, {.padding = 1, .groups = 64}); });
  }
  if (wanted("layer.grouped")) {
    layer("layer.grouped.b16", {16, 64, 32, 32}, {64, 8, 3, 3},
          [](const Tensor& x, const Tensor& w) { return conv2d(x, w, {.padding = 1, .groups = 8}); });
  }
  if (wanted("layer.concat")) {
    layer("layer.concat.b16", {16, 32, 64, 64}, {16, 32, 64, 64},
          [](const Tensor& a, const Tensor& b) { return concat({relu(a), relu(b)}, 1); });
  }
  if (wanted("odd-mlp")) train("odd-mlp.b100", OddMlp{}, {100, 785});
  if (wanted("mlp")) train("mlp.b128", SmallMlp{}, {128, 784});
  if (wanted("vae")) train("vae.b128", Vae{}, {128, 784});
  if (wanted("textcnn")) train("textcnn.b64", TextCnn{}, {64, 64, 128});
  if (wanted("bilstm")) train("bilstm.b32", BiLstm{}, {32, 64, 128});
}

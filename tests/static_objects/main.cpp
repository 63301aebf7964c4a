// Objects at namespace scope: an object made before main works there, and is destroyed at the end in any order.

#include <tegula/models.h>
#include <tegula/tegula.h>

#include <cmath>
#include <cstdio>

using namespace tegula;

// Numbers first, some of them computed before main.
static Tensor literal = tensor({1.f, 2.f});
static Tensor drawn = normal({4, 4});
static Tensor product = matmul(drawn, drawn);
static const float known = sum(uniform({1000}, 0, 1)).item();
static Variable state = 1.f;
static Variable pending(product + 1.f);
static Flag flag(1);
static Generator generator(7);

// One of each kind of layer.
static nn::Linear dense(4, 3), other(4, 3);
static nn::Conv1d conv1d_layer(2, 3, 3);
static nn::Conv2d conv(3, 8, 3);
static nn::ConvTranspose2d transposed(8, 3, 3);
static nn::BatchNorm1d batch_norm(3);
static nn::LayerNorm layer_norm({4});
static nn::GroupNorm group_norm(2, 8);
static nn::Dropout dropout_layer(0.5);
static nn::Embedding embedding(10, 4);
static nn::RNN rnn(4, 4);
static nn::LSTM lstm(4, 4);
static nn::GRU gru(4, 4);
static nn::MultiheadAttention attention(8, 2);
static nn::Sequential net{nn::Linear{4, 8}, relu, nn::Linear{8, 3}};
static nn::PReLU prelu;

// Objects that train them.
static optim::SGD sgd(parameters(dense), {.lr = 0.1, .momentum = 0.9});
static optim::Adam adam(parameters(net));
static nn::Linear averaged = other;
static optim::EMA average(parameters(averaged), parameters(other));
static optim::LossScaler scaler;
static Trainer trainer(net, adam, cross_entropy, {.epochs = 1, .batch = 4});
static auto step = jit([](Tensor x) {
  const Tensor loss = mean(square(dense(x)));
  sgd.step(grad(loss, parameters(dense)));
  return loss;
});
static const float before = step(ones({2, 4})).item();
static data::ArrayDataset rows(HostArray::from(std::span<const float>(std::vector<float>(32, 1.f)), {8, 4}),
                               HostArray::from(std::span<const std::int64_t>(std::vector<std::int64_t>(8, 1)), {8}));
static data::Loader loader(rows, {.batch = 4});
static metrics::ConfusionMatrix matrix(3);
static models::Model model = models::make("mnist-mlp");
static History history = trainer.fit(rows);

static bool is_right(const char* what, bool right) {
  if (!right) std::fprintf(stderr, "%s is wrong\n", what);
  return right;
}

int main() {
  bool right = is_right("a number drawn before main", known > 400 && known < 600);
  right &= is_right("a product", std::isfinite(sum(product).item()));
  right &= is_right("a pending value", all(isclose(pending.read(), product + 1.f)).item<bool>());
  right &= is_right("a training", step(ones({2, 4})).item() < before && history.size() == 1);
  right &= is_right("layers", std::isfinite(sum(lstm(normal({3, 2, 4})).output).item()) && std::isfinite(sum(net(drawn)).item()) &&
                                  std::isfinite(sum(conv(normal({1, 3, 8, 8}))).item()));
  right &= is_right("two layers drawn one after the other", !all(isclose(dense.weight.read(), other.weight.read())).item<bool>());
  state = state + 1.f;  // still pending when the program ends
  return right ? 0 : 1;
}

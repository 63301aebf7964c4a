// Lesson 13: sequences, by hand and by layer. A recurrent net reads one element after the other and remembers in its state.

#include <tegula/tegula.h>
#include <tegula/text.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <set>
#include <string>

using namespace tegula;
using Tensors = std::vector<Tensor>;

// --- 1. Fibonacci: two numbers are all that has to be remembered ----------------------------------------------------------------------
// x[t] = x[t-1] + x[t-2]. A linear recurrence with a state of two numbers can be it exactly; its weights are found from examples alone, sequences of eight
// numbers that begin with any two.
Tensor fibonacci(const Tensor& first, const Tensor& second, std::int64_t length) {  // (N), (N) -> (length, N)
  const Scanned out =
      scan([](const Tensors& c, const Tensors&) { return Scanned{{c[1], c[0] + c[1]}, {c[0]}}; }, {first, second}, {}, {.length = length});
  return out.ys[0];
}

void fibonacci_by_hand() {
  const Tensor numbers = fibonacci(ones({1}), ones({1}), 12);
  assert((reshape(numbers, {12}).to_host() == std::vector<float>{1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144}));

  manual_seed(1);
  struct Predictor {
    Variable w{normal({2, 2}) * 0.3};  // state' = state · w + x · v: w weighs the past
    Variable v{normal({1, 2}) * 0.3};
    Variable u{normal({2, 1}) * 0.3};  // prediction = state' · u
    Tensor operator()(const Tensor& x) const {  // (T, N) -> (T, N): of the number behind each
      const Scanned out = scan(
          [&](const Tensors& c, const Tensors& in) {
            const Tensor state = matmul(c[0], w) + expand_dims(in[0], 1) * v;
            return Scanned{{state}, {squeeze(matmul(state, u), 1)}};
          },
          {zeros({x.size(1), 2})}, {x});
      return out.ys[0];
    }
  } net;
  optim::Adam adam(parameters(net), {.lr = 0.02});
  auto step = jit([&] {
    const Tensor all = fibonacci(uniform({64}, -1, 1), uniform({64}, -1, 1), 8);
    const Tensor x = slice(all, 0, {0, 7}), y = slice(all, 0, {1, 8});
    const Tensor loss = mse_loss(slice(net(x), 0, {1, {}}), slice(y, 0, {1, {}}));  // the second number follows from nothing
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  float loss = 0;
  for (int k = 0; k < 1500; ++k) loss = step().item();
  const Tensor known = fibonacci(ones({1}), ones({1}), 15);
  const float next = net(known).to_host()[14];
  std::printf("Fibonacci: loss %.2g, behind 377 and 610 comes %.1f\n", loss, next);
  assert(loss < 1e-3f);
  assert(std::abs(next - 987) < 0.02f * 987);  // farther than any sequence that it has seen
}

// --- 2. A sine wave, by hand and by layer ----------------------------------------------------------------------------------------------
// nn::LSTM is four products, three sigmoids and two tanh a step: here they are, with the layer's own weights.
Tensor lstm_by_hand(nn::LSTM& layer, const Tensor& x) {  // (T, N, 1) -> (T, N, H)
  const auto& one = layer.direction(0);
  const std::int64_t hidden = one.weight_hh.shape()[1];
  const Tensor none = zeros({x.size(1), hidden});
  const Scanned out = scan(
      [&](const Tensors& c, const Tensors& in) {
        const Tensors gates = chunk(linear(in[0], one.weight_ih, one.bias_ih) + linear(c[0], one.weight_hh, one.bias_hh), 4, 1);
        const Tensor cell = sigmoid(gates[1]) * c[1] + sigmoid(gates[0]) * tanh(gates[2]);  // forget, and take in
        const Tensor h = sigmoid(gates[3]) * tanh(cell);
        return Scanned{{h, cell}, {h}};
      },
      {none, none}, {x});
  return out.ys[0];
}

struct Waves {
  nn::LSTM lstm{1, 24};
  nn::Linear out{24, 1};
  Tensor operator()(Tensor x) const { return out(lstm(x).output); }  // (T, N, 1) -> (T, N, 1): of the value behind each
};

void a_sine_wave() {
  manual_seed(2);
  Waves net;
  const Tensor x = normal({9, 4, 1});
  eval(x);
  const auto by_layer = net.lstm(x).output.to_host(), by_hand = lstm_by_hand(net.lstm, x).to_host();
  for (std::size_t i = 0; i < by_layer.size(); ++i) assert(std::abs(by_layer[i] - by_hand[i]) < 1e-5f);

  optim::Adam adam(parameters(net), {.lr = 0.01});
  const auto waves = [](std::int64_t length, std::int64_t count) {  // (length, count, 1), each with a phase of its own
    const Tensor phase = uniform({count, 1}, 0, 2 * std::numbers::pi);
    return sin(reshape(cast(arange(length), f32), {length, 1, 1}) * 0.3 + phase);
  };
  auto step = jit([&] {
    const Tensor all = waves(33, 16);
    const Tensor loss = mse_loss(net(slice(all, 0, {0, 32})), slice(all, 0, {1, 33}));
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  float loss = 0;
  for (int k = 0; k < 300; ++k) loss = step().item();
  // From here on its input is its own output: a wave that goes on by itself. The state is carried from call to call.
  const Tensor begin = sin(reshape(cast(arange(32), f32), {32, 1, 1}) * 0.3);
  nn::Recurrent at = net.lstm(begin);
  Tensor value = net.out(slice(at.output, 0, {31, 32}));
  double off = 0;
  for (int k = 32; k < 48; ++k) {
    off = std::max(off, std::abs(value.item<double>() - std::sin(0.3 * k)));
    at = net.lstm(value, {.h = at.h, .c = at.c});
    value = net.out(at.output);
  }
  std::printf("sine wave: loss %.2g, 16 values further at most %.2f off\n", loss, off);
  assert(loss < 0.01f && off < 0.35);
}

// --- 3. Names: lengths differ ------------------------------------------------------------------------------------------------------------
// The net finds the language that a word is made up from. Words are padded to one length, and the layer is told how long each is.
void names() {
  const std::vector<std::string> one{"ka", "ri", "to", "mi", "na", "shi", "ko", "ya"},
      two{"berg", "stein", "wald", "bach", "feld", "mann", "burg", "hof"};
  data::RandomStream random(4, 0);
  std::vector<std::string> words;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 320; ++i) {
    const auto& parts = i % 2 ? two : one;
    std::string word;
    for (std::uint32_t k = 0; k < 1 + random.below(3); ++k) word += parts[random.below(8)];
    words.push_back(word.empty() ? parts[0] : word);
    labels.push_back(i % 2);
  }
  const text::Tokenizer letters = text::character_tokenizer("abcdefghijklmnopqrstuvwxyz");
  const auto batch = [&](std::size_t from, std::size_t to) {
    std::vector<text::Ids> ids;
    for (std::size_t i = from; i < to; ++i) ids.push_back(letters.encode(words[i]));
    return std::pair(from_array(text::pad_sequences(ids, {.length = 15, .padding = text::Side::Back})),
                     from_array(text::sequence_lengths(ids)));
  };
  manual_seed(3);
  models::LstmClassifier net({.vocabulary = letters.size(), .classes = 2, .embedding = 8, .hidden = 16, .dropout = 0});
  optim::Adam adam(parameters(net), {.lr = 0.02});
  const auto [x, lengths] = batch(0, 256);
  const Tensor y = tensor(std::vector<std::int64_t>(labels.begin(), labels.begin() + 256), {256});
  auto step = jit([&](const Tensor& tokens, const Tensor& length, const Tensor& label) {
    const Tensor loss = cross_entropy(net(tokens, length), label);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  float loss = 0;
  for (int k = 0; k < 40; ++k) loss = step(x, lengths, y).item();
  eval(net);
  const auto [test, test_lengths] = batch(256, 320);
  const double right =
      metrics::accuracy(net(test, test_lengths), tensor(std::vector<std::int64_t>(labels.begin() + 256, labels.end()), {64}));
  std::printf("names: loss %.3f, %.0f %% of 64 new ones right\n", loss, 100 * right);
  assert(right > 0.95);
  // Steps after a word's end do not count.
  const auto a = net(test, test_lengths).to_host(), b = net(concat({test, test}, 1), test_lengths).to_host();
  for (std::size_t i = 0; i < a.size(); ++i) assert(std::abs(a[i] - b[i]) < 1e-5f);
}

int main() {
  fibonacci_by_hand();
  a_sine_wave();
  names();
}

// Lesson 18: learning from rewards (policy gradients).
//
// A pole stands on a cart, which is pushed left or right at every step. Nobody says which push was right; there is a point for each step before the pole has
// fallen. REINFORCE (Williams, 1992) raises the probability of an action by the points that came behind it: a cross-entropy whose labels are the
// actions taken, and whose weights are how much better than usual they went.

#include <tegula/tegula.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace tegula;

constexpr int kGames = 32;  // played at once
constexpr int kLongest = 200;  // steps of a game
constexpr int kNumbers = 4;  // of a state

// ---- The world: Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems" (1983).

struct CartPole {
  std::array<double, kNumbers> state{};  // place (m), speed, angle (rad), its speed

  void reset(data::RandomStream& random) {
    for (double& number : state) number = static_cast<double>(random.uniform(-0.05f, 0.05f));
  }
  bool has_ended() const { return std::abs(state[0]) > 2.4 || std::abs(state[2]) > 0.2095; }
  void push(bool right) {
    constexpr double kGravity = 9.8, kPole = 0.1, kCart = 1.0, kHalf = 0.5, kForce = 10, kSeconds = 0.02;  // kg, m, N
    auto& [x, speed, angle, turning] = state;
    const double sine = std::sin(angle), cosine = std::cos(angle), total = kPole + kCart;
    const double pushed = ((right ? kForce : -kForce) + kPole * kHalf * turning * turning * sine) / total;
    const double bend = (kGravity * sine - cosine * pushed) / (kHalf * (4.0 / 3 - kPole * cosine * cosine / total));
    const double gain = pushed - kPole * kHalf * bend * cosine / total;
    x += kSeconds * speed, speed += kSeconds * gain;
    angle += kSeconds * turning, turning += kSeconds * bend;
  }

  /// 40 x 64 pixels: the cart as a bar, the pole as a line.
  HostArray draw() const {
    constexpr std::int64_t kHeight = 40, kWidth = 64;
    HostArray image = HostArray::empty(f32, {1, kHeight, kWidth});
    const auto pixels = image.values<float>();
    std::fill(pixels.begin(), pixels.end(), 1.0f);
    const auto dot = [&](double px, double py, float value) {
      const auto column = static_cast<std::int64_t>(std::lround(px)), row = static_cast<std::int64_t>(std::lround(py));
      if (column >= 0 && column < kWidth && row >= 0 && row < kHeight) pixels[static_cast<std::size_t>(row * kWidth + column)] = value;
    };
    const double middle = kWidth / 2.0 + state[0] * kWidth / 5.2, floor = kHeight - 6;
    for (int dx = -6; dx <= 6; ++dx)
      for (int dy = 0; dy < 4; ++dy) dot(middle + dx, floor + dy, 0);
    for (double along = 0; along < 26; along += 0.5) dot(middle + along * std::sin(state[2]), floor - along * std::cos(state[2]), 0.3f);
    return image;
  }
};

// ---- The policy: which push?

struct Policy {
  nn::Linear hidden{kNumbers, 32}, output{32, 2};
  Tensor operator()(Tensor states) const { return output(tanh(hidden(states))); }  // (N, 4) -> logits (N, 2)
};

/// All steps of all games, one behind the other; those behind a game's end have weight 0.
struct Played {
  std::vector<float> states = std::vector<float>(kLongest * kGames * kNumbers), weights = std::vector<float>(kLongest * kGames);
  std::vector<std::int64_t> actions = std::vector<std::int64_t>(kLongest * kGames);
  std::array<int, kGames> lengths{};
  double mean_length() const {
    double sum = 0;
    for (const int length : lengths) sum += length;
    return sum / kGames;
  }
};

template <class Decide>
Played play(Decide& decide, data::RandomStream& random) {
  Played out;
  std::vector<CartPole> games(kGames);
  for (CartPole& game : games) game.reset(random);
  bool any = true;
  for (std::size_t t = 0; t < kLongest && any; ++t) {
    float* states = out.states.data() + t * kGames * kNumbers;
    for (std::size_t g = 0; g < kGames; ++g) std::copy(games[g].state.begin(), games[g].state.end(), states + g * kNumbers);
    const std::vector<float> right = decide(tensor(std::vector<float>(states, states + kGames * kNumbers), {kGames, kNumbers})).to_host();
    any = false;
    for (std::size_t g = 0; g < kGames; ++g) {
      if (games[g].has_ended()) continue;
      any = true;
      const bool pushes_right = random.uniform() < right[g];
      out.actions[t * kGames + g] = pushes_right;
      out.weights[t * kGames + g] = 1;
      games[g].push(pushes_right);
      ++out.lengths[g];
    }
  }
  return out;
}

/// Weights become advantages: discounted points from each step on, less their mean, over their deviation.
static void weigh(Played& played) {
  constexpr double kDiscount = 0.98;
  std::vector<double> points(played.weights.size());
  for (std::size_t g = 0; g < kGames; ++g) {
    double rest = 0;
    for (std::size_t t = static_cast<std::size_t>(played.lengths[g]); t-- > 0;) points[t * kGames + g] = rest = 1 + kDiscount * rest;
  }
  double sum = 0, squares = 0, count = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (played.weights[i] > 0) sum += points[i], squares += points[i] * points[i], count += 1;
  }
  const double mean = sum / count, deviation = std::sqrt(std::max(squares / count - mean * mean, 1e-6));
  for (std::size_t i = 0; i < points.size(); ++i)
    played.weights[i] = played.weights[i] > 0 ? static_cast<float>((points[i] - mean) / deviation / count) : 0.0f;
}

int main() {
  manual_seed(1);
  data::RandomStream random(1, 0);
  Policy policy;
  optim::Adam adam(parameters(policy), {.lr = 1e-2});
  auto decide =
      jit([&](const Tensor& states) { return select(softmax(policy(states), -1), 1, 1); });  // the probability of a push to the right
  // Σ -log π(a | s) A: the gradient that raises the expected points (Sutton et al., 2000).
  auto learn = jit([&](const Tensor& states, const Tensor& actions, const Tensor& advantages) {
    const Tensor loss = sum(cross_entropy(policy(states), actions, {.reduction = LossReduction::None}) * advantages);
    adam.step(grad(loss, adam.parameters()));
    return loss;
  });

  double first = 0, last = 0;
  for (int round = 0; round < 60; ++round) {
    Played played = play(decide, random);
    last = played.mean_length();
    if (round == 0) first = last;
    if (round % 10 == 0) std::printf("round %2d: the pole stands for %.1f steps\n", round, last);
    weigh(played);
    eval(learn(tensor(played.states, {kLongest * kGames, kNumbers}), tensor(played.actions, {kLongest * kGames}),
               tensor(played.weights, {kLongest * kGames})));
  }
  last = play(decide, random).mean_length();
  std::printf("the pole stands for %.1f steps of %d, in the beginning %.1f\n", last, kLongest, first);

  // One game as pictures, each ten steps after the other.
  CartPole game;
  game.reset(random);
  std::vector<HostArray> frames;
  for (int t = 0; t < 160 && !game.has_ended(); ++t) {
    if (t % 10 == 0) frames.push_back(game.draw());
    const std::vector<float> state(game.state.begin(), game.state.end());
    std::vector<float> states(kGames * kNumbers);
    std::copy(state.begin(), state.end(), states.begin());
    game.push(decide(tensor(states, {kGames, kNumbers})).to_host()[0] > 0.5f);
  }
  io::write_png("cartpole.png", data::image_grid(frames, {.columns = 4, .enlarge = 2}));
  assert(first < 60 && last > 150);
}

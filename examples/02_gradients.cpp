// Lesson 2: gradients.
//
// grad(y, xs) walks the graph of y backwards and builds the graph of the derivatives. No tape is recorded and none has to be cleared: the
// expression itself is the record. A gradient is just more graph, so it has gradients, too.

#include <tegula/tegula.h>

#include <cassert>
#include <cmath>
#include <cstdio>

using namespace tegula;

static bool near(double a, double b, double tolerance = 1e-5) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

int main() {
  // y = x³: y' = 3x², y'' = 6x, y''' = 6.
  Tensor x = 2.0f;
  Tensor y = x * x * x;
  Tensor first = grad(y, x);
  Tensor second = grad(first, x);
  Tensor third = grad(second, x);
  assert(near(first.item(), 12));
  assert(near(second.item(), 12));
  assert(near(third.item(), 6));

  // The sigmoid of the lectures: σ' = σ (1 - σ).
  Tensor z = tensor({-2.f, 0.f, 3.f});  // (3,)
  Tensor s = sigmoid(z);                // (3,)
  Tensor ds = grad(sum(s), z);          // (3,): of the sum, so that each element gets its own derivative
  const auto values = s.to_host(), slopes = ds.to_host();
  for (int i = 0; i < 3; ++i) assert(near(slopes[i], values[i] * (1 - values[i])));

  // Gradients with respect to several tensors at once; each has the shape of its tensor.
  Tensor w = normal({4, 3}), b = zeros({4}), input = normal({5, 3});
  Tensor loss = mean(square(linear(input, w, b)));  // ()
  auto g = grad(loss, {w, b});
  assert(g[0].shape() == w.shape() && g[1].shape() == b.shape());

  // Is it right? Against finite differences: move one weight a little.
  const double h = 1e-3;
  Tensor step = reshape(one_hot(arange(12), 12, f32), {12, 4, 3});  // (12, 4, 3): one weight each
  auto loss_at = [&](const Tensor& weight) { return mean(square(linear(input, weight, b))).item<double>(); };
  for (int i = 0; i < 12; ++i) {
    const Tensor e = select(step, 0, i);  // (4, 3)
    const double slope = (loss_at(w + h * e) - loss_at(w - h * e)) / (2 * h);
    assert(std::abs(slope - sum(g[0] * e).item<double>()) < 2e-3);
  }

  // A Variable is a value that may be assigned. Gradient descent on (v - 3)², by hand:
  Variable v = 0.0f;
  for (int i = 0; i < 50; ++i) {
    Tensor distance = square(v - 3);
    v -= 0.1f * grad(distance, v);
  }
  assert(near(Tensor(v).item(), 3, 1e-3));

  // Reading changes nothing: print a hidden value, the loss, both, before or after grad. The nodes that a loss was computed from stay while the loss does.
  Variable u = tensor({1.f, 2.f});
  Tensor total = 0.0f;
  for (int i = 1; i <= 40; ++i) {  // accumulate, and log each loss
    Tensor part = sum(u * u) * static_cast<float>(i);
    assert(near(part.item(), 5.0 * i));
    total = total + part;
  }
  assert(grad(total, u).to_host() == (std::vector<float>{1640, 3280}));

  // A Variable is a place, and a value read from it is a leaf: gradients end there. The tensor that was assigned has gradients of its own.
  Variable state = zeros({2});
  Tensor next = u * 3;  // (2,)
  state = next;
  assert(grad(sum(state * u), u).to_host() == (std::vector<float>{3, 6}));  // a warning names both lines
  assert(grad(sum(next * u), u).to_host() == (std::vector<float>{6, 12}));

  // A copy learns nothing from the original's gradient: a target network, moved towards the one that is trained.
  nn::Linear net(3, 1), target = net;
  Tensor before = target.weight;  // the Variable's old value stays in the handle
  optim::SGD descend(parameters(net), {.lr = 0.1});
  for (int i = 0; i < 3; ++i) {
    descend.step(grad(mse_loss(net(input), 1 + 0.9f * target(input)), parameters(net)));
    target.weight = lerp(target.weight, stop_gradient(net.weight), 0.5f);
  }
  assert(near(max(abs(target.weight - before)).item(), 0) == false);

  // Two optimisers that pull in different directions, each with the weights the other has left.
  nn::Linear maker(3, 3), judge(3, 1);
  optim::Adam judging(parameters(judge), {.lr = 0.01}), making(parameters(maker), {.lr = 0.01});
  for (int i = 0; i < 3; ++i) {
    Tensor made = maker(input);  // (5, 3)
    Tensor judged = mean(softplus(judge(stop_gradient(made))) + softplus(-judge(input)));
    assert(std::isfinite(judged.item()));
    judging.step(grad(judged, parameters(judge)));
    making.step(grad(mean(softplus(-judge(made))), parameters(maker)));
  }

  // Plain or jit? The numbers are the same; what differs is time.
  // - Plain code builds its graph anew at every step and looks the program up by its structure: some microseconds for each op, most of a
  //   small net's step, little of a large one's.
  // - Values that are looked at, or held in variables, are written to memory; between them all is fused, as in jit.
  // - A look at the loss before grad costs the elementwise part of the forward pass once more (products are kept): at most a quarter.
  // - What evaluated tensors keep for gradients is bounded (set_history_budget); grad throws where it was given up.
  // - jit traces once and replays: no graph, no lookup, weights updated where they live, memory planned for the whole step.
  // Write plain code until it is right; wrap the step in jit when it runs more than a few times. Values come out of it as results:
  auto loss_of = [&](Tensor in) {
    Tensor error = mean(square(net(in)));
    descend.step(grad(error, parameters(net)));
    return error;
  };
  auto fast = jit(loss_of);
  double last = loss_of(input).item();
  for (int i = 0; i < 3; ++i) {
    const double now = fast(input).item();
    assert(now < last);
    last = now;
  }

  // Some paths carry no gradient, because we say so.
  Tensor frozen = stop_gradient(x) * x;
  assert(near(grad(frozen, x).item(), 2));  // not 4

  // A tensor that y does not depend on has no gradient, and asking for it is a mistake.
  try {
    grad(y, Tensor(1.0f));
    assert(false);
  } catch (const Error& error) { std::printf("%s\n", error.what()); }

  // A function with a derivative of one's own: the straight-through estimator rounds forward and lets gradients pass.
  auto round_through = [](const Tensor& t) {
    return custom_function(
        "round_through", [](const std::vector<Tensor>& in) { return round(in[0]); },
        [](const std::vector<Tensor>&, const Tensor&, const Tensor& dy) { return std::vector<Tensor>{dy}; }, {t});
  };
  Tensor r = tensor({0.2f, 0.7f});
  assert(round_through(r).to_host() == (std::vector<float>{0, 1}));
  assert(grad(sum(3 * round_through(r)), r).to_host() == (std::vector<float>{3, 3}));
}

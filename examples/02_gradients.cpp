// Lesson 2: gradients.
//
// grad(y, xs) walks the graph of y backwards and builds the graph of the derivatives. There is no tape to record and nothing to clear: the
// expression itself is the record. And because a gradient is just more graph, it has gradients, too.

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

  // With respect to many things at once; each gradient has the shape of what it belongs to.
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

  // Some paths carry no gradient, because we say so.
  Tensor frozen = stop_gradient(x) * x;
  assert(near(grad(frozen, x).item(), 2));  // not 4

  // What has nothing to do with y has no gradient, and asking for it is a mistake.
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

// Lesson 9: loops.
//
// A recurrent net does the same at every step of a sequence. Written as a C++ loop, T steps are T copies of the step in the graph, and T = 4096 takes
// a while to plan. `scan` writes the step down once: the plan holds one step and runs it T times, forwards and, for gradients, backwards.

#include <tegula/tegula.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <string>

using namespace tegula;
using Tensors = std::vector<Tensor>;

// --- 1. A step, its carried values, its slices -------------------------------------------------------------------------------------
// The body gets the carried values and this step's slice of each stack; it returns the next carried values and this step's results.
void running_sums() {
  const Tensor x = arange(1.f, 6.f);  // 1 2 3 4 5
  const auto [carry, ys] = scan(
      [](const Tensors& carry, const Tensors& in) {
        const Tensor sum = carry[0] + in[0];
        return Scanned{{sum}, {sum}};
      },
      {Tensor(0.f)}, {x});
  assert(carry[0].item() == 15);
  assert((ys[0].to_host() == std::vector<float>{1, 3, 6, 10, 15}));
  // From the other end, with the results in the order of x all the same: .reverse.
  const Scanned back = scan([](const Tensors& c, const Tensors& in) { return Scanned{{c[0] + in[0]}, {c[0] + in[0]}}; }, {Tensor(0.f)}, {x},
                            {.reverse = true});
  assert((back.ys[0].to_host() == std::vector<float>{15, 14, 12, 9, 5}));
  assert((grad(sum(ys[0]), x).to_host() == std::vector<float>{5, 4, 3, 2, 1}));
}

// --- 2. A recurrent net -------------------------------------------------------------------------------------------------------------
// An LSTM by hand (nn::LSTM is the same). Weights are captured: the body reads the Variables, and the gradient of a weight is one product behind the
// backward loop, over all steps.
struct Memory {
  std::int64_t features, hidden;
  nn::Linear in{features, 4 * hidden};
  nn::Linear state{hidden, 4 * hidden, {.bias = false}};
  nn::Linear out{hidden, 1};

  Tensor operator()(const Tensor& x) {  // (T, N, features) -> (N, 1), from the last step
    const Tensor none = zeros({x.shape()[1], hidden});
    const Scanned steps = scan(
        [&](const Tensors& c, const Tensors& gates) {
          const Tensors g = chunk(gates[0] + state(c[0]), 4, 1);
          const Tensor cell = sigmoid(g[0] + 1.0) * c[1] + sigmoid(g[1]) * tanh(g[2]);
          return Scanned{{sigmoid(g[3]) * tanh(cell), cell}, {}};
        },
        {none, none}, {in(x)});  // the input's share of all steps is one product
    return out(steps.carry[0]);
  }
};

// The adding problem (Hochreiter and Schmidhuber, 1997): two numbers of a row are marked; the task is their sum.
Tensors numbers(std::int64_t length, std::int64_t count) {
  const Tensor values = uniform({length, count});
  const Tensor first = randint(0, length / 2, {count}), second = randint(length / 2, length, {count});
  const Tensor place = expand_dims(arange(length), 1);
  const Tensor marks = cast(place == first, f32) + cast(place == second, f32);
  return {stack({values, marks}, 2), reshape(sum(values * marks, 0), {count, 1})};
}

void a_net_that_remembers() {
  manual_seed(1);
  Memory net{2, 24};
  optim::Adam adam(parameters(net), {.lr = 0.01});
  auto step = jit([&] {
    const Tensors data = numbers(16, 64);
    const Tensor loss = mse_loss(net(data[0]), data[1]);
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  float first = 0, last = 0;
  for (int k = 0; k < 500; ++k) {
    const float loss = step().item();
    if (k == 0) first = loss;
    last = k == 0 ? loss : 0.95f * last + 0.05f * loss;
    if (k % 100 == 99) std::printf("step %3d: mean squared error %.4f\n", k + 1, last);
  }
  assert(last < 0.1f * first && last < 0.08f);  // a model that does not remember gets the variance, 0.167
  // One step in the plan, whatever the length.
  const std::string plan = step.print_plan();
  assert(plan.find("scan [16 x ") != std::string::npos);
}

// --- 3. State, chance, long sequences -----------------------------------------------------------------------------------------------
void state_and_chance() {
  manual_seed(2);
  Variable steps(Tensor(0.f));
  const Scanned out = scan(
      [&](const Tensors& c, const Tensors&) {
        steps += 1;  // a Variable that is assigned is carried, too
        return Scanned{{c[0] + normal({3})}, {c[0]}};  // other numbers at each step
      },
      {zeros({3})}, {}, {.length = 100});
  eval(out.carry[0]);
  assert(steps.read().item() == 100);
}

// A gradient keeps something of every step. If that is too much, scan_in_chunks keeps √T of them and runs the steps forward twice.
void long_sequences() {
  const Tensor w = normal({16, 16}) * 0.2, x = normal({400, 8, 16});
  eval(w, x);
  const auto memory = [&](bool chunks) {
    auto gradient = jit([&](Tensor weight) {
      const auto body = [&](const Tensors& c, const Tensors& in) {
        Tensor h = c[0];
        for (int k = 0; k < 4; ++k) h = tanh(matmul(h, weight) + in[0]);
        return Scanned{{h}, {}};
      };
      const Scanned out = chunks ? scan_in_chunks(body, {zeros({8, 16})}, {x}) : scan(body, {zeros({8, 16})}, {x});
      return grad(sum(out.carry[0]), weight);
    });
    const Tensor g = gradient(w);
    std::printf("%s\n%s", chunks ? "in chunks:" : "at once:", gradient.print_memory().c_str());
    return g;
  };
  const std::vector<float> a = memory(false).to_host(), b = memory(true).to_host();
  for (std::size_t i = 0; i < a.size(); ++i) assert(std::abs(a[i] - b[i]) < 1e-3f * (1 + std::abs(a[i])));
}

int main() {
  running_sums();
  a_net_that_remembers();
  state_and_chance();
  long_sequences();
}

// Lesson 5: looking inside.
//
// The compiler turns an expression into a graph, which passes simplify; into groups of nodes, which become one tile program each; and into a
// plan, with the order of the steps and the place of every value. All of it can be printed, and this lesson does so.

#include <tegula/tegula.h>

#include <cassert>
#include <cstdio>
#include <string>

using namespace tegula;

static int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

int main() {
  // Nine cheap ops on a large array. Executed one by one they would read and write the memory nine times.
  auto chain = jit([](Tensor x) { return tanh(sqrt(abs(x * 2 + 1) + 0.5f)) * x - 3 * x / (1 + x * x); });
  chain(normal({1000, 1000}));
  std::printf("graph:\n%s\nplan:\n%s\n", chain.print_graph().c_str(), chain.print_plan().c_str());
  assert(count(chain.print_plan(), "tile ") == 1);  // one program: the memory is read once and written once

  // Softmax is a composition: a maximum, a difference, an exponential, a sum, a quotient. The composition becomes one program over rows.
  auto rows = jit([](Tensor x) { return softmax(x, 1); });
  rows(normal({256, 1000}));
  std::printf("softmax:\n%s\n", rows.print_plan().c_str());
  assert(count(rows.print_plan(), "tile ") == 1);

  // A linear layer with ReLU: bias and activation are folded into the matrix product. A value that depends on the weight alone, here its rows, is computed once and kept.
  manual_seed(0);
  nn::Linear layer{64, 32};
  auto forward = jit([&](Tensor x) { return relu(layer(x)); });
  forward(normal({128, 64}));
  std::printf("linear and relu:\n%s\n", forward.print_plan().c_str());
  std::string each = forward.print_plan();
  if (const auto at = each.find("every time:"); at != std::string::npos) each = each.substr(at);
  assert(count(each, "call ") == 1 && count(each, "tile ") == 0);

  // A jit-ed function is traced once for each signature; the learning rate is state, so changing it compiles nothing.
  optim::SGD sgd(parameters(layer), {.lr = 0.1});
  auto step = jit([&](Tensor x) {
    Tensor loss = mean(square(layer(x)));
    sgd.step(grad(loss, parameters(layer)));
    return loss;
  });
  for (int i = 0; i < 5; ++i) {
    sgd.lr = 0.1 / (i + 1);
    step(normal({128, 64}));
  }
  assert(step.executables() == 1);
  assert(step.traces() <= 3);  // the calls 2, 4, 16, 256, … are traced to compare, all others are replayed
  step(normal({16, 64}));  // another batch size is another signature
  assert(step.executables() == 2);
  std::printf("one training step:\n%s\n", step.print_plan().c_str());

  // A plain value that is captured is a constant of the trace. If it changes, Tegula says so at the next call that is compared: the 2nd,
  // 4th, 16th, 256th. Calls between them use the old value; with TEGULA_CHECK=jit in the environment every call is compared.
  float scale = 1;
  auto careless = jit([&](Tensor x) { return x * scale; });
  careless(ones({3}));
  scale = 2;
  try {
    careless(ones({3}));
    assert(false);
  } catch (const Error& error) { std::printf("%s\n", error.what()); }
  // An argument may change at will.
  auto careful = jit([](Tensor x, Tensor factor) { return x * factor; });
  assert(sum(careful(ones({3}), 2.f)).item() == 6 && sum(careful(ones({3}), 5.f)).item() == 15);
  assert(careful.executables() == 1);

  // TEGULA_PRINT=fuse,plan,tile prints such stages for any program; `tegula graph mnist-cnn --step --stage plan` does it for the models.
}

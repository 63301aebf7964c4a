// Not built by the tests: bench/compile_time.py measures how long a user waits for this file.
#include <tegula/tegula.h>
using namespace tegula;

struct Net {
  nn::Conv2d conv1{1, 12, 3, {.padding = Same}};
  nn::Conv2d conv2{12, 24, 6, {.stride = 2, .padding = Same}};
  nn::Linear head{14 * 14 * 24, 10};

  Tensor operator()(Tensor x) {  // (N, 1, 28, 28) -> (N, 10)
    x = relu(conv1(x));
    x = relu(conv2(x));
    return head(flatten(x, 1));
  }
};

int main() {
  auto [train, test] = data::mnist("data/mnist");
  Net net;
  auto adam = optim::Adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x, Tensor y) {  // x: (N, 1, 28, 28) f32, y: (N) i64
    Tensor loss = cross_entropy(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  for (auto [x, y] : data::Loader(train, {.batch = 128, .shuffle = true})) step(x, y);
}

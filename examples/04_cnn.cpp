// Lesson 4: a convolutional network.
//
// The data: digits drawn by the program, so that nothing must be downloaded. The network: two convolutions and a linear layer. The training:
// first by hand, so that every part is visible, then in one call.

#include <tegula/tegula.h>

#include <cassert>
#include <cstdio>

using namespace tegula;

struct Net {
  nn::Conv2d conv1{1, 8, 5, {.stride = 2, .padding = Same}};
  nn::Conv2d conv2{8, 16, 5, {.stride = 2, .padding = Same}};
  nn::Dropout drop{0.2};
  nn::Linear head{7 * 7 * 16, 10};

  Tensor operator()(Tensor x) {  // (N, 1, 28, 28)
    x = relu(conv1(x));  // (N, 8, 14, 14)
    x = relu(conv2(x));  // (N, 16, 7, 7)
    return head(drop(flatten(x, 1)));  // (N, 10)
  }
};

int main() {
  const data::ArrayDataset train = data::draw_digits(4000, 1), test = data::draw_digits(500, 2);
  assert(train.inputs.shape == (Shape{4000, 1, 28, 28}));

  // By hand. The step is traced at the first call, together with gradients and optimiser, and compiled as a whole.
  manual_seed(0);
  Net net;
  auto adam = optim::Adam(parameters(net), {.lr = 3e-3});
  auto step = jit([&](Tensor x, Tensor y) {  // x: (64, 1, 28, 28) f32, y: (64,) i64
    Tensor loss = cross_entropy(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });
  float first = 0, last = 0;
  for (const auto& [x, y] : data::Loader(train, {.batch = 64, .shuffle = true})) {
    last = step(x, y).item();
    if (first == 0) first = last;
  }
  std::printf("by hand: loss %.3f, after one epoch %.3f\n", first, last);
  assert(last < first);
  assert(step.executables() == 1);  // one shape, one program

  // The accuracy on the test digits. eval(net) switches dropout off.
  eval(net);
  const Tensor scores = net(from_array(test.inputs));  // (500, 10)
  std::printf("by hand: %.1f %% of the test digits\n", 100 * metrics::accuracy(scores, from_array(test.targets)));

  // The same in one call, with a learning rate that rises and falls.
  manual_seed(0);
  Net other;
  auto adam2 = optim::Adam(parameters(other));
  Trainer trainer(other, adam2, cross_entropy, {.epochs = 3, .batch = 64, .schedule = optim::OneCycleLR{.maximum = 8e-3, .total = 3 * 62}});
  trainer.on_epoch = [](const EpochRecord& r) {
    std::printf("epoch %d: loss %.3f, test accuracy %.3f\n", static_cast<int>(r.epoch), r.train_loss, r.test_accuracy);
  };
  const History history = trainer.fit(train, test);
  assert(history.back().test_accuracy > 0.8);

  // To a file and back: names and values as PyTorch would write them.
  save(other, "cnn.safetensors");
  Net loaded;
  load(loaded, "cnn.safetensors");
  eval(loaded);
  const Tensor one = from_array(test.first(1).inputs);
  assert(loaded(one).to_host() == other(one).to_host());
}

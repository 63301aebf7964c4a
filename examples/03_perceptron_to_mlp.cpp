// Lesson 3: from the perceptron to the multi-layer perceptron.
//
// A neuron separates two classes by a line. One neuron can learn NAND; it cannot learn XOR, whatever the weights. Two layers can.

#include <tegula/tegula.h>

#include <cassert>
#include <cstdio>

using namespace tegula;

// All four inputs of a logic gate.
static const Tensor kInputs = tensor({0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 1.f}, {4, 2});  // (4, 2)

// A network is a plain struct of layers. Its parameters are found by the compiler and have the names of the fields.
struct TwoLayers {
  nn::Linear hidden{2, 4};
  nn::Linear out{4, 1};
  Tensor operator()(Tensor x) {           // (N, 2) -> (N, 1)
    return sigmoid(out(tanh(hidden(x))));
  }
};

static std::vector<float> rounded(const Tensor& y) { return cast(y > 0.5, f32).to_host(); }

int main() {
  manual_seed(1);

  // Rosenblatt's perceptron: o = [w·x + b > 0], and for every sample w += η (y - o) x. No derivative is needed.
  {
    const Tensor nand = tensor({1.f, 1.f, 1.f, 0.f});  // (4,)
    Variable w = zeros({2}), b = 0.0f;
    int epochs = 0;
    for (bool wrong = true; wrong; ++epochs) {
      wrong = false;
      for (int i = 0; i < 4; ++i) {
        const Tensor x = select(kInputs, 0, i);                      // (2,)
        const Tensor o = cast(dot(w, x) + b > 0, f32);               // ()
        const Tensor error = select(nand, 0, i) - o;                 // ()
        w += 0.5f * error * x;
        b += 0.5f * error;
        wrong |= error.item() != 0;
      }
      assert(epochs < 100);  // the convergence theorem: a line exists, so it is found
    }
    assert(cast(matmul(kInputs, w) + b > 0, f32).to_host() == nand.to_host());
    std::printf("NAND after %d epochs: w = %s, b = %g\n", epochs, Tensor(w).print().c_str(), Tensor(b).item());
  }

  const Tensor exclusive = tensor({0.f, 1.f, 1.f, 0.f}, {4, 1});  // (4, 1)

  // Linear regression on XOR: the best plane is flat. A single layer can say no more.
  {
    nn::Linear plane{2, 1};
    optim::SGD sgd(parameters(plane), {.lr = 0.5});
    for (int i = 0; i < 300; ++i) sgd.step(grad(mse_loss(plane(kInputs), exclusive), parameters(plane)));
    for (float y : plane(kInputs).to_host()) assert(y > 0.49f && y < 0.51f);
  }

  // Two layers learn it, by the gradient of ½ Σ (y - o)².
  {
    TwoLayers net;
    assert(num_parameters(net) == 2 * 4 + 4 + 4 + 1);
    assert(parameters(net)[0].name == "hidden.weight");
    optim::Adam adam(parameters(net), {.lr = 0.05});
    auto step = jit([&](Tensor x, Tensor y) {  // traced once, compiled as one program, replayed
      Tensor loss = 0.5f * sum(square(y - net(x)));
      adam.step(grad(loss, parameters(net)));
      return loss;
    });
    float loss = 0;
    for (int i = 0; i < 500; ++i) loss = step(kInputs, exclusive).item();
    assert(loss < 0.02f);
    assert(rounded(net(kInputs)) == exclusive.to_host());
    std::printf("XOR: loss %.4f, outputs %s\n", loss, net(kInputs).print().c_str());

    // A copy of a network is another network with the same values.
    TwoLayers before = net;
    step(kInputs, exclusive);
    assert(net.out.weight.read().to_host() != before.out.weight.read().to_host());
  }

  // The same idea with 784 inputs, 128 hidden neurons and 10 outputs reads handwriting: tegula train mnist-mlp.
}

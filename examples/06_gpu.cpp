// Lesson 6: the second machine.
//
// The same program on the CPU and on an NVIDIA GPU: one line says where to compute, nothing else changes. On a machine without a GPU the
// lesson prints the reason, and the rest runs on the CPU alone.

#include <tegula/runtime/device.h>  // functions of a Device: name(), memory()
#include <tegula/tegula.h>

#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace tegula;

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Net {
  nn::Linear hidden{28 * 28, 128};
  nn::Linear out{128, 10};
  Tensor operator()(Tensor x) { return out(relu(hidden(flatten(x, 1)))); }  // (N, 1, 28, 28) -> (N, 10)
};

// Trains on one batch over and over, and returns the losses.
static std::vector<float> train_on(Device& device, const data::ArrayDataset& digits) {
  set_default_device(device);  // the one line

  manual_seed(1);  // random numbers are integer arithmetic (Philox): both machines draw the same weights
  Net net;
  optim::Adam adam(parameters(net), {.lr = 1e-3});
  auto step = jit([&](Tensor x, Tensor y) {  // x: (128, 1, 28, 28) f32, y: (128,) i64
    Tensor loss = cross_entropy(net(x), y);
    adam.step(grad(loss, parameters(net)));
    return loss;
  });

  // Arguments may come from anywhere: these lie in host memory, and each call copies them to where they are needed. The parameters are
  // state: they move to the device at the first step and stay there.
  const data::ArrayDataset batch = digits.first(128);
  const Tensor x = from_array(batch.inputs), y = from_array(batch.targets);
  std::vector<float> losses{step(x, y).item()};
  assert(Tensor(net.hidden.weight).device() == device.name());

  // The first call traced the function, compiled it, and loaded the kernels (from the cache on disk, when an earlier run left them there).
  // The calls 2, 4, 16, 256, … trace again, to compare. All others are replays: on the GPU one CUDA graph, launched as a whole.
  Tensor loss = step(x, y);
  losses.push_back(loss.item());
  loss = step(x, y);
  losses.push_back(loss.item());
  assert(step.executables() == 1 && step.traces() == 2);
  for (int call = 4; call <= 16; ++call) loss = step(x, y);
  losses.push_back(loss.item());

  // On the GPU a call returns as soon as its work is queued; reading a number (item, to_host, print) waits. Read rarely, therefore: here after
  // the last step. No step allocates memory: it was planned when the step was compiled.
  const auto asked = device.memory().system_allocations;
  constexpr int kSteps = 20;
  const double start = seconds();
  for (int i = 0; i < kSteps; ++i) loss = step(x, y);
  const double queued = seconds();
  losses.push_back(loss.item());
  const double done = seconds();
  assert(device.memory().system_allocations == asked);
  std::printf("%-8s %6.0f us a step; a call returns after %.0f us\n", device.name().c_str(), (done - start) / kSteps * 1e6,
              (queued - start) / kSteps * 1e6);

  // If no result is needed in between, ask for many steps at a time: on the GPU they are one CUDA graph, with nothing between two steps.
  losses.push_back(step.repeat(kSteps, x, y).item());
  return losses;
}

int main() {
  const data::ArrayDataset digits = data::draw_digits(128, 1);
  const std::vector<float> on_cpu = train_on(cpu(), digits);
  assert(on_cpu.back() < 0.5f * on_cpu.front());

  // Is there a GPU? Asking does not throw; cuda() would, with the same sentence.
  std::string why;
  const bool gpu = cuda_count(&why) > 0;
  if (!gpu) std::printf("no GPU: %s\n", why.c_str());
  if (gpu) {
    const std::vector<float> on_gpu = train_on(cuda(), digits);
    for (std::size_t i = 0; i < on_cpu.size(); ++i) {
      std::printf("loss %.6f on the CPU, %.6f on the GPU\n", on_cpu[i], on_gpu[i]);
      assert(std::abs(on_cpu[i] - on_gpu[i]) < 1e-3f + 1e-2f * on_cpu[i]);  // sums are added up in another order
    }
  }

  // Moves: a tensor is computed on the default device, and an operand that is elsewhere is copied there when it is first used. On
  // a GPU it stays; reading it copies it back without moving it.
  set_default_device(cpu());
  Tensor a = normal({1000, 1000});
  eval(a);
  assert(a.device() == "cpu");
  Device& fastest = gpu ? cuda() : cpu();
  set_default_device(fastest);
  Tensor b = a + 1;
  eval(b);
  assert(a.device() == fastest.name() && b.device() == fastest.name());
  assert(b.to_host()[5] == a.to_host()[5] + 1 && a.device() == fastest.name());

  // The compiled code. On the GPU: readable CUDA C++, with the lines of this file beside the statements made from them, and each launch's resources.
  // On the CPU: the steps of the vectorised executor.
  auto rows = jit([](Tensor x) { return softmax(x); });
  rows(a);
  std::printf("\n%s", rows.print_kernels().c_str());
  assert(rows.print_kernels().find(gpu ? "__global__" : "softmax") != std::string::npos || !gpu);

  // `tegula kernel show softmax --device cuda` prints the same and the PTX; docs/gpu.md explains such a kernel line by line.
}

// The cost of making a plan: the processor's seconds between the call of a jit-ed function and the first step of its plan, which is the first call less
// a later one. Nets are narrow, so that little else is measured: the graph has as many items as that of the wide one. OMP_NUM_THREADS=1 bench_planning [prefix…].

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/support/written_out_lstm.h"
#include "tegula/models/mnist.h"
#include "tegula/models/resnet.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/tegula.h"

using namespace tegula;

namespace {

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Call>
double timed(Call call) {
  const double begin = seconds();
  call();
  return seconds() - begin;
}

/// The time of the first call, less that of the third (the second compares two traces); medians over several sizes.
template <class Call>
void plans(const std::string& name, const std::vector<std::int64_t>& sizes, Call call) {
  std::vector<double> first, again;
  for (const std::int64_t size : sizes) {
    const double one = timed([&] { call(size); }), two = timed([&] { call(size); }), three = timed([&] { call(size); });
    first.push_back(one - three), again.push_back(two - three);
  }
  const auto median = [](std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  bench::report(name, 1e3 * median(first), "ms");
  bench::report(name + ", second trace", 1e3 * median(again), "ms");
}

models::Gpt2Options narrow() { return {.vocabulary = 512, .width = 96, .layers = 12, .heads = 12, .context = 1024}; }
Tensor tokens(std::int64_t length) { return zeros({1, length}, i64); }

void gpt2_lengths() {
  const models::Gpt2 net(narrow());
  auto f = jit([&](Tensor ids) { return net(ids); });
  for (const std::int64_t length : {8, 9}) f(tokens(length));
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 10; length < 31; ++length) lengths.push_back(length);
  plans("gpt2, 12 layers, forward, a new length", lengths, [&](std::int64_t length) { f(tokens(length)); });
}

void gpt2_training() {
  models::Gpt2 net(narrow());
  optim::AdamW optimiser(parameters(net), {});
  auto f = jit([&](Tensor ids) {
    const Tensor scores = net(ids);
    const Tensor loss = cross_entropy(reshape(scores, {ids.shape()[1], 512}), reshape(ids, {ids.shape()[1]}));
    optimiser.step(grad(loss, parameters(net)));
    return loss;
  });
  plans("gpt2, 12 layers, training", {16, 17, 18, 19, 20}, [&](std::int64_t length) { f(tokens(length)); });
}

void lstm(std::int64_t steps) {
  const std::int64_t batch = 4;
  const bench::WrittenOutLstm net{16};
  auto f = jit([&](Tensor x) { return net.gradients(x); });
  plans("lstm written out, T " + std::to_string(steps) + ", training", {batch, batch + 1, batch + 2},
        [&](std::int64_t size) { f(zeros({size, steps, net.hidden})); });
}

void mnist_cnn() {
  models::MnistCnn net;
  optim::AdamW optimiser(parameters(net), {});
  auto answers = jit([&](Tensor x) { return net(x); });
  auto trains = jit([&](Tensor x, Tensor labels) {
    const Tensor loss = cross_entropy(net(x), labels);
    optimiser.step(grad(loss, parameters(net)));
    return loss;
  });
  const std::vector<std::int64_t> batches{2, 3, 4, 5, 6, 7, 8};
  plans("mnist-cnn, forward", batches, [&](std::int64_t batch) { answers(zeros({batch, 1, 28, 28})); });
  plans("mnist-cnn, training", batches, [&](std::int64_t batch) { trains(zeros({batch, 1, 28, 28}), zeros({batch}, i64)); });
}

// With small images: the calls are made as for large ones.
void resnet50() {
  models::ResNet50 net;
  optim::SGD optimiser(parameters(net), {});
  auto trains = jit([&](Tensor x, Tensor labels) {
    const Tensor loss = cross_entropy(net(x), labels);
    optimiser.step(grad(loss, parameters(net)));
    return loss;
  });
  plans("resnet50, training", {2, 3, 4, 5, 6}, [&](std::int64_t batch) { trains(zeros({batch, 3, 32, 32}), zeros({batch}, i64)); });
}

}  // namespace

int main(int argc, char** argv) {
  const auto wanted = [&](const char* name) { return bench::selected(argc, argv, name); };
  if (wanted("mnist-cnn")) mnist_cnn();
  if (wanted("resnet50")) resnet50();
  if (wanted("gpt2 forward")) gpt2_lengths();
  if (wanted("gpt2 training")) gpt2_training();
  for (const std::int64_t steps : {32, 128, 512})
    if (wanted("lstm")) lstm(steps);
}

// Lesson 19: training without waiting (a parameter server).
//
// With an all-reduce every step takes as long as the slowest rank. A parameter server has the weights; a worker takes them, computes a gradient, sends it, and
// takes the weights again, which others have changed by then: its gradient was of older ones, it is stale. Three workers train the same net both ways here, and
// one of them is slow. Workers are threads; as processes they would call the same functions with an address such as "host:4100".

#include <tegula/dist.h>
#include <tegula/tegula.h>
#include <unistd.h>

#include <cassert>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tegula/dist/transport/sockets.h"

using namespace tegula;

constexpr int kWorkers = 3;
constexpr int kSteps = 40;  // of each rank with an all-reduce, which makes 120 gradients
constexpr std::int64_t kBatch = 64;
constexpr auto kSlow = std::chrono::milliseconds(30);  // what a step of the last worker takes longer

struct Net {
  nn::Linear hidden{28 * 28, 64}, output{64, 10};
  Tensor operator()(Tensor x) const { return output(relu(hidden(flatten(x, 1)))); }
};

static double accuracy_of(const Net& net, const data::LabelledImages& test) {
  return metrics::accuracy(net(from_array(test.images)), from_array(test.labels));
}
static double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A function of a batch: the net's gradients.
static auto gradients_of(Net& net) {
  return jit([&net](const Tensor& x, const Tensor& y) { return grad(cross_entropy(net(x), y), parameters(net)); });
}
/// A worker's batches, one epoch behind the other; the last worker is slow.
static data::Batch next(data::Loader& loader, int worker) {
  if (worker == kWorkers - 1) std::this_thread::sleep_for(kSlow);
  for (;;) {
    if (std::optional<data::Batch> batch = loader.next()) return *batch;
  }
}
static data::Loader batches_of(const data::LabelledImages& train, int worker) {
  return data::Loader(train, {.batch = kBatch, .shuffle = true, .seed = static_cast<std::uint64_t>(worker)});
}

int main() {
  const data::LabelledImages train_set = data::draw_digits(3'000, 1), test_set = data::draw_digits(500, 2);

  // ---- All-reduce: each step uses the mean of three gradients.
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> accuracies(kWorkers);
  auto transports = dist::local_transports(kWorkers, 60);
  std::vector<std::thread> ranks;
  for (int r = 0; r < kWorkers; ++r) {
    ranks.emplace_back([&, r] {
      const dist::WorldScope scope(dist::group_over(std::move(transports[static_cast<std::size_t>(r)])));
      manual_seed(1);
      Net net;
      dist::DataParallel parallel(parameters(net));
      optim::SGD sgd(parameters(net), {.lr = 0.1, .momentum = 0.9});
      auto gradients = gradients_of(net);
      data::Loader loader = batches_of(train_set, r);
      for (int step = 0; step < kSteps; ++step) {
        const data::Batch batch = next(loader, r);
        sgd.step(parallel.mean(gradients(batch.x, batch.y)));
      }
      accuracies[static_cast<std::size_t>(r)] = accuracy_of(net, test_set);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  const double all_reduce_seconds = seconds_since(begin);
  std::printf("all-reduce:       %d gradients in %.2f s, accuracy %.3f, staleness 0\n", kWorkers * kSteps, all_reduce_seconds,
              accuracies[0]);

  // ---- A server: each gradient is a step. Momentum would add up what is stale, so there is none, and the steps are smaller.
  const std::string address = "unix:" + std::filesystem::temp_directory_path().string() + "/tegula-lesson-" + std::to_string(::getpid());
  dist::ParameterServerReport report;
  double accuracy = 0;
  std::thread server([&] {
    manual_seed(1);
    Net net;
    optim::SGD sgd(parameters(net), {.lr = 0.1});
    report = dist::serve_parameters(address, parameters(net), [&](const std::vector<Tensor>& gradients) { sgd.step(gradients); },
                                    {.workers = kWorkers, .updates = 4 * kWorkers * kSteps});
    accuracy = accuracy_of(net, test_set);
  });
  std::vector<std::thread> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      Net net;  // its weights come from the server
      dist::ServedParameters served(address, parameters(net));
      auto gradients = gradients_of(net);
      data::Loader loader = batches_of(train_set, w);
      for (bool goes_on = true; goes_on;) {
        const data::Batch batch = next(loader, w);
        goes_on = served.push(gradients(batch.x, batch.y));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  server.join();
  std::printf("parameter server: %lld gradients in %.2f s, accuracy %.3f\n%s", static_cast<long long>(report.applied), report.seconds,
              accuracy, report.print().c_str());

  // Ranks of an all-reduce have the same weights, bit for bit. On a server the gradients that are stale, and how much, differ from run to run.
  assert(accuracies[0] > 0.6 && accuracies[0] == accuracies[1] && accuracies[1] == accuracies[2]);
  assert(report.applied == 4 * kWorkers * kSteps && accuracy > 0.6);
  assert(report.staleness.rbegin()->first >= 1);
  std::int64_t gradients = 0;
  for (const std::int64_t count : report.of_worker) gradients += count;
  assert(gradients == report.applied + report.dropped);
}

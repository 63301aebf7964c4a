// Asynchronous training: workers and their server are threads.

#include "tegula/dist/server/parameter_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tegula/dist/transport/endpoint.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/reduce.h"
#include "tests/io/files.h"

namespace tegula::dist {
namespace {

using testing::TemporaryFolder;

/// Two parameters of different dtypes.
struct Weights {
  Variable a{tensor({1.f, 2.f, 3.f}, {3})};
  Variable b{tensor({4.0}, {1})};  // f64
  Parameters parameters() const { return {{"a", a.cell()}, {"b", b.cell()}}; }
};

/// Plain gradient descent with a rate of 1.
std::function<void(const std::vector<Tensor>&)> subtracting(const Weights& weights) {
  return [&weights](const std::vector<Tensor>& gradients) {
    const Parameters parameters = weights.parameters();
    for (std::size_t i = 0; i < gradients.size(); ++i) parameters[i].assign(parameters[i].read() - gradients[i]);
  };
}

struct Served {
  ParameterServerReport report;
  Weights weights;
  std::string error;
};
/// Runs the server beside f.
template <class F>
void serve_beside(Served& served, const std::string& address, const ParameterServerOptions& options, F f) {
  std::thread server([&] {
    try {
      served.report = serve_parameters(address, served.weights.parameters(), subtracting(served.weights), options);
    } catch (const Error& error) { served.error = error.what(); }
  });
  f();
  server.join();
}

std::vector<Tensor> ones_like_weights() { return {ones({3}), ones({1}, f64)}; }

TEST(ParameterServer, AppliesGradientsAndGivesNewValues) {
  const TemporaryFolder folder;
  Served served;
  serve_beside(served, "unix:" + folder / "s", {}, [&] {
    Weights mine;
    mine.parameters()[0].assign(zeros({3}));
    ServedParameters worker("unix:" + folder / "s", mine.parameters());
    EXPECT_EQ(mine.a.read().to_host(), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(worker.version(), 0);
    EXPECT_TRUE(worker.push(ones_like_weights()));
    EXPECT_TRUE(worker.push(ones_like_weights()));
    EXPECT_EQ(worker.version(), 2);
    EXPECT_EQ(mine.a.read().to_host(), (std::vector<float>{-1, 0, 1}));
    EXPECT_EQ(mine.b.read().to_host<double>()[0], 2);
  });
  EXPECT_EQ(served.error, "");
  EXPECT_EQ(served.report.applied, 2);
  EXPECT_EQ(served.report.staleness, (std::map<std::int64_t, std::int64_t>{{0, 2}}));
  EXPECT_EQ(served.weights.a.read().to_host(), (std::vector<float>{-1, 0, 1}));
}

TEST(ParameterServer, CountsStaleGradientsAndDropsThoseThatAreTooStale) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder / "s";
  Served served;
  serve_beside(served, address, {.workers = 2, .most_stale = 2}, [&] {
    Weights quick_weights, slow_weights;
    ServedParameters slow(address, slow_weights.parameters()), quick(address, quick_weights.parameters());
    EXPECT_TRUE(quick.push(ones_like_weights()));
    EXPECT_TRUE(quick.push(ones_like_weights()));
    EXPECT_TRUE(slow.push(ones_like_weights()));  // of version 0, when there are 2: applied
    EXPECT_EQ(slow.version(), 3);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(quick.push(ones_like_weights()));
    EXPECT_EQ(quick.version(), 6);
    EXPECT_TRUE(slow.push(ones_like_weights()));  // of version 3, when there are 6: too stale
    EXPECT_EQ(slow.version(), 6);
    EXPECT_EQ(slow_weights.a.read().to_host(), quick_weights.a.read().to_host());
  });
  EXPECT_EQ(served.error, "");
  EXPECT_EQ(served.report.applied, 6);
  EXPECT_EQ(served.report.dropped, 1);
  EXPECT_EQ(served.report.staleness, (std::map<std::int64_t, std::int64_t>{{0, 4}, {1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(served.report.of_worker, (std::vector<std::int64_t>{2, 5}));
  EXPECT_NEAR(served.report.mean_staleness(), 6.0 / 7, 1e-12);
  EXPECT_NE(served.report.print().find("6 gradients applied, 1 dropped, mean staleness 0.86\nstaleness: 0 (4)"), std::string::npos)
      << served.report.print();
}

TEST(ParameterServer, TellsWorkersToStopAndConverges) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder / "s";
  Served served;
  std::atomic<int> stopped{0};
  serve_beside(served, address, {.workers = 3, .updates = 200}, [&] {
    std::vector<std::thread> workers;
    for (int w = 0; w < 3; ++w) {
      workers.emplace_back([&] {
        Weights mine;
        ServedParameters worker(address, mine.parameters());
        // Squares towards 5: a tenth of the gradient.
        while (worker.push({(mine.a.read() - 5) * 0.1, (mine.b.read() - 5) * 0.1})) {}
        ++stopped;
      });
    }
    for (std::thread& worker : workers) worker.join();
  });
  EXPECT_EQ(served.error, "");
  EXPECT_EQ(stopped, 3);
  EXPECT_EQ(served.report.applied, 200);
  for (const float value : served.weights.a.read().to_host()) EXPECT_NEAR(value, 5, 1e-3);
}

TEST(ParameterServer, RefusesOthersAndGoesOnWithoutThoseThatBreakOff) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder / "s";
  Served served;
  serve_beside(served, address, {.workers = 2, .secret = "abc"}, [&] {
    Weights mine;
    EXPECT_ERROR(ServedParameters(address, mine.parameters(), "xyz"), "a server that refuses: another secret");
    const Parameters other{{"a", mine.a.cell()}, {"c", mine.b.cell()}};
    EXPECT_ERROR(ServedParameters(address, other, "abc"), "a server that refuses: c (1,) f64 instead of b (1,) f64");
    {
      ServedParameters left(address, mine.parameters(), "abc");
      EXPECT_TRUE(left.push(ones_like_weights()));
    }
    ServedParameters worker(address, mine.parameters(), "abc");
    EXPECT_TRUE(worker.push(ones_like_weights()));
    EXPECT_ERROR(worker.push({ones({3})}), "1 gradients, expected one for each of 2 parameters");
    EXPECT_ERROR(worker.push({ones({4}), ones({1}, f64)}), "a gradient (4,) of f32 for a, expected (3,) of f32");
    // One that talks nonsense is left out.
    const Descriptor stranger = try_connect(address);
    EXPECT_TRUE(send_message(stranger, "hello"));
    std::string answer;
    receive_message(stranger, answer);
    EXPECT_EQ(answer, "Ranother secret");
  });
  EXPECT_EQ(served.error, "");
  EXPECT_EQ(served.report.applied, 2);
}

/// A parameter whose bytes no socket holds.
struct LargeWeights {
  Variable a{zeros({1 << 22})};
  Parameters parameters() const { return {{"a", a.cell()}}; }
};

TEST(ParameterServer, DoesNotWaitForAWorkerThatStopsReading) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder / "s";
  LargeWeights weights;
  ParameterServerReport report;
  std::thread server([&] {
    report = serve_parameters(address, weights.parameters(), [&](const std::vector<Tensor>& g) { weights.a = weights.a - g[0]; },
                              {.workers = 2, .unread = 0.3});
  });
  Descriptor stalled;
  while (!(stalled = try_connect(address))) std::this_thread::yield();
  EXPECT_TRUE(send_message(stalled, "H\na (4194304,) f32\n"));  // and reads none of the 16 MiB that it gets
  LargeWeights mine;
  ServedParameters worker(address, mine.parameters());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(worker.push({ones({1 << 22})}));
  EXPECT_EQ(worker.version(), 3);
  { const ServedParameters gone(std::move(worker)); }
  server.join();
  EXPECT_EQ(report.applied, 3);
  EXPECT_EQ(report.stalled, 1);
  EXPECT_NE(report.print().find("workers that took nothing any more: 1"), std::string::npos) << report.print();
}

TEST(ParameterServer, AWorkerDoesNotWaitForAServerThatStopsReading) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder / "s";
  const Listener listener = listen_at(address);
  LargeWeights mine;
  std::atomic<bool> done = false;
  std::thread server([&] {  // gives values once, and reads nothing after that
    const Descriptor socket = accept_within(listener, 60);
    std::string hello;
    receive_message(socket, hello);
    send_message(socket, "V" + std::string(8 + (std::size_t{1} << 24), '\0'), 60);
    while (!done) std::this_thread::yield();
  });
  ServedParameters worker(address, mine.parameters(), "", 1);
  EXPECT_ERROR(worker.push({ones({1 << 22})}), "a server that has gone, or takes nothing for 1 s");
  done = true;
  server.join();
}

TEST(ParameterServer, MistakesAreNamed) {
  const TemporaryFolder folder;
  Weights mine;
  const auto nothing = [](const std::vector<Tensor>&) {};
  EXPECT_ERROR(serve_parameters("unix:" + folder / "s", {}, nothing), "1 workers, parameters of 0");
  EXPECT_ERROR(serve_parameters("unix:" + folder / "s", mine.parameters(), nothing, {.patience = 0.05}), "said nothing for 0.05 s");
  EXPECT_ERROR(ServedParameters("unix:" + folder / "none", mine.parameters(), "", 0.05), "no server at unix:");
}

}  // namespace
}  // namespace tegula::dist

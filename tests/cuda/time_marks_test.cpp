// When the GPU came where: what timelines are made of. Over the driver of the tests, too.

#include "tegula/runtime/time_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"
#include "tegula/runtime/timeline.h"
#include "tegula/tegula.h"
#include "tests/app/cli.h"

namespace tegula {
namespace {

using namespace std::chrono_literals;

class CudaTimeMarks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    gpu = &cuda();
    for (auto* mark : {&before, &between, &behind}) *mark = gpu->time_mark();
  }
  /// The queue stands still for so long.
  std::unique_ptr<runtime::Call> pause(const std::chrono::milliseconds& length) {
    return gpu->make(runtime::HostTurn{.text = "a pause", .queued = [&length](const Line&) {
                                         return [&length](const void*, void*) { std::this_thread::sleep_for(length); };
                                       }});
  }
  static double milliseconds(const runtime::TimeMark& from, const runtime::TimeMark& to) {
    return static_cast<double>(to.since(from)) * 1e-6;
  }

  runtime::Device* gpu = nullptr;
  std::unique_ptr<runtime::TimeMark> before, between, behind;
};

void run(const runtime::Call& call) { call.run(std::vector<void*>{nullptr, nullptr}, {}); }

TEST_F(CudaTimeMarks, TellWhenTheQueueCameToThem) {
  const std::chrono::milliseconds length = 20ms;
  const auto call = pause(length);
  before->set(gpu->queue()), between->set(gpu->queue());
  run(*call);
  behind->set(gpu->queue());
  gpu->synchronize();
  EXPECT_GE(milliseconds(*between, *behind), 19);
  EXPECT_LE(milliseconds(*between, *behind), 10'000);
  EXPECT_NEAR(milliseconds(*before, *between) + milliseconds(*between, *behind), milliseconds(*before, *behind), 0.01);
  EXPECT_NEAR(milliseconds(*behind, *between), -milliseconds(*between, *behind), 1e-6);
}

TEST_F(CudaTimeMarks, ArePartOfARecordingAndTellOfItsLastReplay) {
  std::chrono::milliseconds length = 30ms;
  const auto call = pause(length);
  const auto recording = gpu->queue().record([&] {
    before->set(gpu->queue());
    run(*call);
    behind->set(gpu->queue());
  });
  ASSERT_TRUE(recording);
  recording->replay();
  gpu->synchronize();
  const double first = milliseconds(*before, *behind);
  EXPECT_GE(first, 29);
  length = 60ms;
  recording->replay();
  gpu->synchronize();
  EXPECT_GE(milliseconds(*before, *behind), 59);
}

TEST_F(CudaTimeMarks, OfTheStepsOfARecordingAreBehindWhatTheStepsWaitFor) {
  const std::chrono::milliseconds length = 10ms;
  const auto call = pause(length);
  const auto recording = gpu->queue().record(
      std::vector<runtime::RecordedStep>{{[&] { before->set(gpu->queue()), run(*call), between->set(gpu->queue()); }, {}, {}},
                                         {[&] { run(*call), behind->set(gpu->queue()); }, {0}, {}}});
  ASSERT_TRUE(recording);
  recording->replay();
  gpu->synchronize();
  EXPECT_GE(milliseconds(*before, *between), 9);
  EXPECT_GE(milliseconds(*between, *behind), 9);
}

// On a GPU, or on the driver of the tests as "paper", where kernels do nothing and everything takes as long.
TEST(CudaTimeline, ShowsTheStepsOfRunsAndOfReplays) {
  if (const char* driver = std::getenv("TEGULA_FAKE_DRIVER"); driver && std::string(driver) != "paper")
    GTEST_SKIP() << "a driver that launches nothing";
  if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
  const DeviceScope device(cuda());
  nn::Linear first(256, 512), second(512, 256);  // too large for sums of products
  auto step = jit([&](const Tensor& x) { return softmax(second(relu(first(x))), 1); });
  const Tensor x = ones({256, 256});
  eval(step(x));
  runtime::Timeline timeline;
  {
    const runtime::TimelineScope scope(&timeline);
    for (int i = 0; i < 4; ++i) eval(step(x));
  }
  const std::size_t events = timeline.count();
  EXPECT_EQ(events % 4, 0u);
  std::map<std::int64_t, std::vector<std::string>> runs;
  for (const runtime::TimelineEvent& e : timeline.events()) {
    EXPECT_LE(e.begin, e.end);
    if (!std::getenv("TEGULA_FAKE_DRIVER")) { EXPECT_LE(e.end, runtime::Timeline::now()); }
    runs[e.run].push_back(e.name);
  }
  ASSERT_EQ(runs.size(), 4u);
  for (auto& [run, names] : runs) {
    std::ranges::sort(names);
    EXPECT_EQ(names, runs.begin()->second);
    EXPECT_EQ(std::ranges::count_if(names, [](const std::string& name) { return name.starts_with("matmul ["); }), 2);
  }
  eval(step(x));  // without a recording, nothing is added
  EXPECT_EQ(timeline.count(), events);
}

TEST(CudaTimeline, TheCommandLineWritesIt) {
  if (const char* driver = std::getenv("TEGULA_FAKE_DRIVER"); driver && std::string(driver) != "paper")
    GTEST_SKIP() << "a driver that launches nothing";
  if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
  if (!std::filesystem::exists(testing::tegula_program()))
    GTEST_SKIP() << "no " << testing::tegula_program() << " here: a visit brings the tests alone";
  std::filesystem::remove("run.json");
  const testing::Ran ran =
      testing::tegula_cli({"train", "mnist-mlp", "--limit", "256", "--epochs", "1", "--batch", "64", "--device", "cuda", "--timeline",
                           "run.json", "--show", "0", "--out", "model.st", "--plot", "model.png"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_HAS(ran.out, "timeline: run.json");
  std::ifstream file("run.json");
  std::map<std::string, int> steps;
  const auto trace = nlohmann::json::parse(file);
  for (const auto& event : trace.at("traceEvents")) ++steps[event.value("cat", "")];
  EXPECT_GE(steps["call"], 4 * 2) << "at each of four steps the first layer's product, and its weight's gradient";
  EXPECT_GE(steps["program"], 4);
}

}  // namespace
}  // namespace tegula

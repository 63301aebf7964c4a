// Timelines: the recorded events, and reports of them.

#include "tegula/dist/show/timeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "tegula/compile/run/step_times.h"
#include "tegula/io/plot_bars.h"
#include "tegula/train/timeline.h"
#include "tests/dist/trainings.h"

namespace tegula {
namespace {

using nlohmann::json;
using runtime::TimelineEvent;
using Kind = TimelineEvent::Kind;

/// In microseconds.
TimelineEvent event(Kind kind, int begin, int end, int run, int met = 0, std::int64_t bytes = 0) {
  return {.kind = kind,
          .name = kind == Kind::Exchange ? "all_reduce f32 (250,)" : "step",
          .begin = begin * 1000,
          .end = end * 1000,
          .met = met * 1000,
          .bytes = bytes,
          .run = run,
          .where = kind == Kind::Exchange ? "train.cpp:7" : ""};
}

// Two runs of one rank. In the second one an exchange comes at 20 µs, moves from 30 to 70, and is waited for from 60 on; the second exchange of that run
// moves from 80 to 100 and is waited for all the time.
dist::Timelines two_runs() {
  return {{event(Kind::Exchange, 0, 5, 1, 1, 1000), event(Kind::Exchange, 6, 7, 1, 6, 1000),  //
           event(Kind::Program, 10, 60, 2), event(Kind::Exchange, 20, 70, 2, 30, 1000), event(Kind::Wait, 60, 70, 2),
           event(Kind::Exchange, 78, 100, 2, 80, 1000), event(Kind::Wait, 75, 101, 2)}};
}

TEST(Timeline, WhatIsHiddenIsTheTimeInWhichBytesMoveAndNobodyWaits) {
  const auto rows = dist::exchange_rows(two_runs());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].count, 1u);  // without the first
  EXPECT_EQ(rows[0].bytes, 1000);
  EXPECT_NEAR(rows[0].coming, 10e-6, 1e-12);
  EXPECT_NEAR(rows[0].seconds, 40e-6, 1e-12);
  EXPECT_NEAR(rows[0].waited, 10e-6, 1e-12);
  EXPECT_NEAR(rows[0].hidden(), 0.75, 1e-9);
  EXPECT_EQ(rows[1].number, 2);
  EXPECT_NEAR(rows[1].hidden(), 0, 1e-9);
  EXPECT_NEAR(dist::share_hidden(two_runs()), 1 - 30.0 / (4 + 1 + 40 + 20), 1e-9);
  const std::string table = dist::exchange_table(two_runs());
  EXPECT_NE(table.find("75 %"), std::string::npos) << table;
  EXPECT_EQ(dist::share_hidden({{}}), 0);
}

TEST(Timeline, TheTraceHasAProcessForEachRank) {
  dist::Timelines ranks = two_runs();
  ranks.push_back(ranks[0]);
  const json trace = json::parse(dist::chrome_trace(ranks));
  std::map<int, int> complete;
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("ph") == "M") continue;
    ASSERT_EQ(e.at("ph"), "X");
    ++complete[e.at("pid")];
    EXPECT_GE(e.at("ts").get<double>(), 0);
    EXPECT_EQ(e.at("tid"), e.at("cat") == "exchange" ? 1 : 0);
    if (e.at("cat") != "exchange") continue;
    EXPECT_EQ(e.at("args").at("bytes"), 1000);
    EXPECT_EQ(e.at("args").at("line"), "train.cpp:7");
    if (e.at("ts") == 20.0) { EXPECT_NEAR(e.at("args").at("GB/s").get<double>(), 1000 / 40e-6 / 1e9, 1e-9); }
  }
  EXPECT_EQ(complete, (std::map<int, int>{{0, 7}, {1, 7}}));
}

TEST(Timeline, ATrainingOfTwoRanksLeavesOneFile) {
  for (const char* file : {"run.json", "run.png", "run.svg"}) {
    std::filesystem::remove(file);
    const auto told = test::on_ranks<std::string>(2, [&](int) {
      manual_seed(7);
      nn::Sequential net{nn::Linear{6, 16}, relu, nn::Linear{16, 3}};
      optim::SGD sgd(parameters(net), {.lr = 0.1});
      Trainer trainer(net, sgd, cross_entropy, {.epochs = 2, .batch = 16, .group = dist::world()});
      TimelineRecorder recorder(file, dist::world());
      trainer.fit(test::rows(64, {6}));
      return recorder.finish();
    });
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_EQ(told[1], "");
    EXPECT_NE(told[0].find("bytes moved was hidden"), std::string::npos) << told[0];
    if (std::string(file) != "run.json") continue;
    std::ifstream in(file);
    const json trace = json::parse(in);
    std::map<int, std::multiset<std::string>> exchanges;
    std::map<int, int> computed;
    for (const json& e : trace.at("traceEvents")) {
      const std::string category = e.value("cat", "");
      if (category == "call" || category == "program") ++computed[e.at("pid")];
      if (category != "exchange") continue;
      exchanges[e.at("pid")].insert(e.at("name"));
      EXPECT_GT(e.at("args").at("bytes"), 0);
      EXPECT_NE(e.at("args").at("line").get<std::string>().find(".cpp:"), std::string::npos) << e;
    }
    EXPECT_GE(computed[0], 8 * 4);
    EXPECT_EQ(computed[0], computed[1]);
    EXPECT_EQ(exchanges.size(), 2u);
    EXPECT_EQ(exchanges[0], exchanges[1]);
    EXPECT_GE(exchanges[0].count("all_reduce f32 (163,)"), 8u);  // the gradients, at each step
  }
}

// A device that queues its work reports when its steps ran: an exchange is hidden behind the steps that ran beside it.
TEST(Timeline, OfADeviceThatQueuesWaitsAreWhatNothingWasComputedIn) {
  const auto waits =
      compile::idle_beside_exchanges({event(Kind::Program, 0, 15, 1), event(Kind::Exchange, 10, 60, 1, 10, 8), event(Kind::Call, 12, 20, 1),
                                      event(Kind::Program, 30, 35, 1), event(Kind::Call, 31, 33, 1),
                                      event(Kind::Exchange, 60, 70, 1, 60, 8), event(Kind::Call, 65, 90, 1)});
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const TimelineEvent& e : waits) {
    EXPECT_EQ(e.kind, Kind::Wait);
    EXPECT_EQ(e.run, 1);
    times.emplace_back(e.begin / 1000, e.end / 1000);
  }
  EXPECT_EQ(times, (std::vector<std::pair<std::int64_t, std::int64_t>>{{20, 30}, {35, 60}, {60, 65}}));
}

// Work of a GPU that goes on side by side has threads of its own in a trace.
TEST(Timeline, WhatIsComputedSideBySideIsShownSideBySide) {
  const json trace =
      json::parse(dist::chrome_trace({{event(Kind::Program, 0, 10, 1), event(Kind::Call, 5, 8, 1), event(Kind::Call, 8, 20, 1),
                                       event(Kind::Call, 9, 12, 1), event(Kind::Call, 10, 11, 1), event(Kind::Exchange, 0, 20, 1, 0, 8)}}));
  std::map<double, std::vector<int>> threads;  // by the begin
  std::set<int> named;
  for (const json& e : trace.at("traceEvents")) {
    if (e.at("ph") == "X") threads[e.at("ts")].push_back(e.at("tid"));
    else if (e.at("name") == "thread_name") named.insert(e.at("tid").get<int>());
  }
  EXPECT_EQ(threads, (std::map<double, std::vector<int>>{{0, {0, 1}}, {5, {2}}, {8, {2}}, {9, {3}}, {10, {0}}}));
  EXPECT_EQ(named, (std::set<int>{0, 1, 2, 3}));
}

/// Queues its work, and tells no times.
struct Timeless final : runtime::Device {
  Timeless() : Device({.name = "timeless", .number = -1, .traits = {.queues = true}}) {}
  runtime::DeviceMemory& pool() override { return cpu().pool(); }
  runtime::DeviceQueues& queues() override { return all; }
  runtime::ProgramCompiler& compiler() override { return cpu().compiler(); }
  std::vector<runtime::Candidate> candidates(const runtime::CallDescription&) const override { return {}; }
  std::unique_ptr<runtime::Call> make(const runtime::CallDescription&) override { return nullptr; }
  runtime::ImmediateQueues all{*this};
};

TEST(Timeline, ADeviceThatTellsNoTimesIsAnErrorAtOnce) {
  Timeless device;
  const DeviceScope scope(device);
  try {
    TimelineRecorder("run.json", dist::Group());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("timeless, which is queued"), std::string::npos) << error.what();
  }
}

TEST(Timeline, FilesThatCannotBeAreErrorsAtOnce) {
  const DeviceScope on_the_cpu(cpu());
  EXPECT_THROW(TimelineRecorder("run.txt", dist::Group()), Error);
  EXPECT_THROW(TimelineRecorder("/no/such/folder/run.json", dist::Group()), Error);
  TimelineRecorder nothing("nothing.png", dist::Group());
  EXPECT_THROW(nothing.finish(), Error);
}

TEST(Timeline, ThePictureShowsTheStepWithTheMostExchanges) {
  const io::Bars bars = timeline_picture(two_runs());
  ASSERT_EQ(bars.rows.size(), 2u);
  double end = 0;
  for (const io::Bar& bar : bars.bars) end = std::max(end, bar.end);
  EXPECT_NEAR(end, (101 - 10) * 1e-3, 1e-9);
  EXPECT_THROW(timeline_picture({{}}), Error);
  EXPECT_THROW(io::plot("bars.png", io::Bars{.title = "", .rows = {"a"}, .kinds = {"k"}, .bars = {{.row = 1, .begin = 0, .end = 1}}}),
               Error);
  EXPECT_THROW(io::plot("bars.png", io::Bars{.title = "", .rows = {"a"}, .kinds = {"k"}, .bars = {{.begin = 2, .end = 1}}}), Error);
}

}  // namespace
}  // namespace tegula

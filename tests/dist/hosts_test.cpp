// Several hosts: two network namespaces with a wire between them, as far as this machine lets its user make them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "tegula/io/safetensors.h"
#include "tests/app/cli.h"

namespace tegula {
namespace {

using testing::Ran;

Ran run(const std::vector<std::string>& words) {
  const io::ChildResult result = io::run_child(words, {});
  return {result.found ? result.exit_code : 127, testing::text_of(result.output), result.messages};
}

std::string program() { return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula").string(); }

/// Two hosts, 10.87.0.1 and 10.87.0.2, which see nothing of each other but the wire.
class Hosts {
 public:
  Hosts() {
    why_ = ip({"netns", "add", name(0)}) + ip({"netns", "add", name(1)}) +
           ip({"link", "add", wire(0), "type", "veth", "peer", "name", wire(1)});
    for (int host : {0, 1}) {
      if (!why_.empty()) return;
      why_ += ip({"link", "set", wire(host), "netns", name(host)});
      why_ += ip({"-n", name(host), "addr", "add", address(host) + "/24", "dev", wire(host)});
      why_ += ip({"-n", name(host), "link", "set", wire(host), "up"});
      why_ += ip({"-n", name(host), "link", "set", "lo", "up"});
    }
  }
  ~Hosts() {
    ip({"netns", "del", name(0)});
    ip({"netns", "del", name(1)});
    ip({"link", "del", wire(0)});
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  const std::string& why_not() const { return why_; }
  std::string address(int host) const { return "10.87.0." + std::to_string(host + 1); }
  /// A rank on a host, by nothing but the environment.
  std::vector<std::string> rank(int host, int number, int of, const std::string& secret, std::vector<std::string> words) const {
    std::vector<std::string> all{"ip",
                                 "netns",
                                 "exec",
                                 name(host),
                                 "env",
                                 "TEGULA_RANK=" + std::to_string(number),
                                 "TEGULA_SIZE=" + std::to_string(of),
                                 "TEGULA_RENDEZVOUS=" + address(0) + ":29400",
                                 "TEGULA_SECRET=" + secret,
                                 "TEGULA_PATIENCE=20",
                                 "OMP_NUM_THREADS=1"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  /// The count so far, from the first host to the second.
  double bytes_over_the_wire() const {
    return std::stod(run({"ip", "netns", "exec", name(0), "cat", "/sys/class/net/" + wire(0) + "/statistics/tx_bytes"}).out);
  }
  void cut_the_wire() { ip({"-n", name(0), "link", "set", wire(0), "down"}); }

 private:
  static std::string ip(std::vector<std::string> words) {
    words.insert(words.begin(), "ip");
    const Ran ran = run(words);
    return ran.status == 0 ? "" : ran.status == 127 ? "no program ip; " : ran.err;
  }
  static std::string name(int host) { return "tegula-" + std::to_string(::getpid()) + "-" + std::to_string(host); }
  static std::string wire(int host) { return "tg" + std::to_string(::getpid() % 100000) + (host == 0 ? "a" : "b"); }

  std::string why_;
};

std::vector<std::string> training(const std::string& out) {
  return {program(), "train",     "mnist-mlp", "--limit", "256", "--epochs", "2", "--batch", "64",        "--seed",
          "3",       "--dropout", "0",         "--show",  "0",   "--out",    out, "--plot",  out + ".png"};
}

TEST(Hosts, RanksOfTwoHostsTrainAsThoseOfOne) {
  const Hosts hosts;
  if (!hosts.why_not().empty()) GTEST_SKIP() << "skipped: no network namespaces here: " << hosts.why_not();
  std::vector<Ran> ran(3);
  std::vector<std::thread> threads;
  for (int rank : {0, 1, 2}) {  // two of them on the second host, which meet without the first
    threads.emplace_back(
        [&, rank] { ran[static_cast<std::size_t>(rank)] = run(hosts.rank(rank == 0 ? 0 : 1, rank, 3, "s", training("hosts.st"))); });
  }
  for (auto& thread : threads) thread.join();
  for (const Ran& rank : ran) ASSERT_EQ(rank.status, 0) << rank.err;
  const Ran one = run([] {
    auto words = training("host.st");
    words.insert(words.begin(), {"env", "OMP_NUM_THREADS=1", program(), "launch", "-n", "3"});
    return words;
  }());
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_TRUE(io::read_file("hosts.st") == io::read_file("host.st")) << "the same bits";
}

// Two ranks on each of two hosts: within a host parts are reduced, so that what goes over the wire goes once.
TEST(Hosts, LevelsSendLessOverTheWireAndTrainAlike) {
  const Hosts hosts;
  if (!hosts.why_not().empty()) GTEST_SKIP() << "skipped: no network namespaces here: " << hosts.why_not();
  std::map<std::string, double> sent;
  for (const std::string rings : {"levels", "flat"}) {
    std::vector<Ran> ran(4);
    std::vector<std::thread> threads;
    const double before = hosts.bytes_over_the_wire();
    for (int rank : {0, 1, 2, 3}) {
      threads.emplace_back([&, rank] {
        auto words = training(rings + ".st");
        words.insert(words.begin(), {"env", "TEGULA_RINGS=" + rings});
        ran[static_cast<std::size_t>(rank)] = run(hosts.rank(rank / 2, rank, 4, "s", words));
      });
    }
    for (auto& thread : threads) thread.join();
    for (const Ran& rank : ran) ASSERT_EQ(rank.status, 0) << rank.err;
    sent[rings] = hosts.bytes_over_the_wire() - before;
  }
  // For b bytes 2 · 3/4 · b over the one link of a ring that leaves the host, and 2 · 1/2 · b in levels; the ranks' other messages are small.
  EXPECT_LT(sent["levels"], 0.75 * sent["flat"]);
  EXPECT_GT(sent["levels"], 0.55 * sent["flat"]);
  const Ran one = run([] {
    auto words = training("host4.st");
    words.insert(words.begin(), {"env", "OMP_NUM_THREADS=1", program(), "launch", "-n", "4"});
    return words;
  }());
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_TRUE(io::read_file("flat.st") == io::read_file("host4.st")) << "one ring: the same bits as on one host";
  EXPECT_FALSE(io::read_file("levels.st") == io::read_file("host4.st")) << "sums in another order";
  const auto flat = io::read_safetensors("flat.st").tensors, levels = io::read_safetensors("levels.st").tensors;
  ASSERT_EQ(flat.size(), levels.size());
  for (std::size_t t = 0; t < flat.size(); ++t) {
    const auto a = flat[t].second.values<float>(), b = levels[t].second.values<float>();
    ASSERT_EQ(a.size(), b.size());
    double difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference += std::abs(static_cast<double>(a[i]) - b[i]) / static_cast<double>(a.size());
    EXPECT_LT(difference, 1e-4) << flat[t].first;
  }
}

// Nothing closes the connections: the watchdogs on both sides see that no byte moves.
TEST(Hosts, AWireThatIsCutEndsBothSides) {
  Hosts hosts;
  if (!hosts.why_not().empty()) GTEST_SKIP() << "skipped: no network namespaces here: " << hosts.why_not();
  std::filesystem::remove("cut.log");
  std::vector<Ran> ran(2);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      auto words = training("cut.st");
      *(std::ranges::find(words, "--epochs") + 1) = "100000";
      if (rank == 0) words.insert(words.end(), {"--log", "cut.log", "--log-every", "1"});
      words.insert(words.begin(), {"env", "TEGULA_TIMEOUT=2"});
      ran[static_cast<std::size_t>(rank)] = run(hosts.rank(rank, rank, 2, "s", words));
      ++ended;
    });
  }
  while (ended == 0 && run({"grep", "-q", "event.:.step", "cut.log"}).status != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ended, 0) << "before a wire was cut";
  hosts.cut_the_wire();
  for (auto& thread : threads) thread.join();
  for (const int rank : {0, 1}) {
    EXPECT_NE(ran[static_cast<std::size_t>(rank)].status, 0);
    EXPECT_HAS(ran[static_cast<std::size_t>(rank)].err, "rank " + std::to_string(1 - rank) + " did not come to all_reduce of ");
    EXPECT_HAS(ran[static_cast<std::size_t>(rank)].err, "within 2 s");
  }
}

}  // namespace
}  // namespace tegula

// `tegula launch`: ranks as processes, trainings, ranks that are killed.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tegula/io/safetensors.h"
#include "tests/app/cli.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;

const std::string& program() {
  static const std::string path = (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula").string();
  return path;
}

std::string folder() {
  std::string pattern = "/tmp/tegula-launch-XXXXXX";
  return std::string(::mkdtemp(pattern.data())) + "/";
}

std::vector<std::string> launch(const std::string& ranks, std::vector<std::string> words) {
  std::vector<std::string> all{"launch", "-n", ranks};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Launch, EachRankKnowsItsPlace) {
  const Ran ran = tegula_cli(launch("3", {"sh", "-c", "echo rank $TEGULA_RANK of $TEGULA_SIZE, $OMP_NUM_THREADS"}));
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* rank : {"rank 0 of 3, ", "rank 1 of 3, ", "rank 2 of 3, "}) EXPECT_HAS(ran.out, rank);
}

TEST(Launch, EachRankSeesOneOfTheDevices) {
  const std::string at = folder();
  const Ran ran =
      tegula_cli({"launch", "--devices", "3,5", "sh", "-c", "echo $TEGULA_SIZE $CUDA_VISIBLE_DEVICES > " + at + "$TEGULA_RANK"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  for (const auto& [rank, said] : {std::pair("0", "2 3"), {"1", "2 5"}}) {
    std::ifstream file(at + rank);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, said);
  }
  std::filesystem::remove_all(at);
}

TEST(Launch, ATimeoutIsTheOptionsElseTheEnvironments) {
  const std::vector<std::string> says{"sh", "-c", "echo ${TEGULA_TIMEOUT:-none}."};
  const auto told = [&](std::vector<std::string> words) {
    words.insert(words.end(), says.begin(), says.end());
    return tegula_cli(launch("2", words)).out;
  };
  EXPECT_EQ(told({}), "none.\nnone.\n");
  EXPECT_EQ(told({"--timeout", "7"}), "7.\n7.\n");
  ::setenv("TEGULA_TIMEOUT", "9", 1);
  EXPECT_EQ(told({}), "9.\n9.\n");
  EXPECT_EQ(told({"--timeout", "7"}), "7.\n7.\n");
  ::unsetenv("TEGULA_TIMEOUT");
}

TEST(Launch, ItEndsAsTheFirstRankThatFails) {
  const Ran ran = tegula_cli(launch("2", {"sh", "-c", "exit $((3 * $TEGULA_RANK))"}));
  EXPECT_EQ(ran.status, 3);
  EXPECT_HAS(ran.err, "tegula launch: rank 1 ended with status 3");
}

TEST(Launch, AllThatFailAreNamedTheFirstInTimeFirst) {
  const Ran ran = tegula_cli(
      launch("3", {"sh", "-c", "[ $TEGULA_RANK = 0 ] && sleep 0.3; [ $TEGULA_RANK = 1 ] && kill -9 $$; exit $TEGULA_RANK$TEGULA_RANK"}));
  EXPECT_TRUE(ran.status == 137 || ran.status == 22) << ran.status;
  EXPECT_HAS(ran.err, "rank 1 was ended by signal 9 (Killed)");
  EXPECT_HAS(ran.err, "rank 2 ended with status 22");
  const Ran late = tegula_cli(launch("3", {"sh", "-c", "sleep 0.$((7 - 3 * $TEGULA_RANK)); exit $((1 + $TEGULA_RANK))"}));
  EXPECT_EQ(late.status, 3);
  EXPECT_EQ(late.err,
            "tegula launch: rank 2 ended with status 3\ntegula launch: then rank 1 ended with status 2, rank 0 ended with status 1\n");
}

TEST(Launch, AProgramThatIsNotThereIsASentence) {
  const Ran ran = tegula_cli(launch("2", {"no-such-program"}));
  EXPECT_EQ(ran.status, 1);
  EXPECT_HAS(ran.err, "the program no-such-program: No such file or directory");
  EXPECT_EQ(tegula_cli({"launch", "-n", "2"}).status, 2);
  EXPECT_EQ(tegula_cli(launch("0", {"true"})).status, 2);
}

TEST(Launch, TrainingsOfTwoProcessesAndOfOneAgree) {
  const std::string at = folder();
  const auto train = [&](const std::string& name) {
    return std::vector<std::string>{
        program(), "train", "mnist-cnn", "--dropout", "0",      "--optimizer", "sgd",   "--limit",         "256",    "--epochs",        "2",
        "--batch", "64",    "--seed",    "3",         "--show", "0",           "--out", at + name + ".st", "--plot", at + name + ".png"};
  };
  std::vector<std::string> alone = train("one");
  alone.erase(alone.begin());
  const Ran one = tegula_cli(alone), two = tegula_cli(launch("2", train("two"))), again = tegula_cli(launch("2", train("again")));
  ASSERT_EQ(one.status, 0) << one.err;
  ASSERT_EQ(two.status, 0) << two.err;
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(count_of(two.out, "train loss"), 1u) << two.out;  // rank 0 alone says something
  EXPECT_HAS(two.out, "2 ranks, each with a part of every batch of 64");
  const auto load = [&](const std::string& name) { return io::read_safetensors(at + name + ".st").tensors; };
  const auto a = load("one"), b = load("two"), c = load("again");
  ASSERT_EQ(a.size(), b.size());
  bool equal = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (b[i].second.dtype != f32) continue;
    const auto x = a[i].second.values<float>(), y = b[i].second.values<float>(), z = c[i].second.values<float>();
    for (std::size_t k = 0; k < x.size(); ++k) {
      EXPECT_NEAR(x[k], y[k], 1e-4) << a[i].first;
      equal = equal && y[k] == z[k];
    }
  }
  EXPECT_TRUE(equal) << "the same bits at every run";
  std::filesystem::remove_all(at);
}

/// Rank 1 runs the training below a shell that kills it once `condition` holds, at the first attempt.
std::vector<std::string> killed_when(const std::string& condition, const std::string& train) {
  return {"sh", "-c",
          "if [ $TEGULA_RANK = 1 ] && [ $TEGULA_RESTARTS = 0 ]; then " + train + " & p=$!; while ! " + condition +
              "; do sleep 0.02; done; kill -9 $p; wait $p; exit 137; fi; exec " + train};
}

TEST(Launch, ARankThatIsKilledEndsTheOthersWithTheSentence) {
  const std::string at = folder();
  const Ran ran = tegula_cli(launch("2", killed_when("grep -q event.:.step " + at + "log 2>/dev/null",
                                                     program() + " train mnist-mlp --limit 600 --batch 50 --epochs 100000 --show 0 --out " +
                                                         at + "m.st --plot " + at + "m.png --log-every 1 --log " + at + "log")));
  EXPECT_EQ(ran.status != 0, true);
  // For a step's gradients, or an epoch's measurements: wherever rank 0 was when the signal came.
  const std::string sentence = "rank 1 has ended without a word (killed?), while rank 0 waits in all_reduce of ";
  EXPECT_EQ(count_of(ran.err, sentence + "f32 (") + count_of(ran.err, sentence + "f64 (") > 0, true) << ran.err;
  EXPECT_HAS(ran.err, "train.cpp:");  // the line of the Trainer
  std::filesystem::remove_all(at);
}

/// Rank 1 is killed once there is a checkpoint.
void expect_a_restart_to_go_on(const std::string& shard) {
  const std::string at = folder();
  std::vector<std::string> words = killed_when(
      "[ -e " + at + "c ]", program() + " train mnist-mlp --limit 600 --batch 50 --epochs 40 --show 0 --out " + at + "m.st --plot " + at +
                                "m.png --checkpoint " + at + "c --shard " + shard + " --log " + at + "log");
  words.insert(words.begin(), {"--restarts", "1"});
  const Ran ran = tegula_cli(launch("2", words));
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_HAS(ran.err, "tegula launch: all ranks start again (1 of 1)");
  std::ifstream file(at + "log");
  const std::string log{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(count_of(log, "\"begin\""), 2u);
  EXPECT_EQ(count_of(log, "\"epoch\":1,"), count_of(log.substr(0, log.rfind("\"begin\"")), "\"epoch\":1,"))
      << "the second attempt does not begin anew";
  EXPECT_TRUE(std::filesystem::exists(at + "m.st"));
  std::filesystem::remove_all(at);
}

TEST(Launch, ARestartGoesOnFromTheCheckpoint) { expect_a_restart_to_go_on("0"); }
TEST(Launch, ARestartOfRanksWithPartsOfTheStateGoesOnFromTheCheckpoint) { expect_a_restart_to_go_on("3"); }

}  // namespace
}  // namespace tegula

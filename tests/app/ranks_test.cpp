// Commands that train on texts, by two ranks of `tegula launch`: the course of one process, and one model.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tegula/io/file.h"
#include "tegula/io/safetensors.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;
using Words = std::vector<std::string>;

void write(const std::string& path, const std::string& text) { io::write_atomically(path, testing::bytes_of(text)); }

std::string verse(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 120; ++i) text += i % 3 ? "the cat sat on the mat.\n" : "the dog ran to the cat.\n";
  write(folder / "verse.txt", text);
  return folder / "verse.txt";
}

Words by_ranks(const std::string& ranks, const Words& command) {
  Words all{"launch", "-n", ranks, (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula").string()};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

/// The losses in a log, in its order.
std::vector<double> losses_in(const std::string& file) {
  std::vector<double> losses;
  std::istringstream lines(testing::text_of(io::read_file(file)));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    for (const char* name : {"loss", "train_loss", "test_loss"}) {
      if (record.contains(name) && record[name].is_number()) losses.push_back(record[name].get<double>());
    }
  }
  return losses;
}

/// The command as one process and as two; both write FOLDER/NAME.st and a log.
void expect_the_same_course(const TemporaryFolder& folder, const Words& command, std::size_t at_least, double tolerance = 2e-4) {
  const auto with = [&](const std::string& name) {
    Words all = command;
    for (const auto& word : {std::string("--out"), folder / (name + ".st"), std::string("--plot"), folder / (name + ".png"),
                             std::string("--log"), folder / (name + ".log"), std::string("--log-every"), std::string("1")})
      all.push_back(word);
    return all;
  };
  const Ran alone = tegula_cli(with("one")), ranks = tegula_cli(by_ranks("2", with("two")));
  ASSERT_EQ(alone.status, 0) << alone.err;
  ASSERT_EQ(ranks.status, 0) << ranks.err;
  const auto expected = losses_in(folder / "one.log"), got = losses_in(folder / "two.log");
  EXPECT_GE(expected.size(), at_least);
  ASSERT_EQ(got.size(), expected.size()) << "one rank writes the log";
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
  std::map<std::string, HostArray> weights;
  for (const auto& [name, array] : io::read_safetensors(folder / "one.st").tensors) weights[name] = array;
  for (const auto& [name, array] : io::read_safetensors(folder / "two.st").tensors) {
    if (array.dtype != f32) continue;
    const auto a = array.values<float>(), b = weights.at(name).values<float>();
    ASSERT_EQ(a.size(), b.size()) << name;
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 5e-3) << name << " " << i;
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "two.png"));
}

class LanguageRanks : public ::testing::TestWithParam<std::string> {
 protected:
  static Words command(const TemporaryFolder& folder, const std::string& steps) {
    return {"train", GetParam(), verse(folder), "--layers",       "1", "--width", "32",   "--context", "16",  "--batch",
            "8",     "--steps",  steps,         "--warmup",       "0", "--lr",    "2e-3", "--clip",    "0.5", "--eval-every",
            "10",    "--sample", "0",           "--eval-batches", "2", "--seed",  "3"};
  }
};

TEST_P(LanguageRanks, TrainAsOneProcess) {
  const TemporaryFolder folder;
  expect_the_same_course(folder, command(folder, "30"), 30);
}

// The states that streams carry go through the file, too.
TEST_P(LanguageRanks, OneCheckpointIsResumedByAnyNumber) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& ranks, const std::string& steps, const std::string& name, const Words& more) {
    Words all = command(folder, steps);
    all.insert(all.end(), {"--min-lr", "2e-3", "--out", folder / (name + ".st"), "--plot", folder / "p.png", "--log",
                           folder / (name + ".log"), "--log-every", "1"});
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = ranks == "1" ? tegula_cli(all) : tegula_cli(by_ranks(ranks, all));
    EXPECT_EQ(ran.status, 0) << ran.err;
    return losses_in(folder / (name + ".log"));
  };
  const auto whole = run("1", "20", "whole", {});
  run("2", "10", "half", {"--checkpoint", folder / "c"});
  for (const std::string ranks : {"1", "2", "4"}) {
    const auto rest = run(ranks, "20", "rest" + ranks, {"--resume", folder / "c"});
    ASSERT_GT(rest.size(), 10u);
    ASSERT_LE(rest.size(), whole.size());
    for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_NEAR(rest[i], whole[whole.size() - rest.size() + i], 2e-4) << ranks << " " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, LanguageRanks, ::testing::Values("gpt", "char-lstm"),
                         [](const auto& one) { return one.param == "gpt" ? std::string("Gpt") : std::string("Lstm"); });

TEST(TextRanks, StreamsThatTheRanksDoNotDivideAreAnError) {
  const TemporaryFolder folder;
  const Ran ran = tegula_cli(by_ranks(
      "3", {"train", "char-lstm", verse(folder), "--batch", "8", "--context", "16", "--out", folder / "m.st", "--plot", folder / "p.png"}));
  EXPECT_NE(ran.status, 0);
  EXPECT_HAS(ran.err, "8 streams of text for 3 ranks");
}

TEST(TextRanks, ATranslatorTrainsAsInOneProcess) {
  const TemporaryFolder folder;
  std::string from, to;
  for (int i = 0; i < 64; ++i) {
    const char *german[] = {"hund", "mann", "ball", "fisch"}, *english[] = {"dog", "man", "ball", "fish"};
    const bool two = i * i % 7 < 3;
    from += std::string("Der ") + german[i % 4] + (two ? std::string(" und der ") + german[i * 5 % 3] : "") + ".\n";
    to += std::string("The ") + english[i % 4] + (two ? std::string(" and the ") + english[i * 5 % 3] : "") + ".\n";
  }
  write(folder / "a.de", from), write(folder / "a.en", to);
  expect_the_same_course(folder, {"train",      "translate", folder / "a.de", folder / "a.en",
                                  "--hold-out", "8",         "--tokens",      "words",
                                  "--minimum",  "1",         "--width",       "16",
                                  "--layers",   "1",         "--heads",       "2",
                                  "--epochs",   "3",         "--batch",       "8",
                                  "--bleu",     "4",         "--dropout",     "0",
                                  "--seed",     "3"},
                         20);
}

TEST(TextRanks, ClassifiersTrainAsInOneProcess) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 96; ++i) {
    const char *weather[] = {"sun", "rain", "wind", "snow"}, *food[] = {"bread", "soup", "rice", "cheese"};
    lines += std::string(i % 2 ? "weather " : "food ") + (i % 3 ? "they speak of " : "now ") +
             (i % 2 ? weather[i / 2 % 4] : food[i / 2 % 4]) + "\n";
  }
  write(folder / "train", lines);
  for (const std::string net : {"lstm", "transformer"}) {
    std::filesystem::remove(folder / "one.log"), std::filesystem::remove(folder / "two.log");
    expect_the_same_course(folder,
                           {"train", "classify", folder / "train", "--net", net, "--width", "16", "--hidden", "16", "--heads", "2",
                            "--epochs", "2", "--batch", "16", "--dropout", "0", "--seed", "3"},
                           8);
  }
}

TEST(TextRanks, BertTrainsAsInOneProcess) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 120; ++i) text += i % 2 ? "The sun brings rain today. " : "She eats bread with soup at home. ";
  write(folder / "text", text);
  expect_the_same_course(folder,
                         {"train",
                          "bert",
                          folder / "text",
                          "--vocabulary",
                          "60",
                          "--width",
                          "16",
                          "--heads",
                          "2",
                          "--layers",
                          "1",
                          "--length",
                          "16",
                          "--epochs",
                          "2",
                          "--batch",
                          "8",
                          "--dropout",
                          "0",
                          "--seed",
                          "3"},
                         8);
}

TEST(TextRanks, WhatOneProcessDoesIsRefused) {
  const TemporaryFolder folder;
  const Ran words = tegula_cli(by_ranks("2", {"train", "word2vec", verse(folder), "--out", folder / "v"}));
  EXPECT_NE(words.status, 0);
  EXPECT_HAS(words.err, "tegula train word2vec: got 2 ranks, expected one process");
  const Ran bpe = tegula_cli(by_ranks("2", {"train", "bpe", verse(folder), "--out", folder / "b"}));
  EXPECT_NE(bpe.status, 0);
  EXPECT_HAS(bpe.err, "tegula train bpe: got 2 ranks, expected one process");
  EXPECT_FALSE(std::filesystem::exists(folder / "v"));
}

}  // namespace
}  // namespace tegula

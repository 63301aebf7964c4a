// The commands about text, from outside.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/io/file.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;
using testing::text_of;

/// Sentences about two things.
std::string write_text(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 2 ? "Sun, rain and wind; snow and sun. " : "Bread with soup or rice with cheese. ";
  io::write_atomically(folder / "text.txt", testing::bytes_of(text));
  return folder / "text.txt";
}

TEST(TextCommands, TrainATokenizerAndUseIt) {
  const TemporaryFolder folder;
  const std::string text = write_text(folder);
  const Ran train = tegula_cli({"train", "bpe", text, "--vocabulary", "290", "--out", folder / "bpe"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "290 tokens, 34 merges");
  const Ran ids = tegula_cli({"tokenize", folder / "bpe", "-"}, " rain and soup");
  EXPECT_EQ(ids.status, 0) << ids.err;
  const Ran back = tegula_cli({"tokenize", folder / "bpe", "--decode"}, ids.out);
  EXPECT_EQ(back.out, " rain and soup");
  EXPECT_HAS(tegula_cli({"tokenize", folder / "bpe", text, "--count"}).out, "of 290 in the vocabulary");
  EXPECT_HAS(tegula_cli({"tokenize", folder / "bpe", "--tokens"}, " and").out, "' and'");
  EXPECT_EQ(tegula_cli({"tokenize", folder / "bpe", "--decode"}, "12 x").status, 1);
  EXPECT_HAS(tegula_cli({"tokenize", folder / "nothing"}, "a").err, "nothing");
}

TEST(TextCommands, TrainWordVectorsAndAskThem) {
  const TemporaryFolder folder;
  const std::string text = write_text(folder), vectors = folder / "words.txt";
  const Ran train =
      tegula_cli({"train", "word2vec", text, "--out", vectors, "--size", "16", "--epochs", "20", "--subsample", "0", "--threads", "1"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "11 different");
  EXPECT_HAS(train.out, "words/s");
  const Ran similar = tegula_cli({"words", "similar", vectors, "rain", "--count", "3"});
  EXPECT_EQ(similar.status, 0) << similar.err;
  EXPECT_EQ(similar.out.find("soup"), std::string::npos) << similar.out;
  EXPECT_EQ(tegula_cli({"words", "analogy", vectors, "rain", "sun", "soup"}).status, 0);
  const Ran numbers = tegula_cli({"words", "vector", vectors, "rain", "sun"});
  EXPECT_HAS(numbers.out, "rain ");
  EXPECT_HAS(numbers.out, "distance of rain and sun: ");
  EXPECT_HAS(tegula_cli({"words", "similar", vectors, "Rain"}).err, "the word 'Rain', which has no vector, expected one of the ");
  EXPECT_HAS(tegula_cli({"words", "similar", vectors, "Rain"}).err, "did you mean 'rain'?");
  io::write_atomically(folder / "pairs", testing::bytes_of("rain\tsun\t9\nrain soup 1\nsnow bread 2\nup down 3\n"));
  io::write_atomically(folder / "questions", testing::bytes_of(": all\nrain sun soup rice\nup down rain sun\n"));
  const Ran scores = tegula_cli({"words", "evaluate", vectors, folder / "pairs", folder / "questions"});
  EXPECT_HAS(scores.out, "over 3 pairs, 1 unknown");
  EXPECT_HAS(scores.out, "total");
  const Ran plot = tegula_cli({"words", "plot", vectors, folder / "words.png", "--method", "pca"});
  EXPECT_EQ(plot.status, 0) << plot.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "words.png"));
}

TEST(TextCommands, TrainStillNeedsAModelOrACommand) {
  const Ran nothing = tegula_cli({"train"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_HAS(nothing.err, "model");
  EXPECT_EQ(tegula_cli({"train", "word2vec"}).status, 2);
  EXPECT_HAS(tegula_cli({"train", "word2vec", "--help"}).out, "--negatives");
  EXPECT_HAS(tegula_cli({"train", "--help"}).out, "--epochs");
}

}  // namespace
}  // namespace tegula

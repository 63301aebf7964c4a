// tegula train gpt, char-lstm and classify, tegula generate and classify, from outside.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/io/file.h"
#include "tegula/io/safetensors.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

/// A text with little in it to learn.
std::string write_verse(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; i < 120; ++i) text += i % 3 ? "the cat sat on the mat.\n" : "the dog ran to the cat.\n";
  io::write_atomically(folder / "verse.txt", testing::bytes_of(text));
  return folder / "verse.txt";
}

Ran train(const TemporaryFolder& folder, const std::string& kind, const std::string& text, std::vector<std::string> more) {
  std::vector<std::string> all{
      "train",          kind,           text, "--layers", "1", "--width",        "32", "--context", "16",  "--batch", "8", "--plot",
      folder / "p.png", "--eval-every", "10", "--warmup", "0", "--eval-batches", "2",  "--lr",      "0.01"};
  all.insert(all.end(), more.begin(), more.end());
  return tegula_cli(all);
}

class LanguageCommands : public ::testing::TestWithParam<std::string> {};

TEST_P(LanguageCommands, TrainSaveAndWriteOn) {
  const TemporaryFolder folder;
  const std::string text = write_verse(folder);
  const Ran trained =
      train(folder, GetParam(), text, {"--steps", "250", "--out", folder / "m.st", "--sample", "20", "--log", folder / "log"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_HAS(trained.out, "tokens/s");
  EXPECT_HAS(trained.out, "validation loss");
  EXPECT_TRUE(std::filesystem::exists(folder / "p.png"));
  EXPECT_HAS(testing::text_of(io::read_file(folder / "log")), "\"event\":\"validation\"");
  const Ran summary = tegula_cli({"summary", folder / "m.st", "--batch", "2", "--length", "5"});
  EXPECT_EQ(summary.status, 0) << summary.err;
  EXPECT_HAS(summary.out, "m.st: " + std::string(GetParam() == "gpt" ? "gpt2" : "lstm") + "\n\n");
  EXPECT_HAS(summary.out, "(2, 5, ");
  const Ran plan = tegula_cli({"graph", folder / "m.st", "--stage", "plan"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_HAS(plan.out, "call matmul");
  EXPECT_HAS(tegula_cli({"graph", folder / "m.st", "--dot"}).out, "digraph tegula");
  EXPECT_HAS(tegula_cli({"graph", folder / "m.st", "--step"}).err, "--step with ");
  const Ran wrote = tegula_cli({"generate", folder / "m.st", "--prompt", "the cat sat ", "--tokens", "40", "--temperature", "0"});
  ASSERT_EQ(wrote.status, 0) << wrote.err;
  EXPECT_TRUE(wrote.out.starts_with("the cat sat on the mat.\nthe ")) << wrote.out;  // 40 tokens are more than the context of 16
  EXPECT_EQ(wrote.out.size(), 12u + 40 + 1);
  EXPECT_HAS(wrote.err, "40 tokens behind a prompt of 12");
  const auto sampled = [&](const std::string& seed) {
    return tegula_cli({"generate", folder / "m.st", "--prompt", "the ",        "--tokens",
                       "30",       "--temperature", "1.5",      "--top-k",     "20",
                       "--top-p",  "0.95",          "--min-p",  "0.01",        "--repetition-penalty",
                       "1.1",      "--seed",        seed,       "--no-prompt", "--no-speed"})
        .out;
  };
  EXPECT_EQ(sampled("1"), sampled("1"));
  EXPECT_NE(sampled("1"), sampled("2"));
  const Ran stopped = tegula_cli({"generate", folder / "m.st", "--prompt", "the cat sat ", "--temperature", "0", "--stop", "mat"});
  EXPECT_EQ(stopped.out, "the cat sat on the \n");
  // Several prompts, on the command line and in a file, in two batches.
  io::write_atomically(folder / "prompts", testing::bytes_of("the dog ran\n\nthe cat s\n"));
  const Ran several = tegula_cli({"generate", folder / "m.st", "--prompt", "the cat sat ", "--prompt", "th", "--prompts",
                                  folder / "prompts", "--batch", "3", "--tokens", "6", "--temperature", "0"});
  ASSERT_EQ(several.status, 0) << several.err;
  std::string expected;
  for (const char* prompt : {"the cat sat ", "th", "the dog ran", "the cat s"}) {
    expected += (expected.empty() ? "" : "---\n") +
                tegula_cli({"generate", folder / "m.st", "--prompt", prompt, "--tokens", "6", "--temperature", "0"}).out;
  }
  EXPECT_EQ(several.out, expected);
  EXPECT_HAS(several.err, "18 tokens behind 3 prompts of 25, ");
  EXPECT_HAS(several.err, "6 tokens behind a prompt of 9, ");
  io::write_atomically(folder / "none", testing::bytes_of("\n"));
  EXPECT_HAS(tegula_cli({"generate", folder / "m.st", "--prompts", folder / "none"}).err,
             "no line with a text, expected a prompt in each line");
  EXPECT_HAS(tegula_cli({"generate", folder / "m.st", "--prompt", "the", "cat"}).err, "unexpected argument cat");
}

TEST_P(LanguageCommands, SayWhatTheyUseOfTheMachine) {
  const TemporaryFolder folder;
  std::vector<std::string> options{"--steps", "20", "--out", folder / "m.st", "--sample", "0", "--print-memory"};
  if (GetParam() == "gpt") options.insert(options.end(), {"--checkpoint-layers", "--layers", "3"});
  const Ran trained = train(folder, GetParam(), write_verse(folder), options);
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_HAS(trained.out, " tokens/s, MFU ");  // the peak is measured
  EXPECT_HAS(trained.out, "peak");
}

TEST_P(LanguageCommands, ResumeToTheBit) {
  const TemporaryFolder folder;
  const std::string text = write_verse(folder);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--min-lr", "0.01", "--dropout", "0.1", "--accumulate", "2", "--sample", "0"});
    const Ran ran = train(folder, GetParam(), text, more);
    EXPECT_EQ(ran.status, 0) << ran.err;
  };
  run({"--steps", "20", "--out", folder / "whole"});
  run({"--steps", "10", "--out", folder / "half", "--checkpoint", folder / "run"});
  run({"--steps", "20", "--out", folder / "resumed", "--resume", folder / "run"});
  EXPECT_EQ(io::read_file(folder / "whole"), io::read_file(folder / "resumed"));
  EXPECT_NE(io::read_file(folder / "whole"), io::read_file(folder / "half"));
  EXPECT_EQ(tegula_cli({"generate", folder / "run", "--tokens", "5"}).status, 0) << "a checkpoint is a model, too";
  // A training that was killed behind its last checkpoint: no step is left, the model is written.
  run({"--steps", "10", "--out", folder / "finished", "--resume", folder / "run"});
  EXPECT_EQ(io::read_file(folder / "finished"), io::read_file(folder / "half"));
  const Ran done = train(folder, GetParam(), text,
                         {"--steps", "6", "--out", folder / "x", "--resume", folder / "run", "--dropout", "0.1", "--accumulate", "2"});
  EXPECT_EQ(done.status, 1);
  EXPECT_HAS(done.err, "a checkpoint with 10 steps done, expected at most the 6");
}

INSTANTIATE_TEST_SUITE_P(Kinds, LanguageCommands, ::testing::Values("gpt", "char-lstm"),
                         [](const auto& one) { return one.param == "gpt" ? std::string("Gpt") : std::string("Lstm"); });

TEST(LanguageCommands, TrainWithATokenizerOfBytes) {
  const TemporaryFolder folder;
  const std::string text = write_verse(folder);
  ASSERT_EQ(tegula_cli({"train", "bpe", text, "--vocabulary", "270", "--out", folder / "bpe"}).status, 0);
  const Ran trained =
      train(folder, "gpt", text, {"--steps", "60", "--out", folder / "m.st", "--tokenizer", folder / "bpe", "--sample", "0"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_HAS(trained.out, "per character");
  EXPECT_HAS(tegula_cli({"generate", folder / "m.st", "--prompt", "the dog", "--tokens", "8", "--temperature", "0"}).out,
             "the dog ran to the");
  // The same from a file of tokens.
  EXPECT_HAS(tegula_cli({"tokenize", folder / "bpe", text, "--out", folder / "verse.bin"}).out, " tokens: ");
  const Ran again = train(folder, "gpt", folder / "verse.bin",
                          {"--steps", "60", "--out", folder / "n.st", "--tokenizer", folder / "bpe", "--sample", "0"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_HAS(tegula_cli({"generate", folder / "n.st", "--prompt", "the dog", "--tokens", "8", "--temperature", "0"}).out,
             "the dog ran to the");
  EXPECT_HAS(train(folder, "gpt", folder / "verse.bin", {}).err, "a file of tokens, without a tokenizer");
  EXPECT_HAS(tegula_cli({"train", "gpt", folder / "verse.bin", text}).err, "files of tokens (.bin) beside texts");
}

TEST(LanguageCommands, SayWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string text = write_verse(folder);
  EXPECT_HAS(train(folder, "gpt", text, {"--context", "100000"}).err, "expected more than 100000, for a window of 100000");
  EXPECT_HAS(train(folder, "char-lstm", text, {"--batch", "900"}).err, "900 streams of windows of 16");
  EXPECT_HAS(train(folder, "gpt", text, {"--heads", "5"}).err, "a width that the heads divide");
  EXPECT_HAS(train(folder, "gpt", text, {"--tokenizer", folder / "nothing"}).err, "nothing");
  EXPECT_HAS(train(folder, "gpt", text, {"--out", folder / "no/where"}).err, "create the folder");
  EXPECT_HAS(train(folder, "gpt", folder / "no.txt", {}).err, "no.txt");
  io::write_atomically(folder / "bytes", testing::bytes_of("abc\xff\xfe abc"));
  EXPECT_HAS(train(folder, "gpt", folder / "bytes", {}).err, "no UTF-8 from byte 3 on");
  const Ran diverged = train(folder, "gpt", text, {"--lr", "1e30", "--clip", "0", "--steps", "40", "--out", folder / "d.st"});
  EXPECT_EQ(diverged.status, 1);
  EXPECT_HAS(diverged.err, "--lr");
  EXPECT_FALSE(std::filesystem::exists(folder / "d.st"));

  ASSERT_EQ(train(folder, "gpt", text, {"--steps", "2", "--out", folder / "m.st", "--sample", "0"}).status, 0);
  const Ran longer = tegula_cli({"generate", folder / "m.st", "--prompt", "the cat sat on the mat."});
  EXPECT_EQ(longer.status, 1);
  EXPECT_EQ(longer.out, "");
  EXPECT_HAS(longer.err, "a prompt of 23 tokens, expected at most 15: the model's context is 16");
  EXPECT_HAS(tegula_cli({"generate", folder / "m.st", "--prompt", "XYZ"}).err, "without any token of the model's vocabulary");
  EXPECT_HAS(tegula_cli({"generate", folder / "verse.txt"}).err, "verse.txt");
  EXPECT_HAS(tegula_cli({"generate", folder / "m.bin"}).err, "--tokenizer");
  EXPECT_HAS(tegula_cli({"eval", folder / "m.st"}).err, "gpt2");
  EXPECT_HAS(tegula_cli({"classify", folder / "m.st", "a"}).err, "expected a classifier of texts");
  // The description of another size than the weights.
  io::Safetensors file = io::read_safetensors(folder / "m.st");
  file.metadata["tegula.width"] = "64";
  io::write_safetensors(folder / "other.st", file.tensors, file.metadata);
  EXPECT_HAS(tegula_cli({"generate", folder / "other.st"}).err, "wte.weight");
  file.metadata["tegula.layers"] = "1e9";
  io::write_safetensors(folder / "other.st", file.tensors, file.metadata);
  EXPECT_HAS(tegula_cli({"generate", folder / "other.st"}).err, "tegula.layers 1e+09");
}

TEST(LanguageCommands, Llama2cModelsWriteWhatTheyAreKnownFor) {
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no shared data";
  const std::string folder = data + "/models/stories260K/";
  const Ran wrote = tegula_cli({"generate", folder + "stories260K.bin", "--tokenizer", folder + "tok512.bin", "--temperature", "0",
                                "--tokens", "200", "--no-speed"});
  ASSERT_EQ(wrote.status, 0) << wrote.err;
  EXPECT_EQ(wrote.out, testing::text_of(io::read_file(folder + "expected_greedy_n200.txt")));
}

/// Lines about two things; `separator` behind the label.
void write_labelled(const std::string& path, const std::string& separator, int count) {
  const char* const weather[] = {"sun", "rain", "wind", "snow"};
  const char* const food[] = {"bread", "soup", "rice", "cheese"};
  std::string lines;
  for (int i = 0; i < count; ++i) {
    const auto& words = i % 2 ? weather : food;
    lines += (i % 2 ? "weather" : "food") + separator + "they speak of";
    for (int k = 0; k <= i % 7; ++k) lines += std::string(" ") + words[(i / 2 + k) % 4];
    lines += "\n";
  }
  io::write_atomically(path, testing::bytes_of(lines));
}

// The best epoch may lie in front of the checkpoint: its weights are in it.
TEST(ClassifyCommands, ATrainingGoesOnFromItsCheckpointToTheBit) {
  const TemporaryFolder folder;
  write_labelled(folder / "train", " ", 80);
  const auto train = [&](const std::string& name, const std::string& epochs, std::vector<std::string> more) {
    std::vector<std::string> all{"train", "classify", folder / "train", "--width", "8", "--hidden", "8", "--lr", "0.01", "--patience", "9"};
    all.insert(all.end(), {"--epochs", epochs, "--out", folder / name, "--plot", folder / "p.png"});
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = tegula_cli(all);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return io::read_file(folder / name);
  };
  const auto whole = train("whole", "5", {});
  train("half", "3", {"--checkpoint", folder / "run"});
  EXPECT_EQ(train("rest", "5", {"--resume", folder / "run"}), whole);
}

TEST(ClassifyCommands, TrainOnLinesAndNameTheClasses) {
  const TemporaryFolder folder;
  write_labelled(folder / "train", " ", 160);
  write_labelled(folder / "test.tsv", "\t", 40);
  for (const std::string net : {"lstm", "transformer"}) {
    const Ran trained = tegula_cli({"train",
                                    "classify",
                                    folder / "train",
                                    "--test",
                                    folder / "test.tsv",
                                    "--net",
                                    net,
                                    "--width",
                                    "16",
                                    "--hidden",
                                    "16",
                                    "--heads",
                                    "2",
                                    "--epochs",
                                    "6",
                                    "--lr",
                                    "0.01",
                                    "--batch",
                                    "16",
                                    "--dropout",
                                    "0.1",
                                    "--out",
                                    folder / "m.st",
                                    "--plot",
                                    folder / "p.png"});
    ASSERT_EQ(trained.status, 0) << trained.err;
    EXPECT_HAS(trained.out, "144 texts to train on, 16 to validate, 2 classes");
    EXPECT_HAS(trained.out, "test accuracy 100.00 % of 40 texts");
    EXPECT_HAS(tegula_cli({"summary", folder / "m.st"}).out, "m.st: " + net + "-classifier\n");
    EXPECT_EQ(tegula_cli({"graph", folder / "m.st"}).status, 0);
    const Ran named = tegula_cli({"classify", folder / "m.st", "they speak of rain", "Cheese and SOUP"});
    EXPECT_EQ(named.status, 0) << named.err;
    EXPECT_TRUE(named.out.starts_with("weather ")) << named.out;
    EXPECT_HAS(named.out, "\nfood ");
    EXPECT_HAS(tegula_cli({"classify", folder / "m.st", "--count", "1"}, "snow\nrice\n").out, "\tsnow\nfood ");
  }
}

TEST(ClassifyCommands, SayWhatIsWrong) {
  const TemporaryFolder folder;
  write_labelled(folder / "train", " ", 40);
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"train",  "classify",       folder / "train", "--out", folder / "m.st",
                                 "--plot", folder / "p.png", "--epochs",       "1"};
    all.insert(all.end(), more.begin(), more.end());
    return tegula_cli(all).err;
  };
  io::write_atomically(folder / "other", testing::bytes_of("music they sing\n"));
  EXPECT_HAS(run({"--validation-file", folder / "other"}),
             "the label 'music' of text 1, expected one of the training set's: food, weather");
  io::write_atomically(folder / "broken", testing::bytes_of("food\tsoup\nweather rain\n"));
  EXPECT_HAS(run({"--validation-file", folder / "broken"}), "line 2: 'weather rain', expected a label, a tab and a text");
  EXPECT_HAS(run({"--text-column", "text"}), "the names of two");
  EXPECT_HAS(run({"--text-column", "text", "--label-column", "label"}), "text");
  io::write_atomically(folder / "one", testing::bytes_of("food soup\nfood rice\n"));
  EXPECT_HAS(tegula_cli({"train", "classify", folder / "one"}).err, "texts of one class");
}

}  // namespace
}  // namespace tegula

// tegula train translate, translate and train bert, from outside.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/data/random_stream.h"
#include "tegula/io/file.h"
#include "tegula/models/model_file.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

void write(const std::string& path, const std::string& text) { io::write_atomically(path, testing::bytes_of(text)); }

/// Sentences of two small languages: "der rote hund" is "the red dog".
std::pair<std::string, std::string> sentences(int count) {
  const char *german[] = {"hund", "mann", "ball", "fisch"}, *english[] = {"dog", "man", "ball", "fish"};
  const char *colour[] = {"rote", "blaue", "alte"}, *color[] = {"red", "blue", "old"};
  std::string from, to;
  data::RandomStream random(1, 0);
  for (int i = 0; i < count; ++i) {
    const auto noun = random.below(4), other = random.below(4), adjective = random.below(3);
    const bool two = random.below(2) == 1;
    from += std::string("Der ") + colour[adjective] + " " + german[noun] + (two ? std::string(" und der ") + german[other] : "") + ".\n";
    to += std::string("The ") + color[adjective] + " " + english[noun] + (two ? std::string(" and the ") + english[other] : "") + ".\n";
  }
  return {from, to};
}

TEST(TranslateCommands, TrainTranslateAndScore) {
  const TemporaryFolder folder;
  const auto [from, to] = sentences(96);
  write(folder / "a.de", from), write(folder / "a.en", to);
  for (const std::string model : {"transformer", "lstm"}) {
    const std::string file = folder / (model + ".safetensors");
    const Ran train = tegula_cli({"train",
                                  "translate",
                                  folder / "a.de",
                                  folder / "a.en",
                                  "--hold-out",
                                  "12",
                                  "--model",
                                  model,
                                  "--tokens",
                                  "words",
                                  "--minimum",
                                  "1",
                                  "--width",
                                  "32",
                                  "--layers",
                                  "1",
                                  "--heads",
                                  "2",
                                  "--epochs",
                                  "40",
                                  "--batch",
                                  "16",
                                  "--lr",
                                  "0.01",
                                  "--dropout",
                                  "0",
                                  "--bleu",
                                  "12",
                                  "--schedule",
                                  "cosine",
                                  "--patience",
                                  "0",
                                  "--label-smoothing",
                                  "0",
                                  "--out",
                                  file,
                                  "--plot",
                                  folder / "curve.png",
                                  "--log",
                                  folder / "log"});
    ASSERT_EQ(train.status, 0) << train.err;
    EXPECT_HAS(tegula_cli({"summary", file}).out, ".safetensors: translation-" + model + "\n");
    EXPECT_EQ(tegula_cli({"graph", file}).status, 0);
    EXPECT_HAS(train.out, "84 pairs to learn from, 12 for validation");
    EXPECT_TRUE(std::filesystem::exists(folder / "curve.png"));
    const Ran one = tegula_cli({"translate", file, "--text", "Der alte fisch.", "--attention", folder / "map.png"});
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_EQ(one.out, "The old fish.\n") << model;
    EXPECT_TRUE(std::filesystem::exists(folder / "map.png"));
    EXPECT_EQ(tegula_cli({"translate", file, "--beam", "1"}, "Der rote ball.\n\nDer blaue hund.\n").out,
              "The red ball.\n\nThe blue dog.\n");
    const Ran score = tegula_cli({"translate", file, folder / "a.de", "--reference", folder / "a.en", "--out", folder / "mine.en"});
    EXPECT_EQ(score.status, 0) << score.err;
    EXPECT_HAS(score.out, "signature: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
    EXPECT_GT(std::stod(score.out.substr(std::string("BLEU = ").size())), 90) << score.out;
    EXPECT_TRUE(std::filesystem::exists(folder / "mine.en"));
    EXPECT_HAS(tegula_cli({"translate", file, "--scores", "--text", "Der rote hund."}).out, "\tThe red dog.");
    EXPECT_HAS(tegula_cli({"translate", file, "--reference", folder / "a.en"}, "eins\n").err, "96 lines");
    EXPECT_HAS(tegula_cli({"translate", file, "--scores", "--beam", "1"}, "eins\n").err, "--scores: got --beam 1");
    EXPECT_HAS(tegula_cli({"translate", file, "--attention", folder / "map.png"}, "eins\nzwei\n").err, "2 sentences");
  }
  EXPECT_HAS(tegula_cli({"translate", folder / "a.de", "--text", "x"}).err, "a.de");
}

TEST(TranslateCommands, PairsInOneFileBytePairsAndResuming) {
  const TemporaryFolder folder;
  std::string lines;
  const auto [from, to] = sentences(40);
  for (std::size_t a = 0, b = 0; a < from.size();) {
    const std::size_t a_end = from.find('\n', a), b_end = to.find('\n', b);
    lines += from.substr(a, a_end - a) + "\t" + to.substr(b, b_end - b) + "\n";
    a = a_end + 1, b = b_end + 1;
  }
  write(folder / "pairs.tsv", lines);
  const auto train = [&](const std::string& epochs, const std::string& out, const std::string& resume) {
    std::vector<std::string> arguments = {"train",
                                          "translate",
                                          folder / "pairs.tsv",
                                          "--shared",
                                          "--vocabulary",
                                          "300",
                                          "--width",
                                          "16",
                                          "--layers",
                                          "1",
                                          "--heads",
                                          "2",
                                          "--batch",
                                          "8",
                                          "--bleu",
                                          "0",
                                          "--schedule",
                                          "constant",
                                          "--epochs",
                                          epochs,
                                          "--out",
                                          out,
                                          "--plot",
                                          folder / "c.png",
                                          "--checkpoint",
                                          folder / "check"};
    if (!resume.empty()) arguments.insert(arguments.end(), {"--resume", resume});
    return tegula_cli(arguments);
  };
  const Ran whole = train("4", folder / "whole", "");
  ASSERT_EQ(whole.status, 0) << whole.err;
  ASSERT_EQ(train("2", folder / "half", "").status, 0);
  const Ran rest = train("4", folder / "rest", folder / "check");
  ASSERT_EQ(rest.status, 0) << rest.err;
  const auto a = models::read_model_file(folder / "whole"), b = models::read_model_file(folder / "rest");
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i) EXPECT_EQ(a.state[i].value.to_host(), b.state[i].value.to_host()) << a.state[i].name;
  EXPECT_EQ(tegula_cli({"translate", folder / "check", "--text", "Der rote hund."}).status, 0);  // a checkpoint is a model, too
}

TEST(TranslateCommands, RefuseWhatIsNoCorpus) {
  const TemporaryFolder folder;
  write(folder / "a", "eins\nzwei\n"), write(folder / "b", "one\n");
  EXPECT_HAS(tegula_cli({"train", "translate", folder / "a", folder / "b", "--out", folder / "m", "--plot", folder / "p.png"}).err, "2");
  EXPECT_HAS(tegula_cli({"train", "translate", folder / "a", "--out", folder / "m", "--plot", folder / "p.png"}).err, "tab");
  EXPECT_HAS(
      tegula_cli({"train", "translate", folder / "a", folder / "a", folder / "a", "--out", folder / "m", "--plot", folder / "p.png"}).err,
      "3 files");
  EXPECT_HAS(
      tegula_cli({"train", "translate", folder / "a", folder / "a", "--hold-out", "2", "--out", folder / "m", "--plot", folder / "p.png"})
          .err,
      "--hold-out 2 of 2 pairs");
}

TEST(BertCommands, PreTrainAndFineTune) {
  const TemporaryFolder folder;
  std::string text, labelled;
  for (int i = 0; i < 240; ++i) {
    const char *weather[] = {"sun", "rain", "wind", "snow"}, *food[] = {"bread", "soup", "rice", "cheese"};
    text += i % 2 ? std::string("The ") + weather[i % 4] + " brings " + weather[i * 3 % 4] + " today. "
                  : std::string("She eats ") + food[i / 2 % 4] + " with " + food[i % 3] + " at home. ";
    labelled += std::string(i % 2 ? "weather " : "food ") + (i % 2 ? weather[i / 2 % 4] : food[i / 2 % 4]) + " it is\n";
  }
  write(folder / "text", text), write(folder / "labelled", labelled);
  const Ran train = tegula_cli({"train",
                                "bert",
                                folder / "text",
                                "--validation",
                                folder / "text",
                                "--vocabulary",
                                "120",
                                "--width",
                                "32",
                                "--heads",
                                "2",
                                "--layers",
                                "1",
                                "--length",
                                "16",
                                "--epochs",
                                "30",
                                "--batch",
                                "8",
                                "--dropout",
                                "0",
                                "--lr",
                                "0.01",
                                "--out",
                                folder / "bert",
                                "--plot",
                                folder / "c.png",
                                "--log",
                                folder / "log"});
  ASSERT_EQ(train.status, 0) << train.err;
  const auto log = testing::text_of(io::read_file(folder / "log"));
  const auto loss_at = [&](std::size_t from) { return std::stod(log.substr(log.find("\"test_loss\":", from) + 12)); };
  const double first = loss_at(0), last = loss_at(log.rfind("\"event\":\"epoch\""));
  EXPECT_LT(last, 0.6 * first) << log;
  const auto fine = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"train",
                                          "bert",
                                          folder / "labelled",
                                          "--validation",
                                          folder / "labelled",
                                          "--classify",
                                          "--epochs",
                                          "4",
                                          "--lr",
                                          "0.005",
                                          "--dropout",
                                          "0",
                                          "--out",
                                          folder / "class",
                                          "--plot",
                                          folder / "c.png"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tegula_cli(arguments);
  };
  const Ran tuned = fine({"--from", folder / "bert", "--test", folder / "labelled"});
  EXPECT_EQ(tuned.status, 0) << tuned.err;
  EXPECT_HAS(tuned.out, "best validation accuracy 100.00 %");
  EXPECT_HAS(tuned.out, "test accuracy 100.00 %");
  EXPECT_HAS(tegula_cli({"summary", folder / "bert"}).out, "bert: bert-masked-lm\n");
  EXPECT_HAS(tegula_cli({"summary", folder / "class"}).out, "class: bert-classifier\n");
  EXPECT_EQ(models::read_model_file(folder / "class").description.texts.at("classes"), "food\nweather");
  const Ran classes = tegula_cli({"classify", folder / "class", "rain it is", "soup it is"});
  EXPECT_TRUE(classes.out.starts_with("weather ")) << classes.out << classes.err;
  EXPECT_HAS(classes.out, "\nfood ");
  EXPECT_EQ(fine({"--from", folder / "bert", "--scratch"}).status, 0);
  EXPECT_HAS(fine({"--scratch"}).err, "--scratch without --from");
  EXPECT_HAS(fine({"--from", folder / "text"}).err, "text");
  write(folder / "bad", "nolabel\n");
  EXPECT_HAS(tegula_cli({"train", "bert", folder / "bad", "--classify", "--out", folder / "m", "--plot", folder / "c.png"}).err,
             "line 1: nolabel");
  EXPECT_HAS(tegula_cli({"train", "bert", folder / "bad", "--vocabulary", "40", "--out", folder / "m", "--plot", folder / "c.png"}).err,
             "a text of");
}

TEST(Bert, ClassifiesPairsOfTexts) {
  const TemporaryFolder folder;
  // One of the two texts speaks of rain.
  std::string lines;
  for (int i = 0; i < 90; ++i) {
    const std::string other = i % 3 == 0 ? "soup" : i % 3 == 1 ? "train" : "cat";
    const bool first = i % 2 == 0;
    lines += (first ? "one the rain" : "two the " + other) + " is here\tthe " + (first ? other : "rain") + " is there\n";
  }
  write(folder / "pairs", lines);
  const Ran train = tegula_cli({"train",
                                "bert",
                                folder / "pairs",
                                "--validation",
                                folder / "pairs",
                                "--classify",
                                "--pairs",
                                "--vocabulary",
                                "60",
                                "--width",
                                "32",
                                "--layers",
                                "2",
                                "--heads",
                                "2",
                                "--length",
                                "16",
                                "--dropout",
                                "0",
                                "--batch",
                                "15",
                                "--epochs",
                                "40",
                                "--lr",
                                "0.003",
                                "--out",
                                folder / "class",
                                "--plot",
                                folder / "c.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "best validation accuracy 100.00 %");
  EXPECT_EQ(models::read_model_file(folder / "class").description.numbers.at("pairs"), 1);
  const Ran classes =
      tegula_cli({"classify", folder / "class", "the rain is here\tthe soup is there", "the soup is here\tthe rain is there"});
  EXPECT_TRUE(classes.out.starts_with("one ")) << classes.out << classes.err;
  EXPECT_HAS(classes.out, "\ntwo ");
  EXPECT_HAS(tegula_cli({"classify", folder / "class", "only one"}).err, "expected two texts with a tab between them");
  EXPECT_HAS(tegula_cli({"train", "bert", folder / "pairs", "--pairs", "--out", folder / "m", "--plot", folder / "c.png"}).err,
             "--pairs without --classify");
}

}  // namespace
}  // namespace tegula

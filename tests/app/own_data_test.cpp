// Data of one's own at the command line: contents of files, a table, folders of pictures, wrong configuration files.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/io/file.h"
#include "tegula/io/gzip.h"
#include "tegula/io/npy.h"
#include "tegula/io/png.h"
#include "tegula/io/pytorch.h"
#include "tegula/io/safetensors.h"
#include "tegula/models/image_classifier.h"
#include "tegula/models/resnet.h"
#include "tegula/nn/state.h"
#include "tegula/ops/random.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

void write(const std::string& path, const std::string& text) { io::write_atomically(path, testing::bytes_of(text)); }

/// Houses whose price follows from area, age and town; with gaps, a date, and a note that never comes twice.
std::string houses(int rows, int seed, bool with_price = true) {
  std::string text = std::string("number,area,age,town,built,note") + (with_price ? ",price\n" : "\n");
  unsigned state = static_cast<unsigned>(seed);
  const auto draw = [&](unsigned below) { return (state = state * 1664525u + 1013904223u) / 65536 % below; };
  for (int i = 0; i < rows; ++i) {
    const unsigned area = 40 + draw(160), age = draw(80), town = draw(3);
    const unsigned price = 1000 * area - 300 * age + 40000 * town;
    text += std::to_string(i) + "," + (draw(20) == 0 ? "NA" : std::to_string(area)) + "," + (draw(20) == 0 ? "" : std::to_string(age)) +
            "," +
            (town == 0   ? "Ulm"
             : town == 1 ? "Bonn"
                         : "\"Köln, Süd\"") +
            "," + std::to_string(2024 - age) + "-05-01,house " + std::to_string(i);
    text += with_price ? "," + std::to_string(price) + "\n" : "\n";
  }
  return text;
}

TEST(OwnTables, ARegressionIsTrainedSavedMeasuredAndUsed) {
  const TemporaryFolder folder;
  write(folder / "houses.csv", houses(300, 1));
  write(folder / "more.csv", houses(60, 2));
  const std::string model = folder / "h.safetensors";
  const Ran train = tegula_cli({"train", "table", folder / "houses.csv", "--target", "price", "--ignore", "number", "--epochs", "60",
                                "--lr", "0.01", "--test", folder / "more.csv", "--out", model, "--plot", folder / "h.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "regression of price from area (numbers), age (numbers), town (3 texts), built (dates)\n");
  EXPECT_HAS(train.out, "left out: note (300 different texts)\n");
  EXPECT_HAS(train.out, "240 rows to train on, 60 to validate.");
  EXPECT_HAS(train.out, "mean error");
  EXPECT_HAS(train.out, "validation of 60 rows: mean absolute error ");
  EXPECT_HAS(train.out, "test of 60 rows: mean absolute error ");
  const Ran eval = tegula_cli({"eval", model, "--data", folder / "more.csv"});
  ASSERT_EQ(eval.status, 0) << eval.err;
  const std::size_t at = eval.out.find("R2 ");
  ASSERT_NE(at, std::string::npos) << eval.out;
  EXPECT_GT(std::stod(eval.out.substr(at + 3)), 0.8) << eval.out;
  write(folder / "new.csv", houses(3, 3, false));
  const Ran predict = tegula_cli({"predict", model, folder / "new.csv"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_HAS(predict.out, "number,area,age,town,built,note,predicted\n0,");
  EXPECT_EQ(std::count(predict.out.begin(), predict.out.end(), '\n'), 4);
  const Ran summary = tegula_cli({"summary", model});
  EXPECT_EQ(summary.status, 0) << summary.err;
  EXPECT_HAS(summary.out, "h.safetensors: table\n");
  EXPECT_EQ(tegula_cli({"graph", model}).status, 0);
  const Ran info = tegula_cli({"info", model});
  EXPECT_HAS(info.out, "the model table, ");
  EXPECT_HAS(info.out, "scale.deviation");
  EXPECT_HAS(info.out, "tegula.text.layout");
  const Ran without = tegula_cli({"eval", model});
  EXPECT_EQ(without.status, 1);
  EXPECT_HAS(without.err, "--data TABLE");
}

TEST(OwnTables, TextsAndFewWholeNumbersAreClasses) {
  const TemporaryFolder folder;
  std::string text = "x;y;kind\n";
  for (int i = 0; i < 120; ++i)
    text += std::to_string(i % 12) + ",5;" + std::to_string(i % 7) + ";" + (i % 12 < 6 ? "small" : "large") + "\n";
  write(folder / "kinds.csv", text);
  const std::string model = folder / "k.safetensors";
  const Ran train = tegula_cli({"train", "table", folder / "kinds.csv", "--target", "kind", "--decimal", ",", "--epochs", "30", "--lr",
                                "0.01", "--out", model, "--plot", folder / "k.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "classification of kind from x (numbers), y (numbers)\nclasses: large, small\n");
  EXPECT_HAS(train.out, "validation of 24 rows: accuracy 100.00 %");
  write(folder / "new.csv", "x;y\n1,5;0\n;3\n");
  const Ran predict = tegula_cli({"predict", model, folder / "new.csv"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_HAS(predict.out, "x,y,predicted,probability\n\"1,5\",0,small,");
  const Ran numbers = tegula_cli({"train", "table", folder / "kinds.csv", "--target", "y", "--decimal", ",", "--epochs", "1", "--out",
                                  model, "--plot", folder / "k.png"});
  EXPECT_HAS(numbers.out, "classes: 0, 1, 2, 3, 4, 5, 6\n");
  const Ran asked = tegula_cli({"train", "table", folder / "kinds.csv", "--target", "y", "--task", "regression", "--decimal", ",",
                                "--epochs", "1", "--out", model, "--plot", folder / "k.png"});
  EXPECT_HAS(asked.out, "regression of y from ");
}

TEST(OwnTables, MistakesAreNamed) {
  const TemporaryFolder folder;
  write(folder / "t.csv", "a,b\n1,x\n2,x\n");
  const auto fails = [&](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), {"train", "table", folder / "t.csv", "--out", folder / "m", "--plot", folder / "m.png"});
    const Ran ran = tegula_cli(more);
    EXPECT_NE(ran.status, 0) << part;
    EXPECT_HAS(ran.err, part);
  };
  fails({}, "--target is required");
  fails({"--target", "c"}, "no column c, expected one of a, b");
  fails({"--target", "b"}, "a target b that is always x");
  fails({"--target", "b", "--task", "regression"}, "a target b that holds no numbers");
  fails({"--target", "a", "--ignore", "b"}, "no column beside a");
  std::string prices = "a,b\n";
  for (int i = 0; i < 50; ++i) prices += std::to_string(i) + ",\"1," + std::to_string(100 + i) + "\"\n";
  write(folder / "t.csv", prices);
  fails({"--target", "b"}, "a target b of 50 different texts in 50 rows, such as \"1,100\"");
  fails({"--target", "b"}, "--thousands ,");
  EXPECT_HAS(tegula_cli({"train", "table", folder / "t.csv", "--target", "b", "--thousands", ",", "--epochs", "1", "--out", folder / "m",
                         "--plot", folder / "m.png"})
                 .out,
             "regression of b from a (numbers)");
}

/// Light and dark squares, with noise.
void write_pictures(const TemporaryFolder& folder, int count) {
  unsigned state = 7;
  for (const std::string kind : {"dark", "light"}) {
    std::filesystem::create_directories(folder / ("pictures/" + kind));
    for (int i = 0; i < count; ++i) {
      HostArray picture = HostArray::empty(u8, {12, 10, 3});
      for (auto& value : picture.values<std::uint8_t>())
        value = static_cast<std::uint8_t>((kind == "dark" ? 30 : 170) + (state = state * 1664525u + 1013904223u) / 65536 % 50);
      io::write_png(folder / ("pictures/" + kind + "/" + std::to_string(i) + ".png"), picture);
    }
  }
}

TEST(OwnPictures, AFolderIsTrainedOnSavedMeasuredAndUsed) {
  const TemporaryFolder folder;
  write_pictures(folder, 20);
  const std::string model = folder / "p.safetensors";
  const Ran train = tegula_cli({"train", "images", folder / "pictures", "--size", "8", "--width", "4", "--stages", "2", "--batch", "8",
                                "--epochs", "8", "--lr", "0.01", "--out", model, "--plot", folder / "p.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "2 classes, pictures of 8 x 8. ");
  const Ran usual = tegula_cli({"train", "images", folder / "pictures", "--stages", "3", "--width", "2", "--epochs", "1", "--out",
                                folder / "q", "--plot", folder / "q.png"});
  EXPECT_HAS(usual.out, "pictures of 16 x 16. ");  // 12 x 10, which three stages halve
  EXPECT_HAS(train.out, "32 pictures to train on, 8 to validate.");
  EXPECT_HAS(train.out, "validation of 8 pictures: accuracy 100.00 %");
  EXPECT_HAS(train.out, " dark light");
  const Ran predict = tegula_cli({"predict", model, folder / "pictures/light/3.png", folder / "pictures/dark/0.png"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_HAS(predict.out, "light/3.png: light (");
  EXPECT_HAS(predict.out, "dark/0.png: dark (");
  const Ran eval = tegula_cli({"eval", model, "--data", folder / "pictures"});
  EXPECT_HAS(eval.out, "of 40 pictures: accuracy 100.00 %");
  EXPECT_HAS(tegula_cli({"info", model}).out, "tegula.text.classes");
  const Ran summary = tegula_cli({"summary", model, "--batch", "3"});
  EXPECT_EQ(summary.status, 0) << summary.err;
  EXPECT_HAS(summary.out, "(3, 2)");
  EXPECT_HAS(tegula_cli({"info", folder / "pictures"}).out, "a folder of 40 pictures in 2 classes\n  dark   20\n  light  20\n");
}

TEST(OwnPictures, APublishedNetBeginsWithItsWeights) {
  const TemporaryFolder folder;
  write_pictures(folder, 8);
  manual_seed(1);
  models::ResNet18 published{.classes = 5};
  save(published, folder / "r.safetensors");
  const std::string model = folder / "p.safetensors";
  const auto train = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "train", "images", folder / "pictures", "--size", "32", "--batch", "8", "--epochs", "1", "--lr", "0.000001", "--out",
        model,   "--plot", folder / "p.png"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tegula_cli(arguments);
  };
  const Ran trained = train({"--net", "resnet18", "--from", folder / "r.safetensors"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_HAS(trained.out, "11.2 M parameters");
  EXPECT_EQ(tegula_cli({"predict", model, folder / "pictures/light/3.png"}).status, 0);
  const models::NamedImageClassifier file = models::load_image_classifier(model);
  EXPECT_EQ(file.net->options().net, "resnet18");
  EXPECT_NEAR(file.net->mean.read().to_host()[0], 0.485F, 1e-6F);
  const auto kernel = [](const StateDict& state) {
    for (const NamedTensor& one : state)
      if (one.name == "layer1.0.conv1.weight") return one.value.to_host();
    return std::vector<float>();
  };
  const auto before = kernel(state_dict(published)), after = kernel(state_dict(*file.net));
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); i += 97) EXPECT_NEAR(before[i], after[i], 1e-4F);
  EXPECT_HAS(train({"--net", "resnet34", "--from", folder / "r.safetensors"}).err, "expected the weights of resnet34");
  EXPECT_HAS(train({"--from", folder / "r.safetensors"}).err, "--from without --net");
  EXPECT_EQ(train({"--net", "resnet9"}).status, 2);
}

TEST(Info, SaysWhatIsInAFile) {
  const TemporaryFolder folder;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const HostArray array = HostArray::from(std::span<const float>(numbers), {2, 3});
  io::write_safetensors(folder / "w.safetensors", {{"layer.weight", array}, {"layer.bias", array}}, {{"classes", "[\"cat\",\"dog\"]"}});
  io::write_npy(folder / "a.npy", array);
  io::write_npz(folder / "a.npz", {{"x", array}});
  io::write_png(folder / "p.png", HostArray::empty(u8, {4, 7, 3}));
  write(folder / "t.csv", "a,b\n1,x\n,y\n");
  write(folder / "v.txt", "the 1 2 3 4 5 6\nof 1 2 3 4 5 6\n");
  write(folder / "x.parquet", "PAR1");
  const std::string keras = "/tests/golden/keras/";
  io::write_atomically(folder / "net.keras", io::gunzip(io::read_file(source_folder() + keras + "cnn3.keras.gz"), "cnn3"));
  io::write_atomically(folder / "net.weights.h5", io::gunzip(io::read_file(source_folder() + keras + "cnn3.weights.h5.gz"), "cnn3"));
  write(folder / "notes.txt", "first line\nsecond\n");
  const auto told = [&](const std::string& name) {
    const Ran ran = tegula_cli({"info", folder / name});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  };
  EXPECT_HAS(
      told("w.safetensors"),
      "2 tensors of 12 numbers\n  layer.weight  F32  (2, 3)\n  layer.bias    F32  (2, 3)\nmetadata:\n  classes  [\"cat\",\"dog\"]\n");
  EXPECT_HAS(told("a.npy"), "a .npy file, 152 B\nan array, '<f4' (2, 3)\n");
  EXPECT_HAS(told("a.npz"), "1 array\n  x  '<f4' (2, 3)\n");
  EXPECT_HAS(told("p.png"), "7 x 4 pixels, 3 channels");
  EXPECT_HAS(told("t.csv"), "a table of 2 rows\n  a  numbers from 1 to 1, 1 without a value\n  b  2 different texts: x, y\n");
  EXPECT_HAS(told("v.txt"), "vectors of 2 words, 6 numbers each: the, of ...");
  EXPECT_HAS(told("x.parquet"), "a Parquet file, ");
  EXPECT_HAS(told("x.parquet"), "Tegula does not read such files: in Python: pandas.read_parquet");
  const std::string saved = source_folder() + keras + "cnn3_saved";
  EXPECT_HAS(tegula_cli({"info", saved}).out, "a SavedModel");
  EXPECT_HAS(tegula_cli({"info", saved}).out, "variables\n");
  EXPECT_HAS(tegula_cli({"info", saved + "/variables/variables.index"}).out, "a checkpoint of TensorFlow, its index of ");
  EXPECT_HAS(told("net.keras"), "a Keras file, ");
  EXPECT_HAS(told("net.keras"), "filters 3, kernel_size 3 x 3, padding same, strides 2 x 2, relu\n");
  EXPECT_HAS(told("net.keras"), "13 tensors of 225 numbers, as load_state gives them\n");
  EXPECT_HAS(told("net.keras"), "fc1.weight              f32  (5, 16)");
  EXPECT_HAS(told("net.weights.h5"), "layers/dense/vars/0");
  EXPECT_HAS(told("net.weights.h5"), "load_keras takes io::KerasOptions{.flattened = {{\"fc1\", CHANNELS}}}\n");
  EXPECT_HAS(told("notes.txt"), "text, 2 lines, 18 bytes\n  first line\n");
  const Ran two = tegula_cli({"info", folder / "a.npy", folder / "none"});
  EXPECT_EQ(two.status, 1);
  EXPECT_HAS(two.err, "none: No such file or directory");
}

/// Files of models as whole, cut off at several places, and with bytes that were changed: told or refused by name, and never the end of the program.
TEST(Info, RefusesDamagedModelsByName) {
  const TemporaryFolder folder;
  const auto golden = [](const std::string& name) {
    const std::string path = source_folder() + "/tests/golden/" + name;
    return path.ends_with(".gz") ? io::gunzip(io::read_file(path), path) : io::read_file(path);
  };
  const HostArray array = HostArray::from(std::span<const float>(std::vector<float>(6, 1.5F)), {2, 3});
  const io::NamedArrays arrays{{"layer.weight", array}, {"layer.bias", array}};
  io::write_safetensors(folder / "w.safetensors", arrays);
  io::write_pytorch(folder / "w.pt", arrays);
  io::write_npz(folder / "w.npz", arrays);
  const std::vector<std::pair<std::string, io::Bytes>> whole{
      {"w.safetensors", io::read_file(folder / "w.safetensors")},
      {"w.pt", io::read_file(folder / "w.pt")},
      {"w.npz", io::read_file(folder / "w.npz")},
      {"net.keras", golden("keras/cnn3.keras.gz")},
      {"net.h5", golden("keras/cnn2.h5.gz")},
      {"net.weights.h5", golden("keras/cnn3.weights.h5.gz")},
      {"types.gguf", golden("gguf/types.gguf.gz")},
      {"net.onnx", io::read_file(source_folder() + "/tests/fuzz/onnx/net")},
      {"saved/variables/variables.index", golden("keras/cnn3_saved/variables/variables.index")}};
  std::filesystem::create_directories(folder / "saved/variables");
  io::write_atomically(folder / "saved/variables/variables.data-00000-of-00001",
                       golden("keras/cnn3_saved/variables/variables.data-00000-of-00001"));
  for (const auto& [name, bytes] : whole) {
    const auto told = [&](const io::Bytes& content) {
      io::write_atomically(folder / name, content);
      return tegula_cli({"info", folder / name});
    };
    EXPECT_EQ(told(bytes).status, 0) << name;
    for (const std::size_t length :
         {bytes.size() - 1, bytes.size() * 2 / 3, bytes.size() / 3, std::max<std::size_t>(bytes.size() / 10, 64)}) {
      if (name.ends_with(".gguf") && length + 1 == bytes.size()) continue;  // of these the header is read, which says where tensors begin
      const Ran ran = told(io::Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
      EXPECT_EQ(ran.status, 1) << name << ", " << length << " bytes: " << ran.out;
      EXPECT_HAS(ran.err, name.substr(name.rfind('/') + 1));
    }
    for (std::size_t k = 0; k < 5; ++k) {
      io::Bytes changed = bytes;
      for (std::size_t at = 7 * k + 3; at < changed.size(); at += 41 + 13 * k) changed[at] ^= std::byte{0x55};
      const Ran ran = told(changed);
      EXPECT_TRUE(ran.status == 0 || (ran.status == 1 && !ran.err.empty())) << name << ", changed " << k << ": " << ran.status;
    }
  }
  EXPECT_EQ(tegula_cli({"info", folder / "saved"}).status, 1);  // its index is damaged now
}

TEST(Config, ADeepSectionNameIsRefusedAtOnce) {
  const TemporaryFolder folder;
  std::string name = "a";
  for (int i = 0; i < 100'000; ++i) name += ".a";
  for (const std::string& text : {"[" + name + "]\n", "x = 1\n" + name + " = 1\n"}) {
    write(folder / "c.toml", text);
    const Ran ran = tegula_cli({"train", "mnist-mlp", "--config", folder / "c.toml"});
    EXPECT_EQ(ran.status, 2);
    EXPECT_HAS(ran.err, ": a name of 100001 parts, expected sections such as [train.gpt]");
  }
  write(folder / "c.toml", "# a.b.c.d.e.f.g.h.i.j.k.l\n[tokenize]\nfile = \"a.b.c.d.e.f.g.h.i.j.k.l\"\n");
  EXPECT_EQ(tegula_cli({"train", "mnist-mlp", "--config", folder / "c.toml", "--epochs", "0", "--limit", "2", "--out", folder / "m",
                        "--plot", folder / "m.png"})
                .err.find("parts"),
            std::string::npos);
}

TEST(Suggestions, AreForMostOfTheLetters) {
  const Ran tcsh = tegula_cli({"completion", "tcsh"});
  EXPECT_EQ(tcsh.status, 2);
  EXPECT_HAS(tcsh.err, "got tcsh, expected one of bash,zsh,fish");
  EXPECT_EQ(tcsh.err.find("did you mean"), std::string::npos) << tcsh.err;
  EXPECT_HAS(tegula_cli({"completion", "bahs"}).err, "did you mean bash?");
  EXPECT_HAS(tegula_cli({"train", "mnist-mpl"}).err, "did you mean mnist-mlp?");
}

TEST(Classify, ATableIsToldWhichOptionsNameItsColumns) {
  const TemporaryFolder folder;
  write(folder / "t.csv", "text,label\ngood film,pos\nbad film,neg\n");
  const Ran ran = tegula_cli({"train", "classify", folder / "t.csv", "--out", folder / "m", "--plot", folder / "m.png"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_HAS(ran.err, "expected a label, a blank and a text");
  EXPECT_HAS(ran.err, "--text-column, --label-column");
}

TEST(Language, ATrainingThatGoesOnTakesItsSizesFromTheFile) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the quick brown fox jumps over the lazy dog\n";
  write(folder / "text.txt", text);
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"train", "gpt", folder / "text.txt", "--batch", "2", "--eval-every", "2", "--eval-batches", "1", "--sample", "0", "--out",
                 folder / "m.safetensors", "--plot", folder / "m.png", "--checkpoint", folder / "run.safetensors"});
    return tegula_cli(more);
  };
  const Ran first = train({"--steps", "2", "--layers", "1", "--heads", "2", "--width", "16", "--context", "8"});
  ASSERT_EQ(first.status, 0) << first.err;
  std::filesystem::copy_file(folder / "run.safetensors", folder / "first.safetensors");
  const Ran on = train({"--steps", "4", "--resume", folder / "first.safetensors"});
  EXPECT_EQ(on.status, 0) << on.err;
  EXPECT_EQ(on.out.substr(0, on.out.find(" parameters")), first.out.substr(0, first.out.find(" parameters")));
  const Ran other = train({"--steps", "4", "--width", "32", "--resume", folder / "first.safetensors"});
  EXPECT_EQ(other.status, 1);
  EXPECT_HAS(other.err, "--width 32 to go on from " + (folder / "first.safetensors") + ", whose net has 16");
}

TEST(Config, AVeryDeepTokenizerIsRefused) {
  const TemporaryFolder folder;
  write(folder / "t.json", std::string(100'000, '[') + std::string(100'000, ']'));
  write(folder / "text.txt", "a\n");
  const Ran ran = tegula_cli({"tokenize", folder / "t.json", folder / "text.txt"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_HAS(ran.err, "lists and objects within each other");
}

}  // namespace
}  // namespace tegula

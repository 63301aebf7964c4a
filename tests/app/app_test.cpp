// The command line from outside: exit status, output, and files written.

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tegula/data/digits.h"
#include "tegula/formats/graph_file.h"
#include "tegula/io/child.h"
#include "tegula/io/file.h"
#include "tegula/io/png.h"
#include "tegula/nn/linear.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/runtime/registry.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;
using testing::text_of;

TEST(App, TrainsSavesEvaluatesAndPredicts) {
  const TemporaryFolder folder;
  const Ran train = tegula_cli({"train", "mnist-mlp", "--limit", "600", "--epochs", "2", "--batch", "50", "--out", folder / "m.safetensors",
                                "--plot", folder / "m.png", "--show", "3"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "mnist-mlp: 102 k parameters. 600 training and 600 test images, drawn by the program.");
  EXPECT_HAS(train.out, "\n    2 ");
  EXPECT_EQ(train.out.find('\r'), std::string::npos) << "not a terminal";
  EXPECT_TRUE(std::filesystem::exists(folder / "m.safetensors"));

  const Ran eval = tegula_cli({"eval", folder / "m.safetensors", "--limit", "200"});
  EXPECT_EQ(eval.status, 0) << eval.err;
  EXPECT_HAS(eval.out, "on 200 images: accuracy ");
  EXPECT_HAS(eval.out, "precision  recall");

  const auto digit = data::draw_digits(1, 5).images;
  HostArray picture = HostArray::empty(u8, {28, 28, 1});
  for (std::size_t i = 0; i < 784; ++i) picture.values<std::uint8_t>()[i] = static_cast<std::uint8_t>(255 * digit.values<float>()[i]);
  io::write_png(folder / "digit.png", picture);
  const Ran predict = tegula_cli({"predict", folder / "m.safetensors", folder / "digit.png"});
  EXPECT_EQ(predict.status, 0) << predict.err;
  EXPECT_HAS(predict.out, "digit.png: ");
  const Ran jpeg = tegula_cli({"predict", folder / "m.safetensors", source_folder() + "/tests/fuzz/jpeg/rgb"});
  EXPECT_EQ(jpeg.status, 0) << jpeg.err;
  EXPECT_HAS(jpeg.out, "rgb: ");
}

TEST(App, TheSameSeedGivesTheSameFile) {
  const TemporaryFolder folder;
  const auto train = [&](const std::string& name, const std::string& seed) {
    const Ran ran = tegula_cli({"train", "lenet5", "--limit", "256", "--epochs", "1", "--seed", seed, "--dropout", "0.2", "--out",
                                folder / name, "--plot", folder / "p.png", "--show", "0"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return io::read_file(folder / name);
  };
  const auto first = train("a", "5");
  EXPECT_EQ(first, train("b", "5"));
  EXPECT_NE(first, train("c", "6"));
}

TEST(App, ResumedTrainingEndsInTheSameModel) {
  const TemporaryFolder folder;
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> all{"train",    "mnist-mlp", "--limit",        "256",    "--dropout", "0.2", "--schedule",
                                 "constant", "--plot",    folder / "p.png", "--show", "0"};
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = tegula_cli(all);
    EXPECT_EQ(ran.status, 0) << ran.err;
  };
  train({"--epochs", "2", "--out", folder / "whole"});
  train({"--epochs", "1", "--out", folder / "half", "--checkpoint", folder / "run"});
  train({"--epochs", "2", "--out", folder / "resumed", "--resume", folder / "run"});
  EXPECT_EQ(io::read_file(folder / "whole"), io::read_file(folder / "resumed"));
}

TEST(App, ShowsModelsAndWhatBecomesOfThem) {
  const Ran summary = tegula_cli({"summary", "mnist-cnn", "--batch", "2"});
  EXPECT_EQ(summary.status, 0) << summary.err;
  EXPECT_HAS(summary.out, "conv2    Conv2d    weight (24, 12, 6, 6), bias (24,)   (2, 24, 14, 14)");
  EXPECT_HAS(summary.out, "354002");
  const Ran plan = tegula_cli({"graph", "mnist-mlp", "--stage", "plan", "--step"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_HAS(plan.out, "call matmul");
  const Ran tile = tegula_cli({"graph", "mnist-mlp", "--stage", "tile", "--step"});
  EXPECT_EQ(tile.status, 0) << tile.err;
  EXPECT_HAS(tile.out, "store");
  const Ran dot = tegula_cli({"graph", "lenet5", "--dot"});
  EXPECT_EQ(dot.status, 0) << dot.err;
  EXPECT_HAS(dot.out, "digraph tegula");
  EXPECT_HAS(dot.out, "conv1.weight");
}

TEST(App, ShowsGraphFiles) {
  const std::string path = ::testing::TempDir() + "app_test.graph";
  nn::Linear layer(4, 3);
  save_graph(path, {.inputs = {"features"}}, layer, ones({2, 4}));
  const Ran info = tegula_cli({"info", path});
  EXPECT_HAS(info.out, "a graph of ");
  EXPECT_HAS(info.out, "features");
  EXPECT_HAS(info.out, "weight");
  EXPECT_HAS(tegula_cli({"graph", path}).out, "matmul");
  EXPECT_HAS(tegula_cli({"graph", path, "--stage", "plan"}).out, "call matmul");
  EXPECT_HAS(tegula_cli({"graph", path, "--dot"}).out, "digraph tegula");
  EXPECT_HAS(tegula_cli({"graph", path, "--step"}).err, "--step with the graph file");
}

TEST(App, CompilesAndRunsPlanFiles) {
  const TemporaryFolder folder;
  const Ran compiled = tegula_cli({"compile", "mnist-cnn", "--batch", "2", "--out", folder / "m.plan"});
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_HAS(compiled.out, "m.plan: mnist-cnn for cpu ");
  const Ran run = tegula_cli({"run", folder / "m.plan", "--out", folder / "y.safetensors"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "y0: f32(2, 10)");
  EXPECT_TRUE(std::filesystem::exists(folder / "y.safetensors"));
  EXPECT_HAS(tegula_cli({"graph", folder / "m.plan", "--stage", "plan"}).out, "0. call convolution [");
  EXPECT_HAS(tegula_cli({"graph", folder / "m.plan", "--stage", "graph"}).out, "convolution");
  EXPECT_HAS(tegula_cli({"info", folder / "m.plan"}).out, "a plan (tegula graph FILE --stage plan prints it)");
  EXPECT_HAS(tegula_cli({"run", folder / "m.plan", "--inputs", folder / "y.safetensors"}).err, "without x0");
  EXPECT_HAS(tegula_cli({"run", folder / "y.safetensors"}).err, "a safetensors file without a plan");
}

TEST(App, AStageThatShowsNothingSaysWhy) {
  const TemporaryFolder folder;
  save_graph(folder / "product.graph", [](const Tensor& a, const Tensor& b) { return matmul(a, b); }, ones({64, 64}), ones({64, 64}));
  EXPECT_HAS(tegula_cli({"graph", folder / "product.graph", "--stage", "tile"}).out, "There is no tile program");
  EXPECT_HAS(tegula_cli({"graph", "mnist-mlp", "--stage", "assembly", "--device", "cpu"}).out, "The cpu has no assembly");
  EXPECT_HAS(tegula_cli({"graph", "mnist-mlp", "--stage", "figures", "--device", "cpu"}).out, "The cpu has no figures");
}

TEST(App, WhereTheModelGoesIsTriedBeforeTheTraining) {
  const TemporaryFolder folder;
  for (const char* option : {"--out", "--checkpoint", "--plot"}) {
    const Ran ran = tegula_cli({"train", "mnist-mlp", "--limit", "256", "--epochs", "1", "--out", folder / "m.st", "--plot",
                                folder / "m.png", option, folder / "no/where.png"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_HAS(ran.err, "create the folder " + (folder / "no"));
    EXPECT_EQ(ran.out, "") << "trained";
  }
  EXPECT_EQ(folder.files(), 0);
}

TEST(App, ATrainingThatDivergesSaysSoAndSavesNothing) {
  const TemporaryFolder folder;
  const Ran ran = tegula_cli({"train", "mnist-mlp", "--limit", "512", "--epochs", "3", "--lr", "1e30", "--out", folder / "m.st", "--plot",
                              folder / "m.png", "--checkpoint", folder / "run"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_HAS(ran.err, "tegula train: got a loss of nan in batch ");
  EXPECT_HAS(ran.err, " of epoch 1");
  EXPECT_HAS(ran.err, "choose a learning rate below 1e+30");
  EXPECT_EQ(ran.out.find("-nan"), std::string::npos) << ran.out;
  EXPECT_EQ(folder.files(), 0);
}

TEST(App, TheDefaultRateSuitsTheSchedule) {
  const TemporaryFolder folder;
  for (const char* schedule : {"constant", "cosine"}) {
    const Ran train = tegula_cli({"train", "lenet5", "--limit", "2000", "--epochs", "3", "--batch", "32", "--optimizer", "sgd",
                                  "--schedule", schedule, "--out", folder / "m.st", "--plot", folder / "m.png", "--show", "0"});
    EXPECT_EQ(train.status, 0) << train.err;
    const Ran eval = tegula_cli({"eval", folder / "m.st", "--limit", "1000"});
    const auto at = eval.out.find("accuracy ");
    ASSERT_NE(at, std::string::npos) << eval.out;
    EXPECT_GT(std::stod(eval.out.substr(at + 9)), 50) << schedule << "\n" << train.out;
  }
}

TEST(App, OutputThatDoesNotArriveIsAnError) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula";
  for (const char* arguments : {"info", "--help", "--version", "summary lenet5"}) {
    const io::ChildResult result = io::run_child({"sh", "-c", program.string() + " " + arguments + " > /dev/full"}, {});
    EXPECT_EQ(result.exit_code, 1) << arguments;
    EXPECT_HAS(result.messages, "standard output");
  }
}

TEST(App, TheLimitOfAQuickBenchIsMeasuredProperly) {
  const TemporaryFolder folder;
  const Ran ran = tegula_cli({"bench", "saxpy", "--quick", "--device", "cpu", "--out", folder / "p.png"});
  const auto at = ran.out.find("cpu copy: ");
  ASSERT_NE(at, std::string::npos) << ran.out;
  EXPECT_GT(std::stod(ran.out.substr(at + 10)), 0.5) << ran.out;  // GB/s; 0 it was
}

TEST(App, ShowsKernelsAndDevices) {
  const Ran kernel = tegula_cli({"kernel", "show", "softmax", "--shape", "64x96", "--dtype", "bf16", "--device", "cpu"});
  EXPECT_EQ(kernel.status, 0) << kernel.err;
  EXPECT_HAS(kernel.out, "reduce max axis 1");    // the tile program
  EXPECT_HAS(kernel.out, "store t6 bf16(");       // the CPU's listing
  EXPECT_HAS(tegula_cli({"kernel", "show", "softmax", "--shape", "64x96", "--stage", "figures", "--device", "cpu"}).out,
             "The cpu has no figures");
  const Ran memory = tegula_cli({"kernel", "show", "cumsum", "--shape", "64x96", "--stage", "memory", "--device", "cpu"});
  EXPECT_HAS(memory.out, "24.0 KiB of arguments, Variables and captured tensors, 24.0 KiB of results");
  const Ran convolution = tegula_cli({"kernel", "show", "conv-tiled", "--shape", "2x16x8x8", "--gradient", "--stage", "plan"});
  EXPECT_EQ(convolution.status, 0) << convolution.err;
  EXPECT_HAS(convolution.out, "convolution_backward_data");
  const Ran info = tegula_cli({"info"});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_HAS(info.out, "cpu: ");
  EXPECT_HAS(info.out, "fp32           at most ");
  EXPECT_HAS(info.out, "cuda:");
  EXPECT_HAS(info.out, "linear algebra ");
}

std::vector<nlohmann::json> json_lines(const std::string& path) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text_of(io::read_file(path)));
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

TEST(App, LogsATrainingInJsonLinesAndForTensorBoard) {
  const TemporaryFolder folder;
  const auto train = [&](const std::string& rate) {
    return tegula_cli({"train",         "mnist-mlp",
                       "--limit",       "600",
                       "--epochs",      "2",
                       "--batch",       "50",
                       "--lr",          rate,
                       "--out",         folder / "m.st",
                       "--plot",        folder / "m.png",
                       "--show",        "0",
                       "--log",         folder / "log.jsonl",
                       "--tensorboard", folder / "tb",
                       "--log-every",   "5"});
  };
  ASSERT_EQ(train("0.01").status, 0);
  const auto lines = json_lines(folder / "log.jsonl");
  ASSERT_EQ(lines.size(), 1U + 4 + 2);  // 24 steps
  EXPECT_EQ(lines[0]["event"], "begin");
  EXPECT_EQ(lines[0]["model"], "mnist-mlp");
  EXPECT_EQ(lines[0]["learning_rate"], 0.01);
  EXPECT_EQ(lines[1]["event"], "step");
  EXPECT_EQ(lines[1]["step"], 5);
  EXPECT_GT(lines[1]["loss"].get<double>(), 0);
  EXPECT_EQ(lines[3]["event"], "epoch");
  EXPECT_EQ(lines[3]["step"], 12);
  EXPECT_GT(lines[6]["test_accuracy"].get<double>(), 0.3);
  std::string events;
  for (const auto& file : std::filesystem::directory_iterator(folder / "tb")) events = text_of(io::read_file(file.path().string()));
  for (auto t : {"brain.Event:2", "loss/train", "loss/test", "accuracy/test", "step/loss", "step/learning_rate"}) EXPECT_HAS(events, t);
  // A second run is appended; values that are no numbers are null.
  EXPECT_EQ(train("1e30").status, 1);
  const auto both = json_lines(folder / "log.jsonl");
  EXPECT_GT(both.size(), lines.size());
  EXPECT_EQ(both.back()["event"], "step");  // the training ends there
  EXPECT_TRUE(both.back()["loss"].is_null()) << both.back();
  EXPECT_HAS(tegula_cli({"train", "mnist-mlp", "--log", folder / "no/where"}).err, "no/where: No such file");
}

TEST(App, OptionsMayStandInAFile) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& config, std::vector<std::string> more) {
    io::write_atomically(folder / "c.toml", testing::bytes_of(config));
    std::vector<std::string> all{"train", "mnist-mlp", "--out", folder / "m.st", "--plot", folder / "m.png"};
    all.insert(all.end(), more.begin(), more.end());
    return tegula_cli(all);
  };
  // Sections of other commands are read and do nothing.
  const std::string config =
      "[train]\nlimit = 200\nepochs = 3\nbatch-norm = true\nshow = 0\n[bench.saxpy]\ndevice = \"abacus\"\n[eval]\ndevice = \"abacus\"\n";
  const Ran file = with(config, {"--config", folder / "c.toml"});
  ASSERT_EQ(file.status, 0) << file.err;
  EXPECT_HAS(file.out, "200 training and 200 test images");
  EXPECT_HAS(file.out, "\n    3 ");
  const Ran overridden = with(config, {"--config=" + (folder / "c.toml"), "--epochs", "1"});
  EXPECT_EQ(overridden.status, 0) << overridden.err;
  EXPECT_HAS(overridden.out, "\n    1 ");
  EXPECT_EQ(overridden.out.find("\n    2 "), std::string::npos) << overridden.out;
  const auto fails = [&](const std::string& text, const std::string& part) {
    const Ran ran = with(text, {"--config", folder / "c.toml"});
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_HAS(ran.err, part);
  };
  fails("[train]\nepoch = 3\n", "c.toml: train.epoch: tegula train has no such option; did you mean epochs?");
  fails("[trian]\nepochs = 3\n", "c.toml: trian.epochs: no command trian; did you mean train?");
  fails("epochs = 3\n", "c.toml: epochs stands in no section; write [train]");
  fails("[train]\nepochs = many\n", "--epochs: got many, expected a number of at least 0");
  EXPECT_EQ(with("", {"--config", folder / "none.toml"}).status, 2);
}

TEST(App, ShellsCompleteCommandsOptionsAndValues) {
  const auto complete = [](std::vector<std::string> words) {
    words.insert(words.begin(), "--complete");
    return tegula_cli(words).out;
  };
  EXPECT_EQ(complete({"tr"}), "train\ntranslate\n");
  EXPECT_HAS(complete({""}), "bench\n");
  EXPECT_EQ(complete({"bench", "s"}), "saxpy\nscaling\n");
  EXPECT_EQ(complete({"train", "--opt"}), "--optimizer\n");
  EXPECT_EQ(complete({"train", "lenet5", "--optimizer", "ada"}), "adam\nadamw\nadagrad\nadadelta\n");
  EXPECT_EQ(complete({"train", "lenet5", "--optimizer", "=", "s"}), "sgd\n");
  EXPECT_EQ(complete({"train", "lenet5", "--optimizer=s"}), "--optimizer=sgd\n");  // fish, zsh
  EXPECT_EQ(complete({"train", "mnist"}), "mnist-mlp\nmnist-cnn\n");
  EXPECT_EQ(complete({"train", "--out", ""}), "");  // files are the shell's business
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula";
  const std::string script = "eval \"$(" + program.string() + " completion bash)\"; COMP_WORDS=(" + program.string() +
                             " train lenet5 --sch); COMP_CWORD=3; _tegula; echo \"${COMPREPLY[@]}\"";
  const io::ChildResult bash = io::run_child({"bash", "-c", script}, {});
  EXPECT_TRUE(!bash.found || text_of(bash.output) == "--schedule\n") << text_of(bash.output) << bash.messages;
  // Replaces the parts of zsh that work in a completion only: matches are printed, files are "files".
  const auto zsh_completes = [&](const std::string& words) {
    const std::string zsh = "compdef() {}; compadd() { print -r -- $found; }; _files() { print files; }; eval \"$(" + program.string() +
                            " completion zsh)\"; words=(" + program.string() + " " + words + "); CURRENT=$#words; _tegula";
    const io::ChildResult ran = io::run_child({"zsh", "-f", "-c", zsh}, {});
    return ran.found ? text_of(ran.output) + ran.messages : std::string("no zsh");
  };
  if (zsh_completes("tr") != "no zsh") {
    EXPECT_EQ(zsh_completes("tr"), "train translate\n");
    EXPECT_EQ(zsh_completes("train lenet5 --sch"), "--schedule\n");
    EXPECT_EQ(zsh_completes("train lenet5 --optimizer ada"), "adam adamw adagrad adadelta\n");
    EXPECT_EQ(zsh_completes("train --out ''"), "files\n");
  }
  EXPECT_HAS(tegula_cli({"completion", "zsh"}).out, "compdef _tegula tegula");
  EXPECT_HAS(tegula_cli({"completion", "fish"}).out, "complete -c tegula");
  EXPECT_EQ(tegula_cli({"completion", "csh"}).status, 2);
}

/// The program's output in a terminal of this width.
std::string in_terminal(unsigned short columns, std::vector<std::string> arguments) {
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const auto program = (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "tegula").string();
    std::vector<char*> pointers{const_cast<char*>(program.c_str())};
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    ::_exit(127);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(status, 0) << text;
  return text;
}

/// Columns that a line takes, without what moves the cursor.
std::size_t width_of(const std::string& line) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.compare(i, 3, "\x1b[K") == 0) i += 2;
    else if (line[i] != '\r' && (line[i] & 0xC0) != 0x80) ++width;
  }
  return width;
}

TEST(App, ProgressFitsANarrowTerminal) {
  const TemporaryFolder folder;
  for (const unsigned short columns : {40, 64, 120}) {
    const std::string text = in_terminal(columns, {"train", "lenet5", "--limit", "3000", "--epochs", "1", "--batch", "20", "--show", "0",
                                                   "--threads", "1", "--out", folder / "m.st", "--plot", folder / "m.png"});
    std::size_t drawn = 0;
    std::string piece;
    for (const char c : text) {  // each carriage return draws the line again
      if (c != '\r') {
        piece += c;
        continue;
      }
      if (piece.find("ETA") != std::string::npos || piece.find("loss 0") != std::string::npos ||
          piece.find("loss 1") != std::string::npos || piece.find("loss 2") != std::string::npos) {
        ++drawn;
        EXPECT_LT(width_of(piece), columns) << piece;
        EXPECT_HAS(piece, "epoch 1/1");
        EXPECT_TRUE(columns < 64 || piece.find("ETA") != std::string::npos) << piece;
      }
      piece.clear();
    }
    EXPECT_GT(drawn, 0U) << text;
    const auto row = text.find("\r    1 ");
    ASSERT_NE(row, std::string::npos) << text;
    const std::string line = text.substr(row + 1, text.find('\n', row) - row - 1);
    EXPECT_LE(width_of(line), columns) << line;
    EXPECT_EQ(text.find("time") != std::string::npos, columns >= 64) << "a narrow table does without";
  }
}

TEST(App, TimesBelowASecondAreShown) {
  const TemporaryFolder folder;
  const Ran ran = tegula_cli(
      {"train", "mnist-mlp", "--limit", "200", "--epochs", "2", "--show", "0", "--out", folder / "m.st", "--plot", folder / "m.png"});
  const auto row = ran.out.find("\n    2 ");
  ASSERT_NE(row, std::string::npos) << ran.out;
  const std::string line = ran.out.substr(row + 1, ran.out.find('\n', row + 1) - row - 1);
  EXPECT_TRUE(line.find(" ms ") != std::string::npos || line.find("0.") != std::string::npos) << line;
  EXPECT_EQ(line.find(" 0 s "), std::string::npos) << line;
}

TEST(App, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto fails = [](std::vector<std::string> arguments, int status, const std::string& part) {
    const Ran ran = tegula_cli(std::move(arguments));
    EXPECT_EQ(ran.status, status) << ran.err;
    EXPECT_HAS(ran.err, part);
  };
  fails({"train", "resnet"}, 2, "no model or command resnet");
  fails({"train", "mnist-mlp", "--data", folder.path()}, 1, "no file train-images-idx3-ubyte");
  fails({"train", "mnist-mlp", "--optimizer", "magic"}, 2, "magic");
  fails({"train", "mnist-mlp", "--epochs", "-1"}, 2, "--epochs: got -1, expected a number of at least 0\n");
  fails({"train", "mnist-mlp", "--batch", "0"}, 2, "--batch: got 0, expected a number above 0\n");
  fails({"train", "mnist-mlp", "--batch", "8x"}, 2, "--batch: got 8x, expected a number above 0\n");
  fails({"train", "mnist-mlp", "--lr", "inf"}, 2, "--lr: got inf, expected a number above 0\n");
  fails({"train", "mnist-mlp", "--dropout", "2"}, 2, "--dropout: got 2, expected a number from 0 to 0.99\n");
  fails({"train", "mnist-mlp", "--resume", folder / "none", "--limit", "10"}, 1, "none");
  fails({"train", "mnist-mlp", "--threads", "0"}, 2, "--threads: got 0, expected a number above 0\n");
  fails({"bench", "gemm", "--threads", "5000"}, 1, "set_num_threads: got 5000, expected 1 to 1024");
  fails({"eval", folder / "none"}, 1, "none");
  io::write_atomically(folder / "text", testing::bytes_of("this is no model"));
  fails({"eval", folder / "text"}, 1, "text");
  fails({"predict", folder / "text"}, 2, "inputs");
  fails({"info", "--device", "cpu"}, 2, "tegula info: unknown option --device");
  fails({"bench", "gemm", "--precision", "fp7"}, 2, "fp7");
  fails({"bench", "gemm", "--sizes", "16:8:4"}, 2, "from:to:step");
  fails({"bench", "lu", "--sizes", "16,x"}, 2, "from:to:step");
  fails({"kernel", "show", "relu", "--shape", "8xx"}, 1, "the shape 8xx");
  fails({"kernel", "show", "conv-direct"}, 1, "expected images");
  fails({"summary", "lenet5", "--device", "abacus"}, 1, "abacus");
  if (std::string why; cuda_count(&why) == 0) {
    fails({"bench", "saxpy", "--device", "cuda"}, 1, why);
    fails({"train", "mnist-mlp", "--limit", "10", "--device", "cuda"}, 1, why);
  }
  // Words that mean nothing, with the suggestion for them.
  fails({"foo"}, 2, "tegula: no command foo\nThere are train, eval, ");
  fails({"evla"}, 2, "tegula: no command evla; did you mean eval?");
  fails({"bench", "nonsense"}, 2, "tegula bench: no command nonsense");
  fails({"train", "gtp", "input.txt"}, 2, "tegula train: no model or command gtp; did you mean gpt?\nThere are mnist-mlp, ");
  fails({"summary", "lenet-5"}, 1,
        "the model lenet-5, which is no file, expected a model file, or one of mnist-mlp, mnist-cnn, lenet5, resnet20\n  hint: did you "
        "mean lenet5?");
  fails({"generate"}, 2, "tegula generate: --model is required\n");
  fails({}, 2, "tegula: got no command, expected one\nThere are train, ");
  fails({"train", "lenet5", "--epoch", "2"}, 2, "tegula train: unknown option --epoch; did you mean --epochs?\n");
  fails({"train", "lenet5", "--xyz=3"}, 2, "tegula train: unknown option --xyz\n");
  fails({"summary", "lenet5", "cpu"}, 2, "tegula summary: unexpected argument cpu\n");
  fails({"info", "cpu"}, 1, "tegula info: got cpu: No such file");
  std::ofstream(folder / "words.onnx") << "no model\n";
  for (const char* command : {"eval", "summary"}) {
    fails({command, folder / "words.onnx"}, 1, "words.onnx, which is none of the kinds of files that are known, expected a model: ");
  }
  fails({"eval", "absent.onnx"}, 1, "tegula: got absent.onnx: No such file or directory");
  fails({"train", "mnist-mlp", "--lr", "nan"}, 2, "tegula train: --lr: got nan, expected a number above 0\n");
  fails({"train", "mnist-mlp", "--config", "nothing.toml"}, 2,
        "tegula train: --config: got nothing.toml: No such file or directory, expected a readable file\n");
  fails({"--threads", "2", "info"}, 2, "tegula: unknown option --threads; options stand behind the command\n");
  for (const char* option : {"--batch", "--epochs", "--limit", "--seed"})
    fails({"train", "mnist-mlp", option, "99999999999999999999"}, 2, ": got 99999999999999999999, a number that is too large\n");
  for (const char* option : {"--resume", "--checkpoint", "--out", "--data"})
    fails({"train", "mnist-mlp", option, ""}, 2, "got an empty name, expected a file\n");
  fails({"kernel", "show", "softmax", "--shape", "0x5"}, 1, "the shape 0x5, expected at least one element");
  fails({"graph", "mnist-mlp", "--dot", "--stage", "memory"}, 1, "--dot with --stage memory, expected the stage graph, plan or tile");
  fails({"bench", "gemm", "--quick", "--device", "cpu", "--precision", "fp8", "--out", folder / "p.png"}, 1, "nothing to measure");
  fails({"bench", "saxpy", "--quick", "--out", folder / "no/where.png"}, 1, "create the folder");
  fails({"bench", "saxpy", "--quick", "--json", folder / "no/where.json", "--out", folder / "p.png"}, 1, "create the folder");
  fails({"bench", "saxpy", "--quick", "--out", folder / "p.jpg"}, 1, "expected .png or .svg");
  EXPECT_EQ(tegula_cli({"--help"}).status, 0);
  EXPECT_HAS(tegula_cli({"--version"}).out, "tegula 0.");
  EXPECT_EQ(tegula_cli({"train", "--help"}).status, 0);
}

}  // namespace
}  // namespace tegula

// Ctrl-C in a training of the command line.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tegula/io/file.h"
#include "tegula/io/png.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::tegula_cli;
using testing::tegula_program;
using testing::TemporaryFolder;

/// The status of a training that gets SIGINT once its log has so many lines.
int interrupted_training(const std::vector<std::string>& arguments, const std::string& log, int lines) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);  // a shell in the background ignores it
    std::vector<std::string> all{tegula_program().string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> words;
    for (std::string& word : all) words.push_back(word.data());
    words.push_back(nullptr);
    static_cast<void>(std::freopen((log + ".out").c_str(), "w", stdout));
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    execv(words[0], words.data());
    _exit(127);
  }
  for (int wait = 0; wait < 6000; ++wait) {
    std::ifstream file(log);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (std::ranges::count(text, '\n') >= lines) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGINT);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Stopped behind some epochs and gone on with, a training ends in the same file as one that was not stopped.
void expect_to_go_on(const TemporaryFolder& folder, const std::vector<std::string>& common) {
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return more;
  };
  const int status =
      interrupted_training(with({"--out", folder / "part", "--checkpoint", folder / "run", "--log", folder / "log"}), folder / "log", 6);
  EXPECT_EQ(status, 128 + SIGINT);
  EXPECT_TRUE(std::filesystem::exists(folder / "run"));
  EXPECT_EQ(tegula_cli(with({"--out", folder / "resumed", "--resume", folder / "run"})).status, 0);
  EXPECT_EQ(tegula_cli(with({"--out", folder / "whole"})).status, 0);
  EXPECT_EQ(io::read_file(folder / "whole"), io::read_file(folder / "resumed"));
}

TEST(App, CtrlCSavesACheckpointFromWhichTheTrainingGoesOnToTheBit) {
  const TemporaryFolder folder;
  expect_to_go_on(folder,
                  {"train", "mnist-mlp", "--limit", "1000", "--epochs", "60", "--batch", "10", "--plot", folder / "c.png", "--show", "0"});
  const io::Bytes said = io::read_file(folder / "log.out");  // the whole command, so that no option is forgotten
  const std::string text(reinterpret_cast<const char*>(said.data()), said.size());
  EXPECT_NE(text.find("to go on: tegula train mnist-mlp --limit 1000 --epochs 60 --batch 10 "), std::string::npos) << text;
  EXPECT_NE(text.find(" --resume " + (folder / "run") + "\n"), std::string::npos) << text;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
}

TEST(App, CtrlCEndsATrainingOverATableThatGoesOnToTheBit) {
  const TemporaryFolder folder;
  std::string text = "x,y,kind\n";
  for (int i = 0; i < 3000; ++i)
    text += std::to_string(i % 97) + "," + std::to_string(i % 31) + "," + (i % 97 + i % 31 < 60 ? "a" : "b") + "\n";
  io::write_atomically(folder / "t.csv", testing::bytes_of(text));
  expect_to_go_on(folder, {"train", "table", folder / "t.csv", "--target", "kind", "--epochs", "40", "--patience", "40", "--batch", "16",
                           "--plot", folder / "t.png"});
}

TEST(App, CtrlCEndsATrainingOverPicturesThatGoesOnToTheBit) {
  const TemporaryFolder folder;
  for (const std::string kind : {"dark", "light"}) {
    std::filesystem::create_directories(folder / ("pictures/" + kind));
    for (int i = 0; i < 40; ++i) {
      HostArray picture = HostArray::empty(u8, {8, 8, 3});
      for (std::int64_t k = 0; k < picture.size(); ++k)
        picture.values<std::uint8_t>()[static_cast<std::size_t>(k)] =
            static_cast<std::uint8_t>((kind == "dark" ? 60 : 120) + (i * 37 + k * 11) % 90);
      io::write_png(folder / ("pictures/" + kind + "/" + std::to_string(i) + ".png"), picture);
    }
  }
  expect_to_go_on(folder, {"train", "images", folder / "pictures", "--size", "8", "--width", "4", "--stages", "2", "--batch", "4",
                           "--epochs", "30", "--patience", "30", "--plot", folder / "p.png"});
}

}  // namespace
}  // namespace tegula

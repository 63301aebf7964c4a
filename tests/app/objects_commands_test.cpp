// Objects in pictures at the command line: masks, boxes, and nets that make pictures.

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/data/image_grid.h"
#include "tegula/data/scenes.h"
#include "tegula/io/png.h"
#include "tests/app/cli.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

/// Drawn digits as a folder of pictures with masks and YOLO's labels.
void write_scenes(const TemporaryFolder& folder, std::int64_t count) {
  const data::Scenes scenes = data::draw_scenes(count, 5);
  for (const char* part : {"images", "masks", "labels"}) std::filesystem::create_directories(folder / part);
  for (std::int64_t i = 0; i < count; ++i) {
    const data::Sample scene = scenes.get(i);
    const std::string name = "/" + std::to_string(i);
    io::write_png(folder / ("images" + name + ".png"), data::image_grid(std::span(&scene[0], 1)));
    HostArray mask = HostArray::empty(u8, {64, 64});
    for (std::size_t p = 0; p < 64 * 64; ++p)
      mask.values<std::uint8_t>()[p] = scene[3].values<std::int64_t>()[p] > 0 ? std::uint8_t{255} : std::uint8_t{0};
    io::write_png(folder / ("masks" + name + ".png"), mask);
    std::string text;
    const auto boxes = scene[1].values<float>();
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int64_t of_class = scene[2].values<std::int64_t>()[k];
      if (of_class < 0) continue;
      const float* b = boxes.data() + 4 * k;
      text += std::to_string(of_class);
      for (const float share : {(b[0] + b[2]) / 128, (b[1] + b[3]) / 128, (b[2] - b[0]) / 64, (b[3] - b[1]) / 64})
        text += " " + std::to_string(share);
      text += "\n";
    }
    io::write_atomically(folder / ("labels" + name + ".txt"), testing::bytes_of(text));
  }
  io::write_atomically(folder / "classes.txt", testing::bytes_of("zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"));
}

TEST(ObjectCommands, AUnetIsTrainedOnDrawnDigitsMeasuredAndUsed) {
  const TemporaryFolder folder;
  const std::string model = folder / "u.safetensors";
  const Ran train = tegula_cli({"train", "unet", "--pictures", "160", "--epochs", "3", "--batch", "8", "--lr", "0.01", "--out", model,
                                "--plot", folder / "u.png", "--examples", folder / "e.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "drawn digits: ground, stroke. Pictures of 64 x 64. ");
  EXPECT_HAS(train.out, "160 pictures to train on, 160 to validate.");
  EXPECT_HAS(train.out, "mean IoU");
  EXPECT_HAS(train.out, "  stroke           IoU 0.");
  EXPECT_EQ(io::read_png(folder / "e.png").shape[2], 3);
  const Ran eval = tegula_cli({"eval", model});
  ASSERT_EQ(eval.status, 0) << eval.err;
  const std::size_t at = eval.out.find("mean IoU ");
  ASSERT_NE(at, std::string::npos) << eval.out;
  EXPECT_GT(std::stod(eval.out.substr(at + 9)), 0.6) << eval.out;
  write_scenes(folder, 3);
  const Ran predict = tegula_cli({"predict", model, folder / "images/0.png", folder / "images/1.png", "--found", folder.path()});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_HAS(predict.out, "images/0.png: ground ");
  EXPECT_EQ(io::read_png(folder / "1.found.png").shape, (Shape{256, 256, 3}));
  EXPECT_HAS(tegula_cli({"summary", model}).out, "u.safetensors: segmentation");
  EXPECT_HAS(tegula_cli({"eval", model, "--data", folder.path()}).err, "expected pictures with those of the model: ground, stroke");
  EXPECT_HAS(tegula_cli({"train", "unet", "--depth", "6", "--size", "8", "--data", folder.path()}).err, "--size 8 with --depth 6");
}

TEST(ObjectCommands, AFolderWithMasksIsTrainedOn) {
  const TemporaryFolder folder;
  write_scenes(folder, 24);
  const std::string model = folder / "u.safetensors";
  const Ran train = tegula_cli({"train", "unet", "--data", folder.path(), "--size", "32", "--gray", "--epochs", "1", "--batch", "8",
                                "--width", "4", "--out", model, "--plot", folder / "u.png", "--examples", folder / "e.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "zero, one, two, three, four, five, six, seven, eight, nine. Pictures of 32 x 32. ");
  EXPECT_HAS(train.out, "19 pictures to train on, 5 to validate.");
  EXPECT_EQ(tegula_cli({"eval", model, "--data", folder.path()}).status, 0);
}

TEST(ObjectCommands, ADetectorIsTrainedMeasuredAndUsed) {
  const TemporaryFolder folder;
  write_scenes(folder, 40);
  const std::string model = folder / "d.safetensors";
  const Ran train = tegula_cli(
      {"train",   "detector", "--data",  folder.path(), "--size", "64",  "--gray", "--no-flip",      "--epochs",   "2",
       "--batch", "8",        "--width", "4",           "--out",  model, "--plot", folder / "d.png", "--examples", folder / "e.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "Pictures of 64 x 64, anchors of ");
  EXPECT_HAS(train.out, "mAP@0.5");
  EXPECT_HAS(train.out, "32 pictures to train on, 8 to validate.");
  EXPECT_EQ(io::read_png(folder / "e.png").shape[2], 3);
  const Ran predict = tegula_cli({"predict", model, folder / "images/0.png", "--found", folder.path()});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_HAS(predict.out, "images/0.png: ");
  EXPECT_TRUE(io::is_there(folder / "0.found.png"));
  EXPECT_HAS(tegula_cli({"eval", model, "--data", folder.path()}).out, "of 40 pictures: mAP ");
  EXPECT_HAS(tegula_cli({"eval", model}).err, "expected pictures with those of the model: zero, one");
  EXPECT_HAS(tegula_cli({"summary", model}).out, "d.safetensors: detection");
}

TEST(ObjectCommands, AGanAndAVaeAreTrainedAndMakePictures) {
  const TemporaryFolder folder;
  for (const std::string kind : {"gan", "vae"}) {
    const std::string model = folder / (kind + ".safetensors"), pictures = folder / (kind + "-pictures.png");
    const Ran train = tegula_cli({"train", kind, "--limit", "128", "--epochs", "2", "--batch", "32", "--width", "4", "--latent", "8",
                                  "--out", model, "--plot", folder / (kind + ".png"), "--pictures", pictures});
    ASSERT_EQ(train.status, 0) << train.err;
    EXPECT_HAS(train.out, kind == "gan" ? "distance" : "nats a test picture");
    EXPECT_EQ(io::read_png(pictures).shape[1], 8 * 56 + 7 * 2);
    for (const std::string& out : {folder / "a.png", folder / "b.png"})
      EXPECT_EQ(tegula_cli({"generate", model, "--samples", "3", "--seed", "4", "--pictures", out}).status, 0);
    EXPECT_EQ(io::read_file(folder / "a.png"), io::read_file(folder / "b.png"));
  }
  EXPECT_HAS(tegula_cli({"train", "gan", "--coloured"}).err, "a model of coloured images (3, 32, 32) without any");
}

TEST(ObjectCommands, AResNetOfCifarIsTrainedOnFoldersOfPictures) {
  const TemporaryFolder folder;
  unsigned state = 7;
  for (const char* part : {"train/dark", "train/light", "test/dark", "test/light"}) {
    std::filesystem::create_directories(folder / ("p/" + std::string(part)));
    for (int i = 0; i < 8; ++i) {
      HostArray picture = HostArray::empty(u8, {32, 32, 3});
      for (auto& value : picture.values<std::uint8_t>())
        value = static_cast<std::uint8_t>((std::string(part).ends_with("dark") ? 30 : 170) +
                                          (state = state * 1664525u + 1013904223u) / 65536 % 50);
      io::write_png(folder / ("p/" + std::string(part) + "/" + std::to_string(i) + ".png"), picture);
    }
  }
  const std::string model = folder / "r.safetensors";
  const Ran train = tegula_cli({"train", "resnet20", "--data", folder / "p", "--epochs", "2", "--batch", "8", "--show", "2", "--out", model,
                                "--plot", folder / "r.png"});
  ASSERT_EQ(train.status, 0) << train.err;
  EXPECT_HAS(train.out, "16 training and 16 test images");
  EXPECT_EQ(tegula_cli({"eval", model, "--data", folder / "p"}).status, 0);
  EXPECT_EQ(tegula_cli({"predict", model, folder / "p/test/dark/0.png"}).status, 0);
  EXPECT_HAS(tegula_cli({"train", "resnet20"}).err, "expected --data FOLDER: data_batch_1.bin");
}

}  // namespace
}  // namespace tegula

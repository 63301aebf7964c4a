#include "tegula/data/mnist.h"

#include <sys/stat.h>

#include "tegula/core/error.h"
#include "tegula/data/idx.h"

namespace tegula::data {
namespace {

constexpr std::int64_t kClasses = 10;

[[noreturn]] void complain(const std::string& file, const std::string& got, std::string expected, std::string advice) {
  throw Error({.op = "mnist", .got = file + ": " + got, .expected = std::move(expected), .advice = std::move(advice)});
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

/// "train", "images", 3 is train-images-idx3-ubyte or train-images.idx3-ubyte, with or without .gz.
std::string find(const std::string& dir, const std::string& set, const std::string& what, int rank) {
  const std::string stem = dir + "/" + set + "-" + what, tail = "idx" + std::to_string(rank) + "-ubyte";
  for (const char* joint : {"-", "."}) {
    for (const char* end : {"", ".gz"}) {
      if (std::string path = stem + joint + tail + end; exists(path)) return path;
    }
  }
  complain(dir, "no file " + set + "-" + what + "-" + tail + " or the same with .gz", "the four MNIST files in this folder",
           "put them there, or leave the folder out and use the drawn digits");
}

HostArray read(const std::string& path, int rank) {
  HostArray array = read_idx(path);
  if (array.dtype != u8 || array.shape.rank() != rank) {
    complain(path, "shape " + to_string(array.shape) + " of " + std::string(name(array.dtype)), "rank " + std::to_string(rank) + " of u8",
             "the files may have been mixed up");
  }
  return array;
}

LabelledImages load(const std::string& dir, const std::string& set) {
  const std::string image_path = find(dir, set, "images", 3), label_path = find(dir, set, "labels", 1);
  const HostArray pixels = read(image_path, 3);   // (N, H, W)
  const HostArray classes = read(label_path, 1);  // (N,)
  if (pixels.shape[0] != classes.shape[0]) {
    complain(label_path, std::to_string(classes.shape[0]) + " labels", std::to_string(pixels.shape[0]) + ", one per image in " + image_path,
             "the files may belong to different sets");
  }
  if (pixels.bytes() == 0)
    complain(image_path, "shape " + to_string(pixels.shape), "at least one image of at least one pixel",
             "the file is damaged; fetch it again");
  LabelledImages result{HostArray::empty(f32, {pixels.shape[0], 1, pixels.shape[1], pixels.shape[2]}),
                        HostArray::empty(i64, classes.shape)};
  const auto from = pixels.values<std::uint8_t>();
  const auto to = result.images.values<float>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
  const auto labels = classes.values<std::uint8_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= kClasses)
      complain(label_path, "label " + std::to_string(labels[i]) + " at " + std::to_string(i), "0 to 9",
               "the file is damaged; fetch it again");
    result.labels.values<std::int64_t>()[i] = labels[i];
  }
  return result;
}

}  // namespace

std::pair<LabelledImages, LabelledImages> mnist(const std::string& dir) {
  std::pair sets{load(dir, "train"), load(dir, "t10k")};
  const Shape &train = sets.first.images.shape, &test = sets.second.images.shape;
  if (train[2] != test[2] || train[3] != test[3]) {
    complain(dir, "training images " + to_string(train) + " and test images " + to_string(test), "images of one size",
             "the files may belong to different sets");
  }
  return sets;
}

}  // namespace tegula::data

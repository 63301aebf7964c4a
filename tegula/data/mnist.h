#pragma once
// The MNIST data set and its siblings in the same files (Fashion-MNIST, KMNIST).

#include <string>
#include <utility>

#include "tegula/data/labelled_images.h"

namespace tegula::data {

/// {train, test} from the four idx files in folder `dir` under their usual names, plain or .gz: images (N, 1, H, W) f32 in [0, 1]
/// (pixel / 255) and labels (N,) i64 from 0 to 9. Throws Error when a file is missing or damaged, when images and labels differ in
/// number or the two sets in image size, and for labels above 9.
std::pair<LabelledImages, LabelledImages> mnist(const std::string& dir);

}  // namespace tegula::data

#pragma once
// CIFAR-10 in its binary form (A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009).

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tegula/data/labelled_images.h"

namespace tegula::data {

/// Records of one label and 3 x 32 x 32 bytes: images (N, 3, 32, 32) f32 in [0, 1] and labels (N,) i64 from 0 to 9. `name` stands for the
/// file in messages. Throws Error when the size is no multiple of a record or a label is above 9.
LabelledImages parse_cifar10(std::span<const std::byte> bytes, std::string_view name);

/// {train, test}: data_batch_1.bin to data_batch_5.bin (the files that are there, at least the first) and test_batch.bin in folder `dir`.
std::pair<LabelledImages, LabelledImages> cifar10(const std::string& dir);

}  // namespace tegula::data

#pragma once
// A data set that needs no download: handwritten-looking digits, drawn by the program.

#include <cstdint>

#include "tegula/data/labelled_images.h"

namespace tegula::data {

/// `count` drawn digits: images (count, 1, 28, 28) f32 in [0, 1] in steps of 1/255, light strokes on a dark ground as in MNIST;
/// labels (count,) i64, every ten images holding each class once in random order. Strokes in several styles per digit are
/// jittered, transformed (rotation, shear, scale, shift), bent by a smooth random field (elastic distortion after Simard et al.,
/// "Best practices for convolutional neural networks", 2003), drawn with varying thickness, and noise is added. The same seed
/// gives the same bits; image i depends on seed and i alone, so a smaller count is a prefix of a larger one. Use different seeds
/// for training and test. About 20 µs per image on one core. Throws Error for a negative count.
LabelledImages draw_digits(std::int64_t count, std::uint64_t seed);

}  // namespace tegula::data

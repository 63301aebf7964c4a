#pragma once
// Predictions for people.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/pictures.h"
#include "tegula/core/host_array.h"
#include "tegula/models/registry.h"

namespace tegula::app {

struct Guess {
  std::int64_t best, second;
  double best_probability, second_probability;
};
/// The two most probable classes of each image (N, …).
std::vector<Guess> classify(models::Model& model, const HostArray& images);

/// The images (N, C, H, W), of coloured ones the mean of their channels, drawn with guess and probability; with the truth where it is known.
std::string draw(const HostArray& images, std::span<const Guess> guesses, std::span<const std::int64_t> truth = {});

/// Half blocks, or ASCII when the environment says the terminal cannot show them (TERM=dumb, TEGULA_ASCII).
Ink terminal_ink();

}  // namespace tegula::app

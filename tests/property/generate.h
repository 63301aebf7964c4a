#pragma once

#include "tests/property/program.h"

namespace tegula::property {

enum class Size : std::uint8_t { Small, Large };
/// Whether there are weights, and parts that are made of them alone: as the seed has it (two of five), in every program, in none.
enum class Weights : std::uint8_t { Drawn, Some, None };

/// The program of a seed: the same on every machine. Its values are finite and moderate, apart from a few.
Program generate(std::uint64_t seed, Size size = Size::Small, Weights weights = Weights::Drawn);

}  // namespace tegula::property

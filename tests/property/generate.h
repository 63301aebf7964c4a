#pragma once

#include "tests/property/program.h"

namespace tegula::property {

enum class Size : std::uint8_t { Small, Large };
/// The share of programs with weights, and parts made of them alone: drawn from the seed (two of five), every program, none.
enum class Weights : std::uint8_t { Drawn, Some, None };

/// The program of a seed: the same on every machine. Its values are finite and moderate, apart from a few.
Program generate(std::uint64_t seed, Size size = Size::Small, Weights weights = Weights::Drawn);

}  // namespace tegula::property

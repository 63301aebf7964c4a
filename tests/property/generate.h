#pragma once

#include "tests/property/program.h"

namespace tegula::property {

enum class Size : std::uint8_t { Small, Large };

/// The program of a seed: the same on every machine. Its values are finite and moderate, apart from a few.
Program generate(std::uint64_t seed, Size size = Size::Small);

}  // namespace tegula::property

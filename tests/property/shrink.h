#pragma once

#include <functional>

#include "tests/property/program.h"

namespace tegula::property {

/// The smallest program found that still fails: instructions are dropped or replaced by inputs of their shape, ops by plainer ones, sizes and dtypes
/// by smaller ones, as long as `fails` holds. Ends after `seconds`.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, double seconds = 30);

}  // namespace tegula::property

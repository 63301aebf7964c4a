#pragma once
// Tile programs as JSON: the kernels of one's own in graph files.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "tegula/ops/tile_kernel_op.h"

namespace tegula::formats {

nlohmann::json program_json(const TileProgram& program);

/// Called with what is wrong; does not return.
using Complain = std::function<void(const std::string& got, const std::string& expected)>;
/// The program that `json` spells, verified. What it loads and stores is not: it is code.
std::shared_ptr<const TileProgram> program_from_json(const nlohmann::json& json, const Complain& complain);

}  // namespace tegula::formats

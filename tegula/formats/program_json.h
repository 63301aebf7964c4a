#pragma once
// Tile programs as JSON: the kernels of one's own in graph files, and the steps of plans.

#include <nlohmann/json.hpp>
#include <string>

#include "tegula/formats/json_reader.h"
#include "tegula/ops/tile_kernel_op.h"

namespace tegula::formats {

nlohmann::json program_json(const tile::Program& program);
nlohmann::json program_json(const TileProgram& program);

/// The verified program in `json`. The addresses it loads and stores are not checked: it is code.
std::shared_ptr<const TileProgram> program_from_json(const nlohmann::json& json, const Complain& complain);
/// The same of a program without sentences.
tile::Program tile_program_from_json(const nlohmann::json& json, const Complain& complain);

}  // namespace tegula::formats

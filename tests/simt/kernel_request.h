#pragma once
// A back end's request to the code generator, as a line of JSON: recorded by tests/cuda/driver/recorded_generate.cpp, read by regenerate.cpp.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tegula/formats/program_json.h"
#include "tegula/simt/codegen.h"

namespace tegula::gpu {

struct KernelRequest {
  tile::Program program;
  Specialisation specialisation;
  int architecture = 90;
};

inline std::string request_line(const tile::Program& program, const Specialisation& known, int architecture) {
  const nlohmann::json json{{"program", formats::program_json(program)},
                            {"facts", known.facts},
                            {"many_sets", known.many_sets},
                            {"guarded", known.guarded},
                            {"one_axis", known.one_axis},
                            {"architecture", architecture}};
  return json.dump();
}

inline KernelRequest request_of(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line);
  const auto complain = [](const std::string& got, const std::string& expected) {
    throw std::runtime_error(got + " instead of " + expected);
  };
  return {.program = formats::tile_program_from_json(json.at("program"), complain),
          .specialisation = {.facts = json.at("facts").get<std::vector<std::uint8_t>>(),
                             .many_sets = json.at("many_sets"),
                             .guarded = json.at("guarded"),
                             .one_axis = json.at("one_axis")},
          .architecture = json.at("architecture")};
}

}  // namespace tegula::gpu

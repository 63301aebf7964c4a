#pragma once
// What the user probably meant.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tegula::app {

/// The candidate that differs in few letters, or begins with the word; "" when none is near.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// Throws Error when the arguments name a command that there is not: CLI11 would only say that one is required.
void check_commands(const CLI::App& app, int argc, char** argv);

/// In words what CLI11 could not place: "tegula train: unknown option --epoch; did you mean --epochs?"
std::string unplaced(const CLI::App& app, int argc, char** argv);

}  // namespace tegula::app

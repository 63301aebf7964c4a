#pragma once
// Nets that make pictures at the command line: tegula train gan|vae, and their files behind `tegula generate`.

#include <cstdint>
#include <string>

#include "app/command.h"

namespace tegula::app {

void add_train_gan(Command& train);
void add_train_vae(Command& train);

/// Is it the kind of such a file?
bool makes_pictures(const std::string& kind);
/// Writes `count` pictures beside each other to `out`.
void generate_pictures(const std::string& model, std::int64_t count, const std::string& out);

}  // namespace tegula::app

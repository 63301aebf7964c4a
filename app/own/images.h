#pragma once
// Classifiers of pictures at the command line, behind `tegula predict` and `tegula eval`.

#include <cstdint>
#include <string>
#include <vector>

namespace tegula::app {

/// The `count` most probable classes of each picture.
void predict_pictures(const std::string& model, const std::vector<std::string>& pictures, std::int64_t count);
/// Prints the measures of the model on a folder of pictures.
void evaluate_folder(const std::string& model, const std::string& folder);

}  // namespace tegula::app

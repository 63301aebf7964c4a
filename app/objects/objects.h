#pragma once
// Objects in pictures at the command line: tegula train unet|detector, and their files behind `tegula predict` and `tegula eval`.

#include <string>
#include <vector>

#include "app/command.h"

namespace tegula::app {

void add_train_unet(Command& train);
void add_train_detector(Command& train);

/// The classes of pixels of each picture, and the picture with its mask laid over it in the folder `out`.
void predict_masks(const std::string& model, const std::vector<std::string>& pictures, const std::string& out);
/// The objects of each picture, and the picture with their boxes.
void predict_boxes(const std::string& model, const std::vector<std::string>& pictures, const std::string& out);
/// Prints the measures of the model on a folder; without one, on drawn pictures.
void evaluate_masks(const std::string& model, const std::string& folder);
void evaluate_boxes(const std::string& model, const std::string& folder);

}  // namespace tegula::app

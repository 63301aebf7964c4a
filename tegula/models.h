#pragma once
// Ready models of images and tables. Models of words are in tegula/text.h.
#include "tegula/tegula.h"

#include "tegula/models/airbench.h"          // models::Airbench
#include "tegula/models/image_classifier.h"  // models::ImageClassifier: pictures of one's own
#include "tegula/models/mnist.h"             // models::MnistMlp, models::MnistCnn
#include "tegula/models/registry.h"          // models::make, models::load: by name, and in files
#include "tegula/models/resnet.h"            // models::ResNet50
#include "tegula/models/table.h"             // models::TableModel: tables of one's own

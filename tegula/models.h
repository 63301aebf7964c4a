#pragma once
// Ready models of images and tables. Models of words are in tegula/text.h.
#include "tegula/tegula.h"

#include "tegula/models/airbench.h"          // models::Airbench
#include "tegula/models/cifar.h"             // models::ResNet20
#include "tegula/models/image_classifier.h"  // models::ImageClassifier: pictures of one's own
#include "tegula/models/images/by_name.h"       // models::picture_net("resnet50")
#include "tegula/models/images/convnext.h"      // models::ConvNextTiny
#include "tegula/models/images/densenet.h"      // models::DenseNet
#include "tegula/models/images/detection.h"     // models::NamedDetector, models::anchor_sizes
#include "tegula/models/images/detector.h"      // models::SingleShotDetector
#include "tegula/models/images/efficientnet.h"  // models::EfficientNetB0
#include "tegula/models/images/generative.h"    // models::Gan, models::PictureVae
#include "tegula/models/images/mobilenet.h"     // models::MobileNetV2
#include "tegula/models/images/segmentation.h"  // models::NamedUNet
#include "tegula/models/images/unet.h"          // models::UNet
#include "tegula/models/images/vgg.h"           // models::Vgg
#include "tegula/models/images/vit.h"           // models::VisionTransformer
#include "tegula/models/mnist.h"             // models::MnistMlp, models::MnistCnn
#include "tegula/models/recommendation.h"    // models::Dlrm, models::NeuMf
#include "tegula/models/registry.h"          // models::make, models::load: by name, and in files
#include "tegula/models/resnet.h"            // models::ResNet18, 34, 50, 101
#include "tegula/models/table.h"             // models::TableModel: tables of one's own
#include "tegula/models/wavenet.h"           // models::WaveNet: sounds

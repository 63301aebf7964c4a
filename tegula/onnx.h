#pragma once
// Models in ONNX files. Link tegula::onnx (with CMake), or libtegula_onnx before libtegula.
#include "tegula/tegula.h"

#include "tegula/onnx/model.h"  // onnx::load, onnx::check, onnx::Model
#include "tegula/onnx/save.h"   // onnx::save

#pragma once
// The operators that can be built: a line for each, in the files of ops/, by kind.

#include <span>
#include <string_view>

#include "tegula/onnx/call.h"

namespace tegula::onnx {

/// Inputs that are looked at when a graph is built: an initializer that is one stays a constant. Bit i is input i.
using Looked = std::uint32_t;
constexpr Looked looked(std::initializer_list<int> inputs) {
  Looked out = 0;
  for (const int i : inputs) out |= 1u << i;
  return out;
}

struct Operator {
  std::string_view name;
  Results (*build)(Call& call);
  std::string_view attributes = "";  // attributes that it knows, between spaces; another one is refused
  Looked looked = 0;
  Looked state = 0;  // inputs that hold running statistics: saved with the model, not trained
  bool is_random = false;
  std::string_view domain = "";
};

/// The operator of that name, or null.
const Operator* find_operator(std::string_view domain, std::string_view name);
/// Returns true if the operator reads the attribute.
bool knows(const Operator& op, std::string_view attribute);

/// The tables, one for each file of ops/. Functions and not static objects, which a static library leaves out where nobody names them.
using Operators = std::span<const Operator>;
Operators arithmetic_operators();
Operators function_operators();
Operators type_operators();
Operators shape_operators();
Operators slicing_operators();
Operators index_operators();
Operators selecting_operators();
Operators reduction_operators();
Operators product_operators();
Operators convolution_operators();
Operators pooling_operators();
Operators normalization_operators();
Operators image_operators();
Operators recurrent_operators();
Operators attention_operators();
Operators quantized_operators();
Operators control_operators();
Operators sequence_operators();
Operators random_operators();
Operators loss_operators();
Operators signal_operators();
Operators stateful_operators();
Operators deformable_operators();
Operators other_operators();
Operators gram_operators();

}  // namespace tegula::onnx

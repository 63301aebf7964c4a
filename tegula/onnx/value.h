#pragma once
// The values that names of a graph stand for while it runs.

#include <vector>

#include "tegula/graph/tensor.h"
#include "tegula/onnx/file.h"

namespace tegula::onnx {

struct Value {
  enum class Kind : std::uint8_t { None, Tensor, Sequence };
  Value() = default;  // an optional without anything
  Value(Tensor x) : kind(Kind::Tensor), tensor(std::move(x)) {}
  static Value sequence(std::vector<Tensor> items) {
    Value out;
    out.kind = Kind::Sequence;
    out.items = std::move(items);
    return out;
  }

  Kind kind = Kind::None;
  Tensor tensor = {};
  std::vector<Tensor> items = {};  // of a sequence
  bool known = false;  // computed from constants and shapes alone: may be looked at while it is traced
  Type narrow = Type::Undefined;  // u4, i4, u2 or i2, whose numbers lie in a u8 or i8
};

/// The results of an operator.
struct Results : std::vector<Value> {
  Results() = default;
  Results(Tensor x) { emplace_back(std::move(x)); }
  Results(Value x) { push_back(std::move(x)); }
  Results(const std::vector<Tensor>& list) : std::vector<Value>(list.begin(), list.end()) {}
};

}  // namespace tegula::onnx

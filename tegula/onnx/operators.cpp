#include "tegula/onnx/operators.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace tegula::onnx {
namespace {

using Table = std::unordered_map<std::string, const Operator*>;

std::string key_of(std::string_view domain, std::string_view name) { return std::string(domain) + "::" + std::string(name); }

const Table& table() {
  static const Table all = [] {
    Table out;
    for (const Operators some :
         {arithmetic_operators(), function_operators(),      type_operators(),       shape_operators(),     slicing_operators(),
          index_operators(),      selecting_operators(),     reduction_operators(),  product_operators(),   convolution_operators(),
          pooling_operators(),    normalization_operators(), image_operators(),      recurrent_operators(), attention_operators(),
          quantized_operators(),  control_operators(),       sequence_operators(),   random_operators(),    loss_operators(),
          signal_operators(),     stateful_operators(),      deformable_operators(), other_operators(),     gram_operators()})
      for (const Operator& one : some) out.emplace(key_of(one.domain, one.name), &one);
    return out;
  }();
  return all;
}

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const auto found = table().find(key_of(domain, name));
  return found == table().end() ? nullptr : found->second;
}

bool knows(const Operator& op, std::string_view attribute) {
  for (std::size_t begin = 0; begin < op.attributes.size();) {
    const std::size_t end = std::min(op.attributes.find(' ', begin), op.attributes.size());
    if (op.attributes.substr(begin, end - begin) == attribute) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace tegula::onnx

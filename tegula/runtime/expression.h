#pragma once
// The epilogue of a call as data: what it computes from each element of its result before it stores it. The ops' own formulas print it.
//
// A device says through Device::takes which epilogues its call has. The device uses `sums_of` and comparisons with the expressions
// below, and gives the library its own names for them.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/tile/ir.h"

namespace tegula::tile {
class Builder;
class Value;
}  // namespace tegula::tile

namespace tegula::runtime {

/// Values in the compute type of the result's dtype (tile::compute_type); those of comparisons are booleans. The last one is stored.
/// No values: the result itself. Otherwise value 0 is the result.
struct Expression {
  enum class Source : std::uint8_t {
    Word,      // a word of the tile IR with one to three earlier values
    Constant,  // a number of the formula
    Result,    // the element that the call has computed
    Channel,   // the element of a vector, by the result's channel (convolutions: axis 1; products: the last axis)
    Tensor,    // the element of a tensor that lies as the result does
    Number,    // a number of the run, in a buffer of one element
  };
  struct Value {
    Source source = Source::Word;
    tile::Word word = {};
    std::array<std::int32_t, 3> operands = {-1, -1, -1};
    double constant = 0;
    bool operator==(const Value&) const = default;
  };
  std::vector<Value> values = {};

  bool is_empty() const { return values.empty(); }
  bool operator==(const Expression&) const = default;

  /// Adds a value that is read; returns its number.
  int read(Source source);
  /// The values that are read from buffers, in the order of the buffers.
  std::vector<Source> reads() const;
};

/// " add channel, le 0, select 0", for people: the words in their order, with what they read beside earlier words.
std::string to_string(const Expression& expression);

/// The words of a formula, of values that stand for `operands`.
using Formula = std::function<tile::Value(tile::Builder& builder, std::span<const tile::Value> operands)>;

/// Appends the formula's words, of earlier values; their last one becomes the expression's. False, and nothing is appended, if it consists of other
/// than elementwise words in the compute type of `dtype`.
bool append(Expression& to, std::span<const int> operands, DType dtype, const Formula& formula);

/// result + channel + tensor, and the rest of the expression, a function of that sum.
struct Sums {
  bool channel = false, tensor = false;
  Expression rest = {};  // of the sum as its result
};
/// The buffers of channel and tensor, in this order, come before those of the rest.
Sums sums_of(const Expression& expression);
/// The expression that consists of these.
Expression expression_of(const Sums& sums);

/// A relu, perhaps, and then max or min with numbers of the run, in their order.
struct Limits {
  bool relu = false;
  std::vector<tile::Word> words = {};
};
/// True if the expression consists of limits alone.
bool are_limits(const Expression& expression, DType dtype, Limits& out);

// The expressions that libraries have, for results of `dtype`.
const Expression& relu(DType dtype);
const Expression& gelu(DType dtype);
const Expression& gelu_tanh(DType dtype);
const Expression& sigmoid(DType dtype);
const Expression& tanh(DType dtype);
/// result * the derivative of gelu's tanh form at a tensor.
const Expression& gelu_tanh_gradient(DType dtype);
/// True for the activations: relu, gelu, gelu_tanh, sigmoid and tanh.
bool is_activation(const Expression& expression, DType dtype);

}  // namespace tegula::runtime

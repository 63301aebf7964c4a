#pragma once
// An expression: one value made of others by a few ops (runtime::Expression is another: the epilogue of a library call, as words). Passes build expressions from items that need no step of their own:
//   fold_indices     the prologue of a kernel's operand, which the kernel computes instead of reading it
//   multiply_rows    the prologue and the epilogue of a product of few rows
//   simplify         numbers that the host computes from other numbers
// The ops' own formulas print it on each machine: `emit` into a tile program (CPU and GPU), `number_of` on the host. The epilogue of a library call has no
// ops left: `append` prints them as words (runtime/expression.h).

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tegula/graph/op.h"
#include "tegula/runtime/expression.h"

namespace tegula::compile {

struct Expression {
  struct Word {
    enum class Kind : std::uint8_t {
      Op,  // an ElementwiseOp of earlier words
      Reduce,  // a ReduceOp of an earlier word, along the row
      Memory,  // an element of an input
      Number,  // an input that is a number of the run
      Index,  // index * stride + offset, of the element's index
      Result,  // the value of the product that the expression follows
    } kind = Kind::Op;
    Ref<const Op> op;  // Op, Reduce
    std::vector<int> operands;  // Op, Reduce: earlier words
    int input = -1;  // Memory, Number: the input's place in the owner's list of inputs
    std::int64_t stride = 1, offset = 0;  // Index
    DType dtype = DType::i64;
  };
  std::vector<Word> words;  // the last one is the value

  bool is_empty() const { return words.empty(); }
  /// Adds the word; returns its number.
  int add(Word word);
  /// The op of numbers of the run, rounded to `dtype`.
  static Expression of_numbers(Ref<const Op> op, std::span<const int> inputs, DType dtype);
};

/// The value of a word that is read: Memory, Number or Result.
using ReadWord = std::function<tile::Value(const Expression::Word&)>;
/// The expression's value at `places` (i64), in the shape of `places`; without places all words are scalars. `axis` is the one that Reduce words reduce.
tile::Value emit(const Expression& expression, tile::Builder& builder, const tile::Value& places, int axis, const ReadWord& read);

/// A number of the run (Reference::Constant) as a program's parameter: on asynchronous devices it comes from memory.
tile::Value constant_parameter(tile::Builder& builder, const std::string& name, DType dtype, bool asynchronous);

/// Appends the words of an elementwise op to the epilogue of a call, of earlier values of that; false if they are not those of an epilogue.
bool append(runtime::Expression& to, const ElementwiseOp& op, DType dtype, std::span<const int> operands);

/// The value of an expression of numbers, in f64, rounded at each op to the op's dtype. `numbers` are f64, addressed by the words' inputs.
double number_of(const Expression& expression, std::span<const std::uint64_t> numbers);

}  // namespace tegula::compile

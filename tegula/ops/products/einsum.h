#pragma once
// Sums of products, written with a letter for each axis.

#include <initializer_list>
#include <string_view>
#include <vector>

#include "tegula/graph/tensor.h"

namespace tegula {

/// Einstein's summation as in NumPy and PyTorch: "bij,bjk->bik" names the axes of each operand and of the result; an axis that the result does not
/// name is summed over. A letter twice in an operand is its diagonal; "..." stands for leading axes that broadcast; without "->" the result has
/// "..." and the letters that occur once, in alphabetical order. A size of 1 broadcasts. Dtypes are promoted, integers keep theirs.
/// Operands are multiplied in pairs, the cheapest pair first, as matrix products where both keep axes of their own, else as fused sums.
/// Throws Error naming the letter: sizes that differ, a letter of the result that no operand has, more or fewer letters than axes.
Tensor einsum(std::string_view equation, std::initializer_list<Arg> operands);
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Line where = Line::current());

struct OpCase;
/// The cases for the tests (case.h).
std::vector<OpCase> einsum_cases();

}  // namespace tegula

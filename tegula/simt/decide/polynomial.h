#pragma once
// Numbers that are the same for a whole program instance, as sums of products of its scalars: however they are written, equal ones look alike.

#include <map>
#include <optional>
#include <vector>

#include "tegula/simt/analysis.h"

namespace tegula::gpu {

/// Coefficients by products of scalars, whose ids are sorted; of no scalar the constant. No coefficient is 0. Modulo 2^64, as the numbers are.
using Polynomial = std::map<std::vector<tile::Id>, std::int64_t>;

/// Returns the polynomial of sums, differences and products, also those that the program computes. Nothing where a limit is clamped, or divided.
std::optional<Polynomial> polynomial_of(const Analysis& analysis, const Term& term);
/// a + factor * b
Polynomial add(Polynomial a, const Polynomial& b, std::int64_t factor = 1);
Polynomial multiply(const Polynomial& a, const Polynomial& b);
Term term_of(const Analysis& analysis, const Polynomial& polynomial);
/// Returns true if the polynomial is known to be at least 0: it is a sum of products of numbers that are.
bool is_natural(const Analysis& analysis, const Polynomial& polynomial);

}  // namespace tegula::gpu

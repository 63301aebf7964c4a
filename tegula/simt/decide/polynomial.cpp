#include "tegula/simt/decide/polynomial.h"

#include <algorithm>
#include <iterator>

namespace tegula::gpu {

using tile::Id;
using tile::Word;

namespace {

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Polynomial number(std::int64_t value) { return value == 0 ? Polynomial() : Polynomial{{{}, value}}; }

Polynomial of_scalar(const Analysis& a, Id id) {
  id = a.resolve(id);
  const tile::Instruction& self = a[id];
  const auto operand = [&](std::size_t i) { return of_scalar(a, self.operands[i]); };
  if (self.type.dtype == DType::i64 && !self.type.pointer) {
    switch (self.word) {
      case Word::Constant: return number(self.integer);
      case Word::Add: return add(operand(0), operand(1));
      case Word::Sub: return add(operand(0), operand(1), -1);
      case Word::Neg: return add({}, operand(0), -1);
      case Word::Mul: return multiply(operand(0), operand(1));
      default: break;
    }
  }
  return {{{id}, 1}};
}

}  // namespace

std::optional<Polynomial> polynomial_of(const Analysis& analysis, const Term& term) {
  switch (term.kind) {
    case Term::Kind::Number: return number(term.value);
    case Term::Kind::Scalar: return of_scalar(analysis, term.id);
    case Term::Kind::Quotient: return {};
    default: break;
  }
  const auto a = polynomial_of(analysis, (*term.operands)[0]), b = polynomial_of(analysis, (*term.operands)[1]);
  if (!a || !b) return {};
  if (term.kind == Term::Kind::Product) return multiply(*a, *b);
  return add(*a, *b, term.kind == Term::Kind::Difference ? -1 : 1);
}

Polynomial add(Polynomial a, const Polynomial& b, std::int64_t factor) {
  for (const auto& [scalars, coefficient] : b) {
    std::int64_t& there = a[scalars];
    there = sum(there, product(coefficient, factor));
    if (there == 0) a.erase(scalars);
  }
  return a;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [first, x] : a) {
    for (const auto& [second, y] : b) {
      std::vector<Id> both;
      std::ranges::merge(first, second, std::back_inserter(both));
      result = add(std::move(result), {{std::move(both), product(x, y)}});
    }
  }
  return result;
}

Term term_of(const Analysis& analysis, const Polynomial& polynomial) {
  Term all = Term::number(0);
  for (const auto& [scalars, coefficient] : polynomial) {
    Term one = Term::number(coefficient);
    for (const Id id : scalars) one = tile::multiply(one, Term::scalar(id, analysis.twos(id), analysis.bits(id)));
    all = tile::add(all, one);
  }
  return all;
}

bool is_natural(const Analysis& analysis, const Polynomial& polynomial) {
  return std::ranges::all_of(polynomial, [&](const auto& one) {
    return one.second > 0 && std::ranges::all_of(one.first, [&](Id id) { return analysis.bits(id) < kAnyBits; });
  });
}

}  // namespace tegula::gpu

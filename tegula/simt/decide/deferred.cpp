// Sums that a loop carries.

#include <algorithm>

#include "tegula/simt/decide/parts.h"
#include "tegula/tile/passes/add_into_products.h"

namespace tegula::gpu {

using tile::Id;
using tile::Word;

namespace {

constexpr std::int64_t kNumbers = 16;  // conversions cost as much as many additions: so many numbers are added first

/// Notes what the carried sum, which begins with zeros, is multiplied by before something is added: a value that all threads have whose shares are added up.
/// H200, attention of causal scores, edited by hand, TFLOP/s: 576 where sums of exponentials are brought together behind the loop, 565 in each iteration.
void find_factor(const Values& v, const tile::Region& body, Id first, Id other, DeferredSum& deferred) {
  const Analysis& a = v.analysis();
  const tile::Instruction& product = v.at(other);
  const DType dtype = a.type(deferred.parameter).dtype;
  if (product.word != Word::Mul || (dtype != DType::f32 && dtype != DType::f64) || a.users(other).size() != 1) return;
  if (std::ranges::find(body.body, other) == body.body.end() || !tile::is_zero(a.program(), first)) return;
  for (std::size_t side = 0; side < 2; ++side) {
    const Id factor = product.operands[side];
    const Spread own = v.spread(factor);
    if (product.operands[1 - side] != deferred.parameter || factor == deferred.parameter) continue;
    if (own == v.spread(deferred.parameter) || own == Spread::Uniform) deferred.scaled = other, deferred.factor = factor;
  }
}

}  // namespace

/// carried = combine(carried, reduction of something else): every thread may add up its own share, and the threads theirs once, at the end. A sum that is
/// carried in a wider type: carried + cast(reduction). One that is scaled on the way: carried * factor + reduction.
std::optional<DeferredSum> deferrable(const Values& v, Id loop, std::size_t k) {
  const Analysis& a = v.analysis();
  const tile::Region& body = v.at(loop).regions[0];
  constexpr Word kWords[] = {Word::Add, Word::Mul, Word::Min, Word::Max, Word::Or, Word::And};  // in the order of tile::Reduction
  DeferredSum deferred;
  deferred.parameter = body.parameters[k + 1];
  deferred.combination = body.results[k];
  const tile::Instruction& combination = v.at(deferred.combination);
  if (combination.operands.size() != 2 || a.users(deferred.combination).size() != 1) return {};
  // Behind the loop its results go by the parameters' names; those are not uses of the parameter.
  const auto takes = [&](Id user) {
    const auto& operands = v.at(user).operands;
    return std::find(operands.begin(), operands.end(), deferred.parameter) != operands.end();
  };
  constexpr std::size_t kCarried = 3;  // operands of a For ahead of them
  for (const Id other : combination.operands)
    if (combination.word == Word::Add) find_factor(v, body, v.at(loop).operands[kCarried + k], other, deferred);
  for (const Id user : a.users(deferred.parameter))
    if (user >= 0 && user != deferred.combination && user != deferred.scaled && takes(user)) return {};
  if (std::find(body.results.begin(), body.results.end(), deferred.parameter) != body.results.end()) return {};
  for (std::size_t side = 0; side < 2; ++side) {
    if (combination.operands[1 - side] != (deferred.scaled >= 0 ? deferred.scaled : deferred.parameter)) continue;
    Id from = combination.operands[side], widened = -1;
    const bool in_loop = std::find(body.body.begin(), body.body.end(), from) != body.body.end();
    if (v.at(from).word == Word::Cast && in_loop && deferred.scaled < 0 && a.users(from).size() == 1 && combination.word == Word::Add) {
      widened = from;
      from = v.at(from).operands[0];
    }
    std::vector<Id> chain;
    while (v.at(from).word == Word::Reduce && a.users(from).size() == 1 &&
           kWords[static_cast<std::size_t>(v.at(from).kind)] == combination.word) {
      if (!chain.empty() && v.at(from).kind != v.at(chain[0]).kind) return {};
      chain.insert(chain.begin(), from);
      from = v.at(from).operands[0];
    }
    if (chain.empty() || v.spread(from) == Spread::Flat || v.spread(deferred.parameter) == Spread::Flat) continue;
    bool here = true;
    for (const Id reduce : chain) here = here && std::find(body.body.begin(), body.body.end(), reduce) != body.body.end();
    if (!here) continue;
    deferred.chain = chain;
    deferred.widened = widened;
    if (widened >= 0) {
      const std::int64_t of_a_tile = v.held_across(v.spread(v.at(chain.front()).operands[0])) / v.held_across(v.spread(deferred.parameter));
      deferred.tiles = std::max<std::int64_t>(1, kNumbers / std::max<std::int64_t>(1, of_a_tile));
    }
    return deferred;
  }
  return {};
}

}  // namespace tegula::gpu

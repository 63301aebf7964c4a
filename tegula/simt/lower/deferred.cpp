// Sums that a loop carries: every thread adds up its own share, and the threads theirs once, behind the loop.

#include <algorithm>

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

/// True if the loop's result is only stored as it is, so that only the acting threads need it.
bool Lowering::only_stored_behind(const DeferredSum& deferred) const {
  const auto stored = [&](Id user, Id value) {
    return user >= 0 && at(user).word == Word::Store && a_.resolve(at(user).operands[1]) == value &&
           a_.type(at(user).operands[0]).shape == a_.type(value).shape;
  };
  return std::ranges::all_of(a_.users(deferred.parameter), [&](Id user) {
    if (user == deferred.combination || user == deferred.scaled || stored(user, deferred.parameter)) return true;
    return deferred.widened >= 0 && user >= 0 && at(user).word == Word::Cast &&
           std::ranges::all_of(a_.users(user), [&](Id behind) { return stored(behind, user); });
  });
}

/// Declares a carried value; of a deferred sum the thread's own share, too.
void Lowering::begin_carried(Id parameter, Id first, const std::optional<DeferredSum>& deferred) {
  declare(parameter);
  assign_all(parameter, first);
  if (!deferred) return;
  const tile::Type& type = a_.type(parameter);
  const Spread own = spread(parameter);
  const simt::Operation op{at(deferred->chain[0]).kind, type.dtype};
  const Name name("a", parameter);
  declare(name, simt::type_of(type), sizes(own, type.shape));
  loops(own, type.shape, Step::Elements, [&] { assign(held(name, own), simt::nothing(op)); });
  for (const Id reduce : deferred->chain) deferred_[reduce] = &*deferred;
  deferred_[deferred->combination] = &*deferred;
  if (deferred->scaled >= 0) deferred_[deferred->scaled] = &*deferred;
  if (deferred->widened < 0) return;
  deferred_[deferred->widened] = &*deferred;
  if (deferred->tiles == 1) return;
  begin_share(*deferred);
  add(simt::Declare{.what = {Name("tiles", parameter), simt::computed(DType::i32), {}}, .value = 0});
}

/// A reduction, or what is made of its result, where it stands in the loop.
void Lowering::deferred_reduction(Id id, const DeferredSum& deferred) {
  if (id == deferred.combination && deferred.factor >= 0) return add_scaled(deferred);
  if (id != deferred.chain.front()) return;
  origin(id);
  const Spread into = spread(deferred.parameter);
  if (deferred.factor >= 0) return begin_share(deferred), accumulate({{id, held(Name("t", deferred.parameter), into)}});
  if (deferred.widened < 0) return accumulate({{id, held(Name("a", deferred.parameter), into)}});
  if (deferred.tiles == 1) begin_share(deferred);
  accumulate({{id, held(Name("t", deferred.parameter), into)}});
  if (deferred.tiles == 1) add_share(deferred);
}

/// A thread's share of the next tiles, in their own type.
void Lowering::begin_share(const DeferredSum& deferred) {
  const Id reduce = deferred.chain.front();
  const Spread own = spread(deferred.parameter);
  const Shape& shape = a_.type(deferred.parameter).shape;
  const Name share("t", deferred.parameter);
  declare(share, simt::computed(at(reduce).type.dtype), sizes(own, shape));
  loops(own, shape, Step::Elements, [&] { assign(held(share, own), simt::nothing(operation_of(reduce))); });
}

void Lowering::add_share(const DeferredSum& deferred) {
  const Spread own = spread(deferred.parameter);
  const Name all("a", deferred.parameter), share("t", deferred.parameter);
  loops(own, a_.type(deferred.parameter).shape, Step::Elements,
        [&] { add(simt::Assign{.target = held(all, own), .value = held(share, own), .adds = true}); });
}

/// A thread's own sum is multiplied by what all of them are, and has its share of this tile.
void Lowering::add_scaled(const DeferredSum& deferred) {
  const tile::Type& type = a_.type(deferred.parameter);
  const Spread own = spread(deferred.parameter);
  origin(deferred.combination);
  loops(own, type.shape, Step::Elements, [&] {
    const Expression all = held(Name("a", deferred.parameter), own);
    assign(all, simt::call(type.dtype == DType::f32 ? "fmaf" : "fma", all, element(deferred.factor, own),
                           held(Name("t", deferred.parameter), own)));
  });
}

/// Combines the threads' own sums of a loop; `idle_bytes` of the ring are free by then.
void Lowering::combine_deferred(const DeferredSums& all, std::size_t idle_bytes) {
  struct Sum {
    Id parameter;
    simt::Operation op;
    Name name;
    bool columns = false, rows = false, for_first = false;
  };
  std::vector<Sum> sums;
  for (const auto& deferred : all) {
    if (!deferred) continue;
    const Id parameter = deferred->parameter;
    Sum sum{.parameter = parameter, .op = {at(deferred->chain[0]).kind, a_.type(parameter).dtype}, .name = Name("a", parameter)};
    for (const Id reduce : deferred->chain) {
      sum.columns = sum.columns || crossing(reduce) == Crossing::Columns;
      sum.rows = sum.rows || crossing(reduce) == Crossing::Rows;
    }
    sum.for_first = sum.rows && !sum.columns && only_stored_behind(*deferred) && acts(spread(parameter)).has_value();
    sums.push_back(sum);
    for (const Id reduce : deferred->chain) deferred_.erase(reduce);
    deferred_.erase(deferred->combination);
    deferred_.erase(deferred->widened), deferred_.erase(deferred->scaled);
  }
  std::vector<bool> done(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    const Spread own = spread(sum.parameter);
    const tile::Type& type = a_.type(sum.parameter);
    std::vector<Name> alike;  // as many as there is room for
    std::vector<std::size_t> which;
    for (std::size_t j = i; j < sums.size() && sum.for_first && !done[i]; ++j) {
      if (!sums[j].for_first || sums[j].op != sum.op || a_.type(sums[j].parameter).shape != type.shape) continue;
      alike.push_back(sums[j].name);
      which.push_back(j);
    }
    while (!alike.empty() && !combine_rows_for_first(sum.op, alike, own, size_of(type.dtype), idle_bytes)) alike.pop_back();
    for (std::size_t j = 0; j < alike.size(); ++j) done[which[j]] = true;
    if (!done[i]) combine_across(sum.op, sum.name, sum.columns, sum.rows, own, size_of(type.dtype), idle_bytes);
    loops(own, type.shape, Step::Elements,
          [&] { assign(held(sum.parameter, own), simt::fold(sum.op, held(sum.parameter, own), held(sum.name, own))); });
  }
}

}  // namespace tegula::gpu

// Words that share a loop (decide/schedule.h).

#include "tegula/simt/lower/lowering.h"

namespace tegula::gpu {

void Lowering::scalar_word(Id id) {
  origin(id);
  let(simt::type_of(a_.type(id)), variable(id), word(id, Spread::Uniform));
}

void Lowering::shared_loop(const SharedLoop& loop) {
  const Spread own = loop.spread;
  std::vector<Id> taken;
  for (const Id id : loop.ids) {
    if (loop.kept.contains(id) && !decided_.products.in_place.contains(id)) declare(id);
    taken.insert(taken.end(), at(id).operands.begin(), at(id).operands.end());
  }
  loops(own, a_.type(loop.ids.front()).shape, Step::Elements, taken, [&] {
    for (const Id id : loop.ids) {
      origin(id);
      if (loop.kept.contains(id)) {
        assign(held(id, own), word(id, own));
        continue;
      }
      let(simt::type_of(a_.type(id)), variable(id), word(id, own));
      local_.insert(id);
    }
  });
  local_.clear();
}

}  // namespace tegula::gpu

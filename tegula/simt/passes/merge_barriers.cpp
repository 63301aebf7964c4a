#include "tegula/simt/passes/merge_barriers.h"

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

bool all_meet(const Statement& statement) {
  const auto* const barrier = statement.as<Barrier>();
  return barrier && barrier->kind == Barrier::Kind::Block && !statement.when;
}
bool does_nothing(const Statement& statement) { return statement.as<Origin>() || statement.as<Note>(); }

/// Returns true if all threads have just met, behind one statement more.
bool have_met(const Statement& statement, bool before) { return all_meet(statement) || (before && does_nothing(statement)); }

bool meets_again(const Block& block) {
  bool again = false, met = false;
  for (const Statement& statement : block) {
    again = again || (met && all_meet(statement));
    met = have_met(statement, met);
    for_each_block(statement, [&](const Block& inner) { again = again || meets_again(inner); });
  }
  return again;
}

void walk(Block& block) {
  Block out;
  out.reserve(block.size());
  bool met = false;
  for (Statement& statement : block) {
    for_each_block(statement, walk);
    const bool repeated = met && all_meet(statement);
    met = have_met(statement, met);
    if (!repeated) out.push_back(std::move(statement));
  }
  block = std::move(out);
}

}  // namespace

void merge_barriers(Kernel& kernel) {
  if (meets_again(kernel.body)) walk(kernel.body);
}

}  // namespace tegula::simt

#include "tegula/compile/plan/check_contents.h"

namespace tegula::compile {
namespace {

using Kind = Storage::Kind;
constexpr int kOldValue = -1, kNothing = -2;

template <class T>
std::size_t at(T i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Contents::Contents(const Plan& plan, std::span<const Place> places)
    : graph_(plan.graph),
      there_(plan.graph.items.size() + plan.scratch_bytes.size()) {
  for (int i = 0; i < graph_.size(); ++i)
    if (places[at(i)].value == i) members_[places[at(i)].spot.root].push_back(i);
}

bool Contents::holds(const Span& span, int holder) const {
  const bool is_old = span.space == Kind::Leaf && holder < graph_.size() && graph_[holder].role() == Role::Leaf;
  return is_old ? found_at(span) == kOldValue : tenant_of(span) == span.tenant && is_whole(holder);
}

const Contents::Held* Contents::first_at(const Span& span) const {
  const auto space = spaces_.find({span.space, span.index});
  if (space == spaces_.end()) return nullptr;
  auto held = space->second.upper_bound(span.begin);
  if (held != space->second.begin() && std::prev(held)->second.end > span.begin) --held;
  return held != space->second.end() && held->first < span.end ? &held->second : nullptr;
}

int Contents::found_at(const Span& span) const {
  const Held* const held = first_at(span);
  return held ? held->tenant : span.space == Kind::Leaf ? kOldValue : kNothing;
}

// Whose place it is now, all of it.
int Contents::tenant_of(const Span& span) const {
  const Held* const held = first_at(span);
  return !held || (held->begin == span.begin && held->end == span.end) ? found_at(span) : kNothing;
}

void Contents::write(const Span& span, int holder) {
  if (tenant_of(span) != span.tenant) {
    move_in(span);
    there_[at(span.tenant)] = 0;
    if (const auto members = members_.find(span.tenant); members != members_.end()) {
      for (const int member : members->second) there_[at(member)] = 0;
    }
  }
  if (is_whole(holder)) return;
  const std::int64_t count = elements(holder);
  each_around(holder, [&](int around) { there_[at(around)] += count; });
}

void Contents::move_in(const Span& span) {
  if (span.space == Kind::None) return;
  auto& space = spaces_[{span.space, span.index}];
  while (const Held* const held = first_at(span)) space.erase(held->begin);
  space[span.begin] = {span.begin, span.end, span.tenant};
}

}  // namespace tegula::compile

#include "tegula/compile/plan/check_contents.h"

namespace tegula::compile {
namespace {

using Kind = Storage::Kind;
constexpr int kNothing = -2;

template <class T>
std::size_t at(T i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

Contents::Contents(const Plan& plan, std::span<const Place> places)
    : graph_(plan.graph),
      there_(plan.graph.items.size() + plan.scratch_bytes.size()),
      leaves_(plan.graph.leaves.size(), -1),
      outputs_(plan.graph.outputs.size(), kNothing) {
  for (int i = 0; i < graph_.size(); ++i)
    if (places[at(i)].value == i) members_[places[at(i)].spot.root].push_back(i);
}

bool Contents::holds(const Span& span, int holder) const {
  const bool is_old = span.space == Kind::Leaf && holder < graph_.size() && graph_[holder].role() == Role::Leaf;
  return is_old ? leaves_[at(span.index)] < 0 : tenant_of(span) == span.tenant && is_whole(holder);
}

// Whose place it is now, all of it.
int Contents::tenant_of(const Span& span) const {
  switch (span.space) {
    case Kind::Leaf: return leaves_[at(span.index)];
    case Kind::Output: return outputs_[at(span.index)];
    case Kind::Arena: {
      const auto found = arena_.find(span.begin);
      return found != arena_.end() && found->second.first == span.end ? found->second.second : kNothing;
    }
    default: return kNothing;
  }
}

int Contents::found_at(const Span& span) const {
  if (span.space != Kind::Arena) return tenant_of(span);
  for (const auto& [begin, held] : arena_) {
    if (begin < span.end && span.begin < held.first) return held.second;
  }
  return kNothing;
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
  if (span.space == Kind::Leaf) leaves_[at(span.index)] = span.tenant;
  if (span.space == Kind::Output) outputs_[at(span.index)] = span.tenant;
  if (span.space != Kind::Arena) return;
  auto next = arena_.lower_bound(span.begin);
  if (next != arena_.begin() && std::prev(next)->second.first > span.begin) --next;
  while (next != arena_.end() && next->first < span.end) next = arena_.erase(next);
  arena_[span.begin] = {span.end, span.tenant};
}

}  // namespace tegula::compile

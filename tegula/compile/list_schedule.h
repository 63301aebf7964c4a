#pragma once
// The one way in which passes and plans put what depends on each other into an order.

#include <functional>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

namespace tegula::compile {

/// The numbers 0 to count - 1 in an order in which k comes behind `before(k)`, a range of others. Among those that are ready the one with the smallest `key(k)`
/// is next, of equal ones the smallest number. Those that wait for each other are left out.
template <class Before, class Key>
std::vector<int> list_schedule(int count, Before before, Key key) {
  std::vector<std::vector<int>> behind(static_cast<std::size_t>(count));
  std::vector<int> missing(static_cast<std::size_t>(count)), order;
  using Entry = std::pair<std::decay_t<decltype(key(0))>, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (int k = 0; k < count; ++k) {
    for (const int other : before(k)) {
      behind[static_cast<std::size_t>(other)].push_back(k);
      ++missing[static_cast<std::size_t>(k)];
    }
    if (missing[static_cast<std::size_t>(k)] == 0) ready.emplace(key(k), k);
  }
  while (!ready.empty()) {
    order.push_back(ready.top().second);
    ready.pop();
    for (const int k : behind[static_cast<std::size_t>(order.back())])
      if (--missing[static_cast<std::size_t>(k)] == 0) ready.emplace(key(k), k);
  }
  return order;
}

}  // namespace tegula::compile

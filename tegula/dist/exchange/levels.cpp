#include "tegula/dist/exchange/levels.h"

#include <algorithm>

namespace tegula::dist {

std::optional<Levels> levels_of(const std::vector<std::uint64_t>& hosts, int rank) {
  std::vector<std::uint64_t> numbers;  // by the first rank of each
  std::vector<std::vector<int>> members;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (hosts[r] == 0) return {};
    const auto found = std::ranges::find(numbers, hosts[r]);
    const auto host = static_cast<std::size_t>(found - numbers.begin());
    if (found == numbers.end()) numbers.push_back(hosts[r]), members.emplace_back();
    members[host].push_back(static_cast<int>(r));
  }
  const auto alike = [&](const auto& host) { return host.size() == members[0].size(); };
  if (members.size() < 2 || members[0].size() < 2 || !std::ranges::all_of(members, alike)) return {};
  Levels out;
  for (std::size_t host = 0; host < members.size(); ++host) {
    const auto found = std::ranges::find(members[host], rank);
    if (found == members[host].end()) continue;
    out.within = members[host];
    out.host = static_cast<int>(host), out.place = static_cast<int>(found - members[host].begin());
  }
  for (const auto& host : members) out.across.push_back(host[static_cast<std::size_t>(out.place)]);
  return out;
}

}  // namespace tegula::dist

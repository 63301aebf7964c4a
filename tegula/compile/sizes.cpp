#include "tegula/compile/sizes.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tegula/core/error.h"
#include "tegula/graph/tensor.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kExactPlans = 2;

enum class Rule : std::uint8_t { ByHistory, Exact, Ladder };

Rule rule() {
  static const Rule chosen = [] {
    const char* text = std::getenv("TEGULA_SIZES");
    if (!text || !*text) return Rule::ByHistory;
    if (std::string_view(text) == "exact") return Rule::Exact;
    if (std::string_view(text) == "ladder") return Rule::Ladder;
    throw Error({.op = "jit", .got = "TEGULA_SIZES=" + std::string(text), .expected = "exact or ladder"});
  }();
  return chosen;
}

}  // namespace

tile::Ladder forced_ladder() { return {.on = rule() == Rule::Ladder}; }

SizeHistory::Seen& SizeHistory::of(std::span<const Tensor> arguments, std::uint64_t setting) {
  Words kind{setting};
  for (const Tensor& argument : arguments)
    kind.push_back(static_cast<std::uint64_t>(argument.dtype()) << 8 | static_cast<std::uint64_t>(argument.shape().rank()));
  return seen_[kind];
}

tile::Ladder SizeHistory::Seen::ladder(const Words& signature, runtime::Device& device) const {
  if (rule() != Rule::ByHistory) return forced_ladder();
  if (!device.tiles().kernels_take_long || exact.size() < kExactPlans || std::ranges::find(exact, signature) != exact.end()) return {};
  return {.on = true, .same = same};
}

void SizeHistory::Seen::made(const Words& signature, std::span<const std::int64_t> extents) {
  if (exact.size() >= kExactPlans || std::ranges::find(exact, signature) != exact.end()) return;
  std::vector<std::int64_t> sorted(extents.begin(), extents.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (!exact.empty()) {
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(same, sorted, std::back_inserter(both));
    sorted = std::move(both);
  }
  same = std::move(sorted);
  exact.push_back(signature);
}

}  // namespace tegula::compile

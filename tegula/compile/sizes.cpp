#include "tegula/compile/sizes.h"

#include <algorithm>

#include "tegula/core/setting.h"
#include "tegula/graph/tensor.h"
#include "tegula/runtime/device.h"

namespace tegula::compile {
namespace {

enum class Rule : std::uint8_t { ByHistory, Exact, Ladder };

Rule rule() {
  static const auto word = word_set("TEGULA_SIZES", {"exact", "ladder"}, "jit");
  return !word ? Rule::ByHistory : *word == 0 ? Rule::Exact : Rule::Ladder;
}

}  // namespace

tile::Ladder forced_ladder() { return {.on = rule() == Rule::Ladder}; }

SizeHistory::Seen& SizeHistory::of(std::span<const Tensor> arguments, std::span<const std::uint64_t> setting, std::size_t most) {
  Words kind(setting.begin(), setting.end());
  for (const Tensor& argument : arguments)
    kind.push_back(static_cast<std::uint64_t>(argument.dtype()) << 8 | static_cast<std::uint64_t>(argument.shape().rank()));
  Seen& seen = seen_[kind];
  seen.most = most;
  return seen;
}

tile::Ladder SizeHistory::Seen::ladder(const Words& signature, std::span<const Node* const> nodes, runtime::Device& device) {
  if (rule() != Rule::ByHistory) return forced_ladder();
  if (!device.tiles().kernels_take_long) return {};
  if (shapes.empty())
    for (const Node* node : nodes) shapes.push_back(node->shape());
  if (exact.size() < most || std::ranges::find(exact, signature) != exact.end()) return {};
  // The same function at another size has the same nodes, of other shapes; where it has not, nothing is known of them.
  varies.clear();
  bool alike = nodes.size() == shapes.size();
  for (std::size_t i = 0; alike && i < nodes.size(); ++i) {
    const Shape& now = nodes[i]->shape();
    alike = now.rank() == shapes[i].rank() && now.rank() < 32;
    std::uint32_t axes = 0;
    for (int d = 0; alike && d < now.rank(); ++d) axes |= now[d] != shapes[i][d] ? 1u << d : 0;
    varies.push_back(axes);
  }
  if (!alike) varies.clear();
  return {.on = true, .same = same, .varies = varies};
}

void SizeHistory::Seen::made(const Words& signature, std::span<const std::int64_t> extents) {
  if (exact.size() >= most || std::ranges::find(exact, signature) != exact.end()) return;
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

#include "tegula/graph/autodiff/gradient_owners.h"

#include <array>
#include <cstdint>
#include <utility>

#include "tegula/graph/node.h"

namespace tegula {
namespace {

struct Given {
  std::vector<std::uint64_t> nodes;  // their sequence numbers, which no other node ever has
  std::vector<const Cell*> cells;
};
constexpr std::size_t kKept = 8;  // two players of a game, and some looks at gradients between
thread_local std::array<Given, kKept> given;
thread_local std::size_t next = 0;

std::vector<std::uint64_t> numbers_of(const std::vector<Tensor>& tensors) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(tensors.size());
  for (const Tensor& tensor : tensors) numbers.push_back(tensor.node() ? tensor.node()->sequence() : 0);
  return numbers;
}

}  // namespace

void note_gradients(const std::vector<Tensor>& gradients, std::vector<const Cell*> cells) {
  given[next] = {numbers_of(gradients), std::move(cells)};
  next = (next + 1) % kKept;
}

const std::vector<const Cell*>* owners_of(const std::vector<Tensor>& gradients) {
  const std::vector<std::uint64_t> numbers = numbers_of(gradients);
  for (const Given& one : given) {
    if (!one.nodes.empty() && one.nodes == numbers) return &one.cells;
  }
  return nullptr;
}

}  // namespace tegula

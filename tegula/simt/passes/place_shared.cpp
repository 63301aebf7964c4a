#include "tegula/simt/passes/place_shared.h"

#include <algorithm>

#include "tegula/simt/kernel/visit.h"

namespace tegula::simt {

namespace {

constexpr std::size_t kCounterBytes = 16;

}  // namespace

void place_shared(Kernel& kernel) {
  Block exchanges;
  for_each_statement(kernel.body, [&](Statement& statement) {
    if (const auto* use = statement.as<UseScratch>()) kernel.scratch_bytes = std::max(kernel.scratch_bytes, use->bytes);
    auto* const combine = statement.as<Combine>();
    if (!combine || combine->place != Combine::Place::Parts) return;
    combine->offset = kernel.part_bytes;
    kernel.part_bytes += (combine->part_bytes + 15) / 16 * 16;
    if (!combine->counted) return;
    combine->counter = kernel.part_bytes;
    exchanges.push_back(BeginExchange{kernel.part_bytes});
    kernel.part_bytes += kCounterBytes;
  });
  const auto drop = [](auto&& again, Block& block) -> void {
    std::erase_if(block, [](const Statement& statement) { return statement.as<UseScratch>() != nullptr; });
    for (Statement& statement : block)
      if (!statement.as<Loop>()) for_each_block(statement, [&](Block& inner) { again(again, inner); });
  };
  drop(drop, kernel.body);
  if (!exchanges.empty())
    kernel.body.insert(kernel.body.begin(), Branch{.when = binary("threadIdx.x", "==", 0), .then = std::move(exchanges)});
}

}  // namespace tegula::simt

#pragma once
// Options that the models of this folder offer.

#include <cstdint>
#include <optional>
#include <utility>

namespace tegula::models {

struct Options {
  std::int64_t classes = 10;
  double dropout = 0;       // probability; 0: no such layer
  bool batch_norm = false;
};

/// A layer that is only there when it is wanted.
template <class Layer, class... Arguments>
std::optional<Layer> when(bool wanted, Arguments&&... arguments) {
  if (!wanted) return std::nullopt;
  return std::optional<Layer>(std::in_place, std::forward<Arguments>(arguments)...);
}

}  // namespace tegula::models

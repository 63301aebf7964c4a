#pragma once
// A small problem on which training can be tested in milliseconds.

#include <string>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/data/random_stream.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/normalization.h"
#include "tegula/ops/elementwise/activation.h"

namespace tegula::testing {

/// Points (n, 2) of three classes in overlapping clouds.
inline data::ArrayDataset clouds(std::int64_t n, std::uint64_t seed) {
  data::ArrayDataset set(HostArray::empty(f32, {n, 2}), HostArray::empty(i64, {n}));
  data::RandomStream random(seed, 0);
  constexpr float kCentres[3][2] = {{2, 0}, {-1, 2}, {-1, -2}};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto label = static_cast<std::int64_t>(random.below(3));
    set.targets.values<std::int64_t>()[static_cast<std::size_t>(i)] = label;
    for (int axis = 0; axis < 2; ++axis) {
      set.inputs.values<float>()[static_cast<std::size_t>(2 * i + axis)] = kCentres[label][axis] + 0.5f * random.noise();
    }
  }
  return set;
}

/// With everything a checkpoint must hold: weights, running statistics, random numbers.
struct SmallNet {
  nn::Linear hidden{2, 16};
  nn::BatchNorm1d norm{16};
  nn::Dropout drop{0.3};
  nn::Linear head{16, 3};
  Tensor operator()(Tensor x) { return head(drop(relu(norm(hidden(x))))); }  // (N, 2) -> (N, 3)
};

/// The bytes of every cell.
inline std::vector<std::string> bits(const Parameters& cells) {
  std::vector<std::string> all;
  for (const Parameter& p : cells) {
    const HostArray array = p.read().to_array();
    all.push_back(p.name + ":" + std::string(static_cast<const char*>(array.buffer->data()), array.bytes()));
  }
  return all;
}

}  // namespace tegula::testing

#include "tegula/models/airbench.h"

#include <array>
#include <cmath>

#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/pooling.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

constexpr int kPatch = 12;  // 3 channels of 2 x 2
using Matrix = std::array<std::array<double, kPatch>, kPatch>;

/// Second moments of all 2 x 2 patches.
Matrix patch_moments(const HostArray& images) {
  const auto x = images.values<float>();
  const std::int64_t h = images.shape[2], w = images.shape[3];
  Matrix sums{};
  std::array<double, kPatch> patch{};
  double count = 0;
  for (std::int64_t n = 0; n < images.shape[0]; ++n) {
    for (std::int64_t i = 0; i + 1 < h; ++i) {
      for (std::int64_t j = 0; j + 1 < w; ++j, ++count) {
        for (int p = 0; p < kPatch; ++p) {
          const std::int64_t c = p / 4, row = i + p / 2 % 2, col = j + p % 2;
          patch[static_cast<std::size_t>(p)] = static_cast<double>(x[static_cast<std::size_t>(((n * 3 + c) * h + row) * w + col)]);
        }
        for (std::size_t a = 0; a < kPatch; ++a)
          for (std::size_t b = 0; b <= a; ++b) sums[a][b] += patch[a] * patch[b];
      }
    }
  }
  for (std::size_t a = 0; a < kPatch; ++a)
    for (std::size_t b = 0; b <= a; ++b) sums[b][a] = sums[a][b] = sums[a][b] / count;
  return sums;
}

/// Jacobi's method: `m` becomes diagonal, the columns of the result are the eigenvectors.
Matrix diagonalise(Matrix& m) {
  Matrix vectors{};
  for (std::size_t i = 0; i < kPatch; ++i) vectors[i][i] = 1;
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::size_t p = 0; p < kPatch; ++p) {
      for (std::size_t q = p + 1; q < kPatch; ++q) {
        if (m[p][q] == 0) continue;
        const double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < kPatch; ++k) {
          const double a = m[k][p], b = m[k][q];
          m[k][p] = c * a - s * b, m[k][q] = s * a + c * b;
        }
        for (std::size_t k = 0; k < kPatch; ++k) {
          const double a = m[p][k], b = m[q][k];
          m[p][k] = c * a - s * b, m[q][k] = s * a + c * b;
          const double u = vectors[k][p], v = vectors[k][q];
          vectors[k][p] = c * u - s * v, vectors[k][q] = s * u + c * v;
        }
      }
    }
  }
  return vectors;
}

/// Filter i passes channel i on, for as many as there are channels.
void pass_through(nn::Conv2d& conv) {
  const HostArray weight = conv.weight.read().to_array();
  const std::int64_t in = weight.shape[1], taps = weight.shape[2] * weight.shape[3];
  const auto values = weight.values<float>();
  for (std::int64_t k = 0; k < std::min(in, weight.shape[0]); ++k) {
    for (std::int64_t i = 0; i < in * taps; ++i)
      values[static_cast<std::size_t>(k * in * taps + i)] = i == k * taps + taps / 2 ? 1.0f : 0.0f;
  }
  conv.weight = from_array(weight);
}

}  // namespace

Tensor AirbenchBlock::operator()(Tensor x) {
  x = gelu(norm1(max_pool2d(conv1(x), 2)));
  return gelu(norm2(conv2(x)));
}

void Airbench::initialise(const HostArray& images) {
  Matrix moments = patch_moments(images);
  const Matrix vectors = diagonalise(moments);
  const HostArray weight = HostArray::empty(f32, {2 * kPatch, 3, 2, 2});
  const auto values = weight.values<float>();
  for (std::size_t k = 0; k < kPatch; ++k) {
    const double scale = 1 / std::sqrt(moments[k][k] + 5e-4);
    for (std::size_t p = 0; p < kPatch; ++p) {
      values[k * kPatch + p] = static_cast<float>(vectors[p][k] * scale);
      values[(k + kPatch) * kPatch + p] = -values[k * kPatch + p];
    }
  }
  whiten.weight = from_array(weight);
  for (AirbenchBlock* block : {&block1, &block2, &block3}) {
    pass_through(block->conv1);
    pass_through(block->conv2);
  }
}

Tensor Airbench::operator()(Tensor x) {
  x = block3(block2(block1(gelu(whiten(x)))));
  return head(flatten(max_pool2d(x, 3), 1)) * (1.0 / 9);
}

Parameters Airbench::weights() {
  Parameters list{{"whiten.bias", whiten.bias.cell()}, {"head.weight", head.weight.cell()}};
  for (auto [name, block] : {std::pair{"block1", &block1}, {"block2", &block2}, {"block3", &block3}}) {
    list.push_back({std::string(name) + ".conv1.weight", block->conv1.weight.cell()});
    list.push_back({std::string(name) + ".conv2.weight", block->conv2.weight.cell()});
  }
  return list;
}

Parameters Airbench::biases() {
  Parameters list;
  for (auto [name, block] : {std::pair{"block1", &block1}, {"block2", &block2}, {"block3", &block3}}) {
    list.push_back({std::string(name) + ".norm1.bias", block->norm1.bias.cell()});
    list.push_back({std::string(name) + ".norm2.bias", block->norm2.bias.cell()});
  }
  return list;
}

}  // namespace tegula::models

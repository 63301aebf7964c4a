// Principal components and t-SNE: vectors of many numbers as points in the plane.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/philox.h"
#include "tegula/core/text.h"
#include "tegula/text/vectors/word_evaluation.h"

namespace tegula::text {
namespace {

void require_rows(const char* op, const HostArray& x, std::int64_t rows, std::int64_t columns) {
  if (x.dtype == f32 && x.shape.rank() == 2 && x.shape[0] >= rows && x.shape[1] >= columns) return;
  throw Error({.op = op,
               .got = std::string(name(x.dtype)) + to_string(x.shape),
               .expected = "f32 (N, D) with at least " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns"});
}

using Matrix = std::vector<double>;

/// The vectors of length 1, at right angles to each other, that the rows of `basis` (count, size) span (Gram and Schmidt, twice for accuracy).
void make_orthonormal(Matrix& basis, std::size_t count, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) {
    double* row = basis.data() + i * size;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < i; ++k) {
        const double* other = basis.data() + k * size;
        double dot = 0;
        for (std::size_t j = 0; j < size; ++j) dot += row[j] * other[j];
        for (std::size_t j = 0; j < size; ++j) row[j] -= dot * other[j];
      }
    }
    double squares = 0;
    for (std::size_t j = 0; j < size; ++j) squares += row[j] * row[j];
    for (std::size_t j = 0; j < size; ++j) row[j] = squares > 1e-300 ? row[j] / std::sqrt(squares) : (j == i ? 1.0 : 0.0);
  }
}

/// p(j|i) with the width for which row i has the wanted perplexity, found by bisection.
void conditional_row(const double* distances, double* p, std::size_t i, std::size_t count, double perplexity) {
  double low = 0, high = INFINITY, beta = 1;
  for (int step = 0; step < 100; ++step) {
    double sum = 0, weighted = 0, least = INFINITY;
    for (std::size_t j = 0; j < count; ++j) {
      if (j != i) least = std::min(least, distances[j]);
    }
    for (std::size_t j = 0; j < count; ++j) {
      p[j] = j == i ? 0 : std::exp(-beta * (distances[j] - least));
      sum += p[j];
      weighted += p[j] * (distances[j] - least);
    }
    for (std::size_t j = 0; j < count; ++j) p[j] /= sum;
    const double entropy = std::log(sum) + beta * weighted / sum, wanted = std::log(perplexity);
    if (std::abs(entropy - wanted) < 1e-5) return;
    (entropy > wanted ? low : high) = beta;
    beta = std::isinf(high) ? 2 * beta : 0.5 * (low + high);
  }
}

/// The symmetric p(ij) of t-SNE, which sum to 1.
Matrix joint_probabilities(const HostArray& x, double perplexity) {
  const auto count = static_cast<std::size_t>(x.shape[0]), size = static_cast<std::size_t>(x.shape[1]);
  const auto values = x.values<float>();
  Matrix distances(count * count), p(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k) sum += std::pow(double{values[i * size + k]} - values[j * size + k], 2);
      distances[i * count + j] = distances[j * count + i] = sum;
    }
  }
  for (std::size_t i = 0; i < count; ++i) conditional_row(distances.data() + i * count, p.data() + i * count, i, count, perplexity);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double both = (p[i * count + j] + p[j * count + i]) / (2 * static_cast<double>(count));
      p[i * count + j] = p[j * count + i] = i == j ? 0 : std::max(both, 1e-12);
    }
  }
  return p;
}

}  // namespace

HostArray principal_components(const HostArray& x, std::int64_t count) {
  require_rows("principal_components", x, 1, 1);
  if (count < 1 || count > std::min(x.shape[0], x.shape[1])) {
    throw Error({.op = "principal_components",
                 .got = std::to_string(count) + " components of shape " + to_string(x.shape),
                 .expected = "1 to " + std::to_string(std::min(x.shape[0], x.shape[1]))});
  }
  const auto rows = static_cast<std::size_t>(x.shape[0]), size = static_cast<std::size_t>(x.shape[1]),
             wanted = static_cast<std::size_t>(count);
  const auto values = x.values<float>();
  Matrix centred(rows * size);
  for (std::size_t j = 0; j < size; ++j) {
    double mean = 0;
    for (std::size_t i = 0; i < rows; ++i) mean += values[i * size + j];
    mean /= static_cast<double>(rows);
    for (std::size_t i = 0; i < rows; ++i) centred[i * size + j] = values[i * size + j] - mean;
  }
  Matrix covariance(size * size);
  for (std::size_t i = 0; i < rows; ++i) {
    const double* row = centred.data() + i * size;
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = 0; b < size; ++b) covariance[a * size + b] += row[a] * row[b];
    }
  }
  // Orthogonal iteration with a few directions more than are wanted, whose order the longer ones take.
  const std::size_t kept = std::min(size, wanted + 4);
  Matrix basis(kept * size), next(kept * size);
  for (std::size_t i = 0; i < basis.size(); ++i) basis[i] = static_cast<double>(philox_word(1, i)) * 0x1p-32 - 0.5;
  make_orthonormal(basis, kept, size);
  for (int step = 0; step < 500; ++step) {
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t k = 0; k < kept; ++k) {
      for (std::size_t a = 0; a < size; ++a) {
        for (std::size_t b = 0; b < size; ++b) next[k * size + a] += covariance[a * size + b] * basis[k * size + b];
      }
    }
    make_orthonormal(next, kept, size);
    double change = 0;
    for (std::size_t k = 0; k < wanted; ++k) {
      double dot = 0;
      for (std::size_t j = 0; j < size; ++j) dot += next[k * size + j] * basis[k * size + j];
      change = std::max(change, 1 - std::abs(dot));
    }
    basis = next;
    if (change < 1e-13) break;
  }
  HostArray out = HostArray::empty(f32, {x.shape[0], count});
  for (std::size_t k = 0; k < wanted; ++k) {
    // The sign that makes the largest part positive.
    double largest = 0;
    for (std::size_t j = 0; j < size; ++j) {
      if (std::abs(basis[k * size + j]) > std::abs(largest)) largest = basis[k * size + j];
    }
    for (std::size_t i = 0; i < rows; ++i) {
      double dot = 0;
      for (std::size_t j = 0; j < size; ++j) dot += centred[i * size + j] * basis[k * size + j];
      out.values<float>()[i * wanted + k] = static_cast<float>(largest < 0 ? -dot : dot);
    }
  }
  return out;
}

HostArray tsne(const HostArray& x, const TsneOptions& options) {
  require_rows("tsne", x, 4, 2);
  const auto count = static_cast<std::size_t>(x.shape[0]);
  const double perplexity = std::min(options.perplexity, (static_cast<double>(count) - 1) / 3);
  if (!(options.perplexity > 0) || options.steps < 1 || options.lr < 0 || !(options.exaggeration >= 1)) {
    throw Error({.op = "tsne",
                 .got = "perplexity " + number_text(options.perplexity) + ", " + std::to_string(options.steps) + " steps",
                 .expected = "both positive, lr of at least 0, exaggeration of at least 1"});
  }
  const Matrix p = joint_probabilities(x, perplexity);
  const HostArray start = principal_components(x, 2);
  Matrix y(2 * count), velocity(2 * count), gain(2 * count, 1.0), gradient(2 * count), q(count * count);
  double spread = 0;
  for (std::size_t i = 0; i < count; ++i) spread += std::pow(start.values<float>()[2 * i], 2);
  spread = std::sqrt(spread / static_cast<double>(count));
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = spread > 0 ? start.values<float>()[i] / spread * 1e-4 : 1e-4 * static_cast<double>(philox_word(2, i)) * 0x1p-32;
  const double lr = options.lr > 0 ? options.lr : std::max(static_cast<double>(count) / options.exaggeration / 4, 50.0);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const bool early = step < options.steps / 4;
    const double factor = early ? options.exaggeration : 1, momentum = early ? 0.5 : 0.8;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1];
        sum += 2 * (q[i * count + j] = 1 / (1 + dx * dx + dy * dy));
      }
    }
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double w = q[i * count + j], pull = 4 * (factor * p[i * count + j] - w / sum) * w;
        for (std::size_t k = 0; k < 2; ++k) {
          const double part = pull * (y[2 * i + k] - y[2 * j + k]);
          gradient[2 * i + k] += part;
          gradient[2 * j + k] -= part;
        }
      }
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      gain[i] = (gradient[i] > 0) != (velocity[i] > 0) ? gain[i] + 0.2 : std::max(gain[i] * 0.8, 0.01);
      velocity[i] = momentum * velocity[i] - lr * gain[i] * gradient[i];
      y[i] += velocity[i];
    }
  }
  HostArray out = HostArray::empty(f32, {x.shape[0], 2});
  std::copy(y.begin(), y.end(), out.values<float>().begin());
  return out;
}

}  // namespace tegula::text

#pragma once
// Distances of made samples from real ones.

#include "tegula/graph/tensor.h"

namespace tegula::metrics {

/// The Fréchet distance of two normal distributions with the means and covariances of the rows of a (N, D) and b (M, D), in f64: |µa - µb|² + tr(Σa + Σb - 2 (Σa Σb)^½)
/// (Heusel et al., "GANs trained by a two time-scale update rule", 2017, who take features of an Inception net). Throws Error for fewer than two rows and other shapes.
double frechet_distance(const Tensor& a, const Tensor& b, Line where = Line::current());

}  // namespace tegula::metrics

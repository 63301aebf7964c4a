#pragma once
// Position encodings: sinusoidal and learned positions, rotary embeddings, linear biases.

#include "tegula/nn/module.h"

namespace tegula::nn {

/// (length, width): sin(i / 10000^(2k/width)) in column 2k, cos of the same in column 2k + 1 (Vaswani et al., 2017).
Tensor sinusoidal_positions(std::int64_t length, std::int64_t width, DType dtype = f32, Line where = Line::current());
/// The rows of the same for any positions (integers, …) -> (…, width).
Tensor sinusoidal_positions(Arg places, std::int64_t width, DType dtype = f32);

/// x (…, T, width) plus row t of a table: sinusoidal, or learned.
class SinusoidalPositions {
 public:
  SinusoidalPositions(std::int64_t max_length, std::int64_t width, Line where = Line::current());
  Tensor operator()(Arg x) const;
  void visit(Visitor&, const Path&) {}

 private:
  Tensor table_;  // (max_length, width)
};
class LearnedPositions {
 public:
  LearnedPositions(std::int64_t max_length, std::int64_t width, DType dtype = f32, Line where = Line::current());
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (max_length, width), Gaussian with deviation 0.02
};

/// For contexts longer than those a model was trained with first: frequencies are divided by `factor`; all of them (Chen et al., "Extending context window of
/// large language models via positional interpolation", 2023), or with an original_context those alone of which fewer than low_freq_factor wavelengths fit into
/// it, none of which more than high_freq_factor fit, in between a part (Llama 3.1).
struct RotaryScaling {
  double factor = 1;
  std::int64_t original_context = 0;  // 0: all frequencies
  double low_freq_factor = 1, high_freq_factor = 4;
};
struct RotaryOptions {
  double theta = 10000;  // the longest wavelength is about 2π theta
  bool interleaved = false;  // features 2k and 2k + 1 turn together; otherwise k and k + width / 2 (Hugging Face's Llama)
  RotaryScaling scaling = {};
};
/// Turns pairs of features by angles in proportion to the position, so that products of queries and keys depend on their distance (Su et al.,
/// "RoFormer", 2021).
class Rotary {
 public:
  explicit Rotary(std::int64_t width, const RotaryOptions& options = {}, Line where = Line::current());
  /// x (B, T, H, width), positions (T) or (B, T), integers. Angles in f32 (f64 for f64).
  Tensor operator()(Arg x, Arg places) const;
  void visit(Visitor&, const Path&) {}
  /// (width / 2) f64: how far the pairs turn from position to position.
  const Tensor& frequencies() const { return frequencies_; }

 private:
  std::int64_t width_;
  RotaryOptions options_;
  Tensor frequencies_;  // (width / 2) f64
  Tensor sign_;  // -1, 1: of the pair's features, f64
};

/// A bias for causal attention: (heads, 1, keys), slope_h * j. The slopes are a geometric series from 2^(-8 / heads) on; head counts that are no
/// power of two take the remaining slopes from the next one (Press et al., "Train short, test long", 2022). Softmax ignores a constant that a whole row
/// of scores has in common, so this equals the published -slope * (i - j).
Tensor alibi_bias(std::int64_t heads, std::int64_t keys, DType dtype = f32, Line where = Line::current());
/// (heads) f64.
Tensor alibi_slopes(std::int64_t heads, Line where = Line::current());

}  // namespace tegula::nn

#pragma once
// Dropout layers: random zeros in training, x itself in evaluation.

#include "tegula/nn/module.h"

namespace tegula::nn {

namespace detail {

class AnyDropout {
 public:
  explicit AnyDropout(double p, Generator* generator, std::string_view name, const Line& where);
  void visit(Visitor& visitor, const Path& path);

  double p;
  Flag training{1};

 protected:
  Generator* generator_;  // null: the default one; not owned
};

}  // namespace detail

/// Each element 0 with probability p, the others divided by 1 - p (Srivastava et al., 2014).
class Dropout : public detail::AnyDropout {
 public:
  explicit Dropout(double p = 0.5, Generator* generator = nullptr, Line where = Line::current());
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  dist::Split split;  // split of the steps among ranks (nn/tensor_parallel.h): their zeros together are those of one process
};

struct DropoutChannelsOptions {
  AxisOrder layout = Layout::NCHW;  // NHWC: x (N, spatial…, C)
  Generator* generator = nullptr;   // the default one; not owned
};
/// Whole channels of x (N, C, spatial…) (Tompson et al., 2015). Dropout1d, 2d and 3d are the same.
class DropoutChannels : public detail::AnyDropout {
 public:
  explicit DropoutChannels(double p = 0.5, const DropoutChannelsOptions& options = {}, Line where = Line::current());
  DropoutChannels(double p, Generator* generator, Line where = Line::current()) : DropoutChannels(p, {.generator = generator}, where) {}
  Tensor operator()(Arg x) const;

 private:
  AxisOrder layout_;
};
using Dropout1d = DropoutChannels;
using Dropout2d = DropoutChannels;
using Dropout3d = DropoutChannels;

/// Whole samples, which lie along `axis`: behind a part of a net whose result is added to its input (Huang et al., "Deep networks with stochastic depth",
/// 2016; torchvision's StochasticDepth with mode "row").
class StochasticDepth : public detail::AnyDropout {
 public:
  explicit StochasticDepth(double p, int axis = 0, Generator* generator = nullptr, Line where = Line::current());
  Tensor operator()(Arg x) const;

 private:
  int axis_;
};

/// For selu networks (Klambauer et al., 2017).
class AlphaDropout : public detail::AnyDropout {
 public:
  explicit AlphaDropout(double p = 0.5, Generator* generator = nullptr, Line where = Line::current());
  Tensor operator()(Arg x) const;
};

}  // namespace tegula::nn

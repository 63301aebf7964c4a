#pragma once
// Activation functions as layers, for Sequential. PyTorch's names and defaults; the formulas are in ops/elementwise/activation.h.

#include "tegula/nn/module.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/rows/softmax.h"

namespace tegula::nn {

struct ReLU {
  Tensor operator()(Arg x) const { return relu(x); }
};
struct ReLU6 {
  Tensor operator()(Arg x) const { return relu6(x); }
};
struct SELU {
  Tensor operator()(Arg x) const { return selu(x); }
};
struct SiLU {
  Tensor operator()(Arg x) const { return silu(x); }
};
struct Mish {
  Tensor operator()(Arg x) const { return mish(x); }
};
struct Tanh {
  Tensor operator()(Arg x) const { return tanh(x); }
};
struct Sigmoid {
  Tensor operator()(Arg x) const { return sigmoid(x); }
};
struct LogSigmoid {
  Tensor operator()(Arg x) const { return log_sigmoid(x); }
};
struct Softsign {
  Tensor operator()(Arg x) const { return softsign(x); }
};
struct Tanhshrink {
  Tensor operator()(Arg x) const { return tanhshrink(x); }
};
struct Hardsigmoid {
  Tensor operator()(Arg x) const { return hardsigmoid(x); }
};
struct Hardswish {
  Tensor operator()(Arg x) const { return hardswish(x); }
};

struct LeakyReLU {
  double negative_slope = 0.01;
  Tensor operator()(Arg x) const { return leaky_relu(x, negative_slope); }
  void visit(Visitor&, const Path&) {}
};
struct ELU {
  double alpha = 1;
  Tensor operator()(Arg x) const { return elu(x, alpha); }
  void visit(Visitor&, const Path&) {}
};
struct CELU {
  double alpha = 1;
  Tensor operator()(Arg x) const { return celu(x, alpha); }
  void visit(Visitor&, const Path&) {}
};
struct GELU {
  Approximate approximate = Approximate::None;
  Tensor operator()(Arg x) const { return gelu(x, approximate); }
  void visit(Visitor&, const Path&) {}
};
struct Softplus {
  double beta = 1;
  double threshold = 20;
  Tensor operator()(Arg x) const { return softplus(x, beta, threshold); }
  void visit(Visitor&, const Path&) {}
};
struct Hardtanh {
  double min_val = -1;
  double max_val = 1;
  Tensor operator()(Arg x) const { return hardtanh(x, min_val, max_val); }
  void visit(Visitor&, const Path&) {}
};
struct Hardshrink {
  double lambda = 0.5;
  Tensor operator()(Arg x) const { return hardshrink(x, lambda); }
  void visit(Visitor&, const Path&) {}
};
struct Softshrink {
  double lambda = 0.5;
  Tensor operator()(Arg x) const { return softshrink(x, lambda); }
  void visit(Visitor&, const Path&) {}
};
struct Threshold {
  double bound;
  double value;
  Tensor operator()(Arg x) const { return threshold(x, bound, value); }
  void visit(Visitor&, const Path&) {}
};
struct Softmax {
  int dim = -1;
  Tensor operator()(Arg x) const { return softmax(x, dim); }
  void visit(Visitor&, const Path&) {}
};
struct LogSoftmax {
  int dim = -1;
  Tensor operator()(Arg x) const { return log_softmax(x, dim); }
  void visit(Visitor&, const Path&) {}
};
struct Maxout {
  int groups;
  int dim = 1;
  Tensor operator()(Arg x) const { return maxout(x, groups, dim); }
  void visit(Visitor&, const Path&) {}
};

struct PReLUOptions {
  double init = 0.25;
  AxisOrder layout = Layout::NCHW;  // NHWC: x (N, spatial…, C)
};
/// leaky_relu with a learnt slope: one, or one for each channel of x (N, C, …) (He et al., 2015).
class PReLU {
 public:
  explicit PReLU(std::int64_t num_parameters = 1, const PReLUOptions& options = {}, Line where = Line::current());
  PReLU(std::int64_t num_parameters, double init, Line where = Line::current())
      : PReLU(num_parameters, PReLUOptions{.init = init}, where) {}
  Tensor operator()(Arg x) const;
  void visit(Visitor& visitor, const Path& path);

  Variable weight;  // (1) or (C)

 private:
  AxisOrder layout_;
};

}  // namespace tegula::nn

#pragma once
// Optimisers whose step for each parameter is as long as its own norm says: for very large batches, and with little memory. State and arithmetic are
// f32, or f64 for f64 parameters. In all formulas g is the gradient, p the parameter, t the number of the step from 1, ‖·‖ over a whole parameter.
//
// Biases and norms are usually left out of the scaling and the decay: give them an optimiser of their own (optim::ParameterGroups).

#include "tegula/optim/optimizer.h"

namespace tegula::optim {

struct LARSOptions {
  double lr = 1e-3;
  double momentum = 0.9;
  double weight_decay = 0;
  double trust_coefficient = 1e-3;  // eta
};
/// r = eta ‖p‖ / (‖g‖ + weight_decay ‖p‖), 1 where one of the norms is 0; b = momentum b + lr r (g + weight_decay p); p -= b
/// (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017, algorithm 1).
class LARS final : public Optimizer {
 public:
  explicit LARS(Parameters parameters, const LARSOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  LARS(const Parameters& parameters, T) : LARS(parameters) {
    options_have_names<T>();
  }

 private:
  std::vector<Tensor> update(const Step& step) override;
  LARSOptions options_;
  std::vector<Variable>* momentum_;
};

struct LAMBOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-6;
  double weight_decay = 0.01;
};
/// u = m / (1-b1^t) / (sqrt(v / (1-b2^t)) + eps) + weight_decay p with Adam's m and v; p -= lr (‖p‖ / ‖u‖) u, the ratio 1 where one of the norms is 0
/// (You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020, algorithm 2).
class LAMB final : public Optimizer {
 public:
  explicit LAMB(Parameters parameters, const LAMBOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  LAMB(const Parameters& parameters, T) : LAMB(parameters) {
    options_have_names<T>();
  }

 private:
  std::vector<Tensor> update(const Step& step) override;
  LAMBOptions options_;
  std::vector<Variable>* exp_avg_;
  std::vector<Variable>* exp_avg_sq_;
};

struct AdafactorOptions {
  double lr = 1e-2;  // the greatest relative step
  double beta2_decay = -0.8;  // second moments forget 1 - t^beta2_decay
  double eps1 = 0;  // the least root of a second moment; 0: the machine epsilon of the parameter's dtype
  double eps2 = 1e-3;  // the least size of a parameter
  double clip_threshold = 1;  // d: the greatest root mean square of an update
  double weight_decay = 0;  // p (1 - lr weight_decay)
};
/// Second moments of a matrix (the last two axes) as the product of those of its rows and columns; u = g / sqrt(moments), divided by max(1, rms(u) / d);
/// p -= max(eps2, rms(p)) min(lr, 1/sqrt(t)) u (Shazeer and Stern, 2018; details as PyTorch's torch.optim.Adafactor).
class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(Parameters parameters, const AdafactorOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Adafactor(const Parameters& parameters, T) : Adafactor(parameters) {
    options_have_names<T>();
  }

 private:
  std::vector<Tensor> update(const Step& step) override;
  AdafactorOptions options_;
  std::vector<Variable>* row_var_;  // for matrices
  std::vector<Variable>* col_var_;
  std::vector<Variable>* variance_;  // for vectors
};

}  // namespace tegula::optim

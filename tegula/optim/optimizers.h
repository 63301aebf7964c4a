#pragma once
// The optimisers, with PyTorch's names, defaults and formulas. State and arithmetic are f32, or f64 for f64 parameters.
//
// In all formulas g is the gradient, p the parameter, t the number of the step from 1.

#include "tegula/optim/optimizer.h"

namespace tegula::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;  // g + weight_decay p
  bool nesterov = false;    // needs a momentum and no dampening
};
/// b = momentum b + (1 - dampening) g, the first time b = g; p -= lr b. Nesterov: p -= lr (g + momentum b) (Sutskever et al., 2013).
class SGD final : public Optimizer {
 public:
  explicit SGD(Parameters parameters, const SGDOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  SGD(const Parameters& parameters, T) : SGD(parameters) {
    options_have_names<T>();
  }
  bool elementwise() const override { return true; }

 private:
  std::vector<Tensor> update(const Step& step) override;
  SGDOptions options_;
  std::vector<Variable>* momentum_ = nullptr;
};

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // Adam: g + weight_decay p; AdamW: p (1 - lr weight_decay)
  bool amsgrad = false;     // the greatest second moment so far (Reddi et al., 2018)
};
/// m = b1 m + (1-b1) g, v = b2 v + (1-b2) g², p -= lr / (1-b1^t) m / (sqrt(v / (1-b2^t)) + eps) (Kingma and Ba, 2015).
class Adam : public Optimizer {
 public:
  explicit Adam(Parameters parameters, const AdamOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Adam(const Parameters& parameters, T) : Adam(parameters) {
    options_have_names<T>();
  }
  bool elementwise() const override { return true; }

 protected:
  enum class Decay : std::uint8_t { Gradient, Parameter };
  Adam(std::string_view name, Parameters parameters, const AdamOptions& options, Decay decay, Line where);

 private:
  std::vector<Tensor> update(const Step& step) override;
  AdamOptions options_;
  Decay decay_;
  std::vector<Variable>* exp_avg_;
  std::vector<Variable>* exp_avg_sq_;
  std::vector<Variable>* max_exp_avg_sq_ = nullptr;
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
};
/// Adam with the decay of the weights apart from the gradient (Loshchilov and Hutter, 2019).
class AdamW final : public Adam {
 public:
  explicit AdamW(Parameters parameters, const AdamWOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  AdamW(const Parameters& parameters, T) : AdamW(parameters) {
    options_have_names<T>();
  }
};

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;  // divides by the deviation instead (Graves, 2013)
};
/// v = alpha v + (1-alpha) g², p -= lr g / (sqrt(v) + eps) (Hinton, lecture 6e, 2012).
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(Parameters parameters, const RMSpropOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  RMSprop(const Parameters& parameters, T) : RMSprop(parameters) {
    options_have_names<T>();
  }
  bool elementwise() const override { return true; }

 private:
  std::vector<Tensor> update(const Step& step) override;
  RMSpropOptions options_;
  std::vector<Variable>* square_avg_;
  std::vector<Variable>* grad_avg_ = nullptr;
  std::vector<Variable>* momentum_buffer_ = nullptr;
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;  // lr / (1 + (t-1) lr_decay)
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};
/// s = s + g², p -= lr g / (sqrt(s) + eps) (Duchi et al., 2011).
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(Parameters parameters, const AdagradOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Adagrad(const Parameters& parameters, T) : Adagrad(parameters) {
    options_have_names<T>();
  }
  bool elementwise() const override { return true; }

 private:
  std::vector<Tensor> update(const Step& step) override;
  AdagradOptions options_;
  std::vector<Variable>* sum_;
};

struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
};
/// v = rho v + (1-rho) g², d = sqrt(u + eps) / sqrt(v + eps) g, u = rho u + (1-rho) d², p -= lr d (Zeiler, 2012).
class Adadelta final : public Optimizer {
 public:
  explicit Adadelta(Parameters parameters, const AdadeltaOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Adadelta(const Parameters& parameters, T) : Adadelta(parameters) {
    options_have_names<T>();
  }
  bool elementwise() const override { return true; }

 private:
  std::vector<Tensor> update(const Step& step) override;
  AdadeltaOptions options_;
  std::vector<Variable>* square_avg_;
  std::vector<Variable>* acc_delta_;
};

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;  // p (1 - lr weight_decay)
};
/// p -= lr sign(b1 m + (1-b1) g), then m = b2 m + (1-b2) g (Chen et al., 2023).
class Lion final : public Optimizer {
 public:
  explicit Lion(Parameters parameters, const LionOptions& options = {}, Line where = Line::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  Lion(const Parameters& parameters, T) : Lion(parameters) {
    options_have_names<T>();
  }
  bool elementwise() const override { return true; }

 private:
  std::vector<Tensor> update(const Step& step) override;
  LionOptions options_;
  std::vector<Variable>* exp_avg_;
};

}  // namespace tegula::optim

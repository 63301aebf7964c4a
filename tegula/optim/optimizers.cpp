#include "tegula/optim/optimizers.h"

#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"

namespace tegula::optim {
namespace {

Tensor with_decay(const Tensor& g, const Tensor& p, double weight_decay) { return weight_decay == 0 ? g : g + weight_decay * p; }

// share * x + (1 - share) * y
Tensor average(double share, const Tensor& x, const Tensor& y) { return share * x + (1 - share) * y; }

}  // namespace

SGD::SGD(Parameters parameters, const SGDOptions& options, Line where)
    : Optimizer("SGD", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative({{"momentum", options.momentum}, {"weight_decay", options.weight_decay}}, where);
  require(!options.nesterov || (options.momentum > 0 && options.dampening == 0), "nesterov without a momentum, or with dampening",
          "a momentum and no dampening", where);
  if (options.momentum != 0) momentum_ = add_state("momentum_buffer");
}

std::vector<Tensor> SGD::update(const Step& step) {
  const auto [_, momentum, dampening, weight_decay, nesterov] = options_;
  const Number rate = step.lr;
  // The buffer begins as the first gradient, undampened.
  const Number share = dampening == 0 ? Tensor(step.lr) : where(step.t == 1, 1.0, cast(1 - dampening, f64));
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor& p = step.p[i];
    Tensor g = with_decay(step.g[i], p, weight_decay);
    if (momentum_) {
      const Tensor buffer = momentum * (*momentum_)[i] + (dampening == 0 ? g : share.like(g) * g);
      (*momentum_)[i] = buffer;
      g = nesterov ? g + momentum * buffer : buffer;
    }
    next.push_back(p - rate.like(p) * g);
  }
  return next;
}

Adam::Adam(Parameters parameters, const AdamOptions& options, Line where)
    : Adam("Adam", std::move(parameters), options, Decay::Gradient, where) {}

Adam::Adam(std::string_view name, Parameters parameters, const AdamOptions& options, Decay decay, Line where)
    : Optimizer(name, std::move(parameters), options.lr, where),
      options_(options),
      decay_(decay) {
  require_not_negative({{"eps", options.eps}, {"weight_decay", options.weight_decay}}, where);
  require(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1, "a beta outside of [0, 1)", "both in [0, 1)",
          where);
  exp_avg_ = add_state("exp_avg");
  exp_avg_sq_ = add_state("exp_avg_sq");
  if (options.amsgrad) max_exp_avg_sq_ = add_state("max_exp_avg_sq");
}

std::vector<Tensor> Adam::update(const Step& step) {
  const auto [_, beta1, beta2, eps, weight_decay, amsgrad] = options_;
  const Number rate = step.lr / (1 - pow(beta1, step.t));
  const Number root = rsqrt(1 - pow(beta2, step.t));
  const Number keep = 1 - weight_decay * step.lr;
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    Tensor p = step.p[i];
    const Tensor g = decay_ == Decay::Gradient ? with_decay(step.g[i], p, weight_decay) : step.g[i];
    if (decay_ == Decay::Parameter && weight_decay != 0) p = p * keep.like(p);
    const Tensor m = average(beta1, (*exp_avg_)[i], g);
    Tensor v = average(beta2, (*exp_avg_sq_)[i], g * g);
    (*exp_avg_)[i] = m;
    (*exp_avg_sq_)[i] = v;
    if (amsgrad) {
      v = maximum((*max_exp_avg_sq_)[i], v);
      (*max_exp_avg_sq_)[i] = v;
    }
    next.push_back(p - rate.like(p) * m / (sqrt(v) * root.like(v) + eps));
  }
  return next;
}

AdamW::AdamW(Parameters parameters, const AdamWOptions& options, Line where)
    : Adam("AdamW", std::move(parameters),
           {.lr = options.lr,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .eps = options.eps,
            .weight_decay = options.weight_decay,
            .amsgrad = options.amsgrad},
           Decay::Parameter, where) {}

RMSprop::RMSprop(Parameters parameters, const RMSpropOptions& options, Line where)
    : Optimizer("RMSprop", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative(
      {{"alpha", options.alpha}, {"eps", options.eps}, {"weight_decay", options.weight_decay}, {"momentum", options.momentum}}, where);
  square_avg_ = add_state("square_avg");
  if (options.centered) grad_avg_ = add_state("grad_avg");
  if (options.momentum != 0) momentum_buffer_ = add_state("momentum_buffer");
}

std::vector<Tensor> RMSprop::update(const Step& step) {
  const auto [_, alpha, eps, weight_decay, momentum, centered] = options_;
  const Number rate = step.lr;
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor& p = step.p[i];
    const Tensor g = with_decay(step.g[i], p, weight_decay);
    Tensor v = average(alpha, (*square_avg_)[i], g * g);
    (*square_avg_)[i] = v;
    if (centered) {
      const Tensor mean = average(alpha, (*grad_avg_)[i], g);
      (*grad_avg_)[i] = mean;
      v = v - mean * mean;
    }
    Tensor change = g / (sqrt(v) + eps);
    if (momentum_buffer_) {
      change = momentum * (*momentum_buffer_)[i] + change;
      (*momentum_buffer_)[i] = change;
    }
    next.push_back(p - rate.like(p) * change);
  }
  return next;
}

Adagrad::Adagrad(Parameters parameters, const AdagradOptions& options, Line where)
    : Optimizer("Adagrad", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative({{"lr_decay", options.lr_decay},
                        {"weight_decay", options.weight_decay},
                        {"initial_accumulator_value", options.initial_accumulator_value},
                        {"eps", options.eps}},
                       where);
  sum_ = add_state("sum", options.initial_accumulator_value);
}

std::vector<Tensor> Adagrad::update(const Step& step) {
  const Number rate = options_.lr_decay == 0 ? step.lr : step.lr / (1 + (step.t - 1) * options_.lr_decay);
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor& p = step.p[i];
    const Tensor g = with_decay(step.g[i], p, options_.weight_decay);
    const Tensor s = (*sum_)[i] + g * g;
    (*sum_)[i] = s;
    next.push_back(p - rate.like(p) * g / (sqrt(s) + options_.eps));
  }
  return next;
}

Adadelta::Adadelta(Parameters parameters, const AdadeltaOptions& options, Line where)
    : Optimizer("Adadelta", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative({{"rho", options.rho}, {"eps", options.eps}, {"weight_decay", options.weight_decay}}, where);
  square_avg_ = add_state("square_avg");
  acc_delta_ = add_state("acc_delta");
}

std::vector<Tensor> Adadelta::update(const Step& step) {
  const auto [_, rho, eps, weight_decay] = options_;
  const Number rate = step.lr;
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor& p = step.p[i];
    const Tensor g = with_decay(step.g[i], p, weight_decay);
    const Tensor v = average(rho, (*square_avg_)[i], g * g);
    const Tensor u = (*acc_delta_)[i];
    const Tensor change = sqrt(u + eps) / sqrt(v + eps) * g;
    (*square_avg_)[i] = v;
    (*acc_delta_)[i] = average(rho, u, change * change);
    next.push_back(p - rate.like(p) * change);
  }
  return next;
}

Lion::Lion(Parameters parameters, const LionOptions& options, Line where)
    : Optimizer("Lion", std::move(parameters), options.lr, where),
      options_(options) {
  require_not_negative({{"weight_decay", options.weight_decay}}, where);
  exp_avg_ = add_state("exp_avg");
}

std::vector<Tensor> Lion::update(const Step& step) {
  const auto [_, beta1, beta2, weight_decay] = options_;
  const Number rate = step.lr;
  const Number keep = 1 - weight_decay * step.lr;
  std::vector<Tensor> next;
  for (std::size_t i = 0; i < step.p.size(); ++i) {
    const Tensor& g = step.g[i];
    const Tensor m = (*exp_avg_)[i];
    const Tensor p = weight_decay == 0 ? step.p[i] : step.p[i] * keep.like(g);
    (*exp_avg_)[i] = average(beta2, m, g);
    next.push_back(p - rate.like(p) * sign(average(beta1, m, g)));
  }
  return next;
}

}  // namespace tegula::optim

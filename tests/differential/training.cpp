#include "tests/differential/registry.h"

namespace differential {
namespace {

// x: the parameter, then a gradient for each step. The parameter after each of them.
template <class Make>
Tensors steps(const Tensors& x, Make&& make) {
  Variable p = x[0];
  auto optimizer = make(Parameters{{"p", p.cell()}});
  Tensors out;
  for (std::size_t i = 1; i < x.size(); ++i) {
    optimizer.step({x[i]});
    out.push_back(evaluated(p.read()));
  }
  return out;
}

template <class Schedule>
Tensors rates(const Schedule& schedule, const Attributes& a) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < whole(a, "count", 10); ++i) out.push_back(schedule(i));
  const auto count = static_cast<std::int64_t>(out.size());
  return {tensor(out, {count})};
}

}  // namespace

void add_training(Registry& r) {
  r["optim.SGD"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::SGD(std::move(p), {.lr = real(a, "lr", 1e-3),
                                       .momentum = real(a, "momentum", 0),
                                       .dampening = real(a, "dampening", 0),
                                       .weight_decay = real(a, "weight_decay", 0),
                                       .nesterov = flag(a, "nesterov")});
    });
  };
  r["optim.Adam"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::Adam(std::move(p), {.lr = real(a, "lr", 1e-3),
                                        .beta1 = real(a, "beta1", 0.9),
                                        .beta2 = real(a, "beta2", 0.999),
                                        .eps = real(a, "eps", 1e-8),
                                        .weight_decay = real(a, "weight_decay", 0),
                                        .amsgrad = flag(a, "amsgrad")});
    });
  };
  r["optim.AdamW"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::AdamW(std::move(p), {.lr = real(a, "lr", 1e-3),
                                         .beta1 = real(a, "beta1", 0.9),
                                         .beta2 = real(a, "beta2", 0.999),
                                         .eps = real(a, "eps", 1e-8),
                                         .weight_decay = real(a, "weight_decay", 1e-2),
                                         .amsgrad = flag(a, "amsgrad")});
    });
  };
  r["optim.RMSprop"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::RMSprop(std::move(p), {.lr = real(a, "lr", 1e-2),
                                           .alpha = real(a, "alpha", 0.99),
                                           .eps = real(a, "eps", 1e-8),
                                           .weight_decay = real(a, "weight_decay", 0),
                                           .momentum = real(a, "momentum", 0),
                                           .centered = flag(a, "centered")});
    });
  };
  r["optim.Adagrad"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::Adagrad(std::move(p), {.lr = real(a, "lr", 1e-2),
                                           .lr_decay = real(a, "lr_decay", 0),
                                           .weight_decay = real(a, "weight_decay", 0),
                                           .initial_accumulator_value = real(a, "initial_accumulator_value", 0),
                                           .eps = real(a, "eps", 1e-10)});
    });
  };
  r["optim.Adadelta"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::Adadelta(
          std::move(p),
          {.lr = real(a, "lr", 1), .rho = real(a, "rho", 0.9), .eps = real(a, "eps", 1e-6), .weight_decay = real(a, "weight_decay", 0)});
    });
  };
  r["optim.Adafactor"] = [](const Tensors& x, const Attributes& a) {
    return steps(x, [&](Parameters p) {
      return optim::Adafactor(std::move(p), {.lr = real(a, "lr", 1e-2),
                                             .beta2_decay = real(a, "beta2_decay", -0.8),
                                             .clip_threshold = real(a, "d", 1),
                                             .weight_decay = real(a, "weight_decay", 0)});
    });
  };
  // The averages after each of the parameter's values.
  const auto averaged = [&](const char* name, auto make) {
    r[name] = [make](const Tensors& x, const Attributes& a) {
      Variable p = x[0], average = x[0];
      auto averages = make(Parameters{{"p", average.cell()}}, Parameters{{"p", p.cell()}}, a);
      Tensors out;
      for (const Tensor& value : x) {
        p = value;
        averages.update();
        out.push_back(evaluated(average.read()));
      }
      return out;
    };
  };
  averaged("optim.EMA", [](Parameters averages, Parameters p, const Attributes& a) {
    return optim::EMA(std::move(averages), std::move(p), {.decay = real(a, "decay", 0.9)});
  });
  averaged("optim.SWA", [](Parameters averages, Parameters p, const Attributes&) { return optim::SWA(std::move(averages), std::move(p)); });
  r["optim.CosineRestartsLR"] = [](const Tensors&, const Attributes& a) {
    return rates(optim::CosineRestartsLR{.base = real(a, "base", 1),
                                         .period = whole(a, "period", 10),
                                         .multiplier = whole(a, "multiplier", 1),
                                         .minimum = real(a, "minimum", 0)},
                 a);
  };
  r["optim.clip_grad_norm"] = [](const Tensors& x, const Attributes& a) {
    const auto clipped = optim::clip_grad_norm(x, real(a, "limit", 1));
    Tensors out = clipped.gradients;
    out.push_back(clipped.norm);
    return out;
  };
  r["optim.clip_grad_value"] = [](const Tensors& x, const Attributes& a) { return optim::clip_grad_value(x, real(a, "limit", 1)); };
  r["optim.StepLR"] = [](const Tensors&, const Attributes& a) {
    return rates(optim::StepLR{.base = real(a, "base", 1), .step_size = whole(a, "step_size", 3), .gamma = real(a, "gamma", 0.1)}, a);
  };
  r["optim.MultiStepLR"] = [](const Tensors&, const Attributes& a) {
    std::vector<std::int64_t> milestones;
    for (const auto milestone : dims(a, "milestones")) milestones.push_back(milestone);
    return rates(optim::MultiStepLR{.base = real(a, "base", 1), .milestones = milestones, .gamma = real(a, "gamma", 0.1)}, a);
  };
  r["optim.ExponentialLR"] = [](const Tensors&, const Attributes& a) {
    return rates(optim::ExponentialLR{.base = real(a, "base", 1), .gamma = real(a, "gamma", 0.9)}, a);
  };
  r["optim.CosineLR"] = [](const Tensors&, const Attributes& a) {
    return rates(optim::CosineLR{.base = real(a, "base", 1), .total = whole(a, "total", 10), .minimum = real(a, "minimum", 0)}, a);
  };
  r["optim.OneCycleLR"] = [](const Tensors&, const Attributes& a) {
    return rates(optim::OneCycleLR{.maximum = real(a, "maximum", 1),
                                   .total = whole(a, "total", 10),
                                   .pct_start = real(a, "pct_start", 0.3),
                                   .anneal = flag(a, "linear") ? optim::Anneal::Linear : optim::Anneal::Cosine},
                 a);
  };
  r["optim.PlateauLR"] = [](const Tensors& x, const Attributes& a) {
    optim::PlateauLR plateau{.base = 1,
                             .factor = real(a, "factor", 0.1),
                             .patience = whole(a, "patience", 2),
                             .goal = flag(a, "max") ? optim::Goal::Max : optim::Goal::Min,
                             .threshold = real(a, "threshold", 1e-4),
                             .cooldown = whole(a, "cooldown", 0),
                             .minimum = real(a, "minimum", 0)};
    std::vector<double> out;
    for (const double metric : x[0].to_host<double>()) out.push_back(plateau(metric));
    const auto count = static_cast<std::int64_t>(out.size());
    return Tensors{tensor(out, {count})};
  };
}

}  // namespace differential

#include "tests/differential/registry.h"

namespace differential {
namespace {

template <class Layer>
void plain(Registry& r, const char* name) {
  r[name] = [](const Tensors& x, const Attributes&) { return Tensors{Layer{}(x[0])}; };
}

// The layer's fields become the tensors behind the input.
void fill(std::initializer_list<Variable*> fields, const Tensors& x) {
  std::size_t next = 1;
  for (Variable* field : fields)
    if (next < x.size()) *field = x[next++];
}

}  // namespace

void add_layers(Registry& r) {
  plain<nn::ReLU>(r, "nn.ReLU");
  plain<nn::ReLU6>(r, "nn.ReLU6");
  plain<nn::SELU>(r, "nn.SELU");
  plain<nn::SiLU>(r, "nn.SiLU");
  plain<nn::Mish>(r, "nn.Mish");
  plain<nn::Tanh>(r, "nn.Tanh");
  plain<nn::Sigmoid>(r, "nn.Sigmoid");
  plain<nn::LogSigmoid>(r, "nn.LogSigmoid");
  plain<nn::Softsign>(r, "nn.Softsign");
  plain<nn::Tanhshrink>(r, "nn.Tanhshrink");
  plain<nn::Hardsigmoid>(r, "nn.Hardsigmoid");
  plain<nn::Hardswish>(r, "nn.Hardswish");
  plain<nn::LeakyReLU>(r, "nn.LeakyReLU");
  plain<nn::ELU>(r, "nn.ELU");
  plain<nn::CELU>(r, "nn.CELU");
  plain<nn::GELU>(r, "nn.GELU");
  plain<nn::Softplus>(r, "nn.Softplus");
  plain<nn::Hardtanh>(r, "nn.Hardtanh");
  plain<nn::Hardshrink>(r, "nn.Hardshrink");
  plain<nn::Softshrink>(r, "nn.Softshrink");
  plain<nn::Flatten>(r, "nn.Flatten");
  r["nn.Linear"] = [](const Tensors& x, const Attributes&) {
    nn::Linear layer(x[1].size(1), x[1].size(0), {.bias = x.size() > 2, .dtype = x[1].dtype()});
    fill({&layer.weight, &layer.bias}, x);
    return Tensors{layer(x[0])};
  };
  r["nn.WeightNorm"] = [](const Tensors& x, const Attributes&) {
    nn::WeightNorm layer{nn::Linear{x[1].size(1), x[1].size(0), {.bias = false, .dtype = x[1].dtype()}}};
    fill({&layer.layer.weight, &layer.scale}, x);
    return Tensors{layer(x[0])};
  };
  // Two training steps and one evaluation from given vectors.
  r["nn.SpectralNorm"] = [](const Tensors& x, const Attributes& a) {
    nn::SpectralNorm layer(nn::Linear{x[1].size(1), x[1].size(0), {.bias = false, .dtype = x[1].dtype()}},
                           {.n_power_iterations = whole(a, "iterations", 1)});
    fill({&layer.layer.weight, &layer.sigma.u, &layer.sigma.v}, x);
    Tensors out{layer(x[0]), layer(x[0])};
    layer.training = 0;
    out.push_back(layer(x[0]));
    return out;
  };
  r["nn.Bilinear"] = [](const Tensors& x, const Attributes&) {
    nn::Bilinear layer(x[2].size(1), x[2].size(2), x[2].size(0), {.dtype = x[2].dtype()});
    layer.weight = x[2];
    layer.bias = x[3];
    return Tensors{layer(x[0], x[1])};
  };
  r["nn.Conv2d"] = [](const Tensors& x, const Attributes& a) {
    const std::int64_t groups = whole(a, "groups", 1);
    nn::Conv2d layer(
        x[1].size(1) * groups, x[1].size(0), PerAxis(Dims{x[1].size(2), x[1].size(3)}),
        {.stride = PerAxis(dims(a, "stride")), .padding = Padding(dims(a, "padding")), .groups = groups, .dtype = x[1].dtype()});
    fill({&layer.weight, &layer.bias}, x);
    return Tensors{layer(x[0])};
  };
  r["nn.ConvTranspose2d"] = [](const Tensors& x, const Attributes& a) {
    nn::ConvTranspose2d layer(x[1].size(0), x[1].size(1), PerAxis(Dims{x[1].size(2), x[1].size(3)}),
                              {.stride = PerAxis(dims(a, "stride")), .padding = Padding(dims(a, "padding")), .dtype = x[1].dtype()});
    fill({&layer.weight, &layer.bias}, x);
    return Tensors{layer(x[0])};
  };
  // Training steps on the slices of axis 0, then one evaluation: results and statistics.
  r["nn.BatchNorm2d"] = [](const Tensors& x, const Attributes& a) {
    nn::BatchNorm2d layer(x[0].size(2), {.eps = real(a, "eps", 1e-5), .momentum = real(a, "momentum", 0.1), .dtype = x[0].dtype()});
    fill({&layer.weight, &layer.bias}, x);
    Tensors out;
    for (std::int64_t i = 0; i < x[0].size(0); ++i) out.push_back(layer(select(x[0], 0, i)));
    layer.training = 0;
    out.push_back(layer(select(x[0], 0, 0)));
    out.push_back(layer.running_mean);
    out.push_back(layer.running_var);
    return out;
  };
  r["nn.LayerNorm"] = [](const Tensors& x, const Attributes& a) {
    nn::LayerNorm layer(dims(a, "shape"), {.dtype = x[0].dtype()});
    fill({&layer.weight, &layer.bias}, x);
    return Tensors{layer(x[0])};
  };
  r["nn.RMSNorm"] = [](const Tensors& x, const Attributes& a) {
    nn::RMSNorm layer(dims(a, "shape"), {.dtype = x[0].dtype()});
    fill({&layer.weight}, x);
    return Tensors{layer(x[0])};
  };
  r["nn.GroupNorm"] = [](const Tensors& x, const Attributes& a) {
    nn::GroupNorm layer(whole(a, "groups", 1), x[0].size(1), {.dtype = x[0].dtype()});
    fill({&layer.weight, &layer.bias}, x);
    return Tensors{layer(x[0])};
  };
  r["nn.InstanceNorm2d"] = [](const Tensors& x, const Attributes&) {
    nn::InstanceNorm2d layer(x[0].size(1), {.dtype = x[0].dtype()});
    return Tensors{layer(x[0])};
  };
  r["nn.PReLU"] = [](const Tensors& x, const Attributes&) {
    nn::PReLU layer(x[1].numel());
    fill({&layer.weight}, x);
    return Tensors{layer(x[0])};
  };
  r["nn.Embedding"] = [](const Tensors& x, const Attributes&) {
    nn::Embedding layer(x[1].size(0), x[1].size(1), {.dtype = x[1].dtype()});
    layer.weight = x[1];
    return Tensors{layer(x[0])};
  };
}

}  // namespace differential

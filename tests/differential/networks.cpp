#include "tests/differential/registry.h"

namespace differential {
namespace {

using Convolve = Tensor (*)(Arg, Arg, Arg, const ConvolutionOptions&);
using ConvolveTransposed = Tensor (*)(Arg, Arg, Arg, const ConvolutionTransposeOptions&);

NormOptions norm_options(const Tensors& x, const Attributes& a, std::size_t first) {
  NormOptions options{.eps = real(a, "eps", 1e-5)};
  if (x.size() > first) options.weight = x[first];
  if (x.size() > first + 1) options.bias = x[first + 1];
  return options;
}

}  // namespace

void add_networks(Registry& r) {
  const auto with = [](const Attributes& a, const char* name, std::int64_t otherwise) {
    return a.contains(name) ? PerAxis(dims(a, name)) : PerAxis(otherwise);
  };
  for (const auto& [name, f] :
       std::initializer_list<std::pair<const char*, Convolve>>{{"conv1d", conv1d}, {"conv2d", conv2d}, {"conv3d", conv3d}}) {
    r[name] = [f, with](const Tensors& x, const Attributes& a) {
      return Tensors{f(x[0], x[1], x[2],
                       {.stride = with(a, "stride", 1),
                        .padding = a.contains("padding") ? Padding(dims(a, "padding")) : Padding(0),
                        .dilation = with(a, "dilation", 1),
                        .groups = whole(a, "groups", 1)})};
    };
  }
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, ConvolveTransposed>>{
           {"conv_transpose1d", conv_transpose1d}, {"conv_transpose2d", conv_transpose2d}, {"conv_transpose3d", conv_transpose3d}}) {
    r[name] = [f, with](const Tensors& x, const Attributes& a) {
      return Tensors{f(x[0], x[1], x[2],
                       {.stride = with(a, "stride", 1),
                        .padding = a.contains("padding") ? Padding(dims(a, "padding")) : Padding(0),
                        .output_padding = with(a, "output_padding", 0),
                        .groups = whole(a, "groups", 1),
                        .dilation = with(a, "dilation", 1)})};
    };
  }
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Tensor (*)(Arg, const PerAxis&, const MaxPoolOptions&)>>{
           {"max_pool1d", max_pool1d}, {"max_pool2d", max_pool2d}, {"max_pool3d", max_pool3d}}) {
    r[name] = [f, with](const Tensors& x, const Attributes& a) {
      return Tensors{f(x[0], PerAxis(dims(a, "window")),
                       {.stride = with(a, "stride", 1),
                        .padding = a.contains("padding") ? Padding(dims(a, "padding")) : Padding(0),
                        .dilation = with(a, "dilation", 1),
                        .ceil_mode = flag(a, "ceil_mode")})};
    };
  }
  using PoolWithPlaces = PooledPlaces (*)(Arg, const PerAxis&, const MaxPoolOptions&);
  for (const auto& [name, f] :
       std::initializer_list<std::pair<const char*, PoolWithPlaces>>{{"max_pool1d_with_indices", max_pool1d_with_indices},
                                                                     {"max_pool2d_with_indices", max_pool2d_with_indices},
                                                                     {"max_pool3d_with_indices", max_pool3d_with_indices}}) {
    r[name] = [f, with](const Tensors& x, const Attributes& a) {
      const PooledPlaces pooled = f(x[0], PerAxis(dims(a, "window")),
                                    {.stride = with(a, "stride", 1),
                                     .padding = a.contains("padding") ? Padding(dims(a, "padding")) : Padding(0),
                                     .dilation = with(a, "dilation", 1),
                                     .ceil_mode = flag(a, "ceil_mode")});
      return Tensors{pooled.values, pooled.indices};
    };
  }
  using Unpool = Tensor (*)(Arg, Arg, const PerAxis&, const MaxUnpoolOptions&);
  for (const auto& [name, pool, back] :
       std::initializer_list<std::tuple<const char*, PoolWithPlaces, Unpool>>{{"max_unpool1d", max_pool1d_with_indices, max_unpool1d},
                                                                              {"max_unpool2d", max_pool2d_with_indices, max_unpool2d},
                                                                              {"max_unpool3d", max_pool3d_with_indices, max_unpool3d}}) {
    r[name] = [pool, back](const Tensors& x, const Attributes& a) {
      const PerAxis window(dims(a, "window"));
      const PooledPlaces pooled = pool(x[0], window, {});
      Dims size;
      const int axes = static_cast<int>(dims(a, "window").rank());
      for (int i = x[0].rank() - axes; i < x[0].rank(); ++i) size.push_back(x[0].size(i));
      return Tensors{back(pooled.values, pooled.indices, window, {.size = size})};
    };
  }
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, Tensor (*)(Arg, const PerAxis&, const AveragePoolOptions&)>>{
           {"avg_pool1d", avg_pool1d}, {"avg_pool2d", avg_pool2d}, {"avg_pool3d", avg_pool3d}}) {
    r[name] = [f, with](const Tensors& x, const Attributes& a) {
      return Tensors{f(x[0], PerAxis(dims(a, "window")),
                       {.stride = with(a, "stride", 1),
                        .padding = a.contains("padding") ? Padding(dims(a, "padding")) : Padding(0),
                        .ceil_mode = flag(a, "ceil_mode"),
                        .count_include_pad = a.value("count_include_pad", true)})};
    };
  }
  for (const auto& [name, f] :
       std::initializer_list<std::pair<const char*, Tensor (*)(Arg, const PerAxis&)>>{{"adaptive_avg_pool1d", adaptive_avg_pool1d},
                                                                                      {"adaptive_avg_pool2d", adaptive_avg_pool2d},
                                                                                      {"adaptive_avg_pool3d", adaptive_avg_pool3d},
                                                                                      {"adaptive_max_pool1d", adaptive_max_pool1d},
                                                                                      {"adaptive_max_pool2d", adaptive_max_pool2d},
                                                                                      {"adaptive_max_pool3d", adaptive_max_pool3d}})
    r[name] = [f](const Tensors& x, const Attributes& a) { return Tensors{f(x[0], PerAxis(dims(a, "output")))}; };
  r["einsum"] = [](const Tensors& x, const Attributes& a) { return Tensors{einsum(a.at("equation").get<std::string>(), x)}; };
  r["cosine_similarity"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{cosine_similarity(x[0], x[1], static_cast<int>(whole(a, "axis", 1)))};
  };
  r["cdist"] = [](const Tensors& x, const Attributes& a) { return Tensors{cdist(x[0], x[1], real(a, "p", 2))}; };
  r["linear"] = [](const Tensors& x, const Attributes&) { return Tensors{x.size() > 2 ? linear(x[0], x[1], x[2]) : linear(x[0], x[1])}; };
  r["addmm"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{addmm(x[0], x[1], x[2], {.beta = real(a, "beta", 1), .alpha = real(a, "alpha", 1)})};
  };
  r["batch_norm_training"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{batch_norm_training(x[0], norm_options(x, a, 1)).y};
  };
  r["batch_norm"] = [](const Tensors& x, const Attributes& a) { return Tensors{batch_norm(x[0], x[1], x[2], norm_options(x, a, 3))}; };
  r["layer_norm"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{layer_norm(x[0], dims(a, "shape"), norm_options(x, a, 1))};
  };
  r["rms_norm"] = [](const Tensors& x, const Attributes& a) { return Tensors{rms_norm(x[0], dims(a, "shape"), norm_options(x, a, 1))}; };
  r["group_norm"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{group_norm(x[0], whole(a, "groups", 1), norm_options(x, a, 1))};
  };
  r["instance_norm"] = [](const Tensors& x, const Attributes& a) { return Tensors{instance_norm(x[0], norm_options(x, a, 1))}; };
  r["local_response_norm"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{local_response_norm(
        x[0], {.size = whole(a, "size", 5), .alpha = real(a, "alpha", 1e-4), .beta = real(a, "beta", 0.75), .k = real(a, "k", 1)})};
  };
  r["l2_normalize"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{l2_normalize(x[0], static_cast<int>(whole(a, "axis", 1)), real(a, "eps", 1e-12))};
  };
  r["dropout"] = [](const Tensors& x, const Attributes& a) { return Tensors{dropout(x[0], real(a, "p", 0))}; };
}

void add_losses(Registry& r) {
  const auto plain = [&](const char* name, Tensor (*f)(Arg, Arg, const LossOptions&)) {
    r[name] = [f](const Tensors& x, const Attributes& a) { return Tensors{f(x[0], x[1], {.reduction = reduction(a)})}; };
  };
  plain("mse_loss", mse_loss);
  plain("l1_loss", l1_loss);
  plain("hinge_loss", hinge_loss);
  r["huber_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{huber_loss(x[0], x[1], {.delta = real(a, "delta", 1), .reduction = reduction(a)})};
  };
  r["smooth_l1_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{smooth_l1_loss(x[0], x[1], {.beta = real(a, "beta", 1), .reduction = reduction(a)})};
  };
  r["cross_entropy"] = [](const Tensors& x, const Attributes& a) {
    CrossEntropyOptions options{.reduction = reduction(a), .label_smoothing = real(a, "label_smoothing", 0)};
    if (x.size() > 2) options.weight = x[2];
    if (a.contains("ignore_index")) options.ignore_index = whole(a, "ignore_index", 0);
    return Tensors{cross_entropy(x[0], x[1], options)};
  };
  r["nll_loss"] = [](const Tensors& x, const Attributes& a) {
    NllOptions options{.reduction = reduction(a)};
    if (x.size() > 2) options.weight = x[2];
    if (a.contains("ignore_index")) options.ignore_index = whole(a, "ignore_index", 0);
    return Tensors{nll_loss(x[0], x[1], options)};
  };
  r["binary_cross_entropy"] = [](const Tensors& x, const Attributes& a) {
    BinaryCrossEntropyOptions options{.reduction = reduction(a)};
    if (x.size() > 2) options.weight = x[2];
    return Tensors{binary_cross_entropy(x[0], x[1], options)};
  };
  r["binary_cross_entropy_with_logits"] = [](const Tensors& x, const Attributes& a) {
    BinaryCrossEntropyOptions options{.reduction = reduction(a)};
    if (x.size() > 2) options.pos_weight = x[2];
    return Tensors{binary_cross_entropy_with_logits(x[0], x[1], options)};
  };
  r["kl_div"] = [](const Tensors& x, const Attributes& a) {
    const bool by_batch = a.value("reduction", std::string("mean")) == "batchmean";
    return Tensors{
        kl_div(x[0], x[1],
               {.reduction = by_batch ? LossReduction::Mean : reduction(a), .log_target = flag(a, "log_target"), .batch_mean = by_batch})};
  };
  r["multi_margin_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{multi_margin_loss(x[0], x[1], {.margin = real(a, "margin", 1), .reduction = reduction(a)})};
  };
  r["cosine_embedding_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{cosine_embedding_loss(x[0], x[1], x[2], {.margin = real(a, "margin", 0), .reduction = reduction(a)})};
  };
  r["triplet_margin_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{triplet_margin_loss(x[0], x[1], x[2], {.margin = real(a, "margin", 1), .reduction = reduction(a)})};
  };
}

}  // namespace differential

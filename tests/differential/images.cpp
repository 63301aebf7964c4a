#include "tests/differential/registry.h"

namespace differential {
namespace {

std::string text(const Attributes& a, const char* name) { return a.value(name, std::string()); }

UnfoldOptions unfold_options(const Attributes& a) {
  return {.stride = dims(a, "stride"), .padding = dims(a, "padding"), .dilation = dims(a, "dilation")};
}

Interpolation interpolation(const std::string& name) {
  return name == "nearest"         ? Interpolation::Nearest
         : name == "nearest-exact" ? Interpolation::NearestExact
         : name == "bicubic"       ? Interpolation::Bicubic
         : name == "area"          ? Interpolation::Area
                                   : Interpolation::Linear;
}

// ScaleFactor is written out by users; here it comes as a list.
ScaleFactor scale_factor(const Attributes& a) {
  const auto f = a.at("scale_factor").get<std::vector<double>>();
  return f.size() == 1 ? ScaleFactor{f[0]} : f.size() == 2 ? ScaleFactor{f[0], f[1]} : ScaleFactor{f[0], f[1], f[2]};
}

}  // namespace

void add_images(Registry& r) {
  r["unfold"] = [](const Tensors& x, const Attributes& a) { return Tensors{unfold(x[0], dims(a, "window"), unfold_options(a))}; };
  r["fold"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{fold(x[0], dims(a, "output"), dims(a, "window"), unfold_options(a))};
  };
  r["pixel_shuffle"] = [](const Tensors& x, const Attributes& a) { return Tensors{pixel_shuffle(x[0], whole(a, "r", 1))}; };
  r["pixel_unshuffle"] = [](const Tensors& x, const Attributes& a) { return Tensors{pixel_unshuffle(x[0], whole(a, "r", 1))}; };
  r["interpolate"] = [](const Tensors& x, const Attributes& a) {
    InterpolateOptions options{
        .mode = interpolation(text(a, "mode")), .align_corners = flag(a, "align_corners"), .antialias = flag(a, "antialias")};
    if (a.contains("size")) options.size = dims(a, "size");
    else options.scale_factor = scale_factor(a);
    return Tensors{interpolate(x[0], options)};
  };
  r["grid_sample"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{grid_sample(x[0], x[1],
                               {.mode = text(a, "mode") == "nearest"   ? GridMode::Nearest
                                        : text(a, "mode") == "bicubic" ? GridMode::Bicubic
                                                                       : GridMode::Bilinear,
                                .padding = text(a, "padding") == "border"       ? GridPadding::Border
                                           : text(a, "padding") == "reflection" ? GridPadding::Reflection
                                                                                : GridPadding::Zeros,
                                .align_corners = flag(a, "align_corners")})};
  };
  r["affine_grid"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{affine_grid(x[0], dims(a, "size"), {.align_corners = flag(a, "align_corners")})};
  };
}

}  // namespace differential

// Linear algebra, transforms, sums by rows, boxes: factors as functions that do not depend on signs and orders.

#include "tests/differential/registry.h"

namespace differential {
namespace {

using One = Tensor (*)(Arg);

Tensor turned(const Tensor& x) { return swapaxes(x, -1, -2); }
Tensor column(const Tensor& x) { return unsqueeze(x, -1); }
Tensor row(const Tensor& x) { return unsqueeze(x, -2); }

template <class T>
T chosen(const Attributes& a, const char* name, std::initializer_list<std::pair<const char*, T>> values) {
  const std::string given = a.value(name, std::string(values.begin()->first));
  for (const auto& [text, value] : values)
    if (given == text) return value;
  throw std::runtime_error("no " + std::string(name) + " " + given);
}
MatrixNorm norm_of(const Attributes& a) {
  return chosen<MatrixNorm>(a, "norm",
                            {{"fro", MatrixNorm::Frobenius},
                             {"nuc", MatrixNorm::Nuclear},
                             {"2", MatrixNorm::Two},
                             {"-2", MatrixNorm::MinusTwo},
                             {"1", MatrixNorm::One},
                             {"inf", MatrixNorm::Infinity}});
}
FourierOptions fourier(const Attributes& a) {
  return {.axes = dims(a, "axes"),
          .norm = chosen<FourierNorm>(
              a, "norm", {{"backward", FourierNorm::Backward}, {"ortho", FourierNorm::Ortho}, {"forward", FourierNorm::Forward}})};
}
StftOptions pieces(const Tensors& x, const Attributes& a) {
  StftOptions options{.size = whole(a, "size", 16), .hop = whole(a, "hop", 4), .window = {}, .center = flag(a, "center")};
  if (x.size() > 1) options.window = x[1];
  return options;
}
BoxFormat format(const Attributes& a, const char* name) {
  return chosen<BoxFormat>(a, name, {{"xyxy", BoxFormat::Corners}, {"xywh", BoxFormat::CornerSize}, {"cxcywh", BoxFormat::CentreSize}});
}
RoiAlignOptions cells(const Attributes& a) {
  return {.height = whole(a, "height", 2),
          .width = whole(a, "width", 2),
          .scale = real(a, "scale", 1),
          .samples = whole(a, "samples", 2),
          .aligned = flag(a, "aligned")};
}

void add_systems(Registry& r) {
  for (const auto& [name, f] : std::initializer_list<std::pair<const char*, One>>{{"inverse", inverse},
                                                                                  {"det", det},
                                                                                  {"cholesky", cholesky},
                                                                                  {"svdvals", svdvals},
                                                                                  {"eigvalsh", eigvalsh},
                                                                                  {"trace", trace},
                                                                                  {"matrix_exp", matrix_exp}})
    r[name] = [f](const Tensors& x, const Attributes&) { return Tensors{f(x[0])}; };
  r["solve"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{solve(x[0], x[1], {.refine = flag(a, "half") ? Refine::Half : flag(a, "refine") ? Refine::Single : Refine::No})};
  };
  r["slogdet"] = [](const Tensors& x, const Attributes&) {
    const auto [sign, logarithm] = slogdet(x[0]);
    return Tensors{sign, logarithm};
  };
  r["triangular_solve"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{triangular_solve(x[0], x[1], {.upper = flag(a, "upper"), .transposed = flag(a, "transposed"), .unit = flag(a, "unit")})};
  };
  r["cholesky_solve"] = [](const Tensors& x, const Attributes&) { return Tensors{cholesky_solve(cholesky(x[0]), x[1])}; };
  r["lu"] = [](const Tensors& x, const Attributes&) {
    const auto [p, l, u] = lu(x[0]);
    return Tensors{p, l, u};
  };
  r["lu_solve"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{lu_solve(lu_factor(x[0]), x[1], {.transposed = flag(a, "transposed")})};
  };
  r["lstsq"] = [](const Tensors& x, const Attributes&) { return Tensors{lstsq(x[0], x[1])}; };
  r["qr"] = [](const Tensors& x, const Attributes& a) {
    const auto [q, upper] = qr(x[0], {.full = flag(a, "full")});
    const Tensor signs = where(diagonal(stop_gradient(upper)) < 0.0, -1.0, 1.0);
    const std::int64_t k = signs.size(-1);
    return Tensors{slice(q, -1, {0, k}) * cast(row(signs), q.dtype()), slice(upper, -2, {0, k}) * cast(column(signs), q.dtype())};
  };
}

void add_spectra(Registry& r) {
  r["eigh"] = [](const Tensors& x, const Attributes&) {
    const auto [values, v] = x.size() > 1 ? eigh(x[0], x[1]) : eigh(x[0]);
    return Tensors{values, matmul(v * row(sin(values)), turned(v))};
  };
  r["svd"] = [](const Tensors& x, const Attributes& a) {
    const auto [u, values, v] = svd(x[0], {.full = flag(a, "full")});
    const std::int64_t k = values.size(-1);
    return Tensors{values, matmul(slice(u, -1, {0, k}) * row(tanh(values)), turned(slice(v, -1, {0, k})))};
  };
  // Powers of the values, added up; and how far a v is from v λ.
  r["eig"] = [](const Tensors& x, const Attributes&) {
    const auto [values, v] = eig(x[0]);
    const auto dense = [](const Tensor& pairs) { return complex_of(pairs, zeros_like(pairs)); };
    const auto product = [](const Tensor& a, const Tensor& b) {
      const Tensor ar = real_part(a), ai = imaginary_part(a), br = real_part(b), bi = imaginary_part(b);
      return complex_of(matmul(ar, br) - matmul(ai, bi), matmul(ar, bi) + matmul(ai, br));
    };
    const Tensor square_of = complex_multiply(values, values), cube = complex_multiply(square_of, values);
    const Tensor off = product(dense(x[0]), v) - complex_multiply(v, unsqueeze(values, -3));
    return Tensors{sum(values, -2), sum(square_of, -2), sum(cube, -2), stop_gradient(off)};
  };
  r["pinv"] = [](const Tensors& x, const Attributes&) { return Tensors{pinv(x[0])}; };
  r["matrix_rank"] = [](const Tensors& x, const Attributes&) { return Tensors{matrix_rank(x[0])}; };
  r["matrix_norm"] = [](const Tensors& x, const Attributes& a) { return Tensors{matrix_norm(x[0], norm_of(a))}; };
  r["cond"] = [](const Tensors& x, const Attributes& a) { return Tensors{cond(x[0], norm_of(a))}; };
  r["kron"] = [](const Tensors& x, const Attributes&) { return Tensors{kron(x[0], x[1])}; };
  r["matrix_power"] = [](const Tensors& x, const Attributes& a) { return Tensors{matrix_power(x[0], whole(a, "power", 2))}; };
}

void add_transforms(Registry& r) {
  r["fft"] = [](const Tensors& x, const Attributes& a) { return Tensors{fft(x[0], fourier(a))}; };
  r["ifft"] = [](const Tensors& x, const Attributes& a) { return Tensors{ifft(x[0], fourier(a))}; };
  r["rfft"] = [](const Tensors& x, const Attributes& a) { return Tensors{rfft(x[0], fourier(a))}; };
  r["irfft"] = [](const Tensors& x, const Attributes& a) { return Tensors{irfft(x[0], whole(a, "size", 0), fourier(a))}; };
  r["stft"] = [](const Tensors& x, const Attributes& a) { return Tensors{stft(x[0], pieces(x, a))}; };
  r["istft"] = [](const Tensors& x, const Attributes& a) { return Tensors{istft(x[0], whole(a, "length", 0), pieces(x, a))}; };
  r["convolve"] = [](const Tensors& x, const Attributes&) { return Tensors{convolve(x[0], x[1])}; };
  r["window"] = [](const Tensors&, const Attributes& a) {
    using Make = Tensor (*)(std::int64_t, DType, Period, Line);
    const auto make = chosen<Make>(a, "kind", {{"hann", hann_window}, {"hamming", hamming_window}, {"blackman", blackman_window}});
    return Tensors{make(whole(a, "size", 1), f64, flag(a, "periodic") ? Period::Periodic : Period::Symmetric, Line::current())};
  };
}

void add_sums_by_rows(Registry& r) {
  const auto over = [&](const char* name, Tensor (*f)(Arg, const Segments&)) {
    r[name] = [f](const Tensors& x, const Attributes& a) { return Tensors{f(x[0], segments(x[1], whole(a, "rows", 1)))}; };
  };
  over("segment_sum", segment_sum), over("segment_mean", segment_mean), over("segment_max", segment_max);
  over("segment_softmax", segment_softmax), over("segment_take", segment_take);
  r["sparse_matmul"] = [](const Tensors& x, const Attributes& a) {  // row, column, values, b
    return Tensors{sparse_matmul(sparse_coo(x[0], x[1], x[2], whole(a, "rows", 1), whole(a, "columns", 1)), x[3])};
  };
  r["sparse_csr"] = [](const Tensors& x, const Attributes& a) {  // starts, column, values, b
    return Tensors{sparse_matmul(sparse_csr(x[0], x[1], x[2], whole(a, "columns", 1)), x[3])};
  };
  r["embedding_bag"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{embedding_bag(x[0], x[1], x[2], {.mode = flag(a, "sum") ? BagMode::Sum : BagMode::Mean})};
  };
}

void add_boxes(Registry& r) {
  r["box_iou"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{box_iou(x[0], x[1],
                           {.kind = chosen<BoxOverlap>(a, "kind",
                                                       {{"iou", BoxOverlap::Iou},
                                                        {"giou", BoxOverlap::Generalized},
                                                        {"diou", BoxOverlap::Distance},
                                                        {"ciou", BoxOverlap::Complete}})})};
  };
  r["box_convert"] = [](const Tensors& x, const Attributes& a) { return Tensors{box_convert(x[0], format(a, "from"), format(a, "to"))}; };
  r["box_area"] = [](const Tensors& x, const Attributes&) { return Tensors{box_area(x[0])}; };
  r["clip_boxes"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{clip_boxes(x[0], real(a, "height", 1), real(a, "width", 1))};
  };
  r["encode_boxes"] = [](const Tensors& x, const Attributes&) { return Tensors{encode_boxes(x[0], x[1], {.weights = {10, 10, 5, 5}})}; };
  r["decode_boxes"] = [](const Tensors& x, const Attributes&) { return Tensors{decode_boxes(x[0], x[1], {.weights = {10, 10, 5, 5}})}; };
  r["nms"] = [](const Tensors& x, const Attributes& a) {
    NmsOptions options{.iou = real(a, "iou", 0.5), .most = whole(a, "most", 8)};
    if (x.size() > 2) options.classes = x[2];
    const auto [index, count] = nms(x[0], x[1], options);
    return Tensors{index, count};
  };
  r["roi_align"] = [](const Tensors& x, const Attributes& a) { return Tensors{roi_align(x[0], x[1], x[2], cells(a))}; };
  r["roi_pool"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{
        roi_pool(x[0], x[1], x[2], {.height = whole(a, "height", 2), .width = whole(a, "width", 2), .scale = real(a, "scale", 1)})};
  };
  r["sigmoid_focal_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{
        sigmoid_focal_loss(x[0], x[1], {.alpha = real(a, "alpha", 0.25), .gamma = real(a, "gamma", 2), .reduction = reduction(a)})};
  };
  r["dice_loss"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{dice_loss(x[0], x[1], {.smooth = real(a, "smooth", 1), .reduction = reduction(a)})};
  };
}

}  // namespace

void add_linalg(Registry& r) { add_systems(r), add_spectra(r), add_transforms(r), add_sums_by_rows(r), add_boxes(r); }

}  // namespace differential

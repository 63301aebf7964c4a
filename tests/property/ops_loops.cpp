// Recurrences: a loop's results are those of its steps written out, as the reference has them.

#include "tests/property/ops.h"
#include "tegula/tegula.h"

namespace tegula::property {
namespace {

using Tensors = std::vector<Tensor>;

constexpr std::int64_t kMostSteps = 7;

/// Operand i as floats of the dtype of operand 0.
Tensor like_first(const Use& use, std::size_t i) { return cast(use.real(i), use.real(0).dtype()); }

/// The first steps of operand 0.
Tensor steps(const Use& use) {
  const Tensor x = use.real(0);
  if (x.rank() == 0 || x.numel() == 0) throw Unfit{};
  return slice(x, 0, {0, std::min(x.shape()[0], kMostSteps)});
}
/// A tensor of as many steps, each of this shape.
Tensor steps_of(const Use& use, const Shape& shape) {
  Shape all = shape;
  all.insert(0, 1 + use.pick(3, kMostSteps));
  return resized(use.real(0), all);
}
Shape step_shape(const Tensor& xs) {
  Shape shape = xs.shape();
  shape.erase(0);
  return shape;
}

Scanned written_out(const ScanBody& body, Tensors carry, const Tensors& xs, bool reverse) {
  const std::int64_t length = xs[0].shape()[0];
  std::vector<Tensors> kept;
  for (std::int64_t step = 0; step < length; ++step) {
    Tensors x;
    for (const Tensor& all : xs) x.push_back(select(all, 0, reverse ? length - 1 - step : step));
    Scanned now = body(carry, x);
    carry = std::move(now.carry);
    kept.resize(now.ys.size());
    for (std::size_t y = 0; y < kept.size(); ++y) kept[y].insert(reverse ? kept[y].begin() : kept[y].end(), now.ys[y]);
  }
  Scanned out{carry, {}};
  for (const Tensors& all : kept) out.ys.push_back(stack(all, 0));
  return out;
}

Scanned loop(const Use& use, const ScanBody& body, const Tensors& start, const Tensors& xs) {
  const bool reverse = use.knobs[1] % 2 == 1;
  if (use.written_out) return written_out(body, start, xs, reverse);
  return use.knobs[1] % 4 >= 2 ? scan_in_chunks(body, start, xs, {.reverse = reverse}) : scan(body, start, xs, {.reverse = reverse});
}

/// One of its results, or the last two together.
Tensor chosen(const Use& use, const Scanned& all) {
  switch (use.pick(2, 4)) {
    case 0: return all.ys[0];
    case 1: return all.carry[0];
    case 2: return all.carry.back();
    default: return sum(all.ys.back()) + all.carry[0];
  }
}

Tensor recurrence(const Use& use) {
  const Tensor xs = steps(use), start = resized(like_first(use, 1), step_shape(xs)), shared = mean(like_first(use, 1));
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor h = tanh(carry[0] * 0.5 + x[0] * shared);
                            return Scanned{{h}, {h, h + x[0]}};
                          },
                          {start}, {xs}));
}

Tensor of_products(const Use& use) {
  const Tensor xs = steps_of(use, {2, 3}), from = like_first(use, 1);
  const Tensor w = resized(from, {3, 4}), u = resized(tanh(from), {4, 4}) * 0.3;
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor in = matmul(x[0], w), h = tanh(in + matmul(carry[0], u));
                            return Scanned{{h}, {h, sum(in)}};
                          },
                          {resized(from, {2, 4})}, {xs}));
}

/// Two that take turns: the memory of one is the other's.
Tensor swapped(const Use& use) {
  const Tensor xs = steps(use), start = resized(like_first(use, 1), step_shape(xs));
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            return Scanned{{carry[1], sin(carry[0]) + x[0]}, {carry[0], carry[1] - x[0]}};
                          },
                          {start, use.knobs[0] % 2 == 0 ? start : start * 2.0}, {xs}));
}

/// An LSTM's step: slices of a product's and a sum's results.
Tensor gates(const Use& use) {
  const Tensor xs = steps_of(use, {2, 3}), from = like_first(use, 1);
  const Tensor w = resized(from, {3, 16}), u = resized(tanh(from), {4, 16}) * 0.3, start = resized(from, {2, 4});
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const auto z = chunk(matmul(x[0], w) + matmul(carry[0], u), 4, 1);
                            const Tensor c = sigmoid(z[1]) * carry[1] + sigmoid(z[0]) * tanh(z[2]), h = sigmoid(z[3]) * tanh(c);
                            return Scanned{{h, c}, {h}};
                          },
                          {start, start * 0.5}, {xs}));
}

Tensor normalised(const Use& use) {
  const Tensor xs = steps(use), start = resized(like_first(use, 1), step_shape(xs));
  if (start.rank() == 0) throw Unfit{};
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor p = softmax(carry[0] + x[0], -1);
                            return Scanned{{p}, {p - max(x[0]), mean(carry[0] * p, -1)}};
                          },
                          {start}, {xs}));
}

Tensor nested(const Use& use) {
  const Tensor xs = steps_of(use, {3, 2}), from = like_first(use, 1), factor = resized(from, {2});
  return chosen(use, loop(use,
                          [&](const Tensors& outer, const Tensors& rows) {
                            const Scanned all = loop(use,
                                                     [&](const Tensors& carry, const Tensors& x) {
                                                       const Tensor h = tanh(carry[0] * factor + x[0]);
                                                       return Scanned{{h}, {h * outer[0]}};
                                                     },
                                                     {outer[0]}, {rows[0]});
                            return Scanned{{all.carry[0]}, {all.ys[0]}};
                          },
                          {resized(from, {2})}, {xs}));
}

/// A row a step, written where it lies, and rows read back.
Tensor filled(const Use& use) {
  const Tensor xs = steps_of(use, {3}), from = like_first(use, 1);
  const std::int64_t length = xs.shape()[0];
  const Tensor at = cast(remainder(arange(length) + use.pick(0, length), length), i64);
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor rows = update_slice(carry[0], reshape(x[0] + 1.0, {1, 3}), x[1], 0);
                            return Scanned{{rows, carry[1] + x[1]}, {dynamic_slice(rows, remainder(carry[1], length), 1, 0), sum(rows, 0)}};
                          },
                          {resized(from, {length, 3}), sum(at) * 0}, {xs, at}));
}

Tensor with_dropout(const Use& use) {
  const Tensor xs = steps(use), start = resized(like_first(use, 1), step_shape(xs));
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor h = dropout(tanh(carry[0] + x[0]), 0.25, use.generator);
                            return Scanned{{h}, {h * x[0]}};
                          },
                          {start}, {xs}));
}

/// Rows of a table, and a choice between the carried and the new value.
Tensor gathered(const Use& use) {
  const Tensor table = resized(like_first(use, 1), {5, 3}), places = use.index(0, 5);
  if (places.numel() == 0) throw Unfit{};
  const Tensor xs = resized(places, {1 + use.pick(3, kMostSteps)});
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor row = take(table, x[0], 0), h = where(x[0] % 2 == 0, carry[0], tanh(row * carry[0] + row));
                            return Scanned{{h}, {row, h}};
                          },
                          {select(table, 0, 0)}, {xs}));
}

/// Steps of a descent: a gradient within the body.
Tensor descended(const Use& use) {
  const Tensor xs = steps(use), start = resized(like_first(use, 1), step_shape(xs));
  return chosen(use, loop(use,
                          [&](const Tensors& carry, const Tensors& x) {
                            const Tensor loss = sum(square(sin(carry[0]) - x[0]) * 0.5);
                            return Scanned{{carry[0] - grad(loss, carry[0]) * 0.1}, {loss}};
                          },
                          {start}, {xs}));
}

}  // namespace

std::vector<GraphOp> loop_ops() {
  return {
      {"loop", 2, 1.5, recurrence},      {"loop_product", 2, 1.5, of_products}, {"loop_swap", 2, 1.5, swapped},
      {"loop_gates", 2, 1.5, gates},     {"loop_softmax", 2, 1, normalised},    {"loop_nested", 2, 1, nested},
      {"loop_fill", 2, 1.5, filled},     {"loop_dropout", 2, 1, with_dropout},  {"loop_take", 2, 1, gathered},
      {"loop_descent", 2, 1, descended},
  };
}

}  // namespace tegula::property

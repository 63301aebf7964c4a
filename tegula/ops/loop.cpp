#include "tegula/ops/loop.h"

#include <cmath>

#include "tegula/core/error.h"
#include "tegula/graph/autodiff/grad.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/nonfinite.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/loop_builder.h"
#include "tegula/ops/nodes.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

std::string kind_of(const Tensor& x) { return to_string(x.shape()) + " " + std::string(name(x.dtype())); }

std::int64_t length_of(const std::vector<Tensor>& xs, const ScanOptions& options, const Line& where) {
  std::optional<std::int64_t> length = options.length;
  if (!length && xs.empty())
    ops::refuse("scan", "neither xs nor a length", "one of them to say how many steps there are", where, "set .length");
  if (length && *length < 0) ops::refuse("scan", "a length of " + std::to_string(*length), "at least 0", where);
  for (const Tensor& x : xs) {
    if (x.rank() == 0) ops::refuse("scan", "an x of shape ()", "an axis of steps", where);
    if (length && x.shape()[0] != *length) {
      ops::refuse("scan", "an x of " + std::to_string(x.shape()[0]) + " steps beside " + std::to_string(*length), "as many in all of them",
                  where);
    }
    length = x.shape()[0];
  }
  return *length;
}

void check_carried(const std::vector<Tensor>& was, const std::vector<Tensor>& is, const Line& where) {
  if (was.size() != is.size()) {
    ops::refuse("scan", std::to_string(is.size()) + " carried values from the body", std::to_string(was.size()) + ", as at the start",
                where);
  }
  for (std::size_t k = 0; k < was.size(); ++k) {
    if (was[k].shape() == is[k].shape() && was[k].dtype() == is[k].dtype()) continue;
    const auto& line = is[k].node()->origin().where;
    ops::refuse("scan", "carried value " + std::to_string(k) + " as " + kind_of(is[k]) + " (made at " + to_string(line) + ")",
                kind_of(was[k]) + ", as it is at the start", where, "cast() or reshape() it in the body, or start with another");
  }
}

void check_ys(const std::vector<Tensor>& first, const std::vector<Tensor>& ys, const Line& where) {
  bool same = first.size() == ys.size();
  for (std::size_t k = 0; same && k < ys.size(); ++k) same = first[k].shape() == ys[k].shape() && first[k].dtype() == ys[k].dtype();
  if (!same)
    ops::refuse("scan", "ys that differ from those of another step", "as many, of the same shapes and dtypes, at each step", where);
}

/// The body called for each step: where there is no step, and where values are looked at as they are made.
Scanned by_calls(const ScanBody& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs, std::int64_t length, bool reverse,
                 const Line& where) {
  const auto step = [&](const std::vector<Tensor>& carry, std::int64_t t) {
    std::vector<Tensor> x;
    for (const Tensor& all : xs) {
      Shape shape = all.shape();
      shape.erase(0);
      x.push_back(t < 0 ? graph::full(shape, 0, all.dtype(), where) : graph::reshape(ops::part(all, 0, t, 1, where), shape, where));
    }
    Scanned out = body(carry, x);
    check_carried(carry, out.carry, where);
    return out;
  };
  if (length == 0) {
    Scanned shapes = step(start, -1);
    for (Tensor& y : shapes.ys) {
      Shape shape = y.shape();
      shape.insert(0, 0);
      y = graph::full(shape, 0, y.dtype(), where);
    }
    return {start, std::move(shapes.ys)};
  }
  std::vector<Tensor> carry = start;
  std::vector<std::vector<Tensor>> kept;  // for each y: by step
  std::vector<Tensor> first;
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t t = reverse ? length - 1 - k : k;
    Scanned now = step(carry, t);
    carry = std::move(now.carry);
    if (k == 0) {
      first = now.ys;
      kept.assign(first.size(), std::vector<Tensor>(static_cast<std::size_t>(length)));
    }
    check_ys(first, now.ys, where);
    for (std::size_t y = 0; y < kept.size(); ++y) kept[y][static_cast<std::size_t>(t)] = std::move(now.ys[y]);
  }
  Scanned out{std::move(carry), {}};
  for (const auto& steps : kept) out.ys.push_back(stack(steps, 0, where));
  return out;
}

}  // namespace

Scanned scan(const ScanBody& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs, ScanOptions options, Line where) {
  for (const Tensor& value : start) value.shape(where);  // there is one
  const std::int64_t length = length_of(xs, options, where);
  if (length == 0 || (eager() && !Trace::current()) || checks_nonfinite()) return by_calls(body, start, xs, length, options.reverse, where);
  ops::LoopBuilder loop(length, options.reverse, where);
  std::vector<Tensor> carry, x;
  for (const Tensor& value : start) carry.push_back(loop.carry(value));
  for (const Tensor& all : xs) x.push_back(loop.slice(all));
  Scanned step = body(carry, x);
  check_carried(carry, step.carry, where);
  for (const Tensor& y : step.ys) y.shape(where);  // there is one
  const In frame("scan", where);
  ops::LoopBuilder::Results made = loop.finish(std::move(step.carry), step.ys);
  return {std::move(made.last), std::move(made.stacks)};
}

Scanned scan_in_chunks(const ScanBody& body, const std::vector<Tensor>& start, const std::vector<Tensor>& xs, ScanOptions options,
                       Line where) {
  const std::int64_t length = length_of(xs, options, where);
  const auto size = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length)));
  if (size < 2) return scan(body, start, xs, options, where);
  const std::int64_t chunks = length / size, rest = length - chunks * size, carried = static_cast<std::int64_t>(start.size());
  // Steps one after another under checkpoint, given carried values and the xs of these steps.
  const auto steps = [&](const std::vector<Tensor>& carry, const std::vector<Tensor>& x, std::int64_t count) {
    std::vector<Tensor> in = carry;
    in.insert(in.end(), x.begin(), x.end());
    const auto own = [&](const std::vector<Tensor>& all) {
      Scanned out = scan(body, {all.begin(), all.begin() + carried}, {all.begin() + carried, all.end()}, {count, options.reverse}, where);
      out.carry.insert(out.carry.end(), out.ys.begin(), out.ys.end());
      return out.carry;
    };
    const std::vector<Tensor> all = checkpoints(own, in, where);
    return Scanned{{all.begin(), all.begin() + carried}, {all.begin() + carried, all.end()}};
  };
  const auto cut = [&](const Tensor& x, std::int64_t begin, std::int64_t count) { return ops::part(x, 0, begin, count, where); };
  // The steps that fill no chunk are the last ones of the stack.
  std::vector<Tensor> whole, left;
  for (const Tensor& x : xs) {
    Shape shape = x.shape();
    shape[0] = size;
    shape.insert(0, chunks);
    whole.push_back(graph::reshape(cut(x, 0, chunks * size), shape, where));
    if (rest > 0) left.push_back(cut(x, chunks * size, rest));
  }
  const auto of_chunks = [&](const std::vector<Tensor>& carry) {
    const auto chunk = [&](const std::vector<Tensor>& c, const std::vector<Tensor>& x) { return steps(c, x, size); };
    Scanned out = scan(chunk, carry, whole, {chunks, options.reverse}, where);
    for (Tensor& y : out.ys) {
      Shape shape = y.shape();
      shape.erase(0);
      shape[0] = chunks * size;
      y = graph::reshape(y, shape, where);
    }
    return out;
  };
  if (rest == 0) return of_chunks(start);
  Scanned first = options.reverse ? steps(start, left, rest) : of_chunks(start);
  Scanned second = options.reverse ? of_chunks(first.carry) : steps(first.carry, left, rest);
  const Scanned &early = options.reverse ? second : first, &late = options.reverse ? first : second;
  for (std::size_t y = 0; y < first.ys.size(); ++y) {
    const Tensor pieces[] = {early.ys[y], late.ys[y]};
    first.ys[y] = ops::joined(pieces, 0, where);
  }
  return {std::move(second.carry), std::move(first.ys)};
}

}  // namespace tegula

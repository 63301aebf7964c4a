#include <numeric>

#include "tegula/tegula.h"
#include "tests/property/ops.h"

namespace tegula::property {
namespace {

constexpr std::int64_t kMostElements = 1 << 17;
constexpr int kMostAxes = 5;

Tensor small(Tensor t) {
  if (t.numel() > kMostElements || t.rank() > kMostAxes) throw Unfit{};
  return t;
}

/// Another shape of as many elements.
Shape other_shape(const Use& use, const Tensor& x) {
  const std::int64_t count = x.numel();
  switch (use.pick(0, 5)) {
    case 0: return {count};
    case 1: {  // two axes become one
      if (x.rank() < 2) throw Unfit{};
      const int axis = use.pick(1, x.rank() - 1);
      Shape shape = x.shape();
      shape[axis] *= shape[axis + 1];
      shape.erase(axis + 1);
      return shape;
    }
    case 2: {  // an axis is split
      Shape shape = x.shape();
      const int axis = use.axis(1, x);
      for (std::int64_t part : {2, 3, 5}) {
        if (shape[axis] % part != 0 || shape[axis] == 0) continue;
        shape[axis] /= part;
        shape.insert(axis + use.pick(2, 2), part);
        return shape;
      }
      throw Unfit{};
    }
    case 3: {  // an axis of one element more
      Shape shape = x.shape();
      shape.insert(use.pick(1, x.rank() + 1), 1);
      return shape;
    }
    default: {  // sizes in the reverse order: not a transpose
      Shape shape = x.shape();
      std::reverse(shape.begin(), shape.end());
      return shape;
    }
  }
}

Slice range(const Use& use, std::int64_t size) {
  if (size <= 0) throw Unfit{};
  switch (use.pick(1, 6)) {
    case 0: return {0, 1};
    case 1: return {use.pick(2, size), std::nullopt};
    case 2: return {0, use.pick(2, size) + 1};
    case 3: return {std::nullopt, std::nullopt, 2};
    case 4: return {use.pick(2, size), use.pick(2, size) + 1};
    default: return {use.pick(2, size) / 2, size};
  }
}

/// Operand 0 through one or two views.
Tensor viewed(const Use& use) {
  Tensor x = use.x[0];
  const auto view = [&](std::uint32_t which) {
    switch (which % 9) {
      case 0: return x;
      case 1: return reshape(x, other_shape(use, x));
      case 2: return reshape(x, {x.numel(), 1});
      case 3: return transpose(x, use.axis(0, x), use.axis(1, x));
      case 4: return slice(x, use.axis(0, x), range(use, x.shape()[use.axis(0, x)]));
      case 5: return expand_dims(x, use.pick(0, x.rank() + 1));
      case 6: {
        Shape shape = x.shape();
        shape.insert(0, use.pick(1, 3) + 1);
        return expand(x, shape);
      }
      case 7: return flip(x, use.axis(0, x));
      default: return cast(squeeze(x), x.dtype());
    }
  };
  x = view(use.knobs[2]);
  if (use.knobs[3] % 2 == 0) x = view(use.knobs[3] / 2);
  if (x.rank() == 0 || x.numel() == 0) throw Unfit{};
  return small(x);
}

std::vector<PadWidth> widths(const Use& use, const Tensor& x) {
  std::vector<PadWidth> all;
  for (int d = 0; d < x.rank(); ++d) all.push_back({(use.knobs[1] >> 2 * d) % 3, (use.knobs[2] >> 2 * d) % 2});
  return all;
}

/// Joins of joins, with each piece computed in the outermost one's memory if it has no other reader: read back, or written over afterwards.
Tensor nested_join(const Use& use) {
  const Tensor a = use.real(0), b = resized(cast(use.real(1), a.dtype()), a.shape());
  const int axis = use.pick(0, a.rank() + 1), outer_axis = use.pick(1, a.rank() + 2);
  const Tensor piece = sin(a), other = use.knobs[2] % 2 == 0 ? b * 0.5 : b;
  const Tensor inner = stack({piece, other}, axis);
  const Tensor beside = use.knobs[2] % 3 == 0 ? stack({tanh(b), piece}, axis) : inner * 0.25;
  const Tensor whole =
      use.knobs[3] % 2 == 0 ? stack({inner, beside}, outer_axis) : concat({inner, beside, inner}, std::min(outer_axis, a.rank()));
  const int along = use.pick(3, whole.rank());
  switch (use.pick(2, 5)) {
    case 0: return small(whole);
    case 1: return small(select(whole, along, -1) + select(whole, along, 0));
    case 2: return small(concat({whole, flip(whole, along)}, along));
    case 3: {  // a slice of a join, written over while its pieces are read
      const Tensor written = update_slice(whole, slice(whole, along, {0, 1}) * 2.0, whole.shape()[along] - 1, along);
      return small(sum(inner) + written);
    }
    default: return small(update_slice(inner, slice(inner, axis, {1, 2}) + 1.0, 0, axis) + mean(whole));
  }
}

}  // namespace

std::vector<GraphOp> moving_ops() {
  return {
      {"reshape", 1, 6, [](const Use& use) { return small(reshape(use.x[0], other_shape(use, use.x[0]))); }},
      {"transpose", 1, 6, [](const Use& use) { return transpose(use.x[0], use.axis(0, use.x[0]), use.axis(1, use.x[0])); }},
      {"permute", 1, 3,
       [](const Use& use) {
         Dims order;
         for (int d = 0; d < use.x[0].rank(); ++d) order.push_back(d);
         std::rotate(order.begin(), order.begin() + use.axis(0, use.x[0]), order.end());
         return permute(use.x[0], order);
       }},
      {"slice", 1, 7,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         return slice(use.x[0], axis, range(use, use.x[0].shape()[axis]));
       }},
      {"select", 1, 5,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         return select(use.x[0], axis, use.knobs[1] % 2 == 0 ? 0 : use.pick(2, use.x[0].shape()[axis]));
       }},
      {"flip", 1, 3, [](const Use& use) { return flip(use.x[0], use.axis(0, use.x[0])); }},
      {"diagonal", 1, 3,
       [](const Use& use) {
         const int a = use.axis(0, use.x[0]), b = use.axis(1, use.x[0]);
         return diagonal(use.x[0], use.pick(2, 3) - 1, a, b);
       }},
      {"expand", 1, 6,  // axes of one element grow, or an axis comes in front
       [](const Use& use) {
         Shape shape = use.x[0].shape();
         for (auto& size : shape) size = size == 1 ? use.pick(0, 4) + 1 : size;
         if (shape == use.x[0].shape()) shape.insert(0, use.pick(1, 4) + 1);
         return small(expand(use.x[0], shape));
       }},
      {"squeeze", 1, 2, [](const Use& use) { return squeeze(use.x[0]); }},
      {"windows", 1, 2,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         const auto size = use.pick(1, use.x[0].shape()[axis]) + 1;
         return small(windows(use.x[0], {axis}, {size}, {.stride = {use.pick(2, 2) + 1}}));
       }},
      {"resize", 2, 4, [](const Use& use) { return resized(use.x[0], use.x[1].shape()); }},
      {"concat", 2, 4, [](const Use& use) { return small(concat({use.x[0], use.x[1]}, use.axis(0, use.x[0]))); }},
      {"concat_self", 1, 2, [](const Use& use) { return small(concat({use.x[0], flip(use.x[0]), use.x[0]}, use.axis(0, use.x[0]))); }},
      {"stack", 2, 2, [](const Use& use) { return small(stack({use.x[0], use.x[1]}, use.pick(0, use.x[0].rank() + 1))); }},
      {"nested_join", 2, 2.5, nested_join},
      {"pad", 1, 4,
       [](const Use& use) {
         constexpr PadMode modes[] = {PadMode::Constant, PadMode::Constant, PadMode::Reflect, PadMode::Replicate, PadMode::Circular};
         return small(pad(use.x[0], widths(use, use.x[0]), {.mode = modes[use.pick(0, 5)]}));
       }},
      {"repeat", 1, 2,
       [](const Use& use) {
         Dims counts = Dims::filled(use.x[0].rank(), 1);
         counts[use.axis(0, use.x[0])] = use.pick(1, 3) + 1;
         return small(repeat(use.x[0], counts));
       }},
      {"repeat_interleave", 1, 1, [](const Use& use) { return small(repeat_interleave(use.x[0], 2, use.axis(0, use.x[0]))); }},
      {"roll", 1, 2, [](const Use& use) { return roll(use.x[0], use.pick(1, 5) - 2, use.axis(0, use.x[0])); }},
      {"tril", 1, 1, [](const Use& use) { return tril(use.x[0], use.pick(0, 3) - 1); }},
      {"sort", 1, 3,
       [](const Use& use) {
         return sort(use.x[0], use.axis(0, use.x[0]), use.knobs[1] % 2 == 0 ? Order::Ascending : Order::Descending).values;
       }},
      {"argsort", 1, 1, [](const Use& use) { return argsort(use.x[0], use.axis(0, use.x[0])); }},
      {"topk", 1, 2,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         const Sorted sorted = topk(use.x[0], use.pick(1, use.x[0].shape()[axis]) + 1, axis);
         return use.knobs[2] % 4 == 0 ? sorted.indices : sorted.values;
       }},
      {"median", 1, 1, [](const Use& use) { return median(use.x[0], use.axis(0, use.x[0])); }},
      {"take", 2, 3,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         return small(take(use.x[0], use.index(1, use.x[0].shape()[axis]), axis));
       }},
      {"gather", 2, 2,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         return gather(use.x[0], axis, use.index(1, use.x[0].shape()[axis]));
       }},
      {"scatter_add", 3, 2,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         const Tensor index = use.index(1, use.x[0].shape()[axis]);
         return scatter_add(use.real(0), axis, index, cast(resized(use.x[2], index.shape()), use.real(0).dtype()));
       }},
      {"write_slice", 2, 5,  // over views: in place, if it has no other reader
       [](const Use& use) {
         const Tensor table = viewed(use);
         const int axis = use.axis(0, table);
         Shape part = table.shape();
         part[axis] = use.knobs[1] % 3 == 0 ? 1 : use.pick(1, part[axis]) + 1;
         const std::int64_t places = table.shape()[axis] - part[axis] + 1;
         const Tensor source = resized(use.x[1], part);
         const Tensor at = remainder(cast(reshape(slice(reshape(use.whole(1), {use.x[1].numel()}), 0, {0, 1}), {}), i64), places);
         const Tensor last = update_slice(table, cast(source, table.dtype()), at, axis);
         return use.knobs[1] % 4 == 3 ? update_slice(last, cast(source, table.dtype()), use.pick(2, places), axis) : last;
       }},
      {"write_places", 2, 3,
       [](const Use& use) {
         const Tensor table = viewed(use);
         const int axis = use.axis(0, table);
         Shape part = table.shape();
         part[axis] = 1;
         const Tensor index = remainder(cast(resized(use.whole(1), part), i64), table.shape()[axis]);
         return scatter(table, axis, index, cast(resized(use.x[1], part), table.dtype()));
       }},
      {"index_add", 2, 2,
       [](const Use& use) {
         const int axis = use.axis(0, use.x[0]);
         const Tensor x = use.real(0), index = use.index(1, x.shape()[axis]);
         if (index.rank() != 1) throw Unfit{};
         Shape shape = x.shape();
         shape[axis] = index.numel();
         return index_add(x, axis, index, resized(x, shape));
       }},
      {"embedding", 2, 2,
       [](const Use& use) {
         const Tensor table = use.real(0);
         if (table.rank() != 2) throw Unfit{};
         return small(embedding(use.index(1, table.shape()[0]), table));
       }},
      {"one_hot", 1, 1, [](const Use& use) { return small(one_hot(remainder(use.whole(0), 4), 4, use.knobs[0] % 2 == 0 ? f32 : i64)); }},
      {"dropout", 1, 2, [](const Use& use) { return dropout(use.real(0), 0.25, use.generator); }},
      {"normal", 1, 2,
       [](const Use& use) { return normal(use.x[0].shape(), 0, 1, {.dtype = use.real(0).dtype(), .generator = use.generator}); }},
      {"uniform", 1, 1,
       [](const Use& use) { return uniform(use.x[0].shape(), -1, 1, {.dtype = use.real(0).dtype(), .generator = use.generator}); }},
      {"randint", 1, 1, [](const Use& use) { return randint(-3, 9, use.x[0].shape(), use.generator); }},
      {"bernoulli", 1, 1, [](const Use& use) { return bernoulli(0.5, use.x[0].shape(), use.generator); }},
      {"shuffle", 1, 1, [](const Use& use) { return shuffle(use.x[0], use.generator); }},
  };
}

}  // namespace tegula::property

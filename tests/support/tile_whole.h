#pragma once
// A kernel of one instance that loads the whole of each input, says some words, and stores the whole of each result.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/tile_jit.h"

namespace whole {
using namespace tegula::tile;
using tegula::Shape;

/// Words about the inputs' tiles, which give the results' tiles, in order.
using Words = std::function<std::vector<Tile>(const std::vector<Tile>&)>;
/// By the number that is a constant of the kernel, whose lambda captures nothing.
inline std::vector<Words>& words_by_number() {
  static std::vector<Words> words;
  return words;
}

constexpr int kBits = 14, kRankBits = 4;  // of a size, up to four of them
inline std::int64_t packed(const Shape& shape) {
  std::int64_t all = shape.rank();
  for (int k = 0; k < shape.rank(); ++k) all |= shape[k] << (kBits * k + kRankBits);
  return all;
}
inline Shape unpacked(std::int64_t all) {
  Shape shape;
  for (int k = 0; k < (all & 15); ++k) shape.push_back(all >> (kBits * k + kRankBits) & ((1 << kBits) - 1));
  return shape;
}
inline Tile places(std::int64_t shape) {
  const Shape sizes = unpacked(shape);
  if (sizes.rank() == 0) return 0;
  return reshape(arange(0, tegula::numel(sizes)), sizes);
}

inline const auto kernel = jit("whole", [](Ptr<Any> p0, Ptr<Any> p1, Ptr<Any> p2, Out<Any> o0, Out<Any> o1, Out<Any> o2, Out<Any> o3,
                                           Const<std::int64_t> s0, Const<std::int64_t> s1, Const<std::int64_t> s2, Const<std::int64_t> t0,
                                           Const<std::int64_t> t1, Const<std::int64_t> t2, Const<std::int64_t> t3, Const<int> words) {
  const std::vector<Tile> in{load(p0 + places(s0)), load(p1 + places(s1)), load(p2 + places(s2))};
  const Tile* const outs[] = {&o0, &o1, &o2, &o3};
  const std::int64_t shapes[] = {t0, t1, t2, t3};
  const std::vector<Tile> results = words_by_number()[static_cast<std::size_t>(words.value)](in);
  for (std::size_t k = 0; k < results.size(); ++k) store(*outs[k] + places(shapes[k]), results[k]);
});

/// At most three inputs, at most four results of these shapes and dtypes. The tensors of all four: the other ones are scalars that nobody stores.
inline std::vector<tegula::Tensor> launched(std::vector<tegula::Tensor> in, std::vector<OutShape> out, Words words, bool at_once = false) {
  in.resize(3, tegula::zeros({}));
  out.resize(4, OutShape{{}, at_once ? std::optional<tegula::Number>(0) : std::nullopt, tegula::f32});
  words_by_number().push_back(std::move(words));
  const auto launch = [&](const auto& k) {
    return k({1}, in[0], in[1], in[2], out[0], out[1], out[2], out[3], packed(in[0].shape()), packed(in[1].shape()), packed(in[2].shape()),
             packed(out[0].shape), packed(out[1].shape), packed(out[2].shape), packed(out[3].shape),
             static_cast<int>(words_by_number().size()) - 1);
  };
  return at_once ? launch(kernel.check()) : launch(kernel);
}
/// Runs the words and returns the results that were asked for.
inline std::vector<tegula::Tensor> run(std::vector<tegula::Tensor> in, std::vector<OutShape> out, Words words, bool at_once = false) {
  const std::size_t results = out.size();
  std::vector<tegula::Tensor> all = launched(std::move(in), std::move(out), std::move(words), at_once);
  all.resize(results);
  return all;
}

inline OutShape to(const Shape& shape, tegula::DType dtype) { return OutShape{shape, {}, dtype}; }

/// Whole numbers from low on, mixed, as a dtype.
inline tegula::Tensor whole_numbers(const Shape& shape, tegula::DType dtype, int low = -10, int high = 10, std::uint32_t seed = 17) {
  std::mt19937 engine(seed);
  if (tegula::is_unsigned(dtype)) low = 0;
  std::vector<float> values(static_cast<std::size_t>(tegula::numel(shape)));
  for (float& value : values) value = static_cast<float>(low + static_cast<int>(engine() % static_cast<std::uint32_t>(high - low + 1)));
  return tegula::cast(tegula::tensor(values, shape), dtype);
}
inline std::vector<double> host(const tegula::Tensor& x) { return tegula::cast(x, tegula::f64).to_host<double>(); }

}  // namespace whole

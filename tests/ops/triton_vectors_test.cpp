// Triton's own values (its interpreter's, made by triton_vectors.py) beside those of the tile language, word by word. Skipped where they are not there:
// TEGULA_TRITON_VECTORS names their folder, else ../shared/data/triton-vectors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/io/npy.h"
#include "tegula/io/safetensors.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/tile_jit.h"
#include "tegula/tile/language/shapes.h"
#include "tests/support/source_folder.h"

namespace vectors {
using namespace tegula::tile;
using tegula::Shape;

constexpr int kBits = 16;
std::int64_t packed(const Shape& shape) {
  std::int64_t all = shape.rank();
  for (int k = 0; k < shape.rank(); ++k) all |= shape[k] << (kBits * k + 4);
  return all;
}
Shape unpacked(std::int64_t all) {
  Shape shape;
  for (int k = 0; k < (all & 15); ++k) shape.push_back(all >> (kBits * k + 4) & ((1 << kBits) - 1));
  return shape;
}
/// The places of the elements of a dense tensor.
Tile places(const Shape& shape) {
  auto sum = full<std::int64_t>(shape, 0);
  std::int64_t stride = 1;
  for (int k = shape.rank() - 1; k >= 0; stride *= shape[k--]) {
    Shape along = tegula::Dims::filled(shape.rank(), 1);
    along[k] = shape[k];
    sum += reshape(arange(0, shape[k]), along) * stride;
  }
  return sum;
}

using Tiles = std::vector<Tile>;
/// Loads the whole of each input, calls F, stores the whole of each result.
template <class F>
const auto whole = jit("whole", [](Ptr<Any> p0, Ptr<Any> p1, Ptr<Any> p2, Ptr<Any> p3, Out<Any> o0, Out<Any> o1, Out<Any> o2, Out<Any> o3,
                                   Const<std::int64_t> s0, Const<std::int64_t> s1, Const<std::int64_t> s2, Const<std::int64_t> s3,
                                   Const<std::int64_t> t0, Const<std::int64_t> t1, Const<std::int64_t> t2, Const<std::int64_t> t3) {
  const auto in = [](const Tile& p, std::int64_t shape) { return load(p + places(unpacked(shape))); };
  const Tiles results = F{}(in(p0, s0), in(p1, s1), in(p2, s2), in(p3, s3));
  const Tile* const outs[] = {&o0, &o1, &o2, &o3};
  const std::int64_t shapes[] = {t0, t1, t2, t3};
  for (std::size_t k = 0; k < results.size(); ++k) store(*outs[k] + places(unpacked(shapes[k])), results[k]);
});

struct Case {
  std::vector<tegula::Tensor> in;
  std::vector<tegula::HostArray> out;
};
using Run = std::function<std::vector<tegula::Tensor>(const Case&)>;
struct Row {
  std::string word;
  Run run;
  double tolerance = 0;  // relative to the value, or to 1
  std::string only = {};  // cases whose name holds this
};

template <class F>
Run several(F) {
  return [](const Case& c) {
    const auto in = [&](std::size_t i) { return i < c.in.size() ? c.in[i] : tegula::ones({1}); };
    const auto out = [&](std::size_t k) {
      return k < c.out.size() ? OutShape{c.out[k].shape, {}, c.out[k].dtype} : OutShape{{1}, 0, tegula::f32};
    };
    const auto from = [&](std::size_t i) { return packed(in(i).shape()); };
    const auto to = [&](std::size_t k) { return packed(out(k).shape); };
    return whole<F>({1}, in(0), in(1), in(2), in(3), out(0), out(1), out(2), out(3), from(0), from(1), from(2), from(3), to(0), to(1),
                    to(2), to(3));
  };
}
template <class F>
Run one(F) {
  return several([](Tile a, Tile b, Tile c, Tile d) {
    Tiles list;
    list.push_back(F{}(a, b, c, d));
    return list;
  });
}
Tiles pair(const std::pair<Tile, Tile>& two) { return {two.first, two.second}; }

// Kernels that are more than one expression.
OutShape result(const Case& c, std::size_t k) { return OutShape{c.out[k].shape, {}, c.out[k].dtype}; }
const auto load_masked = jit("load_masked", [](Ptr<Any> p, Out<Any> a, Out<Any> b) {
  auto i = arange(0, 64);
  store(a + i, load(p + i, i < 50, 7));
  store(b + i, load(p + i, i < 50, 0), i % 3 == 0);
});
const auto program_ids = jit("program_ids", [](Out<std::int32_t> o) {
  auto p = program_id(0) + program_id(1) * num_programs(0) + program_id(2) * 100;
  store(o + program_id(2) * 6 + program_id(1) * 3 + program_id(0), p);
});
const auto loop = jit("loop", [](Ptr<float> p0, Out<float> o) {
  auto acc = zeros<float>({32});
  auto p = p0 + arange(0, 32);
  for (auto k : range(0, 4)) {
    acc += load(p) * k;
    p += 32;
  }
  store(o + arange(0, 32), acc);
});

const auto collatz = jit("collatz", [](Ptr<std::int32_t> p0, Out<std::int32_t> o) {
  Tile n = load(p0), steps = n * 0;
  while_([&] { return n != 1; },
         [&] {
           if_(n % 2 == 0, [&] { n = n / 2; }, [&] { n = n * 3 + 1; });
           steps += 1;
         });
  store(o, steps);
});
/// F changes elements that begin with 3, of which a tile names some more than once; what was there before is the second result.
template <class F>
const auto changes = jit("changes", [](Ptr<Any> p0, Ptr<Any> p1, Out<Any> o0, Out<Any> o1, Const<int> places) {
  auto i = arange(0, 32);
  store(o1 + i, F{}(o0 + i % places, load(p0 + i), load(p1 + i)));
});
template <class F>
Run changed(F) {
  return [](const Case& c) {
    const OutShape begun{c.out[0].shape, 3, c.out[0].dtype};
    return changes<F>({1}, c.in.front(), c.in.back(), begun, result(c, 1), static_cast<int>(c.out[0].size()));
  };
}

const auto descriptors = jit("descriptors", [](Ptr<Any> p, Out<Any> o) {
  auto from = make_tensor_descriptor(p, {32, 64}, {64, 1}, {16, 16}), to = make_tensor_descriptor(o, {32, 64}, {64, 1}, {16, 16});
  for (auto i : range(0, 2)) {
    for (auto j : range(0, 4)) to.store({i * 16, j * 16}, from.load({i * 16, j * 16}) + 1);
  }
});

// clang-format off: one word a line
#define OPERANDS [[maybe_unused]] Tile x, [[maybe_unused]] Tile y, [[maybe_unused]] Tile z, [[maybe_unused]] Tile u
#define WORD(expression) one([](OPERANDS) -> Tile { return expression; })
#define ATOMIC(expression) changed([](Tile p, Tile x, [[maybe_unused]] Tile y) { return expression; })
#define WORDS(expression) several([](OPERANDS) -> Tiles { return expression; })
const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"abs", WORD(abs(x))}, {"ceil", WORD(ceil(x))}, {"floor", WORD(floor(x))}, {"cos", WORD(cos(x)), 1e-6}, {"sin", WORD(sin(x)), 1e-6},
      {"exp", WORD(exp(x)), 1e-6}, {"exp2", WORD(exp2(x)), 1e-6}, {"erf", WORD(erf(x)), 1e-6}, {"log", WORD(log(x)), 1e-6},
      {"log2", WORD(log2(x)), 1e-6}, {"sqrt", WORD(sqrt(x)), 2e-7}, {"rsqrt", WORD(rsqrt(x)), 4e-7}, {"sqrt_rn", WORD(sqrt_rn(x))},
      {"sigmoid", WORD(sigmoid(x)), 1e-6}, {"neg", WORD(-x)}, {"invert", WORD(~x)}, {"add", WORD(x + y)}, {"sub", WORD(x - y)}, {"mul", WORD(x * y)},
      {"div", WORD(x / y), 2e-7}, {"floordiv", WORD(x / y)}, {"mod", WORD(x % y), 1e-6}, {"bitwise_and", WORD(x & y)}, {"bitwise_or", WORD(x | y)},
      {"bitwise_xor", WORD(x ^ y)}, {"shl", WORD(x << y)}, {"shr", WORD(x >> y)}, {"lt", WORD(x < y)}, {"le", WORD(x <= y)}, {"gt", WORD(x > y)},
      {"ge", WORD(x >= y)}, {"eq", WORD(x == y)}, {"ne", WORD(x != y)}, {"maximum", WORD(maximum(x, y))}, {"minimum", WORD(minimum(x, y))},
      {"maximum_nan", WORD(maximum(x, y, Nan::Propagate))}, {"minimum_nan", WORD(minimum(x, y, Nan::Propagate))},
      {"clamp", WORD(clamp(x, -0.5, 0.75))}, {"fma", WORD(fma(x, y, z)), 1e-6}, {"fdiv", WORD(fdiv(x, y)), 2e-7}, {"div_rn", WORD(div_rn(x, y))},
      {"umulhi", WORD(umulhi(x, y))}, {"cdiv", WORD(cdiv(x, y))}, {"where", WORD(where(x > 0, x, y))}, {"softmax", WORD(softmax(x, 1)), 1e-6},
      {"cast", WORD(x)}, {"bitcast", WORD(bitcast<std::int32_t>(x))}, {"zeros_like", WORD(zeros_like(x))},
      {"arange", WORD(arange(5, 69))}, {"full", WORD(full<float>({32}, 3))}, {"zeros", WORD(zeros<float>({32}))},
      {"cat", WORD(cat(x, y))}, {"join", WORD(join(x, y))}, {"interleave", WORD(interleave(x, y))}, {"split", WORDS(pair(split(x)))},
      {"trans", WORD(trans(x))}, {"reshape", WORD(reshape(x, {512}))}, {"ravel", WORD(ravel(x))}, {"view", WORD(view(x, {32, 16}))},
      {"flip", WORD(flip(x, 1))}, {"broadcast_to", WORD(broadcast_to(col(sum(x, 1)), {8, 32})), 1e-5}, {"expand_dims", WORD(expand_dims(max(x, 0), 0) + x)},
      {"permute", WORD(permute(x, {2, 0, 1}))},
      {"gather", WORD(gather(x, (col(arange(0, 8)) + row(arange(0, 32)) * 3) % 32, 1))},
      {"swizzle2d", WORDS(pair(swizzle2d(col(arange(0, 8)), row(arange(0, 4)), 8, 4, 2)))},
      {"sum", WORD(sum(x, 0)), 1e-5, "axis0"}, {"sum", WORD(sum(x, 1)), 1e-5, "axis1"}, {"max", WORD(max(x, 0)), 0, "axis0"}, {"max", WORD(max(x, 1)), 0, "axis1"},
      {"min", WORD(min(x, 0)), 0, "axis0"}, {"min", WORD(min(x, 1)), 0, "axis1"}, {"xor_sum", WORD(xor_sum(x, 0)), 0, "axis0"},
      {"xor_sum", WORD(xor_sum(x, 1)), 0, "axis1"}, {"argmax", WORD(argmax(x, 1))}, {"argmin", WORD(argmin(x, 1))},
      {"max_with_indices", WORDS(pair(max_with_indices(x, 1)))}, {"reduce", WORD(reduce(x, 1, [](Tile a, Tile b) { return a * b; })), 1e-6},
      {"cumsum", WORD(cumsum(x, 1)), 1e-5}, {"cumprod", WORD(cumprod(x, 1)), 1e-5},
      {"cumsum_reverse", WORD(flip(cumsum(flip(x, 1), 1), 1)), 1e-5}, {"cumprod_reverse", WORD(flip(cumprod(flip(x, 1), 1), 1)), 1e-5},
      {"associative_scan", WORD(associative_scan(x, 1, [](Tile a, Tile b) { return maximum(a, b); }))},
      {"histogram", WORD(histogram(x, 16))}, {"sort", WORD(sort(x, 1))}, {"sort_descending", WORD(sort(x, 1, Order::Descending))}, {"topk", WORD(topk(x, 8))},
      {"dot", WORD(dot(x, y)), 1e-4},
      {"dot_scaled", WORD(dot_scaled(x, z, ScaledFormat::E4M3, y, u, ScaledFormat::E4M3)), 1e-4},
      {"load_masked", [](const Case& c) {
         return load_masked({1}, c.in[0], OutShape{c.out[0].shape, 0, c.out[0].dtype}, OutShape{c.out[1].shape, 0, c.out[1].dtype});
       }},
      {"program_ids", [](const Case& c) { return program_ids({3, 2, 2}, result(c, 0)); }},
      {"tensor_descriptor", [](const Case& c) { return descriptors({1}, c.in[0], result(c, 0)); }},
      {"loop", [](const Case& c) { return loop({1}, c.in[0], result(c, 0)); }, 1e-6},
      {"while", [](const Case& c) { return collatz({1}, c.in[0], result(c, 0)); }},
      {"atomic_add", ATOMIC(atomic_add(p, x)), 1e-6}, {"atomic_max", ATOMIC(atomic_max(p, x))}, {"atomic_min", ATOMIC(atomic_min(p, x))},
      {"atomic_and", ATOMIC(atomic_and(p, x))}, {"atomic_or", ATOMIC(atomic_or(p, x))}, {"atomic_xor", ATOMIC(atomic_xor(p, x))},
      {"atomic_xchg", ATOMIC(atomic_xchg(p, x))}, {"atomic_cas", ATOMIC(atomic_cas(p, x, y))},
      {"randint", WORD(randint(0, arange(1000, 1064))), 0, "seed0"}, {"rand", WORD(rand(42, arange(1000, 1064))), 0, "seed42"},
      {"randn", WORD(randn(42, arange(1000, 1064))), 2e-6, "seed42"}, {"randint4x", WORDS(randint4x(std::int64_t{1099511627781}, arange(0, 64))), 0, "seed1099511627781"},
  };
  return all;
}
// clang-format on
}  // namespace vectors

namespace tegula {
namespace {

std::string folder() {
  const char* const given = std::getenv("TEGULA_TRITON_VECTORS");
  return given ? given : source_folder() + "/../shared/data/triton-vectors";
}

/// Cases of the file by name. In a .npz bf16 and floats of 8 bits lie as their bits: they are left out; a .safetensors (which the script writes, too) has them.
std::map<std::string, vectors::Case> cases(const std::string& word) {
  std::map<std::string, vectors::Case> all;
  const std::string whole = folder() + "/" + word + ".safetensors";
  const bool typed = std::filesystem::exists(whole);
  io::NamedArrays arrays = typed ? io::read_safetensors(whole).tensors : io::read_npz(folder() + "/" + word + ".npz");
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.first < b.first; });  // in0, in1, out0, …
  for (const auto& [name, array] : arrays) {
    const std::size_t slash = name.find('/');
    const std::string one = name.substr(0, slash);
    if (!typed && (one.find("float8") != std::string::npos || one.find("bfloat16") != std::string::npos)) continue;
    if (name[slash + 1] == 'i') all[one].in.push_back(from_array(array));
    else all[one].out.push_back(array);
  }
  return all;
}

/// "" where they agree.
std::string difference(const Tensor& got, const HostArray& want, double tolerance) {
  const auto a = cast(got, f64).to_host<double>(), b = cast(from_array(want), f64).to_host<double>();
  if (a.size() != b.size()) return "another number of elements";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= tolerance * std::max(std::abs(b[i]), 1.0)) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + ", Triton " + std::to_string(b[i]);
  }
  return "";
}

// Cases that differ, each for a reason.
const std::map<std::string, std::string> kDiffers{};

TEST(TritonVectors, EachWordGivesWhatTritonGives) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << "skipped: no ../shared/data/triton-vectors";
  int agree = 0, other = 0, unread = 0;
  for (const vectors::Row& row : vectors::rows()) {
    std::map<std::string, vectors::Case> all;
    try {
      all = cases(row.word);
    } catch (const Error& error) {
      ++unread;
      std::printf("%s: not read: %s\n", row.word.c_str(), error.what());
      continue;
    }
    for (const auto& [name, one] : all) {
      if (name.find(row.only) == std::string::npos) continue;
      const std::string key = row.word + " " + name;
      std::string text;
      try {
        const auto results = row.run(one);
        for (std::size_t k = 0; k < one.out.size() && text.empty(); ++k) text = difference(results[k], one.out[k], row.tolerance);
      } catch (const Error& error) { text = std::string("refused: ") + error.what(); }
      if (text.empty()) {
        ++agree;
        EXPECT_FALSE(kDiffers.contains(key)) << key << " agrees now";
      } else {
        ++other;
        EXPECT_TRUE(kDiffers.contains(key)) << key << ": " << text;
      }
    }
  }
  std::printf("%d cases agree, %d do not, %d words not read\n", agree, other, unread);
  EXPECT_GT(agree, 200);
}

}  // namespace
}  // namespace tegula

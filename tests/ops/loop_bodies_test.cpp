// Bodies of many kinds: scan is the same body called in a loop, in values, first and second gradients, in every mode.

#include <gtest/gtest.h>

#include <functional>

#include "tegula/tegula.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using List = std::vector<Tensor>;

/// The tensors that all bodies may use: carried a and b (2, 3), a stack xs (T, 2, 3), captured u (3, 3) and v (3).
struct Given {
  Tensor a, b, xs, u, v;
};
struct Body {
  std::string name;
  std::function<Scanned(const List& carry, const List& x, const Given& given)> step;
  std::function<List(const Given& given)> start = [](const Given& given) { return List{given.a, given.b}; };
};
std::ostream& operator<<(std::ostream& out, const Body& body) { return out << body.name; }

const Tensor& first_index() {
  static const Tensor index = tensor({std::int64_t{1}}, Shape{});
  return index;
}

const std::vector<Body>& bodies() {
  static const std::vector<Body> all{
      {"tanh_of_products",
       [](const List& c, const List& x, const Given& g) {
         const Tensor h = tanh(matmul(x[0], g.u) + matmul(c[0], transpose(g.u)) + g.v);
         return Scanned{{h, c[1] + h}, {h, h * c[1]}};
       }},
      {"gates",
       [](const List& c, const List& x, const Given& g) {
         const auto z = chunk(matmul(concat({c[0], x[0]}, 1), concat({g.u, g.u * 0.5}, 0)), 3, 1);
         const Tensor next = sigmoid(z[0]) * c[1] + z[1] * expand(z[2], {2, 1});
         return Scanned{{tanh(next), next}, {next}};
       }},
      {"swapped", [](const List& c, const List& x, const Given&) { return Scanned{{c[1], sin(c[0]) + x[0]}, {c[0] * c[1]}}; }},
      {"delayed", [](const List& c, const List& x, const Given&) { return Scanned{{c[1], c[2], c[3], x[0]}, {c[0], c[0] * c[3]}}; },
       [](const Given& g) { return List{g.a, g.b, g.a * 2, g.b}; }},
      {"passed_on_and_unused", [](const List& c, const List&, const Given& g) { return Scanned{{c[0], c[1] * 0.5 + g.v}, {c[0], c[1]}}; }},
      {"nothing_changes",
       [](const List& c, const List&, const Given& g) { return Scanned{{c[0], matmul(c[1], g.u) * 0 + exp(g.b)}, {g.a, sin(g.u)}}; }},
      {"slices_as_they_are", [](const List& c, const List& x, const Given&) { return Scanned{{x[0], c[0]}, {x[0], c[1], x[0] * c[1]}}; }},
      {"numbers", [](const List& c, const List& x,
                     const Given&) { return Scanned{{c[0] * 0.9 + 0.1, where(c[1] > 0.2, x[0], 0.25)}, {full({2}, 3.0, f64), c[0] * 2}}; }},
      {"sums_and_norms",
       [](const List& c, const List& x, const Given& g) {
         const Tensor p = softmax(c[0] * g.v + x[0], 1);
         return Scanned{{p + c[1] * 0.1, c[1] - mean(x[0] * p, 0, Keep::Yes)}, {sum(p * p, 1), max(c[0], 1)}};
       }},
      {"sorted",
       [](const List& c, const List& x, const Given& g) {
         const Sorted s = sort(c[0] + x[0] * g.v, 1);
         return Scanned{{s.values, c[1] + cast(s.indices, f64) * s.values}, {s.indices}};
       }},
      {"carried_index",
       [](const List& c, const List& x, const Given& g) {
         const Tensor row = take(g.u, c[2], 0);
         return Scanned{{c[0] * row, c[1] + expand_dims(take(x[0], c[2], 1), 1), (c[2] + 1) % 3}, {row, c[2]}};
       },
       [](const Given& g) { return List{g.a, g.b, first_index()}; }},
      {"one_in_the_other",
       [](const List& c, const List& x, const Given& g) {
         const Scanned inner = scan(
             [&](const List& d, const List& row) {
               const Tensor next = tanh(d[0] * row[0] + sum(g.v));
               return Scanned{{next}, {next * sum(c[1], 1)}};
             },
             {c[0]}, {transpose(x[0])}, {.reverse = true});
         return Scanned{{inner.carry[0], transpose(inner.ys[0]) * 0.3}, {inner.ys[0]}};
       },
       [](const Given& g) { return List{sum(g.a, 1), g.b * 0.5}; }},
      {"its_own_gradient",
       [](const List& c, const List& x, const Given& g) {
         const Tensor loss = sum(square(matmul(c[0], g.u) - x[0]));
         return Scanned{{c[0] - 0.1 * grad(loss, c[0]), c[1]}, {loss}};
       }},
      {"checkpointed",
       [](const List& c, const List& x, const Given& g) {
         const Tensor h = checkpoint([&](const List& in) { return tanh(matmul(in[0], g.u) + in[1]); }, {c[0], x[0]});
         return Scanned{{h, c[1] * h}, {h}};
       }},
  };
  return all;
}

Scanned called(const Body& body, const Given& given, bool reverse) {
  List carry = body.start(given);
  const std::int64_t length = given.xs.shape()[0];
  std::vector<List> ys;
  for (std::int64_t k = 0; k < length; ++k) {
    Scanned out = body.step(carry, {select(given.xs, 0, reverse ? length - 1 - k : k)}, given);
    carry = out.carry;
    ys.resize(out.ys.size());
    for (std::size_t y = 0; y < out.ys.size(); ++y) ys[y].insert(reverse ? ys[y].begin() : ys[y].end(), out.ys[y]);
  }
  Scanned all{carry, {}};
  for (const List& steps : ys) all.ys.push_back(stack(steps));
  return all;
}

Scanned scanned(const Body& body, const Given& given, bool reverse) {
  return scan([&](const List& carry, const List& x) { return body.step(carry, x, given); }, body.start(given), {given.xs},
              {.reverse = reverse});
}

/// Results, and the first and second gradients of a number that is made of all of them.
List everything(const Scanned& out, const Given& given) {
  List all = out.carry;
  all.insert(all.end(), out.ys.begin(), out.ys.end());
  Tensor total = Tensor(0.0);
  for (std::size_t k = 0; k < all.size(); ++k)
    if (is_float(all[k].dtype())) total = total + mean(sin(all[k] * (1 + 0.1 * static_cast<double>(k))));
  const std::vector<Wrt> targets{given.a, given.b, given.xs, given.u, given.v};
  const List first = grad(total, targets);
  Tensor squares = Tensor(0.0);
  for (const Tensor& g : first) squares = squares + mean(g * g) + mean(g * 0.3);
  const List second = grad(squares + total, targets);
  all.insert(all.end(), first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

using Lists = std::vector<std::vector<double>>;
Lists lists_of(const List& list) {
  Lists out;
  for (const Tensor& t : list) out.push_back(t.to_host<double>());
  return out;
}

void expect_equal(const Lists& got, const Lists& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].size(), want[k].size()) << what << ", result " << k;
    for (std::size_t i = 0; i < got[k].size(); ++i)
      ASSERT_NEAR(got[k][i], want[k][i], 1e-9 * (1 + std::abs(want[k][i]))) << what << ", result " << k << ", element " << i;
  }
}

class Bodies : public testing::TestWithParam<Body> {};
INSTANTIATE_TEST_SUITE_P(Scan, Bodies, testing::ValuesIn(bodies()), [](const auto& one) { return one.param.name; });

TEST_P(Bodies, AreTheSameInALoop) {
  const Body& body = GetParam();
  Generator random(5);
  for (const std::int64_t length : {1, 2, 5}) {
    const auto drawn = [&](const Shape& shape) {
      const Tensor t = normal(shape, 0, 0.7, {.dtype = f64, .generator = &random});
      eval(t);
      return t;
    };
    const Given given{drawn({2, 3}), drawn({2, 3}), drawn({length, 2, 3}), drawn({3, 3}), drawn({3})};
    for (const bool reverse : {false, true}) {
      const std::string what = "length " + std::to_string(length) + (reverse ? " reversed" : "");
      const Lists want = lists_of(everything(called(body, given, reverse), given));
      expect_equal(lists_of(everything(scanned(body, given, reverse), given)), want, what);
      if (length == 2) continue;
      const auto in_jit = [&] {
        auto run = jit([&](Tensor a, Tensor b, Tensor xs, Tensor u, Tensor v) {
          const Given in{a, b, xs, u, v};
          return everything(scanned(body, in, reverse), in);
        });
        for (int call = 0; call < 2; ++call)
          expect_equal(lists_of(run(given.a, given.b, given.xs, given.u, given.v)), want, what + ", jit, call " + std::to_string(call));
      };
      in_jit();
      const auto under_checkpoint = [&] {
        const auto one = [&](const List& in) {
          const Given own{in[0], in[1], in[2], in[3], in[4]};
          const Scanned out = scanned(body, own, reverse);
          return sum(sin(cast(out.carry[0], f64))) + sum(cos(out.carry[1]));
        };
        const List in{given.a, given.b, given.xs, given.u, given.v};
        const std::vector<Wrt> targets(in.begin(), in.end());
        expect_equal(lists_of(grad(checkpoint(one, in), targets)), lists_of(grad(one(in), targets)), what + ", under checkpoint");
      };
      under_checkpoint();
      set_eager(true);
      const Lists eager = lists_of(everything(scanned(body, given, reverse), given));
      set_eager(false);
      expect_equal(eager, want, what + ", eager");
      set_pending_bound(3);
      const Lists flushed = lists_of(everything(scanned(body, given, reverse), given));
      set_pending_bound(100'000);
      expect_equal(flushed, want, what + ", flushed every three nodes");
      static test::QueuedDevice& queued = test::QueuedDevice::create();
      const test::OnDevice device(queued);
      expect_equal(lists_of(everything(scanned(body, given, reverse), given)), want, what + ", queued");
      in_jit();
    }
  }
}

}  // namespace
}  // namespace tegula
